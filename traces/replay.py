"""Replay of a trace: the interpreter executes every step again and compares the result with the recorded state."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Literal

from checker.errors import BoundsError, Disabled, InputError
from checker.explain import violations
from checker.explain.differences import changes
from checker.explain.guards import why_disabled
from checker.explain.lassos import WrongLassoError, lasso_violation
from checker.language.liveness import liveness_property
from checker.language.roles import LIVENESS_ROLES, STEP_ROLES, Role
from checker.language.spec import Spec
from checker.language.values import show
from checker.run.plan import DEADLOCK
from checker.run.result import TraceStep, Violation
from traces.recorded_kinds import BEHAVIOUR, WALK, is_behaviour_sentence, walk_sentences


def replay(spec: Spec, violation: Violation) -> Violation:
    """Execute a counterexample again and return it as the interpreter finds it; raise InputError if it is not one.

    Every step must lead to the recorded state, and no step may begin outside the constraints. The property must be
    violated at the end of the trace, or the recorded failing action must fail there. A lasso must be a fair behaviour
    that violates the property, under the fairness of the spec. The explanation is computed again.
    """
    trace = violation.trace
    if not trace:
        return violation
    if trace[0].state not in spec.initial_states():
        raise InputError("step 1 cannot be replayed: it is not an initial state of the spec")
    stepped = _as_shown(spec, trace)
    for number, (before, step) in enumerate(itertools.pairwise(trace), 2):
        _replay_step(stepped, number, before, step)
    if violation.kind != "explanation":
        _check_constraints(spec, trace)
    again = violation_at_end(spec, violation)
    if again.kind != violation.kind:
        raise InputError(
            f"the trace can be replayed, but {violation.property} is violated as {again.kind}, not as {violation.kind}"
        )
    return again


def _as_shown(spec: Spec, trace: tuple[TraceStep, ...]) -> Spec:
    """Return the spec without normalisation, as a counterexample is shown, unless the trace has normalised states."""
    if spec.normalises:
        whole = spec.without_normalisation()
        for number, (before, step) in enumerate(itertools.pairwise(trace), 2):
            try:
                _replay_step(whole, number, before, step)
            except InputError:
                return spec
        return whole
    return spec


def _check_constraints(spec: Spec, trace: tuple[TraceStep, ...]) -> None:
    """Raise InputError if a step begins in a state outside the constraints: no run takes such a step."""
    for number, step in enumerate(trace[:-1], 1):
        try:
            is_within = spec.within_constraints(step.state)
        except BoundsError:
            is_within = False
        if not is_within:
            raise InputError(f"step {number + 1} cannot be replayed: state {number} is outside the constraints")


def violation_at_end(spec: Spec, violation: Violation) -> Violation:
    """Return the violation at the end of a trace, with its kind and its explanation computed again.

    Raises InputError if the property is not violated there.
    """
    match violation.kind:
        case "walk":
            if violation.property != WALK or violation.explanation not in walk_sentences(len(violation.trace) - 1):
                raise InputError("the trace can be replayed, but it does not say how its walk ended")
            return violation
        case "explanation":
            if violation.property != BEHAVIOUR or not is_behaviour_sentence(violation.explanation):
                raise InputError("the trace can be replayed, but it does not say which part of a log it explains")
            return violation
        case "liveness":
            return _lasso_again(spec, violation)
        case "bounds_error":
            again = _bounds_error_again(spec, violation)
        case _:
            again = _false_property_again(spec, violation)
    if again is None:
        raise InputError(f"the trace can be replayed, but {violation.property} is not violated at its end")
    return again


def _lasso_again(spec: Spec, violation: Violation) -> Violation:
    assert violation.loop_start is not None
    arguments = tuple(value for _, value in violation.bindings)
    try:
        lasso = lasso_violation(spec, violation.property, arguments, violation.trace, violation.loop_start)
    except WrongLassoError as error:
        raise InputError(f"the trace can be replayed, but {error}") from None
    except BoundsError as error:
        raise InputError(
            f"the trace can be replayed, but {violation.property} cannot be evaluated in it: {error}"
        ) from None
    if lasso.owed_since != violation.owed_since:
        raise InputError(
            f"the trace can be replayed, but owed_since is {violation.owed_since}, and the obligation is open from "
            f"{lasso.owed_since} on"
        )
    return lasso


def _replay_step(spec: Spec, number: int, before: TraceStep, step: TraceStep) -> None:
    assert step.action is not None
    what = f"step {number}, {step}, cannot be replayed"
    try:
        reached_state = spec.step(before.state, step.action, *step.arguments)
    except Disabled as error:
        raise InputError(f"{what}: it is not enabled in the previous state, {why_disabled(spec, error)}") from None
    except BoundsError as error:
        raise InputError(f"{what}: {error}") from None
    different = changes(spec, step.state, reached_state)
    if different:
        first = different[0]
        raise InputError(f"{what}: {first.path} becomes {show(first.after)}, the trace has {show(first.before)}")


def _false_property_again(spec: Spec, violation: Violation) -> Violation | None:
    trace, name = violation.trace, violation.property
    last = trace[-1].state
    if name == DEADLOCK and name not in spec.roles:
        steps, failures = spec.expand(last)
        return None if steps or failures else violations.deadlock(trace)
    role = spec.roles.get(name)
    if role not in (Role.INVARIANT, Role.LEMMA, *STEP_ROLES):
        raise InputError(f"{name} is not a property of the spec that a state or a step violates")
    if role is Role.STEP_INVARIANT and len(trace) < 2:
        return None
    old = trace[-2].state if role in STEP_ROLES and len(trace) > 1 else None
    try:
        return None if spec.holds(name, last, old) else violations.false_property(spec, name, trace)
    except BoundsError:
        return None


def _bounds_error_again(spec: Spec, violation: Violation) -> Violation | None:
    trace, name, failed = violation.trace, violation.property, violation.failed_action
    if failed is not None:
        if failed.action != name:
            raise InputError(f"the failed action is {failed.action}, and the property is {name}")
        return _fails(lambda: spec.step(trace[-1].state, name, *failed.arguments)) and violations.bounds_in_action(
            spec, name, failed.arguments, trace
        )
    role = spec.roles.get(name)
    if role in LIVENESS_ROLES:
        return _liveness_error_again(spec, violation)
    if role not in (Role.INVARIANT, Role.LEMMA, Role.REACHABLE, Role.CONSTRAINT, *STEP_ROLES):
        raise InputError(f"{name} is not a property or constraint of the spec")
    if role is Role.STEP_INVARIANT and len(trace) < 2:
        return None
    old = trace[-2].state if role in STEP_ROLES and len(trace) > 1 else None
    return _fails(lambda: spec.holds(name, trace[-1].state, old)) and violations.bounds_in_property(spec, name, trace)


def _liveness_error_again(spec: Spec, violation: Violation) -> Violation | None:
    """Return the violation by a goal or premise that leaves its bounds: the recorded one, if several do."""
    declared, state = liveness_property(spec, violation.property), violation.trace[-1].state
    calls = [(declared.name, arguments) for arguments in declared.choices(spec)]
    if declared.premise:
        calls += [(declared.premise, declared.premise_arguments(arguments)) for arguments in declared.choices(spec)]
    failing = [
        violations.bounds_in_liveness(spec, declared.name, method, arguments, violation.trace)
        for method, arguments in calls
        if _fails(functools.partial(spec.holds, method, state, arguments=arguments))
    ]
    recorded = [error for error in failing if error.explanation == violation.explanation]
    return next(iter(recorded + failing), None)


def _fails(run: Callable[[], object]) -> Literal[True] | None:
    """Return True if a call leaves the bounds of a type, else None."""
    try:
        run()
    except BoundsError:
        return True
    except Disabled:
        pass
    return None
