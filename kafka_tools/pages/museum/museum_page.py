"""The page docs/museum.md: every entry of the catalogue in tables."""

from __future__ import annotations

from kafka_tools.pages.markdown import page, paragraph, table
from kafka_tools.pages.museum.entries import AREAS, Exhibit, exhibits
from kafka_tools.pages.myths import MYTHS
from specs.hazards import OUTCOMES, Hazard, hazards
from specs.kafka_releases import RELEASES, describe_releases

INTRODUCTION = """
A scenario of a spec shows each modelled entry. Another scenario has the remedy, and the properties that it checks hold.
Some entries are bugs of a release, others are hazards of a setting.
"""

SITE = """
`python -m checker show R18` prints the story of an entry with its scenario, what it needs, its remedy and its tickets.
`python -m checker pages --site DIR` builds the site, with a page for each entry, its counterexamples and their
pictures; open `DIR/index.html`. The command needs the extra `site`.
"""

COLUMNS = """
An entry that no change opens or closes is in every release. The column "real brokers" has the releases whose brokers or
clients showed the entry: `show` names the [experiment](experiments.md) or the page that describes the runs.
"""

RULES = """
`python -m checker pages --print versions` prints each rule that differs between releases, with its first release, its
backports and its ticket; the bugs of each release; and the results of the specification of replication with its rules.
A bug exists from the release whose change introduced it, and is gone where every change that fixes it applies.
`tests/golden/kafka_changes.json` has the evidence: the releases whose history has the commits of a change, and for
later releases the jars that have its code. A row says whether ZooKeeper or KRaft alone has a bug.
"""

CLAIMS = """
Claims that articles repeat, with the releases in which they were true. `python -m checker pages --print myths` prints
what is so today, with the scenarios that show or refute each claim, as does a page of the site.
"""

NOT_MODELLED = """
No scenario shows these entries, except KAFKA-19446. Most were found by calling Kafka's own classes step by step; no
report of them was found. `python -m checker show "producer H-1"` prints what an entry needs, its remedy, and what real
brokers or the classes showed.
"""


ALL_RELEASES = f" from {RELEASES[0]} to {RELEASES[-1]}"
"""What follows "every release"; the page says it once."""


def render() -> str:
    """Return the page."""
    modelled = [exhibit for exhibit in exhibits() if exhibit.shown_by is not None]
    shown = {exhibit.name for exhibit in modelled}
    others = [hazard for hazard in hazards().values() if hazard.name not in shown]
    unmodelled = [hazard for hazard in others if not hazard.shown_by]
    return page(
        "# The museum of Kafka's bugs",
        paragraph(
            f"**{len(modelled)} bugs and hazards of Kafka, each with a shortest counterexample and its remedy, and "
            f"{len(unmodelled)} that no spec models.** {INTRODUCTION}"
        ),
        paragraph(SITE),
        paragraph(COLUMNS + f"Every release is every release{ALL_RELEASES}."),
        paragraph("What fails: " + "; ".join(f"*{name}*, {meaning}" for name, meaning in OUTCOMES.items()) + "."),
        *(block for area in AREAS for block in _area(area, modelled)),
        "## Not modelled",
        paragraph(NOT_MODELLED),
        table(("entry", "bug", "releases", "real brokers"), map(_row_without_model, others)),
        "## Rules by release",
        paragraph(RULES),
        "## Common claims",
        paragraph(CLAIMS),
        table(("claim", "true in"), ((myth.claim, myth.true_in) for myth in MYTHS)),
    )


def _row_without_model(hazard: Hazard) -> tuple[str, ...]:
    seen = ", ".join(dict.fromkeys(each.kafka for each in hazard.sightings))
    return hazard.name, hazard.title, describe_releases(list(hazard.releases)), seen


def _area(area: str, modelled: list[Exhibit]) -> list[str]:
    """Return the section of an area, nothing if no entry of it is modelled."""
    displayed = [exhibit for exhibit in modelled if exhibit.story.area == area]
    if not displayed:
        return []
    title, more = AREAS[area]
    return [
        f"## {title}",
        f"[{more}]({more}) has the details.",
        table(("entry", "bug", "what fails", "releases that have it", "real brokers"), map(_row, displayed)),
    ]


def _row(exhibit: Exhibit) -> tuple[str, ...]:
    return (
        exhibit.name,
        exhibit.story.title,
        ", ".join(exhibit.outcomes) or "none found",
        exhibit.affected.removesuffix(ALL_RELEASES),
        ", ".join(dict.fromkeys(each.kafka for each in exhibit.evidence)),
    )
