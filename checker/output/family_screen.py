"""The runs of the library on a terminal: a line for each family, and a row for each run that is not as expected."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task
from rich.text import Text

from checker.output import styled_lines
from checker.output.run_summary import RunScreen
from checker.output.styled_lines import Line, line
from checker.run.finished import FinishedRun
from checker.run.request import Run

_HOLD, _SHOWN, _STOPPED, _DIFFER = "hold", "show a violation", "stopped", "differ"
_MEANING = "expected violations show bugs: --verbose names them, run NAME shows one"
_LONG = 120.0
"""Seconds from which on the display counts minutes."""

_STYLES = {_HOLD: "green", _SHOWN: "yellow", _STOPPED: "yellow", _DIFFER: "bold red"}


class ScenarioCount(ProgressColumn):
    """How many scenarios have ended, and about how long the others take."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        """Return `412 of 867 scenarios, about 40 s left`."""
        seconds = task.time_remaining or 0.0
        rest = f"{seconds:.0f} s" if seconds < _LONG else f"{seconds / 60:.0f} min"
        return Text(f"{task.completed:.0f} of {task.total:.0f} scenarios" + (f", about {rest} left" if seconds else ""))


class FamilyScreen(RunScreen):
    """Shows families instead of runs, and how many runs have ended, while it is a context manager.

    A violation that a scenario expects is no failure: the scenario shows a bug or a hazard.
    """

    def __init__(self, runs: list[Run]):
        super().__init__(runs, with_coverage=False)
        self._open = Counter(run.entry.family for run in runs)
        self._width = max((len(family) for family in self._open), default=0)
        self._counts: dict[str, Counter[str]] = {family: Counter() for family in self._open}
        self._progress = Progress(ScenarioCount(), console=Console(file=sys.stdout), transient=True)
        self._task = self._progress.add_task("", total=len(runs))

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, done: FinishedRun) -> None:
        """Count a run; show its row if it is not as expected, and the line of its family if it is the last of it."""
        family = done.run.entry.family
        if not done.is_as_expected:
            self._write(self._table.rows(done, self._last))
            self._last = done.run
        self._counts[family][_kind(done)] += 1
        self._open[family] -= 1
        if not self._open[family]:
            self._write([self._family_line(family)])
        self._progress.advance(self._task)

    def show_violations(self, finished: list[FinishedRun]) -> None:
        """Show the families of which runs are missing, and the unexpected violations."""
        self._progress.stop()
        begun = [family for family, missing in self._open.items() if missing and self._counts[family]]
        styled_lines.write(map(self._family_line, begun), sys.stdout)
        super().show_violations(finished)
        if any(counts[_SHOWN] for counts in self._counts.values()):
            self._hint.append(line((_MEANING, "dim")))

    def _family_line(self, family: str) -> Line:
        counts = self._counts[family]
        shown = [(f"{counts[kind]:>4} {kind}", style) for kind, style in _STYLES.items() if counts[kind]]
        spans = [part for span in shown for part in (("  ", ""), span)]
        return line((f"{family:<{self._width}}", "bold"), f"{counts.total():>5} scenarios", *spans)

    def _write(self, lines: list[Line]) -> None:
        # The progress is on the same terminal: it is redrawn below the lines.
        self._progress.stop()
        styled_lines.write(lines, sys.stdout)
        self._progress.start()


def _kind(done: FinishedRun) -> str:
    if done.is_open:
        return _STOPPED
    if not done.is_as_expected:
        return _DIFFER
    return _SHOWN if done.result.violations else _HOLD
