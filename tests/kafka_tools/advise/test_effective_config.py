"""What configurations come to, by version.

Facts: ProducerConfigTest and KafkaProducerTest (testInvalidEnableIdempotenceAndAcks..., testIdempotenceDefault...) of
Apache Kafka; rdkafka_conf.c; KIP-679, KAFKA-13598, KAFKA-13673, KAFKA-17927.
"""

from pathlib import Path

import pytest

from checker.errors import UserError
from kafka_tools.advise import versions
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.effective_config import DEFAULT_DELIVERY_TIMEOUT, LIBRDKAFKA_DELIVERY_TIMEOUT, resolve
from kafka_tools.advise.models import constants_of
from kafka_tools.advise.resemblance import suggestion
from kafka_tools.advise.written_settings import ConfigurationFile, Framework, WrittenSetting
from specs.kafka_releases import RELEASES

FIXTURES = Path(__file__).parent / "fixtures"


def config(version, *names, client=None):
    return resolve(gather([read(str(FIXTURES / name)) for name in names], version, client))


def producer(version, **given):
    """Settle a Java producer with some settings, dots written as underscores."""
    written = tuple(WrittenSetting(name.replace("_", "."), value, "p", 1) for name, value in given.items())
    return resolve(gather([ConfigurationFile("p", {"producer": written})], version))


def test_3_0_0_notes_that_idempotence_is_off():
    assert any("KAFKA-13598" in note for note in config("3.0", "producer-shipped.properties").notes)


@pytest.mark.parametrize(
    "given", [{"acks": "1"}, {"retries": "0"}, {"max_in_flight_requests_per_connection": "6"}, {"acks": "0"}]
)
def test_a_conflict_turns_the_default_off(given):
    found = producer("3.7", **given)
    assert found["enable.idempotence"] == "false"
    assert any("KAFKA-13673" in note for note in found.notes)
    assert found.refusal is None


@pytest.mark.parametrize("version", ["2.0.0", "2.8.0", "3.0.0", "3.2.0", versions.LATEST])
@pytest.mark.parametrize("given", [{"acks": "1"}, {"retries": "0"}, {"max_in_flight_requests_per_connection": "6"}])
def test_explicit_idempotence_refuses_conflicts(version, given):
    assert "ConfigException" in producer(version, enable_idempotence="true", **given).refusal


@pytest.mark.parametrize(("version", "is_refused"), [("3.7", False), ("4.0", True), ("4.1", True)])
def test_many_in_flight_with_the_default_is_refused_since_4_0(version, is_refused):
    assert (config(version, "many-in-flight-producer.properties").refusal is not None) == is_refused


def test_a_transactional_id_makes_a_producer_idempotent():
    found = producer("2.8", transactional_id="secret")
    assert found["enable.idempotence"] == "true"
    assert "transactional.id" in producer("3.7", transactional_id="x", enable_idempotence="false").refusal


def test_an_idempotent_librdkafka_has_five_in_flight():
    assert config("3.7", "librdkafka-producer.properties")["retries"] == "5"
    found = config("3.7", "librdkafka-idempotent.json")
    assert found["max.in.flight.requests.per.connection"] == "5"
    assert (found["commits"], found["auto.offset.reset"]) == ("last", "earliest")


def test_spring_commits_after_processing():
    found = config("3.7", "spring-application.properties")
    assert (found["enable.auto.commit"], found["commits"]) == ("false", "last")


def test_topic_settings_override_broker_settings():
    found = config("3.7", "server-durable.properties", "topic-unclean.txt")
    assert found["unclean.leader.election.enable"] == "true"
    assert found.choices["unclean.leader.election.enable"].origin == "topic-unclean.txt:1"


@pytest.mark.parametrize(
    ("files", "has_note"),
    [
        ({"broker": {"process.roles": "broker"}}, True),
        ({"broker": {"process.roles": "broker"}, "topic": {"unclean.leader.election.enable": "false"}}, False),
        ({"broker": {"process.roles": "broker"}, "controller": {"process.roles": "controller"}}, False),
        ({"broker": {"zookeeper.connect": "z"}}, False),
        ({"producer": {}}, False),
    ],
)
def test_a_default_of_a_controller_that_is_not_read_is_noted(files, has_note):
    written = {role: tuple(WrittenSetting(*pair, role, 1) for pair in given.items()) for role, given in files.items()}
    found = resolve(gather([ConfigurationFile("f", written)], "3.7"))
    assert (
        any("the controller's unclean.leader.election.enable is not read" in note for note in found.notes) == has_note
    )
    assert ("assumed" in found.choices["unclean.leader.election.enable"].origin) == has_note


def test_every_written_setting_is_listed_or_named_as_not_in_effect():
    name = "min.insync.replicas"
    files = {
        "topic": (WrittenSetting(name, "2", "t", 1),),
        "broker": (WrittenSetting(name, "1", "b", 1), WrittenSetting("log.flush.interval.messages", "7", "b", 2)),
        "producer": (WrittenSetting("linger.ms", "5", "p", 1), WrittenSetting("transactional.id", "hunter2", "p", 2)),
    }
    found = resolve(gather([ConfigurationFile("f", files)], "3.7"))
    listed = {name: (choice.value, choice.origin) for name, choice in found.choices.items() if choice.is_written}
    assert listed == {
        name: ("2", "t:1"),
        "flush.messages": ("7", "b:2"),
        "linger.ms": ("5", "p:1"),
        "transactional.id": ("set", "p:2"),
    }
    assert [note for note in found.notes if note.endswith("not in effect")] == [
        f"{name} of the broker (b:1) is not in effect"
    ]


def test_a_broker_without_a_replication_factor_has_one_replica():
    assert config("3.7", "server-kraft-shipped.properties")["replication.factor"] == "1"
    assert config("3.7", "server-durable.properties")["replication.factor"] == "3"


def test_without_a_brokers_file_three_replicas_are_assumed():
    found = config("3.7", "producer-shipped.properties").choices["replication.factor"]
    assert (found.value, found.origin.split(";")[0]) == ("3", "assumed")


def test_zookeeper_is_refused_since_4_0():
    assert "ZooKeeper" in config("4.0", "server-zookeeper-shipped.properties").refusal
    assert config("3.7", "server-zookeeper-shipped.properties").refusal is None


@pytest.mark.parametrize("version", ["3.7", "4.0", "4.1"])
def test_eligible_leader_replicas_are_off_unless_they_are_known_to_be_on(version):
    found = config(version, "producer-shipped.properties")
    assert found["eligible.leader.replicas.version"] == "0"
    assert any("upgraded cluster" in note for note in found.notes) == (version == "4.1")


def test_the_features_of_a_cluster_show_eligible_leader_replicas():
    found = config("4.1", "producer-shipped.properties", "features-described.txt")
    assert found["eligible.leader.replicas.version"] == "1"
    assert found["replication.factor"] == "3"
    assert "has no feature" in config("3.7", "features-described.txt").refusal


def elr_config(tmp_path, **files):
    """Settle files of nodes, by name, with eligible leader replicas."""
    reads = []
    for name, text in files.items():
        path = tmp_path / f"{name}.properties"
        path.write_text(text)
        reads.append(read(f"broker={path}"))
    return resolve(gather(reads, "4.1", assigned=["eligible.leader.replicas.version=1"]))


def test_with_eligible_leader_replicas_the_controllers_min_isr_applies(tmp_path):
    found = elr_config(tmp_path, node="process.roles=broker,controller\nmin.insync.replicas=2\n")
    assert found["min.insync.replicas"] == "2"
    found = elr_config(tmp_path, node="process.roles=broker\nmin.insync.replicas=2\n")
    assert found["min.insync.replicas"] == "1"
    assert any("active controller's file" in note for note in found.notes)
    both = {"node": "process.roles=broker\n", "control": "process.roles=controller\nmin.insync.replicas=2\n"}
    assert elr_config(tmp_path, **both)["min.insync.replicas"] == "2"


def test_with_eligible_leader_replicas_the_dynamic_min_isr_of_one_broker_is_removed(tmp_path):
    default = "Default configs for brokers in the cluster are:\n  min.insync.replicas=2 sensitive=false synonyms={}\n"
    assert elr_config(tmp_path, node=default)["min.insync.replicas"] == "2"
    one = "Dynamic configs for broker 1 are:\n  min.insync.replicas=2 sensitive=false synonyms={}\n"
    assert elr_config(tmp_path, node=one)["min.insync.replicas"] == "1"


def test_a_dynamic_value_takes_precedence_over_the_file_of_a_broker(tmp_path):
    path = tmp_path / "described.txt"
    path.write_text(
        "Default configs for brokers in the cluster are:\n  min.insync.replicas=1 sensitive=false synonyms={}\n"
    )
    found = resolve(gather([read(str(FIXTURES / "server-durable.properties")), read(str(path))], "3.7"))
    assert found["min.insync.replicas"] == "1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acks", "2"),
        ("acks", "ALL"),
        ("retries", "1_0"),
        ("retries", "-1"),
        ("max.in.flight.requests.per.connection", "0"),
        ("enable.idempotence", "yes"),
    ],
)
def test_a_value_out_of_its_range_is_an_error(name, value):
    with pytest.raises(UserError, match=f"p:1: {name} is not .*ConfigException"):
        gather([ConfigurationFile("p", {"producer": (WrittenSetting(name, value, "p", 1),)})], "3.7")


def test_two_different_values_of_a_setting_are_an_error():
    twice = (WrittenSetting("acks", "all", "p", 1), WrittenSetting("acks", "1", "p", 9))
    with pytest.raises(UserError, match=r"p:9: acks has two different values \(p:1\)"):
        gather([ConfigurationFile("p", {"producer": twice})], "3.7")
    same = (WrittenSetting("acks", "all", "p", 1), WrittenSetting("acks", "-1", "p", 9))
    assert resolve(gather([ConfigurationFile("p", {"producer": same})], "3.7"))["acks"] == "all"


def test_unknown_names_and_names_without_effect_are_listed_apart():
    given = (
        WrittenSetting("acks", "all", "p", 1),
        WrittenSetting("my.mss", "5", "p", 2),
        WrittenSetting("batch.size", "1", "p", 3),
    )
    cluster = gather([ConfigurationFile("p", {"producer": given})], "3.7", ignored=["my.*"])
    assert cluster.unknown == ("my.mss",)
    assert "batch.size" in cluster.without_effect


def test_possible_pieces_of_secrets_are_not_printed():
    """A certificate or a JAAS configuration whose lines nobody joined."""
    written = {
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj": "",
        "hunter2": "",
        "hunter2x": "hunter2",
        "my.hunter2": "",
        "my.setting": "hunter2",
    }
    given = tuple(WrittenSetting(name, value, "p", line) for line, (name, value) in enumerate(written.items(), 1))
    given += (WrittenSetting("client.id", "", "p", 6),)
    unknown = gather([ConfigurationFile("p", {"producer": given})], "3.7", ignored=["*"]).unknown
    assert unknown == (*(f"a name that is not printed (p:{line})" for line in range(1, 5)), "my.setting")


def test_a_transactional_librdkafka_is_idempotent_by_default():
    def librdkafka(**given):
        written = tuple(WrittenSetting(name.replace("_", "."), value, "p", 1) for name, value in given.items())
        return resolve(gather([ConfigurationFile("p", {"producer": written})], "3.7", "librdkafka"))

    assert librdkafka(transactional_id="x")["enable.idempotence"] == "true"
    assert "requires enable.idempotence" in librdkafka(transactional_id="x", enable_idempotence="false").refusal


@pytest.mark.parametrize(
    ("timeout", "client", "is_short"),
    [("119999", "java", True), ("120000", "java", False), ("0", "librdkafka", False), ("1", "librdkafka", True)],
)
def test_a_short_delivery_timeout_is_one_below_the_default(timeout, client, is_short):
    given = (WrittenSetting("delivery.timeout.ms", timeout, "p", 1), WrittenSetting("linger.ms", "0", "p", 2))
    cluster = gather([ConfigurationFile("p", {"producer": given})], "3.7", client)
    assert resolve(cluster).has_short_delivery_timeout == is_short


@pytest.mark.parametrize(
    ("client", "timeout"), [("java", DEFAULT_DELIVERY_TIMEOUT), ("librdkafka", LIBRDKAFKA_DELIVERY_TIMEOUT)]
)
def test_the_default_delivery_timeout_of_each_client(client, timeout):
    assert (DEFAULT_DELIVERY_TIMEOUT, LIBRDKAFKA_DELIVERY_TIMEOUT) == (120_000, 300_000)
    assert resolve(gather([ConfigurationFile("p", {"producer": ()})], "3.7", client))["delivery.timeout.ms"] == str(
        timeout
    )


@pytest.mark.parametrize(
    ("version", "says"), [("3.6", "every write with acks=all is refused"), ("4.1", "2 is in effect")]
)
def test_a_minimum_above_the_replication_factor_is_a_note(version, says):
    def notes(minimum):
        given = (
            WrittenSetting("replication.factor", "2", "t", 1),
            WrittenSetting("min.insync.replicas", minimum, "t", 2),
        )
        return [
            note
            for note in resolve(gather([ConfigurationFile("t", {"topic": given})], version)).notes
            if "above" in note
        ]

    assert notes("2") == []
    assert [note.endswith(says) for note in notes("3")] == [True]


@pytest.mark.parametrize(("in_flight", "is_refused"), [("5", False), ("6", True)])
def test_a_transactional_librdkafka_has_the_limits_of_idempotence(in_flight, is_refused):
    given = (
        WrittenSetting("transactional.id", "t", "p", 1),
        WrittenSetting("max.in.flight.requests.per.connection", in_flight, "p", 2),
    )
    config = resolve(gather([ConfigurationFile("p", {"producer": given})], "3.7", "librdkafka"))
    assert (config.refusal is not None) == is_refused


@pytest.mark.parametrize(
    ("client", "written", "commits"),
    [
        ("java", {}, "auto"),
        ("librdkafka", {}, "background"),
        ("librdkafka", {"enable.auto.offset.store": "false"}, "last"),
        ("librdkafka", {"enable.auto.commit": "false"}, "last"),
    ],
)
def test_when_offsets_are_committed(client, written, commits):
    """librdkafka's timer commits what was stored, and a record is stored as it is returned (CONFIGURATION.md)."""
    given = tuple(WrittenSetting(name, value, "p", 1) for name, value in written.items())
    assert resolve(gather([ConfigurationFile("p", {"consumer": given})], "3.7", client))["commits"] == commits


@pytest.mark.parametrize(
    ("version", "commits"),
    [
        ("3.6.2", "auto"),
        ("3.7.0", "background"),
        ("3.9.2", "background"),
        ("4.0.0", "auto"),
        ("4.1.2", "auto"),
        ("4.2.0", "background"),
        ("4.4.0", "background"),
    ],
)
def test_automatic_commits_of_the_consumer_protocol(version, commits):
    """Entries C12 and C14: a background thread may commit a record before it is processed."""

    def found(**written):
        given = tuple(WrittenSetting(name.replace("_", "."), value, "p", 1) for name, value in written.items())
        return resolve(gather([ConfigurationFile("p", {"consumer": given})], version))["commits"]

    assert found(group_protocol="Consumer") == commits
    assert found(group_protocol="consumer", enable_auto_commit="false") == "last"
    assert found(group_protocol="classic") == found() == "auto"


@pytest.mark.parametrize(
    ("client", "idempotent", "implicit"),
    [("librdkafka", "true", True), ("librdkafka", "false", False), ("java", "true", False)],
)
def test_an_idempotent_librdkafka_acknowledges_implicitly(client, idempotent, implicit):
    given = (WrittenSetting("enable.idempotence", idempotent, "p", 1),)
    cluster = gather([ConfigurationFile("p", {"producer": given})], "3.7", client)
    assert constants_of(cluster, resolve(cluster), with_consumer=False)["implicit_acks"] is implicit


def test_reset_by_duration_needs_4_0():
    read_ = [ConfigurationFile("p", {"consumer": (WrittenSetting("auto.offset.reset", "by_duration:PT1H", "p", 1),)})]
    assert "before 4.0" in resolve(gather(read_, "3.7")).refusal
    found = resolve(gather(read_, "4.0"))
    assert found.refusal is None
    assert any("explored as latest" in note for note in found.notes)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("3.10", r"--kafka: Kafka 3\.10 is not a release from 2\.0\.0 to \S+: the nearest are 3\.9\.2 and 4\.0\.0"),
        ("2.8.9", r"the nearest are 2\.8\.2 and 3\.0\.0"),
        ("1.1.1", r"the nearest is 2\.0\.0"),
        ("9.9", rf"the nearest is {versions.LATEST}"),
        ("latest", r"--kafka: latest is not a version such as 3\.7"),
    ],
)
def test_an_unknown_version(version, message):
    with pytest.raises(UserError, match=message):
        versions.supported(version)


def test_a_version_without_patch_level_is_the_first_release():
    assert versions.supported("2.8") == "2.8.0"
    assert versions.supported("3.9.1") == "3.9.1"


def test_every_supported_release_has_settings():
    for release in RELEASES[RELEASES.index(versions.OLDEST) :]:
        assert producer(versions.supported(release)).refusal is None


@pytest.mark.parametrize(
    ("version", "given", "retries"),
    [("2.0.1", {}, "0"), ("2.0.1", {"enable_idempotence": "true"}, "2147483647"), ("2.1.0", {}, "2147483647")],
)
def test_retries_default_to_0_before_2_1(version, given, retries):
    assert producer(version, **given)["retries"] == retries


def test_bugs_that_a_later_release_fixes_are_named():
    """R4 loses an acknowledged record in 2.0.0, and the model of advice does not contain it."""
    (note,) = [note for note in producer("2.0.0").notes if note.startswith("not explored")]
    assert "R4 (fixed in 2.0.1, 2.1.0)" in note
    assert "P10" not in note
    assert not any(note.startswith("not explored") for note in producer("4.4.0").notes)


def test_bugs_of_kafkas_producer_do_not_concern_librdkafka():
    java, other = (
        versions.unexplored_bugs("3.7.0", client, is_transactional=False) for client in ("java", "librdkafka")
    )
    assert "P13 (" in java and "R14 (" in java
    assert "P13 (" not in other and "R14 (" in other


def test_bugs_of_transactions_concern_transactional_producers():
    (note,) = [note for note in producer("3.7").notes if note.startswith("not explored")]
    assert "T2" not in note
    (note,) = [note for note in producer("3.7", transactional_id="x").notes if note.startswith("not explored")]
    assert "T2 (fixed in 4.0.0)" in note


def test_a_two_phase_commit_has_no_timeout():
    settings = dict(transactional_id="x", transaction_two_phase_commit_enable="true")
    assert producer("4.3", **settings).refusal is None
    assert "transaction.timeout.ms cannot be set" in producer("4.3", **settings, transaction_timeout_ms="5").refusal


@pytest.mark.parametrize("id_", [{}, {"transactional.id": "x"}])
@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_read_committed_hides_the_aborted_records_of_transactions(id_, isolation):
    given = {"producer": id_, "consumer": {"isolation.level": isolation}}
    files = {role: tuple(WrittenSetting(*pair, "p", 1) for pair in pairs.items()) for role, pairs in given.items()}
    found = resolve(gather([ConfigurationFile("p", files)], "3.7"))
    assert found.hides_aborted_records == (bool(id_) and isolation == "read_committed")
    assert found.is_transactional == bool(id_)


def test_an_unknown_setting_is_an_error_with_a_suggestion():
    given = (WrittenSetting("acsk", "1", "p", 1), WrittenSetting("my.own", "2", "p", 2))
    with pytest.raises(
        UserError, match=r"p:1: acsk \(did you mean acks, of the producer\?\); p:2: my.own. .* --ignore"
    ):
        gather([ConfigurationFile("p", {"producer": given})], "3.7")
    with pytest.raises(UserError, match="acsk") as raised:
        gather([ConfigurationFile("p", {"producer": given})], "3.7", ignored=["my.*"])
    assert "my.own" not in str(raised.value)
    accepted = (WrittenSetting("acks", "1", "p", 1), given[1])
    assert (
        gather([ConfigurationFile("p", {"producer": accepted})], "3.7", ignored=["my.*"]).get("producer", "acks") == "1"
    )


@pytest.mark.parametrize("value", ["${ACKS:all}", "{{ acks }}", "%(acks)s"])
def test_a_placeholder_is_an_error(value):
    given = (WrittenSetting("acks", value, "p", 1),)
    with pytest.raises(UserError, match="p:1: the value of acks is a placeholder"):
        gather([ConfigurationFile("p", {"producer": given})], "3.7")


def test_a_tried_change_of_the_broker_keeps_the_assumed_replication_factor():
    cluster = gather([ConfigurationFile("p", {"producer": ()})], "4.0")
    changed = cluster.changed("broker", "eligible.leader.replicas.version", "1")
    assert resolve(cluster)["replication.factor"] == resolve(changed)["replication.factor"] == "3"


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("ack", "acks, of the producer"),
        ("retires", "retries, of the producer"),
        ("enable_idempotence", "enable.idempotence, of the producer"),
        ("spring.kafka.producer.ack", "acks, of the producer"),
        ("min.insyc.replicas", "min.insync.replicas, of the topic"),
        ("auto.offset.rest", "auto.offset.reset, of the consumer"),
        # The longest setting that ends a name.
        ("consumer.delete.retention.ms", "delete.retention.ms, of the topic"),
        ("server.port", ""),
        ("my.own.setting", ""),
    ],
)
def test_suggestions_for_misspelt_names(name, means):
    found = suggestion(name, "java")
    assert means in found if means else found == ""


@pytest.mark.parametrize(
    ("text", "role", "name", "value"),
    [
        ("acks=1", "producer", "acks", "1"),
        ("min.insync.replicas=3", "topic", "min.insync.replicas", "3"),
        ("broker.min.insync.replicas=3", "broker", "min.insync.replicas", "3"),
        ("consumer.auto.offset.reset=earliest", "consumer", "auto.offset.reset", "earliest"),
    ],
)
def test_a_setting_of_the_command_line(text, role, name, value):
    given = {
        "producer": (WrittenSetting("acks", "${ACKS}", "p", 1),),
        "topic": (WrittenSetting("min.insync.replicas", "1", "t", 1),),
        "consumer": (WrittenSetting("auto.offset.reset", "latest", "c", 1),),
    }
    assigned = [text] if text.startswith("acks") else [text, "acks=all"]
    found = gather([ConfigurationFile("f", given)], "3.7", assigned=assigned)
    assert found.get(role, name) == value
    assert found.written[role, name].where == "--set"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("acks", "has no value"),
        ("ackz=1", "did you mean acks"),
        ("batch.size=1", "has no effect on the answers"),
        ("acks=2", "--set: acks is not one of"),
        ("consumer.acks=1", "is unknown"),
    ],
)
def test_wrong_settings_of_the_command_line(text, says):
    with pytest.raises(UserError, match=says):
        gather([], "3.7", assigned=[text])


def test_a_setting_of_the_command_line_is_no_brokers_file():
    cluster = gather([], "4.1", assigned=["eligible.leader.replicas.version=1", "broker.min.insync.replicas=2"])
    assert resolve(cluster)["replication.factor"] == "3"


@pytest.mark.parametrize("version", ["2.8", "3.0.1", "3.2", "4.3.1"])
def test_what_connect_sets(version):
    worker = ConfigurationFile("w", {}, frozenset({Framework.CONNECT_WORKER}))
    found = resolve(gather([worker], version))
    assert (found["acks"], found["max.in.flight.requests.per.connection"]) == ("all", "1")
    assert found["enable.idempotence"] == ("true" if version == "3.0.1" else "false")
    assert (found["enable.auto.commit"], found["auto.offset.reset"], found["commits"]) == ("false", "earliest", "last")


@pytest.mark.parametrize(
    ("version", "value", "is_accepted"),
    [
        ("2.5", "exactly_once", True),
        ("2.5", "exactly_once_beta", False),
        ("2.6", "exactly_once_beta", True),
        ("2.8", "exactly_once_v2", False),
        ("3.9", "exactly_once_v2", True),
        ("3.9", "exactly_once", True),
        ("4.0", "exactly_once", False),
        ("4.0", "exactly_once_v2", True),
    ],
)
def test_processing_guarantees_by_version(version, value, is_accepted):
    option = (WrittenSetting("processing.guarantee", value, "s", 1),)
    reads = [ConfigurationFile("s", {}, frozenset({Framework.STREAMS}), option)]
    if is_accepted:
        assert resolve(gather(reads, version)).is_transactional
    else:
        with pytest.raises(UserError, match=r"s:1: processing\.guarantee is not one of"):
            gather(reads, version)


def test_the_commits_option_is_refused_where_the_framework_decides():
    streams = ConfigurationFile("s", {}, frozenset({Framework.STREAMS}))
    assert any(
        "--commits has no effect" in note for note in resolve(gather([streams], "4.1").committing("first")).notes
    )


def file_of(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return read(str(tmp_path / name))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("bootstrap.servers=b\nacks=all\n", "bootstrap.servers=b\ncompression.type=lz4\n"),
        ("process.roles=broker\nnode.id=1\nmin.insync.replicas=2\n", "process.roles=broker\nnode.id=2\n"),
    ],
)
def test_two_whole_files_of_a_role_must_agree(tmp_path, first, second):
    role = "broker" if "node.id" in first else "producer"
    reads = [file_of(tmp_path, f"{role}-{number}.properties", text) for number, text in enumerate((first, second))]
    with pytest.raises(UserError, match=f"both configure a {role}, and only one of them has"):
        gather(reads, "3.7")


def test_a_part_of_a_configuration_and_a_controller_are_combined_with_a_whole_file(tmp_path):
    reads = [
        file_of(tmp_path, "producer.properties", "bootstrap.servers=b\nacks=all\nbatch.size=1\n"),
        file_of(tmp_path, "producer-more.properties", "compression.type=lz4\nretries=3\n"),
        file_of(tmp_path, "broker.properties", "process.roles=broker\nnode.id=1\nmin.insync.replicas=2\n"),
        file_of(tmp_path, "server-control.properties", "process.roles=controller\nnode.id=9\n"),
    ]
    found = resolve(gather(reads, "3.7"))
    assert (found["acks"], found["retries"], found["min.insync.replicas"]) == ("all", "3", "2")


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("offsets.topic.replication.factor", "committed offsets"),
        ("transaction.state.log.replication.factor", "transactions hang or are torn"),
        ("transaction.state.log.min.isr", "transactions hang or are torn"),
    ],
)
@pytest.mark.parametrize(("value", "is_noted"), [("1", True), ("3", False)])
def test_an_internal_topic_on_one_broker_is_noted(name, harm, value, is_noted):
    given = ConfigurationFile("b", {"broker": (WrittenSetting(name, value, "b", 1),)})
    cluster = gather([given], "4.3.0")
    assert any(name in note and harm in note for note in resolve(cluster).notes) is is_noted
    assert name not in cluster.without_effect
