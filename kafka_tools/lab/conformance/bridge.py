"""A Java process that answers calls of one of Kafka's classes, in batches."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from checker.errors import InputError
from kafka_tools.experiments.releases import build_text
from kafka_tools.lab.cluster.distribution import class_path, require_java
from kafka_tools.lab.cluster.process import start_driver
from kafka_tools.lab.conformance.registration import BuilderCall, Change, change_of

_DRIVER = Path(__file__).with_name("PartitionBridge.java")

_BATCH = 20_000
"""The calls of a batch: the process reads a whole one before it answers, so no pipe fills up from both ends."""


class PartitionBridge:
    """The process of `PartitionBridge.java`; `name` says whose class it calls."""

    def __init__(self, name: str, process: subprocess.Popen[str], errors: IO[str]):
        self.name, self._process, self._errors = name, process, errors
        if self._read() != "ready":
            raise self._end_error()
        # A search asks for few different answers, many times.
        self._change_of = functools.lru_cache(1 << 20)(change_of)

    def answers(self, calls: Sequence[BuilderCall]) -> list[Change | str]:
        """Return the answer to each call: the change, or the exception of the class as text.

        Raises InputError if the process ends.
        """
        return [
            self._change_of(line)
            for first in range(0, len(calls), _BATCH)
            for line in self._answer_lines([call.line for call in calls[first : first + _BATCH]])
        ]

    def _answer_lines(self, lines: Sequence[str]) -> list[str]:
        assert self._process.stdin is not None
        # If the process has ended, the first answer is missing.
        with suppress(BrokenPipeError):
            self._process.stdin.write("\n".join([str(len(lines)), *lines, ""]))
            self._process.stdin.flush()
        return [self._read() for _ in lines]

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
        lines = [line.strip() for line in self._errors if "rror" in line or "Exception" in line]
        return InputError(
            f"PartitionChangeBuilder of {self.name} cannot be called: {(lines or ['Java ended'])[0][:300]}"
        )


@contextmanager
def partition_bridge(version: str, library: Path | None = None) -> Iterator[PartitionBridge]:
    """Provide the bridge to the jars of a Kafka release, or to those in a folder.

    Raises InputError if there is no Java, the jars cannot be fetched, or they do not have the class.
    """
    lib = str(library or "")
    command = [require_java(), "-Xmx512m", "-XX:+UseSerialGC", "-cp", class_path(version, lib), str(_DRIVER)]
    with tempfile.TemporaryFile("w+") as errors, start_driver(command, errors) as process:
        try:
            yield PartitionBridge(f"Kafka {build_text(version, lib)}", process, errors)
        finally:
            process.kill()
