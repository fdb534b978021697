"""The answers about the transactions of a producer, and what is not answered."""

import json
import threading

import pytest

from checker.cli.app import main
from checker.engines.native.engine import explore
from checker.run.plan import Plan
from kafka_tools.advise import transaction_answers
from kafka_tools.advise.advice import Advice
from kafka_tools.advise.advice_pages import write_pages
from kafka_tools.advise.answer_cache import AnswerCache
from kafka_tools.advise.answer_sentences import to_json
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.transaction_answers import (
    QUESTIONS,
    TWO_PHASE_QUESTIONS,
    explorer,
    questions_about,
    transaction_notes,
    transaction_versions,
    verifies,
)
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting
from specs.transactions.transactional_producer import Transactions


def cluster_of(version, producer=(("transactional.id", "t"),), broker=(), client=None):
    """Return a cluster with settings of a producer and of a broker."""
    roles = {"producer": producer, "broker": broker}
    files = [
        ConfigurationFile(role, {role: tuple(WrittenSetting(*pair, role, 1) for pair in pairs)})
        for role, pairs in roles.items()
        if pairs
    ]
    return gather(files, version, client)


def answers(cluster, explore=None):
    """Return the answers of `explore`; without it, the spec and the properties of the first question."""
    explored = []

    def record(spec, properties):
        explored.append((spec, properties))
        raise _NotExploredError

    config = resolve(cluster)
    if explore is not None:
        return list(transaction_answers.transaction_answers(cluster, config, explore, threading.Event()))
    found = transaction_answers.transaction_answers(cluster, config, record, threading.Event())
    with pytest.raises(_NotExploredError):
        next(found)
    return explored


class _NotExploredError(Exception):
    """Ends the answers at the first exploration."""


@pytest.mark.parametrize(
    ("version", "broker", "found"),
    [
        ("3.9", (), (1,)),
        ("4.3", (), (2, 1)),
        ("4.3", (("transaction.version", "1"),), (1,)),
        ("4.3", (("transaction.version", "2"),), (2,)),
    ],
)
def test_versions(version, broker, found):
    assert transaction_versions(cluster_of(version, broker=broker)) == found


def test_verification_depends_on_the_release_and_the_broker():
    disabled = (("transaction.partition.verification.enable", "false"),)
    assert not verifies(cluster_of("3.5.2")) and verifies(cluster_of("3.6"))
    assert not verifies(cluster_of("3.9", broker=disabled))
    ((spec, _),) = answers(cluster_of("3.9", broker=disabled))
    constants = spec.constants
    assert constants["verification"] is False and constants["transaction_version"] == 1


def test_another_client_is_not_answered():
    cluster = cluster_of("4.3", client="librdkafka")
    config = resolve(cluster)
    assert list(transaction_answers.transaction_answers(cluster, config, None, threading.Event())) == []
    assert "not answered. The specs have the transactional producer of the Java" in next(
        transaction_notes(cluster, config)
    )


def with_two_phase_commit(version):
    """Return a cluster whose producer has transaction.two.phase.commit.enable=true."""
    return cluster_of(version, (("transactional.id", "t"), ("transaction.two.phase.commit.enable", "true")))


def test_two_phase_commit_is_a_setting_without_a_protocol():
    cluster = with_two_phase_commit("4.3")
    assert "the producer refuses transaction.timeout.ms" in next(transaction_notes(cluster, resolve(cluster)))
    earlier = with_two_phase_commit("4.0")
    assert not any("two.phase.commit" in note for note in transaction_notes(earlier, resolve(earlier)))
    assert any("Kafka 4.0 does not have transaction.two.phase.commit.enable" in note for note in earlier.notes)


def test_two_phase_commit_adds_questions_with_the_rules_of_the_release():
    assert questions_about(cluster_of("4.3")) == QUESTIONS
    assert questions_about(with_two_phase_commit("4.3")) == QUESTIONS + TWO_PHASE_QUESTIONS


@pytest.mark.slow
def test_a_prepared_transaction_is_aborted_in_every_release():
    """A timeout aborts it, and a restart too. The scenarios of the spec show the rules of KIP-939."""
    cluster = with_two_phase_commit("4.4")
    explore = explorer(None, threading.Event())
    found = transaction_answers.answers_to(TWO_PHASE_QUESTIONS, cluster, (2, 1), explore, threading.Event())
    assert [(answer.transaction_version, answer.verdict) for answer in found] == [
        (2, "yes"),
        (2, "yes"),
        (1, "yes"),
        (1, "yes"),
    ]


def test_a_producer_without_transactions_has_no_notes():
    cluster = cluster_of("4.3", (("acks", "all"),))
    assert list(transaction_notes(cluster, resolve(cluster))) == []


def test_a_timeout_above_that_of_the_broker_is_noted():
    producer = (("transactional.id", "t"), ("transaction.timeout.ms", "5000"))
    cluster = cluster_of("4.3", producer, (("transaction.max.timeout.ms", "4000"),))
    assert "initTransactions fails: transaction.timeout.ms=5000" in next(transaction_notes(cluster, resolve(cluster)))
    assert "fails" not in next(transaction_notes(cluster_of("4.3"), resolve(cluster_of("4.3"))))


def prepared_twice(folder):
    """Return the answers about a prepared transaction, computed and from the cache, and the number of computations."""
    cluster = with_two_phase_commit("4.3")
    cache = AnswerCache(folder / "cache")
    explore, computed = explorer(None, threading.Event(), cache), []

    def counted(spec, properties):
        if cache.load_checked(spec, properties, None) is None:
            computed.append(spec)
        return explore(spec, properties)

    questions = TWO_PHASE_QUESTIONS[:1]
    found = [
        list(transaction_answers.answers_to(questions, cluster, (2,), counted, threading.Event())) for _ in range(2)
    ]
    return *found, len(computed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", [each for each in QUESTIONS if each.spec is Transactions], ids=lambda each: each.name
)
def test_shared_code_gives_the_answers_of_code_of_the_question_alone(question):
    """Code with room for more epochs, copies and transactions explores the same states."""
    shared = explorer(None, threading.Event())
    for release in ("2.4", "4.3"):
        (answer, *_) = transaction_answers.answers_to([question], cluster_of(release), (1,), shared, threading.Event())
        alone = explore(answer.spec, Plan(question.properties, quick=True))
        lengths = [violation.length for violation in alone.violations]
        assert (answer.distinct_states, answer.length) == (alone.distinct_states, min(lengths, default=None))
        for step in answer.violation.trace if answer.violation is not None else ():
            assert step.state.values["outcome"].type == answer.spec.variables["outcome"]


def test_the_cache_has_the_answers_and_their_counterexamples(tmp_path):
    first, second, computations = prepared_twice(tmp_path)
    assert computations == 1
    ((computed,), (cached,)) = first, second
    assert (cached.verdict, cached.length, cached.distinct_states) == ("yes", 8, computed.distinct_states)
    assert [step.action for step in cached.violation.trace] == [step.action for step in computed.violation.trace]
    assert cached.violation.explanation == computed.violation.explanation


def test_a_yes_has_a_page_and_steps(tmp_path):
    """The index links to the page, and the JSON report has the steps."""
    (answer,), _, _ = prepared_twice(tmp_path)
    cluster = with_two_phase_commit("4.3")
    advice = Advice(cluster, resolve(cluster), transactions=[answer])
    pages = write_pages(advice, tmp_path, ["producer.properties"])
    assert f'href="{answer.page}"' in (tmp_path / "index.html").read_text()
    page = (tmp_path / answer.page).read_text()
    assert "timeout" in page and "python -m checker advise producer.properties --kafka 4.3" in page
    (found,) = to_json(advice, pages)["transactions"]
    assert found["page"] == answer.page
    assert "time_out" in [step["call"].partition("(")[0] for step in found["steps"]]


@pytest.mark.slow
def test_answers_by_release():
    """T1 until 3.5, T2 and T3 with version 1; a repeated transaction is committed twice in every release."""
    explore = explorer(None, threading.Event())
    yes = {
        version: [
            (answer.transaction_version, answer.length)
            for answer in answers(cluster_of(version), explore)
            if answer.verdict == "yes" and answer.question in (QUESTIONS[0], QUESTIONS[2], QUESTIONS[-1])
        ]
        for version in ("3.5", "3.9", "4.3")
    }
    assert [version for version, _ in yes["3.5"]] == [1, 1, 1]
    assert [version for version, _ in yes["3.9"]] == [1, 1]
    assert [version for version, _ in yes["4.3"]] == [2, 1, 1]
    assert all(answer.verdict == "undecided" for answer in answers(cluster_of("4.3"), explorer(1, threading.Event())))


@pytest.mark.slow
def test_a_required_guarantee_fails_if_a_transaction_violates_it(tmp_path, capsys):
    file = tmp_path / "producer.properties"
    file.write_text("bootstrap.servers=b:9092\ntransactional.id=t\nenable.auto.commit=false\n")
    arguments = ["advise", str(file), "--kafka", "3.9", "--failure", "producer-restart", "--json", "-"]
    assert main([*arguments, "--require", "no-duplicates"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {answer["answer"] for answer in found["transactions"]} == {"yes", "no"}
