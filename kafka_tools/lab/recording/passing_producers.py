"""Idempotent producers as a proxy in front of the brokers sees them: a trace for each producer and partition.

The events are those of `kafka_tools.lab.librdkafka.recorder` without the application's: `request`, `response`,
`closed`. A batch counts as one record, and has the number in which it was sent first. A sequence counts batches of its
epoch. The proxy does not see the log. So a response has the batches with the next lower and the next higher offset
instead.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_tools.lab.cluster.proxy import Link, PassingRequest, ProxyNetwork, TrafficObserver
from kafka_tools.lab.librdkafka.recorder import ERRORS
from kafka_tools.lab.recording.broker_addresses import Address, AddressRewriter
from kafka_tools.lab.recording.log_neighbours import add_offset
from kafka_tools.lab.recording.produced_batches import (
    ProduceAnswer,
    ProducedBatch,
    expects_answer,
    produce_answers,
    produced_batches,
)

Event = dict[str, Any]

_SHARE_GROUPS = ("78", "79")
"""ShareFetch and ShareAcknowledge: their responses have addresses of brokers, which are not rewritten."""

MOST_PRODUCERS = 100_000
"""The producers that a recording keeps, each at one partition."""

_DIGITS = 16
"""The hexadecimal digits of a digest that an event has: two batches of a trace do not have the same by chance."""


@dataclass(frozen=True)
class _Sent:
    """A batch as it was sent: its number, the number of its epoch, and its sequence, counted in batches."""

    number: int
    epoch: int
    position: int
    batch: ProducedBatch

    def shown(self) -> Event:
        """Return the fields of its events."""
        return {
            "records": [self.number],
            "epoch": self.epoch,
            "sequence": self.position,
            "base_sequence": self.batch.sequence,
            "size": self.batch.records,
        }


@dataclass
class _Epoch:
    """A producer epoch: its number, its batches by base sequence, its last position, the sequence after its end."""

    number: int
    sent: dict[int, _Sent] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    last: int = -1
    end: int = 0


@dataclass
class _Producer:
    """A producer at one partition: its epochs, its batches without success by content, and the offsets of the others.

    `connections` counts its batches in flight by connection.
    """

    trace: str
    epochs: dict[int, _Epoch] = field(default_factory=dict)
    batches: int = 0
    unfinished: dict[bytes, list[int]] = field(default_factory=dict)
    offsets: list[tuple[int, int]] = field(default_factory=list)
    connections: Counter[int] = field(default_factory=Counter)
    answered_on: int | None = None
    """The connection of its last answer, which the client may not have read when the connection ends."""


class PassingProducers(TrafficObserver):
    """Turns the Produce traffic of idempotent producers into events, and rewrites addresses of brokers.

    `write` gets each event. `partition` (`topic-0`) limits the events to one partition. `host` is the proxies' own.
    """

    def __init__(self, write: Callable[[Event], None], partition: str | None, host: str):
        self._write, self._partition, self._host = write, partition, host
        self._rewriter = AddressRewriter(self._proxy_of)
        self._ports: dict[Address, int] = {}
        self._producers: dict[tuple[str, int], _Producer] = {}
        self._began = time.monotonic()
        self.network: ProxyNetwork | None = None
        self.has_failed = threading.Event()
        self.events = 0
        self.left_out: Counter[str] = Counter()
        self._late: set[tuple[str, int]] = set()
        self._in_flight: dict[tuple[int, int, str], tuple[_Producer, _Sent]] = {}
        """By connection, correlation id and partition."""

    @property
    def traces(self) -> int:
        """The number of traces."""
        return len(self._producers)

    @property
    def brokers(self) -> list[Address]:
        """The addresses of the brokers that have a proxy."""
        return list(self._ports)

    def add_proxy(self, broker: Address, port: int) -> None:
        """Add the port of a broker's proxy."""
        self._ports[broker] = port

    def failed(self) -> None:
        """Let the command end, which raises the error."""
        self.has_failed.set()

    # What passes.

    def rewritten(self, request: PassingRequest, response: bytes) -> bytes:
        """Return a response with the addresses of proxies."""
        try:
            return self._rewriter.rewritten(request.header, response)
        except ValueError as error:
            self.left_out[str(error)] += 1
            return response

    def forwarded(self, request: PassingRequest) -> None:
        """Note the batches of a Produce request."""
        if request.header.kind in _SHARE_GROUPS:
            self.left_out["a request of a share group: its client may leave the proxies"] += 1
        if request.header.kind != "Produce":
            return
        try:
            batches = produced_batches(request.data[request.header.body :], request.header.version)
        except ValueError as error:
            self.left_out[str(error)] += 1
            return
        for batch in batches:
            producer = self._producer_of(batch)
            if producer is not None:
                self._send(producer, request, batch)

    def expects_answer(self, request: PassingRequest) -> bool:
        """Return whether a request has a response: a Produce request with acks=0 has none."""
        header = request.header
        return header.kind != "Produce" or expects_answer(request.data[header.body :], header.version)

    def answered(self, request: PassingRequest, response: bytes) -> None:
        """Note the answers to the batches of a Produce request."""
        if request.header.kind != "Produce":
            return
        try:
            answers = produce_answers(response, request.header.version)
        except ValueError as error:
            self.left_out[str(error)] += 1
            return
        for answer in answers:
            place = *_name(request), f"{answer.topic}-{answer.partition}"
            if place in self._in_flight:
                self._answer(*self._in_flight[place], answer)

    def delivered(self, request: PassingRequest) -> None:
        """Forget a request of which the client receives the response."""
        for place in [place for place in self._in_flight if place[:2] == _name(request)]:
            producer, _ = self._in_flight.pop(place)
            producer.connections -= Counter({request.connection: 1})
            producer.answered_on = request.connection

    def closed(self, connection: int, unanswered: list[PassingRequest]) -> None:
        """Note the end of a connection, with the batches that it leaves without an answer."""
        lost: dict[str, tuple[_Producer, list[int]]] = {}
        for producer in self._producers.values():
            if producer.answered_on == connection:
                producer.answered_on = None
                lost[producer.trace] = producer, []
        for place in [place for place in self._in_flight if place[0] == connection]:
            producer, sent = self._in_flight.pop(place)
            del producer.connections[connection]
            lost.setdefault(producer.trace, (producer, []))[1].append(sent.number)
        for producer, numbers in lost.values():
            self._note(producer, "closed", unanswered=sorted(numbers))

    def unreadable(self, reason: str) -> None:
        """Count a connection that ends because of a message that is not of Kafka's protocol."""
        self.left_out[f"a connection without Kafka's protocol, or with TLS or SASL ({reason})"] += 1

    def limited(self, reason: str) -> None:
        """Count a connection that is refused or ends because it leaves the limits."""
        self.left_out[f"a connection that leaves the limits of the proxies: {reason}"] += 1

    # Producers.

    def _producer_of(self, batch: ProducedBatch) -> _Producer | None:
        """Return the producer of a batch, or None if it is left out."""
        partition = f"{batch.topic}-{batch.partition}"
        if self._partition not in (None, partition):
            self.left_out[f"a batch of another partition than {self._partition}"] += 1
            return None
        if batch.producer_id < 0 or batch.is_transactional:
            what = "a producer without idempotence" if batch.producer_id < 0 else "a transaction"
            self.left_out[f"a batch of {what}"] += 1
            return None
        key = partition, batch.producer_id
        if len(self._producers) + len(self._late) >= MOST_PRODUCERS and key not in self._producers:
            self.left_out[f"a batch of a producer after the first {MOST_PRODUCERS}"] += 1
            return None
        if key not in self._producers and batch.sequence != 0:
            self._late.add(key)
        if key in self._late:
            self.left_out["a batch of a producer that began before the recording"] += 1
            return None
        return self._producers.setdefault(key, _Producer(f"{partition}/{batch.producer_id}"))

    def _send(self, producer: _Producer, request: PassingRequest, batch: ProducedBatch) -> None:
        if producer.connections.keys() - {request.connection}:
            self._note(producer, "second_connection")
        elif producer.answered_on not in (None, request.connection):
            # The client has left the other connection, of which the proxy has not read the end yet.
            producer.answered_on = None
            self._note(producer, "closed", unanswered=[])
        epoch = producer.epochs.setdefault(batch.epoch, _Epoch(len(producer.epochs)))
        sent = epoch.sent.get(batch.sequence)
        if sent is None:
            sent = self._number(producer, epoch, batch)
        else:
            sent = replace(sent, batch=batch)
            if epoch.sent[batch.sequence].batch.records != batch.records:
                self._note(producer, "resized", **sent.shown())
        producer.connections[request.connection] += 1
        place = *_name(request), f"{batch.topic}-{batch.partition}"
        self._in_flight[place] = producer, sent
        content = batch.content.hex()[:_DIGITS]
        self._note(producer, "request", broker=request.broker, **sent.shown(), content=content)

    def _number(self, producer: _Producer, epoch: _Epoch, batch: ProducedBatch) -> _Sent:
        """Return a batch that its epoch has not sent yet. A gap between sequences stays one.

        A batch of a new epoch that has the content of one without success is that one again. If several have it, the
        trace says so.
        """
        same = producer.unfinished.setdefault(batch.content, [])
        again = [number for number in same if number not in epoch.numbers] if epoch.number else []
        if len(again) > 1:
            self._note(producer, "ambiguous", records=again)
        if not again:
            producer.batches += 1
            same.append(producer.batches)
        number = again[0] if again else producer.batches
        epoch.last += 1 if batch.sequence == epoch.end else 2
        sent = epoch.sent[batch.sequence] = _Sent(number, epoch.number, epoch.last, batch)
        if batch.sequence < epoch.end:
            self._note(producer, "resized", **sent.shown())
        epoch.numbers.add(number)
        epoch.end = batch.sequence + batch.records
        return sent

    def _answer(self, producer: _Producer, sent: _Sent, answer: ProduceAnswer) -> None:
        neighbours: Event = {}
        if answer.error == 0:
            neighbours = add_offset(producer.offsets, answer.offset, sent.number)
            _remove(producer.unfinished, sent.batch.content, sent.number)
        error = ERRORS.get(answer.error, f"error {answer.error}")
        self._note(producer, "response", **sent.shown(), error=error, **neighbours)

    def _note(self, producer: _Producer, event: str, **fields: Any) -> None:
        milliseconds = round((time.monotonic() - self._began) * 1000)
        self._write({"trace": producer.trace, "event": event, **fields, "time": milliseconds})
        self.events += 1

    # Addresses.

    def _proxy_of(self, number: int, broker: Address) -> Address:
        """Return the address of a broker's proxy, which is opened when a response names the broker first."""
        if broker not in self._ports:
            assert self.network is not None
            try:
                self._ports[broker] = self.network.open(Link(0, number, broker))
            except OSError as error:
                raise ValueError(f"requests to a broker for which no proxy can listen: {error.strerror}") from None
        return self._host, self._ports[broker]


def _remove(unfinished: dict[bytes, list[int]], content: bytes, number: int) -> None:
    """Remove a batch from those without success; it may not be there."""
    left = [other for other in unfinished.get(content, []) if other != number]
    if left:
        unfinished[content] = left
    else:
        unfinished.pop(content, None)


def _name(request: PassingRequest) -> tuple[int, int]:
    return request.connection, request.header.correlation
