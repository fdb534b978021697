"""What an exploration found, and how far it is while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.explore.store import Words

Outcome = Literal["complete", "stopped", "error", "max_states", "max_depth", "interrupted"]


@dataclass(frozen=True)
class SearchProgress:
    """How far an exploration is; `queue` counts states of this level and the next that are not yet expanded."""

    level: int
    distinct: int
    generated: int
    queue: int
    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class StoredStep:
    """One step out of a stored state: the action instance and the words of the state it leads to."""

    instance: int
    words: Words


@dataclass(frozen=True)
class FoundViolation:
    """Where a property was first found violated (or a reachable reached): in a state, or in a step out of one.

    `state` is the id of the state, or of the step's old state; `step` is None for a property of states.
    """

    state: int
    step: StoredStep | None = None


@dataclass(frozen=True)
class FoundFailure:
    """An evaluation in an action that left its bounds: the state it was evaluated in, the action instance, the site."""

    state: int
    instance: int
    site: int


class StateStore(Protocol):
    """What keeps the states that were found, each under an id, with its origin: `Store`, or runs of states on disk."""

    @property
    def memory_bytes(self) -> int:
        """The bytes that the states take."""

    def find(self, words: Words) -> int | None:
        """Return the id of the state with these words (words,), or None where it is not stored."""

    def words_of(self, state_id: int) -> Words:
        """Return a copy of a state's words."""

    def origin_of(self, state_id: int) -> tuple[int, int] | None:
        """Return the state that a state was first reached from and the action instance; None for an initial state."""

    def all_states(self) -> Words:
        """Return a copy of all states (distinct, words)."""

    def distinct_per_instance(self) -> NDArray[np.int64]:
        """Return how many states each action instance was the first to reach (instances,)."""


@dataclass(frozen=True)
class Exploration:
    """The result of a breadth-first exploration. It is the same for every number of workers, but for `seconds`.

    - `distinct` counts the states stored; `levels` those of each level, the initial states being the first; the last
      level is incomplete where the outcome is not `complete` or `max_depth`.
    - `generated` counts initial states and successors, duplicates included; `generated_per_instance` (instances,)
      successors only.
    - `outcome`: `complete` (nothing is left to expand), `stopped` (by a violation, a deadlock or the last of the
      properties waited for), `error` (an evaluation left its bounds), `max_states`, `max_depth`, `interrupted`.
    - `violations` holds, by property bit, the first violation of each invariant and step invariant; `reached`
      the first state of each reachable. The first is the lowest by (level, round, shard, local index).
    - `error` is the first evaluation in an action that left its bounds, `property_error` the first in a property;
      `deadlock` is the id of the first state within the constraint that has no successor.
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
    generated_per_instance: NDArray[np.int64]
    store: StateStore

    @property
    def depth(self) -> int:
        """The number of levels with at least one state."""
        return len(self.levels)

    @property
    def memory_bytes(self) -> int:
        """The bytes that the states found take, with their origins and the tables."""
        return self.store.memory_bytes

    @property
    def distinct_per_instance(self) -> NDArray[np.int64]:
        """How many states each action instance was the first to reach (instances,); counted on each call."""
        return self.store.distinct_per_instance()

    def path(self, state: int) -> list[tuple[int | None, Words]]:
        """Return a shortest path to a state (id): (instance, words) each; it begins with an initial state and None."""
        backwards: list[tuple[int | None, Words]] = []
        while (origin := self.store.origin_of(state)) is not None:
            parent, instance = origin
            backwards.append((instance, self.store.words_of(state)))
            state = parent
        backwards.append((None, self.store.words_of(state)))
        return backwards[::-1]

    def path_to(self, violation: FoundViolation) -> list[tuple[int | None, Words]]:
        """Return the counterexample to a violation: the path to its state, and its step if it has one."""
        path = self.path(violation.state)
        if violation.step is not None:
            path.append((violation.step.instance, violation.step.words))
        return path

    def find(self, words: Words) -> int | None:
        """Return the id of the state with these words (words,), or None where it was not found."""
        return self.store.find(words)

    def all_states(self) -> Words:
        """Return all states (distinct, words), shard by shard, as a copy."""
        return self.store.all_states()
