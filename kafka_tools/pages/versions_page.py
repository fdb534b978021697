"""The page versions.md of the site: the rules by release of Apache Kafka, and the releases that have each bug."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from checker.language import Scenario
from kafka_tools.pages.catalogue_scenarios import EntryScenario, scenarios_by_entry
from kafka_tools.pages.markdown import page, paragraph, table
from specs.hazards import hazards
from specs.kafka_releases import RELEASES, describe_releases, release_number
from specs.kafka_versions import (
    CHANGES,
    CONTROLLER_NAMES,
    Change,
    catalogue_entry,
    controller_modes,
)
from specs.replication import by_version

INTRODUCTION = """
The rules of Kafka that differ between releases, and the bugs of the catalogue that each release has. The table of rules
is `specs/kafka_versions.py`. The specs, `advise` and this page read it. `tests/golden/kafka_changes.json` has the
evidence: the releases whose history contains the commits of a change, and for later releases the jars that contain its
code. 2.8 means 2.8.0. A release is listed with its patch level.
"""

BUGS = """
An entry exists from the release whose change introduced it, and is gone where every change that fixes it applies. The
scenario shows it; its verdict is each violated property with the number of states of the shortest counterexample. The
releases begin with 0.10.0.0. A bug may need a setting or a failure besides; the page of the entry describes it. From
3.3 to 3.9 a cluster runs with ZooKeeper or with KRaft; a row says which mode has the bug if only one has it.
"""

ALWAYS = """
No change in the table opens or closes these entries. Most of them are hazards of a setting, such as acks=1 or a
consumer that commits before it processes. Some are open bugs. Their pages say which.
"""

REPLICATION = """
The specification of replication with all rules of a release. The scenarios `replication/partition/kafka_...` have two
replicas, three leader epochs, one crash, preferred elections and a consumer that reads from any replica. With
`_sent_late`, one of three replicas gets the answer to its fetch late (R14). What remains after its fix is not known: a
larger model still has R25. With `_missed_epoch`, one of three replicas may miss a leader epoch (R18). With
`_lost_disk`, a follower loses its disk (R10). A release from 3.3 to 3.9 has the rules of `_zookeeper` or of `_kraft`. A
result names each violated property with the number of states of the shortest counterexample; where all properties hold,
every reachable state of that size was explored.
"""


def render() -> str:
    """Return the page."""
    shown = scenarios_by_entry()
    in_changes = {name for change in CHANGES.values() for name in (*change.opens, *change.closes)}
    changing = sorted(in_changes | {name for name, each in hazards().items() if each.first}, key=_sort_key)
    elsewhere = {name: each.elsewhere for name, each in hazards().items() if each.elsewhere}
    rules = [name for name, where in elsewhere.items() if where.startswith("no release")]
    clients = [name for name in elsewhere if name not in rules]
    return page(
        "# Rules and bugs by release",
        paragraph(INTRODUCTION),
        "## Bugs that depend on the release",
        paragraph(BUGS),
        table(
            ("entry", "bug", "scenario", "violates", "releases that have it", "first releases without it", "fixed by"),
            (_bug_row(name, shown.get(name)) for name in changing),
        ),
        "## Bugs of each release",
        paragraph("The entries of the table above, from 2.0.0 on, and the controller mode if only one has the bug."),
        table(("releases", "entries"), _release_rows(changing)),
        "## Entries that every release has",
        paragraph(ALWAYS),
        table(
            ("entry", "scenario", "violates", "description"),
            (
                (name, f"`{shown[name].target}`", shown[name].verdict, _description(shown[name], name))
                for name in sorted(set(shown) - set(changing) - elsewhere.keys(), key=_sort_key)
                if "-" not in name
            ),
        ),
        paragraph(
            f"The catalogue has further entries on other clients ({', '.join(sorted(clients, key=_sort_key))}) "
            f"and on rules that every release of Kafka follows ({', '.join(rules)})."
        ),
        "## Replication by release",
        paragraph(REPLICATION),
        table(("scenario", "result", "description"), map(_replication_row, by_version.scenarios)),
        "## Rules",
        paragraph(
            "The first release is the one from which on all later releases have the rule. Backports are the first "
            "patch releases of earlier branches that have it."
        ),
        table(
            ("since", "backports", "rule", "ticket", "concerns", "opens", "fixes"),
            map(_rule_row, sorted(CHANGES.values(), key=lambda change: release_number(change.since))),
        ),
    )


def _sort_key(name: str) -> tuple[str, int]:
    """Sort P2 before P10, and tickets after the entries."""
    letters = name.rstrip("0123456789")
    return letters, int(name[len(letters) :] or 0)


def _description(given: EntryScenario, name: str) -> str:
    """Return the description of a scenario without the entry's name in front, as in "C5 (KAFKA-12984): ..."."""
    text = re.sub(rf"^{name}(?: \([^)]*\))?(?:[:,]|(?= )) ?", "", given.scenario.description).strip()
    return text[:1].upper() + text[1:]


def _bug_row(name: str, shown: EntryScenario | None) -> tuple[str, ...]:
    entry, hazard = catalogue_entry(name), hazards().get(name)
    fixes = ", ".join(change.ticket for change in entry.closed_by)
    if hazard is not None and not (entry.opened_by or entry.closed_by):
        target = shown.target if shown is not None else hazard.shown_by
        where, verdict = f"`{target}`" if target else "not modelled", shown.verdict if shown is not None else ""
        after = [release for release in RELEASES if release_number(release) > release_number(hazard.releases[-1])]
        fixed = after[0] if after else "none yet"
        return name, hazard.title, where, verdict, describe_releases(list(hazard.releases)), fixed, "no change"
    if shown is None:
        is_fixed = bool(entry.closed_by)
        change = entry.closed_by[0] if is_fixed else entry.opened_by[0]
        what, where, verdict = f"{'Fixed when' if is_fixed else 'Exists since'}: {change.summary}", "not modelled", ""
    else:
        what, where, verdict = _description(shown, entry.name), f"`{shown.target}`", shown.verdict
    releases = entry.description_of_releases or "none since 0.10.0.0"
    fixed = entry.description_of_fixes or ("none yet" if entry.releases else "")
    return entry.name, what, where, verdict, releases, fixed, fixes or "no change"


def _release_rows(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield consecutive releases that have the same entries."""
    recent = RELEASES[RELEASES.index("2.0.0") :]

    def bugs(release: str) -> str:
        return " ".join(
            " ".join((name, *(f"({CONTROLLER_NAMES[mode]})" for mode in catalogue_entry(name).modes_with(release))))
            for name in names
            if (hazards().get(name) or catalogue_entry(name)).exists_in(release)
        )

    for texts, releases in itertools.groupby(recent, key=bugs):
        yield describe_releases(list(releases)), texts


def _replication_row(scenario: Scenario) -> tuple[str, ...]:
    given = EntryScenario(f"{scenario.spec.name}/{scenario.name}", scenario)
    checked = ", ".join(f"`{name}`" for name in scenario.properties or ())
    result = given.verdict if given.violates else f"holds: {checked}"
    return f"`{scenario.name}`", result, scenario.description


def _rule_row(change: Change) -> tuple[str, ...]:
    since = change.since if change.since in RELEASES else f"not released ({change.since})"
    if change.controller and len(controller_modes(change.since)) > 1:
        since += f" with {CONTROLLER_NAMES[change.controller]}"
    return (
        since,
        _list_text(change.backports),
        change.summary,
        change.ticket,
        change.concerns,
        _list_text(change.opens),
        _list_text(change.closes),
    )


def _list_text(names: Iterable[str]) -> str:
    return ", ".join(names)
