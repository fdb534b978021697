"""What files say of the cluster beside its settings: the controller, the disks of brokers, retention and timeouts."""

from pathlib import Path

import pytest

from checker.errors import UserError
from kafka_tools.advise.answer_sentences import setting_rows
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.effective_config import resolve

STRIMZI = "apiVersion: kafka.strimzi.io/v1\n"


def cluster(tmp_path, text, name="server.properties", version="3.7.0", **options):
    path = Path(tmp_path) / name
    path.write_text(text)
    return gather([read(str(path))], version, **options)


def value(config, name):
    return config[name] if name in config.choices else None


@pytest.mark.parametrize(
    ("text", "version", "mode"),
    [
        ("process.roles=broker\nnode.id=1\n", "3.7.0", "kraft"),
        ("process.roles=broker\nnode.id=1\n", "3.1.0", "kraft"),
        ("broker.id=1\ncontroller.quorum.voters=1@c:9093\n", "3.9.0", "kraft"),
        ("broker.id=1\nzookeeper.connect=z:2181\n", "3.7.0", "zookeeper"),
        ("broker.id=1\n", "3.2.3", "zookeeper"),
        ("broker.id=1\n", "4.0.0", "kraft"),
        ("broker.id=1\n", "3.3.0", None),
        # A cluster that migrates has both.
        ("broker.id=1\nzookeeper.connect=z:2181\ncontroller.quorum.voters=1@c:9093\n", "3.9.0", None),
    ],
)
def test_the_controller_is_derived_and_shown(tmp_path, text, version, mode):
    config = resolve(cluster(tmp_path, text, version=version))
    assert value(config, "controller") == mode
    assert any("--controller says it" in note for note in config.notes) == (mode is None)
    assert [row for row in setting_rows(config) if row[0] == "controller"][:1] == (
        [("controller", mode, config.choices["controller"].origin)] if mode else []
    )


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("metadata: {name: c}\nspec: {kafka: {}}\n", "kraft"),
        ("metadata: {name: c}\nspec: {kafka: {}, zookeeper: {replicas: 3}}\n", "zookeeper"),
        ("metadata: {annotations: {strimzi.io/kraft: enabled}}\nspec: {kafka: {}, zookeeper: {}}\n", "kraft"),
        ("metadata: {annotations: {strimzi.io/kraft: migration}}\nspec: {kafka: {}, zookeeper: {}}\n", None),
    ],
)
def test_the_controller_of_strimzi(tmp_path, text, mode):
    found = cluster(tmp_path, f"{STRIMZI}kind: Kafka\n{text}", "kafka.yaml", "3.9.0")
    assert value(resolve(found), "controller") == mode


def test_the_user_names_the_controller_and_may_not_contradict_a_file(tmp_path):
    origin = resolve(cluster(tmp_path, "broker.id=1\n", controller="kraft")).choices["controller"]
    assert (origin.value, origin.origin) == ("kraft", "--controller")
    # Of the bugs that are not explored, R10 is ZooKeeper's, and C13 KRaft's.
    for mode, own, other in (("kraft", "C13 (", "R10 ("), ("zookeeper", "R10 (", "C13 (")):
        notes = " ".join(resolve(cluster(tmp_path, "broker.id=1\n", controller=mode)).notes)
        assert own in notes and other not in notes
    with pytest.raises(UserError, match=r"--controller kraft: zookeeper\.connect \(server\.properties:1\) is of zoo"):
        cluster(tmp_path, "zookeeper.connect=z\n", controller="kraft")
    with pytest.raises(UserError, match=r"Kafka 4\.1\.0 has KRaft only"):
        cluster(tmp_path, "broker.id=1\n", version="4.1.0", controller="zookeeper")


POOL = f"{STRIMZI}kind: KafkaNodePool\nspec:\n  roles: [broker]\n  storage: {{type: ephemeral}}\n---\n"
KAFKA = f"{STRIMZI}kind: Kafka\nspec:\n  kafka:\n    config: {{min.insync.replicas: 2}}\n"
VARIABLES = "    environment: {KAFKA_PROCESS_ROLES: broker, KAFKA_NODE_ID: 1}\n"
MIN_ISR = "    environment: {KAFKA_MIN_INSYNC_REPLICAS: 2}\n"
SERVICE = f"services:\n  kafka:\n    image: apache/kafka\n{VARIABLES}"
POD = """\
apiVersion: apps/v1
kind: StatefulSet
spec:
  template:
    spec:
      volumes: [{name: tmp, emptyDir: {}}]
      containers:
      - name: kafka
        image: apache/kafka
        env: [{name: KAFKA_PROCESS_ROLES, value: broker}, {name: KAFKA_LOG_DIRS, value: /data/a}]
        volumeMounts: [{name: NAME, mountPath: /data}]
  volumeClaimTemplates: [{metadata: {name: data}}]
"""


@pytest.mark.parametrize(
    ("text", "disks"),
    [
        (POOL + KAFKA, "ephemeral"),
        (POOL.replace("broker", "controller") + KAFKA, None),
        (POOL.replace("ephemeral", "persistent-claim") + KAFKA, "kept"),
        (KAFKA + "    storage: {type: jbod, volumes: [{type: persistent-claim}, {type: ephemeral}]}\n", "ephemeral"),
        (SERVICE, "ephemeral"),
        (SERVICE + "    volumes: ['data:/var/lib/kafka/data']\n", "kept"),
        (SERVICE + "    volumes: [{type: tmpfs, target: /var/lib/kafka/data}]\n", "ephemeral"),
        (SERVICE + "    volumes: ['./x.yml:/etc/x.yml']\n", None),
        (SERVICE.replace("NODE_ID: 1", "LOG_DIRS: /a/b") + "    volumes: ['./x:/a']\n", "kept"),
        (SERVICE.replace("NODE_ID: 1", "LOG_DIRS: /a/b") + "    volumes: ['./x:/ab']\n", "ephemeral"),
        (POD.replace("NAME", "tmp"), "ephemeral"),
        (POD.replace("NAME", "data"), "kept"),
        # What is no table is left out.
        # The image alone, and one variable among others, show that a container runs a broker.
        (SERVICE.replace(VARIABLES, MIN_ISR).replace("apache/kafka", "r/x/cp-kafka:7.5@sha256:0"), "ephemeral"),
        (SERVICE.replace("apache/kafka", "own").replace("{", "{KAFKA_HEAP_OPTS: x, "), "ephemeral"),
        (SERVICE.replace(VARIABLES, MIN_ISR).replace("apache/kafka", "own"), None),
        ("process.roles=broker\n", None),
    ],
)
def test_whether_brokers_keep_their_disks(tmp_path, text, disks):
    name = "server.yaml" if ":" in text else "server.properties"
    found = cluster(tmp_path, text, name, "4.1.0")
    config = resolve(found)
    assert value(config, "broker.disks") == disks
    assert bool(found.ephemeral_disks) == (disks == "ephemeral")
    assert any("return with an empty disk" in note for note in config.notes) == (disks == "ephemeral")
    assert any("do not show whether a broker keeps its disk" in note for note in config.notes) == (disks is None)


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ("log.retention.hours=3\n", "retention.ms", "10800000"),
        ("log.retention.hours=3\nlog.retention.minutes=1\n", "retention.ms", "60000"),
        ("log.retention.minutes=-1\n", "retention.ms", "-1"),
        ("offsets.retention.minutes=1440\n", "offsets.retention.minutes", "1440"),
        ("log.retention.bytes=5\n", "retention.bytes", "5"),
        ("process.roles=broker\n", "retention.ms", "604800000"),
    ],
)
def test_retention_is_a_setting_in_effect(tmp_path, text, name, wanted):
    found = cluster(tmp_path, text)
    assert resolve(found)[name] == wanted
    assert not found.without_effect
    # The list of settings has those that a file gives.
    assert (name in [row[0] for row in setting_rows(resolve(found))]) == ("retention" in text)


@pytest.mark.parametrize(
    ("version", "client", "name", "wanted"),
    [
        ("2.8.0", "java", "session.timeout.ms", "10000"),
        ("3.0.0", "java", "session.timeout.ms", "45000"),
        ("2.8.0", "librdkafka", "session.timeout.ms", "45000"),
        ("3.7.0", "java", "delivery.timeout.ms", "120000"),
        ("3.7.0", "librdkafka", "delivery.timeout.ms", "300000"),
        ("3.7.0", "java", "group.protocol", "classic"),
        ("3.5.2", "java", "transaction.partition.verification.enable", None),
        ("3.6.0", "java", "transaction.partition.verification.enable", "true"),
    ],
)
def test_defaults_that_a_known_hazard_may_name(tmp_path, version, client, name, wanted):
    found = cluster(tmp_path, "enable.auto.commit=false\n", "consumer.properties", version, client=client)
    assert value(resolve(found), name) == wanted


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("producer", "acks=1\nlinger.ms=20\ndelivery.timeout.ms=30000\nrequest.timeout.ms=10000\nbatch.size=1\n"),
        ("consumer", "group.instance.id=hunter2\nsession.timeout.ms=6000\nisolation.level=read_committed\n"),
        ("server", "zookeeper.connect=hunter2\ndefault.replication.factor=3\nlog.retention.hours=1\nlog.dirs=/x\n"),
        ("client", "application.id=a\nprocessing.guarantee=exactly_once_v2\nproducer.linger.ms=1\n"),
    ],
)
def test_every_given_setting_is_in_one_list(tmp_path, name, text):
    found = cluster(tmp_path, text, f"{name}.properties")
    rows = list(setting_rows(resolve(found)))
    for number, line in enumerate(text.splitlines(), 1):
        setting = line.partition("=")[0].removeprefix("producer.")
        shown = [row for row in rows if row[2].endswith(f"{name}.properties:{number}") and row[0] != "controller"]
        assert len(shown) + (setting in found.without_effect) == 1, line
    assert "hunter2" not in str(rows)


@pytest.mark.parametrize(
    ("text", "version", "is_noted"),
    [
        (KAFKA.replace("kafka:\n", "kafka:\n    version: 3.9.1\n", 1), "4.1.0", True),
        (KAFKA.replace("kafka:\n", "kafka:\n    version: 4.1.0\n", 1), "4.1.0", False),
        (SERVICE.replace("apache/kafka", "apache/kafka:3.9.1"), "3.7.0", True),
        (SERVICE.replace("apache/kafka", "docker.io/apache/kafka:3.9.1"), "3.9.1", False),
        (SERVICE.replace("apache/kafka", "apache/kafka:latest"), "3.9.1", False),
    ],
)
def test_another_release_in_a_file_is_noted(tmp_path, text, version, is_noted):
    notes = cluster(tmp_path, text, "server.yaml", version).notes
    assert any(note.endswith(f"and the answers are for {version}: see --kafka") for note in notes) == is_noted
