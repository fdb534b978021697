"""The head of an answer: the replicas with their origin, the settings in effect, and levels that nobody reads."""

import pytest

from checker.errors import InputError
from kafka_tools.advise.advice import Advice
from kafka_tools.advise.advice_text import advice_lines
from kafka_tools.advise.answer_sentences import replicas_sentence, settings_sentence, to_json
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.questions import EXCEPTION, FAILURES, QUESTIONS
from kafka_tools.advise.remedies import SettingChange
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.remedy_texts import changes_text
from tests.support.surveys import explore_once


def cluster_of(tmp_path, version, assigned=(), **files):
    """Return the cluster of some files, by role, with their text."""
    reads = []
    for role, text in files.items():
        path = tmp_path / f"{role}.properties"
        path.write_text(text)
        reads.append(read(f"{role}={path}"))
    return gather(reads, version, assigned=assigned)


def advice_on(cluster):
    return Advice(cluster, resolve(cluster))


def text_of(advice):
    return " ".join("".join(text for text, _ in line) for line in advice_lines(advice))


# Replicas.


@pytest.mark.parametrize(
    ("files", "start", "names_the_loss"),
    [
        ({"producer": "acks=all\n"}, "Assumed: 3 replicas. No file has replication.factor", True),
        ({"broker": "broker.id=1\n"}, "For 1 replica (default of Kafka 4.4.0)", True),
        ({"topic": "replication.factor=1\n"}, "For 1 replica (topic.properties:1)", True),
        ({"broker": "default.replication.factor=3\n"}, "For 3 replicas (broker.properties:1).", False),
        ({"topic": "min.insync.replicas=1\nreplication.factor=2\n"}, "For 2 replicas (topic.properties:2).", False),
    ],
)
def test_the_first_line_has_the_replicas_and_their_origin(tmp_path, files, start, names_the_loss):
    advice = advice_on(cluster_of(tmp_path, "4.4.0", **files))
    sentence = replicas_sentence(advice)
    assert sentence.startswith(start)
    assert ("loses every record" in sentence) is names_the_loss
    assert text_of(advice).startswith(sentence.split(". ")[0])
    assert to_json(advice, {})["replicas"] == sentence


def test_replicas_of_the_command_line_are_no_assumption(tmp_path):
    cluster = cluster_of(tmp_path, "4.4.0", producer="acks=all\n").changed("topic", "replication.factor", "5")
    assert replicas_sentence(advice_on(cluster)) == "For 5 replicas (--replication-factor)."


# Settings.


def test_the_head_has_the_settings_in_effect(tmp_path):
    files = {"producer": "acks=1\ndelivery.timeout.ms=30000\nrequest.timeout.ms=9000\n"}
    sentence = settings_sentence(advice_on(cluster_of(tmp_path, "3.7.0", **files)))
    assert sentence.startswith("Kafka 3.7.0, java client: acks=1, enable.idempotence=false, ")
    assert "delivery.timeout.ms=30000" in sentence and "min.insync.replicas=1" in sentence
    assert "replication.factor" not in sentence and "flush.messages" not in sentence


GIVEN = {
    "producer": "acks=1\nlinger.ms=20\ncompression.type=lz4\ndelivery.timeout.ms=30000\nclient.id=x\n",
    "broker": "zookeeper.connect=z:2181\ninter.broker.protocol.version=3.4\nnum.io.threads=8\nlog.retention.hours=2\n",
    "topic": "retention.ms=1000\ncleanup.policy=delete\nmessage.format.version=2.8-IV1\n",
}


def test_each_given_setting_is_in_one_list(tmp_path):
    cluster = cluster_of(tmp_path, "3.7.0", ["acks=all"], **GIVEN)
    config = resolve(cluster)
    for role, text in GIVEN.items():
        for number, line in enumerate(text.splitlines(), 1):
            name, where = line.partition("=")[0], f"{role}.properties:{number}"
            in_effect = [choice for choice in config.choices.values() if choice.origin == where]
            notes = [note for note in config.notes if where in note]
            unread = [note for note in cluster.unread if where in note]
            idle = [each for each in cluster.without_effect if each == name]
            assert len(in_effect) + len(notes) + len(unread) + len(idle) == 1, line


def test_a_value_that_another_one_replaces_is_named(tmp_path):
    cluster = cluster_of(tmp_path, "3.7.0", ["acks=all"], producer="acks=1\n")
    assert resolve(cluster)["acks"] == "all"
    assert "acks of producer.properties:1 is not in effect: --set takes precedence" in cluster.notes


# Levels of features and formats.


@pytest.mark.parametrize(
    ("role", "line", "version", "is_named"),
    [
        ("broker", "inter.broker.protocol.version=2.6", "3.7.0", True),
        ("broker", "inter.broker.protocol.version=3.6-IV2", "3.7.0", True),
        ("broker", "inter.broker.protocol.version=3.7", "3.7.0", False),
        ("broker", "inter.broker.protocol.version=3.7-IV4", "3.7.2", False),
        ("broker", "inter.broker.protocol.version=0.10.2", "0.11.0.3", True),
        ("broker", "inter.broker.protocol.version=0.11.0", "0.11.0.3", False),
        ("broker", "log.message.format.version=2.8", "3.0.0", True),
        ("topic", "message.format.version=0.10.0-IV1", "2.8.0", True),
        ("topic", "message.format.version=2.8", "2.8.0", False),
        ("broker", "metadata.version=3.9-IV0", "4.1.0", True),
        ("broker", "metadata.version=20", "4.1.0", True),
        ("broker", "metadata.version=4.1", "4.1.0", False),
        ("broker", "group.version=0", "4.1.0", True),
        ("broker", "group.version=1", "4.1.0", False),
        ("broker", "kraft.version=0", "4.1.0", False),
    ],
)
def test_a_level_below_the_release_is_named_as_not_read(tmp_path, role, line, version, is_named):
    cluster = cluster_of(tmp_path, version, **{role: f"{line}\n"})
    name = line.partition("=")[0]
    assert [text.startswith(f"Not read: {line} ({role}.properties:1)") for text in cluster.unread] == [True] * is_named
    assert (name in cluster.without_effect) is not is_named
    assert ("Not read: " in text_of(advice_on(cluster))) is is_named
    assert to_json(advice_on(cluster), {})["not_read"] == list(cluster.unread)


def test_a_level_of_a_release_is_to_be_asked_about(tmp_path):
    (unread,) = cluster_of(tmp_path, "3.7.0", broker="inter.broker.protocol.version=2.6\n").unread
    assert unread.endswith("Ask again with --kafka 2.6, and take the worse answer.")
    (odd,) = cluster_of(tmp_path, "3.7.0", broker="inter.broker.protocol.version=a b\n").unread
    assert "=... (broker.properties:1). If the level is below Kafka 3.7.0" in odd


def test_the_features_that_a_tool_prints_are_named(tmp_path):
    path = tmp_path / "features.txt"
    start = "Feature: {}\tSupportedMinVersion: 0\tSupportedMaxVersion: 9\tFinalizedVersionLevel: {}\tEpoch: 5\n"
    levels = {"metadata.version": "3.9-IV0", "transaction.version": "2", "group.version": "0", "kraft.version": "1"}
    path.write_text("".join(start.format(*pair) for pair in levels.items()))
    cluster = gather([read(str(path))], "4.1.0")
    assert [text.split("=")[0] for text in cluster.unread] == ["Not read: metadata.version", "Not read: group.version"]
    assert cluster.get("broker", "transaction.version") == "2" and not cluster.has_broker_file


def test_the_metadata_version_of_strimzi_is_named(tmp_path):
    path = tmp_path / "kafka.yaml"
    path.write_text(
        "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: c}\n"
        "spec:\n  kafka:\n    metadataVersion: 4.0-IV3\n    config:\n      default.replication.factor: 3\n"
    )
    assert [text[:35] for text in gather([read(str(path))], "4.1.0").unread] == ["Not read: metadata.version=4.0-IV3 "]


def test_a_level_is_no_setting_of_the_command_line(tmp_path):
    with pytest.raises(InputError, match="is not read: name the release of the brokers with --kafka"):
        cluster_of(tmp_path, "4.1.0", ["metadata.version=3.9"], producer="acks=all\n")


# Words of a row and of a remedy.


def test_the_row_of_an_exception_says_which_one(tmp_path):
    cluster = cluster_of(tmp_path, "4.1.0", producer="acks=all\n", topic="replication.factor=3\n")
    gaps = [question for question in QUESTIONS if question.name == "gaps"]
    text = text_of(advise(cluster, explore_once, failures=[EXCEPTION], questions=gaps, largest_change=0))
    assert "one after which the application closes its clients" in " ".join(text.split())
    other = [failure for failure in FAILURES if failure.slug == "consumer-crash"]
    assert "closes its clients" not in text_of(advise(cluster, explore_once, failures=other, questions=gaps))


def test_a_feature_is_no_setting_of_a_broker():
    changes = [SettingChange("broker", "eligible.leader.replicas.version", "1"), SettingChange("producer", "acks", "1")]
    assert changes_text(changes) == "eligible.leader.replicas.version=1 (feature level) and acks=1 (producer)"


# Names that both clients of a file have.


def librdkafka_file(tmp_path, text):
    path = tmp_path / "client.conf"
    path.write_text(f"metadata.broker.list=x:9092\n{text}")
    return gather([read(str(path))], "4.1.0", "librdkafka")


def test_a_setting_in_effect_for_one_client_of_a_file_is_not_named_as_idle(tmp_path):
    cluster = librdkafka_file(tmp_path, "group.id=g\nmax.in.flight=2\nenable.idempotence=true\n")
    assert resolve(cluster)["max.in.flight.requests.per.connection"] == "2"
    assert cluster.without_effect == ("group.id", "metadata.broker.list")


@pytest.mark.parametrize(("value", "is_named"), [("true", True), ("T", True), ("false", False)])
def test_a_fatal_gap_is_named_as_not_modelled(tmp_path, value, is_named):
    cluster = librdkafka_file(tmp_path, f"enable.idempotence=true\nenable.gapless.guarantee={value}\n")
    named = [f"Not modelled: enable.gapless.guarantee={value} (client.conf:3) makes a gap a fatal error."]
    assert list(cluster.unread) == (named if is_named else [])
    assert ("enable.gapless.guarantee" in cluster.without_effect) != is_named
