"""The findings in the shards' records, collected in canonical order: round, shard, local index."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from checker.engines.native.explore.exploration import FoundFailure, FoundViolation, StoredStep
from checker.engines.native.explore.memory_layout import NO_STATE, ORIGIN_SHIFT, OUT_OF_BOUNDS_BIT, SHARD_BITS
from checker.engines.native.explore.search_store import SearchStore

_OUT_OF_BOUNDS = 1 << OUT_OF_BOUNDS_BIT


@dataclass
class SearchFindings:
    """The findings so far. `seen` has the bits of all properties that were violated or reached."""

    store: SearchStore
    seen: int = 0
    by_bit: dict[int, FoundViolation] = field(default_factory=dict)
    error: FoundFailure | None = None
    property_error: FoundViolation | None = None
    deadlock: int | None = None

    def collect(self) -> None:
        """Add the findings of the last round. The first finding of each kind is kept."""
        if self.error is None:
            self.error = self._first_failure()
        if self.deadlock is None:
            self.deadlock = self._first_deadlock()
        # The records keep their bits for the whole search. Bits of earlier rounds are removed below by `~self.seen`.
        seen = functools.reduce(operator.or_, self.store.read("seen_in_states") + self.store.read("seen_in_steps"))
        for bit in _bits(seen & ~self.seen & ~_OUT_OF_BOUNDS):
            self.by_bit[bit] = self._first(bit)
        # Bit 63 is not a property: it says that one left its bounds. It ends the search, whichever bits are awaited.
        if seen & _OUT_OF_BOUNDS and self.property_error is None:
            self.property_error = self._first(OUT_OF_BOUNDS_BIT)
        self.seen |= seen & ~_OUT_OF_BOUNDS

    def states(self) -> list[int]:
        """Return the ids of the states in which something was found."""
        findings = [*self.by_bit.values(), self.error, self.property_error]
        states = [where.state for where in findings if where is not None]
        return states if self.deadlock is None else [*states, self.deadlock]

    def to_json(self) -> dict[str, Any]:
        """Return the findings of a search that continues, as JSON: an error would have ended it."""
        assert self.error is None and self.property_error is None
        by_bit = {bit: [where.state, _step_to_json(where.step)] for bit, where in self.by_bit.items()}
        return {"seen": self.seen, "by_bit": by_bit, "deadlock": self.deadlock}

    def restore(self, content: dict[str, Any]) -> None:
        """Take over the findings that `to_json` returned."""
        self.seen, self.deadlock = content["seen"], content["deadlock"]
        self.by_bit = {
            int(bit): FoundViolation(state, None if step is None else StoredStep(*step))
            for bit, (state, step) in content["by_bit"].items()
        }

    def _first_failure(self) -> FoundFailure | None:
        shard = _first_shard(self.store.read("failures"))
        if shard is None:
            return None
        # Valid only in a shard with `failures` above 0: records start as zeros, and 0 is also a local index.
        local, instance, site = (
            self.store.read(name)[shard] for name in ("failed_state", "failed_instance", "failed_site")
        )
        return FoundFailure(_id(shard, local), instance, site)

    def _first_deadlock(self) -> int | None:
        states = self.store.read("deadlock")
        shard = _first_shard(state != NO_STATE for state in states)
        return None if shard is None else _id(shard, states[shard])

    def _first(self, bit: int) -> FoundViolation:
        """Return the first state or, if no state did, the first step that set a bit."""
        # A property is either of states or of steps, so only bit 63 may be in both. The order of the two tests is then
        # fixed.
        shard = _first_shard(seen >> bit & 1 for seen in self.store.read("seen_in_states"))
        if shard is not None:
            return FoundViolation(_id(shard, self.store.read("first_states", bit)[shard]))
        shard = _first_shard(seen >> bit & 1 for seen in self.store.read("seen_in_steps"))
        assert shard is not None, "the bit was seen in a state or in a step"
        return _step_violation(self.store.step_violation(shard, bit))


def _step_violation(entry: list[int]) -> FoundViolation:
    # The origin word of an entry: the parent id in the low bits, the action instance above.
    *words, origin = entry
    return FoundViolation(origin % (1 << ORIGIN_SHIFT), StoredStep(origin >> ORIGIN_SHIFT, words))


def _step_to_json(step: StoredStep | None) -> list[Any] | None:
    return None if step is None else [step.instance, step.words]


def _first_shard(by_shard: Iterable[int]) -> int | None:
    """Return the first shard for which something is not 0; None if there is none."""
    return next((shard for shard, value in enumerate(by_shard) if value), None)


def _id(shard: int, local: int) -> int:
    return local << SHARD_BITS | shard


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(64) if mask >> bit & 1]
