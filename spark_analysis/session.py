"""Start and stop of a Spark session, with one sentence for each reason why it cannot start.

Without a master, Spark runs on this machine (`local[cores]`). With a master, this process is the driver of that
cluster (client mode), or a client of Spark Connect. Its executors get the packages of this project from the driver; the
packages that these depend on must be installed there. A process that `spark-submit` started uses the master and the
settings that were given there.
"""

from __future__ import annotations

import atexit
import functools
import importlib
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
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.errors import InputError, MissingExtraError, UserError
from checker.run.scratch_folders import scratch_folder
from checker.run.workers import default_workers
from spark_analysis.job_errors import spark_errors_as_input_errors
from spark_analysis.user_settings import settings_of_submit, user_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
"""The oldest Java release that Spark 4 supports."""

TASK_ATTEMPTS = 4
"""Attempts for each task. Spark's defaults are one in a local session and four on a cluster."""

DRIVER_MEMORY = "2g"

EXPLORATION = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms64m",
}
"""Settings for a JVM through which no states pass, only reports of tasks: little memory, and fast JIT compilation."""

_FORWARDING = "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"
"""Options for a JVM that only forwards packed rows and adds up counts: fast JIT compilation halves the time of such
jobs."""

PACKAGES = ("checker", "kafka_tools", "spark_analysis", "specs", "traces")
"""The packages of this project, which the executors of a cluster get from the driver."""

REQUIRED = {
    "spark.master",
    "spark.python.worker.reuse",
    "spark.sql.execution.arrow.pyspark.enabled",
    "spark.sql.session.timeZone",
    "spark.executorEnv.PYTHONPATH",
    "spark.executorEnv.PYTHONSAFEPATH",
}
"""Settings that the user cannot change: the results, or the code that the workers load, depend on them."""

_MASTER = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://.+:\d+.*|yarn|k8s://.+|sc://.+")
_LOOPBACK = "127.0.0.1"

_CONNECT = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.sql.session.timeZone": "UTC",
}
"""The settings of a session of Spark Connect: its server has the others."""
_CONNECT_SECONDS, _CONNECT_ATTEMPTS = 10, 6
"""The time in which a server must accept a connection; and the attempts of a later request, which take a minute."""

_RECORDS_IN_BATCH = 1 << 16
_MOST_CORES = 1 << 16


def session(
    master: str | None = None,
    *,
    name: str = "tidemark",
    memory: str = DRIVER_MEMORY,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a new Spark session; end it with `stop`.

    `master` is a Spark master URL; None stands for `local[cores]`. `memory` is the heap of the driver's JVM, which also
    does the shuffling in a local session. `settings` are further Spark settings. What the user has set in
    spark-defaults.conf or PYSPARK_SUBMIT_ARGS overrides all of them, except for REQUIRED. Raises MissingExtraError if
    PySpark is not installed, and InputError if no suitable Java is found, a port is in use, or the master is not a URL
    or does not answer.
    """
    url = master_url(master)
    require_pyspark()
    # PySpark warns about recent pandas releases at every use. Nothing here uses pandas.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    _silence_error_logs()
    if is_connect(url):
        return _connect(url, dict(settings or {}))
    _require_java()
    # Executors must run the same Python as the driver. On a cluster its path may differ: PYSPARK_PYTHON gives it.
    interpreter = sys.executable if url.startswith("local") else os.environ.get("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_PYTHON"] = interpreter
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    logging.getLogger().addFilter(_is_not_interrupt)
    with _keep_interrupt_handler():
        configuration = _configuration(url, name, memory) | dict(settings or {})
        # The folders of a killed JVM are removed with those of its driver.
        java_options = configuration.get("spark.driver.extraJavaOptions", "")
        configuration["spark.driver.extraJavaOptions"] = f'{java_options} -Djava.io.tmpdir="{_scratch()}"'.strip()
        return _start(_without_user_settings(configuration))


def is_connect(url: str) -> bool:
    """Return whether a master is a server of Spark Connect."""
    return url.startswith("sc://")


def _connect(url: str, settings: dict[str, str]) -> SparkSession:
    """Return a session of Spark Connect; raise InputError if the server does not answer."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        import grpc
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.client.retries import DefaultPolicy
    except ImportError as error:
        missing = f"Spark Connect needs more packages ({error}): pip install 'pyspark[connect]'"
        raise MissingExtraError(missing) from None
    # What follows the server may be a token.
    server = url.partition("/;")[0]
    try:
        with DefaultChannelBuilder(url).toChannel() as channel:
            grpc.channel_ready_future(channel).result(_CONNECT_SECONDS)
        builder = SparkSession.builder.remote(url)
        for name, value in (_CONNECT | settings).items():
            if name.startswith("spark.sql."):
                builder = builder.config(name, value)
        spark = builder.getOrCreate()
        # By default the client waits ten minutes for a server that has ended.
        spark.client.set_retry_policies([DefaultPolicy(max_retries=_CONNECT_ATTEMPTS)])
        spark.addArtifact(str(_packages()), pyfile=True)
    except grpc.FutureTimeoutError:
        raise InputError(
            f"the Spark Connect server {server} does not answer: check its address and whether it is running"
        ) from None
    except (PySparkException, grpc.RpcError, OSError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), "it gave no reason")
        raise InputError(f"the Spark Connect server {server} cannot be used: {reason}") from None
    return spark


def _silence_error_logs() -> None:
    """Keep PySpark from writing each error with its stack trace to the standard error before it raises it."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _is_not_interrupt(record: logging.LogRecord) -> bool:
    """Return whether to show a log record: Py4J logs each Ctrl-C with a traceback in addition to raising it."""
    return "KeyboardInterrupt while sending command" not in str(record.msg)


def stop(spark: SparkSession) -> None:
    """End a session with its executors and Python workers. The JVM ends with this process."""
    with _keep_interrupt_handler(), suppress(Exception):
        spark.stop()


@contextmanager
def opened(master: str | None = None, **options: Any) -> Iterator[SparkSession]:
    """Yield a session made by `session`, and stop it when the block ends."""
    spark = session(master, **options)
    try:
        yield spark
    finally:
        stop(spark)


class LazySession:
    """A session that starts when it is first used; a context manager that stops it.

    Raises UserError at once if the master is not a URL, or PySpark or Java is missing.
    """

    def __init__(self, master: str | None = None, **options: Any) -> None:
        self._master, self._options = master_url(master), options
        require_pyspark()
        if not is_connect(self._master):
            _require_java()
        self._session: SparkSession | None = None

    def __enter__(self) -> LazySession:
        return self

    def __exit__(self, *_: object) -> None:
        if self._session is not None:
            stop(self._session)

    @property
    def spark(self) -> SparkSession:
        """The session; the first access starts it."""
        if self._session is None:
            self._session = session(self._master, **self._options)
        return self._session

    @property
    def is_started(self) -> bool:
        """Whether the session was used."""
        return self._session is not None

    @functools.cached_property
    def cores(self) -> int:
        """The number of cores. On a cluster, it is known only after the start."""
        if match := re.match(r"local\[(\d+)", self._master):
            return int(match.group(1))
        return cores_of(self.spark)


def is_connected(spark: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect, which has no RDDs."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def cores_of(spark: SparkSession) -> int:
    """Return the number of cores of a session."""
    if not is_connected(spark):
        return spark.sparkContext.defaultParallelism
    from pyspark.sql import functions

    # Spark Connect does not report it, but a range has a part for each core, or each row if those are fewer.
    with spark_errors_as_input_errors("count the cores of the server"):
        parts = spark.range(_MOST_CORES).select(functions.spark_partition_id().alias("part"))
        [row] = parts.agg(functions.max("part").alias("last")).collect()
    return int(row.last) + 1


def master_url(master: str | None) -> str:
    """Return the master to use; raise InputError if the text is not a master URL.

    A local master gets several attempts for each task, as on a cluster: the run survives the death of a Python worker.
    """
    if master is None:
        return settings_of_submit().get("spark.master") or f"local[{default_workers()},{TASK_ATTEMPTS}]"
    if not _MASTER.fullmatch(master):
        raise InputError(f"--master {master}: write local[CORES], spark://HOST:PORT, yarn, k8s://URL or sc://HOST")
    if master == "local":
        return f"local[1,{TASK_ATTEMPTS}]"
    if re.fullmatch(r"local\[[^,]*\]", master):
        return f"{master[:-1]},{TASK_ATTEMPTS}]"
    return master


def require_pyspark() -> None:
    """Raise MissingExtraError unless the packages of the extra `spark` are installed."""
    _require("Spark needs", "pyarrow", "pyspark")


def require_arrow() -> None:
    """Raise MissingExtraError unless the package is installed that reads and writes Parquet."""
    _require("walks need", "pyarrow")


def _require(who: str, *packages: str) -> None:
    for name in packages:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = (error.name or name).split(".")[0]
            raise MissingExtraError(
                f"{who} {missing}, which is not installed: pip install 'tidemark[spark]', "
                "or pip install -e '.[spark]' in a checkout"
            ) from None


def _require_java() -> None:
    """Raise InputError unless the Java that Spark would start exists and is new enough."""
    java = java_command()
    needed = f"install Java {OLDEST_JAVA} or newer and set JAVA_HOME to its folder"
    if java is None:
        home = os.environ.get("JAVA_HOME")
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "no java is on the PATH"
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or newer, and {where}: {needed}")
    version = java_version(java)
    if version is None:
        raise InputError(f"{java} does not report its version, so Spark cannot use it: {needed}")
    if version < OLDEST_JAVA:
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is Java {version}: {needed}")


def java_command() -> str | None:
    """Return the Java that Spark starts: the one in JAVA_HOME, or the first on the PATH; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(Path(home, "bin", "java")) if home else shutil.which("java")


def java_version(java: str) -> int | None:
    """Return the feature release of a Java (8, 17, ...), or None if it does not report one."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(match.group(1)) if match else None


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
        configuration |= {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.driver.extraJavaOptions": _FORWARDING,
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(_worker_path()),
            # Without this, a package `traces` or `specs` in the working directory hides the one of this project.
            "spark.executorEnv.PYTHONSAFEPATH": "1",
        }
    return configuration


def _without_user_settings(configuration: dict[str, str]) -> dict[str, str]:
    given = user_settings()
    return {name: value for name, value in configuration.items() if name in REQUIRED or name not in given}


def _worker_path() -> list[str]:
    """Return the folders that Python workers on this machine search: this project, PYTHONPATH, the working directory.

    The working directory comes last, and only if this process searches it too.
    """
    here = Path.cwd()
    is_searched = any(Path(folder).resolve() == here for folder in sys.path)
    project = str(Path(__file__).resolve().parent.parent)
    return [project, *filter(None, [os.environ.get("PYTHONPATH")]), *([str(here)] if is_searched else [])]


def _start(configuration: dict[str, str]) -> SparkSession:
    """Start a Spark context, and a JVM if this process has none yet."""
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        raise InputError("this process already has an open Spark session: stop it first")
    log = _log()
    written = log.stat().st_size if log.exists() else 0
    builder = SparkSession.builder
    for name, value in configuration.items():
        builder = builder.config(name, value)
    try:
        # The JVM inherits the standard streams of this process when it starts, and keeps them.
        with _standard_streams_to(log), _temporary_files_in(log.parent):
            started = builder.getOrCreate()
            if not configuration["spark.master"].startswith("local"):
                started.sparkContext.addPyFile(str(_packages()))
            return started
    except Exception as error:
        logged = log.read_bytes()[written:].decode(errors="replace")
        raise _reason(f"{logged}\n{error}", configuration["spark.master"]) from None


@contextmanager
def _standard_streams_to(path: Path) -> Iterator[None]:
    """Append to a file what this process and its new children write to their standard output and error."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    saved = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    try:
        with path.open("ab") as file:
            for descriptor in saved:
                os.dup2(file.fileno(), descriptor)
        yield
    finally:
        for descriptor, copy in saved.items():
            os.dup2(copy, descriptor)
            os.close(copy)


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Let PySpark make its temporary files in a folder that is removed even after a kill."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


@functools.cache
def _scratch() -> Path:
    """Return the folder for the temporary files of the sessions, which is removed when this process exits."""
    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(scratch_folder("spark"))


def _log() -> Path:
    """Return the file for the output of the JVM and the Python workers."""
    return _scratch() / "spark.log"


@functools.cache
def _packages() -> Path:
    """Return an archive of the packages of this project, which is removed when this process exits."""
    project, archive = Path(__file__).resolve().parent.parent, _log().with_name("tidemark.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for name in PACKAGES:
            for file in sorted((project / name).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    content.write(file, file.relative_to(project))
    return archive


def _reason(logged: str, url: str) -> UserError:
    """Return why Spark did not start, from its log and the text of its exception."""
    if "UnsupportedClassVersionError" in logged:
        return InputError(
            f"{java_command()} is too old for this Spark: install Java {OLDEST_JAVA}, set JAVA_HOME to it"
        )
    if "BindException" in logged or "Address already in use" in logged:
        return InputError(
            "Spark cannot listen: its port is in use, or its address does not belong to this machine. Free the port, "
            "or set another port or address (spark.driver.port, spark.blockManager.port, SPARK_LOCAL_IP)"
        )
    if url.startswith("local") and (unknown := re.search(r"UnknownHostException: ([^\s:]+)", logged)):
        return InputError(
            f"Spark did not start: the name of this machine, {unknown[1]}, has no address. Add it to /etc/hosts, or "
            f"set SPARK_LOCAL_IP={_LOOPBACK}"
        )
    if "masters are unresponsive" in logged or "UnknownHostException" in logged or "Failed to connect to" in logged:
        return InputError(f"the Spark master {url} does not answer: check its address and whether it is running")
    causes = re.findall(r"(?:Exception|Error)[^\n:]*: ([^\n]+)", logged) or logged.strip().splitlines()[-1:]
    why = causes[-1].strip().rstrip(".") if causes else "it gave no reason"
    return InputError(f"Spark did not start on {url}, with {java_command()}: {why}")


@contextmanager
def _keep_interrupt_handler() -> Iterator[None]:
    """Restore this process's SIGINT handler afterwards: a Spark context replaces it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
