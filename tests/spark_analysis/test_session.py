"""The Spark session: the environment of its executors, and its messages if it cannot start."""

from __future__ import annotations

import logging
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checker.errors import UserError
from spark_analysis import session as sessions

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession


def test_executors_run_this_interpreter_and_find_this_project(spark: SparkSession) -> None:
    def where(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        from checker import errors

        for batch in batches:
            yield pyarrow.record_batch(
                {"python": [sys.executable] * len(batch), "module": [errors.__file__] * len(batch)}
            )

    rows = spark.range(4, numPartitions=2).mapInArrow(where, "python string, module string").distinct().collect()
    from checker import errors

    assert [tuple(row) for row in rows] == [(sys.executable, errors.__file__)]


def test_session_keeps_the_interrupt_handler(spark: SparkSession) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_second_session_in_a_process_is_refused(spark: SparkSession) -> None:
    with pytest.raises(UserError, match="already has an open Spark session"):
        sessions.session("local[1]")


@pytest.mark.parametrize("master", ["spork", "local[]", "spark://host", "http://host:7077", ""])
def test_wrong_master_url_is_refused(master: str) -> None:
    with pytest.raises(UserError, match=r"write local\[CORES\], spark://HOST:PORT"):
        sessions.session(master)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("local", "local[1,4]"),
        ("local[3]", "local[3,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("yarn", "yarn"),
        ("spark://a:7077", "spark://a:7077"),
    ],
)
def test_local_master_gets_several_attempts_for_each_task(given: str, used: str) -> None:
    assert sessions.master_url(given) == used


def _fake_java(folder: Path, script: str) -> None:
    (folder / "bin").mkdir()
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)


def test_a_session_has_the_name_and_the_memory_that_are_asked_for() -> None:
    configuration = sessions._configuration("local[2]", "walks", "3g")
    assert (configuration["spark.app.name"], configuration["spark.driver.memory"]) == ("walks", "3g")
    assert configuration["spark.master"].startswith("local[2") and configuration["spark.ui.enabled"] == "false"


def test_missing_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="Java 17 or newer, and no java is on the PATH: install Java 17"):
        sessions.session()


def test_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UserError, match="which has no bin/java"):
        sessions.session()


@pytest.mark.parametrize(("version", "release"), [("1.8.0_402", 8), ("16.0.2", 16)])
def test_old_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, release: int) -> None:
    _fake_java(tmp_path, f"echo 'openjdk version \"{version}\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UserError, match=f"is Java {release}: install Java 17 or newer"):
        sessions.session()


def test_java_that_is_new_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_java(tmp_path, "echo 'openjdk version \"17.0.1\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with sessions.LazySession("local[3]") as session:
        assert session.cores == 3 and not session.is_started


def test_java_that_reports_no_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_java(tmp_path, "exit 1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UserError, match="does not report its version"):
        sessions.session()


def test_missing_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(UserError, match=r"pyspark, which is not installed: pip install 'tidemark\[spark\]'"):
        sessions.session()


def test_missing_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match="walks need pyarrow, which is not installed"):
        sessions.require_arrow()


@pytest.mark.parametrize(
    ("logged", "url", "message"),
    [
        ("java.lang.UnsupportedClassVersionError: x", "yarn", "is too old for this Spark"),
        ("java.net.BindException: x", "yarn", "its port is in use"),
        ("Address already in use", "yarn", "its port is in use"),
        ("java.net.UnknownHostException: box7: box7: Name or service not known", "local[2,4]", "machine, box7, has no"),
        ("java.net.UnknownHostException: box7", "spark://box7:1", "the Spark master spark://box7:1 does not answer"),
        ("All masters are unresponsive", "spark://box7:1", "does not answer"),
        ("Failed to connect to box7", "spark://box7:1", "does not answer"),
        ("a.AnException: first\nb.AnError: second.\n\tat x", "yarn", "did not start on yarn, with .*: second$"),
        ("first\nsecond.\n", "yarn", "did not start on yarn, with .*: second$"),
        ("\n", "yarn", "did not start on yarn, with .*: it gave no reason"),
    ],
)
def test_why_spark_did_not_start(logged: str, url: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        raise sessions._reason(logged, url)


def test_an_interrupt_is_not_logged_twice() -> None:
    records = [logging.makeLogRecord({"msg": text}) for text in ("KeyboardInterrupt while sending command.", "lost")]
    assert list(map(sessions._is_not_interrupt, records)) == [False, True]


def test_workers_of_a_cluster_get_the_packages() -> None:
    assert "spark.executorEnv.PYTHONPATH" not in sessions._configuration("spark://a:7077", "walks", "3g")
    with zipfile.ZipFile(sessions._packages()) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == set(sessions.PACKAGES) and "traces/storage.py" in names
    assert not any(name.endswith((".pyc", "/")) for name in names)


def test_the_working_directory_is_searched_last_and_only_if_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "/own")
    project = str(Path(__file__).parents[2])
    assert sessions._worker_path() == [project, "/own"]
    monkeypatch.syspath_prepend(str(tmp_path))
    assert sessions._worker_path() == [project, "/own", str(tmp_path)]


_WITH_PORT = """
import sys
from checker.errors import UserError
from spark_analysis.session import session
try:
    session("local[1]", settings={"spark.driver.port": sys.argv[1], "spark.port.maxRetries": "0"})
except UserError as error:
    print(error)
"""


@pytest.mark.slow
def test_port_in_use() -> None:
    if sessions.java_command() is None:
        pytest.skip("no Java is installed, which Spark needs")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, "-c", _WITH_PORT, str(taken.getsockname()[1])]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=root)
    assert (done.stdout.count("\n"), done.stderr, done.returncode) == (1, "", 0)
    assert done.stdout.startswith("Spark cannot listen: its port is in use")
