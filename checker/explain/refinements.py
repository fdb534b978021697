"""Refinements in traces: the abstract step of each step, and the reason why a step is not one of the abstract spec."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from checker.errors import BoundsError
from checker.explain.differences import StateChange, changes
from checker.language.interpreter import State, call_text
from checker.language.refinement import Refinement
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.values import show
from checker.run.result import TraceStep


@dataclass(frozen=True)
class AbstractStep:
    """A step of a trace as a refinement maps it.

    `action` is the text of the abstract action, None for the initial state and for a step that changes nothing, and ""
    for a step that the abstract spec does not have. `state` is the abstract state; `changes` are those of the step, or
    the whole state at the beginning.
    """

    action: str | None
    state: State
    changes: tuple[StateChange, ...]


def refinement_reason(spec: Spec, name: str, state: State, old: State | None) -> str:
    """Return why the abstract spec does not have the step from `old` to `state`, or the initial state `state`."""
    refinement, abstract = _refinement(spec, name), abstract_spec(spec, name)
    after = refinement.mapped(spec, state)
    if old is None:
        values = ", ".join(f"{variable} = {show(value)}" for variable, value in after.values.items())
        return f"this is not an initial state of {abstract.name}: {values}"
    differences = changes(abstract, refinement.mapped(spec, old), after)
    texts = " and ".join(f"{change.path} from {show(change.before)} to {show(change.after)}" for change in differences)
    return f"no step of {abstract.name} changes {texts}"


def refinements_of(spec: Spec) -> list[str]:
    """Return the names of the refinements of a spec."""
    return spec.names_of(Role.REFINEMENT)


def abstract_spec(spec: Spec, name: str) -> Spec:
    """Return the abstract spec of a refinement of a spec, with its constants set."""
    abstract: Spec = _refinement(spec, name).behaviour_of(spec).spec
    return abstract


def _refinement(spec: Spec, name: str) -> Refinement:
    refinement: Refinement = getattr(type(spec), name)
    return refinement


def abstract_steps(spec: Spec, name: str, trace: tuple[TraceStep, ...]) -> list[AbstractStep] | None:
    """Return the steps of a trace as a refinement maps them; None if a state has no abstract state."""
    refinement, abstract = _refinement(spec, name), abstract_spec(spec, name)
    try:
        states = [refinement.mapped(spec, step.state) for step in trace]
    except BoundsError:
        return None
    first = tuple(StateChange(variable, None, value) for variable, value in states[0].values.items()) if states else ()
    steps = [AbstractStep(None, states[0], first)] if states else []
    for before, after in itertools.pairwise(states):
        steps.append(AbstractStep(_action(abstract, before, after), after, tuple(changes(abstract, before, after))))
    return steps


def _action(abstract: Spec, before: State, after: State) -> str | None:
    """Return the text of the first abstract action that leads from a state to another; "" if there is none."""
    if before == after:
        return None
    steps, _ = abstract.expand(before)
    return next((call_text(step.action, step.arguments) for step in steps if step.state == after), "")
