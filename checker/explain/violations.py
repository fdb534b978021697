"""Violations with their explanations, built the same way for every engine."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from checker.errors import BoundsError, Disabled
from checker.language.error_location import line_in, source_files
from checker.language.interpreter import State
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK
from checker.run.result import ActionCall, Kind, TraceStep, Violation

_KINDS: dict[Role, Kind] = {
    Role.INVARIANT: "invariant",
    Role.LEMMA: "invariant",
    Role.STEP_INVARIANT: "step_invariant",
}

Trace = tuple[TraceStep, ...]


def false_property(spec: Spec, name: str, trace: Trace) -> Violation:
    """Return the violation of an invariant in the last state, or of a property of steps by the last step, of a trace.

    An initial state alone can violate a refinement.
    """
    # A run without a violation starts faster without the explanations.
    from checker.explain.failures import explain
    from checker.explain.refinements import refinement_reason

    role = spec.roles[name]
    trace = _without_normalisation(spec, name, trace)
    old = _old(spec, name, trace)
    if role is Role.REFINEMENT:
        kind: Kind = "invariant" if old is None else "step_invariant"
        return Violation(name, kind, trace, refinement_reason(spec, name, trace[-1].state, old))
    return Violation(name, _KINDS[role], trace, explain(spec, name, trace[-1].state, old))


def _without_normalisation(spec: Spec, name: str, trace: Trace) -> Trace:
    """Return the same steps with the states of the modelled system, in which no helper normalises the state.

    The trace stays as it is if the steps are not such a counterexample there: then the helper changes more than that.
    """
    if not spec.normalises:
        return trace
    whole = spec.without_normalisation()
    steps = [trace[0]]
    try:
        for step in trace[1:]:
            assert step.action is not None
            state = whole.step(steps[-1].state, step.action, *step.arguments)
            steps.append(TraceStep(step.action, step.arguments, state))
        shown = tuple(steps)
        return trace if whole.holds(name, shown[-1].state, _old(spec, name, shown)) else shown
    except (Disabled, BoundsError):
        return trace


def _old(spec: Spec, name: str, trace: Trace) -> State | None:
    """Return the state before the last step of a trace, for a property of steps; else None."""
    return trace[-2].state if spec.roles[name] in STEP_ROLES and len(trace) > 1 else None


def wrong_starts(spec: Spec, names: Iterable[str], initial: list[State]) -> list[Violation]:
    """Return a violation for each refinement among some properties that an initial state violates."""
    violations = []
    for name in names:
        if spec.roles.get(name) is not Role.REFINEMENT:
            continue
        for state in initial:
            trace = (TraceStep(None, (), state),)
            try:
                if spec.holds(name, state):
                    continue
                violations.append(false_property(spec, name, trace))
            except BoundsError:
                violations.append(bounds_in_property(spec, name, trace))
            break
    return violations


def never_reached(name: str, distinct_states: int, *, with_symmetry: bool = False) -> Violation:
    """Return the violation of a `@reachable` that is false in all states; with symmetry their orbits are counted."""
    states = "orbits of reachable states" if with_symmetry else "reachable states"
    return Violation(name, "reachable", (), f"it is false in all {distinct_states:,} {states}")


def deadlock(trace: Trace) -> Violation:
    """Return the violation by a last state without successors."""
    return Violation(DEADLOCK, "deadlock", trace, "no action is enabled in the last state")


def bounds_in_action(spec: Spec, action: str, arguments: tuple[Any, ...], trace: Trace) -> Violation:
    """Return the violation by an action instance that leaves a type's bounds in the last state of a trace."""
    call = ActionCall(action, arguments)
    message = _bounds_message(spec, lambda: spec.step(trace[-1].state, action, *arguments))
    return Violation(action, "bounds_error", trace, f"{call} cannot be executed: {message}", call)


def bounds_in_property(spec: Spec, name: str, trace: Trace) -> Violation:
    """Return the violation by a property, constraint or view that cannot be evaluated at the end of a trace."""
    state, old = trace[-1].state, _old(spec, name, trace)
    is_view = spec.roles[name] is Role.VIEW
    message = _bounds_message(
        spec, lambda: spec.value_of_view(name, state) if is_view else spec.holds(name, state, old)
    )
    return Violation(name, "bounds_error", trace, f"{name} cannot be evaluated: {message}")


def bounds_in_liveness(spec: Spec, name: str, method: str, arguments: tuple[Any, ...], trace: Trace) -> Violation:
    """Return the violation by a liveness property of which the goal or premise cannot be evaluated in a last state."""
    message = _bounds_message(spec, lambda: spec.holds(method, trace[-1].state, arguments=arguments))
    return Violation(name, "bounds_error", trace, f"{ActionCall(method, arguments)} cannot be evaluated: {message}")


def bounds_in_init(spec: Spec) -> Violation:
    """Return the violation by an `init` that leaves a type's bounds."""
    message = _bounds_message(spec, spec.initial_states)
    return Violation("init", "bounds_error", (), f"init cannot be executed: {message}", ActionCall("init", ()))


def _bounds_message(spec: Spec, run: Callable[[], object]) -> str:
    """Return the message of the BoundsError that `run` raises, with its location in the spec."""
    try:
        run()
    except BoundsError as error:
        place = line_in(source_files(type(spec)), error.__traceback__)
        if place is None:
            return str(error)
        file, line = place
        return f"{error}, at {Path(file).name}:{line}: {linecache.getline(file, line).strip()}"
    except Disabled:
        pass
    raise AssertionError("the engines disagree: an instance left its bounds in one, and not in the interpreter")
