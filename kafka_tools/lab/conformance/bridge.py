"""A Java process that answers calls of Kafka's classes, in batches."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from checker.errors import InputError
from kafka_tools.experiments.releases import build_text
from kafka_tools.lab.cluster.distribution import class_path, require_java
from kafka_tools.lab.cluster.process import start_driver
from kafka_tools.lab.conformance.registration import BuilderCall, Change, change_of

_FOLDER = Path(__file__).parent

_BATCH = 20_000
"""The calls of a batch: the process reads a whole one before it answers, so no pipe fills up from both ends."""

_COMPILER = ("-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn")


class Bridge:
    """A process that answers lines with lines; `name` says whose class it calls."""

    def __init__(self, name: str, process: subprocess.Popen[str], errors: IO[str]):
        self.name, self._process, self._errors = name, process, errors
        if self._read() != "ready":
            raise self._end_error()

    def answer_lines(self, calls: Sequence[str]) -> list[str]:
        """Return the answer to each call; raise InputError if the process ends."""
        batches = [calls[first : first + _BATCH] for first in range(0, len(calls), _BATCH)]
        return [line for batch in batches for line in self._answer_batch(batch)]

    def _answer_batch(self, calls: Sequence[str]) -> list[str]:
        assert self._process.stdin is not None
        # If the process has ended, the first answer is missing.
        with suppress(BrokenPipeError):
            self._process.stdin.write("\n".join([str(len(calls)), *calls, ""]))
            self._process.stdin.flush()
        return [self._read() for _ in calls]

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._end_error()
        return line.rstrip("\n")

    def _end_error(self) -> InputError:
        """Return the error that says why the process has ended."""
        self._process.wait()
        self._errors.seek(0)
        return _call_error(self.name, self._errors)


class PartitionBridge:
    """The calls of PartitionChangeBuilder, over a bridge to `PartitionBridge.java`."""

    def __init__(self, bridge: Bridge):
        self.name, self._bridge = bridge.name, bridge
        # A search asks for few different answers, many times.
        self._change_of = functools.lru_cache(1 << 20)(change_of)

    def answers(self, calls: Sequence[BuilderCall]) -> list[Change | str]:
        """Return the answer to each call: the change, or the exception of the class as text.

        Raises InputError if the process ends.
        """
        return [self._change_of(line) for line in self._bridge.answer_lines([call.line for call in calls])]


@contextmanager
def partition_bridge(version: str, library: Path | None = None) -> Iterator[PartitionBridge]:
    """Provide the calls of a release's PartitionChangeBuilder. Raises InputError as `java_bridge` does."""
    with java_bridge("PartitionBridge", version, library) as bridge:
        yield PartitionBridge(bridge)


@contextmanager
def java_bridge(driver: str, version: str, library: Path | None = None) -> Iterator[Bridge]:
    """Provide the bridge of a Java file beside this one to the jars of a Kafka release, or to those in a folder.

    Raises InputError if there is no Java, the jars cannot be fetched, or they do not have the classes.
    """
    lib = str(library or "")
    name = f"Kafka {build_text(version, lib)}"
    java, jars = require_java(), class_path(version, lib)
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryDirectory() as classes:
        # The driver is of the package of Kafka's controller: only a class on the class path may call the others there.
        files = [str(_FOLDER / f"{each}.java") for each in ("BridgeLoop", driver)]
        # The compiler takes the class path of its own process, where Java has replaced the `*`.
        compilation = [java, "-cp", jars, *_COMPILER, "-d", classes, *files]
        if subprocess.run(compilation, stdin=subprocess.DEVNULL, stderr=errors, check=False).returncode:
            errors.seek(0)
            raise _call_error(name, errors)
        options = [
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Dlog4j2.level=OFF",
            "-cp",
            f"{classes}:{jars}",
        ]
        with start_driver([java, *options, f"org.apache.kafka.controller.{driver}"], errors) as process:
            try:
                yield Bridge(name, process, errors)
            finally:
                process.kill()


def _call_error(name: str, lines: Iterable[str]) -> InputError:
    reasons = [line.strip() for line in lines if "rror" in line or "Exception" in line]
    return InputError(f"the controller's classes of {name} cannot be called: {(reasons or ['Java ended'])[0][:300]}")
