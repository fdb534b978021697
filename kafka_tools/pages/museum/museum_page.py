"""The page docs/museum.md: every entry of the catalogue in tables."""

from __future__ import annotations

from kafka_tools.pages.markdown import page, paragraph, table
from kafka_tools.pages.museum.entries import AREAS, Exhibit, exhibits
from kafka_tools.pages.museum.real_brokers import BrokerEvidence
from specs.hazards import OUTCOMES, Hazard, hazards
from specs.kafka_releases import describe_releases

INTRODUCTION = """
The museum has the catalogue of Kafka's bugs and hazards: reordered, duplicated and lost records, replicas that differ,
and calls that never return. A scenario of a spec shows each modelled entry, with a shortest counterexample. Another
scenario has the remedy, and the properties that it checks hold. Some entries are bugs of a release, others are hazards
of a setting.
"""

SITE = """
`python -m checker pages --site DIR` builds the site: these pages, and for each entry a page with its story, its
counterexamples and their pictures. The site is a folder of files without network access; open `DIR/index.html`. The
command needs the extra `site`.
"""

RELEASES = """
The releases follow from [versions.md](versions.md), which has the evidence. An entry that no change opens or closes is
in every release. The stories are in `specs/catalogue.toml`.
"""

REAL_BROKERS = """
The column "real brokers" has what showed an entry on brokers or clients of a release: experiments, which
`python -m checker experiment NAME` repeats ([experiments.md](experiments.md)), or the page that describes the runs.
"""

NOT_MODELLED = """
No scenario shows these entries, and nothing in this repository checks them. Most were found by calling Kafka's own
classes step by step; no report of them was found. The last column is what real brokers or the classes showed.
"""


def render() -> str:
    """Return the page."""
    modelled = [exhibit for exhibit in exhibits() if exhibit.shown_by is not None]
    shown = {exhibit.name for exhibit in modelled}
    missing = [hazard for hazard in hazards().values() if hazard.name not in shown]
    return page(
        "# The museum of Kafka's bugs",
        paragraph(INTRODUCTION),
        paragraph(SITE),
        paragraph(RELEASES),
        paragraph(REAL_BROKERS),
        f"{len(modelled)} entries are modelled, {len(missing)} are not.",
        table(("what fails", "meaning"), OUTCOMES.items()),
        *(block for area in AREAS for block in _area(area, modelled)),
        "## Not modelled",
        paragraph(NOT_MODELLED),
        table(
            ("entry", "bug", "it needs", "remedy", "releases", "seen"),
            map(_unmodelled_row, missing),
        ),
    )


def _unmodelled_row(hazard: Hazard) -> tuple[str, ...]:
    seen = "; ".join(f"brokers of {each.kafka}: {each.what}" for each in hazard.sightings)
    return (
        hazard.name,
        hazard.title,
        hazard.coincidence or hazard.needs,
        hazard.remedy,
        describe_releases(list(hazard.releases)),
        seen or hazard.classes,
    )


def _area(area: str, modelled: list[Exhibit]) -> list[str]:
    """Return the section of an area, nothing if no entry of it is modelled."""
    found = [exhibit for exhibit in modelled if exhibit.story.area == area]
    if not found:
        return []
    title, more = AREAS[area]
    return [
        f"## {title}",
        f"[{more}]({more}) has the details.",
        table(
            (
                "entry",
                "bug",
                "what fails",
                "releases that have it",
                "first releases without it",
                "real brokers",
                "scenario",
            ),
            map(_row, found),
        ),
    ]


def _row(exhibit: Exhibit) -> tuple[str, ...]:
    assert exhibit.shown_by is not None
    return (
        exhibit.name,
        exhibit.story.title,
        ", ".join(exhibit.outcomes) or "none found",
        exhibit.affected,
        exhibit.fixed,
        "; ".join(f"{each.kafka}: {_shown_by(each)}" for each in exhibit.evidence),
        f"`{exhibit.shown_by.target}`",
    )


def _shown_by(evidence: BrokerEvidence) -> str:
    if evidence.saw:
        return f"{evidence.saw} ([{evidence.page}]({evidence.page}))"
    return ", ".join(f"`{name}`" for name in evidence.experiments)
