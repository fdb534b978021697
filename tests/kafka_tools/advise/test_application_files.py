"""Files of applications: containers of several programs, Quarkus, Streams, and names that two clients share."""

import pytest

from checker.errors import UserError
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from kafka_tools.advise.suggestions import suggestions_for
from kafka_tools.advise.written_settings import Framework


def cluster(tmp_path, text, name="application.properties", version="3.9.0", **options):
    path = tmp_path / name
    path.write_text(text)
    return gather([read(str(path))], version, **options)


def compose(variables, image="shop"):
    return (
        "services:\n  kafka:\n    image: apache/kafka\n    environment: {KAFKA_PROCESS_ROLES: broker, "
        f"KAFKA_MIN_INSYNC_REPLICAS: 2}}\n  shop:\n    image: {image}\n    environment: {variables}\n"
    )


@pytest.mark.parametrize(
    "variables",
    ["{KAFKA_BOOTSTRAP_SERVERS: 'k:1'}", "{KAFKA_ADDR: 'k:1', KAFKA_TOPIC: t}", "[KAFKA_CLUSTERS_0_NAME=a]"],
)
def test_a_service_without_a_setting_that_matters_has_no_role(tmp_path, variables):
    found = cluster(tmp_path, compose(variables), "compose.yml")
    assert resolve(found)["min.insync.replicas"] == "2"
    assert any(name.startswith("KAFKA_") for name in found.without_effect)


@pytest.mark.parametrize("variable", ["KAFKA_REQUIRED_ACKS", "KAFKA_PRODUCER_IDEMPOTENT"])
def test_a_service_with_a_name_that_resembles_a_setting_is_refused(tmp_path, variable):
    with pytest.raises(UserError, match=rf"{variable} \(did you mean"):
        cluster(tmp_path, compose(f"{{KAFKA_BOOTSTRAP_SERVERS: b, {variable}: 1}}"), "compose.yml")


@pytest.mark.parametrize(
    "variables",
    ["[GROUP_ID=1, CONFIG_STORAGE_TOPIC=c, OFFSET_STORAGE_TOPIC=o]", "{OFFSET_STORAGE_TOPIC: o, BOOTSTRAP_SERVERS: b}"],
)
def test_a_connect_worker_without_prefixes(tmp_path, variables):
    found = cluster(tmp_path, compose(variables), "compose.yml")
    assert Framework.CONNECT_WORKER in found.frameworks
    assert resolve(found)["enable.idempotence"] == "false"


@pytest.mark.parametrize(("role", "mode"), [("combined", "kraft"), ("broker", "kraft")])
def test_the_role_of_a_node_without_a_prefix(tmp_path, role, mode):
    text = f"services:\n  k:\n    environment: [NODE_ROLE={role}, NODE_ID=1, 'KAFKA_LISTENERS=PLAINTEXT://k:1']\n"
    found = cluster(tmp_path, text, "compose.yml")
    assert found.controller.value == mode
    assert (("controller", "process.roles") in found.written) == (role == "combined")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        *((name, "did you mean acks") for name in ("orders.acks", "orders.requiredAcks", "orders_producer_acks")),
        *((name, "did you mean enable.id") for name in ("a.enable.idempotence", "a.enable-idempotence")),
        ("a.enableIdempotence", "did you mean enable.idempotence"),
        ("acks", r"ignores acks: write spring.kafka.producer.properties.acks"),
        ("autoOffsetReset", r"ignores autoOffsetReset: write spring.kafka.consumer.properties.auto.offset.reset"),
        # Words of other programs, and names that only end in the same letters.
        *((name, "") for name in ("retries", "http.retries", "web.session.timeout.ms", "callbacks", "my.callbacks")),
    ],
)
def test_a_setting_that_springs_application_reads_does_not_vanish(tmp_path, name, says):
    text = f"spring.kafka.bootstrap-servers=b\n{name}=1\n"
    if says:
        with pytest.raises(UserError, match=rf"application.properties:2.*{says}"):
            cluster(tmp_path, text)
    else:
        assert not cluster(tmp_path, text).unknown


def test_an_empty_service_has_no_settings(tmp_path):
    found = cluster(tmp_path, f"{compose('{A: b}')}  web:\n", "compose.yml")
    assert resolve(found)["min.insync.replicas"] == "2"


@pytest.mark.parametrize("service", ["nginx", "[nginx]", "[{environment: {KAFKA_ACKS: 0}}]"])
def test_a_service_that_is_no_mapping_is_refused(tmp_path, service):
    with pytest.raises(UserError, match="web is no mapping of names to values"):
        cluster(tmp_path, f"{compose('{A: b}')}  web: {service}\n", "compose.yml")


@pytest.mark.parametrize("name", ["BOOTSTRAP_SERVERS", "CLIENT_ID", "PRODUCER_BOOTSTRAP_SERVERS"])
def test_variables_of_spring(tmp_path, name):
    found = cluster(tmp_path, f"SPRING_KAFKA_{name}=b\nSPRING_KAFKA_PRODUCER_ACKS=1\n", "app.env")
    assert resolve(found)["acks"] == "1"
    assert not found.unknown


@pytest.mark.parametrize("name", ["allow.everyone.if.no.acl.found", "authorizer.zookeeper.url", "super.users"])
def test_settings_of_an_authorizer_are_known(tmp_path, name):
    assert name in cluster(tmp_path, f"process.roles=broker\n{name}=x\n", "server.properties").without_effect


CHANNEL = "mp.messaging.outgoing.a.connector=smallrye-kafka\nmp.messaging.outgoing.a.acks=all\n"


@pytest.mark.parametrize(
    "line",
    ["%dev,test.quarkus.log.level=DEBUG", "%staging.quarkus.http.port=1", "%dev.mp.messaging.outgoing.a.acks=0"],
)
def test_profiles_of_quarkus_that_do_not_matter(tmp_path, line):
    assert resolve(cluster(tmp_path, f"{CHANNEL}{line}\n"))["acks"] == "all"


def test_a_profile_of_production_and_others_counts(tmp_path):
    assert resolve(cluster(tmp_path, f"{CHANNEL}%prod,qa.mp.messaging.outgoing.a.acks=1\n"))["acks"] == "1"
    with pytest.raises(UserError, match="depends on a profile"):
        cluster(tmp_path, f"{CHANNEL}%qa.mp.messaging.outgoing.a.acks=1\n")


@pytest.mark.parametrize(
    ("line", "says"), [("acks=0", "SmallRye does not read acks"), ("orders.required-acks=1", "did you mean acks")]
)
def test_a_setting_that_quarkus_does_not_read_does_not_vanish(tmp_path, line, says):
    with pytest.raises(UserError, match=says):
        cluster(tmp_path, f"{CHANNEL}{line}\n")


@pytest.mark.parametrize(
    ("name", "first", "prefix", "idle"),
    [
        ("quarkus", "", "", "quarkus.http.port %dev.quarkus.log.level mp.messaging.connector.smallrye-kafka.topic"),
        ("quarkus", CHANNEL, "mp.messaging.outgoing.a.", "failure-strategy topic"),
        ("spring", "", "spring.kafka.", "listener.concurrency admin.fail-fast producer.ssl.key-password"),
        ("server", "debezium.sink.type=kafka\n", "", "quarkus.log.level debezium.source.database.port"),
        ("worker", "config.storage.topic=c\noffset.storage.topic=o\n", "", "group.id config.providers.file.class"),
        ("sink", "connector.class=s3.S3SourceConnector\n", "topic.creation.default.", "partitions replication.factor"),
        ("streams", "application.id=a\n", "", "state.dir replication.factor"),
    ],
)
def test_what_a_framework_reads_has_no_effect_and_is_named(tmp_path, name, first, prefix, idle):
    written = [f"{prefix}{each}" for each in idle.split()]
    text = first + "".join(f"{each}=-1\n" for each in written)
    found = cluster(tmp_path, text, f"{name}.properties")
    assert {*written} <= {*found.without_effect} and not found.unknown


def test_settings_of_the_application_are_counted(tmp_path):
    notes = cluster(tmp_path, f"{CHANNEL}foo.bar=1\ngreeting=x\n").notes
    assert "application.properties has 2 settings of the application, which are not read" in notes


@pytest.mark.parametrize("line", ["kafka.acks=1", "startingOffsets=latest", "failOnDataLoss=false"])
def test_names_with_a_prefix_alone_show_no_framework(tmp_path, line):
    with pytest.raises(UserError, match="convention of Quarkus, Micronaut, Spark and others"):
        cluster(tmp_path, f"kafka.bootstrap.servers=b\n{line}\n")


@pytest.mark.parametrize(
    ("name", "text", "client", "is_noted"),
    [
        ("client.json", '{"producer": {"bootstrap.servers": "b", "acks": "all"}}', None, True),
        ("client.yml", "consumer: {group.id: g, enable.auto.commit: true}\n", None, True),
        ("client.json", '{"producer": {"acks": "all", "max.block.ms": 1}}', None, False),
        ("client.json", '{"producer": {"acks": "all"}}', "java", False),
        ("producer.properties", "acks=all\n", None, False),
        # Aliases that librdkafka alone has show the client.
        ("client.conf", "metadata.broker.list=b\nrequest.required.acks=-1\n", None, False),
        ("client.json", '{"message.timeout.ms": 30000, "acks": "all"}', None, False),
    ],
)
def test_names_that_two_clients_share_are_noted(tmp_path, name, text, client, is_noted):
    notes = cluster(tmp_path, text, name, client=client).notes
    assert any("add --client librdkafka" in note for note in notes) == is_noted


@pytest.mark.parametrize(("guarantee", "is_suggested"), [("exactly_once_v2", False), ("at_least_once", True)])
def test_what_exactly_once_gives_is_said_and_not_suggested(tmp_path, guarantee, is_suggested):
    class Yes:
        verdict = "yes"
        question = next(each for each in QUESTIONS if each.name == "reprocessing")
        failure = next(each for each in FAILURES if each.slug == "consumer-crash")
        hazards = ()

    found = cluster(tmp_path, f"application.id=a\nprocessing.guarantee={guarantee}\n")
    suggestions = list(suggestions_for([Yes()], found, resolve(found)))
    assert any("one transaction with the results" in each.text for each in suggestions) == is_suggested
    assert any("side effects" in note for note in found.notes) != is_suggested


@pytest.mark.parametrize(
    ("line", "is_noted"), [("replication.factor=2", True), ("topic.min.insync.replicas=1", True), ("acks=1", False)]
)
def test_topic_settings_of_streams_are_those_of_its_internal_topics(tmp_path, line, is_noted):
    notes = cluster(tmp_path, f"application.id=a\nbootstrap.servers=b\n{line}\n", "streams.properties").notes
    assert any("settings of its internal topics" in note for note in notes) == is_noted


@pytest.mark.parametrize("other", ["http_proxy: x", "_JAVA: x", "A: b", "a.b: c", "'A-B': c", "A: {B: c}"])
def test_another_variable_of_a_container_hides_none_of_kafka(tmp_path, other):
    text = f"{compose('{A: b}')}  broker:\n    environment:\n      {other}\n      KAFKA_DEFAULT_REPLICATION_FACTOR: 2\n"
    assert resolve(cluster(tmp_path, text, "compose.yml"))["replication.factor"] == "2"


def test_variables_with_small_letters_are_variables(tmp_path):
    assert resolve(cluster(tmp_path, "http_proxy=x\nKAFKA_ACKS=1\n", ".env"))["acks"] == "1"


@pytest.mark.parametrize("place", ["Environment", "enviroment", "ENV", "environments", "env_files"])
def test_a_misspelt_place_of_variables_is_refused(tmp_path, place):
    text = f"{compose('{A: b}')}  broker:\n    {place}: {{KAFKA_DEFAULT_REPLICATION_FACTOR: 2}}\n"
    with pytest.raises(UserError, match=f"{place} is no part of a container or service"):
        cluster(tmp_path, text, "compose.yml")


def test_a_group_of_topics_of_a_source_is_noted(tmp_path):
    text = "connector.class=ASource\ntopic.creation.groups=small\ntopic.creation.small.replication.factor=1\n"
    assert "topic.creation.small.replication.factor" in " ".join(cluster(tmp_path, text, "c.properties").notes)


def test_a_setting_of_a_channel_of_another_connector_is_noted(tmp_path):
    text = CHANNEL + "mp.messaging.outgoing.b.connector=smallrye_kafka\nmp.messaging.outgoing.b.acks=0\n"
    notes = cluster(tmp_path, text, "application.properties").notes
    assert "settings of clients that the answers are not about: mp.messaging.outgoing.b.acks" in notes
