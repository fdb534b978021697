"""The museum is complete, and its claims agree with the specs, the ledger and the table of rules."""

import re
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.run import ledger
from checker.run.expectation import properties_to_check
from kafka_tools.pages.catalogue_scenarios import all_scenarios, scenarios_by_entry
from kafka_tools.pages.museum import museum_page
from kafka_tools.pages.museum.entries import AREAS, Exhibit, exhibits, read_stories
from kafka_tools.pages.museum.real_brokers import BrokerEvidence, note_on
from kafka_tools.pages.museum.tickets import ticket_url
from specs.hazards import hazards
from specs.kafka_releases import RELEASES, describe_releases
from specs.kafka_versions import CHANGES


def anchor_of(heading):
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


DOCS = Path(__file__).parents[3] / "docs"
EXHIBITS = exhibits()
MODELLED = [exhibit for exhibit in EXHIBITS if exhibit.shown_by is not None]
LEDGER = ledger.read(ledger.default_path())
HARMLESS = {"KAFKA-15510", "R19"}
"""Entries whose scenario explores a rule that violates nothing by itself."""

WITHOUT_REMEDY = {"C11", "R25"}
"""Modelled entries for which no scenario has a remedy; their stories say so."""


def named(exhibit: Exhibit) -> str:
    return exhibit.name


def test_every_entry_of_the_rules_and_the_scenarios_is_in_the_museum():
    stories = read_stories()
    tickets = {ticket for story in stories.values() for ticket in story.tickets}
    of_rules = {name for change in CHANGES.values() for name in (*change.opens, *change.closes)}
    # A scenario such as kafka_2_0_1 names a version's rules and their tickets.
    assert of_rules <= stories.keys()
    assert scenarios_by_entry().keys() - stories.keys() <= tickets


def test_every_scenario_named_after_an_entry_belongs_to_one():
    found = {
        match[1].upper() for given in all_scenarios() if (match := re.match(r"([cinprt]\d+)_", given.scenario.name))
    }
    assert found <= read_stories().keys()


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=named)
def test_an_entry_has_each_part(exhibit):
    story = exhibit.story
    assert story.area in AREAS
    assert story.title and not story.title.endswith(".")
    for text in (story.story, story.needs, story.remedy):
        assert text.endswith("."), text
    assert 2 <= story.story.count(". ") + 1 <= 8
    assert bool(exhibit.outcomes) is (exhibit.name not in HARMLESS)
    assert exhibit.affected
    assert all(ticket_url(ticket).startswith("https://") for ticket in story.tickets)
    for page in filter(None, (exhibit.page, *(each.page for each in exhibit.evidence))):
        name, _, section = page.partition("#")
        headings = re.findall(r"(?m)^#+ (.+)$", (DOCS / name).read_text())
        # The page of findings has a section for each of them.
        assert section in ["", *map(anchor_of, headings)] and bool(section) == (name == "findings.md"), page


def test_experiments_on_real_brokers_are_linked():
    found = {exhibit.name: exhibit.evidence for exhibit in EXHIBITS if exhibit.evidence}
    assert len(found) >= 12
    assert found["I7"] == (
        BrokerEvidence("4.3.1", ("i7-leader-moved", "i7-restart", "i7-rolling-restart"), page="experiments.md"),
    )
    assert found["R26"][0].sentence.startswith("Shown on Apache Kafka 4.3.1: a leader dropped its request")
    assert found["R11"][0].sentence == "Shown on Apache Kafka 3.9.2 by experiment r11-last-replica"
    controls = {"p3-idempotent", "i7-librdkafka"}
    assert controls.isdisjoint(name for each in found.values() for given in each for name in given.experiments)


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=named)
def test_its_releases_are_those_of_the_facts(exhibit):
    """C16 has a first release that no change of Kafka names."""
    facts = hazards()[exhibit.name]
    assert exhibit.releases in ((), facts.releases)
    assert exhibit.releases or facts.elsewhere or exhibit.affected.startswith(("not examined", "no release"))
    if not exhibit.has_history and exhibit.releases:
        assert describe_releases(list(facts.releases)) in exhibit.affected


@pytest.mark.parametrize("exhibit", MODELLED, ids=named)
def test_its_scenarios_agree_with_the_ledger(exhibit):
    shown = exhibit.shown_by
    if exhibit.name in HARMLESS:
        assert LEDGER[shown.target].verdict == "holds"
        return
    for given in (shown, *exhibit.further):
        assert LEDGER[given.target].verdict == "violated"
        assert LEDGER[given.target].violations.items() >= dict(given.scenario.expect).items()
    if exhibit.name in WITHOUT_REMEDY:
        assert exhibit.remedied_by is None and exhibit.story.remedy.startswith("None")
    else:
        assert LEDGER[exhibit.remedied_by.target].verdict == "holds"
        assert LEDGER[exhibit.remedied_by.target].distinct_states


@pytest.mark.parametrize("exhibit", MODELLED, ids=named)
def test_the_remedy_is_checked_for_the_property_that_the_bug_violates(exhibit):
    if exhibit.remedied_by is None:
        return
    assert set(exhibit.shown_by.scenario.expect) & set(properties_to_check(exhibit.remedied_by.scenario))


@pytest.mark.parametrize("exhibit", [each for each in MODELLED if each.name not in HARMLESS], ids=named)
def test_the_outcomes_are_those_of_the_violated_properties(exhibit):
    """Each violated property is an outcome, and each outcome is that of a violated property."""
    facts = hazards()[exhibit.name]
    violated = exhibit.shown_by.scenario.expect
    possible = {outcome for name in violated for outcome in OUTCOMES_OF[name]}
    for name in violated:
        assert set(OUTCOMES_OF[name]) & {*facts.outcomes, *facts.also} or not OUTCOMES_OF[name], name
    assert set(facts.outcomes) - OF_READERS <= possible or exhibit.name in OTHERWISE_SHOWN


OF_READERS = {"vanishing-reads", "gaps", "reprocessing"}
"""Outcomes that tests/specs/test_outcomes_of_entries.py shows: no consumer reads in most scenarios of replication."""


OTHERWISE_SHOWN = {
    "C-1": "stale_eligible_replica_blocks is a partition without a leader",
    "KAFKA-18202": "a sequence that is not contiguous is a transaction without its first record",
    "R6": "with one epoch more; test_outcomes_of_entries.py explores it",
    "R14": "with one epoch more; test_outcomes_of_entries.py explores it",
}
"""Entries with an outcome that no property of their scenarios shows."""


OUTCOMES_OF = {
    name: outcomes
    for outcomes, names in {
        ("loss",): "ack_true flush_completes_earlier_batches no_acked_loss strong_isr",
        ("loss", "duplicates"): "records_are_in_their_partition",
        ("loss", "divergence"): "keeps_committed_records_of_its_leader",
        ("duplicates", "reprocessing"): "no_duplicate",
        ("duplicates", "reorder"): "no_late_copy",
        ("reorder",): "no_reorder",
        ("stuck",): "no_dead_end no_endless_retry no_missing_earlier",
        ("stuck", "gaps"): "no_gap",
        ("vanishing-reads",): "reads_are_stable",
        ("reprocessing",): "commits_move_forward no_zombie_effect one_holder one_owner one_owner_a_generation "
        "owned_partitions_are_held owners_may_commit partition_epochs_are_current",
        ("transactions",): "aborted_is_never_read all_or_nothing begins_with_the_first commit_is_whole completes "
        "ends_only_its_own_epoch every_batch_is_appended is_readable no_aborted_read no_hanging_transaction "
        "no_spurious_error ongoing_can_end open_is_known",
        ("divergence",): "counted_followers_agree",
        ("no-progress",): "bumps_have_causes deadlock failures_have_causes fenced_consumer_can_refresh "
        "fetchers_are_active flush_returns joins_are_accepted no_starvation truncation_makes_progress",
        ("control",): "active_replicas_have_a_leader controller_answers high_watermark_is_in_the_log "
        "leader_is_not_fenced reassignment_completes reassignment_ends_as_asked",
        # A sequence that is not contiguous is a gap or a copy; another property says which.
        (): "sequences_contiguous",
    }.items()
    for name in names.split()
}
"""The outcomes that a violated property may be."""


def test_the_releases_are_those_of_the_rules():
    by_name = {exhibit.name: exhibit for exhibit in EXHIBITS}
    assert by_name["R9"].affected == "2.8.0 to 3.4.0"
    assert by_name["R9"].fixed == "3.4.1, 3.5.0"
    assert by_name["I7"].fixed == "no release so far"
    assert by_name["P4"].affected == "no release since 0.10.0.0"
    assert by_name["P7"].releases == RELEASES
    assert by_name["T1"].affected.endswith(" to 3.5.2") and by_name["T1"].fixed == "3.6.0"
    assert by_name["T7"].affected == by_name["T11"].affected == "no release since 0.10.0.0"
    assert by_name["I16"].history.opened_by and by_name["T10"].affected == "3.6.0"
    assert by_name["I8"].affected == "librdkafka before 2.3.0" and by_name["I8"].fixed == ""
    assert by_name["KIP-841"].releases[-1] == "3.2.3"


def test_entries_that_are_not_modelled_are_listed():
    text = museum_page.render()
    missing = [exhibit for exhibit in EXHIBITS if exhibit.shown_by is None]
    assert {exhibit.name for exhibit in missing} >= {"KIP-841"}
    listed = text[text.index("## Not modelled") :]
    assert all(f"| {exhibit.name} | {exhibit.story.title} |" in listed for exhibit in missing)
    assert all(f"| {exhibit.name} | " in text for exhibit in EXHIBITS)
    rows = [hazard for hazard in hazards().values() if f"| {hazard.name} | {hazard.title} |" in listed]
    assert [hazard.name for hazard in rows if hazard.shown_by] == ["KAFKA-19446"], "museum_page.NOT_MODELLED names them"
    unmodelled = sum(not hazard.shown_by for hazard in rows)
    assert f" and {unmodelled} that no spec models." in " ".join(text.split())


def test_the_page_is_current():
    assert (DOCS / "museum.md").read_text() == museum_page.render(), "run python -m checker pages"


@pytest.mark.parametrize("ticket", ["KIP966", "KAFKA-", "librdkafka#1", "R1"])
def test_a_ticket_of_another_form_is_refused(ticket):
    with pytest.raises(ValueError, match="is not a KIP"):
        ticket_url(ticket)


SHOWN_ON_BROKERS = [exhibit for exhibit in MODELLED if exhibit.evidence]


@pytest.mark.parametrize("exhibit", SHOWN_ON_BROKERS, ids=named)
def test_the_scenario_of_an_entry_names_the_experiments(exhibit):
    note = note_on(exhibit.shown_by.target)
    assert all(each.kafka in note and all(name in note for name in each.experiments) for each in exhibit.evidence)


def test_runs_without_an_experiment_are_evidence_too():
    evidence = {exhibit.name: exhibit.evidence for exhibit in EXHIBITS}
    assert [each.kafka for each in evidence["R18"]] == ["4.3.1", "4.4.0"]
    assert [each.kafka for each in evidence["C14"]] == ["4.2.0", "4.3.1", "4.4.0"]
    (seen,) = evidence["C-1"]
    assert seen.sentence.startswith("Shown on Apache Kafka 4.3.1: 17,990 of 20,000")
    assert seen.note.endswith("clean stops only")
    for each in (*evidence["R18"], *evidence["C14"]):
        assert each.saw in each.sentence and each.saw in each.note and each.page in each.note
        text = (DOCS / each.page.partition("#")[0]).read_text()
        assert each.kafka in text and Path(each.script).name in text and (DOCS / each.script).exists()


def test_an_exception_to_default_settings_stands_in_what_the_entry_needs():
    assert "except automatic leader balancing" in read_stories()["R18"].needs


def test_a_scenario_of_an_entry_names_it():
    assert note_on("examples/echo/correct") == ""
    assert note_on("replication/partition/r1_truncate_to_high_watermark").startswith("R1: A follower truncates")
    # Another scenario of the same entry; and one that the facts of an entry without such a name point to.
    assert note_on("replication/partition/r18_counts_a_truncated_record").startswith("R18: ")
    assert note_on("consumer/truncated_log/c6_position_without_epoch").startswith("C16: ")


def test_the_note_is_below_the_counterexample(monkeypatch, capsys):
    class Note:
        name = "kafka"

        def load(self):
            return note_on

    asked = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: asked.append(group) or [Note()])
    assert main(["run", "producer/acks/p6_acks_0_loss", "--engine", "python"]) == 0
    printed = capsys.readouterr().out
    note = "real brokers of Kafka 4.3.1 show it: python -m checker experiment p6-acks-0"
    assert "tidemark.notes" in asked and printed.index("counterexample of") < printed.index(note)
    assert main(["run", "producer/acks/p6_acks_0_loss", "--engine", "python", "--set", "acks=all"]) == 0
    assert "real brokers" not in capsys.readouterr().out
