"""A standalone cluster of two workers of one core, with all folders in an object store; an executor is killed.

`python -m pytest -m slow tests/spark_analysis/test_standalone_cluster.py` runs it.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.standalone_cluster import StandaloneCluster, standalone_cluster
from spark_analysis import session as sessions
from spark_analysis.walks.records import WALKS
from tests.spark_analysis.cluster_job import ClusterJob
from tests.support.object_store import object_store, place
from traces.storage import Location

ROOT = Path(__file__).parents[2]
MOST_SECONDS = 400


@pytest.mark.slow
def test_a_cluster_gives_the_results_of_this_machine(tmp_path: Path) -> None:
    """The killed executor is the first one that runs when a part of the walks appears: its tasks are repeated."""
    if sessions.java_command() is None:
        pytest.skip("no Java is installed, which Spark needs")
    with object_store("cluster") as url, standalone_cluster(tmp_path) as cluster:
        job = ClusterJob(tmp_path, place(url, "results"))
        environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
        driver = subprocess.Popen(
            job.command(sys.executable, cluster.url), env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        try:
            _kill_executor(cluster, job.results / "walks" / WALKS, driver)
            output, _ = driver.communicate(timeout=MOST_SECONDS)
        finally:
            driver.kill()
        assert driver.returncode == 0
        job.check(output)


def _kill_executor(cluster: StandaloneCluster, parts: Location, driver: subprocess.Popen[str]) -> None:
    """Kill an executor when a part of the walks appears."""
    ends = time.monotonic() + MOST_SECONDS
    while time.monotonic() < ends and driver.poll() is None:
        if any(parts.glob("part-*")):
            executors = [child for worker in cluster.workers for child in _children(worker.pid)]
            assert executors, "no worker has an executor"
            os.kill(executors[0], signal.SIGKILL)
            return
        time.sleep(0.05)
    raise AssertionError("the driver ended before an executor was killed")


def _children(process: int) -> list[int]:
    files = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]
