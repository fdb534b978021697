"""Requests to a cluster: they are sent again if their answer is lost, and a refusal is shown."""

import types

import pytest

from checker.errors import InputError
from checker.run.endings import StoppedError
from kafka_tools.lab.cluster import administration

kafka = pytest.importorskip("confluent_kafka")
LOST, EXISTS = kafka.KafkaError._DESTROY_BROKER, kafka.KafkaError.TOPIC_ALREADY_EXISTS
REFUSED = kafka.KafkaError.INVALID_CONFIG


class ScriptedAdmin:
    """An AdminClient that answers each request with the next error, or without one (None)."""

    def __init__(self, answers):
        self.answers, self.requests = list(answers), 0

    def create_topics(self, topics):
        self.requests += 1
        return {topic.topic: self for topic in topics}

    def elect_leaders(self, kind, partitions):
        self.requests += 1
        return self

    def list_offsets(self, wanted, **settings):
        self.requests += 1
        return dict.fromkeys(wanted, self)

    def result(self, seconds):
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            raise kafka.KafkaException(kafka.KafkaError(answer))
        if isinstance(answer, Exception):
            raise answer
        return answer


def create(monkeypatch, *answers):
    """Create a topic with these answers; return the number of requests."""
    admin = ScriptedAdmin(answers)
    monkeypatch.setattr(administration, "admin_client", lambda: lambda settings: admin)
    administration.create_topic("127.0.0.1:1", "tide", [(1, 2)], {})
    return admin.requests


@pytest.mark.parametrize(("answers", "requests"), [((None,), 1), ((LOST, None), 2), ((LOST, LOST, EXISTS), 3)])
def test_a_lost_answer_is_asked_for_again(monkeypatch, answers, requests):
    monkeypatch.setattr(administration, "_PAUSE", 0)
    assert create(monkeypatch, *answers) == requests


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        ((EXISTS,), InputError, "the topic tide cannot be created: Broker: Topic"),
        ((LOST, REFUSED), InputError, "the topic tide cannot be created: Broker: Configuration is invalid"),
        ((TimeoutError(),), StoppedError, "the topic tide cannot be created: no broker answers within 0 s"),
        ((LOST,), StoppedError, "the topic tide cannot be created: Local: Broker handle destroyed"),
    ],
)
def test_a_refusal_is_an_error_and_silence_decides_nothing(monkeypatch, answers, error, message):
    monkeypatch.setattr(administration, "_PAUSE", 0)
    monkeypatch.setattr(administration, "_SECONDS", 0 if error is StoppedError else 60)
    with pytest.raises(error) as caught:
        create(monkeypatch, *answers)
    assert message in caught.value.message


def elected(*errors):
    """Return the answer to an election: an error, or none, for each partition from 0."""
    found = [None if error is None else kafka.KafkaException(kafka.KafkaError(error)) for error in errors]
    return {kafka.TopicPartition("tide", number): error for number, error in enumerate(found)}


def elect(monkeypatch, *answers):
    """Elect the preferred leader of two partitions with these answers; return the number of requests."""
    admin = ScriptedAdmin(answers)
    monkeypatch.setattr(administration, "admin_client", lambda: lambda settings: admin)
    monkeypatch.setattr(administration, "_PAUSE", 0)
    administration.elect_preferred_leaders("127.0.0.1:1", "tide", [0, 1])
    return admin.requests


@pytest.mark.parametrize("errors", [(None, None), (None, kafka.KafkaError.ELECTION_NOT_NEEDED)])
def test_a_preferred_leader_is_elected(monkeypatch, errors):
    assert elect(monkeypatch, LOST, elected(*errors)) == 2


def test_an_election_that_one_partition_refuses_is_an_error(monkeypatch):
    answer = elected(kafka.KafkaError.ELECTION_NOT_NEEDED, kafka.KafkaError.PREFERRED_LEADER_NOT_AVAILABLE)
    with pytest.raises(InputError) as caught:
        elect(monkeypatch, answer)
    expected = "the preferred leader of tide cannot be elected: partition 1: Broker: Preferred leader was not available"
    assert caught.value.message == expected


@pytest.mark.parametrize(
    ("answer", "end"), [(types.SimpleNamespace(offset=7), 7), (LOST, None), (TimeoutError(), None)]
)
def test_the_end_of_a_partition_is_known_if_its_leader_answers(monkeypatch, answer, end):
    admin = ScriptedAdmin([answer])
    monkeypatch.setattr(administration, "admin_client", lambda: lambda settings: admin)
    assert administration.consumable_end("127.0.0.1:1", "tide", 0, read_committed=True) == end
