"""Traces of an exploration that stores one representative for all states that differ in the names of members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checker.engines.native.lowering.state_layout import StateLayout
from checker.engines.native.lowering.symmetry import MemberSymmetry
from checker.engines.native.results import Path
from checker.errors import SpecError
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.result import TraceStep


class RepresentedTraces:
    """Rebuilds traces with the interpreter, from `initial` states and paths of representatives."""

    def __init__(self, spec: Spec, layout: StateLayout, symmetry: MemberSymmetry, initial: Sequence[State]):
        self._spec, self._layout, self._symmetry = spec, layout, symmetry
        self._initial = {self._representative(state): state for state in initial}

    def _representative(self, state: State) -> tuple[int, ...]:
        return tuple(self._symmetry.representative(self._layout.encode(state.values)))

    def trace(self, path: Path) -> tuple[TraceStep, ...]:
        """Return the trace of a path: each step has the action of the path's step, with the members renamed.

        Raises SpecError if the renamed step leads elsewhere: then the spec depends on the order of the members.
        """
        (_, first), *steps = path
        before = [int(word) for word in first]
        trace = [TraceStep(None, (), self._initial[tuple(before)])]
        for instance, words in steps:
            assert instance is not None
            action, arguments = self._renamed(instance, before, trace[-1].state)
            after = self._spec.step(trace[-1].state, action, *arguments)
            before = [int(word) for word in words]
            if self._representative(after) != tuple(before):
                domain = self._symmetry.domain
                raise SpecError(f"{self._spec.name}: {action} depends on the order of {domain}: it is not symmetric")
            trace.append(TraceStep(action, arguments, after))
        return tuple(trace)

    def _renamed(self, instance: int, before: Sequence[int], state: State) -> tuple[str, tuple[Any, ...]]:
        """Return an action instance of the representative `before` as an action and arguments for `state`."""
        represented = State(self._layout.decode(list(before)))
        action, arguments = self._spec.arguments_of(instance, represented)
        names = self._symmetry.renaming(before, self._layout.encode(state.values))
        member = self._symmetry.domain.declared
        return action, tuple(names[each.index] if isinstance(each, member) else each for each in arguments)
