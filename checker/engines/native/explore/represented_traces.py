"""Traces of an exploration that stores one representative of each orbit of states.

The path that the explorer returns leads through representatives. A step of the path leads from a representative to some
state, and the next representative of the path is that of this state. The trace follows the path with renamed members:

    path:     r0  --a-->  t1, represented by r1  --b-->  t2, represented by r2
    trace:    s0 = p0(r0)  --p0(a)-->  s1 = p0(t1) = p1(r1)  --p1(b)-->  s2 = p1(t2) = p2(r2)

s0 is an initial state, and each p is a permutation of the members. Every step of the trace is a step of the spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from checker.engines.native.explore.results import Path, PathTraces, Trace
from checker.errors import InternalError, SpecError
from checker.language.interpreter import State
from checker.language.parameters import CallArguments
from checker.language.permutations import Permutation, all_permutations, compose_permutations, permute, permute_state
from checker.language.spec import Spec
from checker.language.types import DomainType
from checker.run.result import TraceStep

Represent = Callable[[State], tuple[int, ...]]
"""Returns the words of the representative of a state."""


class RepresentedTraces(PathTraces):
    """Rebuilds traces with the interpreter, from `initial` states and paths of representatives."""

    is_of_orbits = True

    def __init__(
        self,
        spec: Spec,
        state_of: Callable[[Any], State],
        represent: Represent,
        domains: Sequence[DomainType],
        initial: Sequence[State],
    ):
        super().__init__(spec, state_of)
        self._represent, self._domains = represent, domains
        self._starts = frozenset(initial)
        self._initial = {represent(state): state for state in reversed(initial)}

    def trace(self, path: Path) -> Trace:
        """Return the trace of a path, with members renamed so that it begins in an initial state."""
        return self._follow(path)[0]

    def failed_calls(self, path: Path, instance: int) -> Iterator[tuple[Trace, str, tuple[Any, ...]]]:
        """Iterate over the traces of a path, and the action instance at the end of each, under renamings of members."""
        trace, last = self._follow(path)
        action, arguments = self._spec.arguments_of(instance, self._state_of(path[-1][1]))
        arguments = self._permute_arguments(action, arguments, last)
        for by in all_permutations(self._domains):
            renamed = self._permute(trace, by)
            if renamed[0].state in self._starts:
                yield renamed, action, self._permute_arguments(action, arguments, by)

    def variants(self, path: Path) -> Iterator[Trace]:
        """Iterate over the traces of a path under renamings of members."""
        trace = self.trace(path)
        renamed = (self._permute(trace, by) for by in all_permutations(self._domains))
        return (each for each in renamed if each[0].state in self._starts)

    def no_failure(self, what: str) -> Exception:
        """Return a refusal: every item of an `all` or `any` was evaluated, and the failing one never comes first."""
        domains = ", ".join(map(str, self._domains))
        return SpecError(
            f"{self._spec.name}: whether {what} leaves the bounds of a type may depend on the order of {domains}, "
            "and symmetry does not show it: run without --symmetry"
        )

    def _follow(self, path: Path) -> tuple[Trace, Permutation]:
        """Return the trace of a path, and the permutation from the last representative to the last state."""
        represented = self._state_of(path[0][1])
        start = self._initial[tuple(int(word) for word in path[0][1])]
        trace = [TraceStep(None, (), start)]
        by = self._between(represented, start)
        for instance, words in path[1:]:
            assert instance is not None
            action, arguments = self._spec.arguments_of(instance, represented)
            reached = self._spec.step(represented, action, *arguments)
            represented = self._state_of(words)
            # The last state of a path to a wrong step is no representative.
            reached_words = self._represent(reached)
            if reached_words != tuple(map(int, words)) and reached_words != self._represent(represented):
                raise InternalError(f"{self._spec.name}: {action} does not lead to the orbit of the next state")
            arguments = self._permute_arguments(action, arguments, by)
            after = self._spec.step(trace[-1].state, action, *arguments)
            if after != permute_state(self._spec.variables, reached, by):
                raise InternalError(f"{self._spec.name}: {action} is not symmetric")
            trace.append(TraceStep(action, arguments, after))
            by = compose_permutations(by, self._between(represented, reached))
        return tuple(trace), by

    def _between(self, one: State, other: State) -> Permutation:
        """Return a permutation that leads from one state to another of the same orbit."""
        variables = self._spec.variables
        for by in all_permutations(self._domains):
            # Variable by variable: most permutations differ in one of the first.
            if all(permute(kind, one.values[name], by) == other.values[name] for name, kind in variables.items()):
                return by
        raise InternalError(f"{self._spec.name}: a state is not in the orbit of its representative")

    def _permute(self, trace: Trace, by: Permutation) -> Trace:
        return tuple(
            TraceStep(
                step.action,
                () if step.action is None else self._permute_arguments(step.action, step.arguments, by),
                permute_state(self._spec.variables, step.state, by),
            )
            for step in trace
        )

    def _permute_arguments(self, action: str, arguments: tuple[Any, ...], by: Permutation) -> tuple[Any, ...]:
        shape = next(shape for shape in self._spec.shapes() if shape.name == action)
        kinds = (parameter.type for parameter in shape.parameters)
        permuted_values = tuple(permute(kind, argument, by) for kind, argument in zip(kinds, arguments, strict=True))
        return (
            CallArguments(permuted_values, arguments.chosen)
            if isinstance(arguments, CallArguments)
            else permuted_values
        )
