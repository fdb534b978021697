"""A Java producer in a process of its own: what it sends, and what each future says."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kafka_tools.experiments.experiment import Experiment
from kafka_tools.lab.cluster.distribution import class_path, require_java
from kafka_tools.lab.cluster.process import python_command, start_driver

_DRIVER = Path(__file__).with_name("RecordedProducer.java")


@dataclass(frozen=True)
class RecordFuture:
    """What the future of a record said: its offset, or the exception; after so many milliseconds."""

    record: str
    offset: int | None
    failure: str
    milliseconds: int


@dataclass(frozen=True)
class ProducerCall:
    """A call of a transactional producer: initialize, begin, commit or abort; and its exception, empty if it returned.

    `records` are those that were sent since `begin`.
    """

    method: str
    records: tuple[str, ...]
    failure: str

    @property
    def text(self) -> str:
        """The call and its result as a sentence."""
        said = f"failed with {self.failure}" if self.failure else "returned"
        return f"{self.method} of {', '.join(self.records) or 'no record'}: {said}"


def java_driver(experiment: Experiment, log: Path) -> list[str]:
    """Return the command of `RecordedProducer.java` with the client of an experiment, which writes a log."""
    logging = log.with_suffix(".log4j2.yaml")
    logging.write_text(_LOGGING.format(file=log))
    path = class_path(experiment.kafka, experiment.lib)
    options = ["-Xmx128m", "-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={logging}", "-cp", path]
    return [require_java(), *options, str(_DRIVER)]


def librdkafka_driver() -> list[str]:
    """Return the command of the driver for librdkafka, in the version that is installed."""
    return python_command("kafka_tools.lab.cluster.librdkafka_producer")


class ProducerProcess:
    """Runs a driver: it sends records and reads what each future said."""

    def __init__(self, driver: Sequence[str], topic: str, settings: Mapping[str, str], output: Path):
        words = [f"{name}={value}" for name, value in settings.items()]
        self._output = output
        with output.open("w") as errors:
            self._process = start_driver([*driver, topic, *words], errors)
        self.futures: list[RecordFuture] = []
        self.sent: list[str] = []
        self.calls: list[ProducerCall] = []
        self._transaction: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, records: list[str], partition: int = 0) -> None:
        """Send records to a partition, each with its name as value."""
        self._write("".join(f"send {record} {partition}\n" for record in records))

    def call(self, method: str) -> None:
        """Begin, commit or abort a transaction. `calls` has the result when the method has returned."""
        self._write(f"{method}\n")

    def finish(self, seconds: float) -> bool:
        """Wait until every future is done and the process ends; return whether it did."""
        self._write("close\n")
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._reader.join(5)
        return True

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def last_words(self) -> str:
        """The last error that the process wrote."""
        lines = [line.strip() for line in self._output.read_text(errors="replace").splitlines() if line.strip()]
        causes = [line for line in lines if "Exception" in line or "rror" in line]
        return (causes or lines or ["it wrote nothing"])[-1][:300]

    @property
    def acknowledged(self) -> list[RecordFuture]:
        """The futures that succeeded."""
        return [future for future in self.futures if not future.failure]

    @property
    def failed(self) -> list[RecordFuture]:
        """The futures that failed."""
        return [future for future in self.futures if future.failure]

    def _write(self, text: str) -> None:
        assert self._process.stdin is not None
        # If the process has ended, `finish` and the futures show it.
        with suppress(BrokenPipeError):
            self._process.stdin.write(text)
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            words = text.split()
            match words:
                case ["sent", name]:
                    self.sent.append(name)
                    self._transaction.append(name)
                case ["done", method]:
                    self._add_call(method, "")
                case ["refused", method, failure]:
                    self._add_call(method, failure)
                case ["acknowledged", name, offset, milliseconds]:
                    self.futures.append(RecordFuture(name, _offset(offset), "", int(milliseconds)))
                case ["failed", name, failure, milliseconds]:
                    self.futures.append(RecordFuture(name, None, failure, int(milliseconds)))

    def _add_call(self, method: str, failure: str) -> None:
        if method == "begin":
            self._transaction.clear()
        self.calls.append(ProducerCall(method, tuple(self._transaction), failure))


def _offset(text: str) -> int | None:
    return None if text == "-1" else int(text)


_LOGGING = """Configuration:
  Appenders:
    File:
      name: file
      fileName: "{file}"
      PatternLayout:
        pattern: "%d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}} %m%n"
  Loggers:
    Root:
      level: INFO
      AppenderRef:
        ref: file
"""
