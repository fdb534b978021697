"""The Spark session: started quietly and the same way everywhere; what keeps it from starting is said in a sentence.

Without a master Spark runs inside this machine, on `local[cores]`. With one, this process is the driver of that
cluster (client mode) and the packages `checker`, `traces` and `spark_analysis` must be importable on its executors.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.errors import InputError, MissingExtraError, UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
"""What Spark 4 needs; a newer one may do."""

TASK_ATTEMPTS = 4
"""How often a task may fail: a local Spark has one attempt unless it is told otherwise, a cluster has four."""

DRIVER_MEMORY = "2g"

FORWARDING = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"}
"""Settings for a JVM that only passes packed rows on: compiled quickly, it takes half the time for such jobs."""

_MASTER = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://.+:\d+.*|yarn|k8s://.+")
_LOOPBACK = "127.0.0.1"
_RECORDS_IN_BATCH = 1 << 16


def session(
    master: str | None = None,
    *,
    name: str = "tidemark",
    memory: str = DRIVER_MEMORY,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a new Spark session; end it with `stop`.

    `master`: a Spark master URL; None: `local[cores]`. `memory`: of the driver's JVM, which in a local session does all
    the shuffling too. `settings`: Spark's own, over those made here and those of spark-defaults.conf. Raises UserError
    where PySpark or a fitting Java is missing, a port is taken, or the master is no URL or does not answer.
    """
    url = master_url(master)
    require_pyspark()
    _require_java()
    # The executors run this very interpreter: where it is elsewhere on a cluster, the user has said so.
    interpreter = sys.executable if url.startswith("local") else os.environ.get("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_PYTHON"] = interpreter
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # What PySpark says of pandas' newest release, at every use: nothing here goes through pandas.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    logging.getLogger().addFilter(_is_no_interrupt)
    with _own_interrupts():
        return _started(_configuration(url, name, memory) | dict(settings or {}))


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Say of what is logged whether it is to be shown: Py4J logs each Ctrl-C with a traceback, and raises it too."""
    return "KeyboardInterrupt while sending command" not in str(record.msg)


def stop(spark: SparkSession) -> None:
    """End a session: its executors and Python workers with it. The JVM itself ends with this process."""
    with _own_interrupts(), suppress(Exception):
        spark.stop()


@contextmanager
def opened(master: str | None = None, **options: Any) -> Iterator[SparkSession]:
    """Yield a session made by `session` and stop it afterwards, whatever happens."""
    spark = session(master, **options)
    try:
        yield spark
    finally:
        stop(spark)


def master_url(master: str | None) -> str:
    """Return the master to use; raise UserError where it is no master URL.

    A local one gets several attempts for each task, as a cluster has: a Python worker that dies costs no run.
    """
    if master is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return f"local[{cores},{TASK_ATTEMPTS}]"
    if not _MASTER.fullmatch(master):
        raise InputError(f"--master {master}: write local[CORES], spark://HOST:PORT, yarn or k8s://URL")
    if master == "local":
        return f"local[1,{TASK_ATTEMPTS}]"
    if re.fullmatch(r"local\[[^,]*\]", master):
        return f"{master[:-1]},{TASK_ATTEMPTS}]"
    return master


def require_pyspark() -> None:
    """Raise UserError unless what the extra `spark` installs is there."""
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ModuleNotFoundError as error:
        missing = (error.name or "pyspark").split(".")[0]
        raise MissingExtraError(
            f"Spark needs {missing}, which is not installed: pip install 'tidemark[spark]', "
            "or pip install -e '.[spark]' in a checkout"
        ) from None


def _require_java() -> None:
    """Raise UserError unless the Java that Spark would start is there and new enough."""
    java = java_command()
    needed = f"install Java {OLDEST_JAVA} or newer and set JAVA_HOME to its folder"
    if java is None:
        where = f"JAVA_HOME is {home}, without bin/java" if (home := os.environ.get("JAVA_HOME")) else "there is none"
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or newer, and {where}: {needed}")
    version = _java_version(java)
    if version is None:
        raise InputError(f"{java} does not tell its version, so Spark cannot run on it: {needed}")
    if version < OLDEST_JAVA:
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is Java {version}: {needed}")


def java_command() -> str | None:
    """Return the Java that Spark starts: that of JAVA_HOME, or the first on the PATH; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(Path(home, "bin", "java")) if home else shutil.which("java")


def _java_version(java: str) -> int | None:
    """Return the feature release of a Java (8, 17, ...), or None where it does not say."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found.group(1)) if found else None


def _configuration(url: str, name: str, memory: str) -> dict[str, str]:
    configuration = {
        "spark.master": url,
        "spark.app.name": name,
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.worker.reuse": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_RECORDS_IN_BATCH),
        "spark.sql.session.timeZone": "UTC",
    }
    if url.startswith("local"):
        root = str(Path(__file__).resolve().parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        configuration |= {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(paths),
        }
    return configuration


def _started(configuration: dict[str, str]) -> SparkSession:
    """Start a context, and the JVM that it needs where none runs yet."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise InputError("a Spark session is open in this process already: stop it first")
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(configuration.items()))
    log = _log()
    written = log.stat().st_size if log.exists() else 0
    try:
        if SparkContext._gateway is None:
            with log.open("ab") as output:
                to_log = {"stdout": output, "stderr": output}
                SparkContext._gateway = launch_gateway(conf, to_log)  # type: ignore[no-untyped-call]
            SparkContext._jvm = SparkContext._gateway.jvm
        return SparkSession(SparkContext(conf=conf))
    except Exception as error:
        told = log.read_bytes()[written:].decode(errors="replace")
        raise _reason(f"{told}\n{error}", configuration["spark.master"]) from None


@functools.cache
def _log() -> Path:
    """Return the file that takes what the JVM and the Python workers print; it goes with this process."""
    folder = tempfile.mkdtemp(prefix="tidemark-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / "spark.log"


def _reason(told: str, url: str) -> UserError:
    """Return why Spark did not start, from what it logged and raised."""
    if "UnsupportedClassVersionError" in told:
        return InputError(
            f"{java_command()} is too old for this Spark: install Java {OLDEST_JAVA}, set JAVA_HOME to it"
        )
    if "BindException" in told or "Address already in use" in told:
        return InputError(
            "Spark cannot listen: a port that it was given is in use, or the address is not this machine's: free it, "
            "or set another (spark.driver.port, spark.blockManager.port, SPARK_LOCAL_IP)"
        )
    if "masters are unresponsive" in told or "UnknownHostException" in told or "Failed to connect to" in told:
        return InputError(f"the Spark master {url} does not answer: check its address, and that it runs")
    causes = re.findall(r"(?:Exception|Error)[^\n:]*: ([^\n]+)", told) or told.strip().splitlines()[-1:]
    why = causes[-1].strip().rstrip(".") if causes else "it says nothing"
    return InputError(f"Spark did not start on {url}, with {java_command()}: {why}")


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep this process's own answer to Ctrl-C: a Spark context installs one that ends in KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
