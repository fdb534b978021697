"""Tables of figures with one row for each tool."""

from __future__ import annotations

from collections.abc import Sequence

from measure import Row, Sample
from rich.console import Console
from rich.table import Table

_WIDTH = 180
_ABSENT = "-"
_HEADINGS = ("whole, s", "compiling, s", "exploring, s", "states/s", "peak MB", "bytes/state", "whole x", "exploring x")


def console() -> Console:
    """Return a console that is wide enough to show every figure in full."""
    return Console(highlight=False, width=max(_WIDTH, Console().width))


def speeds(title: str, rows: Sequence[Row]) -> Table:
    """Return a table of tools on one state space; ratios are relative to the first row."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("", no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    first, is_published = rows[0], False
    for row in rows:
        if row.is_published and not is_published:
            table.add_section()
            is_published = True
        table.add_row(
            f"{row.tool} (published)" if row.is_published else row.tool,
            *(_text(sample) for sample in (row.whole, row.compiling, row.exploring)),
            _number(row.states_a_second),
            _number(None if row.peak_bytes is None else row.peak_bytes / 1e6),
            _number(row.state_bytes),
            _times(row.whole, first.whole),
            _times(row.exploring, first.exploring),
        )
    return table


def _text(sample: Sample | None) -> str:
    return _ABSENT if sample is None else str(sample)


def _number(value: float | None) -> str:
    return _ABSENT if value is None else f"{value:,.0f}"


def _times(sample: Sample | None, first: Sample | None) -> str:
    """Return the ratio of a time to that of the first row."""
    if sample is None or first is None:
        return _ABSENT
    ratio = sample.median / first.median
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
