"""Answers for real configurations, compared with the documentation of Kafka."""

from pathlib import Path

import pytest

from kafka_tools.advise import answer_sentences
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.questions import FAILURES, QUESTIONS, why_impossible
from kafka_tools.advise.remedy_search import advise
from tests.support.surveys import explore_once

FIXTURES = Path(__file__).parent / "fixtures"
PARTITION = [question for question in QUESTIONS if not question.of_consumer]
CONSUMER = [question for question in QUESTIONS if question.of_consumer]
BY_SLUG = {failure.slug: failure for failure in FAILURES}


def answers(version, *names, failures, questions=PARTITION, changes=0):
    cluster = gather([read(str(FIXTURES / name)) for name in names], version)
    asked = [BY_SLUG[slug] for slug in failures]
    advice = advise(cluster, explore_once, failures=asked, questions=questions, largest_change=changes)
    return advice, {(a.question.name, a.failure.slug): a.verdict for a in advice.answers}


def yeses(found):
    return {key for key, verdict in found.items() if verdict == "yes"}


TWO = ("crash", "lost-response")


I2_ALSO_WITHOUT_CRASH = {"idempotent", "duplicates", "reorder", "stuck lost-response"}


@pytest.mark.parametrize(
    ("version", "names", "expected"),
    [
        # acks=1 is the default of 2.8: "if the leader fails before the followers have replicated, the record is lost".
        ("2.8", ["producer-shipped.properties"], {"loss crash", "duplicates", "reorder"}),
        # 3.0.0 has acks=all, and idempotence only on paper.
        ("3.0", ["producer-shipped.properties"], {"duplicates", "reorder"}),
        # An idempotent producer: what a crash breaks are entries I2 and I7 of docs/idempotence.md.
        ("3.0.1", ["producer-shipped.properties"], {"idempotent, min ISR 1"}),
        ("4.1", ["producer-shipped.properties"], {"idempotent, min ISR 1"}),
        # With min.insync.replicas=2, slow followers suffice for I2, and so they do with a lost response.
        ("3.7", ["idempotent-producer.properties", "server-durable.properties"], I2_ALSO_WITHOUT_CRASH),
        # A leader that verified the first batch of a transaction refuses the later ones.
        ("3.7", ["exactly-once-producer.properties", "server-durable.properties"], {"idempotent"}),
        ("3.7", ["spring-application.properties", "topic-described.txt"], I2_ALSO_WITHOUT_CRASH),
        # Entry I2 with librdkafka: the success of a later record acknowledges the refused first one.
        (
            "3.7",
            ["librdkafka-idempotent.json", "topic-described.txt"],
            I2_ALSO_WITHOUT_CRASH | {"loss crash", "loss lost-response"},
        ),
        ("3.7", ["low-latency-producer.properties"], {"loss crash", "duplicates", "reorder"}),
        ("3.7", ["misconfigured-acks-1.toml"], {"loss crash", "duplicates", "reorder"}),
        ("3.7", ["librdkafka-producer.properties", "topic-described.txt"], {"duplicates", "reorder"}),
    ],
)
def test_a_crash_and_a_lost_response(version, names, expected):
    _, found = answers(version, *names, failures=TWO)
    wanted = {("loss", failure) for failure in TWO if f"loss {failure}" in expected}
    if "idempotent, min ISR 1" in expected:
        wanted.add(("duplicates", "crash"))
    if "idempotent" in expected:
        wanted |= {("duplicates", "crash"), ("reorder", "crash")}
    if any("idempotent" in reason for reason in expected):
        wanted.add(("stuck", "crash"))
    if "stuck lost-response" in expected:
        wanted.add(("stuck", "lost-response"))
    for question in expected & {"duplicates", "reorder"}:
        wanted |= {(question, "crash"), (question, "lost-response")}
    assert yeses(found) == wanted


def test_acks_0_loses_records_and_never_duplicates():
    _, found = answers("3.7", "fire-and-forget-producer.properties", failures=TWO)
    assert {("loss", "crash"), ("loss", "lost-response")} <= yeses(found)
    assert ("duplicates", "lost-response") not in yeses(found)


def test_acks_0_duplicates_after_a_restart():
    """The producer dies between the write of the request and the callback."""
    _, found = answers("3.7", "fire-and-forget-producer.properties", failures=["producer-restart"])
    assert {("duplicates", "producer-restart"), ("reorder", "producer-restart")} <= yeses(found)


def test_a_planned_leader_change_loses_what_only_the_former_leader_has():
    """Partition.makeFollower truncates; acks=1 has acknowledged. With acks=all it loses nothing."""
    _, found = answers("3.7", "low-latency-producer.properties", failures=["leader-change"], questions=PARTITION[:1])
    assert yeses(found) == {("loss", "leader-change")}
    names = ["idempotent-producer.properties", "server-durable.properties"]
    assert not yeses(answers("3.7", *names, failures=["leader-change"], questions=PARTITION[:1])[1])


def test_a_planned_leader_change_loses_records_with_implicit_acknowledgements():
    names = ["librdkafka-idempotent.json", "topic-described.txt"]
    advice, found = answers("3.7", *names, failures=["leader-change"], questions=PARTITION[:1], changes=1)
    assert yeses(found) == {("loss", "leader-change")}
    assert [str(*remedy.changes) for remedy in advice.remedies] == ["max.in.flight.requests.per.connection=1"]


def test_one_request_in_flight_duplicates_and_keeps_the_order():
    _, found = answers("3.7", "ordered-producer.properties", "topic-described.txt", failures=["crash"])
    assert yeses(found) == {("duplicates", "crash")}


def test_an_unclean_election_loses_records_if_it_is_allowed():
    _, found = answers("3.7", "idempotent-producer.properties", "topic-unclean.txt", failures=["unclean-election"])
    assert ("loss", "unclean-election") in yeses(found)
    advice, found = answers(
        "3.7", "idempotent-producer.properties", "topic-described.txt", failures=["unclean-election"]
    )
    assert found == {}
    assert [failure.slug for failure in advice.impossible] == ["unclean-election"]


def test_with_unclean_elections_one_crash_loses_records():
    _, found = answers("3.7", "idempotent-producer.properties", "topic-unclean.txt", failures=["crash"])
    assert yeses(found) == {(question, "crash") for question in ("loss", "duplicates", "reorder", "stuck")}


def test_min_isr_above_the_replication_factor_refuses_writes_before_3_7(tmp_path):
    path = tmp_path / "topic.json"
    path.write_text('{"replication.factor": 2, "min.insync.replicas": 3}')
    assert ("loss", "blackout") not in yeses(answers("3.2", path, failures=["blackout"])[1])
    assert ("loss", "blackout") in yeses(answers("3.7", path, failures=["blackout"])[1])


def test_with_many_replicas_the_leader_may_be_the_last_in_the_isr(tmp_path):
    path = tmp_path / "topic.json"
    path.write_text('{"replication.factor": 5, "min.insync.replicas": 1}')
    found = answers("3.7", path, failures=["power-loss"], questions=PARTITION[:1])[1]
    assert yeses(found) == {("loss", "power-loss")}


def test_refusing_every_write_is_no_remedy():
    names = ["server-kraft-shipped.properties"]
    advice, _ = answers("3.2", *names, failures=["power-loss"], questions=PARTITION[:1], changes=1)
    assert [str(*remedy.changes) for remedy in advice.remedies] == ["flush.messages=1"]


def test_background_commits_of_librdkafka_skip_records(tmp_path):
    path = tmp_path / "consumer.json"
    path.write_text('{"metadata.broker.list": "b", "auto.offset.reset": "earliest"}')
    advice, found = answers("3.7", path, failures=["consumer-crash"], questions=CONSUMER[1:2], changes=1)
    assert yeses(found) == {("gaps", "consumer-crash")}
    assert [str(change) for remedy in advice.remedies for change in remedy.changes] == [
        "enable.auto.offset.store=false"
    ]


def test_one_request_in_flight_is_the_remedy_for_implicit_acknowledgements():
    names = ["librdkafka-idempotent.json", "topic-described.txt"]
    advice, found = answers("3.7", *names, failures=["crash"], questions=PARTITION[:1], changes=1)
    assert yeses(found) == {("loss", "crash")}
    assert [str(*remedy.changes) for remedy in advice.remedies] == ["max.in.flight.requests.per.connection=1"]
    assert any("reported as delivered" in note for note in answer_sentences.caveats(advice))


def test_automatic_commits_of_the_consumer_protocol_skip_records():
    names = ["consumer-protocol-4.3/consumer.properties"]
    advice, found = answers("4.3", *names, failures=["consumer-crash"], questions=CONSUMER[1:2], changes=1)
    assert yeses(found) == {("gaps", "consumer-crash")}
    assert [str(*remedy.changes) for remedy in advice.remedies] == ["enable.auto.commit=false"]
    classic = advice.cluster.changed("consumer", "group.protocol", "classic")
    failures = [BY_SLUG["consumer-crash"]]
    (answer,) = advise(classic, explore_once, failures=failures, questions=CONSUMER[1:2], largest_change=0).answers
    assert answer.verdict == "known" and [hazard.name for hazard in answer.hazards] == ["C4"]


def test_a_short_delivery_timeout_duplicates_and_reorders_what_is_sent_again():
    """P11: the request of a record that has timed out is still on the connection."""
    names = ["short-delivery-timeout/producer.properties"]
    advice, found = answers("3.7", *names, failures=["delivery-timeout"], changes=1)
    # The application may also leave out a record that has timed out.
    assert {key[0] for key in yeses(found)} == {"duplicates", "reorder", "stuck"}
    assert advice.remedies == [] and any("delivery.timeout.ms=120000" in found.text for found in advice.suggestions)


def test_a_delivery_timeout_that_outlasts_an_election_is_named_as_not_explored():
    advice, found = answers("3.7", "producer-shipped.properties", failures=["delivery-timeout"])
    assert found == {} and [failure.slug for failure in advice.impossible] == ["delivery-timeout"]
    assert "delivery.timeout.ms" in why_impossible(advice.impossible[0], advice.cluster, advice.config)


def test_a_transactional_producer_aborts_where_an_idempotent_one_raises_its_epoch():
    """TransactionManager.canRetry: OUT_OF_ORDER_SEQUENCE_NUMBER is not retried (I7); read_committed hides the rest."""
    names = ["exactly-once-producer.properties", "server-durable.properties"]
    advice, found = answers("3.7", *names, failures=["crash"], questions=PARTITION[:3], changes=1)
    assert yeses(found) == {("duplicates", "crash"), ("reorder", "crash")}
    (remedy,) = [remedy for remedy in advice.remedies if remedy.fixes]
    assert [str(change) for change in remedy.changes] == ["isolation.level=read_committed"]
    committed = advice.cluster.changed("consumer", "isolation.level", "read_committed")
    after = advise(committed, explore_once, failures=[BY_SLUG["crash"]], questions=PARTITION[:3], largest_change=0)
    verdicts = {answer.question.name: answer.verdict for answer in after.answers}
    assert verdicts == {"loss": "known", "duplicates": "no", "reorder": "no"}
    assert any("read_committed" in note for note in answer_sentences.caveats(after))


def test_transactions_are_reported_as_not_explored():
    advice, found = answers("3.7", "exactly-once-producer.properties", failures=["producer-restart"])
    assert found == {}
    assert [failure.slug for failure in advice.impossible] == ["producer-restart"]


def test_eligible_leader_replicas_help_when_one_replica_is_left():
    names = ["idempotent-producer.properties", "topic-described.txt"]
    assert yeses(answers("4.0", *names, failures=["power-loss"], questions=PARTITION[:1])[1])
    names.append("features-described.txt")
    assert not yeses(answers("4.1", *names, failures=["power-loss"], questions=PARTITION[:1])[1])


def test_commits_after_processing_repeat_records_and_skip_none():
    _, found = answers("3.7", "consumer-manual.properties", failures=["consumer-crash"], questions=CONSUMER)
    assert yeses(found) == {("reprocessing", "consumer-crash")}


def test_the_default_consumer_may_skip_records_before_its_first_commit():
    _, found = answers("3.7", "consumer-shipped.properties", failures=["consumer-crash"], questions=CONSUMER)
    assert ("gaps", "consumer-crash") in yeses(found)


def test_the_smallest_change_is_found_and_helps():
    advice, _ = answers("3.7", "misconfigured-acks-1.toml", failures=TWO, changes=2)
    changes = {fix.question.name: list(map(str, remedy.changes)) for remedy in advice.remedies for fix in remedy.fixes}
    # With acks=all the default of idempotence applies again. After a crash the broker may forget (I2, I7).
    pair = ["acks=all", "max.in.flight.requests.per.connection=1"]
    assert changes.pop("loss") == ["acks=all"]
    assert changes.keys() == {"duplicates", "reorder"} and all(set(found) <= set(pair) for found in changes.values())
    (remedy,) = [each for each in advice.remedies if [*map(str, each.changes)] == ["acks=all"]]
    fixed = {fix.question.name: [failure.slug for failure in fix.failures] for fix in remedy.fixes}
    # Slow followers suffice for I2 with several requests in flight: acks=all alone prevents the loss only.
    assert fixed == {"loss": ["crash"]}
    assert advice.without_remedy == []
    assert remedy.before.with_two_down and not remedy.after.with_two_down and remedy.after.with_one_down


def test_answers_without_a_remedy_are_listed_in_the_order_of_the_table():
    names, failures = ["low-latency-producer.properties"], ["blackout", "producer-restart"]
    advice, _ = answers("3.7", *names, failures=failures, questions=PARTITION[:2], changes=1)
    left = [(answer.question.name, answer.failure.slug) for answer in advice.without_remedy]
    assert left == [("loss", "blackout"), ("duplicates", "producer-restart")]


FORBIDDEN = {"retries=0"}
"""Changes that a Kafka engineer would refuse, whatever the question."""


def test_idempotence_is_the_remedy_for_many_requests_in_flight():
    advice, _ = answers(
        "3.7", "many-in-flight-producer.properties", failures=["lost-response"], questions=PARTITION[1:3], changes=3
    )
    for remedy in advice.remedies:
        changes = {str(change) for change in remedy.changes}
        assert changes & {"enable.idempotence=true", "max.in.flight.requests.per.connection=5"}
        assert not changes & FORBIDDEN
    assert {fix.question.name for remedy in advice.remedies for fix in remedy.fixes} == {"duplicates", "reorder"}


def test_one_request_in_flight_is_the_remedy_of_an_idempotent_producer():
    """I2 and I7: docs/findings.md names this setting."""
    advice, found = answers("4.1", "idempotent-producer.properties", failures=["crash"], changes=1)
    assert yeses(found) == {("duplicates", "crash"), ("stuck", "crash")}
    (remedy,) = advice.remedies
    assert [str(change) for change in remedy.changes] == ["max.in.flight.requests.per.connection=1"]
    assert {fix.question.name for fix in remedy.fixes} == {"duplicates", "stuck"}
    assert advice.without_remedy == []
