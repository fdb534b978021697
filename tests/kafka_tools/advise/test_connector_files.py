"""Whether a connector is a source or a sink: by its class, by its settings, or an error that asks."""

import json

import pytest

from checker.errors import UserError
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.written_settings import Framework

TOPICS = {"topics": "t"}
PRODUCER = {"producer.override.acks": "1"}
CONSUMER = {"consumer.override.auto.offset.reset": "latest"}
DEAD_LETTERS = {"errors.deadletterqueue.topic.name": "d"}


def connector(tmp_path, *settings, role=""):
    path = tmp_path / "c.json"
    path.write_text(json.dumps({name: value for each in settings for name, value in each.items()}))
    return read(f"{role}{path}")


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "MirrorHeartbeatConnector",
        "io.debezium.connector.postgresql.PostgresConnector",
        "io.confluent.kafka.connect.datagen.DatagenConnector",
        "FileStreamSource",
        "com.acme.source.TwitterConnector",
    ],
)
def test_a_source_with_topics_keeps_the_overrides_of_its_producer(tmp_path, name):
    found = connector(tmp_path, {"connector.class": name}, TOPICS, PRODUCER)
    assert found.frameworks == {Framework.CONNECT_SOURCE}
    config = resolve(gather([found], "3.8.0"))
    assert (config["acks"], config["enable.idempotence"]) == ("1", "false")


@pytest.mark.parametrize(
    "name", ["io.debezium.connector.jdbc.JdbcSinkConnector", "JdbcSink", "com.acme.resource.sink.Neo4jConnector"]
)
def test_the_producer_of_a_sink_is_not_that_of_the_answers(tmp_path, name):
    found = connector(tmp_path, {"connector.class": name}, TOPICS, PRODUCER, CONSUMER)
    assert found.frameworks == {Framework.CONNECT_SINK}
    cluster = gather([found], "3.8.0")
    assert resolve(cluster)["auto.offset.reset"] == "latest"
    assert "producer.override.acks" not in cluster.without_effect
    assert any(note.endswith("answers are not about: producer.override.acks") for note in cluster.notes)


@pytest.mark.parametrize(
    ("settings", "framework"),
    [
        ((TOPICS, CONSUMER), Framework.CONNECT_SINK),
        ((TOPICS, PRODUCER, DEAD_LETTERS), Framework.CONNECT_SINK),
        ((PRODUCER,), Framework.CONNECT_SOURCE),
        ((), Framework.CONNECT_SOURCE),
    ],
)
def test_the_settings_decide_if_the_class_does_not(tmp_path, settings, framework):
    assert connector(tmp_path, {"connector.class": "com.acme.Thing"}, *settings).frameworks == {framework}


@pytest.mark.parametrize("settings", [(TOPICS,), (TOPICS, PRODUCER), (TOPICS, PRODUCER, CONSUMER)])
def test_an_unclear_connector_is_refused_unless_the_user_names_its_client(tmp_path, settings):
    unclear = ({"connector.class": "com.acme.Thing"}, *settings)
    with pytest.raises(UserError, match=r"write producer=\S+ for a source, or consumer=\S+ for a sink"):
        connector(tmp_path, *unclear)
    assert connector(tmp_path, *unclear, role="producer=").frameworks == {Framework.CONNECT_SOURCE}
    assert connector(tmp_path, *unclear, role="consumer=").frameworks == {Framework.CONNECT_SINK}


def test_the_class_of_a_strimzi_connector_counts(tmp_path):
    path = tmp_path / "connector.yaml"
    path.write_text(
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nspec:\n"
        "  class: org.apache.kafka.connect.mirror.MirrorSourceConnector\n"
        "  config: {topics: t, producer.override.acks: 1}\n"
    )
    assert read(str(path)).frameworks == {Framework.CONNECT_SOURCE}
