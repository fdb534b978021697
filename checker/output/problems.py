"""What continuous integration is told about a run: each violation, each expected violation that is missing."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass

from checker.output import styled_lines, text
from checker.run.request import Run
from checker.run.result import Result, Violation
from checker.run.scenario import ExpectationComparison, unexpected_violations

BOUNDS = "bounds"
"""What stands for the property where a value left its type's bounds: that belongs to none."""

DRIFT = "the results are not as recorded in the ledger"


@dataclass(frozen=True)
class Problem:
    """Something about a property of a run.

    `property` is the name of the property, or `bounds`; `message` one sentence; `violation` None where a violation is
    missing that must be there. `accepted`: the scenario expects it, or says nothing about it.
    """

    run: Run
    property: str
    message: str
    violation: Violation | None
    accepted: bool

    @builtins.property
    def method(self) -> str:
        """The name of what was running: the property, or the action that left its bounds."""
        return self.violation.property if self.violation is not None else self.property

    @builtins.property
    def details(self) -> str:
        """The counterexample as text; empty where there is none."""
        if self.violation is None:
            return ""
        return styled_lines.plain(text.counterexample(self.run.spec, self.run.name, self.violation))


def problems_of(run: Run, result: Result, comparison: ExpectationComparison | None) -> list[Problem]:
    """Return the problems of a run, the accepted ones too."""
    unexpected = {id(violation) for violation in unexpected_violations(result, run.expected)}
    found = [_found(run, violation, id(violation) not in unexpected) for violation in result.violations]
    if comparison is None or comparison.stopped_early:
        return found
    return found + _missing(run, result)


def _found(run: Run, violation: Violation, accepted: bool) -> Problem:
    is_bounds = violation.kind == "bounds_error"
    first_sentence = violation.explanation.partition("\n")[0]
    wanted = run.expected.get(violation.property) if isinstance(run.expected, Mapping) else None
    if is_bounds:
        message = first_sentence
    elif violation.kind == "reachable":
        message = f"{violation.property} is never reached: {first_sentence}"
    elif not accepted and wanted is not None:
        message = f"expected {violation.property} to be violated by {wanted} states, but it takes {violation.length}"
    else:
        message = f"{violation.property} is violated: {first_sentence}"
    return Problem(run, BOUNDS if is_bounds else violation.property, message, violation, accepted)


def _missing(run: Run, result: Result) -> list[Problem]:
    if run.expected == "error" and result.verdict == "holds":
        message = "expected an error, but every value stays within its bounds"
        return [Problem(run, BOUNDS, message, None, accepted=False)]
    if not isinstance(run.expected, Mapping):
        return []
    violated = {violation.property for violation in result.violations if violation.kind != "bounds_error"}
    return [
        Problem(run, name, f"expected {name} to be violated, but it is not", None, accepted=False)
        for name in run.expected
        if name not in violated
    ]
