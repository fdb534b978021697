"""The table of runs on the screen: a row for each run, below the name of its spec where rows must be short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checker.output.styled_lines import Line, Span, line
from checker.run.expectation import ExpectationComparison, end_text, sentences_of_undecided
from checker.run.finished import FinishedRun
from checker.run.request import Run
from checker.run.result import Result, Verdict, Violation

_STYLES: dict[Verdict, str] = {"holds": "green", "violated": "red", "error": "red", "incomplete": "yellow"}

_FIGURES = 47
"""Columns of a row after the name, without the violated properties."""

_INDENTATION = "  "
"""Before the name of a scenario below its spec."""


@dataclass(frozen=True)
class RunTable:
    """The layout of the rows of some runs.

    A row has the full name of its run. If these names are too long for the screen, the rows are grouped: the name of a
    spec is a line, and the rows of its scenarios follow. The name of a single spec is in the line above the rows.
    """

    name_width: int
    is_grouped: bool
    width: int | None = None
    heading: str = ""

    @classmethod
    def of(cls, runs: Sequence[Run], width: int | None) -> RunTable:
        """Return the layout for a screen of a width; None: lines have no limit."""
        full = max((len(run.name) for run in runs), default=0)
        if width is None or full + _FIGURES <= width:
            return cls(full, False, width)
        specs = {run.entry.name for run in runs if run.scenario is not None}
        heading = specs.pop() if len(specs) == 1 else ""
        short = max(len(heading), *(len(_short_name(run)) for run in runs))
        name_width = max(min(short, width - _FIGURES), 0)
        return cls(name_width, True, width, heading if len(heading) <= name_width else "")

    def columns(self) -> Line:
        """Return the line above the rows."""
        return columns_line(self.name_width, self.heading)

    def rows(self, done: FinishedRun, previous: Run | None) -> list[Line]:
        """Return the lines of a run; `previous` is the run of the row above."""
        run = done.run
        lines: list[Line] = []
        is_first = previous is None or previous.entry.name != run.entry.name
        if self.is_grouped and run.scenario is not None and is_first and run.entry.name != self.heading:
            lines.append(line((run.entry.name, "bold")))
        name = _short_name(run) if self.is_grouped else run.name
        if len(name) > self.name_width:
            lines.append(line(name))
            name = ""
        return [*lines, *row(name, self.name_width, done.result, done.comparison, self.width)]


def _short_name(run: Run) -> str:
    return run.name if run.scenario is None else _INDENTATION + run.scenario


def columns_line(name_width: int, heading: str = "") -> Line:
    """Return the line above the rows, with a heading above the names."""
    columns = f"  {'verdict':<10} {'distinct':>11} {'depth':>5} {'seconds':>7}"
    return line((f"{heading:<{name_width}}", "bold"), (columns, "dim"))


def row(
    name: str, name_width: int, result: Result, comparison: ExpectationComparison | None, width: int | None = None
) -> list[Line]:
    """Return the row of a run, and below it the differences from the expectation.

    If the row would be longer than `width`, the violated properties are below it, too.
    """
    figures = f"{result.distinct_states:>11,} {result.depth:>5} {result.seconds:>7.2f}"
    spans: list[Span] = [
        (f"{name:<{name_width}}  ", ""),
        (f"{result.verdict:<10}", _verdict_style(result, comparison)),
        (f" {figures}  ", ""),
    ]
    if comparison is not None:
        spans.append(_answer(comparison))
    figures_text = (_result_text(result), "dim")
    if width is not None and sum(len(text) for text, _ in spans) + len(figures_text[0]) > width and figures_text[0]:
        lines = [line(*spans), line("      ", figures_text)]
    else:
        lines = [line(*spans, figures_text)]
    if comparison is not None and not comparison.is_open:
        lines += [line((f"    {sentence}", "red")) for sentence in comparison.sentences]
    lines += [line((f"    {sentence}", "yellow")) for sentence in sentences_of_undecided(result)]
    return lines


def _answer(comparison: ExpectationComparison) -> Span:
    if comparison.is_open:
        return "stopped  ", "yellow"
    return ("ok       ", "green") if comparison.matches else ("differs  ", "bold red")


def _verdict_style(result: Result, comparison: ExpectationComparison | None) -> str:
    is_expected_violation = comparison is not None and comparison.matches and result.verdict != "holds"
    return "yellow" if is_expected_violation else _STYLES[result.verdict]


def _result_text(result: Result) -> str:
    """Return the violated properties, each with the length of its counterexample, or what stopped the run."""
    parts = [_violation_text(violation) for violation in result.violations]
    if not parts and result.ended != "complete":
        parts = [end_text(result)]
    counted = [f"orbits of {', '.join(result.symmetry)}"] if result.symmetry else []
    return "; ".join([*counted, *([", ".join(parts)] if parts else [])])


def _violation_text(violation: Violation) -> str:
    if violation.kind == "reachable":
        return f"{violation.property} never"
    return f"{violation.property} {violation.length}"
