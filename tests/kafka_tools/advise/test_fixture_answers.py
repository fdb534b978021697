"""The answers and the remedies for the configurations in `fixtures`; see `fixture_clusters`."""

import pytest

from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.models import acknowledges_implicitly
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.remedy_texts import cost_sentence
from specs.kafka_versions import ELIGIBLE_LEADER_REPLICAS, LAST_KNOWN_LEADER_MUST_LIVE, release_number
from tests.kafka_tools.advise.fixture_clusters import FOLDERS, cluster_of, expected
from tests.support.surveys import explore_once

QUICK = ("broker-kraft-quickstart", "client-file-with-acks-1", "min-isr-above-replication-factor-3.2")
"""Fixtures of the usual suite; the others are slow."""

ANSWERED = [folder for folder in FOLDERS if "answers" in expected(folder)]
IN_FLIGHT = "max.in.flight.requests.per.connection"
IMPLICIT = ("leader-change", "crash", "two-crashes")
"""The failures after which implicit acknowledgements lose a record."""

DEFAULT = (
    "slow-follower",
    "leader-change",
    "crash",
    "two-crashes",
    "unclean-election",
    "power-loss",
    "crash-and-power-loss",
    "blackout",
    "lost-response",
    "delivery-timeout",
    "producer-restart",
    "consumer-crash",
)
"""The failures of fixtures that name none; `test_rows.py` has the others."""


def failures_of(folder):
    asked = expected(folder).get("failures")
    return [failure for failure in FAILURES if failure.slug in (asked or DEFAULT)]


def parametrize_folders(folders, is_slow):
    marks = {True: [pytest.mark.sampled(2)], False: []}
    marked = [pytest.param(folder, marks=marks[is_slow(folder)], id=folder.name) for folder in folders]
    return pytest.mark.parametrize("folder", marked)


@parametrize_folders(ANSWERED, lambda folder: folder.name not in QUICK)
def test_answers(folder):
    failures = failures_of(folder)
    advice = advise(cluster_of(folder), explore_once, failures=failures, largest_change=0)
    undecided = {answer.question.name for answer in advice.answers if answer.verdict == "undecided"}
    assert undecided == set(expected(folder).get("undecided", ()))
    found = {question.name: [] for question in QUESTIONS}
    for answer in advice.answers:
        if answer.verdict == "yes":
            found[answer.question.name].append(answer.failure.slug)
    # Disks that end with their brokers leave rows out (`test_rows.py`).
    lost = advice.impossible if advice.cluster.ephemeral_disks else ()
    slugs = [failure.slug for failure in failures if failure not in lost]
    wanted = {name: [slug for slug in yes if slug in slugs] for name, yes in expected(folder)["answers"].items()}
    assert found == wanted


def distinct(folders):
    """Return one folder for each set of effective settings, client, and written settings of the producer."""
    found = {}
    for folder in folders:
        cluster = cluster_of(folder)
        config = resolve(cluster)
        written = tuple(sorted(name for role, name in cluster.written if role == "producer"))
        values = tuple(sorted((name, setting.value) for name, setting in config.choices.items()))
        has_remedies = LAST_KNOWN_LEADER_MUST_LIVE.applies_to(cluster.version)
        found.setdefault((cluster.client, has_remedies, written, values), folder)
    return list(found.values())


@parametrize_folders(distinct(ANSWERED), lambda folder: folder.name != "broker-kraft-quickstart")
def test_remedies(folder):
    advice = advise(cluster_of(folder), explore_once, failures=failures_of(folder))
    for remedy in advice.remedies:
        assert_remedy_helps(advice.cluster, remedy)
        assert remedy.weakens or not list(objections(advice, remedy)), remedy
    missing = [str(answer) for answer in advice.answers if answer.verdict == "yes" and not has_wanted(advice, answer)]
    assert not missing


def changed(cluster, remedy):
    for change in remedy.changes:
        cluster = cluster.changed(change.role, change.name, change.value)
    return cluster


def assert_remedy_helps(cluster, remedy):
    """Apply a remedy and ask again."""
    after = changed(cluster, remedy)
    assert resolve(after).refusal is None
    for fix in remedy.fixes:
        again = advise(after, explore_once, failures=list(fix.failures), questions=[fix.question], largest_change=0)
        is_open = "explored with the client of 2.5" in cost_sentence(remedy)
        assert {answer.verdict for answer in again.answers} <= ({"undecided"} if is_open else {"no", "known"})


def objections(advice, remedy):
    """Yield what a Kafka engineer would object to a remedy."""
    before, after = advice.config, resolve(changed(advice.cluster, remedy))
    values = {change.name: change.value for change in remedy.changes}
    cost = cost_sentence(remedy)
    forbidden = {
        "retries": "0",
        "acks": ("0", "1"),
        "enable.idempotence": "false",
        "unclean.leader.election.enable": "true",
        "auto.offset.reset": "latest",
    }
    yield from (name for name, value in values.items() if value in forbidden.get(name, ()))
    if values.get(IN_FLIGHT) == "1" and "throughput" not in cost:
        yield "one request in flight costs throughput"
    for name in ("replication.factor", "min.insync.replicas", "retries"):
        if name in values and int(values[name]) < int(before[name]):
            yield f"{name} is lowered"
    is_full = after["min.insync.replicas"] == after["replication.factor"] != "1" and after["acks"] == "all"
    if "min.insync.replicas" in values and is_full and "no write succeeds" not in cost:
        yield "writes need every replica"
    if "flush.messages" in values and "advises against" not in cost:
        yield "Kafka's documentation advises against flush.messages"
    if "eligible.leader.replicas.version" in values:
        if not ELIGIBLE_LEADER_REPLICAS.applies_to(advice.cluster.version):
            yield "the version has no eligible leader replicas"
        if release_number(advice.cluster.version) < (4, 1, 0) and "KAFKA-19522" not in cost:
            yield "4.0 may elect a leader that is not eligible"


def has_wanted(advice, answer):
    """Return whether a setting that a Kafka engineer would name is offered for an answer."""
    wanted = wanted_settings(advice, answer)
    offered = {
        change.name
        for remedy in advice.remedies
        for fix in remedy.fixes
        if fix.question == answer.question and answer.failure in fix.failures
        for change in remedy.changes
    }
    offered |= {name for name in wanted for suggestion in advice.suggestions if name in suggestion.text}
    return not wanted or bool(wanted & offered)


def wanted_settings(advice, answer):
    """Return the settings of which one has to be offered; none if the answer has no such remedy."""
    config, question, failure = advice.config, answer.question.name, answer.failure.slug
    is_unclean = config["unclean.leader.election.enable"] == "true"
    if question in ("duplicates", "reorder") and failure == "producer-restart":
        return {"transactional.id"}
    is_of_connection = failure in ("slow-follower", "lost-response")
    if question in ("duplicates", "reorder") and is_of_connection and config["enable.idempotence"] == "false":
        return {"enable.idempotence", "acks", IN_FLIGHT}
    if question == "loss" and failure in IMPLICIT and acknowledges_implicitly(advice.cluster, config):
        return {IN_FLIGHT}
    if question == "loss" and config["acks"] != "all" and "power" not in failure and failure != "blackout":
        return {"acks"}
    if (
        question in ("loss", "vanishing-reads")
        and is_unclean
        and failure in ("crash", "two-crashes", "unclean-election")
    ):
        # A minimum of all replicas acknowledges nothing that a leader outside the ISR lacks.
        return {"unclean.leader.election.enable", "min.insync.replicas"}
    if question in ("loss", "vanishing-reads") and failure == "power-loss" and config["replication.factor"] != "1":
        if config["eligible.leader.replicas.version"] == "0":
            return {"eligible.leader.replicas.version"}
        return {"min.insync.replicas"} if config["min.insync.replicas"] == "1" else set()
    if question == "gaps" and config["auto.offset.reset"] == "latest" and config["commits"] != "background":
        return {"auto.offset.reset"}
    return set()
