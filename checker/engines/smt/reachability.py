"""Look-up of states among the reachable ones: whether a counterexample to induction is a real violation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from checker.engines.smt.refutation import Refutation, spec_with_lemmas_watched
from checker.errors import BoundsError, UserError
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.result import TraceStep, Violation

MAX_STATES = 5_000_000
"""Limit of the exploration: a state that is not among these may still be reachable."""


@dataclass(frozen=True)
class Reachability:
    """Whether a state is reachable.

    `trace` leads to the state (None if none was found). `is_certain`: all reachable states were explored, so without
    a trace the state is unreachable. `explored` is the number of states. `is_refuted`: the explorer has refuted a
    property or lemma, so no further lemma completes the proof. `fact` is true in all reachable states and false in
    this one, as Python; empty if none is known.
    """

    trace: tuple[TraceStep, ...] | None
    is_certain: bool
    explored: int
    is_refuted: bool = False
    fact: str = ""

    @property
    def label(self) -> str:
        """The verdict as one word: reachable, unreachable, or open."""
        return "reachable" if self.trace is not None else "unreachable" if self.is_certain else "open"


class ReachableStates:
    """The reachable states of a spec with its constants; explored at the first look-up.

    The exploration evaluates the properties and lemmas `names`; `violations` are those that are false in a state.
    """

    def __init__(self, spec: Spec, workers: int, names: Sequence[str] = ()):
        # The prover's spec may have symbolic parameters, which the explorer cannot take.
        self._spec = spec_with_lemmas_watched(spec).with_enumerated_parameters()
        self._workers, self._names = workers, list(names)
        self.violations: tuple[Violation, ...] = ()
        self.seconds = 0.0
        self._compiled: Any = None
        self._found: Any = None
        self._is_too_large = False

    def look_up(self, state: State) -> Reachability:
        """Return whether a state is reachable, with a shortest trace to it."""
        if self._found is None and not self._is_too_large:
            self._explore()
        if self._found is None:
            return Reachability(None, is_certain=not self._is_too_large, explored=0)
        number = self._found.find(self._compiled.words_of(state))
        if number is None:
            return Reachability(None, self._found.outcome == "complete", self._found.distinct)
        return Reachability(self._trace(number), is_certain=True, explored=self._found.distinct)

    def _explore(self) -> None:
        from checker.engines.native.engine import compile_native, explore_compiled

        try:
            self._compiled = compile_native(self._spec, self._names)
            initial = self._spec.initial_states()
        except BoundsError:
            return
        except UserError:
            self._is_too_large = True
            return
        if initial:
            plan = Plan(tuple(self._names), stop="all", workers=self._workers, max_states=MAX_STATES)
            result, self._found = explore_compiled(self._compiled, plan, initial, 0.0)
            self.violations, self.seconds = tuple(result.violations), result.seconds

    @property
    def refutation(self) -> Refutation:
        """The violations of the exploration."""
        explored = 0 if self._found is None else self._found.distinct
        is_complete = self._found is not None and self._found.outcome == "complete"
        return Refutation(self.violations, explored, is_complete, self.seconds)

    def _trace(self, number: int) -> tuple[TraceStep, ...]:
        steps: list[TraceStep] = []
        for instance, words in self._found.path(number):
            state = self._compiled.state_of(words)
            if instance is None:
                steps.append(TraceStep(None, (), state))
            else:
                action, arguments = self._spec.arguments_of(instance, steps[-1].state)
                steps.append(TraceStep(action, arguments, state))
        return tuple(steps)
