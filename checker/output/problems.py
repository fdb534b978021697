"""Problems of a run for continuous integration: violations, and expected violations that are missing."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass

from checker.explain.locations import SourceLocation
from checker.output import styled_lines
from checker.output.counterexample_text import counterexample_lines
from checker.output.lasso_text import loop_text
from checker.run.expectation import unexpected_violations
from checker.run.finding import Finding
from checker.run.finished import FinishedRun
from checker.run.request import Run
from checker.run.result import Result, Violation

BOUNDS = "bounds"
"""Takes the place of a property if a value left the bounds of its type, which is about no property."""

DRIFT = "the results differ from the ledger"


@dataclass(frozen=True)
class Problem:
    """A violation of a property in a run, or the absence of an expected one.

    `property` is the name of the property, or `bounds`; `message` is one sentence; `violation` is None if an expected
    violation is missing. `accepted`: the scenario expects the violation, or does not mention it.
    """

    run: Run
    property: str
    message: str
    violation: Violation | None
    accepted: bool

    @builtins.property
    def method(self) -> str:
        """The name of the method that was running: the property, or the action that left its bounds."""
        return self.violation.property if self.violation is not None else self.property

    @builtins.property
    def details(self) -> str:
        """The counterexample as text; empty without a violation."""
        if self.violation is None:
            return ""
        return styled_lines.plain(counterexample_lines(self.run.spec, self.run.name, self.violation))


def location_of_finding(finding: Finding) -> SourceLocation:
    """Return the line that a finding is about."""
    return SourceLocation(finding.file, finding.line, finding.line)


def problems_of(done: FinishedRun) -> list[Problem]:
    """Return the problems of a run, including the accepted ones."""
    run, result, comparison = done.run, done.result, done.comparison
    unexpected = {id(violation) for violation in unexpected_violations(result, run.expected)}
    problems = [_problem(run, violation, id(violation) not in unexpected) for violation in result.violations]
    if comparison is None or comparison.stopped_early:
        return problems
    return problems + _missing(run, result)


def _problem(run: Run, violation: Violation, accepted: bool) -> Problem:
    is_bounds = violation.kind == "bounds_error"
    first_sentence = violation.explanation.partition("\n")[0]
    wanted = run.expected.get(violation.property) if isinstance(run.expected, Mapping) else None
    if is_bounds:
        message = first_sentence
    elif violation.kind == "reachable":
        message = f"{violation.property} is never reached: {first_sentence}"
    elif not accepted and wanted is not None:
        message = f"expected a counterexample to {violation.property} of {wanted} states, but it has {violation.length}"
    else:
        message = f"{violation.property} is violated: {first_sentence}"
    if violation.loop_start is not None:
        message += f"; {loop_text(violation)}"
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
