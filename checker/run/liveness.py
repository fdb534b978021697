"""Liveness in a run: which properties are decided after an exploration, and how their outcomes enter its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checker.printable import quantity
from checker.run.plan import Plan
from checker.run.result import LivenessStatistics, Result, Violation

UNDECIDED_WITH_VIEW = "liveness is not decided with a view: the states that count as one may have different successors"
"""The reason why a spec with a view leaves its liveness properties undecided."""


UNDECIDED_WITH_SYMMETRY = (
    "liveness is not decided with symmetry: the steps between stored states do not show which member acts; "
    "run without --symmetry"
)
"""The reason why a run with symmetry leaves its liveness properties undecided."""


class TooLargeError(Exception):
    """Liveness cannot be decided within the memory of this machine; the message has the numbers."""


class LivenessInterrupted(Exception):  # noqa: N818 - a request of the user, not an error
    """The decision was interrupted."""


@dataclass(frozen=True)
class LivenessDecision:
    """The decision of an engine on a liveness property, on the explored states.

    Without a violation, the property holds only if the exploration is complete. The violation may also be an
    evaluation of the property that left its bounds.
    """

    statistics: LivenessStatistics
    violation: Violation | None


def decide_liveness(
    names: list[str],
    plan: Plan,
    result: Result,
    decide: Callable[[str], LivenessDecision],
    *,
    states_outside: Callable[[], int],
) -> None:
    """Decide liveness properties on the explored states, and add the outcomes to the result of the exploration.

    A lasso in the explored states is a behaviour of the spec, even if other states were not explored; without a lasso
    the property is then undecided. A run that ended at a violation decides nothing. `states_outside` returns the number
    of states outside the constraint. The decisions end when the plan is satisfied.
    """
    if result.ended == "violation":
        return
    for name in names:
        if plan.is_satisfied_by({violation.property for violation in result.violations}):
            return
        if result.ended == "interrupted" or plan.cancelled.is_set():
            result.undecided[name] = "the run was interrupted"
            continue
        try:
            decision = decide(name)
        except (LivenessInterrupted, KeyboardInterrupt):
            result.undecided[name] = "the run was interrupted"
            # The remaining properties are then undecided too.
            plan.cancelled.set()
            continue
        except TooLargeError as error:
            result.undecided[name] = str(error)
            continue
        result.liveness = (*result.liveness, decision.statistics)
        if decision.violation is not None:
            result.violations.append(decision.violation)
        elif result.ended != "complete":
            result.undecided[name] = "no explored state violates it, but the exploration stopped at a limit"
        elif outside := states_outside():
            result.undecided[name] = (
                f"no explored state violates it, but the successors of {quantity(outside, 'state')} outside the "
                "constraint were not explored"
            )
