"""No table of guarantees denies an entry of the catalogue: for each pair of a cell and an entry that says yes.

The settings, releases and events of a row are read here from what the row shows, not with the table's own functions.
"""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from checker.engines.native import engine
from checker.language.tables import GuaranteeCheck
from checker.run.plan import Plan
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.models import model_of
from kafka_tools.advise.questions import FAILURES as ADVISED_FAILURES
from kafka_tools.advise.questions import QUESTIONS, properties_for
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting
from specs.consumer import guarantees as consumer
from specs.hazards import EVENTS, hazards
from specs.kafka_releases import RELEASES, release_line
from specs.pipeline import guarantees as pipeline
from specs.pipeline import transactional_guarantees
from specs.producer import guarantees as producer
from specs.transactions import guarantees as transactions
from tests.support.short_tables import answers_on

DOCS = Path(__file__).parents[2] / "docs"
ON_OFF = {"on": "true", "off": "false"}


def rows_of(table):
    return [pytest.param(row, id=",".join(row.settings.values())) for row in table.rows if not row.refused]


def says_yes(hazard, outcome, events, config, releases):
    """Whether an entry says yes to an outcome, after some events, in one of some releases."""
    return outcome in hazard.outcomes and any(hazard.can_happen(each, config, events) for each in releases)


def denied(cell, outcome, events, config, releases):
    """Return the entries that say yes and that a "no" of a cell would deny."""
    saying = {name for name, hazard in hazards().items() if says_yes(hazard, outcome, events, config, releases)}
    return saying - {*cell.exceptions, *cell.notes}


# The pipeline.

PIPELINE = {
    "lost": "loss",
    "written twice": "duplicates",
    "out of order": "reorder",
    "never written, or retried without end": "stuck",
    "read, then gone": "vanishing-reads",
}
FAILURES = {
    "a slow follower": set(),
    "a planned leader change": {"leader-change"},
    "two planned leader changes": {"leader-change", "leader-changes"},
    "one broker crashes": {"crash"},
    "two brokers crash": {"crash", "two-crashes"},
    "one broker loses power": {"power-loss"},
    "one broker crashes, one loses power": {"crash", "power-loss", "crash-and-power-loss"},
    "all brokers lose power": {"blackout"},
    "a response is lost": {"lost-response"},
    "the producer restarts": {"producer-restart"},
}


@pytest.mark.parametrize("row", rows_of(pipeline.tables[0]))
def test_the_pipeline_denies_no_entry(row):
    shown = row.settings
    config = {
        "acks": shown["acks"],
        "min.insync.replicas": "2" if shown["min ISR"] == "-" else shown["min ISR"],
        "unclean.leader.election.enable": ON_OFF[shown["unclean"]],
        "eligible.leader.replicas.version": str(int(shown["ELR"] == "on")),
        "flush.messages": "1" if shown["flush"] == "each" else "never",
        "enable.idempotence": ON_OFF[shown["idempotence"]],
        "max.in.flight.requests.per.connection": shown["in flight"],
        "replication.factor": "3",
        "client": "java",
        "transactional": "false",
        "group.protocol": "classic",
    }
    for column, cell in row.cells.items():
        harm, _, failure = pipeline.COLUMNS[column].partition(": ")
        assert not denied(cell, PIPELINE[harm], FAILURES[failure], config, RELEASES[-1:]), column


# The producer.

PRODUCER = {
    "loses an acknowledged record": ("loss", {"crash"}),
    "duplicates": ("duplicates", set()),
    "reorders": ("reorder", set()),
    "gets stuck": ("stuck", set()),
    "leaves a gap": ("stuck", set()),
}
PRODUCER_EVENTS = {"refused-request", "lost-response", "leader-change"}
RARER_OF_PRODUCER = {"crash", "network-delay", "state-expiry", "split", "leader-changes", "delivery-timeout"}


def brokers_of(text):
    """Return the releases that brokers of a row may be of."""
    first, _, last = text.partition(" to ")
    bounds = ("2.1", "4.4") if text == "any" else (first, last) if last else ("4.4", "4.4")
    return [each for each in RELEASES if release_line(bounds[0]) <= release_line(each) <= release_line(bounds[1])]


@pytest.mark.parametrize("row", rows_of(producer.tables[0]))
def test_the_producer_denies_no_entry(row):
    shown = row.settings
    config = {
        "acks": shown["acks"],
        "retries": "0" if shown["retries"] == "0" else "3",
        "max.in.flight.requests.per.connection": shown["in flight"],
        "enable.idempotence": ON_OFF[shown["idempotence"]],
        "replication.factor": "3",
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "false",
        "client": "java",
        "transactional": "false",
    }
    # An entry of brokers of 4.x has brokers and clients of one release; older brokers have clients of 4.x.
    releases = [each for each in brokers_of(shown["broker"]) if each.startswith("4.")]
    for column, cell in row.cells.items():
        outcome, explored = PRODUCER[producer.COLUMNS[column]]
        events = PRODUCER_EVENTS | explored | RARER_OF_PRODUCER
        events |= {"producer-restart"} if shown["restart"] == "yes" else set()
        missing = denied(cell, outcome, events, config, releases)
        # 4.5 is not released: what it removes is read from the table of rules.
        removed = {"I2", "P13", "KAFKA-19479"} if "unreleased" in shown["broker"] else set()
        assert not missing - removed, column


LOST_BEFORE_2_5 = ("P13", "KAFKA-19479", "R14", "KAFKA-7897", "R18", "KIP-841")


@pytest.mark.parametrize(
    ("settings", "column", "expected"),
    [
        (("all", ">0", "1", "on", "2.5 to 4.4", "no"), "duplicate", ("P11", "P13", "I13", "producer H-2")),
        (("all", ">0", "5", "on", "4.5 (unreleased)", "no"), "stuck", ("I12",)),
        (("all", ">0", "1", "on", "2.5 to 4.4", "no"), "stuck", ()),
        (("all", ">0", "1", "on", "2.1 to 2.4", "no"), "loss", LOST_BEFORE_2_5),
        (("1", "0", "2", "off", "any", "no"), "reorder", ("P1", "P11", "P12")),
        (("1", "0", "1", "off", "any", "no"), "reorder", ("P11", "P12")),
    ],
)
def test_a_no_of_the_producer_names_its_exceptions(settings, column, expected):
    (row,) = [row for row in producer.tables[0].rows if tuple(row.settings.values()) == settings]
    assert row.cells[column].exceptions == expected


# The consumer.

COMMITS = {"before": "first", "after": "last", "automatically": "auto", "each": "last", "contiguous": "last"}
NO_OFFSET = {"new-partition", "offsets-expire"}
CONSUMER_EVENTS = {
    "crash": {"consumer-crash", *NO_OFFSET},
    "exception": {"application-exception", *NO_OFFSET},
    "rebalance": {"rebalance", *NO_OFFSET},
    "eviction": {"eviction", *NO_OFFSET},
}


def consumer_facts(committed, protocol):
    return {
        "commits": COMMITS.get(committed, ""),
        "enable.auto.commit": str(committed == "automatically").lower(),
        "client": "java",
        "group.protocol": protocol,
    }


@pytest.mark.parametrize("row", rows_of(consumer.tables[0]))
def test_the_consumer_denies_no_entry(row):
    shown = row.settings
    config = consumer_facts(shown["committed"], "classic")
    config |= {"auto.offset.reset": "none"} if shown["committed"] == "with the effect" else {}
    releases = [each for each in RELEASES if each.startswith("4.")]
    for column, outcome in (("gap", "gaps"), ("duplicate", "reprocessing")):
        assert not denied(row.cells[column], outcome, CONSUMER_EVENTS[shown["failure"]], config, releases), column


def test_an_aborted_transaction_may_leave_its_offsets_to_the_next_one():
    """A commit in one transaction is exactly once but for producer H-1, which is about the client and not a failure."""
    rows = [row for row in consumer.tables[0].rows if row.settings["committed"] == "with the effect"]
    assert rows and all("producer H-1" in row.cells[column].exceptions for row in rows for column in consumer.OUTCOMES)
    others = [row for row in consumer.tables[0].rows if row not in rows]
    assert not any("producer H-1" in cell.exceptions for row in others for cell in row.cells.values())


@pytest.mark.parametrize("row", rows_of(consumer.tables[1]))
def test_the_consumer_protocol_denies_no_entry(row):
    shown = row.settings
    config = consumer_facts(shown["committed"], "consumer")
    releases = [each for each in RELEASES if each.startswith("4.")]
    for column, outcome in (("gap", "gaps"), ("duplicate", "reprocessing")):
        assert not denied(row.cells[column], outcome, CONSUMER_EVENTS[shown["failure"]], config, releases), column


IN_THE_ROWS = {
    "C10": ("before automatically", "rebalance", "duplicate"),
    "C13": ("before automatically after", "rebalance", "duplicate"),
    "C14": ("automatically", "crash rebalance", "gap"),
    "C15": ("automatically", "rebalance", "gap"),
}
"""The commits, the failures and the column of the cells that an entry of group.protocol=consumer makes a yes."""


@pytest.mark.parametrize("name", IN_THE_ROWS)
def test_an_entry_of_the_consumer_protocol_makes_a_cell_a_yes(name):
    commits, failures, column = IN_THE_ROWS[name]
    cells = {tuple(row.settings.values()): row.cells[column] for row in consumer.tables[1].rows}
    for committed, failure in product(commits.split(), failures.split()):
        cell = cells[committed, failure]
        assert name in cell.exceptions
        (check,) = cell.checks
        assert violated_properties(check), (committed, failure)


@pytest.mark.parametrize("row", rows_of(consumer.tables[1]))
def test_advise_and_the_rows_of_the_consumer_protocol_agree(row):
    """A crash is asked of the pipeline, with the same commits; here are the failures that a consumer's spec answers."""
    committed, failure = row.settings.values()
    slug = {"exception": "application-exception", "rebalance": "rebalance"}.get(failure)
    for question in [question for question in QUESTIONS if slug and question.name in CONSUMER_COLUMNS]:
        (failure_mode,) = [each for each in ADVISED_FAILURES if each.slug == slug]
        cluster = gather([ConfigurationFile("c", {"consumer": consumer_settings(committed)})], RELEASES[-1])
        config = resolve(replace(cluster, commits={"before": "first", "after": "last"}.get(committed)))
        model = model_of(cluster, config, question, failure_mode)
        asked = GuaranteeCheck(model.spec, dict(model.constants), properties_for(question, failure_mode, model))
        (check,) = row.cells[CONSUMER_COLUMNS[question.name]].checks
        assert bool(violated_properties(asked)) == bool(violated_properties(check)), question.name


CONSUMER_COLUMNS = {"gaps": "gap", "reprocessing": "duplicate"}


def consumer_settings(committed):
    values = {"group.protocol": "consumer", "enable.auto.commit": str(committed == "automatically").lower()}
    values["auto.offset.reset"] = "earliest"  # as in the table, whose notes have the rest (C7)
    return tuple(WrittenSetting(name, value, "c", 1) for name, value in values.items())


def violated_properties(check):
    result = engine.explore(check.spec(**check.constants), Plan(check.properties, "all", workers=1, quick=True))
    return {violation.property for violation in result.violations}


def test_the_notes_of_the_consumer_name_the_releases_that_have_an_entry():
    text = consumer.NOTES["background"].text
    for name in ("C12", "C14", "C15"):
        releases = hazards()[name].releases
        assert re.search(rf"{name}: {re.escape(releases[0])} to {re.escape(releases[-1])}", text)


@pytest.mark.parametrize(
    "notes",
    [producer.NOTES, consumer.NOTES, pipeline.NOTES, transactional_guarantees.NOTES],
    ids=lambda notes: min(notes),
)
def test_a_note_on_an_entry_names_its_releases(notes):
    """Of some entries only: a note on another one names none."""
    for name, note in notes.items():
        lines = [transactions.short_name(release) for release in hazards()[name].releases] if name in hazards() else []
        ranges = re.findall(r"from (\d[\d.]*\d) to (\d[\d.]*\d)", note.text)
        assert not lines or {*ranges} <= {(lines[0], lines[-1])}, name
        for entry, first_without in re.findall(r"\((\w+), before ([\d.]*\d)\)", note.text):
            later = RELEASES[RELEASES.index(hazards()[entry].releases[-1]) + 1]
            assert transactions.short_name(later) == first_without, entry
    assert producer.NOTES["I2"].text.count("from 2.5 to 4.4") == 1


# The transactions.


def computed_rows():
    return answers_on(DOCS / "transactions.md", "transactions", transactions.tables[0])


def test_the_transactions_deny_no_entry_and_have_no_other():
    """The columns about an entry say yes in exactly the releases and versions in which the entry can happen."""
    for shown, answers in computed_rows():
        if "clients" in shown["Kafka"] or "KIP" in shown["Kafka"]:
            continue
        (kafka,) = [each for each in transactions.RELEASES if each.startswith(shown["Kafka"] + ".")]
        configs = [
            {"transactional": "true", "client": "java", "transaction.version": version}
            for version in shown["version"].split(" to ")
        ]
        for name in {*transactions.ENTRIES.values()} & hazards().keys():
            says_yes = any(answers[column] for column, entry in transactions.ENTRIES.items() if entry == name)
            expected = any(hazards()[name].can_happen(kafka, config) for config in configs)
            # An upgrade has what either version has, and more: requests of both versions meet (T1).
            is_upgrade = len(configs) > 1
            assert says_yes == expected or (is_upgrade and says_yes), (kafka, name)


def test_brokers_that_keep_version_1_have_the_entries_of_version_1():
    (answers,) = [answers for shown, answers in computed_rows() if shown["Kafka"] == "4.3 (clients 3.9)"]
    config = {"transactional": "true", "client": "java", "transaction.version": "1"}
    for column, name in transactions.ENTRIES.items():
        if name in ("T1", "T2", "T3", "KAFKA-19446"):
            assert answers[column] == hazards()[name].can_happen("4.3.0", config), name


def test_what_loses_records_with_their_leader_loses_those_of_transactions():
    """A record that a new leader lacks may be one of a committed transaction, or its marker."""
    columns = [each for each, heading in transactional_guarantees.COLUMNS.items() if "the leader crashes" in heading]
    assert columns
    for row in transactional_guarantees.tables[0].rows:
        release = row.settings["Kafka"] + ".0"
        config = {**EXACTLY_ONCE, "controller": "kraft", "replication.factor": "2"}
        losses = {h.name for h in hazards().values() if "loss" in h.outcomes and h.is_rare}
        known = {name for name in losses if "crash" in hazards()[name].events(release, config, "loss")}
        assert known and all(known <= {*row.cells[column].exceptions} for column in columns), row.settings


# What no table answers.

EXACTLY_ONCE = {
    "client": "java",
    "transactional": "true",
    "acks": "all",
    "enable.idempotence": "true",
    "unclean.leader.election.enable": "false",
}
"""The settings of the table of transactions; one of its rows allows unclean elections (R12, T9)."""


@pytest.mark.parametrize(
    ("tables", "outcomes", "config"),
    [
        (pipeline.tables, PIPELINE.values(), {"client": "java", "transactional": "false"}),
        (producer.tables, ["loss", "duplicates", "reorder", "stuck"], {"client": "java", "transactional": "false"}),
        (consumer.tables, ["gaps", "reprocessing"], {"client": "java"}),
        (transactions.tables, ["transactions"], {"client": "java", "transactional": "true"}),
        (transactional_guarantees.tables, ["transactions", "loss"], EXACTLY_ONCE),
    ],
    ids=["pipeline", "producer", "consumer", "transactions", "exactly once"],
)
def test_every_entry_of_the_latest_release_is_in_a_cell_a_note_or_the_legend(tables, outcomes, config):
    """Also an event that no cell has is named, so that its absence is no answer."""
    written = ""
    for table in tables:
        written += " ".join([*table.legend, *table.columns.values(), *(note.text for note in table.notes.values())])
        for cell in (cell for row in table.rows for cell in row.cells.values()):
            written += f" {' '.join(cell.exceptions)}"
    for name, hazard in hazards().items():
        if {*outcomes} & {*hazard.outcomes} and hazard.events(RELEASES[-1], config):
            assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", written), name


def test_the_events_of_the_rows_exist():
    named = set().union(*FAILURES.values(), *CONSUMER_EVENTS.values(), PRODUCER_EVENTS, RARER_OF_PRODUCER)
    assert named <= EVENTS.keys()
