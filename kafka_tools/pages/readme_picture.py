"""Pictures of counterexamples of the catalogue as SVG files, for README and the pages of docs/."""

from __future__ import annotations

import re
import textwrap

from checker.output.page.chart import chart
from checker.output.page.render import render as rendered
from kafka_tools.pages.museum.named_entries import exhibits_of
from kafka_tools.pages.scenario_runs import counterexample_of, run_scenario

_RULE = re.compile(r"^ *([^{}@<]+?) \{[^{}]*\}\n", re.MULTILINE)
"""A rule of a style sheet on lines of its own, with its selectors."""

_SENTENCE_WIDTH = 46
"""Characters of a line in the column of sentences."""


def render(entry: str, first: int = 1) -> str:
    """Return the SVG file of an entry: the sentences from step `first` on, the chart beside them, and their style."""
    (exhibit,) = exhibits_of(entry)
    assert exhibit.shown_by is not None
    run = run_scenario(exhibit.shown_by.target)
    counterexample = counterexample_of(run, run.result.violations[0])
    drawn = chart(counterexample.spec, counterexample.violation.trace, counterexample.violation)
    picture = rendered(
        "picture.svg.j2",
        package="kafka_tools.pages",
        title=f"{exhibit.name}: {exhibit.story.title}",
        lines={row.number: textwrap.wrap(row.sentence, _SENTENCE_WIDTH) for row in drawn.rows},
        chart=drawn,
        first=drawn.rows[first - 1],
    )
    used = {*re.findall(r"<(\w+)", picture), *" ".join(re.findall(r'class="([^"]+)"', picture)).split()}
    picture = re.sub(r"/\*.*?\*/\n*", "", picture, flags=re.DOTALL)
    return _RULE.sub(lambda rule: rule[0] if _is_used(rule[1], used) else "", picture)


def _is_used(selectors: str, used: set[str]) -> bool:
    """Return whether an element of the picture can match one of the selectors: `used` are its tags and classes."""
    names = [set(re.findall(r"[\w-]+", re.sub(r":[\w-]+(\(.*?\))?", "", each))) for each in selectors.split(",")]
    return any(names_of_tags <= used for names_of_tags in names)
