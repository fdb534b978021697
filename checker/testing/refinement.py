"""Refinement between two specs: every behaviour of the concrete spec is allowed by the abstract spec.

A predicate relates the states of the two specs: variables that one spec hides, or sets earlier, need no mapping.
The check explores pairs of a concrete state and the set of all abstract states that may correspond to it: states that
are related to it, and that the abstract spec can reach while the concrete spec takes its steps. For each concrete step
the abstract spec may take any number of steps, or none (stuttering), through related states, and a limited number
through other states. If the set becomes empty, the abstract spec forbids the concrete step. This is the subset
construction for trace inclusion; it is exact for the explored states.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.result import TraceStep

Related = Callable[[State, State], bool]
"""Returns whether a concrete state may correspond to an abstract one; domains are those of the concrete spec."""


@dataclass(frozen=True)
class RefinementResult:
    """The result of a refinement check.

    `pairs` counts the explored pairs of a concrete state and a set of abstract states; `concrete_states` and
    `abstract_states` count distinct states. The abstract spec forbids the last step of `trace`; `trace` is empty if the
    refinement holds.
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
    """Compare every behaviour of a spec with an abstract spec, breadth-first; a trace in the result is a shortest one.

    `related(concrete, abstract)` returns whether two states may correspond to each other. `between` is the number of
    unrelated states through which the abstract spec may go during one concrete step: 1 is enough if one concrete step
    corresponds to two abstract steps.
    """
    return _RefinementSearch(concrete, abstract, related, between).run()


_Pair = tuple[State, frozenset[State]]


class _RefinementSearch:
    def __init__(self, concrete: Spec, abstract: Spec, related: Related, between: int):
        self._concrete, self._abstract, self._related, self._between = concrete, abstract, related, between
        self._successors: dict[State, list[State]] = {}
        self._answers: defaultdict[State, dict[State, bool]] = defaultdict(dict)
        # Sets compare identical objects fastest, so of equal states of a spec the first one stands for all.
        self._concrete_states: dict[State, State] = {}
        self._abstract_states: dict[State, State] = {}
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
            within_reach = self._reach(candidates)
            for successor in self._concrete.successors(state):
                reached_state = self._concrete_states.setdefault(successor.state, successor.state)
                step = TraceStep(successor.action, successor.arguments, reached_state)
                reached = self._closure(step.state, within_reach)
                if not self._add(pair, step, reached):
                    return self._result((*self._path(pair), step))
        return self._result()

    def _reach(self, states: frozenset[State]) -> set[State]:
        """Return states, and the states that the abstract spec reaches from them in up to `between` + 1 steps."""
        reached, newest = set(states), set(states)
        for _ in range(1 + self._between):
            newest = {after for state in newest for after in self._abstract_successors(state)} - reached
            reached |= newest
        return reached

    def _closure(self, state: State, candidates: Iterable[State]) -> frozenset[State]:
        """Return the candidates related to a concrete state, and the related states reachable through related ones."""
        with self._concrete.bound():
            related = {candidate for candidate in candidates if self._is_related(state, candidate)}
            waiting = list(related)
            while waiting:
                for candidate in self._abstract_successors(waiting.pop()):
                    if candidate not in related and self._is_related(state, candidate):
                        related.add(candidate)
                        waiting.append(candidate)
        return frozenset(related)

    def _is_related(self, state: State, candidate: State) -> bool:
        answers = self._answers[state]
        if candidate not in answers:
            answers[candidate] = self._related(state, candidate)
        return answers[candidate]

    def _abstract_successors(self, state: State) -> list[State]:
        if state not in self._successors:
            with self._abstract.bound():
                after = {step.state for step in self._abstract.successors(state)}
                self._successors[state] = [self._abstract_states.setdefault(each, each) for each in after]
        return self._successors[state]

    def _add(self, before: _Pair | None, step: TraceStep, candidates: frozenset[State]) -> bool:
        """Add a concrete state with its candidates to the queue; return whether there are candidates.

        A pair is skipped if the state was seen with a subset of the candidates: every behaviour that the smaller set
        can follow, the larger set can follow too.
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
