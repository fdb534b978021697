"""A request that librdkafka's AdminClient does not have: AlterPartitionReassignments, which changes replicas.

Source: AlterPartitionReassignmentsRequest.json and its response, version 0; KIP-455, KIP-482.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from checker.errors import InputError
from kafka_tools.experiments.api_keys import API_KEYS
from kafka_tools.lab.cluster.broker_connection import response_to

_CORRELATION = 1
_TIMEOUT_MS = 30_000
_NO_TAGS = b"\0"


def reassign(address: tuple[str, int], topic: str, partition: int, replicas: Sequence[int]) -> None:
    """Ask a broker to give a partition these replicas, in the order of preference; raise InputError if it refuses."""
    try:
        response = response_to(_request(topic, partition, replicas), address, _TIMEOUT_MS / 1000)
    except OSError as error:
        raise InputError(f"the replicas of {topic}-{partition} cannot become {list(replicas)}: {error}") from None
    code = _error(response)
    if code:
        raise InputError(f"the replicas of {topic}-{partition} cannot become {list(replicas)}: error {code} of Kafka")


def _request(topic: str, partition: int, replicas: Sequence[int]) -> bytes:
    header = struct.pack(">hhih", API_KEYS["AlterPartitionReassignments"], 0, _CORRELATION, -1) + _NO_TAGS
    wanted = struct.pack(">i", partition) + _length(len(replicas)) + struct.pack(f">{len(replicas)}i", *replicas)
    name = topic.encode()
    topics = _length(1) + _length(len(name)) + name + _length(1) + wanted + _NO_TAGS + _NO_TAGS
    return header + struct.pack(">i", _TIMEOUT_MS) + topics + _NO_TAGS


def _length(count: int) -> bytes:
    """Return a compact length, which is one more; one byte is enough for those here."""
    if count > 126:
        raise ValueError(f"{count} does not fit into one byte")
    return bytes([count + 1])


def _error(response: bytes) -> int:
    """Return the first error code of a response: of the request, or of its partition."""
    # Correlation id, tagged fields, throttle time.
    position = 4 + 1 + 4
    (code,) = struct.unpack_from(">h", response, position)
    if code:
        return int(code)
    position = _after_string(response, position + 2)
    # One topic, its name, one partition and its number.
    position = _after_string(response, position + 1) + 1 + 4
    return int(struct.unpack_from(">h", response, position)[0])


def _after_string(data: bytes, position: int) -> int:
    """Return the position behind a compact string, null as 0."""
    return position + 1 + max(data[position] - 1, 0)
