"""Whether one spec refines another: whatever it does, the other can do too, as far as the two can be compared.

The specs are related by a predicate on a state of each, so what one of them hides, or knows earlier, needs no mapping.
With every state of the concrete spec goes the set of the abstract states that it may stand for: those that are related
to it and that the abstract spec can have reached while the concrete one took its steps, by any number of its own steps
for each, or none (stuttering), through related states or, as far as that is allowed, others. Where that set becomes
empty, the concrete spec does what the abstract one forbids. This is the subset construction for the inclusion of
traces; it is exact for the states that it explores.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.result import TraceStep

Related = Callable[[State, State], bool]
"""Says whether a concrete state may stand for an abstract one. Names of domains are those of the concrete spec."""


@dataclass(frozen=True)
class RefinementResult:
    """What came of it: how much was explored, and, where the abstract spec cannot follow, the way there.

    `pairs` counts concrete states with a set of abstract ones, `concrete_states` and `abstract_states` each by itself.
    The last step of `trace` is the one that the abstract spec forbids; it is empty where the refinement holds.
    """

    concrete_states: int
    abstract_states: int
    pairs: int
    trace: tuple[TraceStep, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every behaviour of the concrete spec is allowed by the abstract one."""
        return not self.trace


def refine(concrete: Spec, abstract: Spec, related: Related, *, between: int = 0) -> RefinementResult:
    """Hold every behaviour of a spec, breadth-first, against another; a trace is one of the shortest.

    `between`: through how many states that are related to neither end the abstract spec may go while the concrete one
    takes a step. One is enough where a concrete step does what are two steps there.
    """
    return _RefinementSearch(concrete, abstract, related, between).run()


_Pair = tuple[State, frozenset[State]]


class _RefinementSearch:
    def __init__(self, concrete: Spec, abstract: Spec, related: Related, between: int):
        self._concrete, self._abstract, self._related, self._between = concrete, abstract, related, between
        self._successors: dict[State, list[State]] = {}
        self._seen: dict[State, list[frozenset[State]]] = {}
        self._origins: dict[_Pair, tuple[_Pair | None, TraceStep]] = {}
        self._queue: deque[_Pair] = deque()

    def run(self) -> RefinementResult:
        for state in self._concrete.initial_states():
            step = TraceStep(None, (), state)
            if not self._add(None, step, self._closure(state, self._abstract.initial_states())):
                return self._result((step,))
        while self._queue:
            pair = self._queue.popleft()
            state, candidates = pair
            for found in self._concrete.successors(state):
                step = TraceStep(found.action, found.arguments, found.state)
                reached = self._closure(found.state, self._reached_from(candidates))
                if not self._add(pair, step, reached):
                    return self._result((*self._path(pair), step))
        return self._result()

    def _reached_from(self, states: frozenset[State]) -> set[State]:
        """Return states, and what the abstract spec reaches from them through as many others as it may."""
        found, newest = set(states), set(states)
        for _ in range(1 + self._between):
            newest = {after for state in newest for after in self._abstract_successors(state)} - found
            found |= newest
        return found

    def _closure(self, state: State, candidates: Iterable[State]) -> frozenset[State]:
        """Return the candidates related to a concrete state, and what the abstract spec reaches from them by itself."""
        with self._concrete.bound():
            found = {candidate for candidate in candidates if self._related(state, candidate)}
            waiting = list(found)
            while waiting:
                for candidate in self._abstract_successors(waiting.pop()):
                    if candidate not in found and self._related(state, candidate):
                        found.add(candidate)
                        waiting.append(candidate)
        return frozenset(found)

    def _abstract_successors(self, state: State) -> list[State]:
        if state not in self._successors:
            with self._abstract.bound():
                self._successors[state] = list({step.state for step in self._abstract.successors(state)})
        return self._successors[state]

    def _add(self, before: _Pair | None, step: TraceStep, candidates: frozenset[State]) -> bool:
        """Note a concrete state with what it may stand for; say whether that is anything at all.

        With fewer candidates whatever goes well goes well with more: such a pair need not be gone on from.
        """
        if not candidates:
            return False
        seen = self._seen.setdefault(step.state, [])
        if not any(fewer <= candidates for fewer in seen):
            seen.append(candidates)
            self._origins[step.state, candidates] = (before, step)
            self._queue.append((step.state, candidates))
        return True

    def _path(self, pair: _Pair | None) -> tuple[TraceStep, ...]:
        steps = []
        while pair is not None:
            pair, step = self._origins[pair]
            steps.append(step)
        return tuple(reversed(steps))

    def _result(self, trace: tuple[TraceStep, ...] = ()) -> RefinementResult:
        return RefinementResult(len(self._seen), len(self._successors), len(self._origins), trace)
