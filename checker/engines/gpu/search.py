"""The breadth-first search on a card: the host's loop over levels and pieces of levels.

    store the initial states
    until there is a reason to stop, for each piece of the level:
        expand      if a region overflows: again, with half as many states
        steps       if the spec has step invariants or symmetry
        insert      after the table has grown, if it needs to
        compact
        read the status

The order of the states depends on the threads, so nothing that is reported may depend on it: the search counts, and
records the level in which each property was first violated or reached. The limits of states and levels are tested at
the end of a level.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Literal, Protocol

from checker.engines.gpu.memory import (
    COPIES,
    COUNT,
    DEADLOCK,
    FAILURE,
    FILL_STRIDE,
    FILLS,
    INDEX_MASK,
    SEEN,
    WITHIN,
    status_words,
)
from checker.run.endings import StoppedError
from checker.run.forecast import states_to_come
from checker.run.plan import ExplorationProgress

if TYPE_CHECKING:
    import numpy as np

    from checker.engines.native.llvm.word_arrays import Words

Outcome = Literal["complete", "stopped", "max_states", "max_depth", "max_memory", "interrupted"]

OUT_OF_BOUNDS = 1 << 63
"""The bit of a property that left a type's bounds."""

MOST_ENTRIES = 1 << 24
"""The entries of a piece: enough for all threads of a card, and few beside the states."""

_ENTRIES_SHARE = 8
"""The entries take at most this part of the memory."""

_FIRST_SLOTS = 1 << 22
_LOAD = 13 / 16
"""The table grows when its load would exceed this ratio."""

_FORECAST_LOAD = 3 / 4
"""The load that a table gets if the forecast of the number of states is right."""

_PROGRESS_SECONDS = 0.25

_MINUS_ONE = 2**64 - 1


class Device(Protocol):
    """A card, or a test that plays one. Addresses are those of the device; `driver.Card` documents the methods."""

    def free_bytes(self) -> int: ...  # noqa: D102
    def allocate(self, words: int) -> int: ...  # noqa: D102
    def release(self, address: int) -> None: ...  # noqa: D102
    def clear(self, address: int, words: int) -> None: ...  # noqa: D102
    def write(self, address: int, content: Words) -> None: ...  # noqa: D102
    def read(self, address: int, words: int) -> Words: ...  # noqa: D102
    def launch(self, kernel: str, items: int, arguments: Sequence[int]) -> None: ...  # noqa: D102


@dataclass(frozen=True)
class Shape:
    """The sizes of the kernels' arrays: the words of a state, the units of a stored one, the action instances, and the
    regions of the entries. `has_steps`: whether there is the kernel `steps`.
    """

    words: int
    units: int
    instances: int
    regions: int
    has_steps: bool


@dataclass(frozen=True)
class Limits:
    """What is checked, and the reasons to stop. Bit i of a mask is property i.

    The search stops when a property of `stop_mask` was found, or a deadlock with `stop_on_deadlock`; and when all
    properties of `stop_after` were, and a deadlock with `await_deadlock` (0 and False: never).
    """

    state_mask: int = 0
    step_mask: int = 0
    stop_mask: int = 0
    stop_on_deadlock: bool = False
    stop_after: int = 0
    await_deadlock: bool = False
    max_states: int | None = None
    max_depth: int | None = None
    max_memory: int | None = None


@dataclass
class CardSearch:
    """The result of a search.

    `levels`: the states of each level; the last one is incomplete if the outcome is `stopped`, `max_memory` or
    `interrupted`. `seen`: the level, from 1 on, in which each property was first found in a state, or in a step from a
    state of the level before. `deadlock`: the level of the first states without successors; None if there is none.
    `has_failed`: an evaluation left its bounds. `generated` (instances,): the successors of each action instance.
    `card_bytes`: the most memory that states, table and entries took.
    """

    outcome: Outcome = "complete"
    levels: list[int] = field(default_factory=list)
    levels_within: list[int] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)
    deadlock: int | None = None
    has_failed: bool = False
    generated: list[int] = field(default_factory=list)
    seconds: float = 0.0
    card_bytes: int = 0

    @property
    def distinct(self) -> int:
        """The number of states."""
        return sum(self.levels)

    @property
    def seen_mask(self) -> int:
        """The bits of the properties that were found."""
        return sum(1 << bit for bit in self.seen)


def search_on_card(
    device: Device,
    shape: Shape,
    initial: Words,
    limits: Limits,
    interrupts: Sequence[threading.Event] = (),
    on_progress: Callable[[ExplorationProgress], None] | None = None,
) -> CardSearch:
    """Explore all states that are reachable from the initial ones (n, words), n >= 1.

    Raises StoppedError if the memory does not suffice to begin.
    """
    try:
        return _Search(device, shape, limits, interrupts, on_progress).run(initial)
    except MemoryError:
        raise StoppedError("the memory of the card does not suffice to begin: give it a higher --max-memory") from None


class _Search:
    """One search in progress."""

    def __init__(
        self,
        device: Device,
        shape: Shape,
        limits: Limits,
        interrupts: Sequence[threading.Event],
        on_progress: Callable[[ExplorationProgress], None] | None,
    ):
        self._device, self._shape, self._limits = device, shape, limits
        self._interrupts, self._on_progress = interrupts, on_progress
        self._started = self._reported = perf_counter()
        self._result = CardSearch()
        self._count, self._within, self._expanded, self._listed = 0, 0, 0, 0
        self._level_ends: list[int] = []
        self._within_ends: list[int] = []
        self._place()

    def _place(self) -> None:
        """Allocate the arrays: the states take what the entries and the table leave."""
        device, shape = self._device, self._shape
        free = device.free_bytes()
        budget = free * 15 // 16 if self._limits.max_memory is None else min(free * 15 // 16, self._limits.max_memory)
        entry_words = shape.words + 2
        most = min(MOST_ENTRIES, budget // _ENTRIES_SHARE // (8 * entry_words))
        # All successors of a state may be in one region.
        self._room = max(most // shape.regions, shape.instances)
        entries = self._room * shape.regions
        counters = shape.instances * COPIES
        fixed = entries * entry_words + counters + status_words(shape.regions)
        left = budget - 8 * fixed
        self._capacity = min(int(left / self._state_bytes), INDEX_MASK - 1)
        self._most_slots = (left - 4 * self._capacity * shape.units) // 8
        if self._capacity < 1 or self._most_slots < 1:
            raise MemoryError
        self._slots = min(_FIRST_SLOTS, self._most_slots)
        self._entries, self._origins, self._won = (device.allocate(entries * size) for size in (shape.words, 1, 1))
        self._generated = device.allocate(counters)
        self._status = device.allocate(status_words(shape.regions))
        self._states = device.allocate(-(-self._capacity * shape.units // 2))
        self._table = device.allocate(self._slots)
        for address, words in (
            (self._generated, counters),
            (self._status, status_words(shape.regions)),
            (self._table, self._slots),
        ):
            device.clear(address, words)
        self._fixed_words = fixed

    @property
    def _state_bytes(self) -> float:
        """The bytes of a state and its slots at the highest load."""
        return 4 * self._shape.units + 8 / _LOAD

    def run(self, initial: Words) -> CardSearch:
        """Explore until no state is left, or there is a reason to stop."""
        result = self._result
        outcome = self._insert_initial(initial)
        self._end_level()
        begin = 0
        while outcome is None:
            end = self._count
            outcome = self._reason_at_level_end(begin)
            if outcome is None:
                outcome = self._expand_level(begin, end)
                if self._count > end:
                    self._end_level()
                begin = end
        result.outcome = outcome
        result.levels = [after - before for before, after in pairwise([0, *self._level_ends])]
        result.levels_within = [after - before for before, after in pairwise([0, *self._within_ends])]
        copies = self._device.read(self._generated, self._shape.instances * COPIES)
        result.generated = copies.reshape(-1, COPIES).sum(axis=1).tolist()
        result.seconds = perf_counter() - self._started
        result.card_bytes = self._card_bytes()
        return result

    def _insert_initial(self, initial: Words) -> Outcome | None:
        import numpy as np

        device, shape = self._device, self._shape
        for first in range(0, len(initial), self._room):
            states = np.ascontiguousarray(initial[first : first + self._room])
            fills = np.zeros(shape.regions * FILL_STRIDE, np.uint64)
            fills[0] = len(states)
            device.write(self._entries, states)
            device.write(self._status + 8 * FILLS, fills)
            outcome = self._absorb(len(states), level=1)
            if outcome is not None:
                return outcome
        return None

    def _end_level(self) -> None:
        self._level_ends.append(self._count)
        self._within_ends.append(self._within)

    def _reason_at_level_end(self, begin: int) -> Outcome | None:
        """Return why no further level is expanded; the states from index `begin` on are the last level."""
        limits = self._limits
        if self._count == begin:
            return "complete"
        if limits.max_states is not None and self._count >= limits.max_states:
            return "max_states"
        if limits.max_depth is not None and len(self._level_ends) >= limits.max_depth:
            return "max_depth"
        return None

    def _expand_level(self, begin: int, end: int) -> Outcome | None:
        """Expand the states with the indices from `begin` to `end`, piece by piece; return why the search ends."""
        level = len(self._level_ends) + 1
        at, piece = begin, self._piece()
        while at < end:
            size = min(piece, end - at)
            listed = self._expand(at, at + size)
            if listed is None:
                piece = max(1, size // 2)
                continue
            at += size
            self._expanded, self._listed = self._expanded + size, self._listed + listed
            outcome = self._absorb(listed, level)
            if outcome is not None:
                return outcome
            self._report(end - at)
            piece = self._piece()
        return None

    def _piece(self) -> int:
        """Return how many states to expand together, by the successors of the states so far."""
        entries = self._room * self._shape.regions
        if not self._expanded:
            return max(1, entries // max(1, self._shape.instances))
        # A quarter is left free: regions are not filled evenly, and later states may have more successors.
        return max(1, entries * 3 // 4 * self._expanded // max(self._expanded, self._listed))

    def _expand(self, begin: int, end: int) -> int | None:
        """Expand some states; return the number of their successors, or None if a region has no room for them."""
        device, regions = self._device, self._shape.regions
        device.clear(self._status + 8 * FILLS, regions * FILL_STRIDE)
        arrays = (self._states, self._entries, self._origins, self._generated, self._status)
        device.launch("expand", end - begin, (*arrays, self._room, begin, end, 1))
        fills = device.read(self._status + 8 * FILLS, regions * FILL_STRIDE)[::FILL_STRIDE]
        if int(fills.max()) <= self._room:
            return int(fills.sum())
        # The same once more, to take back what the counters of the instances got.
        device.launch("expand", end - begin, (*arrays, self._room, begin, end, _MINUS_ONE))
        return None

    def _absorb(self, listed: int, level: int) -> Outcome | None:
        """Store and check what is new among the entries; return why the search ends, or None."""
        device, shape = self._device, self._shape
        if not self._make_room(listed):
            return "max_memory"
        seen = self._result.seen_mask
        status = (self._status, self._room)
        if shape.has_steps:
            # The mask is 0 for initial states: their origin is no state.
            mask = self._limits.step_mask & ~seen if self._level_ends else 0
            device.launch("steps", listed, (self._states, self._entries, self._origins, *status, mask))
        arrays = (self._states, self._entries, self._won, self._table)
        device.launch("insert", listed, (*arrays, *status, self._slots))
        device.launch("compact", listed, (*arrays, *status, self._capacity, self._limits.state_mask & ~seen))
        return self._collect(device.read(self._status, FILLS), level)

    def _collect(self, status: np.ndarray, level: int) -> Outcome | None:
        """Record what a piece has found in the status; return why the search ends, or None."""
        words: list[int] = status.tolist()
        result, limits = self._result, self._limits
        is_full = words[COUNT] > self._capacity
        self._count, self._within = min(words[COUNT], self._capacity), words[WITHIN]
        for bit in range(63):
            if words[SEEN] >> bit & 1:
                result.seen.setdefault(bit, level)
        if words[DEADLOCK] and result.deadlock is None:
            # States of the level before it, which were expanded.
            result.deadlock = level - 1
        result.has_failed = bool(words[FAILURE]) or bool(words[SEEN] & OUT_OF_BOUNDS)
        has_deadlock = result.deadlock is not None
        waits = limits.stop_after != 0 or limits.await_deadlock
        has_all = waits and not limits.stop_after & ~result.seen_mask and (has_deadlock or not limits.await_deadlock)
        is_stopped = result.seen_mask & limits.stop_mask or (limits.stop_on_deadlock and has_deadlock)
        if result.has_failed or has_all or is_stopped:
            return "stopped"
        if is_full:
            return "max_memory"
        return "interrupted" if any(event.is_set() for event in self._interrupts) else None

    def _make_room(self, listed: int) -> bool:
        """Let the table grow if it needs to; return whether all entries of the piece find a slot."""
        device, wanted = self._device, self._count + listed
        slots = self._slots
        while wanted > slots * _LOAD and slots < self._most_slots:
            to_come = self._to_come()
            larger = 2 * slots
            if to_come is not None:
                # No larger than needed: at last the table takes nearly half of the memory.
                larger = max(slots + slots // 4, int((self._count + to_come) / _FORECAST_LOAD))
            slots = min(larger, self._most_slots)
        if slots != self._slots:
            # The states suffice to build the new one, so the old one makes room for it.
            device.release(self._table)
            try:
                self._slots, self._table = slots, device.allocate(slots)
            except MemoryError:
                # Another process took it.
                return False
            device.clear(self._table, slots)
            device.launch("rebuild", self._count, (self._states, self._table, self._count, slots))
        return wanted < self._slots

    def _card_bytes(self) -> int:
        return 8 * (self._fixed_words + self._slots) + 4 * self._count * self._shape.units

    def _to_come(self) -> int | None:
        """Return about how many states are still to be found; None if that is unknown."""
        ends = self._level_ends
        remaining = states_to_come([after - before for before, after in pairwise([0, *ends])])
        return None if remaining is None else max(0, remaining - (self._count - ends[-1]))

    def _report(self, left: int) -> None:
        """Report the progress, unless the last report is too recent; `left`: the states of this level to expand."""
        now = perf_counter()
        if self._on_progress is None or now - self._reported < _PROGRESS_SECONDS:
            return
        self._reported = now
        ends, to_come = self._level_ends, self._to_come()
        self._on_progress(
            ExplorationProgress(
                level=len(ends),
                distinct_states=self._count,
                generated_states=self._listed,
                queue=left + self._count - ends[-1],
                seconds=now - self._started,
                memory_bytes=self._card_bytes(),
                states_to_come=to_come,
                bytes_to_come=int((to_come or 0) * self._state_bytes),
                free_bytes=int((self._capacity - self._count) * self._state_bytes),
            )
        )
