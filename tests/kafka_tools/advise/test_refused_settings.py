"""Settings that are refused with one sentence, or named as not modelled: never silently without an effect."""

import pytest

from checker.errors import InputError
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting


def cluster(version, role, name, value, **options):
    given = {"producer": (), role: (WrittenSetting(name, value, "f", 1),)}
    return gather([ConfigurationFile("f", given)], version, **options)


@pytest.mark.parametrize("version", ["2.0.0", "2.5.1", "2.7.2"])
@pytest.mark.parametrize("name", ["process.roles", "controller.quorum.voters"])
def test_kraft_before_it_existed_is_refused(version, name):
    with pytest.raises(InputError, match=f"f:1: {name}: Kafka {version} has no KRaft, which exists since 2.8.0"):
        cluster(version, "broker", name, "broker")
    with pytest.raises(InputError, match="--controller kraft: Kafka"):
        cluster(version, "broker", "num.io.threads", "8", controller="kraft")


def test_kraft_of_the_early_access_is_taken():
    assert cluster("2.8.0", "broker", "process.roles", "broker").controller.value == "kraft"


@pytest.mark.parametrize("name", ["share.acknowledgement.mode", "share.isolation.level"])
def test_a_share_consumer_is_not_modelled(name):
    found = cluster("4.2.0", "consumer", name, "explicit")
    assert any(name in sentence and "KIP-932" in sentence for sentence in found.unread)
    assert name not in found.without_effect and found.has_unread_rules


@pytest.mark.parametrize(
    ("role", "name"), [("topic", "cleanup.policy"), ("broker", "log.cleanup.policy")], ids=lambda text: text
)
@pytest.mark.parametrize(("value", "sentence"), [(" ", "is empty, and"), ("x", 'one of delete, compact, "compact,del')])
def test_a_wrong_cleanup_policy(role, name, value, sentence):
    with pytest.raises(InputError, match=f"f:1: {name} .*{sentence}"):
        cluster("4.2.0", role, name, value)


@pytest.mark.parametrize(
    ("role", "name"), [("topic", "replication.factor"), ("broker", "default.replication.factor")], ids=lambda text: text
)
def test_more_replicas_than_can_be_explored_are_refused_in_a_file(role, name):
    with pytest.raises(InputError, match=r"\(f:1\)|f:1: 8 replicas take too long"):
        resolve(cluster("4.2.0", role, name, "8"))
    assert resolve(cluster("4.2.0", role, name, "7"))["replication.factor"] == "7"
    fewer = cluster("4.2.0", role, name, "8").changed("topic", "replication.factor", "3")
    assert resolve(fewer)["replication.factor"] == "3"
