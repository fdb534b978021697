"""Files of applications that `advise` once answered wrongly, each with the right value."""

import pytest

from checker.errors import UserError
from kafka_tools.advise.advice import answer_questions
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from tests.support.surveys import explore_once

RETRIES = "acks=all\nenable.idempotence=false\nmax.in.flight.requests.per.connection=1\nretries="
SOURCE = (
    '{"name": "m", "config": {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",%s'
    '"source.cluster.alias": "a", "target.cluster.alias": "b", "producer.override.acks": "1"}}'
)
POOL = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata: {name: broker, labels: {strimzi.io/cluster: c}}
spec: {replicas: 3, roles: [broker, controller], storage: {type: ephemeral}}
---
apiVersion: kafka.strimzi.io/v1
kind: Kafka
metadata: {name: c}
spec: {kafka: {version: 3.9.1, config: {default.replication.factor: 3, min.insync.replicas: 2}}}
"""


def verdicts(tmp_path, name, text, version, failure):
    """Return the answers about a file after a failure, by question."""
    (tmp_path / name).write_text(text)
    (asked,) = [each for each in FAILURES if each.slug == failure]
    cluster = gather([read(str(tmp_path / name))], version).changed("topic", "replication.factor", "3")
    advice = answer_questions(cluster, explore_once, [asked], QUESTIONS)
    return {answer.question.name: answer.verdict for answer in advice.answers}


@pytest.mark.parametrize(
    ("name", "text", "version", "failure", "right"),
    [
        ("producer.properties", "acks=all\n", "3.7.0", "leader-change", {"stuck": "yes", "loss": "known"}),
        ("producer.properties", f"{RETRIES}0\n", "3.7.0", "retries-exhausted", {"stuck": "yes"}),
        ("producer.properties", f"{RETRIES}3\n", "3.7.0", "retries-exhausted", {"stuck": "yes"}),
        ("m.json", SOURCE % "", "3.8.0", "crash", {"loss": "yes", "duplicates": "yes"}),
        ("m.json", SOURCE % '"topics": "app-.*", ', "3.8.0", "crash", {"loss": "yes", "duplicates": "yes"}),
        ("m.json", SOURCE % '"topics": "app-.*", ', "3.8.0", "lost-response", {"duplicates": "yes"}),
        ("kafka.yaml", POOL, "4.1.0", "empty-disk", {"loss": "yes"}),
        ("kafka.yaml", POOL, "4.1.0", "power-loss", {}),
        ("consumer.properties", "enable.auto.commit=true\n", "3.9.0", "application-exception", {"gaps": "yes"}),
    ],
)
def test_the_answer_is_right(tmp_path, name, text, version, failure, right):
    answered = verdicts(tmp_path, name, text, version, failure)
    assert {question: answered[question] for question in right} == right
    assert bool(answered) is bool(right)


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("f.yml", "output.kafka:\n  hosts: ['b:9092']\n  worker: 2\n  required_acks: 1\n", "required_acks"),
        ("a.json", '{"KafkaProducer": {"Acks": "Leader", "MessageSendMaxRetries": 3}}', "MessageSendMaxRetries"),
    ],
)
def test_a_setting_of_another_client_cannot_be_ignored(tmp_path, name, text, named):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=named):
        gather([read(f"producer={tmp_path / name}")], "3.9.0", ignored=["*"])
