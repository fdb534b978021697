"""The files and processes of a cluster without Kafka: Java, Maven, proxies in a process, producers that end."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.errors import InputError
from checker.run.endings import StoppedError
from kafka_tools.lab.cluster import cluster as module
from kafka_tools.lab.cluster import distribution
from kafka_tools.lab.cluster.cluster import BROKER, CLIENT, CONTROLLER, Cluster, Node, cluster_identifier
from kafka_tools.lab.cluster.distribution import libraries, require_java
from kafka_tools.lab.cluster.process import LOOPBACK, _first_outgoing_port, free_ports
from kafka_tools.lab.cluster.producer_process import ProducerProcess, librdkafka_driver
from kafka_tools.lab.cluster.proxy_process import send_command, start_proxies
from kafka_tools.lab.cluster.reassignment import _error, _request


@pytest.fixture(autouse=True)
def java_is_looked_up_again():
    require_java.cache_clear()
    yield
    require_java.cache_clear()


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return folder


def test_an_identifier_is_not_taken_for_an_option():
    """One of 64 random identifiers begins with `-`."""
    identifiers = {cluster_identifier() for _ in range(2000)}
    assert len(identifiers) == 2000
    assert {len(identifier) for identifier in identifiers} == {22}
    assert not any(identifier.startswith("-") for identifier in identifiers)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("11.0.2", "a broker needs Java 17 or newer, and {java} is Java 11: set JAVA_HOME to a newer one"),
        ("1.8.0_292", "{java} is Java 8"),
        ("none", "{java} does not report its version"),
    ],
)
def test_a_java_that_is_too_old(tmp_path, monkeypatch, version, message):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    with pytest.raises(InputError) as caught:
        libraries("4.3.1")
    assert message.format(java=tmp_path / "bin" / "java") in caught.value.message


def test_no_java(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="a broker needs Java 17, and no java is on the PATH or in JAVA_HOME"):
        libraries("4.3.1")


def test_no_maven(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "17.0.1")))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TIDEMARK_KAFKA_CACHE", str(tmp_path / "cache"))
    assert main(["cluster", "up", str(tmp_path / "new")]) == 2
    assert "the jars of Kafka 4.3.1 are fetched by Maven, and no mvn is on the PATH" in capsys.readouterr().err


def fake_maven(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(folder / "jdk", "17.0.1")))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("TIDEMARK_KAFKA_CACHE", str(folder / "cache"))
    maven = folder / "mvn"
    maven.write_text(f"#!/bin/sh\n{script}\n")
    maven.chmod(0o755)


def test_what_maven_says_is_shown_without_colours(tmp_path, monkeypatch):
    fake_maven(tmp_path, monkeypatch, "printf '\\033[0m[ERROR] Connection refused\\nmore\\n'\nexit 1")
    with pytest.raises(InputError) as caught:
        libraries("4.3.1")
    assert caught.value.message == "Maven cannot fetch the jars of Kafka 4.3.1: Connection refused"


def test_a_long_message_of_maven_keeps_its_end(tmp_path, monkeypatch):
    fake_maven(tmp_path, monkeypatch, f"echo '[ERROR] Plugin {'x' * 600}: Read timed out'; exit 1")
    with pytest.raises(InputError) as caught:
        libraries("4.3.1")
    message = caught.value.message
    assert message.startswith("Maven cannot fetch the jars of Kafka 4.3.1: Plugin xxx")
    assert message.endswith("xxx: Read timed out") and len(message) < 500


def test_maven_has_a_time_limit(tmp_path, monkeypatch):
    fake_maven(tmp_path, monkeypatch, "exec sleep 60")
    monkeypatch.setattr(distribution, "_SECONDS", 0.2)
    with pytest.raises(InputError, match=r"Maven did not fetch the jars of Kafka 4\.3\.1 within 0\.2 s"):
        libraries("4.3.1")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mvn") is None or shutil.which("java") is None, reason="no Maven or no Java")
def test_a_repository_that_accepts_and_says_nothing(tmp_path, monkeypatch, capsys):
    """Maven up to 3.8 reads other limits than later ones, and by default it waits for 30 minutes."""
    monkeypatch.setenv("TIDEMARK_KAFKA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MAVEN_OPTS", f"-Duser.home={tmp_path}")
    monkeypatch.setattr(distribution, "_SILENT_SECONDS", 1)
    monkeypatch.setattr(distribution, "_SECONDS", 60)
    (tmp_path / ".m2").mkdir()
    with socket.create_server((LOOPBACK, 0)) as silent:
        url = f"http://{LOOPBACK}:{silent.getsockname()[1]}"
        mirror = f"<mirror><id>silent</id><mirrorOf>*</mirrorOf><url>{url}</url></mirror>"
        (tmp_path / ".m2" / "settings.xml").write_text(f"<settings><mirrors>{mirror}</mirrors></settings>")
        assert main(["experiment", "i7-restart"]) == 2
    error = capsys.readouterr().err
    assert "Maven cannot fetch the jars of Kafka 4.3.1: " in error and "Read timed out" in error


def cluster_without_brokers(folder: Path, *, has_proxies: bool) -> Cluster:
    """Return a cluster whose nodes were neither formatted nor started."""
    folder.mkdir()
    ports = {BROKER: 1, CONTROLLER: 2, CLIENT: 3}
    nodes = [Node(number, ports, dict.fromkeys(ports, 0)) for number in (1, 2)]
    cluster = Cluster(folder, "4.3.1", nodes, "identifier", has_proxies=has_proxies)
    cluster._save()
    return cluster


def test_proxies_in_a_process(tmp_path, capsys):
    folder = tmp_path / ("a long name " * 12)
    cluster = cluster_without_brokers(folder, has_proxies=True)
    start_proxies(cluster)
    process = cluster.proxies
    assert process is not None and process.is_alive
    try:
        assert send_command(cluster, "status") == []
        assert main(["cluster", "cut", str(folder), "2", "1"]) == 0
        assert capsys.readouterr().out == "brokers 1 and 2 are cut off from each other\n"
        assert send_command(Cluster.open(folder), "status") == [[1, 2]]
        assert main(["cluster", "heal", str(folder)]) == 0
        assert capsys.readouterr().out == "all brokers reach each other\n"
    finally:
        cluster.down()
    assert not process.is_alive
    with pytest.raises(InputError, match=r"the proxies of .* do not run: `cluster up .*` starts them"):
        send_command(cluster, "heal")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cut", "1"], "cut separates two brokers: write cut DIR 1 2"),
        (["cut", "1", "1"], "cut separates two brokers"),
        (["cut", "1", "3"], "the cluster has the brokers 1 to 2, not 3"),
        (["heal", "1"], "heal ends every cut: write heal DIR"),
        (["cut", "1", "2"], "has no proxies: make one with `cluster up DIR --proxies`"),
    ],
)
def test_wrong_cuts(tmp_path, capsys, words, message):
    cluster_without_brokers(tmp_path / "it", has_proxies=False)
    assert main(["cluster", words[0], str(tmp_path / "it"), *words[1:]]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("verb", "needed"), [("pause", "running"), ("resume", "paused")])
def test_a_stopped_broker_is_neither_paused_nor_resumed(tmp_path, capsys, verb, needed):
    cluster_without_brokers(tmp_path / "it", has_proxies=False)
    assert main(["cluster", verb, str(tmp_path / "it"), "2"]) == 2
    assert f"broker 2 is stopped: {verb} needs a {needed} broker" in capsys.readouterr().err
    assert main(["cluster", verb, str(tmp_path / "it")]) == 0


def test_only_a_stopped_disk_is_wiped(tmp_path, monkeypatch):
    cluster = cluster_without_brokers(tmp_path / "it", has_proxies=False)
    monkeypatch.setattr(Node, "state", "running")
    with pytest.raises(InputError, match="broker 1 is running: stop it before its disk is replaced"):
        cluster.wipe(cluster.nodes[0])


def test_a_broker_that_starts_too_slowly_decides_nothing(tmp_path, monkeypatch):
    cluster = cluster_without_brokers(tmp_path / "it", has_proxies=False)
    monkeypatch.setattr(Node, "state", "running")
    monkeypatch.setattr(module, "is_listening", lambda port: False)
    with pytest.raises(StoppedError, match="broker 1 does not listen after 180 s") as caught:
        cluster._wait_until_up(cluster.nodes[0], time.monotonic())
    assert caught.value.exit_status == 3


def test_a_port_that_another_process_has_taken_does_not_block_the_end(tmp_path, monkeypatch):
    cluster = cluster_without_brokers(tmp_path / "it", has_proxies=False)
    monkeypatch.setattr(module, "is_listening", lambda port: True)
    monkeypatch.setattr(module, "STOP_SECONDS", 0.01)
    cluster.kill(cluster.nodes)
    assert [node.state for node in cluster.nodes] == ["stopped", "stopped"]


def test_free_ports_are_reserved_and_not_those_of_outgoing_connections():
    ports = free_ports(40)
    assert len(set(ports)) == 40 and max(ports) < _first_outgoing_port()
    script = f"from kafka_tools.lab.cluster.process import _reserve; print([_reserve(port) for port in {ports[:3]}])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[False, False, False]"


def test_the_request_for_replicas():
    message = _request("tide", 3, [2, 1])
    assert message == bytes.fromhex("002d000000000001ffff00000075300205746964650200000003030000000200000001000000")
    front = bytes.fromhex("000000010000000000")
    fine = bytes.fromhex("0000000205746964650200000003000000000000")
    assert _error(front + fine) == 0
    assert _error(front + fine.replace(bytes.fromhex("000000030000"), bytes.fromhex("000000030027"))) == 39
    assert _error(front + bytes.fromhex("0029000100")) == 41


@pytest.mark.skipif(importlib.util.find_spec("confluent_kafka") is None, reason="confluent-kafka is not installed")
def test_a_producer_that_ends_says_why(tmp_path):
    settings = {"bootstrap.servers": "127.0.0.1:1", "no.such.setting": "1"}
    producer = ProducerProcess(librdkafka_driver(), "topic", settings, tmp_path / "out")
    end = time.monotonic() + 20
    while producer.is_alive and time.monotonic() < end:
        time.sleep(0.02)
    assert "No such configuration property" in producer.last_words
    producer.end()


@pytest.mark.skipif(importlib.util.find_spec("confluent_kafka") is None, reason="confluent-kafka is not installed")
def test_librdkafka_reports_each_record(tmp_path):
    settings = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": "100"}
    producer = ProducerProcess(librdkafka_driver(), "topic", settings, tmp_path / "out")
    producer.send(["r1", "r2"])
    assert producer.finish(20)
    assert producer.sent == ["r1", "r2"] and {future.failure for future in producer.futures} == {"_MSG_TIMED_OUT"}
    assert min(future.milliseconds for future in producer.futures) >= 100 and os.path.exists(tmp_path / "out")
    producer.end()
