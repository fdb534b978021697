"""`--ignore` accepts an unknown name, but never one that resembles a setting with an effect on the answers."""

import pytest

from checker.errors import UserError
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.resemblance import similar_setting
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("required_acks", "acks"),
        ("KafkaProducer.Acks", "acks"),
        ("output.kafka.required_acks", "acks"),
        ("sinks.out.acknowledgements.enabled", "acks"),
        ("EnableIdempotence", "enable.idempotence"),
        ("Producer.Idempotent", "enable.idempotence"),
        ("idempotent_writes", "enable.idempotence"),
        ("maxInFlightRequests", "max.in.flight.requests.per.connection"),
        ("Net.MaxOpenRequests", "max.in.flight.requests.per.connection"),
        ("MessageSendMaxRetries", "retries"),
        ("producer.retry.max", "retries"),
        ("retires", "retries"),
        ("my.transactionalId", "transactional.id"),
        ("MessageTimeoutMs", "delivery.timeout.ms"),
        ("EnableAutoCommit", "enable.auto.commit"),
        ("autoCommitEnabled", "enable.auto.commit"),
        ("AutoOffsetReset", "auto.offset.reset"),
        ("startingOffsets", "auto.offset.reset"),
        ("KAFKA_CONSUMER_FROM_BEGINNING", "auto.offset.reset"),
        ("IsolationLevel", "isolation.level"),
        ("topic.defaultReplicationFactor", "replication.factor"),
        ("cluster.MinInSyncReplicas", "min.insync.replicas"),
        ("ack", "acks"),
        ("cache.max.entries", None),
        ("server.port", None),
        ("output.kafka.hosts", None),
        ("bootstrapServers", None),
        ("my.back.pack", None),
    ],
)
def test_the_setting_that_a_name_resembles(name, means):
    found = similar_setting(name, "java")
    assert (found and found[1]) == means


def files(tmp_path, text, name="producer.yml"):
    (tmp_path / name).write_text(text)
    return [read(f"producer={tmp_path / name}")]


@pytest.mark.parametrize("pattern", ["*", "required_acks"])
def test_a_name_that_resembles_a_setting_cannot_be_ignored(tmp_path, pattern):
    reads = files(tmp_path, "bootstrap.servers: b\nrequired_acks: 1\n")
    with pytest.raises(UserError, match=r"producer\.yml:2: required_acks \(--set acks=\.\.\.\)"):
        gather(reads, "3.9.0", ignored=[pattern])
    cluster = gather(reads, "3.9.0", ignored=[pattern], assigned=["acks=1"])
    assert cluster.unknown == ("required_acks",)
    assert resolve(cluster)["acks"] == "1"


def test_a_setting_of_another_name_on_the_command_line_is_not_enough(tmp_path):
    reads = files(tmp_path, "bootstrap.servers: b\nRequiredAcks: 1\nIdempotent: false\n")
    with pytest.raises(UserError, match="Idempotent") as raised:
        gather(reads, "3.9.0", ignored=["*"], assigned=["acks=1"])
    assert "RequiredAcks" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [("f.yml", "output:\n  hosts: b\n"), ("a.json", '{"Kafka": {"Servers": "b"}}'), ("x.properties", "my.own=1\n")],
)
def test_a_file_of_unknown_settings_alone_is_refused(tmp_path, name, text):
    with pytest.raises(UserError, match=rf"{name}: no setting of this file is Kafka's"):
        gather(files(tmp_path, text, name), "3.9.0", ignored=["*"])


def test_an_unknown_setting_beside_known_ones_is_accepted(tmp_path):
    assert gather(files(tmp_path, "batch.size: 1\nmy.own: 2\n"), "3.9.0", ignored=["my.*"]).unknown == ("my.own",)


def test_names_in_nested_form_are_printed_and_possible_secrets_are_not():
    def refusal(file):
        given = tuple(WrittenSetting(name, "1", file, 1) for name in ("My.ServerNames", "hunter2x", "MIIEvQIBADANBgkq"))
        with pytest.raises(UserError) as raised:
            gather([ConfigurationFile(file, {"producer": given})], "3.9.0")
        return str(raised.value)

    assert "a.json:1: My.ServerNames;" in refusal("a.json")
    assert "My.ServerNames" not in refusal("a.properties")
    assert not any(secret in refusal("a.json") for secret in ("hunter2x", "MIIE"))
