"""The driver of a librdkafka producer: it has the commands and the output of `RecordedProducer.java`.

Run as a module: the topic, then NAME=VALUE settings of librdkafka.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

_POLL_SECONDS = 0.05
_TRANSACTION_SECONDS = 60.0


class RecordedProducer:
    """Sends records and prints the result of each."""

    def __init__(self, topic: str, settings: dict[str, str]):
        from confluent_kafka import Producer

        self._topic = topic
        self._producer = Producer({**settings, "error_cb": _print_fatal})
        self._is_closed = threading.Event()
        self._calls: dict[str, Callable[[], None]] = {
            "begin": self._producer.begin_transaction,
            "commit": lambda: self._producer.commit_transaction(_TRANSACTION_SECONDS),
            "abort": lambda: self._producer.abort_transaction(_TRANSACTION_SECONDS),
        }
        if "transactional.id" in settings:
            self._producer.init_transactions(_TRANSACTION_SECONDS)
        self._poller = threading.Thread(target=self._poll)
        self._poller.start()

    def run(self, lines: Iterable[str]) -> None:
        """Execute commands until one closes the producer."""
        for line in lines:
            match line.split():
                case ["send", name, partition]:
                    self._send(name, int(partition))
                case ["close"]:
                    break
                case [method]:
                    self._call(method)
        while len(self._producer):
            time.sleep(_POLL_SECONDS)
        self._is_closed.set()
        self._poller.join()
        _print("closed")

    def _send(self, name: str, partition: int) -> None:
        begun = time.monotonic()

        def report(error: Any, message: Any) -> None:
            after = round((time.monotonic() - begun) * 1000)
            if error is None:
                # The broker names no offset when it recognises a repetition.
                _print(f"acknowledged {name} {-1 if message.offset() is None else message.offset()} {after}")
            else:
                _print(f"failed {name} {error.name()} {after}")

        from confluent_kafka import KafkaException

        try:
            self._producer.produce(self._topic, value=name, partition=partition, on_delivery=report)
            _print(f"sent {name}")
        except (KafkaException, BufferError) as error:
            _print(f"failed {name} {_name(error)} 0")

    def _call(self, method: str) -> None:
        from confluent_kafka import KafkaException

        try:
            self._calls[method]()
            _print(f"done {method}")
        except KafkaException as error:
            _print(f"refused {method} {_name(error)}")

    def _poll(self) -> None:
        """Let librdkafka report results, as an application does."""
        from confluent_kafka import KafkaException

        while not self._is_closed.is_set():
            # A fatal error is raised here too; the records get theirs afterwards.
            with suppress(KafkaException):
                self._producer.poll(_POLL_SECONDS)


def _name(error: Exception) -> str:
    cause: Any = error.args[0] if error.args else None
    return str(cause.name()) if hasattr(cause, "name") else type(error).__name__


def _print_fatal(error: Any) -> None:
    if error.fatal():
        print(f"fatal: {error.name()}: {error.str()}", file=sys.stderr, flush=True)


_LOCK = threading.Lock()


def _print(line: str) -> None:
    with _LOCK:
        print(line, flush=True)


if __name__ == "__main__":
    topic, *words = sys.argv[1:]
    RecordedProducer(topic, dict(word.split("=", 1) for word in words)).run(sys.stdin)
