"""Kafka's framing and request headers: a length of four bytes, then the API key, its version and a correlation id.

Source: the files `*Request.json` of Kafka's message definitions, KIP-482 for flexible versions.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from kafka_tools.experiments.api_keys import API_KEYS
from kafka_tools.lab.cluster.wire_reader import WireReader

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
            reader = WireReader(message, end)
            reader.end_of_struct(True)
            body = reader.position
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
