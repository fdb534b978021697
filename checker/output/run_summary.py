"""The runs of a command on the screen: a row for each run, then details, counterexamples and the total."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from checker.language.fairness import Fairness
from checker.output import styled_lines
from checker.output.counterexample_text import counterexample_lines
from checker.output.spec_view import spec_view
from checker.output.styled_lines import BLANK, Line, Span, line
from checker.run.expectation import ExpectationComparison, end_text, undecided_sentences
from checker.run.finished import FinishedRun
from checker.run.request import Run
from checker.run.result import LivenessStatistics, Result, Verdict, Violation

if TYPE_CHECKING:
    from checker.ir import nodes

_STYLES: dict[Verdict, str] = {"holds": "green", "violated": "red", "error": "red", "incomplete": "yellow"}


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
    """Shows the runs of a command on standard output while they are executed."""

    def __init__(self, runs: list[Run], *, with_coverage: bool):
        self._total = len(runs)
        self._is_one_spec = len({run.entry.name for run in runs}) == 1
        self._name_width = max((len(run.name) for run in runs), default=0)
        self._with_coverage = with_coverage
        self._has_heading = False

    def show(self, done: FinishedRun) -> None:
        """Show the row of a run, the details of a single run, and its coverage if requested."""
        shown = row(done.run.name, self._name_width, done.result, done.comparison)
        if not self._has_heading:
            heading = fairness_lines(done.run, is_alone=self._total == 1) if done.run.fair else []
            shown = [*heading, columns_line(self._name_width), *shown]
            self._has_heading = True
        if self._total == 1:
            shown += run_details(done.result)
        if (view := spec_view(done.run.spec)) is not None:
            shown += view_lines(view)
        if self._with_coverage:
            shown += coverage_table(done.result)
        styled_lines.write(shown, sys.stdout)

    def finish(self, finished: list[FinishedRun], wrong_specs: int) -> None:
        """Show the counterexamples, and the total of several runs.

        If the runs are of several specs, only unexpected counterexamples are shown.
        """
        shown: list[Line] = []
        for done in finished:
            if self._is_one_spec or not done.is_as_expected:
                for violation in done.result.violations:
                    shown += [BLANK, *counterexample_lines(done.run.spec, done.run.name, violation)]
        if self._total > 1:
            shown += [BLANK, self._total_line(finished, wrong_specs)]
        styled_lines.write(shown, sys.stdout)

    def _total_line(self, finished: list[FinishedRun], wrong_specs: int) -> Line:
        seconds = sum(done.result.seconds + done.result.compile_seconds for done in finished)
        wrong = sum(not done.is_as_expected and not done.is_open for done in finished)
        counts = {
            "not as expected": wrong,
            "stopped before the answer": sum(done.is_open for done in finished),
            "wrong specs": wrong_specs,
            "not started": self._total - len(finished) - wrong_specs,
        }
        problems = [f"{count} {label}" for label, count in counts.items() if count]
        total = f"{len(finished)} runs, {seconds:.1f} s: {', '.join(problems) or 'all as expected'}"
        return line((total, "bold red" if wrong or wrong_specs else "bold yellow" if problems else "bold green"))


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


def columns_line(name_width: int) -> Line:
    """Return the line above the rows."""
    columns = f"{'':<{name_width}}  {'verdict':<10}  {'distinct':>12}  {'depth':>5}  {'seconds':>8}"
    return line((columns, "dim"))


def row(name: str, name_width: int, result: Result, comparison: ExpectationComparison | None) -> list[Line]:
    """Return the row of a run, and below it the differences from the expectation."""
    figures = f"{result.distinct_states:>12,}  {result.depth:>5}  {result.seconds:>8.2f}"
    spans: list[Span] = [
        (f"{name:<{name_width}}  ", ""),
        (f"{result.verdict:<10}", _verdict_style(result, comparison)),
        (f"  {figures}  ", ""),
    ]
    if comparison is not None:
        spans.append(_answer(comparison))
    spans.append((_found_text(result), "dim"))
    lines = [line(*spans)]
    if comparison is not None and not comparison.is_open:
        lines += [line((f"    {sentence}", "red")) for sentence in comparison.sentences]
    lines += [line((f"    {sentence}", "yellow")) for sentence in undecided_sentences(result)]
    return lines


def _answer(comparison: ExpectationComparison) -> Span:
    if comparison.is_open:
        return "stopped ", "yellow"
    return ("ok      ", "green") if comparison.matches else ("differs ", "bold red")


def _verdict_style(result: Result, comparison: ExpectationComparison | None) -> str:
    return "green" if comparison is not None and comparison.matches else _STYLES[result.verdict]


def _found_text(result: Result) -> str:
    """Return the violated properties, each with the length of its counterexample, or what stopped the run."""
    found = [_violation_text(violation) for violation in result.violations]
    if not found and result.ended != "complete":
        found = [end_text(result)]
    counted = [f"orbits of {', '.join(result.symmetry)}"] if result.symmetry else []
    return "; ".join([*counted, *([", ".join(found)] if found else [])])


def _violation_text(violation: Violation) -> str:
    if violation.kind == "reachable":
        return f"{violation.property} never"
    return f"{violation.property} {violation.length}"


def run_details(result: Result) -> list[Line]:
    """Return the details of a run: counts, time, speed, engine, and actions that were never enabled."""
    states = f"orbits of states (symmetric: {', '.join(result.symmetry)})" if result.symmetry else "distinct states"
    counts = f"{result.distinct_states:,} {states}, {result.generated_states:,} generated, depth {result.depth}"
    seconds = f"{result.seconds:.2f} s" + (
        f" after {result.compile_seconds:.2f} s of compilation" if result.compile_seconds else ""
    )
    rate = f", {result.distinct_states / result.seconds:,.0f} states per second" if result.seconds >= 0.1 else ""
    workers = f"{result.workers} worker{'' if result.workers == 1 else 's'}"
    lines = [line(f"  {counts}"), *_constraint_lines(result)]
    lines.append(line(f"  {seconds}{rate}, engine {result.engine}, {workers}"))
    lines += [line((f"  {sentence}", "yellow")) for sentence in result.asymmetries]
    if result.ended == "violation":
        lines.append(line("  explored all levels up to the violation"))
    elif result.ended != "complete":
        lines.append(line((f"  not fully explored: {end_text(result)}", "yellow")))
    lines += [line(f"  {_liveness_text(found)}") for found in result.liveness]
    never_enabled = [action for action, coverage in result.coverage.items() if not coverage.generated]
    if never_enabled and result.ended == "complete":
        lines.append(line((f"  never enabled: {', '.join(never_enabled)}", "yellow")))
    return lines


def _constraint_lines(result: Result) -> list[Line]:
    """Return the counts of the states within and outside the constraints."""
    if result.states_within is None:
        return []
    outside = result.distinct_states - result.states_within
    states = "orbits" if result.symmetry else "distinct states"
    counts = f"{result.states_within:,} {states} within the constraint, depth {result.depth_within}"
    return [line(f"  {counts}; {outside:,} outside the constraint")]


def _liveness_text(found: LivenessStatistics) -> str:
    """Return the work of deciding a liveness property: regions, states, steps, components and seconds."""
    regions = f"{found.obligations} region{'' if found.obligations == 1 else 's'}"
    counts = f"{found.states:,} states, {found.edges:,} steps, {found.components:,} components"
    return f"{found.property}: {regions}, {counts}, {found.seconds:.2f} s"


def coverage_table(result: Result) -> list[Line]:
    """Return a table of the steps and new states of each action, and of the `@reachable` properties."""
    width = max([len(name) for name in (*result.coverage, *result.reached, *result.unreached)], default=0)
    distinct = "orbits" if result.symmetry else "distinct"
    lines = _state_lines(result)
    lines += [BLANK, line((f"  {'action':<{width}}  {'generated':>14}  {distinct:>12}", "dim"))]
    for action, coverage in result.coverage.items():
        style = "" if coverage.generated else "yellow"
        note = "" if coverage.generated else "  never enabled"
        lines.append(line((f"  {action:<{width}}  {coverage.generated:>14,}  {coverage.distinct:>12,}{note}", style)))
    if result.reached or result.unreached:
        lines += [BLANK, line((f"  {'reachable':<{width}}  {'first reached by':>14}", "dim"))]
        lines += [line(f"  {name:<{width}}  {f'{length} states':>16}") for name, length in result.reached.items()]
        lines += [line((f"  {name:<{width}}  {'not reached':>16}", "yellow")) for name in result.unreached]
    if result.symmetry:
        lines += [BLANK, line(("  generated counts the steps from one state of each orbit", "dim"))]
    return lines


def _state_lines(result: Result) -> list[Line]:
    """Return the lines about the size of a state and about the findings that are missing."""
    lines: list[Line] = []
    if result.state_bits is not None:
        bits = f"{result.state_bits} bit{'' if result.state_bits == 1 else 's'}"
        words = f"{result.state_words} word{'' if result.state_words == 1 else 's'} of 64 bits"
        lines.append(line(f"  a state is distinguished by {bits} and takes {words}"))
    if result.findings_omitted:
        lines.append(line((f"  {result.findings_omitted}", "yellow")))
    return lines
