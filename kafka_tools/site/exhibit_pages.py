"""The pages of the museum in Markdown: the overview with its filters, and a page for each entry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checker.language.constant_values import constant_text
from checker.output.counterexample_text import non_default_constants
from checker.run.ledger import Ledger
from kafka_tools.pages.catalogue_scenarios import EntryScenario
from kafka_tools.pages.museum import museum_page
from kafka_tools.pages.museum.entries import AREAS, Exhibit
from kafka_tools.pages.museum.tickets import ticket_url
from kafka_tools.site.counterexample_pages import ShownScenario
from kafka_tools.site.step_pages import MOST_STATES, StepPage
from specs.hazards import OUTCOMES
from specs.kafka_releases import RELEASES

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = "museum"
"""The folder of the pages of the entries; the overview `museum` is beside it."""

COUNTEREXAMPLES = f"{FOLDER}/counterexamples"
"""The folder of the counterexample pages."""

_FRAME, _MOST_HEIGHT = 170, 1800
"""Pixels around the chart in its frame, for the legend and the heads, and the largest height of a frame."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


@dataclass(frozen=True)
class RemedyScenario:
    """The scenario with the remedy, and the number of its reachable states, in all of which its properties hold."""

    scenario: EntryScenario
    states: int


@dataclass(frozen=True)
class MuseumPages:
    """The pages of scenarios, by their names: the counterexamples, and for small ones the steps by hand."""

    shown: Mapping[str, ShownScenario]
    step_pages: Mapping[str, StepPage]


def write_museum(exhibits: Sequence[Exhibit], pages: MuseumPages, ledger: Ledger, stage: Path) -> list[Path]:
    """Write the overview and the pages of the entries, and return the paths of the latter in the stage."""
    folder = stage / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    environment = _environment()
    paths = []
    for exhibit in exhibits:
        page = environment.get_template("exhibit.md.j2").render(
            exhibit=exhibit,
            area=AREAS[exhibit.story.area][0],
            shown=pages.shown.get(exhibit.shown_by.target) if exhibit.shown_by is not None else None,
            step_page=pages.step_pages.get(exhibit.shown_by.target) if exhibit.shown_by is not None else None,
            most_states=MOST_STATES,
            further=[pages.shown[given.target] for given in exhibit.further],
            remedy=_remedy(exhibit, ledger),
            constants=_constants(exhibit),
            frame=_FRAME,
            most=_MOST_HEIGHT,
            tickets=[(ticket, ticket_url(ticket)) for ticket in exhibit.story.tickets],
            evidence_pages=list(dict.fromkeys(each.page for each in exhibit.evidence if each.page)),
        )
        paths.append(Path(FOLDER) / f"{exhibit.name}.md")
        (stage / paths[-1]).write_text(page, encoding="utf-8")
    overview = environment.get_template("museum.md.j2").render(
        introduction=" ".join(museum_page.INTRODUCTION.split()),
        not_modelled=" ".join(museum_page.NOT_MODELLED.split()),
        areas=list(_by_area(exhibits)),
        missing=[exhibit for exhibit in exhibits if exhibit.shown_by is None],
        outcomes=OUTCOMES,
        releases=RELEASES[::-1],
        entries=len(exhibits),
    )
    (stage / "museum.md").write_text(overview, encoding="utf-8")
    return paths


def _by_area(exhibits: Sequence[Exhibit]) -> Iterator[tuple[str, str, list[Exhibit]]]:
    """Yield each area with its title and its modelled entries, if it has any."""
    for area, (title, _) in AREAS.items():
        if displayed := [each for each in exhibits if each.story.area == area and each.shown_by is not None]:
            yield area, title, displayed


def _remedy(exhibit: Exhibit, ledger: Ledger) -> RemedyScenario | None:
    """Return the scenario with the remedy and its recorded number of states."""
    if exhibit.remedied_by is None:
        return None
    states = ledger[exhibit.remedied_by.target].distinct_states
    assert states is not None, exhibit.remedied_by.target
    return RemedyScenario(exhibit.remedied_by, states)


def _constants(exhibit: Exhibit) -> list[tuple[str, str]]:
    """Return the constants of the main scenario that differ from the defaults of its spec, as text."""
    if exhibit.shown_by is None:
        return []
    constants = non_default_constants(exhibit.shown_by.scenario.configured_spec())
    return [(name, constant_text(value)) for name, value in constants.items()]


def escape_markdown(text: str) -> str:
    """Return text as Markdown that shows each character as it is."""
    return _SPECIAL.sub(r"\\\1", text)


def beginning(text: str) -> str:
    """Return the first two sentences of a text."""
    return " ".join(re.split(r"(?<=\.) (?=[A-Z])", text)[:2])


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("kafka_tools.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Escaped as Markdown, the text must not be escaped as HTML again.
    environment.filters["md"] = lambda text: Markup(escape_markdown(text))
    environment.filters["beginning"] = beginning
    return environment
