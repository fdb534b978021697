"""Produce requests and responses of the flexible versions (9 and later), as Kafka's Java client sends them.

Source: ProduceRequest.json and ProduceResponse.json of Kafka's message definitions, KIP-482.
"""

from __future__ import annotations

from checker.errors import InputError
from kafka_tools.lab.cluster.messages import MOST_TAGGED_FIELDS, read_unsigned_varint
from kafka_tools.lab.librdkafka.wire_format import ProduceRequest, ProduceResponse, WireReader, record_batch

OLDEST = 9
_TOPIC_IDS = 13
"""The first version that names topics by id."""


class FlexibleReader(WireReader):
    """Reads the compact types and tagged fields of flexible versions."""

    def unsigned(self) -> int:
        """Return an unsigned number of variable length."""
        number, self._at = read_unsigned_varint(self._data, self._at)
        return number

    def compact(self) -> bytes:
        """Return compact bytes or text; none for null."""
        return self.take(self.unsigned() - 1)

    def text(self, is_flexible: bool) -> bytes:
        """Return a string of a flexible version or of an older one; none for null."""
        return self.compact() if is_flexible else self.take(self.number("h"))

    def count(self, is_flexible: bool) -> int:
        """Return the length of an array."""
        return self.unsigned() - 1 if is_flexible else self.number("i")

    def end_of_struct(self, is_flexible: bool) -> None:
        """Skip the tagged fields that end a struct of a flexible version."""
        if is_flexible:
            self.skip_tags()

    def skip_tags(self) -> None:
        """Skip tagged fields; raise ValueError if they are too many."""
        count = self.unsigned()
        if count > MOST_TAGGED_FIELDS:
            raise ValueError(f"a message of more than {MOST_TAGGED_FIELDS} tagged fields")
        for _ in range(count):
            self.unsigned()
            self.take(self.unsigned())

    def skip_topic(self, version: int) -> None:
        """Skip the name or the id of a topic."""
        if version >= _TOPIC_IDS:
            self.take(16)
        else:
            self.compact()


def flexible_request(message: bytes) -> ProduceRequest:
    """Return a Produce request with one batch; raise InputError for an older version or several batches."""
    reader = FlexibleReader(message)
    reader.number("h")
    version = reader.number("h")
    if version < OLDEST:
        raise InputError(f"a Produce request of version {version} cannot be recorded: the oldest is {OLDEST}")
    correlation = reader.number("i")
    reader.take(reader.number("h"))  # client.id
    reader.skip_tags()
    reader.compact()  # transactional.id
    acks = reader.number("h")
    reader.number("i")  # timeout
    _only(reader, "topics")
    reader.skip_topic(version)
    _only(reader, "partitions")
    reader.number("i")
    return ProduceRequest(correlation, acks, record_batch(reader.compact()))


def flexible_response(message: bytes, version: int) -> ProduceResponse:
    """Return the response to a Produce request of a version."""
    reader = FlexibleReader(message)
    correlation = reader.number("i")
    reader.skip_tags()
    _only(reader, "topics")
    reader.skip_topic(version)
    _only(reader, "partitions")
    reader.number("i")
    return ProduceResponse(correlation, reader.number("h"), reader.number("q"))


def _only(reader: FlexibleReader, what: str) -> None:
    count = reader.unsigned() - 1
    if count != 1:
        raise InputError(
            f"a Produce request with {count} {what} cannot be recorded: let the producer use one partition"
        )
