"""The trace and the violation of a row of walks, by the interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from checker.errors import BoundsError, Disabled, InputError, UserError
from checker.language.roles import STEP_ROLES
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK
from checker.run.result import ActionCall, TraceStep, Violation
from traces.recorded_kinds import WALK, walk_sentence
from traces.replay import violation_at_end


def violation_from_row(spec: Spec, row: dict[str, Any], name: str | None = None) -> Violation:
    """Return the violation that a row (by column) records; raise UserError if the spec does not allow its steps.

    `name` selects a property that the walk violates, instead of the first failure. The trace ends with its violation,
    although a walk with --beyond goes on.
    """
    if len(row["actions"]) % 2:
        raise InputError("its actions have half of a number")
    instances = np.frombuffer(row["actions"], dtype="<u2").tolist()
    trace = trace_of_instances(spec, row["initial"], instances)
    # In this order: an error in an action has no false property, and the name of an error may be that of a constraint.
    if row["verdict"] == "holds":
        return violation_at_end(spec, Violation(WALK, "walk", trace, walk_sentence(row["ending"], len(instances))))
    if name is None and row["failed_instance"] is not None:
        call = ActionCall(*spec.arguments_of(row["failed_instance"], trace[-1].state))
        return violation_at_end(spec, Violation(call.action, "bounds_error", trace, "", call))
    if name is None and row["verdict"] == "error":
        return violation_at_end(spec, Violation(row["property"], "bounds_error", trace, ""))
    name = name or row["property"]
    if name == DEADLOCK:
        return violation_at_end(spec, Violation(name, "deadlock", trace, ""))
    if row["ending"] != "violation":
        trace = _until_violated(spec, name, trace)
    return violation_at_end(spec, Violation(name, "invariant", trace, ""))


def _until_violated(spec: Spec, name: str, trace: tuple[TraceStep, ...]) -> tuple[TraceStep, ...]:
    """Return the steps until a property is first violated; all of them if it is not."""
    has_step = spec.roles.get(name) in STEP_ROLES
    for at in range(len(trace)):
        old = trace[at - 1].state if has_step and at else None
        if (at or not has_step) and not spec.holds(name, trace[at].state, old):
            return trace[: at + 1]
    return trace


def trace_of_instances(spec: Spec, initial: int, instances: Iterable[int]) -> tuple[TraceStep, ...]:
    """Return the trace of action instances from an initial state; raise InputError if one cannot be taken."""
    states = spec.initial_states()
    if not 0 <= initial < len(states):
        raise InputError(f"the spec has no initial state {initial}")
    trace = [TraceStep(None, (), states[initial])]
    for number, instance in enumerate(instances, 1):
        before = trace[-1].state
        try:
            action, arguments = spec.arguments_of(instance, before)
            trace.append(TraceStep(action, arguments, spec.step(before, action, *arguments)))
        # The steps were taken by machine code. If the interpreter refuses one, the row is damaged or the spec has
        # changed.
        except (Disabled, BoundsError, UserError):
            raise InputError(f"step {number}, action instance {instance}, is not enabled") from None
    return tuple(trace)
