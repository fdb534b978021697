"""Breadth-first search: level by level, and within a level round by round.

    store the initial states
    until there is a reason to stop:
        expand:  every shard expands states of its frontier, until an outbox might overflow      (in parallel)
        insert:  every shard stores and checks the new states among the successors sent to it    (in parallel)
        collect the findings
        if the level is exhausted: the states found since it began are the next level

A round is one `expand` and one `insert`. The result does not depend on the number of workers: see the canonical order
in `memory_layout`. The distribution of states over shards resembles that of Stern and Dill, "Parallelizing the Murphi
Verifier", CAV 1997: the hash of a state selects its owner.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from checker.engines.native.explore.exploration import Exploration, Outcome, SearchProgress
from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.search_findings import SearchFindings
from checker.engines.native.explore.search_store import SearchStore
from checker.engines.native.explore.store import Store
from checker.engines.native.explore.workers import Workers, defer_interrupts
from checker.errors import InputError
from checker.run.endings import StoppedError
from checker.run.forecast import states_to_come
from checker.run.memory import MemoryWatch

if TYPE_CHECKING:
    from checker.engines.native.explore.compact.compact_store import CompactStore
    from checker.engines.native.explore.search_checkpoints import SearchCheckpoints
    from checker.engines.native.llvm.word_arrays import PackedStates

PARALLEL_FROM = 1500
"""With fewer states left in the level, a round runs on one thread: starting threads would take longer."""

_MOVE_HEADROOM = 8
"""The states move to the compact store when less than an eighth of their memory is left for more."""

PROGRESS_SECONDS = 0.25
"""The least time between two calls of `on_progress`."""

IMPROVE_SECONDS = 1.5
"""The processor time after which an exploration that started with quickly compiled kernels compiles optimised ones.

Compiling a large spec takes about as long, so that an exploration takes at most about twice the time. Not the time that
has passed: on a busy machine, a short exploration would compile what it does not need.
"""


@dataclass(frozen=True)
class _Limits:
    """The reasons to stop, see `breadth_first_search`. `stop_mask`: the property bits of which any one stops it."""

    stop_after: int
    stop_mask: int
    stop_on_deadlock: bool
    await_deadlock: bool
    max_states: int | None
    max_depth: int | None
    memory: MemoryWatch


@dataclass(frozen=True)
class _Size:
    """The size of a search before its last round. A limit that it had not reached cannot have stopped the search."""

    distinct: int
    levels: int


def breadth_first_search(
    kernels: Kernels,
    initial: PackedStates,
    *,
    workers: int = 1,
    invariant_mask: int = 0,
    step_mask: int = 0,
    reachable_mask: int = 0,
    stop_after: int = 0,
    stop_on_any: bool = False,
    stop_on_deadlock: bool = False,
    await_deadlock: bool = False,
    max_states: int | None = None,
    max_depth: int | None = None,
    max_memory: int | None = None,
    on_progress: Callable[[SearchProgress], None] | None = None,
    cancelled: threading.Event | None = None,
    checkpoints: SearchCheckpoints | None = None,
    store_of: Callable[[Kernels], SearchStore] = Store,
    compact_store_of: Callable[[Kernels], CompactStore] | None = None,
) -> Exploration:
    """Explore all states that are reachable from the initial ones (n, words), breadth-first.

    `invariant_mask`, `step_mask` and `reachable_mask` select the property bits to check. A bit that is in both
    `step_mask` and `reachable_mask` is a reachable of steps. The search stops at the end of the round in which

    - an evaluation left its bounds (always);
    - an invariant or step invariant was violated (with `stop_on_any`), or a deadlock was found (`stop_on_deadlock`);
    - all property bits in `stop_after` have been violated or reached, and a deadlock has been found if
      `await_deadlock` is set (0 and False: never);
    - at least `max_states` states were found, or `max_depth` levels: the last level is checked, but not expanded;
    - the states take nearly `max_memory` bytes, or nearly all memory of the machine (`max_memory`: None), or the store
      or the disk is full;
    - `cancelled` was set, or the user pressed Ctrl-C.

    `store_of` makes the store. If its memory is short, the states move to the store that `compact_store_of` makes, and
    the search continues. `on_progress` is called at the end of a round, at most four times a second. With
    `checkpoints`, the search resumes the last one if there is one, and gives the same result as without the
    interruption. Raises ValueError if an argument is out of range, StoppedError if the states of a checkpoint do not
    fit into the machine's memory, and InputError if the checkpoint is damaged or has reached a limit already.
    """
    if not _has_shape(initial, kernels.layout.words):
        shape = [len(state) for state in initial] if isinstance(initial, list) else initial.shape
        raise ValueError(f"initial states have shape (n, {kernels.layout.words}), n >= 1; not {shape}")
    if max_depth is not None and max_depth < 1:
        raise ValueError("max_depth is at least 1: the initial states are the first level")
    # A reachable of steps is in `step_mask` too, but reaching it is no reason to stop.
    stop_mask = (invariant_mask | step_mask) & ~reachable_mask if stop_on_any else 0
    memory = MemoryWatch(max_memory)
    limits = _Limits(stop_after, stop_mask, stop_on_deadlock, await_deadlock, max_states, max_depth, memory)
    with Workers(workers) as team, defer_interrupts() as interrupted:
        interrupts = [interrupted] if cancelled is None else [interrupted, cancelled]
        search = _BreadthFirstSearch(
            store_of(kernels),
            team,
            invariant_mask | reachable_mask,
            step_mask,
            limits,
            on_progress,
            interrupts,
            checkpoints,
            compact_store_of,
        )
        outcome = search.run(initial)
        search.keep_origins()
    return search.result(outcome, reachable_mask)


def _has_shape(states: PackedStates, words: int) -> bool:
    """Return whether there are packed states, each of some words."""
    if isinstance(states, list):
        return bool(states) and all(len(state) == words for state in states)
    return states.ndim == 2 and states.shape[1] == words and len(states) > 0


class _BreadthFirstSearch:
    """One exploration in progress."""

    def __init__(
        self,
        store: SearchStore,
        team: Workers,
        state_mask: int,
        step_mask: int,
        limits: _Limits,
        on_progress: Callable[[SearchProgress], None] | None,
        interrupts: list[threading.Event],
        checkpoints: SearchCheckpoints | None,
        compact_store_of: Callable[[Kernels], CompactStore] | None,
    ) -> None:
        self._store = store
        self._team = team
        self._state_mask = state_mask
        self._step_mask = step_mask
        self._limits = limits
        self._on_progress = on_progress
        self._interrupts = interrupts
        self._checkpoints = checkpoints
        self._compact_store_of = compact_store_of
        self._store_watch = MemoryWatch(limits.memory.limit)
        self._findings = SearchFindings(self._store)
        self._level_ends: list[int] = []
        self._within_ends: list[int] = []
        self._initial_states = 0
        self._rounds = 0
        self._forecast_levels, self._forecast = 0, states_to_come([])
        self._without_room: Outcome | None = None
        self._before_round = _Size(0, 0)
        self._started = self._reported = perf_counter()
        self._processor_started = process_time()

    def run(self, initial: PackedStates) -> Outcome:
        """Explore until no state is left or there is a reason to stop; return the outcome."""
        try:
            self._begin(initial)
            improves = True
            while (outcome := self._outcome()) is None:
                if improves and process_time() - self._processor_started > IMPROVE_SECONDS:
                    # Safe here: between rounds no kernel runs, and both versions work on the same memory with the same
                    # layout.
                    self._store.improve_kernels()
                    improves = False
                if self._checkpoints is not None and self._checkpoints.is_due():
                    self._checkpoints.save(self._store, self._progress())
                self._round()
                self._move_if_short()
            if self._checkpoints is not None and self._is_continued(outcome):
                self._checkpoints.save_last(self._store, self._progress())
        # With the deferred handler, Ctrl-C only sets an event. `on_progress` or a caller's own handler may raise it.
        except KeyboardInterrupt:
            outcome = "interrupted"
        return outcome

    def keep_origins(self) -> None:
        """Prepare the paths to all findings."""
        self._store.keep_origins(
            self._findings.states(),
            self._in_parallel,
            lambda level: self._report(f"rebuilding the paths to the findings, level {level}"),
        )

    def _in_parallel(self, work: Callable[[], None]) -> None:
        self._team.run(work, in_parallel=True)

    def _move_if_short(self) -> None:
        """Move the states to the compact store if the memory for this one is short."""
        store, compact_store_of = self._store, self._compact_store_of
        if compact_store_of is None or not isinstance(store, Store) or not store.left:
            return
        if not self._is_short_for(store) and not store.is_nearly_full:
            return
        self._report(f"memory is short: moving {store.distinct:,} states to the compact store")
        if self._checkpoints is not None:
            # The writer reads the arrays of the usual store.
            self._checkpoints.finish_writing()
        try:
            compact = compact_store_of(store.kernels)
            compact.take_over(store)
        except (OSError, MemoryError, StoppedError):
            # No space on the disk or in the address space. The search ends when the usual store has no memory any more.
            self._compact_store_of = None
            return
        # The last references to the usual store: its memory is released here.
        self._store = self._findings.store = compact
        del store
        compact.rebuild(self._in_parallel)

    def _is_short_for(self, store: Store) -> bool:
        taken = store.memory_bytes
        return self._store_watch.is_short(taken, lambda: store.round_bytes + taken // _MOVE_HEADROOM)

    def result(self, outcome: Outcome, reachable_mask: int) -> Exploration:
        """Return the exploration, with violations and reached reachables separated by `reachable_mask`."""
        by_bit = self._findings.by_bit
        ends = [0, *self._level_ends, self._store.distinct]
        within_ends = [0, *self._within_ends, self._store.within]
        sizes = [end - start for start, end in pairwise(ends)]
        sizes_within = [end - start for start, end in pairwise(within_ends)]
        return Exploration(
            distinct=self._store.distinct,
            generated=self._count_generated(),
            levels=[size for size in sizes if size],
            outcome=outcome,
            seconds=perf_counter() - self._started,
            violations={bit: where for bit, where in by_bit.items() if not reachable_mask >> bit & 1},
            reached={bit: where for bit, where in by_bit.items() if reachable_mask >> bit & 1},
            error=self._findings.error,
            property_error=self._findings.property_error,
            deadlock=self._findings.deadlock,
            generated_per_instance=self._store.generated_per_instance(),
            store=self._store,
            levels_within=[within for size, within in zip(sizes, sizes_within, strict=True) if size],
        )

    def _begin(self, initial: PackedStates) -> None:
        """Resume the last checkpoint, or store the initial states."""
        progress = None if self._checkpoints is None else self._checkpoints.saved_progress
        if self._checkpoints is None or progress is None:
            self._insert_initial(initial)
            return
        self._before_round = _Size(*progress["before_round"])
        self._require_below_limits(progress)
        if progress["is_compact"] and isinstance(self._store, Store):
            # The states had moved. Their order and ids are those of the usual store.
            assert self._compact_store_of is not None, "the identity of the search includes the choice of the store"
            self._store = self._findings.store = self._compact_store_of(self._store.kernels)
        self._checkpoints.load(self._store)
        self._store.rebuild(self._in_parallel)
        self._level_ends, self._within_ends = progress["level_ends"], progress["within_ends"]
        self._initial_states, self._rounds = progress["initial_states"], progress["rounds"]
        self._findings.restore(progress["findings"])
        self._started -= progress["seconds"]

    def _progress(self) -> dict[str, Any]:
        """Return the progress of the search between two rounds, as JSON."""
        return {
            "distinct": self._store.distinct,
            "level": len(self._level_ends),
            "is_compact": not isinstance(self._store, Store),
            "level_ends": self._level_ends.copy(),
            "within_ends": self._within_ends.copy(),
            "initial_states": self._initial_states,
            "rounds": self._rounds,
            "before_round": [self._before_round.distinct, self._before_round.levels],
            "findings": self._findings.to_json(),
            "seconds": perf_counter() - self._started,
        }

    def _is_continued(self, outcome: Outcome) -> bool:
        """Return whether a search with this outcome is continued: with a higher limit, or by deciding liveness."""
        assert self._checkpoints is not None
        if outcome in ("max_memory", "max_disk"):
            # A store that dropped states cannot be continued. The checkpoints before it can.
            return not self._store.is_full and self._without_room is None
        return outcome in ("max_states", "max_depth", "interrupted") or (
            outcome == "complete" and self._checkpoints.keeps_complete
        )

    def _require_below_limits(self, progress: dict[str, Any]) -> None:
        """Raise InputError if a search with these limits would have stopped before the checkpoint."""
        before, limits = self._before_round, self._limits
        if limits.max_states is not None and before.distinct >= limits.max_states:
            raise InputError(
                f"the checkpoint has {progress['distinct']:,} states, more than --max-states {limits.max_states}: "
                "choose a higher limit, or another folder"
            )
        if limits.max_depth is not None and before.levels >= limits.max_depth:
            raise InputError(
                f"the checkpoint goes beyond --max-depth {limits.max_depth}: choose a higher limit, or another folder"
            )

    def _insert_initial(self, initial: PackedStates) -> None:
        for _ in self._store.send_initial(initial):
            # A batch has at most one outbox of entries per shard: too few to be worth starting threads.
            self._insert(in_parallel=False)
        self._initial_states = len(initial)
        self._begin_level()

    def _begin_level(self) -> None:
        self._level_ends.append(self._store.distinct)
        self._within_ends.append(self._store.within)
        self._store.begin_level()

    def _round(self) -> None:
        """Run one round, and begin the next level if this one is exhausted."""
        self._rounds += 1
        self._before_round = _Size(self._store.distinct, len(self._level_ends))
        in_parallel = self._store.left_in_level >= PARALLEL_FROM
        # A property is not checked after the round in which it was first found. Within a round every shard may still
        # find it.
        step_mask = self._step_mask & ~self._findings.seen
        self._store.offer_shards()
        # `run` returns after all workers have finished. This join is the barrier on which the ownership rules rely.
        self._team.run(lambda: self._store.expand(step_mask), in_parallel)
        self._insert(in_parallel)
        # Without the second condition, a finished search would get one more level without states.
        if not self._store.left_in_level and self._store.left:
            self._begin_level()

    def _insert(self, in_parallel: bool) -> None:
        """Run the second half of a round and collect the findings."""
        mask = self._state_mask & ~self._findings.seen
        try:
            self._store.make_room(lambda work: self._team.run(work, in_parallel))
        except MemoryError:
            self._without_room = "max_memory"
        except OSError:
            self._without_room = "max_disk"
        if self._without_room is not None:
            # The successors in flight are dropped. The search ends: its findings are right, but not complete.
            return
        self._store.offer_shards()
        self._team.run(lambda: self._store.insert(mask), in_parallel)
        self._findings.collect()
        self._report()

    def _outcome(self) -> Outcome | None:
        """Return the reason to stop at the end of this round, or None to continue."""
        findings, limits = self._findings, self._limits
        # The order of these tests is part of the result. Findings come before "complete", which comes before the
        # limits: a search that ends exactly at a limit has still seen every state.
        if findings.error is not None or findings.property_error is not None:
            return "error"
        if (
            self._has_all_awaited()
            or findings.seen & limits.stop_mask
            or (limits.stop_on_deadlock and findings.deadlock is not None)
        ):
            return "stopped"
        # Before "complete": the dropped states may have been the only ones that were left.
        if self._store.is_full:
            return "max_memory"
        if self._without_room is not None:
            return self._without_room
        if not self._store.left:
            return "complete"
        if any(event.is_set() for event in self._interrupts):
            return "interrupted"
        if limits.max_states is not None and self._store.distinct >= limits.max_states:
            return "max_states"
        if limits.max_depth is not None and len(self._level_ends) >= limits.max_depth:
            return "max_depth"
        if limits.memory.is_short(self._store.memory_bytes, lambda: self._store.round_bytes):
            return "max_memory"
        return None

    def _has_all_awaited(self) -> bool:
        """Return whether the search waits for findings and has all of them."""
        findings, limits = self._findings, self._limits
        waits = limits.stop_after != 0 or limits.await_deadlock
        lacks_deadlock = limits.await_deadlock and findings.deadlock is None
        return waits and not lacks_deadlock and not limits.stop_after & ~findings.seen

    def _count_generated(self) -> int:
        return self._initial_states + sum(self._store.generated_per_instance())

    def _report(self, activity: str = "") -> None:
        """Call `on_progress`, unless the last call is too recent; always for an activity."""
        now = perf_counter()
        if self._on_progress is None or (now - self._reported < PROGRESS_SECONDS and not activity):
            return
        self._reported = now
        self._on_progress(
            SearchProgress(
                level=max(1, len(self._level_ends)),
                distinct=self._store.distinct,
                generated=self._count_generated(),
                queue=self._store.left,
                seconds=now - self._started,
                memory_bytes=self._store.memory_bytes,
                to_come=self._to_come(),
                is_movable=self._compact_store_of is not None and isinstance(self._store, Store),
                activity=activity,
            )
        )

    def _to_come(self) -> int | None:
        """Return about how many states are still to be found; None if that is unknown."""
        levels = len(self._level_ends)
        if levels != self._forecast_levels:
            self._forecast_levels = levels
            self._forecast = states_to_come([end - start for start, end in pairwise([0, *self._level_ends])])
        if self._forecast is None:
            return None
        return max(0, self._forecast - (self._store.distinct - self._level_ends[-1]))
