"""What one broker knows about a partition: its leader, leader epoch, replicas and ISR.

After an election the brokers learn the leader at different times. librdkafka's AdminClient asks any of them, so that
two of its answers may contradict each other.
Source: MetadataRequest.json and MetadataResponse.json, version 7.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_tools.experiments.api_keys import API_KEYS
from kafka_tools.lab.cluster.broker_connection import response_to

_VERSION = 7
_CORRELATION = 1
_SECONDS = 5.0


@dataclass(frozen=True)
class PartitionMetadata:
    """A partition as a broker knows it. `leader` is -1 if there is none."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


def partition_metadata(address: tuple[str, int], topic: str, partition: int) -> PartitionMetadata | None:
    """Return what a broker knows about a partition; None if it does not answer or does not know the partition.

    An answer that is no Metadata response counts as none.
    """
    try:
        return _partition_in(response_to(_request(topic), address, _SECONDS), partition)
    except (OSError, struct.error):
        return None


def newest(views: Mapping[int, PartitionMetadata | None]) -> PartitionMetadata | None:
    """Return the view of the highest leader epoch, by broker: that of the leader if it is one of them."""
    known = [(view.leader_epoch, view.leader == broker, view) for broker, view in views.items() if view is not None]
    return max(known, key=lambda each: each[:2])[2] if known else None


def leader_of(views: Mapping[int, PartitionMetadata | None]) -> int | None:
    """Return the leader of the highest leader epoch if it knows itself that it leads, otherwise None."""
    view = newest(views)
    return view.leader if view is not None and views.get(view.leader) == view else None


def _request(topic: str) -> bytes:
    header = struct.pack(">hhih", API_KEYS["Metadata"], _VERSION, _CORRELATION, -1)
    name = topic.encode()
    allows_creation = b"\0"
    return header + struct.pack(">ih", 1, len(name)) + name + allows_creation


class _Reader:
    """Reads the fields of a response from its beginning to its end."""

    def __init__(self, data: bytes):
        self._data, self._position = data, 0

    def number(self, kind: str) -> int:
        """Return the next number; `kind` is a format character of `struct`."""
        (value,) = struct.unpack_from(f">{kind}", self._data, self._position)
        self._position += struct.calcsize(f">{kind}")
        return int(value)

    def numbers(self) -> tuple[int, ...]:
        """Return the next array of 32-bit numbers."""
        return tuple(self.number("i") for _ in range(self.number("i")))

    def skip_text(self) -> None:
        """Skip a string. The length of null is -1."""
        length = self.number("h")
        self._position += max(length, 0)


def _partition_in(response: bytes, partition: int) -> PartitionMetadata | None:
    """Return a partition of a response about one topic; None if the response does not have it."""
    reader = _Reader(response)
    reader.number("i")  # the correlation id
    reader.number("i")  # the throttle time
    for _ in range(reader.number("i")):
        reader.number("i")  # the number of a broker, its host, port and rack
        reader.skip_text()
        reader.number("i")
        reader.skip_text()
    reader.skip_text()  # the identifier of the cluster
    reader.number("i")  # the controller
    for _ in range(reader.number("i")):
        reader.number("h")  # the error code of the topic, its name, and whether it is internal
        reader.skip_text()
        reader.number("b")
        for _ in range(reader.number("i")):
            reader.number("h")  # the error code of the partition: the leader may be unavailable
            index, leader, epoch = (reader.number("i") for _ in range(3))
            replicas, isr, _ = (reader.numbers() for _ in range(3))
            if index == partition:
                return PartitionMetadata(leader, epoch, replicas, isr)
    return None
