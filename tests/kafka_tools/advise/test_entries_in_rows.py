"""Each entry of the catalogue is in the row of the failure after which it happens, or named where no row has it."""

import re
import threading

import pytest

from kafka_tools.advise.advice import answer_questions
from kafka_tools.advise.answer_sentences import cause_sentences
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.facts import facts_of
from kafka_tools.advise.hazard_answers import hazards_after, of_transactions, unexplored
from kafka_tools.advise.outcome_phrases import entries_with_answers
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.suggestions import remedies_in
from kafka_tools.advise.survey import Explored, run
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting
from specs.hazards import hazards
from tests.support.surveys import explore_once

NEVER = threading.Event()

BY_SLUG = {failure.slug: failure for failure in FAILURES}
BY_NAME = {question.name: question for question in QUESTIONS}
LOST, TWICE = BY_SLUG["lost-response"], BY_NAME["duplicates"]


def cluster(version, client=None, **roles):
    """Return a cluster with three replicas, unless the topic says otherwise; roles have settings by name."""
    given = {
        role: tuple(WrittenSetting(name, value, "f", 1) for name, value in settings.items())
        for role, settings in ({"producer": {}} | roles).items()
    }
    return gather([ConfigurationFile("f", given)], version, client).changed("topic", "replication.factor", "3")


def find_nothing(asked):
    return iter([run(survey, None, NEVER, lambda explorer, one: Explored("complete", 1, ())) for survey in asked])


# The row that an entry's own text names.

EVENTS_OF_WORDS = {
    r"responses? .*lost|lost response": {"lost-response"},
    r"planned leader change|new leader|moved partition": {"leader-change", "leader-changes", "crash"},
    r"\ban election": {"leader-change", "crash", "unclean-election"},
    r"power failure|loses power": {"power-loss", "crash-and-power-loss"},
    r"new disk|loses its disk": {"empty-disk"},
    r"unclean election": {"unclean-election"},
    r"throws an exception": {"application-exception"},
    r"consumer dies|process dies": {"consumer-crash"},
    r"rebalance": {"rebalance"},
    r"producer restarts|restarted producer": {"producer-restart"},
    r"broker (dies|restarts)|clean restart": {"crash", "two-crashes", "empty-disk"},
    r"no committed offset": {"consumer-crash", "offsets-expire"},
}
"""Words of `needs` and `coincidence`, and the events of which the entry then has one."""

OTHER_EVENTS = {
    ("I7", "lost-response"): "the responses are lost when the broker stops",
    ("C15", "consumer-crash"): "the row of a rebalance has the crash",
}


@pytest.mark.parametrize("hazard", hazards().values(), ids=lambda hazard: hazard.name)
def test_an_entry_is_in_the_row_that_its_text_names(hazard):
    text = f"{hazard.needs} {hazard.coincidence}".casefold()
    if not BY_NAME.keys() & {*hazard.outcomes}:
        return
    for words, events in EVENTS_OF_WORDS.items():
        if re.search(words, text) and not any((hazard.name, event) in OTHER_EVENTS for event in events):
            assert events & {*hazard.after}, words


# Typical configurations.

_TRANSACTIONAL = {"producer": {"transactional.id": "t"}, "consumer": {"isolation.level": "read_committed"}}

TYPICAL = {
    "defaults": cluster("4.4.0"),
    "acks=1": cluster("3.9.2", producer={"acks": "1"}),
    "idempotent": cluster("4.3.1", producer={"enable.idempotence": "true"}, topic={"min.insync.replicas": "1"}),
    "two in sync": cluster("3.7.2", topic={"min.insync.replicas": "2"}),
    "transactions of 4.4": cluster("4.4.0", **_TRANSACTIONAL),
    "transactions of 3.9": cluster("3.9.2", **_TRANSACTIONAL),
    "new group protocol": cluster("4.2.0", consumer={"group.protocol": "consumer"}),
    "idempotent before 2.5": cluster("2.3.1", producer={"enable.idempotence": "true", "acks": "all"}),
    "librdkafka": cluster("3.7.2", "librdkafka", producer={"enable.idempotence": "true"}),
    "expiry": cluster("4.3.1", broker={"producer.id.expiration.ms": "60000"}),
}

WITHOUT_A_ROW = {
    "P1": "a retriable refusal alone; the rows of leader changes have refusals",
    "P12": "a late request; the row of a lost response has it without retries",
    "KAFKA-19479": "a batch that is split",
    "I3": "a permanent refusal",
    "I12": "2^31 records",
    "R17": "an I/O error",
    "controller H-4": "a directory that is taken out of log.dirs; an empty one in its place is an unclean shutdown",
    "controller H-8": "a reassignment",
    "controller H-9": "a change of the feature level and of a setting",
    "controller H-10": "a reassignment",
    "producer H-5": "32,767 epochs",
    "C11": "a late heartbeat",
    "share H1": "a share group",
    "share H2": "a share group",
    "share H3": "a share group",
    "share H4": "a share group",
    "share H5": "a share group",
}
"""Entries about a question of the table that only the list of unexplored events has, with what happens there."""


@pytest.mark.parametrize("name", TYPICAL)
def test_no_entry_is_silent_in_a_typical_configuration(name):
    """An entry that can happen is in a cell, is a note on its row, or is named; only events without a row suffice."""
    asked = TYPICAL[name]
    config = resolve(asked)
    found = answer_questions(asked, find_nothing, FAILURES, QUESTIONS)
    cells = {hazard.name for answer in found.answers for hazard in answer.hazards}
    rows = {each.name for failure in found.impossible for each in hazards_after(asked, config, failure)}
    transactions = {hazard.name for hazard in of_transactions(asked, config)}
    named = {each.name for known in unexplored(asked, config).values() for each in known}
    facts = facts_of(asked, config)
    for hazard in hazards().values():
        if hazard.can_happen(asked.version, facts) and BY_NAME.keys() & {*hazard.outcomes}:
            in_table = hazard.name in cells | rows | transactions
            assert in_table or (hazard.name in named and hazard.name in WITHOUT_A_ROW), hazard.name


def test_an_entry_without_a_row_has_no_event_of_a_row():
    """P12 has one with further conditions."""
    for name in WITHOUT_A_ROW:
        limited = {event for condition in hazards()[name].conditions for event in condition.only_after}
        assert not BY_SLUG.keys() & ({*hazards()[name].after} - limited), name


def test_an_undecided_cell_keeps_its_entries():
    found = answer_questions(TYPICAL["idempotent before 2.5"], find_nothing, [LOST], [TWICE])
    assert [answer.verdict for answer in found.answers] == ["undecided"]
    assert "I4" in {hazard.name for hazard, _ in entries_with_answers(found.answers)}


# A retry after the producer's state has expired.


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        (TYPICAL["defaults"], "known"),
        (TYPICAL["expiry"], "yes"),
        (cluster("4.3.1", broker={"producer.id.expiration.ms": "120000"}), "yes"),
        (cluster("4.3.1", broker={"producer.id.expiration.ms": "120001"}), "known"),
        (cluster("4.3.1", producer={"delivery.timeout.ms": "86400000"}), "yes"),
        (cluster("4.3.1", **_TRANSACTIONAL, broker={"producer.id.expiration.ms": "60000"}), "no"),
        (cluster("3.3.2", broker={"transactional.id.expiration.ms": "60000"}), "yes"),
        (cluster("3.4.1", broker={"transactional.id.expiration.ms": "60000"}), "known"),
        # In librdkafka 0 is no timeout.
        (cluster("4.3.1", "librdkafka", producer={"enable.idempotence": "true", "message.timeout.ms": "0"}), "yes"),
        (cluster("4.3.1", "librdkafka", producer={"enable.idempotence": "true"}), "known"),
    ],
)
def test_a_retry_after_the_expiry_of_its_state_is_written_twice(asked, verdict):
    (answer,) = answer_questions(asked, explore_once, [LOST], [TWICE]).answers
    assert answer.verdict == verdict
    assert ("I13" in {hazard.name for hazard in answer.hazards}) == (verdict == "yes")


@pytest.mark.parametrize(
    ("asked", "remedies"),
    [
        (TYPICAL["expiry"], {"producer.id.expiration.ms=86400000"}),
        (
            cluster("3.3.2", broker={"transactional.id.expiration.ms": "60000"}),
            {"transactional.id.expiration.ms=604800000"},
        ),
        (cluster("4.3.1", producer={"delivery.timeout.ms": "86400000"}), {"delivery.timeout.ms=120000"}),
        (
            cluster(
                "4.3.1",
                producer={"delivery.timeout.ms": "90000000"},
                broker={"producer.id.expiration.ms": "60000"},
            ),
            {"producer.id.expiration.ms=86400000", "delivery.timeout.ms=120000"},
        ),
    ],
)
def test_state_that_outlives_a_retry_is_offered(asked, remedies):
    advice = advise(asked, explore_once, failures=[LOST], questions=[TWICE])
    assert [{str(change) for change in each.changes} for each in advice.remedies] == [remedies]


# Causes.


def causes(asked, question, failure):
    return list(cause_sentences(answer_questions(asked, explore_once, [BY_SLUG[failure]], [BY_NAME[question]])))


def test_a_record_that_is_left_out_is_lost_by_implicit_acknowledgements_alone():
    assert not any("I2" in text for text in causes(TYPICAL["defaults"], "loss", "crash-and-power-loss"))
    assert any("I2" in text for text in causes(TYPICAL["librdkafka"], "loss", "crash"))


@pytest.mark.parametrize(
    ("version", "producer", "named"),
    [
        ("3.9.2", {"acks": "1"}, {"KAFKA-13673"}),
        ("3.9.2", {"acks": "1", "enable.idempotence": "false"}, set()),
        ("3.0.0", {}, {"P10"}),
        ("3.0.0", {"enable.idempotence": "false"}, set()),
    ],
)
def test_a_cause_is_that_of_the_written_setting(version, producer, named):
    found = causes(cluster(version, producer=producer), "duplicates", "lost-response")
    assert {name for name in ("P10", "KAFKA-13673") if any(name in text for text in found)} == named


def test_a_rare_cause_comes_after_the_others_and_says_so():
    found = causes(TYPICAL["two in sync"], "loss", "power-loss")
    assert [text.partition(" (")[0] for text in found] == ["R11", "rarer: R20", "rarer: R26"]


@pytest.mark.parametrize(("consumer", "named"), [({}, False), ({"client.rack": "a"}, True)])
def test_a_follower_serves_a_consumer_with_a_rack_alone(consumer, named):
    asked = cluster(hazards()["R9"].releases[-1], consumer=consumer)
    questions = [BY_NAME["vanishing-reads"]]
    (answer,) = answer_questions(asked, find_nothing, [BY_SLUG["crash"]], questions).answers
    assert (hazards()["R9"] in answer.hazards) is named


@pytest.mark.parametrize(("version", "is_offered"), [("3.9.2", False), ("4.0.0", True)])
def test_a_remedy_that_the_release_lacks_is_not_offered(version, is_offered):
    asked = cluster(version, **_TRANSACTIONAL)
    changes = remedies_in(hazards()["producer H-3"], asked, resolve(asked), LOST)
    assert ({"transaction.version": "2"} in changes) is is_offered


def test_a_late_request_is_the_cause_of_a_wrong_order_without_retries():
    given = {"enable.idempotence": "false", "max.in.flight.requests.per.connection": "1"}
    (named,) = causes(cluster("4.3.1", producer={**given, "retries": "0"}), "reorder", "lost-response")
    assert named.startswith("P12 (")
    assert not causes(cluster("4.3.1", producer=given), "reorder", "lost-response")


# A log that is rewritten behind the consumer.

REWRITES = ["crash", "unclean-election", "power-loss", "crash-and-power-loss", "blackout", "empty-disk"]
UNCLEAN, FLUSHED = {"unclean.leader.election.enable": "true"}, {"flush.messages": "1"}
TWO_IN_SYNC = {"min.insync.replicas": "2"}


@pytest.mark.parametrize("version", ["2.1.1", "2.2.2", "2.3.1", "4.3.1"])
@pytest.mark.parametrize(
    ("topic", "level", "expected"),
    [
        (UNCLEAN, "0", REWRITES),
        ({}, "0", REWRITES[2:]),
        (FLUSHED, "0", ["empty-disk"]),
        (UNCLEAN | FLUSHED, "0", REWRITES),
        (TWO_IN_SYNC, "1", ["crash-and-power-loss", "blackout"]),
        (TWO_IN_SYNC | FLUSHED, "1", []),
        (TWO_IN_SYNC | {"replication.factor": "1"}, "1", REWRITES[2:]),
        (UNCLEAN | {"replication.factor": "1"}, "0", REWRITES[2:]),
    ],
)
def test_a_consumer_may_read_on_over_a_log_that_lost_records(version, topic, level, expected):
    """Before 2.3 by C6, later by C16: after each event, or other entry, that can remove a record that was read."""
    if level == "1" and not version.startswith("4."):
        pytest.skip("eligible leader replicas exist since 4.0")
    asked = cluster(version, topic=topic, broker={"eligible.leader.replicas.version": level})
    asked = asked.changed("topic", "replication.factor", topic.get("replication.factor", "3"))
    gaps = BY_NAME["gaps"]
    answers = answer_questions(asked, find_nothing, [BY_SLUG[slug] for slug in REWRITES], [gaps]).answers
    possible = [slug for slug in expected if slug in {answer.failure.slug for answer in answers}]
    name = "C6" if version < "2.3" else "C16"
    saying = {answer.failure.slug for answer in answers if name in {hazard.name for hazard in answer.hazards}}
    after_others = {
        answer.failure.slug
        for answer in answers
        if any("vanishing-reads" in hazard.outcomes for hazard in answer.hazards)
    }
    assert {*possible} <= saying <= {*possible} | after_others
    assert all(answer.verdict == "known" for answer in answers if answer.failure.slug in saying)


@pytest.mark.slow
@pytest.mark.parametrize("topic", [UNCLEAN, {}, FLUSHED, TWO_IN_SYNC, TWO_IN_SYNC | UNCLEAN], ids=str)
def test_no_row_denies_a_gap_where_a_read_record_vanishes(topic):
    """Where the pipeline removes a record that was read, the consumer of 2.2 may skip the one in its place."""
    asked = cluster("2.2.2", topic=topic, producer={"enable.idempotence": "false", "acks": "all"})
    questions = [BY_NAME["vanishing-reads"], BY_NAME["gaps"]]
    advice = answer_questions(asked, explore_once, [BY_SLUG[slug] for slug in REWRITES], questions)
    for slug in REWRITES:
        vanishes, skipped = (advice.answer(question, BY_SLUG[slug]) for question in questions)
        if vanishes is not None and vanishes.verdict == "yes":
            assert skipped.verdict in ("yes", "known"), slug


BREAKS = [*REWRITES, "leader-change", "leader-changes", "two-crashes", "slow-follower"]
BEFORE_2_3, EARLIEST, RACK = "2.2.2", {"auto.offset.reset": "earliest"}, {"client.rack": "a"}


@pytest.mark.parametrize("version", ["2.0.0", "2.1.0", "2.2.2", "2.5.0", "2.8.0", "3.4.0", "3.9.2", "4.3.1"])
@pytest.mark.parametrize("topic", [{}, UNCLEAN, TWO_IN_SYNC, TWO_IN_SYNC | FLUSHED], ids=str)
@pytest.mark.parametrize("consumer", [{}, RACK, EARLIEST, {"auto.offset.reset": "none"}], ids=str)
def test_what_vanishes_may_be_skipped_or_processed_twice(version, topic, consumer):
    """An entry that removes a record that was read has its cells of the consumer too, each after the same event."""
    consumer = consumer if version > BEFORE_2_3 or consumer != RACK else {}
    asked = cluster(version, topic=topic, consumer=consumer)
    names = ("vanishing-reads", "gaps", "reprocessing")
    questions = [BY_NAME[name] for name in names]
    advice = answer_questions(asked, find_nothing, [BY_SLUG[slug] for slug in BREAKS], questions)
    for slug in BREAKS:
        answers = [advice.answer(question, BY_SLUG[slug]) for question in questions]
        if answers[0] is None:
            continue
        vanishes, skips, repeats = ({hazard.name for hazard in answer.hazards} for answer in answers)
        assert vanishes - {"R13"} <= skips, slug
        assert bool({"C6", "C16"} & skips) >= bool(vanishes), slug
        assert bool({"C6", "C16"} & repeats) == bool({"C6", "C16"} & skips and consumer == EARLIEST), slug


@pytest.mark.parametrize(
    ("version", "consumer", "name"), [("4.3.1", {}, "R18"), ("2.5.0", {}, "R15"), ("3.4.0", RACK, "R9")]
)
def test_a_planned_leader_change_may_skip_a_record(version, consumer, name):
    questions = [BY_NAME["gaps"]]
    (answer,) = answer_questions(
        cluster(version, consumer=consumer), find_nothing, [BY_SLUG["leader-change"]], questions
    ).answers
    assert answer.verdict == "known" and name in {hazard.name for hazard in answer.hazards}
