"""A standalone Spark cluster on this machine: a master and workers of one core, each in its own Java machine."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 120
_HOST = "127.0.0.1"
_MEMORY = "1200m"


@dataclass(frozen=True)
class StandaloneCluster:
    """A running cluster: the URL of its master, and the processes of its workers."""

    url: str
    workers: tuple[subprocess.Popen[bytes], ...]
    folder: Path


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[StandaloneCluster]:
    """Yield a cluster with workers of one core; its logs and the files of its executors are in `folder`.

    Raises TimeoutError if a process does not start.
    """
    with ExitStack() as running:
        master = ["org.apache.spark.deploy.master.Master", "--host", _HOST, "--port", "0", "--webui-port", "0"]
        running.enter_context(_process(master, folder / "master.log"))
        url = logged(folder / "master.log", r"Starting Spark master at (spark://\S+)")
        started = []
        for number in range(workers):
            place = ["--host", _HOST, "--port", "0", "--webui-port", "0", "--work-dir", str(folder / f"work-{number}")]
            command = ["org.apache.spark.deploy.worker.Worker", "-c", "1", "-m", _MEMORY, *place, url]
            started.append(running.enter_context(_process(command, folder / f"worker-{number}.log")))
        for number in range(workers):
            logged(folder / f"worker-{number}.log", r"(Successfully registered with master)")
        yield StandaloneCluster(url, tuple(started), folder)


@contextmanager
def _process(arguments: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a class of Spark, and end it with the block."""
    import pyspark

    home = Path(pyspark.__file__).parent
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else Path("java")
    options = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{home}/jars/*"]
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(java), *options, *arguments], stdout=output, stderr=output, env=environment, cwd=log.parent
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def logged(log: Path, pattern: str) -> str:
    """Wait until a log has a line, and return the group of the pattern."""
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise TimeoutError(f"no process of Spark wrote {pattern!r} to {log}:\n{log.read_text()[-2000:]}")
