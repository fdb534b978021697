"""The part of Kafka's wire format that recorders read: Produce requests with one batch, and record batches.

Source: Kafka's protocol guide, the message definitions ProduceRequest.json and ProduceResponse.json, KIP-98, KIP-482.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from checker.errors import InputError
from kafka_tools.lab.cluster.wire_reader import WireReader

OLDEST_PRODUCE = 3
"""The first version with a transactional.id, and with record batches of the format that is read here."""

FLEXIBLE_PRODUCE = 9
"""The first version with compact types and tagged fields."""

_TOPIC_IDS = 13
"""The first version that names topics by id."""

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
    """A Produce request with one batch for one partition."""

    correlation: int
    acks: int
    batch: RecordBatch


@dataclass(frozen=True)
class ProduceResponse:
    """The response to a Produce request: the error code and the base offset."""

    correlation: int
    error: int
    offset: int


def produce_request(message: bytes) -> ProduceRequest:
    """Return a Produce request without its length; raise InputError for an older version or several batches."""
    reader = WireReader(message)
    reader.number("h")
    version = reader.number("h")
    if version < OLDEST_PRODUCE:
        raise InputError(f"a Produce request of version {version} cannot be recorded: the oldest is {OLDEST_PRODUCE}")
    is_flexible = version >= FLEXIBLE_PRODUCE
    correlation = reader.number("i")
    reader.take(reader.number("h"))  # client.id
    reader.end_of_struct(is_flexible)
    reader.text(is_flexible)  # transactional.id
    acks = reader.number("h")
    reader.number("i")  # timeout
    _to_only_partition(reader, version)
    return ProduceRequest(correlation, acks, record_batch(reader.records(is_flexible)))


def produce_response(message: bytes, version: int) -> ProduceResponse:
    """Return the response to a Produce request of a version; `message` has no length prefix."""
    reader = WireReader(message)
    correlation = reader.number("i")
    reader.end_of_struct(version >= FLEXIBLE_PRODUCE)
    _to_only_partition(reader, version)
    return ProduceResponse(correlation, reader.number("h"), reader.number("q"))


def _to_only_partition(reader: WireReader, version: int) -> None:
    """Read up to the content of the only partition; raise InputError if there are several."""
    is_flexible = version >= FLEXIBLE_PRODUCE
    for what in ("topics", "partitions"):
        count = reader.count(is_flexible)
        if count != 1:
            raise InputError(
                f"a Produce request with {count} {what} cannot be recorded: let the producer use one partition"
            )
        if what == "topics":
            # The name of the topic, or its id.
            reader.take(16) if version >= _TOPIC_IDS else reader.text(is_flexible)
    reader.number("i")


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
