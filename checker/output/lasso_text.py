"""Sentences about a lasso: its loop, and the obligation that stays open in it."""

from __future__ import annotations

from checker.language.interpreter import call_text
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.result import Violation


def loop_text(violation: Violation) -> str:
    """Return the loop of a lasso by the numbers of its states: `then for ever: 8 -> 9 -> 8`."""
    assert violation.loop_start is not None
    first = violation.loop_start + 1
    if len(violation.loop) == 1:
        return f"then for ever: the system stays in state {first}"
    numbers = [*range(first, first + len(violation.loop)), first]
    return f"then for ever: {' -> '.join(map(str, numbers))}"


def obligation_text(spec: Spec, violation: Violation, index: int) -> str:
    """Return a sentence about the obligation that is open in the state at an index of a lasso, or "".

    It is open from `owed_since` on. The counterexample to an `eventually_always` may be true in some states of its
    loop, so its sentence has the value.
    """
    if violation.owed_since is None or index < violation.owed_since:
        return ""
    arguments = tuple(value for _, value in violation.bindings)
    goal = call_text(violation.property, arguments) if arguments else violation.property
    match spec.roles[violation.property]:
        case Role.EVENTUALLY_ALWAYS:
            is_true = spec.holds(violation.property, violation.trace[index].state, arguments=arguments)
            return (
                f"owed: {goal} is {'true here, and does not stay true' if is_true else 'false here, again and again'}"
            )
        case Role.ALWAYS_EVENTUALLY:
            return f"owed: {goal} is false here, and never becomes true again"
        case _:
            return f"owed since state {violation.owed_since + 1}: {goal}"
