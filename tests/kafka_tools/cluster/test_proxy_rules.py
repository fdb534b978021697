"""The proxy in front of a broker, against a server that answers each request with its correlation id."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from kafka_tools.cluster.process import LOOPBACK, free_ports
from kafka_tools.cluster.proxy import BrokerProxy, Rule

PRODUCE, METADATA = 0, 3


class Broker:
    """Answers each request with its correlation id, and remembers the requests."""

    def __init__(self) -> None:
        self.listener = socket.create_server((LOOPBACK, 0))
        self.port = self.listener.getsockname()[1]
        self.seen: list[tuple[int, int]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        while len(length := client.recv(4)) == 4:
            request = client.recv(struct.unpack(">i", length)[0])
            key, _, correlation = struct.unpack_from(">hhi", request)
            self.seen.append((key, correlation))
            try:
                client.sendall(struct.pack(">ii", 4, correlation))
            except OSError:
                return


class Client:
    def __init__(self, port: int):
        self.socket = socket.create_connection((LOOPBACK, port), 5)
        self.socket.settimeout(0.5)

    def send(self, key: int, correlation: int) -> None:
        self.socket.sendall(struct.pack(">ihhi", 8, key, 9, correlation))

    def receive(self) -> int | None:
        """Return the correlation id of the next response, None if none comes; raise OSError if the connection ended."""
        try:
            data = self.socket.recv(8)
        except TimeoutError:
            return None
        if not data:
            raise ConnectionResetError
        return int(struct.unpack(">ii", data)[1])


@pytest.fixture
def broker() -> Iterator[Broker]:
    found = Broker()
    yield found
    found.listener.close()


@pytest.fixture
def proxy(broker) -> Iterator[BrokerProxy]:
    found = BrokerProxy(free_ports(1)[0], broker.port)
    yield found
    found.close()


def test_messages_pass(proxy, broker):
    client = Client(proxy.port)
    for correlation in range(3):
        client.send(PRODUCE, correlation)
        assert client.receive() == correlation
    assert broker.seen == [(PRODUCE, 0), (PRODUCE, 1), (PRODUCE, 2)] and proxy.lost == 0


def test_responses_of_a_kind_are_lost(proxy, broker):
    client = Client(proxy.port)
    proxy.lose(Rule("Produce", "responses"))
    client.send(PRODUCE, 1)
    client.send(METADATA, 2)
    assert client.receive() == 2
    assert broker.seen == [(PRODUCE, 1), (METADATA, 2)] and proxy.lost == 1
    proxy.forward()
    client.send(PRODUCE, 3)
    assert client.receive() == 3


def test_requests_of_a_kind_are_lost(proxy, broker):
    client = Client(proxy.port)
    proxy.lose(Rule("Produce", "requests"))
    client.send(PRODUCE, 1)
    client.send(METADATA, 2)
    assert client.receive() == 2
    assert broker.seen == [(METADATA, 2)] and proxy.lost == 1


def refused(port: int) -> None:
    other = Client(port)
    other.send(PRODUCE, 2)
    other.receive()


def test_cut_closes_and_refuses(proxy):
    client = Client(proxy.port)
    client.send(PRODUCE, 1)
    assert client.receive() == 1
    proxy.cut()
    with pytest.raises((ConnectionError, BrokenPipeError)):
        client.receive()
    with pytest.raises((ConnectionError, BrokenPipeError)):
        refused(proxy.port)
    proxy.restore()
    again = Client(proxy.port)
    again.send(PRODUCE, 3)
    assert again.receive() == 3


def test_held_request_arrives_after_its_client_is_gone(proxy, broker):
    first = Client(proxy.port)
    proxy.hold("Produce", 1)
    first.send(PRODUCE, 1)
    assert first.receive() is None
    first.socket.close()
    second = Client(proxy.port)
    second.send(PRODUCE, 2)
    assert second.receive() == 2
    proxy.release()
    end = time.monotonic() + 5
    while len(broker.seen) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert broker.seen == [(PRODUCE, 2), (PRODUCE, 1)]
