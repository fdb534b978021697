"""The violations that a command found, as text: the steps of one counterexample, or a finding for each property."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.output.counterexample_text import same_schedules, schedule_lines, violation_sentence
from checker.output.files import stem_of
from checker.output.formats import FORMATS
from checker.output.styled_lines import BLANK, Line, line
from checker.run.expectation import states_text, unexpected_violations
from checker.run.finished import FinishedRun
from checker.run.registered_functions import notes_on
from checker.run.request import Run
from checker.run.result import Violation


@dataclass(frozen=True)
class ReportedViolation:
    """A violation with its run. `is_expected`: the scenario names it, with this length."""

    run: Run
    violation: Violation
    is_expected: bool


def violations_of_runs(finished: Iterable[FinishedRun]) -> list[ReportedViolation]:
    """Return the violations of some runs."""
    return [
        ReportedViolation(done.run, violation, is_expected)
        for done in finished
        for violation, is_expected in _with_expectations(done)
    ]


def _with_expectations(done: FinishedRun) -> list[tuple[Violation, bool]]:
    expected, violations = done.run.expected, done.result.violations
    unexpected = {id(violation) for violation in unexpected_violations(done.result, expected)}
    named = expected if isinstance(expected, Mapping) else ()
    return [
        (violation, id(violation) not in unexpected and (expected == "error" or violation.property in named))
        for violation in violations
    ]


def steps_lines(violations: Sequence[ReportedViolation], pages: Path | None, *, in_full: bool) -> list[Line]:
    """Return the lines of violations of one run with their steps; those with the same steps are shown together.

    `in_full`: a step shows the variables that it changes; otherwise its sentence, if the spec declares sentences.
    """
    run = violations[0].run
    expected = {id(item.violation): item.is_expected for item in violations}
    lines: list[Line] = []
    for group in same_schedules(run.spec, (item.violation for item in violations)):
        # The headlines of a group have one style: expected violations are shown apart from others.
        for is_expected in (False, True):
            if shown := [violation for violation in group if expected[id(violation)] == is_expected]:
                lines.append(BLANK)
                lines += schedule_lines(run.spec, run.name, shown, is_expected=is_expected, in_full=in_full)
                lines += [row for violation in shown for row in _page_lines(run, violation, pages)]
    if run.scenario is not None and not run.settings and (notes := notes_on(run.name)):
        lines += [BLANK, *(line(f"  {note}") for note in notes)]
    return lines


def summary_lines(violations: Sequence[ReportedViolation], pages: Path | None) -> list[Line]:
    """Return the finding for each violated property of each spec, from the shortest of its counterexamples."""
    groups: dict[tuple[str, str, str, bool], list[ReportedViolation]] = {}
    for item in violations:
        key = (item.run.entry.target, item.violation.property, item.violation.kind, item.is_expected)
        groups.setdefault(key, []).append(item)
    is_one_spec = len({item.run.entry.target for item in violations}) == 1
    return [row for group in groups.values() for row in _group_lines(group, pages, is_one_spec=is_one_spec)]


def _group_lines(group: list[ReportedViolation], pages: Path | None, *, is_one_spec: bool) -> list[Line]:
    shortest = min(group, key=lambda item: item.violation.length)
    run, violation = shortest.run, shortest.violation
    runs = f" in {len(group)} runs" if len(group) > 1 else ""
    expected, style = (", as expected", "bold") if shortest.is_expected else ("", "bold red")
    what = violation_sentence(violation, runs + expected).partition(":")[0]
    where = run.scenario if is_one_spec and run.scenario is not None else run.name
    states = f", {states_text(violation)}" if violation.trace else ""
    finding = violation.explanation.partition("\n")[0]
    return [
        line((what, style)),
        line((f"  {where}{states}: ", "dim"), finding),
        *_page_lines(run, violation, pages),
    ]


def _page_lines(run: Run, violation: Violation, pages: Path | None) -> list[Line]:
    """Return the line that names the page of a counterexample, if it was written."""
    if pages is None:
        return []
    page = pages / f"{stem_of(run, violation)}{FORMATS['html'].ending}"
    return [line(("  page: ", "dim"), str(page))] if page.is_file() else []
