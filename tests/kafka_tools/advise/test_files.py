"""Configuration files in every form that people keep them in; and none of their values in an error."""

import json
from pathlib import Path

import pytest

from checker.errors import UserError
from kafka_tools.advise.cluster import _MOST_REFUSED, gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.written_settings import Framework

FIXTURES = Path(__file__).parent / "fixtures"


def settings(found, role):
    return {given.name: given.value for given in found.roles[role]}


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("producer-shipped.properties", {"producer"}),
        ("consumer-shipped.properties", {"consumer"}),
        ("server-zookeeper-shipped.properties", {"broker"}),
        ("server-kraft-shipped.properties", {"broker", "controller"}),
        ("misconfigured-acks-1.toml", {"producer", "topic", "consumer"}),
        ("librdkafka-idempotent.json", {"producer", "consumer"}),
        ("spring-application.properties", {"producer", "consumer"}),
        ("topic-unclean.txt", {"topic"}),
        ("topic-described.txt", {"topic"}),
    ],
)
def test_the_role_of_a_file(name, roles):
    assert set(read(str(FIXTURES / name)).roles) == roles


def test_the_role_is_guessed_from_the_settings(tmp_path):
    path = tmp_path / "app.properties"
    path.write_text("acks=all\nlinger.ms=5\nbatch.size=16384\n")
    assert set(read(str(path)).roles) == {"producer"}


def test_an_unclear_role_is_an_error(tmp_path):
    path = tmp_path / "app.properties"
    path.write_text("bootstrap.servers=b:9092\n")
    with pytest.raises(UserError, match="write producer="):
        read(str(path))
    assert set(read(f"consumer={path}").roles) == {"consumer"}


def test_properties_follow_the_syntax_of_java(tmp_path):
    path = tmp_path / "producer.properties"
    path.write_text("# a comment\n! another\nacks : all\nretries 7\nlinger.ms=\\\n   5\n")
    found = read(str(path))
    assert settings(found, "producer") == {"acks": "all", "retries": "7", "linger.ms": "5"}
    assert [given.line for given in found.roles["producer"]] == [3, 4, 5]


def test_output_of_kafka_configs():
    assert settings(read(str(FIXTURES / "topic-described.txt")), "topic") == {
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "false",
    }


def test_output_of_kafka_topics():
    found = settings(read(str(FIXTURES / "topic-unclean.txt")), "topic")
    assert found["replication.factor"] == "3"
    assert found["min.insync.replicas"] == "2"
    assert found["unclean.leader.election.enable"] == "true"


def topic_line(name, factor, configs):
    return f"Topic: {name}\tTopicId: x_9-A\tPartitionCount: 1\tReplicationFactor: {factor}\tConfigs: {configs}\n"


def test_output_of_kafka_topics_for_several_partitions_with_commas_in_values(tmp_path):
    path = tmp_path / "described.txt"
    partition = "\tTopic: orders\tPartition: {}\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr: \n"
    line = topic_line("orders", 3, "cleanup.policy=compact,delete,min.insync.replicas=2")
    path.write_text(line + partition.format(0) + partition.format(1))
    assert settings(read(str(path)), "topic") == {
        "replication.factor": "3",
        "cleanup.policy": "compact,delete",
        "min.insync.replicas": "2",
    }


@pytest.mark.parametrize(
    "text",
    [
        topic_line("orders", 3, "min.insync.replicas=2") + topic_line("audit", 3, ""),
        "Dynamic configs for topic orders are:\nDynamic configs for topic audit are:\n",
    ],
)
def test_two_topics_in_a_file_are_an_error(tmp_path, text):
    path = tmp_path / "described.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=r":2: a second topic is described"):
        read(str(path))


def test_settings_of_a_broker_and_cluster_defaults_are_combined(tmp_path):
    path = tmp_path / "described.txt"
    path.write_text(
        "Dynamic configs for broker 1 are:\n  min.insync.replicas=2 sensitive=false synonyms={}\n"
        "Default configs for brokers in the cluster are:\n  ssl.key.password=null sensitive=true synonyms={}\n"
    )
    assert settings(read(str(path)), "broker") == {"min.insync.replicas": "2", "ssl.key.password": "null"}


def test_output_of_kafka_configs_with_zookeeper(tmp_path):
    path = tmp_path / "described.txt"
    path.write_text("Configs for topic 'orders' are min.insync.replicas=2,unclean.leader.election.enable=true\n")
    assert settings(read(str(path)), "topic") == {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}


def test_spring_names_with_brackets_and_hyphens(tmp_path):
    path = tmp_path / "application.properties"
    path.write_text(
        "spring.kafka.producer.properties[enable.idempotence]=false\n"
        "spring.kafka.producer.properties.linger.ms=5\n"
        "spring.kafka.consumer.isolation-level=read-committed\n"
    )
    found = read(str(path))
    assert settings(found, "producer") == {"enable.idempotence": "false", "linger.ms": "5"}
    assert settings(found, "consumer") == {"isolation.level": "read_committed"}


def test_spring_names_become_kafka_names():
    found = read(str(FIXTURES / "spring-application.properties"))
    assert found.frameworks == {Framework.SPRING}
    producer = settings(found, "producer")
    assert producer["acks"] == "all"
    assert producer["enable.idempotence"] == "true"
    assert producer["max.in.flight.requests.per.connection"] == "5"
    assert settings(found, "consumer")["auto.offset.reset"] == "earliest"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.properties", b"\x00\x01\x02", "is not a text file"),
        ("a.properties", bytes(range(128, 160)) + b"\x01", "is not a text file"),
        ("a.properties", b"acks=\\u12zz", "hexadecimal"),
        ("a.json", b'{"acks": "hunter2', "not JSON"),
        ("a.json", b'{"acks": "all", "acks": "hunter2"}', "acks occurs twice"),
        ("a.json", b"[1]", "is not an object"),
        ("a.toml", b"acks = hunter2", "is not TOML"),
        ("a.toml", b"x = 1\n[producer]\nacks = 1", "x is outside the sections"),
        ("a.json", b'{"hunter2 pw": 1, "hunter2 pw": 2}', "a name occurs twice"),
        ("a.json", b'{"acks": ' + b"1" * 5000 + b"}", "thousands of digits"),
        ("a.toml", b"acks = " + b"1" * 5000, "thousands of digits"),
        ("a.json", b"[" * 100_000, "nested too deeply"),
        ("a.toml", b"a = " + b"[" * 100_000, "nested too deeply"),
        ("a.yml", b"acks: [hunter2\n", "a.yml:2: not YAML"),
        ("a.yml", b"acks: *hunter2\n", "not YAML"),
        ("a.yml", "acks: hunter2\ufffe\n".encode(), "a.yml: not YAML"),
        ("a.yml", b"acks: all\nacks: hunter2\n", "a.yml:2: acks occurs twice"),
        ("a.yml", b"acks: {{ .Values.hunter2 }}\n", "render the templates"),
        ("a.yml", b"- hunter2\n", "is not an object"),
        ("a.yml", b"a: &a\n  b: *a\n", "nested too deeply"),
        ("a.properties", b"#" * 1_000_001, "more than 1,000,000 bytes"),
    ],
)
def test_errors_do_not_contain_values(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=says) as found:
        read(str(path))
    assert "hunter2" not in str(found.value)


def test_a_missing_file():
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read("/no/such/producer.properties")


def test_numbers_and_booleans_of_json(tmp_path):
    path = tmp_path / "producer.json"
    path.write_text(json.dumps({"enable.idempotence": True, "retries": 3}))
    assert settings(read(str(path)), "producer") == {"enable.idempotence": "true", "retries": "3"}


BOTH_CLIENTS = "acks=1\ngroup.id=orders\nenable.auto.commit=false\nrequest.timeout.ms=1000\n"


@pytest.mark.parametrize("prefix", ["", "producer=", "consumer="])
@pytest.mark.parametrize("name", ["client.properties", "consumer.properties", "producer.properties"])
def test_a_setting_belongs_to_the_role_that_knows_it(tmp_path, prefix, name):
    path = tmp_path / name
    path.write_text(BOTH_CLIENTS)
    found = read(f"{prefix}{path}")
    assert settings(found, "producer") == {"acks": "1", "request.timeout.ms": "1000"}
    assert settings(found, "consumer") == {
        "group.id": "orders",
        "enable.auto.commit": "false",
        "request.timeout.ms": "1000",
    }


def test_a_setting_in_the_section_of_another_role_is_used(tmp_path):
    path = tmp_path / "all.toml"
    path.write_text('[consumer]\nacks = 1\n"group.id" = "g"\n[producer]\n"linger.ms" = 5\n')
    found = read(str(path))
    assert settings(found, "producer") == {"acks": "1", "linger.ms": "5"}
    assert settings(found, "consumer") == {"group.id": "g"}


def test_librdkafka_settings_of_both_clients(tmp_path):
    path = tmp_path / "client.json"
    path.write_text(json.dumps({"request.required.acks": 1, "enable.auto.offset.store": False, "group.id": "g"}))
    found = read(str(path))
    assert settings(found, "producer") == {"request.required.acks": "1"}
    assert settings(found, "consumer") == {"enable.auto.offset.store": "false", "group.id": "g"}


def test_a_topic_setting_in_a_client_file_is_used(tmp_path):
    path = tmp_path / "producer.properties"
    path.write_text("acks=all\nmin.insync.replicas=2\n")
    assert settings(read(str(path)), "topic") == {"min.insync.replicas": "2"}


def test_settings_that_a_broker_shares_with_clients_stay_with_the_broker(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("process.roles=broker\ncompression.type=lz4\nconnections.max.idle.ms=1\n")
    assert set(read(str(path)).roles) == {"broker"}


def test_names_of_spring_cloud_stream_are_refused(tmp_path):
    path = tmp_path / "application.properties"
    path.write_text("spring.kafka.producer.acks=all\nspring.cloud.stream.kafka.binder.required-acks=1\nserver.port=1\n")
    with pytest.raises(UserError, match=r"application\.properties:2: the Kafka binder of Spring Cloud Stream"):
        read(str(path))


def roles_of(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    found = read(str(path))
    return {role: {given.name: given.value for given in given_} for role, given_ in found.roles.items()}


def test_spring_yaml_with_bracketed_names(tmp_path):
    text = 'spring:\n  kafka:\n    producer:\n      properties:\n        "[enable.idempotence]": false\n'
    assert roles_of(tmp_path, "application.yml", text) == {"producer": {"enable.idempotence": "false"}}


CHANNEL = "mp.messaging.outgoing.a.connector=smallrye-kafka\n"


@pytest.mark.parametrize(
    ("name", "text", "roles"),
    [
        (
            "application.properties",
            "debezium.sink.type=kafka\ndebezium.sink.kafka.producer.acks=1\nquarkus.x.y=1\nlinger.ms=5\n",
            {"producer": {"acks": "1", "linger.ms": "5"}},
        ),
        (
            "connect.properties",
            "key.converter=k\nconfig.storage.topic=c\ngroup.id=g\nproducer.acks=all\nunread.setting=1\n",
            {"producer": {"acks": "all", "unread.setting": "1"}},
        ),
        (
            "application.properties",
            f"{CHANNEL}mp.messaging.connector.smallrye-kafka.acks=1\nkafka.linger.ms=5\nmp.messaging.x=1\n",
            {"producer": {"acks": "1", "linger.ms": "5", "mp.messaging.x": "1"}},
        ),
        (
            "application.properties",
            f"{CHANNEL}mp.messaging.outgoing.a.acks=1\nmp.messaging.outgoing.a.topic=t\n"
            "mp.messaging.connector.smallrye-kafka.topic=t\n",
            {"producer": {"acks": "1"}},
        ),
        (
            "application.properties",
            "spring.kafka.producer.acks=1\nspring.kafka.unread=1\nspring.kafka.producer.unread=2\n"
            "spring.kafka.producer.ssl.key-password=x\nspring.kafka.admin.fail-fast=true\n",
            {"producer": {"acks": "1", "spring.kafka.unread": "1", "spring.kafka.producer.unread": "2"}},
        ),
        (
            "docker-compose.yml",
            "services:\n  shop:\n    environment:\n      SPRING_KAFKA_PROPERTIES_LINGER_MS: 7\n"
            "      SPRING_KAFKA_PRODUCER_PROPERTIES_ENABLE_IDEMPOTENCE: 'false'\n      SPRING_KAFKA_PRODUCER_ACKS: 1\n",
            {"producer": {"acks": "1", "linger.ms": "7", "enable.idempotence": "false"}},
        ),
        # A setting of brokers alone shows the role, also without an effect on the answers.
        (
            "docker-compose.yml",
            "services:\n  k:\n    environment: {KAFKA_NUM_PARTITIONS: 3}\n",
            {"broker": {"num.partitions": "3"}},
        ),
        # A variable of the image is beside those of a worker.
        (
            "docker-compose.yml",
            "services:\n  c:\n    environment: {CONNECT_GROUP_ID: g, CONNECT_PRODUCER_ACKS: 1, KAFKA_HEAP_OPTS: x}\n",
            {"producer": {"acks": "1"}},
        ),
        (
            "producer.yml",
            "producer:\n  acks: all\n  interceptor.classes: [a.B, {retries: 3}, c.D]\n",
            {"producer": {"acks": "all", "interceptor.classes": "a.B,c.D", "interceptor.classes[1].retries": "3"}},
        ),
    ],
)
def test_where_the_settings_of_a_framework_go(tmp_path, name, text, roles):
    assert roles_of(tmp_path, name, text) == roles


def test_of_many_unknown_names_the_first_are_named_and_the_others_counted(tmp_path):
    path = tmp_path / "producer.properties"
    path.write_text("acks=all\n" + "".join(f"unknown.name{n}=1\n" for n in range(_MOST_REFUSED + 3)))
    with pytest.raises(UserError, match="; and 3 more") as caught:
        gather([read(str(path))], "4.1.0")
    assert caught.value.message.count("unknown.name") == _MOST_REFUSED


def test_yaml_anchors_and_merges(tmp_path):
    text = "defaults: &d\n  acks: all\n  retries: 0x10\nproducer:\n  <<: *d\n  acks: 1\n"
    with pytest.raises(UserError, match="defaults is outside the sections"):
        roles_of(tmp_path, "a.yml", text)
    text = "producer:\n  <<: {acks: all, retries: 0x10}\n  acks: 1\ntopic:\n  min.insync.replicas: 2\n"
    assert roles_of(tmp_path, "a.yml", text)["producer"] == {"acks": "1", "retries": "16"}


def test_a_yaml_file_of_aliases_ends(tmp_path):
    levels = "\n".join(f"a{n}: &a{n} {{{', '.join(f'x{i}: *a{n - 1}' for i in range(9))}}}" for n in range(1, 9))
    with pytest.raises(UserError, match="more than 20,000 settings"):
        roles_of(tmp_path, "producer.yml", f"a0: &a0 {{acks: all}}\n{levels}\n")


@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_variables_as_a_shell_writes_them(tmp_path, quote):
    text = f"export KAFKA_PROCESS_ROLES={quote}broker{quote}\nexport KAFKA_MIN_INSYNC_REPLICAS={quote}2{quote}\n"
    assert roles_of(tmp_path, "kafka.env", text) == {"broker": {"process.roles": "broker", "min.insync.replicas": "2"}}


def test_underscores_and_hyphens_in_variables(tmp_path):
    text = "KAFKA_PROCESS_ROLES=broker\nKAFKA_A__B___C=1\n"
    assert roles_of(tmp_path, "kafka.env", text)["broker"] == {"process.roles": "broker", "a_b-c": "1"}


def test_a_variable_that_hides_a_setting_is_not_dropped(tmp_path):
    text = "services:\n  app:\n    environment:\n      - ORDERS_PRODUCER_ACKS=1\n      - HTTP_RETRIES=3\n"
    assert roles_of(tmp_path, "compose.yml", text) == {"producer": {"ORDERS_PRODUCER_ACKS": "1"}}


def test_roles_in_front_of_the_names(tmp_path):
    text = "producer.acks=1\nconsumer.enable.auto.commit=false\ntopic.min.insync.replicas=2\n"
    assert roles_of(tmp_path, "clients.properties", text) == {
        "producer": {"acks": "1"},
        "consumer": {"enable.auto.commit": "false"},
        "topic": {"min.insync.replicas": "2"},
    }


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("mm2.properties", "clusters=A,B\nA->B.enabled=true\nA.producer.acks=1\n", "a file of MirrorMaker"),
        ("a.properties", "spring.kafka.streams.application-id=a\n", "spring.kafka.streams is not read"),
        (
            "a.properties",
            "mp.messaging.outgoing.a.acks=1\n%qa.mp.messaging.outgoing.a.acks=0\n",
            "depends on a profile",
        ),
        ("a.env", "KAFKA_X=1\nMP_MESSAGING_OUTGOING_A_ACKS=1\n", "write the channel's settings as mp.messaging"),
        (
            "connect-standalone.properties",
            "offset.storage.file.filename=f\nexactly.once.source.support=enabled\n",
            "a standalone worker ignores",
        ),
        ("docker-compose.yml", "services:\n  db:\n    environment: {A: b}\n", "no service has variables of Kafka"),
        ("a.json", '{"apiVersion": "v1", "kind": "List", "items": []}', "a resource of the kind List is not read"),
    ],
)
def test_files_that_are_refused_with_what_to_give_instead(tmp_path, name, text, says):
    with pytest.raises(UserError, match=says):
        roles_of(tmp_path, name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sink.json", '{"connector.class": "x.SinkConnector", "topics": "t", "errors.tolerance": "all"}'),
        (
            "a.properties",
            "application.id=a\ndefault.deserialization.exception.handler=x.LogAndContinueExceptionHandler\n",
        ),
    ],
)
def test_settings_that_skip_records_after_an_error_are_noted(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert any("in the answers" in note for note in read(str(path)).notes)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.conf", 'kafka.producer {\n  acks = "1"\n}\n', "a.conf:1: blocks in braces"),
        ("a.conf", "akka {\n  kafka.producer { kafka-clients { acks = all } }\n}\n", "a.conf:1: blocks in braces"),
        ("a.conf", "# c\nkafka = {\nacks = 1\n}\n", "a.conf:2: blocks in braces"),
        ("main.tf", 'resource "kafka_topic" "t" {\n  replication_factor = 3\n}\n', "main.tf:1: blocks in braces"),
        ("a.properties", '# c\nacks="1"\n', "a.properties:2: the value of acks is in quotes"),
        (
            "k.yaml",
            "kafka:\n  bootstrap_servers: b:1\n  acks: all\n",
            r"names of kafka-python or aiokafka \(bootstrap_",
        ),
        ("k.yml", "app:\n  kafka:\n    enable_auto_commit: true\n", r"names of kafka-python or aiokafka \(enable_auto"),
        ("k.json", '{"clientId": "s", "brokers": ["b:1"], "producer": {"acks": -1}}', r"names of kafkajs \(brokers\)"),
        ("k.json", '{"producer": {"maxInFlightRequests": 5}}', r"names of kafkajs \(maxInFlightRequests\)"),
        ("k.yaml", "kafka:\n  consumer:\n    fromBeginning: false\n", r"names of kafkajs \(fromBeginning\)"),
    ],
)
def test_a_form_that_is_not_read_is_refused_as_such(name, text, expected, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    for argument in (str(path), f"producer={path}"):
        with pytest.raises(UserError, match=expected):
            read(argument)


def test_a_value_with_quotes_inside_is_no_quoted_value(tmp_path):
    path = tmp_path / "producer.properties"
    path.write_text('acks=all\nsasl.jaas.config=org.example.Module required username="a";\n')
    assert set(read(str(path)).roles) == {"producer"}


def resource(kind, spec):
    return {"apiVersion": "v1", "kind": kind, "spec": spec}


def pod(**container):
    return resource("Pod", {"containers": [{"env": [{"name": "KAFKA_ACKS", "value": "1"}], **container}]})


SECTION = {"producer": {"acks": "all"}}
NO_MAPPING, NO_LIST, NO_NAME = "is no mapping of names to values", "is no list", "a variable of a container has no name"


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (SECTION | {"topic": [{"min.insync.replicas": 2}]}, f"topic {NO_MAPPING}"),
        (SECTION | {"broker": "min.insync.replicas=2"}, f"broker {NO_MAPPING}"),
        (resource("KafkaTopic", {"config": [{"min.insync.replicas": 2}]}), f"config {NO_MAPPING}"),
        (resource("Kafka", [{"kafka": {}}]), f"spec {NO_MAPPING}"),
        ({"apiVersion": "v1", "kind": "KafkaTopic", "Spec": {}}, "KafkaTopic has no spec"),
        (resource("Kafka", {"kafka": {"storage": {"volumes": 5}}}), f"volumes {NO_LIST}"),
        (resource("Pod", {"containers": {"name": "a"}}), f"containers {NO_LIST}"),
        (resource("Pod", {"containers": ["a"]}), f"containers has an item that {NO_MAPPING}"),
        (
            resource("Deployment", {"template": {"containers": [{}]}}),
            "Deployment has no containers.*",
        ),
        (pod(env=["KAFKA_ACKS=1", ["KAFKA_RETRIES=0"]]), NO_NAME),
        (pod(env=[{"key": "KAFKA_ACKS", "value": "1"}]), NO_NAME),
        (pod(env=5), f"environment {NO_LIST}"),
        (pod(image="apache/kafka:4.1.0", volumeMounts=5), f"volumeMounts {NO_LIST}"),
    ],
)
def test_a_part_of_another_form_is_refused(tmp_path, document, says):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match=f"x.json: .*{says}, and its settings would be left out"):
        read(str(path))


def test_a_list_in_a_list_is_not_dropped(tmp_path):
    path = tmp_path / "producer.json"
    path.write_text(json.dumps({"acks": ["all", ["0"]]}))
    assert settings(read(str(path)), "producer") == {"acks": "all", "acks[1]": "0"}


@pytest.mark.parametrize(("roles", "disks"), [("broker", 1), (["controller"], 0), (5, 0), (None, 1)])
def test_the_roles_of_a_node_pool(tmp_path, roles, disks):
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(resource("KafkaNodePool", {"roles": roles, "storage": {"type": "ephemeral"}})))
    assert len(read(str(path)).disks) == disks
