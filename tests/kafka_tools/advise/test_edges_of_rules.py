"""The edges of the rules of `advise`: the last value that Kafka accepts, and the first one that it refuses."""

import itertools
from types import SimpleNamespace

import pytest

from checker.errors import InputError
from kafka_tools.advise.advice import answer_questions
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.configuration_keys import key_of
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.frameworks import offset_commits
from kafka_tools.advise.models import constants_of, model_of
from kafka_tools.advise.questions import EXCEPTION, FAILURES, QUESTIONS
from kafka_tools.advise.remedies import CHANGES_OF, EARLIER_IDEMPOTENCE, changes_for
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.suggestions import suggestions_for
from kafka_tools.advise.written_settings import ConfigurationFile, Framework, Precedence, WrittenSetting
from tests.support.surveys import explore_once


def cluster(version, **given):
    """Return a cluster whose Java producer has some settings, dots written as underscores."""
    written = tuple(WrittenSetting(name.replace("_", "."), value, "p", 1) for name, value in given.items())
    return gather([ConfigurationFile("p", {"producer": written})], version)


@pytest.mark.parametrize(
    ("version", "least", "given"),
    [
        # The default of linger.ms is 0, and 5 since 4.0 (KIP-1030); that of request.timeout.ms is 30 seconds.
        ("2.1", 30_000, {}),
        ("3.9", 30_000, {}),
        ("4.0", 30_005, {}),
        ("3.9", 30_100, {"linger_ms": "100"}),
        ("4.0", 30_000, {"linger_ms": "0"}),
        ("4.0", 1_005, {"request_timeout_ms": "1000"}),
        # Kafka keeps the sum of the two below 2^31.
        ("4.0", 2**31 - 1, {"linger_ms": str(2**31 - 1)}),
    ],
)
def test_the_delivery_timeout_may_be_the_sum_of_the_linger_and_request_timeouts(version, least, given):
    assert resolve(cluster(version, delivery_timeout_ms=str(least), **given)).refusal is None
    assert "delivery.timeout.ms" in resolve(cluster(version, delivery_timeout_ms=str(least - 1), **given)).refusal


def test_before_2_1_the_delivery_timeout_is_no_setting_of_a_producer():
    assert resolve(cluster("2.0", delivery_timeout_ms="1")).refusal is None


@pytest.mark.parametrize(
    ("role", "name", "text", "of_java", "of_librdkafka"),
    [
        # Java compares enumerations exactly (ConfigDef.ValidString), but for the new group.protocol.
        ("producer", "acks", "ALL", None, "all"),
        ("consumer", "auto.offset.reset", "LATEST", None, "latest"),
        ("consumer", "isolation.level", "READ_COMMITTED", None, "read_committed"),
        ("consumer", "enable.auto.commit", "TRUE", "true", "true"),
        ("consumer", "group.protocol", "Consumer", "consumer", "consumer"),
    ],
)
def test_capitals_in_a_value(role, name, text, of_java, of_librdkafka):
    for client, value in (("java", of_java), ("librdkafka", of_librdkafka)):
        key = key_of(role, client, name)
        assert (key and key.value_of(text)) == value


@pytest.mark.parametrize(("space", "value"), [(" ", "1"), ("\t", "1"), ("\r", "1"), ("\u00a0", None), ("\x85", None)])
def test_spaces_around_a_value_are_those_of_java(space, value):
    assert key_of("producer", "java", "retries").value_of(f"{space}1{space}") == value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *((word, "true") for word in ("true", "True", "yes", "on")),
        *((word, "false") for word in ("false", "no", "No", "off", "OFF")),
        # Text in quotes stays as it is.
        ('"no"', "no"),
    ],
)
def test_the_words_of_yaml_for_true_and_false(tmp_path, written, value):
    path = tmp_path / "producer.yml"
    path.write_text(f"producer:\n  acks: all\n  enable.idempotence: {written}\n")
    settings = {given.name: given.value for given in read(str(path)).roles["producer"]}
    assert settings == {"acks": "all", "enable.idempotence": value}


def test_retries_are_no_remedy_for_a_producer_that_is_not_idempotent():
    advice = advise(
        cluster("3.7", enable_idempotence="false", retries="0", acks="all"),
        explore_once,
        failures=[failure for failure in FAILURES if failure.slug == "lost-response"],
        questions=[question for question in QUESTIONS if question.name in ("reorder", "stuck")],
        largest_change=2,
    )
    changes = [{str(change) for change in remedy.changes} for remedy in advice.remedies]
    assert changes and advice.tried_all
    # With idempotence, records that are sent again are written once.
    assert all("enable.idempotence=true" in change for change in changes if "retries=2147483647" in change)


def test_idempotence_before_2_5_is_a_remedy_that_names_its_limits():
    """EARLIER_IDEMPOTENCE."""
    asked = cluster("2.4", acks="all", max_in_flight_requests_per_connection="1")
    failures = [failure for failure in FAILURES if failure.slug == "lost-response"]
    duplicates = [question for question in QUESTIONS if question.name == "duplicates"]
    advice = advise(asked, explore_once, failures=failures, questions=duplicates, largest_change=1)
    (remedy,) = advice.remedies
    assert remedy.changes == (EARLIER_IDEMPOTENCE,) and advice.searched


@pytest.mark.parametrize(("version", "verdict"), [("2.1", "undecided"), ("2.4", "undecided"), ("2.5", "yes")])
def test_a_yes_that_takes_the_next_epoch_needs_the_client_of_2_5(version, verdict):
    """KIP-360."""
    asked = cluster(version, enable_idempotence="true", acks="all").changed("topic", "min.insync.replicas", "2")
    (answer,) = answer_questions(asked, explore_once, [FAILURES[0]], QUESTIONS[1:2]).answers
    assert (answer.question.name, answer.failure.slug, answer.verdict) == ("duplicates", "slow-follower", verdict)
    assert (answer.violation is None) == (verdict == "undecided")


def test_a_yes_without_the_next_epoch_is_one_of_an_earlier_client_too():
    asked = cluster("2.1", enable_idempotence="true", acks="all")
    restart = [failure for failure in FAILURES if failure.slug == "producer-restart"]
    (answer,) = answer_questions(asked, explore_once, restart, QUESTIONS[1:2]).answers
    assert answer.verdict == "yes"


def test_a_search_that_is_interrupted_has_not_tried_every_change():
    rounds = iter([explore_once])
    advice = advise(
        cluster("3.7", acks="1"),
        lambda surveys: next(rounds, lambda missing: iter([[] for _ in missing]))(surveys),
        failures=[failure for failure in FAILURES if failure.slug == "crash"],
        questions=QUESTIONS[:1],
    )
    assert [answer.verdict for answer in advice.answers] == ["yes"] and advice.is_whole
    assert not advice.searched and not advice.remedies and not advice.without_remedy


@pytest.mark.parametrize("version", ["2.4", "4.1"])
def test_a_setting_in_effect_is_no_change(version):
    asked = cluster(version, acks="1")
    changes = changes_for(asked, constants_of(asked, resolve(asked), with_consumer=True))
    assert {"acks=all", "acks=0"} <= {str(change) for change in changes}
    assert all(resolve(asked)[change.name] != change.value for change in changes)


@pytest.mark.parametrize(
    ("constant", "names"),
    [
        ("acks", {"acks"}),
        ("retries", {"retries"}),
        ("flushes", {"flush.messages"}),
        # The models of groups have no constant for a setting of the consumer alone.
        *((name, {"enable.auto.commit"}) for name in ("commit", "commits_when_revoked", "reconciliation")),
        ("records", set()),
    ],
)
def test_changes_are_those_of_the_constants_of_the_model(constant, names):
    assert {change.name for change in changes_for(cluster("3.7"), {constant: None})} == names


PRECEDENCES = ("FRAMEWORK", "SHARED", "FILE", "OVERRIDE", "ENFORCED", "COMMAND_LINE")


@pytest.mark.parametrize(("lower", "higher"), [*itertools.pairwise(PRECEDENCES)])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_each_precedence_is_above_the_one_before(lower, higher, is_reversed):
    pair = [
        WrittenSetting("acks", value, "p", line, Precedence[name])
        for line, (name, value) in enumerate(((lower, "1"), (higher, "all")), 1)
    ]
    found = gather([ConfigurationFile("p", {"producer": tuple(pair[::-1] if is_reversed else pair)})], "4.1", "java")
    assert (resolve(found)["acks"], found.notes) == ("all", ("acks of p:1 is not in effect: p:2 takes precedence",))


IN_FLIGHT = "max.in.flight.requests.per.connection"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("enable.idempotence", "2.8=false 3.0=false 3.0.1=true 3.1=false 3.2=true 4.1=true"),
        ("acks", "2.8=1 3.0=all 4.1=all"),
        ("retries", "2.0=0 2.1=2147483647 4.1=2147483647"),
        (IN_FLIGHT, "2.0=5 4.1=5"),
        ("delivery.timeout.ms", "3.7=120000"),
        ("session.timeout.ms", "2.8=10000 3.0=45000"),
        ("replica.lag.time.max.ms", "2.4=10000 2.5=30000"),
    ],
)
def test_defaults_of_kafka(name, values):
    for version, _, value in (each.partition("=") for each in values.split()):
        found = resolve(cluster(version)).choices[name]
        assert (found.value, found.origin) == (value, f"default of Kafka {version}")


@pytest.mark.parametrize(
    ("client", "given", "name", "value", "origin"),
    [
        ("java", "retries=0", "enable.idempotence", "false", "retries=0 turned the default off"),
        ("java", "transactional.id=t", "enable.idempotence", "true", "a transactional.id is set"),
        ("librdkafka", "transactional.id=t", "enable.idempotence", "true", "a transactional.id is set"),
        ("librdkafka", "transactional.id=t", IN_FLIGHT, "5", "set by enable.idempotence=true"),
        ("librdkafka", "enable.idempotence=true", IN_FLIGHT, "5", "set by enable.idempotence=true"),
        ("librdkafka", "linger.ms=5", IN_FLIGHT, "1000000", "default of librdkafka"),
        ("librdkafka", "linger.ms=5", "enable.idempotence", "false", "default of librdkafka"),
        ("librdkafka", "linger.ms=5", "acks", "all", "default of librdkafka"),
        ("librdkafka", "linger.ms=5", "session.timeout.ms", "45000", "default of librdkafka"),
        ("librdkafka", "linger.ms=5", "delivery.timeout.ms", "300000", "default of librdkafka"),
    ],
)
def test_what_another_setting_or_client_puts_in_effect(client, given, name, value, origin):
    written = WrittenSetting(*given.split("="), "p", 1)
    found = resolve(gather([ConfigurationFile("p", {"producer": (written,)})], "3.7", client)).choices[name]
    assert (found.value, found.origin) == (value, origin)


def test_an_explicit_idempotence_before_acks_all_by_default_sets_both():
    config = resolve(cluster("2.0", enable_idempotence="true"))
    assert (config["acks"], config["retries"]) == ("all", "2147483647")


def test_changes_that_give_up_a_guarantee():
    weaker = {str(change) for changes in CHANGES_OF.values() for change in changes if change.weakens}
    assert weaker == {
        *("acks=0", "acks=1", "auto.offset.reset=latest", "eligible.leader.replicas.version=0"),
        *("enable.idempotence=false", "min.insync.replicas=1", "retries=0", "unclean.leader.election.enable=true"),
    }


def test_what_every_exploration_allows():
    asked = cluster("3.7")
    for with_consumer in (False, True):
        constants = constants_of(asked, resolve(asked), with_consumer=with_consumer)
        # A broker may read a request after the connection is closed, and a leader moves twice.
        assert (constants["late_requests"], constants["leader_moves"]) == (True, 2)
        assert (constants["broker_crashes"], constants["power_failures"]) == (2, 1)
        assert (constants["delivery_timeouts"], constants["resends"]) == (0, False)
    (gaps,) = (question for question in QUESTIONS if question.name == "gaps")
    model = dict(model_of(asked, resolve(asked), gaps, EXCEPTION).constants)
    assert (model["records"], model["crashes"], model["failures"]) == (2, 0, 1)
    (expiry,) = (failure for failure in FAILURES if failure.slug == "offsets-expire")
    model = dict(model_of(asked, resolve(asked), gaps, expiry).constants)
    assert (model["commits_at_start"], model["longest_outage"]) == (True, 2)


@pytest.mark.parametrize(
    ("written", "explored"), [("earliest", "earliest"), ("none", "none"), ("by_duration:PT1H", "latest")]
)
def test_a_reset_by_duration_is_explored_as_latest(written, explored):
    given = ConfigurationFile("c", {"consumer": (WrittenSetting("auto.offset.reset", written, "c", 1),)})
    asked = gather([given], "4.1")
    assert constants_of(asked, resolve(asked), with_consumer=True)["auto_offset_reset"] == explored


@pytest.mark.parametrize(
    ("framework", "option", "is_automatic", "commits"),
    [
        (Framework.CONNECT_SINK, None, False, "last"),
        (Framework.CONNECT_SINK, None, True, "background"),
        (Framework.CONNECT_WORKER, None, True, "background"),
        (Framework.STREAMS, None, True, "last"),
        (Framework.SMALLRYE, None, False, "last"),
        (Framework.SMALLRYE, ("commit-strategy", "throttled"), False, "last"),
        (Framework.SMALLRYE, ("commit-strategy", "throttled"), True, "background"),
        (Framework.SMALLRYE, ("commit-strategy", "latest"), False, "background"),
        (Framework.SPRING, None, False, "last"),
        (Framework.SPRING, ("listener.ack-mode", "record"), False, "last"),
        (Framework.SPRING, ("listener.ack-mode", "manual_immediate"), False, None),
        (Framework.SPRING, None, True, None),
    ],
)
def test_when_a_framework_commits_offsets(framework, option, is_automatic, commits):
    options = {option[0]: WrittenSetting(*option, "f", 1)} if option else {}
    found = offset_commits([framework], options, is_automatic)
    assert (found and found.when) == commits


def test_the_eligible_leader_replicas_of_an_upgraded_cluster_are_assumed():
    origins = [resolve(cluster(each)).choices["eligible.leader.replicas.version"].origin for each in ("4.0", "4.1")]
    assert origins == ["default of Kafka 4.0", "assumed: an upgraded cluster"]


def test_a_topic_of_strimzi_has_its_replicas_and_its_configuration(tmp_path):
    path = tmp_path / "topic.yaml"
    path.write_text(
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopic\nmetadata: {name: orders}\n"
        "spec:\n  replicas: 3\n  config:\n    min.insync.replicas: 2\n"
    )
    settings = {given.name: given.value for given in read(str(path)).roles["topic"]}
    assert settings == {"replication.factor": "3", "min.insync.replicas": "2"}


def suggested(version, question, failure, verdict="yes", **given):
    named = SimpleNamespace(question=SimpleNamespace(name=question), failure=SimpleNamespace(slug=failure))
    asked = cluster(version, **given)
    answers = [SimpleNamespace(**vars(named), verdict=verdict)]
    texts = [suggestion.text for suggestion in suggestions_for(answers, asked, resolve(asked))]
    return texts if given else [text.partition(" ")[0] for text in texts]


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ({"acks": "all"}, ""),
        ({"acks": "1"}, ", enable.idempotence=true, acks=all"),
        ({"retries": "0"}, ", enable.idempotence=true, retries above 0"),
        ({"max_in_flight_requests_per_connection": "5"}, ""),
        ({"max_in_flight_requests_per_connection": "6"}, ", enable.idempotence=true, at most 5 in flight"),
    ],
)
def test_what_a_transactional_id_needs(given, needed):
    (text,) = suggested("3.7", "duplicates", "producer-restart", **given)
    assert text == f"transactional.id{needed} (producer), isolation.level=read_committed (consumers)"


def test_racks_and_another_release_are_suggested_against_losses_alone():
    assert suggested("4.1", "loss", "blackout") == suggested("4.1", "vanishing-reads", "blackout") == ["broker.rack"]
    assert suggested("4.0", "loss", "power-loss") == ["Kafka"]
    assert suggested("4.1", "loss", "power-loss") == suggested("4.0", "loss", "crash-and-power-loss") == []
    assert suggested("4.0", "gaps", "blackout") == suggested("4.0", "reorder", "power-loss") == []
    assert suggested("4.0", "loss", "blackout", verdict="no") == []
    (text,) = suggested("4.0", "loss", "power-loss", acks="1")
    assert text.endswith("eligible.leader.replicas.version=1, acks=all, min.insync.replicas=2")


def consumers(version, broker=(), client=None, **given):
    """Return a cluster whose consumer has some settings, dots written as underscores; brokers as pairs."""
    written = tuple(WrittenSetting(name.replace("_", "."), value, "c", 1) for name, value in given.items())
    of_broker = tuple(WrittenSetting(name, value, "s", 1) for name, value in broker)
    roles = {"consumer": written} | ({"broker": of_broker} if broker else {})
    return gather([ConfigurationFile("c", roles)], version, client)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("session_timeout_ms", "10000"),
        ("heartbeat_interval_ms", "1000"),
        ("partition_assignment_strategy", "org.apache.kafka.clients.consumer.RangeAssignor"),
    ],
)
def test_settings_of_the_classic_group_are_refused_with_the_consumer_protocol_since_4_0(name, value):
    refusal = resolve(consumers("4.0.0", group_protocol="Consumer", **{name: value})).refusal
    assert refusal.startswith(f"ConfigException: {name.replace('_', '.')} (c:1) cannot be set")
    assert resolve(consumers("3.9.2", group_protocol="consumer", **{name: value})).refusal is None
    assert resolve(consumers("4.0.0", group_protocol="classic", **{name: value})).refusal is None
    assert resolve(consumers("4.0.0", **{name: value})).refusal is None


def test_a_blank_setting_of_the_other_protocol_is_accepted():
    given = {"group_protocol": "consumer", "partition_assignment_strategy": " "}
    assert resolve(consumers("4.3.1", **given)).refusal is None
    assert resolve(consumers("4.3.1", group_remote_assignor="")).refusal is None


@pytest.mark.parametrize(("version", "is_refused"), [("3.8.1", False), ("3.9.0", True), ("4.3.1", True)])
def test_a_remote_assignor_is_refused_with_the_classic_protocol_since_3_9(version, is_refused):
    refusal = resolve(consumers(version, group_remote_assignor="uniform")).refusal
    assert (refusal is not None) == is_refused
    assert resolve(consumers(version, group_remote_assignor="uniform", group_protocol="consumer")).refusal is None


@pytest.mark.parametrize(
    ("broker", "is_refused"),
    [((("zookeeper.connect", "z:2181"),), True), ((("process.roles", "broker"),), False), ((), False)],
)
def test_the_consumer_protocol_needs_kraft(broker, is_refused):
    refusal = resolve(consumers("3.9.2", broker, group_protocol="consumer")).refusal
    assert (refusal is not None) == is_refused
    if is_refused:
        assert "(c:1) needs brokers with KRaft" in refusal and "zookeeper.connect (s:1)" in refusal
    assert resolve(consumers("3.9.2", broker, group_protocol="classic")).refusal is None


@pytest.mark.parametrize("name", ["replication.factor", "topic.replication.factor", "default.replication.factor"])
@pytest.mark.parametrize(("number", "is_accepted"), [("0", False), ("1", True), ("7", True), ("8", False)])
def test_the_command_line_sets_as_many_replicas_as_its_option(name, number, is_accepted):
    given = [ConfigurationFile("p", {"producer": ()})]
    if is_accepted:
        gather(given, "4.1.0", assigned=[f"{name}={number}"])
    else:
        with pytest.raises(InputError, match=rf"{number} is not in the range 1<=x<=7"):
            gather(given, "4.1.0", assigned=[f"{name}={number}"])
