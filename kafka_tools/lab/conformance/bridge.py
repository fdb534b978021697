"""A Java process that answers calls of one of Kafka's classes, in batches."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from checker.errors import InputError
from kafka_tools.lab.cluster.distribution import class_path, require_java
from kafka_tools.lab.cluster.process import die_with_parent
from kafka_tools.lab.conformance.registration import BuilderCall, Change, change_of

_DRIVER = Path(__file__).with_name("PartitionBridge.java")

_BATCH = 20_000
"""The calls of a batch: the process reads a whole one before it answers, so no pipe fills up from both ends."""


class PartitionBridge:
    """Runs `PartitionBridge.java` with the jars of a Kafka release, or of a folder with a build of one's own.

    Raises InputError if there is no Java, the jars cannot be fetched, or they do not have the class.
    """

    def __init__(self, version: str, library: Path | None = None):
        if library is not None and not any(library.glob("*.jar")):
            raise InputError(f"{library} has no jar: name the folder `libs` of a Kafka build")
        self._name = f"Kafka {version}" if library is None else f"the jars in {library}"
        jars = class_path(version) if library is None else str(library / "*")
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-cp", jars]
        self._errors: IO[str] = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [require_java(), *options, str(_DRIVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    def answers(self, calls: Sequence[BuilderCall]) -> list[Change | str]:
        """Return the answer to each call: the change, or the exception of the class as text."""
        lines = [call.line for call in calls]
        return [
            change_of(line)
            for first in range(0, len(lines), _BATCH)
            for line in self._answer_lines(lines[first : first + _BATCH])
        ]

    def _answer_lines(self, lines: Sequence[str]) -> list[str]:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write("\n".join([str(len(lines)), *lines, ""]))
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        answers = [self._process.stdout.readline() for _ in lines]
        if not all(answers):
            raise self._ended()
        return [answer.rstrip("\n") for answer in answers]

    def _ended(self) -> InputError:
        """Return the error that says why the process has ended."""
        self._process.wait()
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors if "error" in line.lower() or "Exception" in line]
        return InputError(f"{self._name} cannot be called: {(lines or ['Java ended without an error'])[0][:300]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()
