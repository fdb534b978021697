"""Counterexamples to liveness properties: the check that a lasso is one, and the reasons why it is fair."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from checker.errors import BoundsError, Disabled
from checker.explain.failures import explain_with_message
from checker.language.fairness import NEXT, FairClass
from checker.language.interpreter import State, Step
from checker.language.liveness import FairClasses, LivenessProperty, liveness_property
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.values import show
from checker.run.result import TraceStep, Violation

Trace = tuple[TraceStep, ...]


class WrongLassoError(AssertionError):
    """A trace is not a counterexample to a liveness property; the message has the reason."""


def lasso_violation(spec: Spec, name: str, arguments: tuple[Any, ...], trace: Trace, loop_start: int) -> Violation:
    """Return the violation of a liveness property by a lasso, as `Violation` describes it, for some arguments.

    The interpreter checks every part of it. Raises WrongLassoError if the lasso is not a counterexample.
    """
    lasso = _Lasso(spec, liveness_property(spec, name), arguments, trace, loop_start)
    lasso.check()
    return Violation(
        name,
        "liveness",
        trace,
        lasso.explanation(),
        loop_start=loop_start,
        bindings=lasso.property.bindings(arguments),
        owed_since=lasso.owed_since(),
        fairness=tuple(lasso.fairness()),
    )


def check_lasso(spec: Spec, violation: Violation) -> None:
    """Raise WrongLassoError unless a liveness violation is a counterexample, under the fairness of the spec."""
    if violation.loop_start is None:
        raise WrongLassoError("the trace has no loop")
    declared = liveness_property(spec, violation.property)
    given = dict(violation.bindings)
    arguments = tuple(given[parameter.name] for parameter in declared.parameters)
    _Lasso(spec, declared, arguments, violation.trace, violation.loop_start).check()


@dataclass(frozen=True)
class _LoopState:
    """A state of the loop with its number in the trace, from 1 on, and its steps by fair class."""

    number: int
    state: State
    steps: list[Step]
    enabled: frozenset[FairClass]


class _Lasso:
    """A lasso for a property with its arguments. Only steps that change the state count for fairness."""

    def __init__(
        self, spec: Spec, property: LivenessProperty, arguments: tuple[Any, ...], trace: Trace, loop_start: int
    ):
        self.spec, self.property, self.arguments = spec, property, arguments
        self.trace, self.loop_start = trace, loop_start
        self._classes = FairClasses(spec)
        self._is_stuttering = loop_start == len(trace) - 1
        end = len(trace) if self._is_stuttering else len(trace) - 1
        self.loop = [self._loop_state(index) for index in range(loop_start, end)]
        self._taken = self._classes_of_loop()

    def _loop_state(self, index: int) -> _LoopState:
        state = self.trace[index].state
        steps, _ = self.spec.expand(state)
        enabled = frozenset(fair_class for step in steps for fair_class in self._classes.of_step(state, step))
        return _LoopState(index + 1, state, steps, enabled)

    def _classes_of_loop(self) -> dict[FairClass, tuple[int, int]]:
        """Return the fair classes that the loop takes, with the numbers of the states before and after a step."""
        taken: dict[FairClass, tuple[int, int]] = {}
        if self._is_stuttering:
            return taken
        for position, before in enumerate(self.loop):
            after = self.loop[(position + 1) % len(self.loop)]
            for step in before.steps:
                if step.state == after.state:
                    for fair_class in self._classes.of_step(before.state, step):
                        taken.setdefault(fair_class, (before.number, after.number))
        return taken

    # The check.

    def check(self) -> None:
        """Raise WrongLassoError unless the lasso is a fair behaviour of the spec that violates the property."""
        self._check_steps()
        reason = self._not_violated() or self._not_fair()
        if reason:
            raise WrongLassoError(f"the lasso is no counterexample to {self.property.name}: {reason}")

    def _check_steps(self) -> None:
        trace = self.trace
        if trace[0].state not in self.spec.initial_states():
            raise WrongLassoError("the lasso does not begin in an initial state")
        if trace[-1].state != trace[self.loop_start].state:
            raise WrongLassoError("the loop does not return to its first state")
        for before, step in itertools.pairwise(trace):
            assert step.action is not None
            try:
                successor = self.spec.step(before.state, step.action, *step.arguments)
            except (Disabled, BoundsError) as error:
                raise WrongLassoError(f"{step} cannot be executed: {error}") from None
            if successor != step.state:
                raise WrongLassoError(f"{step} leads to another state")

    def _not_violated(self) -> str:
        """Return why the lasso does not violate the property, or ""."""
        role = self.property.role
        if role is Role.EVENTUALLY_ALWAYS:
            return "" if any(not self._goal(part.state) for part in self.loop) else "it is true in the whole loop"
        if any(self._goal(part.state) for part in self.loop):
            return "it is true in the loop"
        if role is Role.EVENTUALLY and any(self._goal(step.state) for step in self.trace):
            return "it is true in the stem"
        if role is Role.LEADS_TO and self.owed_since() is None:
            return f"{self.property.premise} is never true before the loop"
        return ""

    def _not_fair(self) -> str:
        """Return why the lasso is not fair, or ""."""
        for fair_class in sorted(frozenset().union(*(part.enabled for part in self.loop)), key=str):
            is_always = all(fair_class in part.enabled for part in self.loop)
            if fair_class not in self._taken and (is_always or fair_class.strength == "strong"):
                return f"it is not {fair_class.strength}ly fair to {fair_class}"
        return ""

    def _goal(self, state: State) -> bool:
        return self.spec.holds(self.property.name, state, arguments=self.arguments)

    def owed_since(self) -> int | None:
        """Return the index of the state in which the obligation begins; None if there is none before the loop."""
        match self.property.role:
            case Role.EVENTUALLY:
                return 0
            case Role.LEADS_TO:
                return self._premise_index()
            case _:
                return self.loop_start

    def _premise_index(self) -> int | None:
        """Return the first index at which the premise is true and after which the goal is never true."""
        arguments = self.property.premise_arguments(self.arguments)
        last = None
        for index in range(self.loop_start, -1, -1):
            state = self.trace[index].state
            if self._goal(state):
                break
            if self.spec.holds(self.property.premise, state, arguments=arguments):
                last = index
        return last

    # The explanation.

    def explanation(self) -> str:
        """Return the message of the property with its values, then the sentence that says where it is false."""
        bindings = dict(self.property.bindings(self.arguments))
        bound = ", ".join(f"{name} = {show(value)}" for name, value in bindings.items())
        sentence = f"{bound}: {self._sentence()}" if bound else self._sentence()
        state = self.trace[self.loop_start].state
        return explain_with_message(self.spec, self.property.name, state, bindings, sentence)

    def _sentence(self) -> str:
        name, first = self.property.name, self.loop_start + 1
        match self.property.role:
            case Role.EVENTUALLY:
                return f"{name} is false in every state"
            case Role.ALWAYS_EVENTUALLY:
                return f"{name} is false in every state from state {first} on"
            case Role.EVENTUALLY_ALWAYS:
                false = next(part.number for part in self.loop if not self._goal(part.state))
                return f"{name} is false in state {false} of the loop, again and again"
            case _:
                since = self.owed_since()
                assert since is not None
                return f"{self.property.premise} is true in state {since + 1}, and {name} is false from there on"

    def fairness(self) -> list[str]:
        """Return a sentence for each fair action that could help: why it does not. Unfair enabled actions follow."""
        enabled = dict.fromkeys(fair_class for part in self.loop for fair_class in sorted(part.enabled, key=str))
        never_enabled = self._never_enabled({fair_class.action for fair_class in enabled})
        return [*map(self._why_fair, enabled), *never_enabled, *self._not_promised()]

    def _why_fair(self, fair_class: FairClass) -> str:
        if fair_class in self._taken:
            before, after = self._taken[fair_class]
            return f"{fair_class} is taken in the loop, from state {before} to state {after}"
        part = next(part for part in self.loop if fair_class not in part.enabled)
        changes_nothing = any(fair_class in self._classes.of_call(step.action, step.arguments) for step in part.steps)
        return f"{fair_class} {'changes nothing' if changes_nothing else 'is disabled'} in state {part.number}"

    def _never_enabled(self, seen: set[str | None]) -> list[str]:
        """Return sentences about the fair actions that no state of the loop enables."""
        where = f"in state {self.loop[0].number}" if len(self.loop) == 1 else "in every state of the loop"
        sentences = []
        for name in self.spec.fairness:
            if name == NEXT:
                if None not in seen:
                    sentences.append(f"no action changes the state {where}")
            elif name not in seen:
                actions = self.spec.fair_unions.get(name, (name,))
                has_steps = any(step.action in actions for part in self.loop for step in part.steps)
                union = f" ({' or '.join(actions)})" if name in self.spec.fair_unions else ""
                sentences.append(f"{name}{union} {'changes nothing' if has_steps else 'is disabled'} {where}")
        return sentences

    def _not_promised(self) -> list[str]:
        """Return sentences about the enabled actions without fairness: they need not happen."""
        if NEXT in self.spec.fairness:
            return []
        fair = {action for name in self.spec.fairness for action in self.spec.fair_unions.get(name, (name,))}
        first: dict[str, int] = {}
        for part in self.loop:
            for step in part.steps:
                if step.action not in fair and step.state != part.state:
                    first.setdefault(step.action, part.number)
        taken = {step.action for step in self.trace[self.loop_start + 1 :]}
        return [
            f"{action} is enabled in state {number}, but it is not fair: it need not happen"
            for action, number in first.items()
            if action not in taken
        ]
