"""The picture of README: how released brokers lose an acknowledged record (R18), as an SVG file."""

from __future__ import annotations

import textwrap

from checker.output.page.chart import chart
from checker.output.page.render import render as rendered
from kafka_tools.pages.museum.named_entries import exhibits_of
from kafka_tools.pages.scenario_runs import counterexample_of, run_scenario

_ENTRY = "R18"

_FIRST_STEP = 12
"""The first step of the picture: before it, a record is copied and the leadership moves once."""

_SENTENCE_WIDTH = 46
"""Characters of a line in the column of sentences."""


def render() -> str:
    """Return the SVG file: the sentences of the last steps, and beside them the chart of lanes and messages."""
    (shown,) = (each.shown_by for each in exhibits_of(_ENTRY))
    assert shown is not None
    run = run_scenario(shown.target)
    found = counterexample_of(run, run.result.violations[0])
    drawn = chart(found.spec, found.violation.trace, found.violation)
    return rendered(
        "picture.svg.j2",
        package="kafka_tools.pages",
        lines={row.number: textwrap.wrap(row.sentence, _SENTENCE_WIDTH) for row in drawn.rows},
        chart=drawn,
        first=drawn.rows[_FIRST_STEP - 1],
    )
