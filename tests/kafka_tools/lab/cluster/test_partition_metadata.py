"""What brokers know about a partition: the response of one broker, and the newest of several views."""

import socket
import struct
import threading

import pytest

from kafka_tools.lab.cluster.messages import LENGTH, request_header
from kafka_tools.lab.cluster.partition_metadata import PartitionMetadata, leader_of, newest, partition_metadata
from kafka_tools.lab.cluster.process import LOOPBACK

FIRST = PartitionMetadata(1, 0, (1, 2, 3), (1, 2, 3))
SECOND = PartitionMetadata(2, 1, (1, 2, 3), (2, 3))
NONE = PartitionMetadata(-1, 2, (1, 2, 3), ())


def text(value):
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def numbers(*values):
    return struct.pack(f">i{len(values)}i", len(values), *values)


def response(*partitions):
    """Return a Metadata response, version 7, with these partitions as pairs of a number and a view."""
    data = struct.pack(">iii", 1, 0, 2)
    for broker in (1, 2):
        data += struct.pack(">i", broker) + text("localhost") + struct.pack(">i", 9092) + text(None)
    data += text("cluster") + struct.pack(">ii", 1, 1)
    data += struct.pack(">h", 0) + text("tide") + struct.pack(">bi", 0, len(partitions))
    for number, view in partitions:
        data += struct.pack(">hiii", 0, number, view.leader, view.leader_epoch)
        data += numbers(*view.replicas) + numbers(*view.isr) + numbers()
    return data


@pytest.fixture
def answered_with():
    """Return a function that answers one request with some bytes, and returns the address and the requests."""
    with socket.create_server((LOOPBACK, 0)) as server:
        requests = []

        def serve(answer):
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as stream:
                requests.append(stream.read(LENGTH.unpack(stream.read(LENGTH.size))[0]))
                connection.sendall(answer)

        def answer(data):
            threading.Thread(target=serve, args=(data,), daemon=True).start()
            return server.getsockname(), requests

        yield answer


def framed(data):
    return LENGTH.pack(len(data)) + data


def test_a_partition_is_found_by_its_number(answered_with):
    address, requests = answered_with(framed(response((1, NONE), (0, SECOND))))
    assert partition_metadata(address, "tide", 0) == SECOND
    header = request_header(requests[0])
    assert (header.kind, header.version) == ("Metadata", 7) and requests[0].endswith(b"\0\4tide\0")


@pytest.mark.parametrize(
    "answer", [framed(response((1, FIRST))), b"", b"\0\0", framed(response((0, FIRST)))[:-9], framed(b"HTTP")]
)
def test_an_answer_without_the_partition_is_none(answered_with, answer):
    assert partition_metadata(answered_with(answer)[0], "tide", 0) is None


@pytest.mark.parametrize(
    ("views", "leader", "view"),
    [
        ({1: FIRST, 2: FIRST, 3: FIRST}, 1, FIRST),
        # Broker 3 knows of the election before the new leader does; the former leader has died.
        ({2: FIRST, 3: SECOND}, None, SECOND),
        ({2: SECOND, 3: SECOND}, 2, SECOND),
        # The former leader is cut off and still presumes that it leads.
        ({1: FIRST, 2: SECOND, 3: SECOND}, 2, SECOND),
        ({1: FIRST, 2: SECOND, 3: NONE}, None, NONE),
        ({1: None, 2: SECOND}, 2, SECOND),
        ({2: None}, None, None),
        ({}, None, None),
    ],
)
def test_the_leader_is_that_of_the_highest_epoch_if_it_knows_so(views, leader, view):
    assert (leader_of(views), newest(views)) == (leader, view)
