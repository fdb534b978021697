"""The commands on a server of Spark Connect with two cores, which gets all files from an object store.

`python -m pytest -m slow tests/spark_analysis/test_spark_connect.py` runs it.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.standalone_cluster import logged
from spark_analysis import session as sessions
from tests.spark_analysis.cluster_job import ClusterJob
from tests.support.object_store import object_store, place
from traces.storage import Location

ROOT = Path(__file__).parents[2]
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
MOST_SECONDS = 300


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """Yield the URL of a server of two cores in an empty folder; skip the test if something that it needs is missing.

    The server's working directory and environment do not have the packages of this project.
    """
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if sessions.java_command() is None:
        pytest.skip("no Java is installed, which Spark needs")
    home = Path(pyspark.__file__).parent
    if not list(home.glob("jars/spark-connect_*.jar")):
        pytest.skip("this PySpark has no server of Spark Connect")
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]", *words, "--class", SERVER, "spark-internal"]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_REMOTE")}
    log = folder / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=environment | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
        )
    try:
        port = logged(log, r"Spark Connect server started at: \S*:(\d+)")
        yield f"sc://localhost:{port}"
    finally:
        server.terminate()
        server.wait(60)


def checker(*words: str) -> tuple[int, str]:
    """Run a command; return its exit status and its errors."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    command = [sys.executable, "-m", "checker", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
    return done.returncode, done.stderr


def folder_contents(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below a folder, without the name of the folder in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(str(folder).encode(), b"FOLDER")
        for path in folder.rglob("*")
        if path.is_file()
    }


def _assert_driver(url: str, folder: Path, results: Location) -> None:
    """Run the driver of the test of the cluster, which gives every level to the executors."""
    job = ClusterJob(folder, results)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        job.command(sys.executable, url),
        env=os.environ | {"PYTHONPATH": path},
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        timeout=MOST_SECONDS,
        check=True,
    )
    job.check(done.stdout)


@pytest.mark.slow
def test_a_connect_server_gives_the_results_of_this_machine(tmp_path: Path) -> None:
    server = tmp_path / "server"
    server.mkdir()
    # The server starts after the store, so that its workers find the store by their environment.
    with object_store("connect") as store, connect_server(server) as url:
        _assert_driver(url, tmp_path, place(store, "results"))
        here, there = tmp_path / "report-here", tmp_path / "report-there"
        walks = str(tmp_path / "walks")
        assert checker("report", walks, "--out", str(here)) == (0, "")
        assert checker("report", walks, "--out", str(there), "--master", url) == (0, "")
        assert folder_contents(there) == folder_contents(here)
        status, errors = checker("report", str(tmp_path / "nothing"), "--master", url)
        assert (status, errors.count("\n")) == (2, 1)
    status, errors = checker("report", walks, "--out", str(there), "--master", url)
    sentence = f"error: the Spark Connect server {url} does not answer: check its address and whether it is running\n"
    assert (status, errors) == (2, sentence)
