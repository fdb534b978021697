"""A proxy in front of a broker's listener that understands Kafka's framing: it loses, holds and delays messages."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

from kafka_tools.cluster.process import LOOPBACK

API_KEYS = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "SyncGroup": 14,
    "InitProducerId": 22,
    "AddPartitionsToTxn": 24,
    "AddOffsetsToTxn": 25,
    "EndTxn": 26,
    "WriteTxnMarkers": 27,
    "TxnOffsetCommit": 28,
}
"""The kinds of requests that a rule may name (`ApiKeys`)."""

_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">hhi")
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Rule:
    """Messages of a kind of request that the proxy loses: its requests, or the responses to them."""

    kind: str
    loses: str

    @property
    def loses_requests(self) -> bool:
        """Whether the requests are lost, so that the broker never sees them."""
        return self.loses == "requests"


@dataclass
class _Connection:
    client: socket.socket
    broker: socket.socket
    kinds: dict[int, int] = field(default_factory=dict)
    """The kind of each request without a response, by its correlation id."""


class BrokerProxy:
    """Listens on the loopback address and forwards to a broker's port, in threads of its own."""

    def __init__(self, port: int, broker: int):
        self.port, self._broker = port, broker
        self._lock = threading.Lock()
        self._rules: set[Rule] = set()
        self._connections: list[_Connection] = []
        self._is_cut = False
        self._lost = 0
        self._delay = 0.0
        self._to_hold: dict[int, int] = {}
        self._released = threading.Event()
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((LOOPBACK, port))
        self._listener.listen(64)
        threading.Thread(target=self._accept, name=f"proxy {port}", daemon=True).start()

    @property
    def lost(self) -> int:
        """The number of messages that were lost by rules."""
        return self._lost

    def lose(self, rule: Rule) -> None:
        """Lose messages of a kind from now on."""
        with self._lock:
            self._rules.add(rule)

    def hold(self, kind: str, count: int) -> None:
        """Hold the next requests of a kind, also after their client is gone, until `release`."""
        with self._lock:
            self._to_hold[API_KEYS[kind]] = count
            self._released.clear()

    def release(self) -> None:
        """Forward the held requests to the broker."""
        with self._lock:
            self._to_hold.clear()
        self._released.set()

    def delay(self, seconds: float) -> None:
        """Hold each response for some seconds from now on."""
        self._delay = seconds

    def forward(self) -> None:
        """Forward all messages from now on."""
        with self._lock:
            self._rules.clear()
        self._delay = 0.0

    def cut(self) -> None:
        """Close every connection, and refuse new ones until `restore`."""
        with self._lock:
            self._is_cut = True
            closing, self._connections = self._connections, []
        for connection in closing:
            self._close(connection)

    def restore(self) -> None:
        """Accept connections again."""
        self._is_cut = False

    def close(self) -> None:
        """Close the listener and all connections."""
        self.cut()
        self.release()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self._is_cut:
                    raise ConnectionError
                broker = socket.create_connection((LOOPBACK, self._broker), 5)
                broker.settimeout(None)
            except OSError:
                _reset(client)
                continue
            connection = _Connection(client, broker)
            for each in (client, broker):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._connections.append(connection)
            threading.Thread(target=self._pump, args=(connection, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(connection, False), daemon=True).start()

    def _pump(self, connection: _Connection, is_request: bool) -> None:
        """Forward the messages of one direction until a socket closes."""
        source, target = connection.client, connection.broker
        if not is_request:
            source, target = target, source
        with suppress(OSError, EOFError):
            while True:
                message = _read(source, _LENGTH.unpack(_read(source, _LENGTH.size))[0])
                if self._is_lost(connection, message, is_request):
                    continue
                if is_request and self._is_held(message):
                    self._released.wait()
                if not is_request and self._delay:
                    time.sleep(self._delay)
                target.sendall(_LENGTH.pack(len(message)) + message)
        self._close(connection)

    def _is_lost(self, connection: _Connection, message: bytes, is_request: bool) -> bool:
        with self._lock:
            if is_request:
                key, _, correlation = _REQUEST.unpack_from(message)
                connection.kinds[correlation] = key
            else:
                (correlation,) = _LENGTH.unpack_from(message)
                key = connection.kinds.pop(correlation, -1)
            found = any(API_KEYS[rule.kind] == key and rule.loses_requests == is_request for rule in self._rules)
            self._lost += found
        return found

    def _is_held(self, message: bytes) -> bool:
        key, _, _ = _REQUEST.unpack_from(message)
        with self._lock:
            left = self._to_hold.get(key, 0)
            if left:
                self._to_hold[key] = left - 1
        return left > 0

    def _close(self, connection: _Connection) -> None:
        for each in (connection.client, connection.broker):
            _reset(each)


def _read(source: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        data = source.recv(count - len(parts))
        if not data:
            raise EOFError
        parts += data
    return bytes(parts)


def _reset(connection: socket.socket) -> None:
    """Close a connection with RST, as a failing network does."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.close()
