"""The proxies, against servers that answer each request with its correlation id."""

import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from checker.errors import InputError
from kafka_tools.experiments.faults import FaultRule
from kafka_tools.experiments.steps import fault_rule
from kafka_tools.lab.cluster.messages import RequestHeader, request_header
from kafka_tools.lab.cluster.process import LOOPBACK, free_ports, owner_of_connection
from kafka_tools.lab.cluster.proxy import CLIENT, OTHER, Link, PassingRequest, ProxyNetwork, TrafficObserver
from kafka_tools.lab.cluster.traffic import ObserverGroup, TrafficJournal

PRODUCE, FETCH, METADATA = 0, 1, 3
PATIENCE = 5.0


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
        try:
            while len(length := client.recv(4)) == 4:
                request = client.recv(struct.unpack(">i", length)[0])
                key, _, correlation = struct.unpack_from(">hhi", request)
                self.seen.append((key, correlation))
                client.sendall(struct.pack(">ii", 4, correlation))
        except OSError:
            return


class Client:
    def __init__(self, port: int):
        self.socket = socket.create_connection((LOOPBACK, port), PATIENCE)

    def send(self, key: int, correlation: int) -> None:
        self.socket.sendall(struct.pack(">ihhih", 10, key, 0, correlation, -1))

    def receive(self) -> int:
        """Return the correlation id of the next response; raise OSError if none comes or the connection ended."""
        data = self.socket.recv(8)
        if not data:
            raise ConnectionResetError
        return int(struct.unpack(">ii", data)[1])

    def has_response(self) -> bool:
        return bool(select.select([self.socket], [], [], 0.1)[0])

    def exchange(self, key: int, correlation: int) -> int:
        self.send(key, correlation)
        return self.receive()


class Journal(TrafficObserver):
    """Keeps what it sees, as text."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def sent(self, request: PassingRequest) -> None:
        self.lines.append(f"sent {request.header.kind} {request.number}")

    def forwarded(self, request: PassingRequest) -> None:
        self.lines.append(f"forwarded {request.header.correlation}")

    def answered(self, request: PassingRequest, response: bytes) -> None:
        self.lines.append(f"answered {request.header.correlation}")

    def delivered(self, request: PassingRequest) -> None:
        self.lines.append(f"delivered {request.header.correlation}")

    def closed(self, connection: int, unanswered: list[PassingRequest]) -> None:
        self.lines.append(f"closed {[each.header.correlation for each in unanswered]}")


@pytest.fixture
def broker() -> Iterator[Broker]:
    found = Broker()
    yield found
    found.listener.close()


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def network(broker, journal) -> Iterator[ProxyNetwork]:
    """A proxy for clients, and one to which broker 2 connects; both lead to broker 1."""
    target = (LOOPBACK, broker.port)
    with ProxyNetwork([Link(0, 1, target), Link(0, 1, target, lambda port: 2)], journal) as found:
        yield found


@pytest.fixture
def client(network) -> Client:
    return Client(network.ports[0])


@pytest.fixture
def peer(network) -> Client:
    return Client(network.ports[1])


def until(is_reached: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_reached() and time.monotonic() < end:
        time.sleep(0.01)
    assert is_reached()


def is_closed(client: Client) -> bool:
    try:
        return client.socket.recv(1) == b""
    except ConnectionError:
        return True


def is_refused(port: int) -> bool:
    try:
        return is_closed(Client(port))
    except ConnectionError:
        return True


def apply(network: ProxyNetwork, step: str) -> None:
    network.add(fault_rule(step, 3))


def test_messages_pass(network, broker, client, journal):
    for correlation in range(3):
        assert client.exchange(PRODUCE, correlation) == correlation
    assert broker.seen == [(PRODUCE, 0), (PRODUCE, 1), (PRODUCE, 2)] and network.count("lose") == 0
    assert journal.lines[:4] == ["sent Produce 1", "forwarded 0", "answered 0", "delivered 0"]


def test_responses_of_a_kind_are_lost(network, broker, client, journal):
    apply(network, "lose Produce responses")
    client.send(PRODUCE, 1)
    assert client.exchange(METADATA, 2) == 2
    assert broker.seen == [(PRODUCE, 1), (METADATA, 2)] and network.count("lose") == 1
    network.forward()
    assert client.exchange(PRODUCE, 3) == 3
    client.socket.close()
    until(lambda: journal.lines[-1] == "closed [1]")


def test_requests_of_a_kind_are_lost(network, broker, client):
    apply(network, "lose Produce requests")
    client.send(PRODUCE, 1)
    assert client.exchange(METADATA, 2) == 2
    assert broker.seen == [(METADATA, 2)] and network.count("lose") == 1


def test_the_next_messages_are_lost(network, client):
    apply(network, "lose Produce requests 2")
    client.send(PRODUCE, 1)
    client.send(PRODUCE, 2)
    assert client.exchange(PRODUCE, 3) == 3


def test_one_message_is_lost_by_its_number(network, client):
    apply(network, "lose Produce responses @2")
    assert client.exchange(PRODUCE, 1) == 1 and client.exchange(METADATA, 2) == 2
    client.send(PRODUCE, 3)
    assert client.exchange(PRODUCE, 4) == 4


def test_responses_are_delayed_and_keep_their_order(network, client):
    apply(network, "delay 100ms Produce responses")
    begun = time.monotonic()
    for correlation in (1, 2, 3):
        client.send(PRODUCE, correlation)
    assert [client.receive() for _ in range(3)] == [1, 2, 3]
    assert 0.1 <= time.monotonic() - begun < 0.25, "the delays overlap, as those of a long way do"


def test_a_duplicated_request_arrives_twice_and_is_answered_once(network, broker, client, journal):
    apply(network, "duplicate Produce requests 1")
    assert client.exchange(PRODUCE, 1) == 1 and client.exchange(PRODUCE, 2) == 2
    assert broker.seen == [(PRODUCE, 1), (PRODUCE, 1), (PRODUCE, 2)] and network.count("duplicate") == 1
    assert journal.lines.count("answered 1") == 2 and journal.lines.count("delivered 1") == 1


def test_a_duplicated_response_arrives_twice(network, client):
    apply(network, "duplicate Produce responses @1")
    assert client.exchange(PRODUCE, 1) == 1 and client.receive() == 1 and client.exchange(PRODUCE, 2) == 2


def test_a_held_request_arrives_after_its_client_is_gone(network, broker, client, journal):
    apply(network, "hold Produce requests 1")
    client.send(PRODUCE, 1)
    assert not client.has_response()
    client.socket.close()
    assert Client(network.ports[0]).exchange(PRODUCE, 2) == 2
    network.forward()
    assert network.count("hold") == 1 and broker.seen == [(PRODUCE, 2)], "forward does not release"
    assert network.handled() == 0
    network.release()
    until(lambda: network.handled() == 1)
    assert broker.seen == [(PRODUCE, 2), (PRODUCE, 1)]
    until(lambda: journal.lines[-1] == "closed [1]")
    assert "answered 1" in journal.lines and "delivered 1" not in journal.lines, "nobody receives the response"


def test_a_held_response_holds_those_behind_it(network, client):
    apply(network, "hold Produce responses 1")
    client.send(PRODUCE, 1)
    client.send(METADATA, 2)
    assert not client.has_response()
    network.release()
    assert client.receive() == 1 and client.receive() == 2 and network.handled() == 0


def test_a_held_request_of_a_client_that_waits_is_answered(network, client):
    apply(network, "hold Produce requests 1")
    client.send(PRODUCE, 1)
    until(lambda: network.count("hold") == 1)
    network.release()
    assert client.receive() == 1 and network.handled() == 1
    assert client.exchange(PRODUCE, 2) == 2 and network.handled() == 1


def test_a_broken_request_ends_the_connection_after_the_answers_of_others(network, broker, client, journal):
    apply(network, "delay 50ms Produce responses")
    apply(network, "break Produce requests @2")
    for correlation in (1, 2, 3):
        client.send(PRODUCE, correlation)
    assert client.receive() == 1 and is_closed(client)
    assert broker.seen == [(PRODUCE, 1)] and journal.lines[-1] == "closed [2]"


def test_a_broken_response_ends_the_connection_after_the_broker_has_answered(network, broker, client, journal):
    apply(network, "break Produce responses @1")
    client.send(PRODUCE, 1)
    assert is_closed(client)
    assert broker.seen == [(PRODUCE, 1)] and journal.lines[-2:] == ["answered 1", "closed [1]"]


def test_clients_are_cut_off(network, client, peer):
    assert client.exchange(PRODUCE, 1) == 1
    network.disconnect_clients()
    assert is_closed(client) and is_refused(network.ports[0])
    assert peer.exchange(FETCH, 2) == 2
    network.restore_clients()
    assert Client(network.ports[0]).exchange(PRODUCE, 3) == 3


def test_two_brokers_are_cut_off_from_each_other(network, client, peer):
    assert peer.exchange(FETCH, 1) == 1
    network.cut(1, 3)
    assert peer.exchange(FETCH, 2) == 2
    network.cut(2, 1)
    assert is_closed(peer) and is_refused(network.ports[1])
    assert client.exchange(PRODUCE, 3) == 3
    network.heal()
    assert Client(network.ports[1]).exchange(FETCH, 4) == 4


@pytest.mark.parametrize(
    ("opener", "is_faulty"),
    [("clients", (True, False)), ("brokers", (False, True)), ("broker 2", (False, True)), ("broker 3", (False, False))],
)
def test_a_fault_concerns_the_side_that_opened_the_connection(network, client, peer, opener, is_faulty):
    apply(network, f"lose Fetch responses of {opener}")
    client.send(FETCH, 1)
    peer.send(FETCH, 2)
    assert (not client.has_response(), not peer.has_response()) == is_faulty


def test_no_fault_concerns_other_processes_at_a_listener_for_brokers(broker):
    with ProxyNetwork([Link(0, 1, (LOOPBACK, broker.port), lambda port: OTHER)]) as network:
        for opener in ("clients", "brokers"):
            apply(network, f"lose all responses of {opener}")
        network.disconnect_clients()
        assert Client(network.ports[0]).exchange(FETCH, 1) == 1


def test_other_protocols_are_refused(network, client):
    client.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert is_closed(client)


def test_a_broker_that_does_not_listen():
    with ProxyNetwork([Link(0, 1, (LOOPBACK, free_ports(1)[0]))]) as network:
        assert is_refused(network.ports[0])


def test_a_failing_observer_is_not_silent(broker):
    class Failing(TrafficObserver):
        def sent(self, request: PassingRequest) -> None:
            raise KeyError("observer")

    network = ProxyNetwork([Link(0, 1, (LOOPBACK, broker.port))], Failing())
    network.__enter__()
    client = Client(network.ports[0])
    client.send(PRODUCE, 1)
    assert is_closed(client)
    with pytest.raises(KeyError, match="observer"):
        network.close()


def test_the_journal_of_the_traffic(broker, tmp_path):
    links = [Link(0, 1, (LOOPBACK, broker.port)), Link(0, 1, (LOOPBACK, broker.port), lambda port: 2)]
    also = Journal()
    with (
        TrafficJournal(tmp_path / "traffic.jsonl") as journal,
        ProxyNetwork(links, ObserverGroup([journal, also])) as network,
    ):
        apply(network, "lose Produce responses")
        client, peer = Client(network.ports[0]), Client(network.ports[1])
        client.send(PRODUCE, 7)
        assert peer.exchange(FETCH, 8) == 8
        until(lambda: network.count("lose") == 1)
        network.disconnect_clients()
    events = [json.loads(line) for line in (tmp_path / "traffic.jsonl").read_text().splitlines()]
    assert all(event.pop("seconds") >= 0 for event in events) and len(events) == len(also.lines)
    asked = {"connection": 1, "from": "client", "to": 1, "kind": "Produce", "version": 0, "number": 1, "correlation": 7}
    of_client = [event for event in events if event["connection"] == 1]
    assert of_client == [
        {"event": "sent", **asked},
        {"event": "forwarded", **asked},
        {"event": "answered", **asked, "bytes": 4},
        {"event": "closed", "connection": 1, "unanswered": [7]},
    ]
    of_peer = [event for event in events if event["connection"] == 2]
    assert [event["event"] for event in of_peer] == ["sent", "forwarded", "answered", "delivered", "closed"]
    assert of_peer[0]["from"] == "broker 2" and of_peer[0]["kind"] == "Fetch"


def test_the_process_of_a_connection_is_found():
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket, time; s = socket.create_connection(('{LOOPBACK}', {port})); time.sleep(60)"
        with subprocess.Popen([sys.executable, "-c", script]) as process:
            accepted, (_, other) = server.accept()
            assert owner_of_connection(other, port, [os.getpid(), process.pid]) == process.pid
            assert owner_of_connection(other, port, [os.getpid()]) is None
            assert owner_of_connection(1, port, [process.pid]) is None
            accepted.close()
            process.kill()


def test_request_headers():
    old = struct.pack(">hhih", 0, 7, 5, 2) + b"me" + b"body"
    assert request_header(old) == RequestHeader("Produce", 7, 5, "me", 12)
    tagged = struct.pack(">hhih", 0, 9, 5, -1) + bytes([1, 0, 3]) + b"abc" + b"body"
    assert request_header(tagged) == RequestHeader("Produce", 9, 5, "", 16)
    assert request_header(struct.pack(">hhihb", 56, 0, 1, -1, 0)).kind == "AlterPartition"
    assert request_header(struct.pack(">hhih", 999, 0, 1, -1)).kind == "999"
    for size in range(len(tagged) - 4):
        with pytest.raises(ValueError, match="cut off"):
            request_header(tagged[:size])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("lose Fish responses", "Fish is not a kind of messages: name one of Produce, Fetch, "),
        ("lose Produce answers", "write lose KIND [requests|responses]"),
        ("lose 5ms Produce", "delay has a time such as 50ms"),
        ("delay Produce", "delay has a time such as 50ms"),
        ("hold Fetch requests of broker 4", "the brokers are 1 to 3"),
    ],
)
def test_wrong_faults(step, message):
    with pytest.raises(InputError, match=re.escape(message)):
        fault_rule(step, 3)


def test_the_rule_of_a_step():
    assert fault_rule("duplicate WriteTxnMarkers of broker 1", 3) == FaultRule(
        "duplicate", "WriteTxnMarkers", "requests", 1
    )
    assert fault_rule("delay 50ms all responses 3 of brokers", 3) == FaultRule(
        "delay", None, "responses", "brokers", count=3, seconds=0.05
    )
    assert fault_rule("hold Produce 1", 3).applies("Produce", "requests", CLIENT, 7)
