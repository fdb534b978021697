"""Kafka's framing and request headers: a length of four bytes, then the API key, its version and a correlation id.

Source: the files `*Request.json` of Kafka's message definitions, KIP-482 for flexible versions.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from kafka_tools.experiments.api_keys import API_KEYS

_NAMES = {key: name for name, key in API_KEYS.items()}

_FIRST_FLEXIBLE = {
    "WriteTxnMarkers": 1,
    "BeginQuorumEpoch": 1,
    "EndQuorumEpoch": 1,
    "ElectLeaders": 2,
    "InitProducerId": 2,
    "AddOffsetsToTxn": 3,
    "AddPartitionsToTxn": 3,
    "ApiVersions": 3,
    "EndTxn": 3,
    "FindCoordinator": 3,
    "TxnOffsetCommit": 3,
    "Heartbeat": 4,
    "LeaveGroup": 4,
    "OffsetForLeaderEpoch": 4,
    "SyncGroup": 4,
    "CreateTopics": 5,
    "JoinGroup": 6,
    "ListOffsets": 6,
    "OffsetFetch": 6,
    "OffsetCommit": 8,
    "Metadata": 9,
    "Produce": 9,
    "Fetch": 12,
}
"""The first version whose header ends with tagged fields. The kinds that are not here have them in every version."""

LARGEST = 100 * 1024 * 1024
"""The largest message in bytes: `socket.request.max.bytes` of a broker."""

MOST_TAGGED_FIELDS = 1000
"""The tagged fields of a struct that are read. Kafka defines fewer than 10 for each."""

LENGTH = struct.Struct(">i")
_HEADER = struct.Struct(">hhih")


@dataclass(frozen=True)
class RequestHeader:
    """The header of a request. `body` is the position in the message, without its length, at which the body begins.

    `kind` is a name of `API_KEYS`, or the number of another API.
    """

    kind: str
    version: int
    correlation: int
    client: str
    body: int


def request_header(message: bytes) -> RequestHeader:
    """Return the header of a request without its length; raise ValueError if it is cut off or no header."""
    try:
        key, version, correlation, size = _HEADER.unpack_from(message)
        end = body = _HEADER.size + max(size, 0)
        kind = _NAMES.get(key, str(key))
        if kind in API_KEYS and version >= _FIRST_FLEXIBLE.get(kind, 0):
            body = _after_tagged_fields(message, end)
    except (struct.error, IndexError):
        raise ValueError("a request header is cut off") from None
    if body > len(message):
        raise ValueError("a request header is cut off")
    return RequestHeader(kind, version, correlation, message[_HEADER.size : end].decode(errors="replace"), body)


def correlation_of(response: bytes) -> int:
    """Return the correlation id of a response without its length; raise ValueError if it is cut off."""
    if len(response) < LENGTH.size:
        raise ValueError("a response header is cut off")
    return int(LENGTH.unpack_from(response)[0])


def _after_tagged_fields(message: bytes, position: int) -> int:
    count, position = read_unsigned_varint(message, position)
    if count > MOST_TAGGED_FIELDS:
        raise ValueError(f"a request header of more than {MOST_TAGGED_FIELDS} tagged fields")
    for _ in range(count):
        _, position = read_unsigned_varint(message, position)
        size, position = read_unsigned_varint(message, position)
        position += size
    return position


def read_unsigned_varint(message: bytes, position: int) -> tuple[int, int]:
    """Return an unsigned number of at most five bytes, and the position after it.

    Raises IndexError if the message ends before, and ValueError if the number is longer.
    """
    value = 0
    for shift in range(0, 35, 7):
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
    raise ValueError("a number of variable length with more than 5 bytes")
