"""The batches of Produce requests and the answers to them, of all versions that name topics by name (3 to 12).

Source: ProduceRequest.json and ProduceResponse.json of Kafka's message definitions, KIP-98 for the record batch.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from kafka_tools.lab.cluster.wire_reader import WireReader
from kafka_tools.lab.librdkafka.wire_format import FLEXIBLE_PRODUCE, OLDEST_PRODUCE

VERSIONS = range(OLDEST_PRODUCE, 13)
"""The versions that are read."""

_BATCH = struct.Struct(">q i i b I h i q q q h i i")
_TRANSACTIONAL = 0x10
_TOPIC = re.compile(rb"[A-Za-z0-9._-]{1,249}")
"""The names of topics that Kafka accepts (`Topic.validate`)."""

MOST_BATCHES = 10_000
"""The batches of a request that are read. A producer puts one batch of each partition into a request."""

_CONTENT = 43
"""The position in a batch at which its producer's identity begins. What follows the identity is its content."""


@dataclass(frozen=True)
class ProducedBatch:
    """A batch of a Produce request for one partition; a producer without idempotence has the id -1.

    `content` is a digest of the records, which a retry keeps under another epoch or sequence.
    """

    topic: str
    partition: int
    producer_id: int
    epoch: int
    sequence: int
    records: int
    is_transactional: bool
    content: bytes


@dataclass(frozen=True)
class ProduceAnswer:
    """The answer to the batch of one partition; `offset` is -1 if there is an error."""

    topic: str
    partition: int
    error: int
    offset: int


def expects_answer(body: bytes, version: int) -> bool:
    """Return whether the broker answers a Produce request, from its body: with acks=0 it does not."""
    if version not in VERSIONS:
        return True
    reader = WireReader(body)
    try:
        reader.text(version >= FLEXIBLE_PRODUCE)  # transactional.id
        return bool(reader.number("h") != 0)
    except (struct.error, IndexError, ValueError):
        return True


def produced_batches(body: bytes, version: int) -> list[ProducedBatch]:
    """Return the batches of a Produce request, from its body; raise ValueError if it cannot be read."""
    if version not in VERSIONS:
        raise ValueError(f"a Produce request of version {version}")
    reader = WireReader(body)
    is_flexible = version >= FLEXIBLE_PRODUCE
    try:
        reader.text(is_flexible)  # transactional.id
        reader.number("h"), reader.number("i")  # acks, timeout
        batches: list[ProducedBatch] = []
        for _ in range(reader.count(is_flexible)):
            topic = reader.text(is_flexible)
            partitions = reader.count(is_flexible)
            if not _TOPIC.fullmatch(topic) or partitions < 1:
                raise ValueError("a Produce request without the name of a topic, or without its partitions")
            for _ in range(partitions):
                if len(batches) == MOST_BATCHES:
                    raise ValueError(f"a Produce request of more than {MOST_BATCHES} batches")
                partition = reader.number("i")
                batches.append(_batch(topic.decode(), partition, reader.records(is_flexible)))
                reader.end_of_struct(is_flexible)
            reader.end_of_struct(is_flexible)
    except (struct.error, IndexError):
        raise ValueError("a Produce request cannot be read") from None
    return batches


def _batch(topic: str, partition: int, records: bytes) -> ProducedBatch:
    _, _, _, magic, _, attributes, _, _, _, producer_id, epoch, sequence, count = _BATCH.unpack_from(records)
    if magic != 2:
        raise ValueError(f"a batch of the message format {magic}")
    if count < 1 or partition < 0 or (producer_id >= 0 and min(epoch, sequence) < 0):
        raise ValueError("a batch without records, or with a negative partition, epoch or sequence")
    # The time stamps and the offset deltas belong to the content, the identity in between does not.
    content = hashlib.sha256(records[21:_CONTENT] + records[_BATCH.size - 4 :]).digest()
    is_transactional = bool(attributes & _TRANSACTIONAL)
    return ProducedBatch(topic, partition, producer_id, epoch, sequence, count, is_transactional, content)


def produce_answers(response: bytes, version: int) -> list[ProduceAnswer]:
    """Return the answers of a Produce response without its length; raise ValueError if it cannot be read."""
    try:
        return list(read_answers(WireReader(response), version))
    except (struct.error, IndexError, UnicodeDecodeError):
        raise ValueError("a Produce response cannot be read") from None


def read_answers(reader: WireReader, version: int) -> Iterator[ProduceAnswer]:
    """Iterate over the answers of a response; the reader is then at its tagged fields, if it has any."""
    is_flexible = version >= FLEXIBLE_PRODUCE
    reader.number("i")  # the correlation id
    reader.end_of_struct(is_flexible)
    for _ in range(reader.count(is_flexible)):
        topic = reader.text(is_flexible).decode()
        for _ in range(reader.count(is_flexible)):
            partition, error, offset = reader.number("i"), reader.number("h"), reader.number("q")
            reader.number("q")  # the time of the append
            if version >= 5:
                reader.number("q")  # the first offset of the log
            if version >= 8:
                for _ in range(reader.count(is_flexible)):
                    reader.number("i"), reader.text(is_flexible)  # a wrong record and its error
                    reader.end_of_struct(is_flexible)
                reader.text(is_flexible)
            reader.end_of_struct(is_flexible)
            yield ProduceAnswer(topic, partition, error, offset)
        reader.end_of_struct(is_flexible)
    reader.number("i")  # the throttle time
