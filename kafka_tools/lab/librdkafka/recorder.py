"""Runs a real producer against librdkafka's mock cluster, with faults, and returns its behaviour as events.

The application reports `send`, `delivered` and `failed`. The proxy reports `request`, `response` and `closed`: a
request before the broker receives it, a response before the client does. The last event, `log`, has the contents of
the partition.
"""

from __future__ import annotations

import itertools
import json
import logging
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from checker.errors import InputError, OutputError
from kafka_tools.experiments.faults import FaultRule, Side
from kafka_tools.lab.cluster.process import LOOPBACK
from kafka_tools.lab.cluster.proxy import Link, PassingRequest, ProxyNetwork, TrafficObserver
from kafka_tools.lab.librdkafka.mock_cluster import MockCluster
from kafka_tools.lab.librdkafka.wire_format import ProduceRequest, produce_request, produce_response

TOPIC = "recorded"
NEWEST_PRODUCE = 7
"""The version that the mock cluster offers."""

SECONDS = 20.0
"""The time limit of a run."""

TRANSACTION_SECONDS = 2.0
"""The time that a transaction waits for its records before it is aborted."""

Kind = Literal["plain", "idempotent", "transactional"]
"""`transactional`: an idempotent producer that sends all records in one transaction. The mock cluster checks sequences
only then."""

_LAST_FAULT = 10_000
"""The last request that may have a fault: each one before it has an answer in a list."""

REFUSALS = {"refuse": 19, "not-leader": 6, "time-out": 7, "after-append": 20, "reject": 87, "too-large": 10}
"""Error codes of the mock cluster's answers. It appends nothing with them."""

LOSSES: dict[str, Side] = {"lose-request": "requests", "lose-response": "responses"}
"""The message of a Produce request that is lost, together with its connection."""

ERRORS = {
    0: "none",
    6: "not leader or follower",
    7: "request timed out",
    10: "message too large",
    19: "not enough replicas",
    20: "not enough replicas after append",
    45: "out of order sequence number",
    46: "duplicate sequence number",
    47: "invalid producer epoch",
    59: "unknown producer id",
    87: "invalid record",
}
"""The error codes of Kafka's protocol that the broker answers with, as the specs name them."""


@dataclass(frozen=True)
class InjectedFault:
    """A fault in one Produce request; the first request has number 1."""

    what: str
    request: int

    @classmethod
    def parse(cls, text: str) -> InjectedFault:
        """Return the fault that a text such as `refuse@2` names; raise InputError if it names none."""
        what, _, number = text.partition("@")
        if what not in (*REFUSALS, *LOSSES) or not number.isdigit() or int(number) < 1:
            known = ", ".join((*REFUSALS, *LOSSES))
            raise InputError(f"--fault {text}: write FAULT@N for the Nth request, with one of {known}")
        if len(number) > 6 or int(number) > _LAST_FAULT:
            raise InputError(f"--fault {text[:40]}: N is at most {_LAST_FAULT:,}, because a run has no more requests")
        return cls(what, int(number))


@dataclass(frozen=True)
class RecordingSetup:
    """A run: the producer and its settings, the number and pace of its records, and the faults.

    `delay_ms`: the time that the proxy holds a response, so that several requests are in flight. `pause_ms`: the time
    between two sends.
    """

    producer: Kind = "plain"
    records: int = 4
    max_in_flight: int = 2
    retries: int = 3
    batch_size: int = 1
    acks: Literal["1", "all"] = "all"
    linger_ms: int = 0
    delay_ms: int = 30
    pause_ms: int = 0
    faults: tuple[InjectedFault, ...] = field(default_factory=tuple)

    def configuration(self) -> dict[str, Any]:
        """Return librdkafka's configuration."""
        return {
            "enable.idempotence": self.producer != "plain",
            **({"transactional.id": TOPIC} if self.producer == "transactional" else {}),
            "max.in.flight": self.max_in_flight,
            "retries": self.retries,
            "batch.num.messages": self.batch_size,
            "acks": self.acks,
            "linger.ms": self.linger_ms,
            "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 10,
            "message.timeout.ms": int(SECONDS * 1000),
        }


class EventJournal:
    """Collects the events of several threads, in order."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def note(self, name: str, **fields: Any) -> None:
        """Add an event."""
        with self._lock:
            self.events.append({"event": name, **fields})


class ProduceRecorder(TrafficObserver):
    """Notes each Produce request before the broker receives it, and each response before the client does."""

    def __init__(self, journal: EventJournal):
        self._journal = journal
        self._generations: dict[tuple[int, int], int] = {}

    def sent(self, request: PassingRequest) -> None:
        """Note a Produce request. An epoch is the number of its pair of producer id and epoch."""
        if request.header.kind != "Produce":
            return
        batch = produce_request(request.data).batch
        identity = {}
        if batch.producer_id >= 0:
            generation = self._generations.setdefault((batch.producer_id, batch.epoch), len(self._generations))
            identity = {"epoch": generation, "sequence": batch.sequence}
        self._journal.note("request", records=_records(produce_request(request.data)), **identity)

    def answered(self, request: PassingRequest, response: bytes) -> None:
        """Note the response to a Produce request."""
        if request.header.kind == "Produce":
            answer = produce_response(response, request.header.version)
            offset = {"offset": answer.offset} if answer.error == 0 else {}
            error = ERRORS.get(answer.error, str(answer.error))
            self._journal.note("response", records=_records(produce_request(request.data)), error=error, **offset)

    def closed(self, connection: int, unanswered: list[PassingRequest]) -> None:
        """Note the end of a connection, if a Produce request is unanswered."""
        lost = [_records(produce_request(each.data)) for each in unanswered if each.header.kind == "Produce"]
        if lost:
            self._journal.note("closed", unanswered=sorted(itertools.chain(*lost)))


def _records(request: ProduceRequest) -> list[int]:
    return [int(value) for value in request.batch.values]


def record(setup: RecordingSetup) -> list[dict[str, Any]]:
    """Run a producer and return its events. The proxy listens on the loopback address.

    Raises InputError if librdkafka refuses the settings, or if the run does not end in time.
    """
    journal = EventJournal()
    shown = asdict(setup) | {"faults": [f"{fault.what}@{fault.request}" for fault in setup.faults]}
    with MockCluster(TOPIC, NEWEST_PRODUCE) as cluster:
        cluster.answer(_errors(setup.faults))
        with ProxyNetwork([Link(0, 1, cluster.address)], ProduceRecorder(journal)) as network:
            for rule in _rules(setup):
                network.add(rule)
            address = f"{LOOPBACK}:{network.ports[0]}"
            cluster.advertise(LOOPBACK, network.ports[0])
            journal.note("configured", client=_client(), **shown)
            _produce(setup, address, journal)
            journal.note("log", records=_contents(address))
    return journal.events


def _rules(setup: RecordingSetup) -> list[FaultRule]:
    delay = FaultRule("delay", "Produce", "responses", seconds=setup.delay_ms / 1000)
    lost = [fault for fault in setup.faults if fault.what in LOSSES]
    return [
        delay,
        *(FaultRule("break", "Produce", LOSSES[fault.what], number=fault.request) for fault in lost),
    ]


def write(path: Path, events: list[dict[str, Any]]) -> None:
    """Write events as JSON, one per line; raise OutputError if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"the log {path} cannot be written: {error.strerror}") from None


def _errors(faults: tuple[InjectedFault, ...]) -> list[int]:
    """Return the error codes of the requests that reach the broker, in order; 0 for a request that is handled."""
    by_request = {fault.request: fault.what for fault in faults}
    last = max(by_request, default=0)
    reaching = [number for number in range(1, last + 1) if by_request.get(number) != "lose-request"]
    return [REFUSALS.get(by_request.get(number, ""), 0) for number in reaching]


def _client() -> str:
    import confluent_kafka

    return f"librdkafka {confluent_kafka.libversion()[0]}"


def _silent_logger() -> logging.Logger:
    logger = logging.getLogger("tidemark.record")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def _produce(setup: RecordingSetup, address: str, journal: EventJournal) -> None:
    from confluent_kafka import KafkaError, KafkaException, Message, Producer

    def report(error: KafkaError | None, message: Message) -> None:
        record = int(message.value() or 0)
        if error is None:
            journal.note("delivered", record=record, offset=message.offset())
        else:
            journal.note("failed", record=record, error=_error_text(error))

    def fatal(error: KafkaError) -> None:
        if error.fatal():
            journal.note("fatal", error=_error_text(error))

    options = setup.configuration() | {"bootstrap.servers": address, "logger": _silent_logger(), "error_cb": fatal}
    try:
        producer = Producer(options)
        if setup.producer == "transactional":
            producer.init_transactions(SECONDS)
            producer.begin_transaction()
        for number in range(1, setup.records + 1):
            journal.note("send", record=number)
            producer.produce(TOPIC, value=str(number), partition=0, on_delivery=report)
            producer.poll(setup.pause_ms / 1000)
        if setup.producer == "transactional":
            # A failed transaction delivers nothing until it is aborted.
            producer.flush(TRANSACTION_SECONDS)
            producer.abort_transaction(SECONDS)
        left = producer.flush(SECONDS)
    except SystemError:
        # The C library raises SystemError for Ctrl-C while it waits.
        raise KeyboardInterrupt from None
    except KafkaException as error:
        raise InputError(f"librdkafka refuses the settings: {error.args[0].str()}") from None
    if left:
        raise InputError(f"{left} records were neither delivered nor failed within {SECONDS:.0f} s")


def _error_text(error: Any) -> str:
    name = str(error.name())
    return ERRORS.get(error.code(), name.strip("_").replace("_", " ").lower())


def _contents(address: str) -> list[int]:
    """Return the records of the partition, from the first to the last."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    options = {"bootstrap.servers": address, "group.id": "recorder", "logger": _silent_logger()}
    consumer = Consumer(options | {"enable.partition.eof": True, "isolation.level": "read_uncommitted"})
    try:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        records: list[int] = []
        while (message := consumer.poll(SECONDS)) is not None:
            error = message.error()
            if error is None:
                records.append(int(message.value() or 0))
            elif error.code() == KafkaError._PARTITION_EOF:
                return records
        raise InputError("the partition's contents cannot be read back from the mock cluster")
    finally:
        consumer.close()
