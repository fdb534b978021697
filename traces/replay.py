"""Replay of a trace: the interpreter executes every step again and compares the result with the recorded state."""

from __future__ import annotations

import itertools

from checker.errors import BoundsError, Disabled, InputError
from checker.explain.differences import changes
from checker.explain.guards import why_disabled
from checker.explain.lassos import WrongLassoError, lasso_violation
from checker.language.roles import STEP_ROLES
from checker.language.spec import Spec
from checker.language.values import show
from checker.run.plan import DEADLOCK
from checker.run.result import TraceStep, Violation


def replay(spec: Spec, violation: Violation) -> None:
    """Execute a counterexample again; raise InputError at the first step that differs from the recording.

    The property must be violated at the end of the trace, or the recorded failing action must fail there. A lasso must
    be a fair behaviour that violates the property, under the fairness of the spec.
    """
    trace = violation.trace
    if not trace:
        return
    if trace[0].state not in spec.initial_states():
        raise InputError("step 1 cannot be replayed: it is not an initial state of the spec")
    for number, (before, step) in enumerate(itertools.pairwise(trace), 2):
        _replay_step(spec, number, before, step)
    if violation.kind == "liveness":
        _check_lasso(spec, violation)
        return
    if not _is_violated(spec, violation):
        raise InputError(f"the trace can be replayed, but {violation.property} is not violated at its end")


def _check_lasso(spec: Spec, violation: Violation) -> None:
    assert violation.loop_start is not None
    arguments = tuple(value for _, value in violation.bindings)
    try:
        found = lasso_violation(spec, violation.property, arguments, violation.trace, violation.loop_start)
    except WrongLassoError as error:
        raise InputError(f"the trace can be replayed, but {error}") from None
    if found.owed_since != violation.owed_since:
        raise InputError(
            f"the trace can be replayed, but owed_since is {violation.owed_since}, and the obligation is open from "
            f"{found.owed_since} on"
        )


def _replay_step(spec: Spec, number: int, before: TraceStep, step: TraceStep) -> None:
    assert step.action is not None
    what = f"step {number}, {step}, cannot be replayed"
    try:
        found = spec.step(before.state, step.action, *step.arguments)
    except Disabled as error:
        raise InputError(f"{what}: it is not enabled in the previous state, {why_disabled(spec, error)}") from None
    except BoundsError as error:
        raise InputError(f"{what}: {error}") from None
    different = changes(spec, step.state, found)
    if different:
        first = different[0]
        raise InputError(f"{what}: {first.path} becomes {show(first.after)}, the trace has {show(first.before)}")


def _is_violated(spec: Spec, violation: Violation) -> bool:
    if violation.kind in ("walk", "explanation"):
        return True
    last = violation.trace[-1].state
    name = violation.property
    if violation.failed_action is None and name != DEADLOCK and name not in spec.roles:
        raise InputError(f"{name} is not a property of the spec")
    try:
        if violation.failed_action is not None:
            spec.step(last, violation.failed_action.action, *violation.failed_action.arguments)
            return False
        if name == DEADLOCK:
            steps, failures = spec.expand(last)
            return not steps and not failures
        is_of_step = spec.roles[name] in STEP_ROLES and len(violation.trace) > 1
        old = violation.trace[-2].state if is_of_step else None
        return not spec.holds(name, last, old) and violation.kind != "bounds_error"
    except Disabled:
        return False
    except BoundsError:
        return violation.kind == "bounds_error"
