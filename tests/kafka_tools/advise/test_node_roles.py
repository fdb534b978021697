"""Brokers read their own files, and the controller of KRaft reads its own: `process.roles` says which file is whose."""

import pytest

from checker.cli.app import main
from checker.errors import UserError
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.remedy_texts import cost_sentence
from kafka_tools.advise.suggestions import suggestions_for
from tests.support.surveys import explore_once

BROKER = "process.roles=broker\nnode.id=1\ndefault.replication.factor=3\n"
CONTROLLER = "process.roles=controller\nnode.id=2\n"
COMBINED = "process.roles=broker, controller\nnode.id=3\ndefault.replication.factor=3\n"
ELR = "eligible.leader.replicas.version=1"
UNCLEAN = "unclean.leader.election.enable"
MIN_ISR = "min.insync.replicas=2\n"
TOPIC = f"Topic: t ReplicationFactor: 3 Configs: {MIN_ISR}"


def cluster_of(tmp_path, *texts, version="4.3.0", assigned=(), name="node-{}.properties"):
    """Gather the files of nodes, of which the names leave their roles to their settings."""
    paths = [tmp_path / name.format(number) for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return gather([read(str(path)) for path in paths], version, assigned=assigned)


@pytest.mark.parametrize("order", [1, -1])
def test_brokers_do_not_read_the_file_of_a_controller(tmp_path, order):
    of_controller = "min.insync.replicas=2\nlog.flush.interval.messages=1\nlog.retention.ms=-1\n"
    files = [CONTROLLER + of_controller, BROKER][::order]
    found = resolve(cluster_of(tmp_path, *files))
    defaults = {"min.insync.replicas": "1", "flush.messages": "never", "retention.ms": "604800000"}
    assert {name: found[name] for name in defaults} == defaults
    assert found["replication.factor"] == "3"
    notes = [note for note in found.notes if "not in effect" in note]
    for name in ("min.insync.replicas", "log.flush.interval.messages", "log.retention.ms"):
        assert [name in note and "controller" in note for note in notes].count(True) == 1
    assert not any("process.roles" in note for note in notes)


def test_without_the_file_of_a_broker_its_values_are_assumed(tmp_path):
    found = resolve(cluster_of(tmp_path, CONTROLLER + "default.replication.factor=2\nmin.insync.replicas=2\n"))
    assert (found["replication.factor"], found["min.insync.replicas"]) == ("3", "1")
    assert found.choices["replication.factor"].origin.startswith("assumed")


def test_a_node_with_both_roles_is_broker_and_controller(tmp_path):
    text = f"min.insync.replicas=2\n{UNCLEAN}=true\nlog.flush.interval.messages=1\n"
    for assigned in ((), (ELR,)):
        found = resolve(cluster_of(tmp_path, COMBINED + text, assigned=assigned))
        assert (found["min.insync.replicas"], found[UNCLEAN], found["flush.messages"]) == ("2", "true", "1")
        assert not any("not in effect" in note for note in found.notes)


@pytest.mark.parametrize("version", ["3.7.0", "4.3.0"])
@pytest.mark.parametrize("value", ["true", "false"])
def test_the_controller_decides_unclean_elections(tmp_path, version, value):
    other = "false" if value == "true" else "true"
    files = (f"{BROKER}{UNCLEAN}={other}\n", f"{CONTROLLER}{UNCLEAN}={value}\n")
    found = cluster_of(tmp_path, *files, version=version)
    assert resolve(found)[UNCLEAN] == value
    assert not found.unread
    assert any(f"{UNCLEAN} of the broker" in note and "not in effect" in note for note in resolve(found).notes)


@pytest.mark.parametrize("version", ["3.7.0", "4.3.0"])
def test_without_the_controllers_file_its_default_is_assumed_by_name(tmp_path, version):
    found = cluster_of(tmp_path, f"{BROKER}{UNCLEAN}=true\n", version=version)
    config = resolve(found)
    assert (config[UNCLEAN], config.choices[UNCLEAN].origin.partition(":")[0]) == ("false", "assumed")
    assert [text.startswith(f"Not read: {UNCLEAN} of the controller") for text in found.unread] == [True]
    for text in ("", f"{UNCLEAN}=false\n"):
        plain = cluster_of(tmp_path, BROKER + text, version=version)
        assert not plain.unread
        assert any(f"the controller's {UNCLEAN} is not read" in note for note in resolve(plain).notes)


@pytest.mark.parametrize("more", ["topic", "default", "command", "combined"])
def test_what_decides_for_every_node_leaves_nothing_to_assume(tmp_path, more):
    default = f"Default configs for brokers in the cluster are:\n  {UNCLEAN}=true sensitive=false synonyms={{}}\n"
    topic = f"Topic: t ReplicationFactor: 3 Configs: {UNCLEAN}=true\n"
    files = {"topic": [topic], "default": [default], "combined": [COMBINED + f"{UNCLEAN}=true\n"]}.get(more, [])
    assigned = [f"broker.{UNCLEAN}=true"] if more == "command" else []
    broker = BROKER + (f"{UNCLEAN}=true\n" if more != "default" else "")
    found = cluster_of(tmp_path, broker, *files, assigned=assigned, name="server-{}.txt")
    assert resolve(found)[UNCLEAN] == "true"
    assert not found.unread and not any("is assumed" in note for note in resolve(found).notes)


@pytest.mark.parametrize(("text", "value"), [("zookeeper.connect=z\n", "true"), ("process.roles=broker\n", "false")])
def test_the_dynamic_value_of_one_broker_is_that_of_zookeepers_controller_only(tmp_path, text, value):
    one = f"Dynamic configs for broker 1 are:\n  {UNCLEAN}=true sensitive=false synonyms={{}}\n"
    assert resolve(cluster_of(tmp_path, text, one, version="3.7.0"))[UNCLEAN] == value


def test_a_broker_of_zookeeper_decides_unclean_elections(tmp_path):
    found = cluster_of(tmp_path, f"broker.id=1\nzookeeper.connect=z\n{UNCLEAN}=true\n", version="3.7.0")
    assert resolve(found)[UNCLEAN] == "true" and not found.unread


def test_eligible_leader_replicas_take_the_min_isr_of_the_controller(tmp_path):
    files = (f"{BROKER}min.insync.replicas=3\n", f"{CONTROLLER}min.insync.replicas=2\n")
    assert resolve(cluster_of(tmp_path, *files, assigned=[ELR]))["min.insync.replicas"] == "2"
    assert resolve(cluster_of(tmp_path, *files))["min.insync.replicas"] == "3"


def test_the_services_of_a_file_keep_their_roles(tmp_path):
    services = "".join(
        f"  {role}:\n    environment: {{KAFKA_PROCESS_ROLES: {role}, KAFKA_NODE_ID: 1, {more}}}\n"
        for role, more in (("controller", "KAFKA_MIN_INSYNC_REPLICAS: 2"), ("broker", "KAFKA_LOG_RETENTION_MS: 1"))
    )
    found = resolve(cluster_of(tmp_path, f"services:\n{services}", name="compose-{}.yml"))
    assert (found["min.insync.replicas"], found["retention.ms"]) == ("1", "1")


def test_two_controllers_must_agree(tmp_path):
    with pytest.raises(UserError, match="both configure a controller, and only one of them has unclean"):
        cluster_of(tmp_path, CONTROLLER, f"{CONTROLLER}{UNCLEAN}=true\n")


@pytest.mark.parametrize("other", ["", "min.insync.replicas=1\n"])
@pytest.mark.parametrize("order", [1, -1])
def test_controllers_may_differ_in_a_min_isr_that_is_not_in_effect(tmp_path, other, order):
    files = [CONTROLLER + MIN_ISR, CONTROLLER + other][::order]
    cluster = cluster_of(tmp_path, *files)
    assert resolve(cluster)["min.insync.replicas"] == "1"
    assert any("controllers differ" in note for note in cluster.notes)
    for assigned in ([ELR], [f"broker.{ELR}"]):
        with pytest.raises(UserError, match=r"min\.insync\.replicas"):
            cluster_of(tmp_path, *files, assigned=assigned)


def test_brokers_may_not_differ_in_their_min_isr(tmp_path):
    with pytest.raises(UserError, match=r"min\.insync\.replicas"):
        cluster_of(tmp_path, BROKER + MIN_ISR, f"{BROKER}min.insync.replicas=1\n")


# Eligible leader replicas as a remedy.


def remedies_of(cluster, *questions):
    """Return the remedies for power loss and a leader change by their changes as text."""
    advice = advise(
        cluster,
        explore_once,
        failures=[failure for failure in FAILURES if failure.slug in ("leader-change", "power-loss")],
        questions=[question for question in QUESTIONS if question.name in questions],
        largest_change=2,
    )
    return {", ".join(map(str, remedy.changes)): remedy for remedy in advice.remedies}


def test_eligible_leader_replicas_are_no_remedy_by_a_lower_min_isr(tmp_path):
    remedies = remedies_of(cluster_of(tmp_path, BROKER + "min.insync.replicas=2\n"), "loss", "duplicates", "stuck")
    pair = f"min.insync.replicas=2, {ELR}"
    assert [name for name in remedies if ELR in name] == [pair]
    assert [fix.question.name for fix in remedies[pair].fixes] == ["loss"]
    assert "min.insync.replicas of brokers no longer counts" in cost_sentence(remedies[pair])


@pytest.mark.parametrize("files", [[COMBINED + MIN_ISR], [BROKER + MIN_ISR, CONTROLLER + MIN_ISR], [BROKER, TOPIC]])
def test_eligible_leader_replicas_keep_the_min_isr_of_a_topic_and_of_a_controller(tmp_path, files):
    assert list(remedies_of(cluster_of(tmp_path, *files), "loss")) == [ELR]


@pytest.mark.parametrize(("files", "names_it"), [([BROKER + MIN_ISR], True), ([BROKER, TOPIC], False)])
def test_a_suggested_upgrade_keeps_the_min_isr_of_brokers(tmp_path, files, names_it):
    cluster = cluster_of(tmp_path, *files, version="3.7.0")
    power_loss = [failure for failure in FAILURES if failure.slug == "power-loss"]
    advice = advise(cluster, explore_once, failures=power_loss, questions=QUESTIONS[:1], largest_change=0)
    (text,) = [each.text for each in suggestions_for(advice.answers, cluster, advice.config) if ELR in each.text]
    assert ("min.insync.replicas=2 (topic)" in text) == names_it


# Required guarantees.


@pytest.mark.parametrize(
    ("node", "version", "status"),
    [
        (f"zookeeper.connect=z\n{MIN_ISR}inter.broker.protocol.version=0.10.2\n", "2.2", 3),
        (f"zookeeper.connect=z\n{MIN_ISR}log.message.format.version=0.10.2\n", "2.2", 3),
        (f"zookeeper.connect=z\n{MIN_ISR}inter.broker.protocol.version=2.2\n", "2.2", 0),
        (f"{BROKER}{MIN_ISR}{UNCLEAN}=true\n", "3.7", 3),
        (f"{BROKER}{MIN_ISR}", "3.7", 0),
        ("metadata.version=3.9-IV0\n", "4.3", 3),
        ("group.version=0\n", "4.3", 0),
    ],
)
def test_a_requirement_does_not_hold_with_rules_that_are_not_read(tmp_path, capsys, node, version, status):
    (tmp_path / "broker.properties").write_text(f"{node}default.replication.factor=3\n")
    (tmp_path / "producer.properties").write_text("acks=all\n")
    files = [str(tmp_path / name) for name in ("broker.properties", "producer.properties")]
    asked = ["--kafka", version, "--changes", "0", "--failure", "crash", "--require", "no-loss"]
    assert main(["advise", *files, *asked, "--accept", "R16,R18,R26,KIP-841"]) == status
    assert ("required no-loss is not decided" in capsys.readouterr().out) == bool(status)
    assert main(["advise", *files, *asked[:-2]]) == 0
