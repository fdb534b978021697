"""The page docs/museum.md: every entry of the catalogue in tables."""

from __future__ import annotations

from kafka_tools.pages.markdown import page, paragraph, table
from kafka_tools.pages.museum.entries import AREAS, SYMPTOMS, Exhibit, exhibits

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
The column "real brokers" has the experiments that show an entry on brokers of a release:
`python -m checker experiment NAME` repeats one ([experiments.md](experiments.md)).
"""

NOT_MODELLED = """
No scenario shows these entries. Their stories are in the catalogue, and nothing in this repository checks them.
"""


def render() -> str:
    """Return the page."""
    modelled = [exhibit for exhibit in exhibits() if exhibit.shown_by is not None]
    missing = [exhibit for exhibit in exhibits() if exhibit.shown_by is None]
    return page(
        "# The museum of Kafka's bugs",
        paragraph(INTRODUCTION),
        paragraph(SITE),
        paragraph(RELEASES),
        paragraph(REAL_BROKERS),
        f"{len(modelled)} entries are modelled, {len(missing)} are not.",
        table(("symptom", "meaning"), SYMPTOMS.items()),
        *(block for area in AREAS for block in _area(area, modelled)),
        "## Not modelled",
        paragraph(NOT_MODELLED),
        table(
            ("entry", "bug", "tickets", "story"),
            (
                (exhibit.name, exhibit.story.title, ", ".join(exhibit.story.tickets), exhibit.story.story)
                for exhibit in missing
            ),
        ),
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
                "symptom",
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
        ", ".join(exhibit.symptoms) or "none found",
        exhibit.affected,
        exhibit.fixed,
        "; ".join(f"{each.kafka}: {', '.join(f'`{name}`' for name in each.experiments)}" for each in exhibit.evidence),
        f"`{exhibit.shown_by.target}`",
    )
