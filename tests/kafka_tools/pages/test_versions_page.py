"""The page of rules by release is computed from the table of rules and from the scenarios."""

import re

import pytest

from kafka_tools.pages import catalogue_scenarios, versions_page
from specs.hazards import hazards
from specs.kafka_releases import RELEASES
from specs.kafka_versions import CHANGES


@pytest.fixture(scope="module")
def page():
    return versions_page.render()


def test_every_rule_is_a_row(page):
    rules = page.split("## Rules\n")[1]
    for change in CHANGES.values():
        assert f"| {change.summary} | {change.ticket} | {change.concerns} |" in rules


def test_a_bug_has_its_scenario_and_its_releases(page):
    (row,) = [line for line in page.splitlines() if line.startswith("| R8 |")]
    assert "`replication/partition/r8_counts_diverging_fetch` | `no_acked_loss` 14 | 2.8.0 | 2.7.2, 2.8.1, 3.0.0" in row


def test_a_bug_is_listed_for_the_releases_that_have_it(page):
    rows = {cells[1].strip(): cells[2].split() for line in page.splitlines() if len(cells := line.split("|")) == 4}
    assert "R14" in rows["4.0.0"]
    assert "R14" not in rows["4.0.1"]


def test_scenarios_that_are_named_for_an_entry_exist():
    shown = catalogue_scenarios.scenarios_by_entry()
    assert all(shown[entry].target == target for entry, target in catalogue_scenarios.SHOWN_BY.items())


def test_a_changed_table_changes_the_page(page, monkeypatch):
    monkeypatch.delitem(CHANGES, "IGNORES_DIVERGING_FETCH")
    assert "| R8 |" in page
    changed = versions_page.render()
    assert "| 2.8.0 to 4.4.0 | none yet | no change |" in changed


def test_releases_with_two_controller_modes_show_both(page):
    rows = [line for line in page.splitlines() if line.startswith("| 3.7.0 to 3.7.2 |")]
    assert len(rows) == 1 and "C8 (KRaft)" in rows[0] and "R10 (ZooKeeper)" in rows[0] and " R14 " in rows[0]
    assert "| 0.10.0.0 to 3.4.1, with ZooKeeper 3.5.0 to 3.9.2 | 4.0.0, with KRaft 3.5.0 | KIP-903 |" in page
    assert "| 3.5.0 with KRaft |  | a broker joins the ISR" in page
    assert "| `kafka_3_7_zookeeper_lost_disk` | `no_acked_loss` 14 |" in page
    assert "| `kafka_3_7_kraft_lost_disk` | holds: `no_acked_loss` |" in page


def test_the_page_denies_no_entry(page):
    """Each entry of Kafka is in the row of each release that has it, or among those that every release has."""
    always = page.split("## Entries that every release has")[1].split("## Replication by release")[0]
    for name, hazard in hazards().items():
        if hazard.elsewhere:
            assert f"| {name} |" not in always and name in always, name
        elif set(hazard.releases) == set(RELEASES) and hazard.shown_by:
            assert f"| {name} |" in page, name
        elif hazard.releases and hazard.shown_by:
            assert f"| {name} |" not in always, name


@pytest.mark.parametrize("release", ["2.0.0", "2.8.0", "3.6.0", "4.0.0", "4.2.0", "4.4.0"])
def test_a_release_lists_exactly_the_entries_that_it_has(release, monkeypatch):
    changing = [name for name, hazard in hazards().items() if set(hazard.releases) != set(RELEASES)]
    monkeypatch.setattr(versions_page, "RELEASES", ("2.0.0", release))
    text = dict(versions_page._release_rows(changing)).popitem()[1]
    listed = {name for name in changing if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)}
    assert listed == {name for name in changing if hazards()[name].exists_in(release)}
