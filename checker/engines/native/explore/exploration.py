"""The result of an exploration, and its progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from checker.engines.native.llvm.word_arrays import Words

Outcome = Literal["complete", "stopped", "error", "max_states", "max_depth", "max_memory", "max_disk", "interrupted"]


@dataclass(frozen=True)
class SearchProgress:
    """The progress of an exploration. `queue`: the states of this level and the next that are not yet expanded.

    `to_come`: about how many states are still to be found; None if that is unknown. `is_movable`: if memory is short,
    the states move to a smaller store. `activity`: what the search does instead of exploring; "" while it explores.
    """

    level: int
    distinct: int
    generated: int
    queue: int
    seconds: float
    memory_bytes: int
    to_come: int | None = None
    is_movable: bool = False
    activity: str = ""


@dataclass(frozen=True)
class StoredStep:
    """A step from a stored state: the action instance, and the words of the state to which it leads."""

    instance: int
    words: list[int]


@dataclass(frozen=True)
class FoundViolation:
    """The state or step in which a property was first violated, or a reachable first reached.

    `state` is the id of the state, or of the step's old state. `step` is None for a property of states.
    """

    state: int
    step: StoredStep | None = None


@dataclass(frozen=True)
class FoundFailure:
    """An evaluation in an action that left its bounds: the id of the state, the action instance, the site's number."""

    state: int
    instance: int
    site: int


class StateStore(Protocol):
    """The states that were found, each with an id and its origin: a `Store`, or runs of states on disk."""

    @property
    def memory_bytes(self) -> int:
        """The size of the states in bytes."""

    def find(self, words: Sequence[int] | Words) -> int | None:
        """Return the id of the state with these words (words,), or None if it is not stored."""

    def words_of(self, state_id: int) -> list[int]:
        """Return a state's words."""

    def origin_of(self, state_id: int) -> tuple[int, int] | None:
        """Return the parent (a state id) and the action instance that first reached a state; None if it is initial."""

    def all_states(self) -> Words:
        """Return a copy of all states (distinct, words)."""

    def distinct_per_instance(self) -> list[int]:
        """Return the number of states that each action instance was the first to reach (instances,)."""


@dataclass(frozen=True)
class Exploration:
    """The result of a breadth-first exploration. Except for `seconds`, it is the same for every number of workers.

    - `distinct`: the number of states. `levels`: the number of states of each level; the initial states are the first
      level. The last level is incomplete unless the outcome is `complete` or `max_depth`.
    - `generated`: the number of initial states and successors, including duplicates. `generated_per_instance`
      (instances,): the number of successors of each action instance.
    - `outcome`: `complete` (no state is left to expand), `stopped` (by a violation, a deadlock or the last awaited
      property), `error` (an evaluation left its bounds), `max_states`, `max_depth`, `max_memory`, `max_disk`
      or `interrupted`.
    - `violations`: the first violation of each invariant and step invariant, by property bit. `reached`: the first
      state of each reachable. The first one is the lowest by (level, round, shard, local index).
    - `levels_within`: the number of states of each level that are within the constraint; all 0 if the spec has none,
      and empty on Spark.
    - `error`: the first evaluation in an action that left its bounds. `property_error`: the first in a property.
      `deadlock`: the id of the first state within the constraint that has no successor.
    """

    distinct: int
    generated: int
    levels: list[int]
    outcome: Outcome
    seconds: float
    violations: dict[int, FoundViolation]
    reached: dict[int, FoundViolation]
    error: FoundFailure | None
    property_error: FoundViolation | None
    deadlock: int | None
    generated_per_instance: list[int]
    store: StateStore
    levels_within: list[int] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """The number of levels with at least one state."""
        return len(self.levels)

    @property
    def memory_bytes(self) -> int:
        """The size in bytes of the states, their origins and the tables."""
        return self.store.memory_bytes

    @property
    def distinct_per_instance(self) -> list[int]:
        """The number of states that each action instance was the first to reach (instances,). Not cached."""
        return self.store.distinct_per_instance()

    def path(self, state: int) -> list[tuple[int | None, list[int]]]:
        """Return a shortest path to a state (id) as pairs (instance, words); the first is (None, an initial state)."""
        backwards: list[tuple[int | None, list[int]]] = []
        while (origin := self.store.origin_of(state)) is not None:
            parent, instance = origin
            backwards.append((instance, self.store.words_of(state)))
            state = parent
        backwards.append((None, self.store.words_of(state)))
        return backwards[::-1]

    def path_to(self, violation: FoundViolation) -> list[tuple[int | None, list[int]]]:
        """Return the counterexample of a violation: the path to its state, and its step if it has one."""
        path = self.path(violation.state)
        if violation.step is not None:
            path.append((violation.step.instance, violation.step.words))
        return path

    def find(self, words: Sequence[int] | Words) -> int | None:
        """Return the id of the state with these words (words,), or None if it was not found."""
        return self.store.find(words)

    def all_states(self) -> Words:
        """Return a copy of all states (distinct, words), shard by shard."""
        return self.store.all_states()
