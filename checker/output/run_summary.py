"""The runs of a command on the screen: a row for each run, then details, violations and the verdict."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from checker.language.fairness import Fairness
from checker.output import styled_lines
from checker.output.counterexample_text import has_sentences, same_schedules
from checker.output.run_table import RunTable
from checker.output.spec_view import spec_view
from checker.output.styled_lines import BLANK, Line, line
from checker.output.violation_summary import ReportedViolation, steps_lines, summary_lines, violations_of_runs
from checker.printable import quantity
from checker.run.account import PropertyAccount, account_text
from checker.run.expectation import end_text
from checker.run.finished import FinishedRun
from checker.run.request import Run
from checker.run.result import LivenessStatistics, Result

if TYPE_CHECKING:
    from checker.ir import nodes


def view_lines(view: nodes.View) -> list[Line]:
    """Return what a view hides."""
    if view.computed is not None:
        sentences = [
            f"view {view.name}: states with the same value of {view.text} count as one",
            "their number may depend on which of them is found first",
        ]
    else:
        left_out = ", ".join(view.left_out) or "no variable"
        sentences = [f"view {view.name}: states that differ only in {left_out} count as one"]
    if not view.is_checked:
        sentences.append("successors and violations that depend on other values may be missing")
    return [line((f"  {sentence}", "yellow")) for sentence in sentences]


class RunScreen:
    """Shows the runs of a command on standard output: rows as they end, then the violations, and the verdict last.

    `trace`: the steps of every counterexample are shown, as sentences or with their variables ("full"). `pages` is the
    folder of their pages, if there is one.
    """

    def __init__(
        self,
        runs: list[Run],
        *,
        with_coverage: bool,
        trace: Literal["sentences", "full"] | None = None,
        pages: Path | None = None,
    ):
        self._total = len(runs)
        self._is_one_spec = len({run.entry.target for run in runs}) == 1
        self._table = RunTable.of(runs, styled_lines.width_of(sys.stdout))
        self._with_coverage, self._trace, self._pages = with_coverage, trace, pages
        self._last: Run | None = None
        self._hint: list[Line] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is to be closed here."""

    def show(self, done: FinishedRun) -> None:
        """Show the row of a run, the details of a single run, and its coverage if requested."""
        shown: list[Line] = []
        if self._last is None:
            shown += fairness_lines(done.run, is_alone=self._total == 1) if done.run.fair else []
            shown.append(self._table.columns())
        shown += self._table.rows(done, self._last)
        self._last = done.run
        if self._total == 1:
            shown += run_details(done.result, done.account)
        if (view := spec_view(done.run.spec)) is not None:
            shown += view_lines(view)
        if self._with_coverage:
            shown += coverage_table(done.result)
        styled_lines.write(shown, sys.stdout)

    def show_violations(self, finished: list[FinishedRun]) -> None:
        """Show the violations: of several specs, only the unexpected ones.

        If they are of one run, the steps of the first counterexample are shown, otherwise a finding for each property.
        """
        violations = violations_of_runs(finished)
        if self._trace is not None:
            by_run = [[item for item in violations if item.run is done.run] for done in finished]
            shown = [row for items in by_run if items for row in self._steps_lines(items)]
            styled_lines.write(shown, sys.stdout)
            return
        if not self._is_one_spec:
            violations = [item for item in violations if not item.is_expected]
        if not violations:
            return
        summarized = violations
        shown = []
        if len({id(item.run) for item in violations}) == 1:
            groups = same_schedules(violations[0].run.spec, [item.violation for item in violations])
            # A `@reachable` that is never reached has no steps.
            same = next((group for group in groups if group[0].trace), groups[0])
            shown += self._steps_lines([item for item in violations if item.violation in same])
            summarized = [item for item in violations if item.violation not in same]
        if summarized:
            shown += [BLANK, *summary_lines(summarized, self._pages)]
        if any(item.violation.trace for item in summarized):
            pages = "" if self._pages is not None else "; --out DIR writes a page for each counterexample"
            self._hint.append(line((f"--trace shows the steps{pages}", "dim")))
        styled_lines.write(shown, sys.stdout)

    def _steps_lines(self, violations: list[ReportedViolation]) -> list[Line]:
        """Return the lines of violations of one run with their steps."""
        in_full = self._trace == "full"
        if not in_full and not self._hint and has_sentences(violations[0].run.spec, violations[0].violation):
            self._hint.append(line(("--trace=full shows the variables of each step", "dim")))
        return steps_lines(violations, self._pages, in_full=in_full)

    def finish(
        self, finished: list[FinishedRun], *, wrong_specs: int, seconds: float, written: list[str], notes: list[str]
    ) -> None:
        """Show the written files and, as the last line, the verdict of the command.

        `seconds` is the time of the command. `notes` name further reasons for a failure.
        """
        # Of several runs, the line about their properties separates the rows from the verdict.
        shown = _account_lines(finished) if self._total > 1 and finished else [BLANK]
        shown += [*self._hint, *styled_lines.lines_of_written_files(written)]
        if self._total == 1 and finished:
            verdict = _single_verdict(finished[0], seconds, notes)
        else:
            counts = {"wrong specs": wrong_specs, "not started": self._total - len(finished) - wrong_specs}
            verdict = _total_verdict(finished, counts, seconds, notes)
        styled_lines.write([*shown, verdict], sys.stdout)


def _account_lines(finished: list[FinishedRun]) -> list[Line]:
    """Return the line that counts what several runs checked."""
    accounts = [done.account for done in finished]
    counts = {
        "checked": sum(len(account.checked) for account in accounts),
        "undecided": sum(len(account.undecided) for account in accounts),
        "not selected": sum(len(account.not_selected) for account in accounts),
    }
    text = ", ".join(f"{count} {label}" for label, count in counts.items() if count)
    return [line((f"properties: {text} (--json lists them)", "dim"))]


def _single_verdict(done: FinishedRun, seconds: float, notes: list[str]) -> Line:
    """Return the verdict of a command with one run: `retry/retry: no_duplicate is violated (0.3 s)`."""
    text = "; ".join([verdict_text(done), *notes])
    return line((f"{text} ({seconds:.1f} s)", _verdict_style([done], bool(notes))))


def verdict_text(done: FinishedRun) -> str:
    """Return the verdict of a run: `retry/retry: no_duplicate is violated`."""
    comparison = done.comparison
    expected = ""
    if comparison is not None and not done.is_open:
        expected = ", as expected" if comparison.matches else ", not as expected"
    return f"{done.run.name}: {_answer(done)}{expected}"


def _answer(done: FinishedRun) -> str:
    verdict = "incomplete" if done.is_open else done.result.verdict
    names = list(dict.fromkeys(violation.property for violation in done.result.violations))
    return {
        "holds": "every property holds" if done.run.properties else "explored, it has no property",
        "violated": f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} violated",
        "error": "a value leaves the bounds of its type",
        "incomplete": "stopped before the answer",
    }[verdict]


def _total_verdict(finished: list[FinishedRun], others: dict[str, int], seconds: float, notes: list[str]) -> Line:
    """Return the verdict of several runs: `5 runs in 3.7 s: 1 holds, 4 violated; all as expected`."""
    verdicts = Counter[str](done.result.verdict for done in finished)
    holding = {1: "1 holds"}.get(verdicts["holds"], f"{verdicts['holds']} hold")
    labels = {"violated": "violated", "error": "out of bounds"}
    parts = [holding] if verdicts["holds"] else []
    parts += [f"{verdicts[verdict]} {label}" for verdict, label in labels.items() if verdicts[verdict]]
    compared = [done.comparison for done in finished if done.comparison is not None and not done.is_open]
    counts = {
        "not as expected": sum(not comparison.matches for comparison in compared),
        "violated without an expectation": len(_unexpected_violations(finished)) if compared else 0,
        "stopped before the answer": sum(done.is_open for done in finished),
        **others,
    }
    problems = [f"{count} {label}" for label, count in counts.items() if count] + notes
    if not problems and compared:
        problems = ["all as expected"]
    text = "; ".join(part for part in (", ".join(parts), ", ".join(problems)) if part)
    has_failed = bool(notes) or bool(others["wrong specs"])
    style = _verdict_style(finished, has_failed)
    if style == "bold green" and others["not started"]:
        style = "bold yellow"
    return line((f"{quantity(len(finished), 'run')} in {seconds:.1f} s: {text}", style))


def _unexpected_violations(finished: list[FinishedRun]) -> list[FinishedRun]:
    return [done for done in finished if done.comparison is None and done.result.violations]


def _verdict_style(finished: list[FinishedRun], has_failed: bool) -> str:
    if has_failed or any(not done.is_as_expected and not done.is_open for done in finished):
        return "bold red"
    return "bold yellow" if any(done.is_open for done in finished) else "bold green"


def fairness_lines(run: Run, *, is_alone: bool) -> list[Line]:
    """Return the lines that state the fairness that `--fair` changed; if a run is alone, then all of its fairness."""
    changed = ", ".join(f"{name} {strength or 'not fair'}" for name, strength in run.fair.items())
    lines = [line((f"fairness changed with --fair: {changed}", "bold"))]
    if is_alone:
        promises = ", ".join(map(_promise, run.spec.fairness.items())) or "no action is fair"
        lines.append(line((f"fairness of this run: {promises}", "bold")))
    return [*lines, BLANK]


def _promise(fair: tuple[str, Fairness]) -> str:
    name, fairness = fair
    if fairness.for_each is None:
        return f"{name} {fairness.strength}"
    scope = f"for each {' and '.join(fairness.for_each)}" if fairness.for_each else "as a whole"
    return f"{name} {fairness.strength} {scope}"


def run_details(result: Result, account: PropertyAccount) -> list[Line]:
    """Return the details of a run: counts, time, engine, what was checked, and actions that were never enabled."""
    distinct = result.distinct_states
    orbits = f"{quantity(distinct, 'orbit')} of states (symmetric: {', '.join(result.symmetry)})"
    states = orbits if result.symmetry else quantity(distinct, "distinct state")
    counts = f"{states}, {result.generated_states:,} generated, depth {result.depth}"
    seconds = f"{result.seconds:.2f} s" + (
        f" after {result.compile_seconds:.2f} s of compilation" if result.compile_seconds else ""
    )
    rate = f", {result.distinct_states / result.seconds:,.0f} states per second" if result.seconds >= 0.1 else ""
    workers = quantity(result.workers, "worker")
    lines = [line(f"  {counts}"), *_constraint_lines(result)]
    lines.append(line(f"  {seconds}{rate}, engine {result.engine}, {workers}"))
    lines += [line((f"  {sentence}", "yellow")) for sentence in result.asymmetries]
    if result.ended == "violation":
        lines.append(line("  explored all levels up to the violation"))
    elif result.ended != "complete":
        lines.append(line((f"  not fully explored: {end_text(result)}", "yellow")))
    lines.append(line(f"  {account_text(account)}"))
    lines += [line(f"  {_liveness_text(decision)}") for decision in result.liveness]
    never_enabled = [action for action, coverage in result.coverage.items() if not coverage.generated]
    if never_enabled and result.ended == "complete":
        lines.append(line((f"  never enabled: {', '.join(never_enabled)}", "yellow")))
    return lines


def _constraint_lines(result: Result) -> list[Line]:
    """Return the counts of the states within and outside the constraints."""
    if result.states_within is None:
        return []
    outside = result.distinct_states - result.states_within
    states = quantity(result.states_within, "orbit" if result.symmetry else "distinct state")
    counts = f"{states} within the constraint, depth {result.depth_within}"
    return [line(f"  {counts}; {outside:,} outside the constraint")]


def _liveness_text(decision: LivenessStatistics) -> str:
    """Return the work of deciding a liveness property: regions, states, steps, components and seconds."""
    regions = quantity(decision.obligations, "region")
    counts = f"{quantity(decision.states, 'state')}, {quantity(decision.edges, 'step')}"
    components = quantity(decision.components, "component")
    return f"{decision.property}: {regions}, {counts}, {components}, {decision.seconds:.2f} s"


def coverage_table(result: Result) -> list[Line]:
    """Return a table of the steps and new states of each action, and of the `@reachable` properties."""
    width = max([len(name) for name in (*result.coverage, *result.reached, *result.unreached)], default=0)
    distinct = "orbits" if result.symmetry else "distinct"
    lines = _state_lines(result)
    lines += [BLANK, line((f"  {'action':<{width}}  {'generated':>14}  {distinct:>12}", "dim"))]
    for action, coverage in result.coverage.items():
        style = "" if coverage.generated else "yellow"
        note = "" if coverage.generated else "  never enabled"
        new = "" if coverage.distinct is None else f"{coverage.distinct:,}"
        lines.append(line((f"  {action:<{width}}  {coverage.generated:>14,}  {new:>12}{note}", style)))
    if result.reached or result.unreached:
        lines += [BLANK, line((f"  {'reachable':<{width}}  {'first reached by':>14}", "dim"))]
        lines += [
            line(f"  {name:<{width}}  {quantity(length, 'state'):>16}") for name, length in result.reached.items()
        ]
        lines += [line((f"  {name:<{width}}  {'not reached':>16}", "yellow")) for name in result.unreached]
    if result.symmetry:
        lines += [BLANK, line(("  generated counts the steps from one state of each orbit", "dim"))]
    return lines


def _state_lines(result: Result) -> list[Line]:
    """Return the lines about the size of a state and about the findings that are missing."""
    lines: list[Line] = []
    if result.state_bits is not None and result.state_words is not None:
        bits = quantity(result.state_bits, "bit")
        words = f"{quantity(result.state_words, 'word')} of 64 bits"
        lines.append(line(f"  a state is distinguished by {bits} and takes {words}"))
    if result.findings_omitted:
        lines.append(line((f"  {result.findings_omitted}", "yellow")))
    return lines
