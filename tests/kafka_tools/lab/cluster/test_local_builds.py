"""`--lib DIR`: the jars of a local build in place of those of a release. No test needs a network."""

import json
import os
import sys

import pytest

from checker.cli.app import main
from checker.errors import InputError
from kafka_tools.experiments.experiment import read_experiment
from kafka_tools.lab.cluster import producer_process
from kafka_tools.lab.cluster.cluster import Cluster
from kafka_tools.lab.cluster.distribution import class_path, require_java

BROKER, CLIENT = "kafka_2.13-4.5.0-SNAPSHOT.jar", "kafka-clients-4.5.0-SNAPSHOT.jar"


@pytest.fixture
def java(tmp_path, monkeypatch):
    """A Java of the right release that writes its arguments to a file and ends."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="17.0.1"\n')
    java.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\necho \'openjdk version "17.0.1"\' >&2\n')
    java.chmod(0o755)
    require_java.cache_clear()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{os.path.dirname(sys.executable)}")
    yield tmp_path / "calls"
    require_java.cache_clear()


def build(folder, *jars):
    folder.mkdir(parents=True, exist_ok=True)
    for jar in jars:
        (folder / jar).write_bytes(b"")
    return folder


def test_the_jars_of_a_local_build_are_the_class_path(java, tmp_path, monkeypatch):
    folder = build(tmp_path / "libs", BROKER, CLIENT, "zookeeper-3.8.jar")
    monkeypatch.chdir(tmp_path)
    assert class_path("4.3.1", str(folder)) == class_path("4.3.1", "libs") == f"{folder}/*"


@pytest.mark.parametrize(
    ("jars", "version", "message"),
    [
        ([], "4.3.1", "is no build of Kafka, because it has no jar of the broker"),
        ([CLIENT, "guava.jar"], "4.3.1", "has no jar of the broker"),
        ([BROKER], "4.3.1", "has no jar of the client"),
        ([BROKER, "kafka-clients-4.5.0-SNAPSHOT-javadoc.txt"], "4.3.1", "has no jar of the client"),
        (["kafka_2.13-3.9.2.jar", CLIENT], "4.3.1", "of Kafka 3.9.2: --kafka 4.3.1 needs one of 4.x"),
        ([BROKER, CLIENT], "3.9.2", "of Kafka 4.5.0-SNAPSHOT: --kafka 3.9.2 needs one of 3.x"),
        ([BROKER, "kafka_2.13-4.3.1.jar", CLIENT], "4.3.1", "of Kafka 4.3.1, 4.5.0-SNAPSHOT: --kafka"),
        ([BROKER, CLIENT], "4.5.0-SNAPSHOT", "is not like 4.3.1"),
    ],
)
def test_a_folder_that_is_no_build_of_kafka_is_one_sentence(java, tmp_path, capsys, jars, version, message):
    folder = build(tmp_path / "libs", *jars)
    for words in (["cluster", "up", str(tmp_path / "new")], ["experiment", "i7-restart"]):
        assert main([*words, "--kafka", version, "--lib", str(folder)]) == 2
        shown = capsys.readouterr().err
        assert message in shown and shown.count("error:") == 1 and "Traceback" not in shown
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["missing", "a:b"])
def test_a_folder_that_cannot_be_a_class_path(java, tmp_path, name):
    if name != "missing":
        build(tmp_path / name, BROKER, CLIENT)
    with pytest.raises(InputError, match=r"is no build of Kafka|cannot be a class path"):
        class_path("4.3.1", str(tmp_path / name))


def test_a_cluster_keeps_its_build(java, tmp_path, capsys):
    """The formatting tool and, later, brokers and producers get these jars; a build that is gone is named."""
    folder = build(tmp_path / "libs", BROKER, CLIENT)
    cluster = Cluster.create(tmp_path / "c", "4.3.1", 1, lib=str(folder))
    assert f"-cp {folder}/* kafka.tools.StorageTool" in java.read_text()
    assert json.loads((tmp_path / "c" / "cluster.json").read_text())["lib"] == str(folder)
    reopened = Cluster.open(tmp_path / "c")
    assert (reopened.lib, reopened.build) == (str(folder), f"in {folder} (like 4.3.1)") and cluster.lib == reopened.lib
    (folder / BROKER).unlink()
    assert main(["cluster", "start", str(tmp_path / "c")]) == 2
    assert "has no jar of the broker" in capsys.readouterr().err
    assert main(["cluster", "up", str(tmp_path / "c"), "--lib", str(folder)]) == 2
    assert "whose settings do not change" in capsys.readouterr().err


def test_an_experiment_names_the_build(java, tmp_path):
    import dataclasses

    folder = build(tmp_path / "libs", BROKER, CLIENT)
    experiment = dataclasses.replace(read_experiment("i7-restart"), lib=str(folder))
    assert experiment.build == f"in {folder} (like {experiment.kafka})"
    assert f"{folder}/*" in producer_process.java_driver(experiment, tmp_path / "producer.log")


def test_a_file_names_no_build(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text('lib = "/tmp"\ntitle = "x"\nsteps = ["finish"]\n')
    with pytest.raises(InputError, match="unknown key lib"):
        read_experiment(str(path))


@pytest.mark.parametrize("name", ["all", "list", "soak"])
def test_a_build_is_for_one_experiment(name, capsys, tmp_path):
    assert main(["experiment", name, "--lib", str(tmp_path), "--out", str(tmp_path / "o")]) == 2
    assert "--lib belongs to one experiment" in capsys.readouterr().err


def test_the_other_verbs_take_no_build(capsys, tmp_path):
    assert main(["cluster", "status", str(tmp_path), "--lib", str(tmp_path)]) == 2
    assert "only up takes it" in capsys.readouterr().err
