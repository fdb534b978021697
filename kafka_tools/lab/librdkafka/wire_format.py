"""The part of Kafka's wire format that the recorder reads: Produce up to version 7, and record batches.

Source: Kafka's protocol guide, the message definitions ProduceRequest.json and ProduceResponse.json, KIP-98.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

NEWEST_PRODUCE = 7
"""The newest supported version. Later versions have the same content in another encoding."""

_BATCH = struct.Struct(">q i i b I h i q q q h i i")


@dataclass(frozen=True)
class RecordBatch:
    """A record batch: the values of its records, the producer id, its epoch and the base sequence (-1: none)."""

    values: tuple[bytes, ...]
    producer_id: int
    epoch: int
    sequence: int


@dataclass(frozen=True)
class ProduceRequest:
    """A Produce request with one batch for one partition, as librdkafka sends it."""

    correlation: int
    acks: int
    batch: RecordBatch


@dataclass(frozen=True)
class ProduceResponse:
    """The response to a Produce request: the error code and the base offset."""

    correlation: int
    error: int
    offset: int


class WireReader:
    """Reads a message from its beginning to its end."""

    def __init__(self, data: bytes):
        self._data, self._at = data, 0

    @property
    def position(self) -> int:
        """The position of the next byte."""
        return self._at

    def number(self, kind: str) -> int:
        """Return the next number; `kind` is a format character of `struct`."""
        numbers = struct.unpack_from(f">{kind}", self._data, self._at)
        self._at += struct.calcsize(f">{kind}")
        return int(numbers[0])

    def take(self, length: int) -> bytes:
        """Return the next bytes; none for a negative length, which encodes null."""
        taken = self._data[self._at : self._at + max(length, 0)]
        self._at += max(length, 0)
        return taken

    def varint(self) -> int:
        """Return a zigzag-encoded number of variable length."""
        raw = shift = 0
        while True:
            byte = self.number("B")
            raw |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return (raw >> 1) ^ -(raw & 1)


def produce_request(message: bytes) -> ProduceRequest:
    """Return a Produce request; `message` has no length prefix."""
    reader = WireReader(message)
    reader.number("h"), reader.number("h")
    correlation = reader.number("i")
    reader.take(reader.number("h"))  # client.id
    reader.take(reader.number("h"))  # transactional.id
    acks = reader.number("h")
    reader.number("i")  # timeout
    reader.number("i")  # topics: one
    reader.take(reader.number("h"))
    reader.number("i")  # partitions: one
    reader.number("i")
    return ProduceRequest(correlation, acks, record_batch(reader.take(reader.number("i"))))


def produce_response(message: bytes) -> ProduceResponse:
    """Return a Produce response; `message` has no length prefix."""
    reader = WireReader(message)
    correlation = reader.number("i")
    reader.number("i")  # topics: one
    reader.take(reader.number("h"))
    reader.number("i")  # partitions: one
    reader.number("i")
    return ProduceResponse(correlation, reader.number("h"), reader.number("q"))


def record_batch(data: bytes) -> RecordBatch:
    """Return a record batch of the format since Kafka 0.11, uncompressed."""
    *_, producer_id, epoch, sequence, count = _BATCH.unpack_from(data)
    reader = WireReader(data[_BATCH.size :])
    return RecordBatch(tuple(_value(reader) for _ in range(count)), producer_id, epoch, sequence)


def _value(reader: WireReader) -> bytes:
    record = WireReader(reader.take(reader.varint()))
    record.number("b")
    record.varint(), record.varint()
    record.take(record.varint())  # key
    return record.take(record.varint())
