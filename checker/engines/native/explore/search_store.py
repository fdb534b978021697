"""What every store of an exploration has: records, successors in flight, counters, and the calls of the kernels.

The methods that a search calls in every round, or that a result needs, do without NumPy (see `reserved`).
"""

from __future__ import annotations

import ctypes
import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.memory_layout import (
    FIELD_LENGTHS,
    FIELD_OFFSETS,
    INITIAL_INSTANCE,
    INITIAL_PARENT,
    MASK_BITS,
    NO_STATE,
    RECORD_WORDS,
    RESTORED_FIELDS,
    SHARD_BITS,
    SHARDS,
)
from checker.engines.native.explore.reserved import U64, Reserved
from checker.run.endings import StoppedError
from checker.run.memory import available_address_space, memory_limit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from checker.engines.native.llvm.word_arrays import PackedStates, Words

Run = Callable[[Callable[[], None]], None]
"""Calls a function in all workers at the same time, and returns after all calls."""

_MAPPED_NUMERATOR, _MAPPED_DENOMINATOR = 2, 3
"""The part of the address space left by `ulimit -v` that a store reserves; compiled code and threads take the rest."""


class SearchStore(ABC):
    """The part of a store that does not depend on how states are stored.

    The id of a state is local index * SHARDS + shard. Raises MemoryError if the address space is limited.
    """

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self.layout = layout = kernels.layout
        self._generated = Reserved(U64, SHARDS, layout.counter_words)
        self._step_violations = Reserved(U64, SHARDS, MASK_BITS, layout.entry_words)
        self._successors = Reserved(U64, SHARDS, layout.outbox_capacity, layout.entry_words)
        self._outboxes = Reserved(U64, SHARDS, SHARDS, layout.outbox_capacity, layout.entry_words)
        self._records = Reserved(U64, SHARDS, RECORD_WORDS)
        # Kernels take plain addresses. They stay valid because this object keeps all memory, and none of it moves.
        self._records_address = self._records.address
        self._next_shard = ctypes.c_uint64()
        self._next_shard_address = ctypes.addressof(self._next_shard)
        self._level_ends: list[list[int]] = []
        self._place(
            successors=self._successors,
            outboxes=self._outboxes,
            generated=self._generated,
            step_violations=self._step_violations,
        )
        # All other fields start as 0, which is right for them. 0 is a local index, so `deadlock` needs NO_STATE.
        self.write("deadlock", NO_STATE)

    def _place(self, **reserved: Reserved) -> None:
        """Write the addresses of each shard's part of some memory to its record."""
        for name, memory in reserved.items():
            self.write(name, memory.addresses())

    @property
    @abstractmethod
    def states(self) -> Sequence[Words]:
        """The states of each shard, an array (capacity, words), in the order in which they were found."""

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """The size in bytes of the states and tables in memory."""

    @property
    @abstractmethod
    def round_bytes(self) -> int:
        """The bytes by which the next round may increase `memory_bytes`."""

    @property
    @abstractmethod
    def is_full(self) -> bool:
        """Whether the last round dropped states for which there was no memory."""

    @abstractmethod
    def insert(self, mask: int) -> None:
        """Run the second half of a round for the shards that no other worker has taken."""

    @abstractmethod
    def find(self, words: Sequence[int] | Words) -> int | None:
        """Return the id of the state with these words (words,), or None if it is not stored."""

    @abstractmethod
    def origin_of(self, state_id: int) -> tuple[int, int] | None:
        """Return the parent (a state id) and the action instance that first reached a state; None if it is initial."""

    @abstractmethod
    def distinct_per_instance(self) -> list[int]:
        """Return the number of states that each action instance was the first to reach (instances,)."""

    @abstractmethod
    def rebuild(self, run: Run) -> None:
        """Build the tables of a restored store; `run` calls a function in all workers at the same time."""

    @abstractmethod
    def make_room(self, run: Run) -> None:
        """Prepare the second half of a round; `run` calls a function in all workers at the same time.

        Raises MemoryError if the states that may be new do not fit into memory, OSError if they do not fit on disk.
        """

    @abstractmethod
    def release(self) -> None:
        """Release memory that the search does not need soon. Called often, while no kernel runs."""

    @abstractmethod
    def keep_origins(self, state_ids: Sequence[int], run: Run, on_level: Callable[[int], None]) -> None:
        """Prepare `origin_of` for some states and for all states on the paths to them.

        `on_level` is called before a level is expanded again.
        """

    @abstractmethod
    def index_states(self, run: Run) -> None:
        """Prepare the table that maps a state to its local index, when the search is over.

        `run` calls a function in all workers at the same time. Raises TooLargeError if it does not fit into memory.
        """

    def depths_of(self, state_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the level (n,) of each of some states (n,), from 0 on: its distance from the initial states."""
        # A shard stores its states in the order of levels, so the number of levels that end at or before a local index
        # is the level of its state.
        import numpy as np

        depths = np.empty(len(state_ids), np.int64)
        ends = np.array(self._level_ends, np.uint64)
        for shard, chosen in self._by_shard(state_ids):
            local = (state_ids[chosen] >> SHARD_BITS).astype(np.uint64)
            depths[chosen] = np.searchsorted(ends[:, shard], local, side="right")
        return depths

    def words_of_all(self, state_ids: NDArray[np.int64]) -> Words:
        """Return a copy of the words (n, words) of some states (n,)."""
        import numpy as np

        words = np.empty((len(state_ids), self.layout.words), np.uint64)
        for shard, chosen in self._by_shard(state_ids):
            words[chosen] = self.states[shard][state_ids[chosen] >> SHARD_BITS]
        return words

    @staticmethod
    def _by_shard(state_ids: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield each shard with the positions of its states among some states (n,)."""
        import numpy as np

        shards = (state_ids % SHARDS).astype(np.uint8)
        by_shard = np.argsort(shards, kind="stable")
        bounds = np.searchsorted(shards[by_shard], np.arange(SHARDS + 1))
        for shard in range(SHARDS):
            yield shard, by_shard[bounds[shard] : bounds[shard + 1]]

    def states_address(self, shard: int, local: int) -> int:
        """Return the address of a state; the states of a shard follow one another."""
        return int(self.states[shard][local:].ctypes.data)

    def level_of(self, state_id: int) -> int:
        """Return the level of a state, from 0 on: its distance from the initial states."""
        shard, local = state_id % SHARDS, state_id >> SHARD_BITS
        return sum(ends[shard] <= local for ends in self._level_ends)

    def replay_level(self, level: int, run: Run) -> Generator[None]:
        """Expand the states of a level again; yield after each round, in which `entries_for` returns the successors.

        Afterwards the store is as before.
        """
        changed = (self._records.array, self._generated.array, self._successors.array)
        kept = [(memory, memory.copy()) for memory in changed]
        try:
            self.write("cursor", self._level_ends[level - 1] if level else 0)
            self.write("frontier_end", self._level_ends[level])
            self.write("pending", 0)
            # A search that ended without room has successors in its outboxes.
            self.field("fills")[:] = 0
            while self.left_in_level:
                self.offer_shards()
                run(lambda: self.expand(0))
                yield
                self.field("fills")[:] = 0
                self.release()
        finally:
            for memory, content in kept:
                memory[:] = content

    def entries_for(self, shard: int) -> Iterator[Words]:
        """Yield the entries (n, words + 1) that the expanded half of a round sent to a shard, in canonical order."""
        for source in range(SHARDS):
            yield self._outboxes.array[source, shard, : int(self.field("fills")[source, shard])]

    def field(self, name: str) -> Words:
        """Return a view of a field of all records: (SHARDS,), or (SHARDS, items) for a field of several words."""
        offset, length = FIELD_OFFSETS[name], FIELD_LENGTHS[name]
        records: Words = self._records.array
        return records[:, offset] if length == 1 else records[:, offset : offset + length]

    def read(self, name: str, item: int = 0) -> list[int]:
        """Return a field of all records (SHARDS,); `item`: which of its words, for a field of several words."""
        values: list[int] = self._records.items[FIELD_OFFSETS[name] + item :: RECORD_WORDS].tolist()
        return values

    def write(self, name: str, values: int | Iterable[int]) -> None:
        """Write a field of one word to all records: one value, or the value of each shard."""
        written = [values] * SHARDS if isinstance(values, int) else values
        self._records.items[FIELD_OFFSETS[name] :: RECORD_WORDS] = array(U64, written)

    def step_violation(self, shard: int, bit: int) -> list[int]:
        """Return the entry (words + 1) of the first step of a shard's states that violated a property."""
        size = self.layout.entry_words
        start = (shard * MASK_BITS + bit) * size
        words: list[int] = self._step_violations.items[start : start + size].tolist()
        return words

    @property
    def kernels(self) -> Kernels:
        """The kernels that the store calls."""
        return self._kernels

    def offer_shards(self) -> None:
        """Offer all shards to the workers that will run the next half of a round."""
        self._next_shard.value = 0

    def improve_kernels(self) -> None:
        """Continue with optimised kernels, unless these are already optimised."""
        if self._kernels.better is not None:
            self._kernels = self._kernels.better()

    def expand(self, step_mask: int) -> None:
        """Run the first half of a round for the shards that no other worker has taken."""
        self._kernels.expand(self._records_address, self._next_shard_address, step_mask)

    def send_initial(self, initial: PackedStates) -> Iterator[None]:
        """Send initial states (n, words) to their shards in rounds; the caller runs `insert` after each yield.

        They take the way of successors: into the buffer of shard 0, from which `expand` routes them.
        """
        size = self.layout.outbox_entries
        for start in range(0, len(initial), size):
            batch = initial[start : start + size]
            if isinstance(batch, list):
                entries = array(U64, [word for state in batch for word in (*state, INITIAL_INSTANCE)])
                self._successors.items[: len(entries)] = entries
            else:
                self._successors.array[0, : len(batch), :-1] = batch
                self._successors.array[0, : len(batch), -1] = INITIAL_INSTANCE
            self._records.items[FIELD_OFFSETS["pending"]] = len(batch)
            self._records.items[FIELD_OFFSETS["pending_parent"]] = INITIAL_PARENT
            self.offer_shards()
            self.expand(0)
            yield

    def begin_level(self) -> None:
        """Make the states that were found since the last level began the frontier of the next level."""
        counts = self.counts()
        self.write("frontier_end", counts)
        self._level_ends.append(counts)

    def counts(self) -> list[int]:
        """Return the number of states of each shard (SHARDS,)."""
        return self.read("count")

    @property
    def records_address(self) -> int:
        """The address of the records of the shards, see `memory_layout`."""
        return self._records_address

    @property
    def distinct(self) -> int:
        """The number of states."""
        return sum(self.counts())

    @property
    def within(self) -> int:
        """The number of states within the constraint; 0 if the spec has none."""
        return sum(self.read("within"))

    @property
    def left_in_level(self) -> int:
        """The number of states of this level that are not yet expanded, or have successors that are not yet routed."""
        unexpanded = sum(self.read("frontier_end")) - sum(self.read("cursor"))
        return unexpanded + sum(pending > 0 for pending in self.read("pending"))

    @property
    def left(self) -> int:
        """The number of states of this level and the next that are not yet expanded."""
        return self.left_in_level + self.distinct - sum(self.read("frontier_end"))

    def words_of(self, state_id: int) -> list[int]:
        """Return a state's words."""
        words: list[int] = self.states[state_id % SHARDS][state_id >> SHARD_BITS].tolist()
        return words

    def all_states(self) -> Words:
        """Return a copy of all states (distinct, words), shard by shard."""
        import numpy as np

        return np.concatenate([self.states[shard][:count] for shard, count in enumerate(self.counts())])

    def generated_per_instance(self) -> list[int]:
        """Return the number of successors that each action instance has generated (instances,)."""
        counters, size = self._generated.items, self.layout.counter_words
        return [sum(counters[instance::size]) for instance in range(self.layout.instances)]

    # Checkpoints, see `CheckpointedStore`.

    @abstractmethod
    def _growing(self) -> Mapping[str, Sequence[NDArray[Any]]]:
        """Return the arrays of each shard with an item for each of its states, by name."""

    def _changing(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that have one size and change in every round, besides the records."""
        return {"generated": self._generated.array}

    def growing_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the states and their origins, by shard."""
        return {
            f"{name}-{shard:02}": arrays[shard][:count]
            for shard, count in enumerate(self.counts())
            for name, arrays in self._growing().items()
        }

    def changing_arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of the records, and of everything else that is small."""
        import numpy as np

        successors, pending = self._successors.array, self.read("pending")
        return {
            **{f"record-{name}": self.field(name).copy() for name in RESTORED_FIELDS},
            **{name: array.copy() for name, array in self._changing().items()},
            "successors": np.concatenate([successors[shard, :listed] for shard, listed in enumerate(pending)]),
            "level_ends": np.array(self._level_ends, np.uint64),
        }

    def release_items(self, name: str, first: int, end: int) -> None:  # noqa: B027 - nothing to do by default
        """Release the memory of some items that are also in a file, see `CheckpointedStore`."""

    def room_for(self, name: str, items: int) -> NDArray[Any] | None:
        """Return the memory of the first states or origins of a shard; None if this store does not have them."""
        kind, _, shard = name.rpartition("-")
        if kind not in self._growing():
            return None
        if items > self.read("capacity")[int(shard)]:
            raise StoppedError(
                f"the checkpoint, with {items:,} states in a shard, needs more memory than this machine has"
            )
        return self._growing()[kind][int(shard)][:items]

    def restore(self, changing: Mapping[str, NDArray[Any]]) -> None:
        """Restore the records and the successors in flight. `rebuild` then builds the tables from the states."""
        import numpy as np

        for name in RESTORED_FIELDS:
            self.field(name)[:] = changing[f"record-{name}"]
        for name, content in self._changing().items():
            content[:] = changing[name]
        self._level_ends = changing["level_ends"].tolist()
        self._require_order()
        ends = np.cumsum(self.field("pending")).astype(np.int64)
        for shard, listed in enumerate(np.split(changing["successors"], ends[:-1])):
            self._successors.array[shard, : len(listed)] = listed

    def _require_order(self) -> None:
        """Raise ValueError if restored numbers contradict each other: kernels do not check them."""
        cursor, end, count = (self.field(name) for name in ("cursor", "frontier_end", "count"))
        is_ordered = (cursor <= end).all() and (end <= count).all() and (count <= self.field("capacity")).all()
        if not is_ordered or (self.field("pending") > self.layout.outbox_capacity).any():
            raise ValueError("its records contradict each other")


def physical_memory() -> int:
    """Return the machine's memory in bytes, or the memory that its control group may take."""
    limit = memory_limit()
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if limit is None else limit


def mappable_bytes() -> int | None:
    """Return the bytes of address space that a store may reserve; None if there is no limit (`ulimit -v`)."""
    address_space = available_address_space()
    return None if address_space is None else address_space * _MAPPED_NUMERATOR // _MAPPED_DENOMINATOR
