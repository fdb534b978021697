"""Proxies in front of listeners of brokers, which understand Kafka's framing and inject faults.

One thread runs all proxies of a network. The order in which an observer sees messages is the order in which they pass.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from kafka_tools.experiments.faults import Fault, FaultRule, Side
from kafka_tools.lab.cluster.messages import LARGEST, LENGTH, RequestHeader, correlation_of, request_header
from kafka_tools.lab.cluster.process import LOOPBACK

CLIENT = 0
"""The opener of a connection that no broker opened."""

OTHER = -1
"""The opener of a connection to a listener for brokers that none of them opened. No fault applies to it."""

_ANSWER_SECONDS = 5.0
"""The time in which a broker answers the requests of a connection that ends. It never answers those of `acks=0`."""

_CALL_SECONDS = 30.0
_BUFFER = 1024 * 1024
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER, for no time."""

T = TypeVar("T")


@dataclass(frozen=True)
class Link:
    """A proxy's port, the broker and the port to which it forwards. A port of 0 is chosen by the system.

    `opener` returns the broker that opened a connection, by the port from which it comes, or OTHER. It is None at a
    listener for clients.
    """

    port: int
    broker: int
    target: tuple[str, int]
    opener: Callable[[int], int] | None = None


@dataclass(frozen=True)
class PassingRequest:
    """A request at a proxy: its connection, the broker that opened it (or CLIENT, OTHER), the broker that it goes to.

    `number` counts the requests of its kind from its opener, from 1.
    """

    connection: int
    opener: int
    broker: int
    number: int
    header: RequestHeader
    data: bytes


@dataclass(frozen=True)
class ProxyLimits:
    """What clients may use: connections at a time, seconds until a message is whole, and memory.

    The first message of a connection begins within `seconds`, too. `unfinished_bytes`: of all messages that have begun
    to arrive and are not passed on. `unanswered`: the requests of a connection that the broker has not answered.
    """

    connections: int = 500
    seconds: float = 60.0
    unfinished_bytes: int = 256 * 1024 * 1024
    unanswered: int = 10_000


class LimitError(ValueError):
    """A connection leaves the limits of the proxies."""


class TrafficObserver:
    """Sees the messages that pass. A subclass overrides the methods that it needs; they run in the proxies' thread."""

    def sent(self, request: PassingRequest) -> None:
        """The opener has sent a request, which the broker may never receive."""

    def forwarded(self, request: PassingRequest) -> None:
        """The broker receives the request now. A duplicated request is forwarded twice."""

    def expects_answer(self, request: PassingRequest) -> bool:
        """Return whether the broker answers a request. The proxy keeps it until then."""
        return True

    def answered(self, request: PassingRequest, response: bytes) -> None:
        """The broker has answered, which the opener may never learn."""

    def rewritten(self, request: PassingRequest, response: bytes) -> bytes:
        """Return what the opener receives in place of a response, without the length."""
        return response

    def delivered(self, request: PassingRequest) -> None:
        """The opener receives the response now."""

    def closed(self, connection: int, unanswered: list[PassingRequest]) -> None:
        """A connection was closed. The opener did not receive the responses to these requests."""

    def failed(self) -> None:
        """A method of the observer has raised an error. All connections end; `close` raises the error."""

    def unreadable(self, reason: str) -> None:
        """A connection ends, because it has a message that is not of Kafka's protocol."""

    def limited(self, reason: str) -> None:
        """A connection is refused or ends, because it leaves the limits of the proxies."""


@dataclass
class _Waiting:
    """A message that is written at a time and when `gate` is open. Without a request, it is the end of the stream."""

    request: PassingRequest | None = None
    data: bytes = b""
    due: float = 0.0
    gate: asyncio.Event | None = None
    copies: int = 1
    is_last: bool = False
    """Whether the connection ends instead of this message."""


@dataclass(eq=False)
class _Connection:
    number: int
    link: Link
    opener: int
    client: asyncio.StreamWriter
    broker: asyncio.StreamWriter
    unanswered: dict[int, PassingRequest] = field(default_factory=dict)
    """Requests by correlation id: the opener has not received their responses."""
    at_broker: Counter[int] = field(default_factory=Counter)
    """How many responses the broker owes for a correlation id."""
    held: set[int] = field(default_factory=set)
    """The correlation ids of requests that were held, and that the broker has not answered."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    is_ending: bool = False
    is_abandoned: bool = False
    is_closed: bool = False


class ProxyNetwork:
    """The proxies of some listeners, in a thread, until the context ends. Every method is safe in any thread."""

    def __init__(
        self,
        links: Iterable[Link],
        observer: TrafficObserver | None = None,
        host: str = LOOPBACK,
        limits: ProxyLimits | None = None,
    ):
        self._links, self._host, self._limits = tuple(links), host, limits
        self._accepting = self._unfinished = 0
        self._observer = observer or TrafficObserver()
        self._rules: list[FaultRule] = []
        self._gate = asyncio.Event()
        self._connections: set[_Connection] = set()
        self._numbers = itertools.count(1)
        self._is_cut_from_clients = False
        self._cuts: set[frozenset[int]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._counts: Counter[Fault] = Counter()
        self._handled = 0
        self._sent: Counter[tuple[str, int]] = Counter()
        self._failure: BaseException | None = None
        self.ports: list[int] = []

    def __enter__(self) -> Self:
        return self if self._thread.is_alive() else self.start()

    def start(self) -> Self:
        """Start the proxies; raise OSError if a port is taken."""
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(_CALL_SECONDS)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all listeners and connections, and end the thread; raise what an observer raised."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(_CALL_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self._failure is not None:
            raise self._failure

    def count(self, fault: Fault) -> int:
        """Return how many messages had a fault."""
        return self._counts[fault]

    def handled(self) -> int:
        """Return how many requests that were held have been answered by their broker since."""
        return self._handled

    def add(self, rule: FaultRule) -> None:
        """Apply a rule from now on."""
        self._call(lambda: self._rules.append(rule))

    def release(self) -> None:
        """Forward the held messages, and end the rules that hold."""
        self._call(self._release)

    def forward(self) -> None:
        """End all rules that lose, delay or duplicate messages."""
        self._call(self._forward)

    def disconnect_clients(self) -> None:
        """Close every connection of a client, and refuse new ones until `restore_clients`."""
        self._call(self._disconnect_clients)

    def restore_clients(self) -> None:
        """Accept connections of clients again."""
        self._call(lambda: setattr(self, "_is_cut_from_clients", False))

    def cut(self, one: int, other: int) -> None:
        """Close the connections between two brokers, and refuse new ones until `heal`."""
        self._call(lambda: self._disconnect(frozenset((one, other))))

    def heal(self) -> None:
        """Accept all connections between brokers again."""
        self._call(self._cuts.clear)

    def cuts(self) -> list[list[int]]:
        """Return the pairs of brokers that are cut off from each other."""
        return self._call(lambda: sorted(sorted(pair) for pair in self._cuts))

    def _call(self, function: Callable[[], T]) -> T:
        async def call() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(_CALL_SECONDS)

    def _release(self) -> None:
        self._rules = [rule for rule in self._rules if rule.fault != "hold"]
        self._gate.set()
        # Later rules hold messages until another release.
        self._gate = asyncio.Event()

    def _forward(self) -> None:
        self._rules = [rule for rule in self._rules if rule.fault == "hold"]

    def _disconnect_clients(self) -> None:
        self._is_cut_from_clients = True
        self._close_where(lambda connection: connection.opener == CLIENT)

    def _disconnect(self, pair: frozenset[int]) -> None:
        self._cuts.add(pair)
        self._close_where(lambda connection: frozenset((connection.opener, connection.link.broker)) == pair)

    def _close_where(self, is_closed: Callable[[_Connection], bool]) -> None:
        for connection in [each for each in self._connections if is_closed(each)]:
            self._close(connection, resets=True)

    def _is_refused(self, opener: int, broker: int) -> bool:
        return self._is_cut_from_clients if opener == CLIENT else frozenset((opener, broker)) in self._cuts

    def open(self, link: Link) -> int:
        """Add a proxy and return its port. Call it in the proxies' thread: an observer may."""
        listening = _listening(self._host, link.port)
        self._start(self._serve(link, listening))
        return int(listening.getsockname()[1])

    async def _listen(self) -> None:
        for link in self._links:
            listening = _listening(self._host, link.port)
            await self._serve(link, listening)
            self.ports.append(listening.getsockname()[1])

    async def _serve(self, link: Link, listening: socket.socket) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._accept(link, reader, writer)

        self._servers.append(await asyncio.start_server(accept, sock=listening, limit=_BUFFER))

    def _start(self, pump: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(pump)
        self._tasks.add(task)
        task.add_done_callback(self._take_result)

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        self._close_where(lambda connection: True)
        # With the connections that are being accepted.
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._limits is not None and len(self._connections) + self._accepting >= self._limits.connections:
            self._observer.limited(f"more than {self._limits.connections} connections at a time")
            _reset(writer)
            return
        self._accepting += 1
        try:
            opener = CLIENT if link.opener is None else link.opener(_port_of_peer(writer))
            if self._is_refused(opener, link.broker):
                raise ConnectionError
            from_broker, to_broker = await asyncio.open_connection(*link.target, limit=_BUFFER)
        except OSError:
            _reset(writer)
            return
        finally:
            self._accepting -= 1
        connection = _Connection(next(self._numbers), link, opener, writer, to_broker)
        self._connections.add(connection)
        if self._is_refused(opener, link.broker):
            # The cut came while the connection to the broker was opened.
            self._close(connection, resets=True)
            return
        requests: asyncio.Queue[_Waiting] = asyncio.Queue()
        responses: asyncio.Queue[_Waiting] = asyncio.Queue()
        for pump in (
            self._read(connection, reader, requests, self._take_request),
            self._write_requests(connection, requests, responses),
            self._read(connection, from_broker, responses, self._take_response),
            self._write_responses(connection, responses),
        ):
            self._start(pump)

    def _take_result(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failure = self._failure or task.exception()
            self._observer.failed()
            self._close_where(lambda connection: True)

    async def _read(
        self,
        connection: _Connection,
        reader: asyncio.StreamReader,
        queue: asyncio.Queue[_Waiting],
        take: Callable[[_Connection, bytes], _Waiting | None],
    ) -> None:
        """Put the messages of one direction into its queue until the stream ends."""
        # A broker may be silent until a request comes, and a client after its first message.
        seconds = self._limits.seconds if self._limits is not None and take == self._take_request else None
        try:
            while True:
                (length,) = LENGTH.unpack(await _within(seconds, reader.readexactly(LENGTH.size)))
                if not 0 < length <= LARGEST:
                    raise ValueError(f"a message that is empty or longer than {LARGEST} bytes")
                await self._take_message(connection, reader, length, queue, take)
                seconds = None
        except LimitError as error:
            self._observer.limited(str(error))
        except ValueError as error:
            self._observer.unreadable(str(error))
        except (OSError, EOFError):
            pass
        queue.put_nowait(_Waiting())

    async def _take_message(
        self,
        connection: _Connection,
        reader: asyncio.StreamReader,
        length: int,
        queue: asyncio.Queue[_Waiting],
        take: Callable[[_Connection, bytes], _Waiting | None],
    ) -> None:
        """Put a message into its queue; raise LimitError if it takes too long, or too much memory with all others.

        With limits, a connection keeps one message of each direction: the next one is read when it is passed on.
        """
        if self._limits is None:
            if (waiting := take(connection, await reader.readexactly(length))) is not None:
                queue.put_nowait(waiting)
            return
        if self._unfinished + length > self._limits.unfinished_bytes:
            raise LimitError(f"unfinished messages of more than {self._limits.unfinished_bytes} bytes together")
        if len(connection.unanswered) > self._limits.unanswered:
            raise LimitError(f"more than {self._limits.unanswered} requests without an answer")
        self._unfinished += length
        try:
            waiting = take(connection, await _within(self._limits.seconds, reader.readexactly(length)))
            if waiting is not None:
                queue.put_nowait(waiting)
                await queue.join()
        finally:
            self._unfinished -= length

    async def _write_requests(
        self, connection: _Connection, queue: asyncio.Queue[_Waiting], responses: asyncio.Queue[_Waiting]
    ) -> None:
        while (waiting := await self._next(queue)).request is not None:
            if waiting.is_last:
                await self._wait_until_idle(connection)
                # The opener receives the responses that are on their way.
                responses.put_nowait(_Waiting(is_last=True))
                return
            if not connection.is_closed:
                await self._pass_request(connection, waiting.request, waiting.copies)
            queue.task_done()
        if connection.held:
            # The opener has gone. The broker's answer shows that it has handled the request.
            connection.is_abandoned = True
            await self._wait_until_idle(connection)
        self._close(connection)

    async def _write_responses(self, connection: _Connection, queue: asyncio.Queue[_Waiting]) -> None:
        while not (waiting := await self._next(queue)).is_last and waiting.request is not None:
            if not (connection.is_closed or connection.is_abandoned):
                await self._pass_response(connection, waiting.request, waiting.data, waiting.copies)
            queue.task_done()
        if waiting.is_last:
            connection.is_ending = True
            await self._wait_until_idle(connection)
        self._close(connection, resets=waiting.is_last)

    async def _next(self, queue: asyncio.Queue[_Waiting]) -> _Waiting:
        """Return the next message of a queue when its time has come."""
        waiting = await queue.get()
        if (seconds := waiting.due - self._loop.time()) > 0:
            await asyncio.sleep(seconds)
        if waiting.gate is not None:
            await waiting.gate.wait()
        return waiting

    def _take_request(self, connection: _Connection, message: bytes) -> _Waiting | None:
        if connection.is_ending:
            return None
        header = request_header(message)
        self._sent[header.kind, connection.opener] += 1
        number = self._sent[header.kind, connection.opener]
        request = PassingRequest(connection.number, connection.opener, connection.link.broker, number, header, message)
        self._observer.sent(request)
        connection.unanswered[header.correlation] = request
        waiting = self._faulty(connection, request, "requests", message)
        connection.is_ending = waiting is not None and waiting.is_last
        return waiting

    def _take_response(self, connection: _Connection, message: bytes) -> _Waiting | None:
        correlation = correlation_of(message)
        connection.at_broker[correlation] -= 1
        if connection.at_broker[correlation] <= 0:
            del connection.at_broker[correlation]
        if not connection.at_broker:
            connection.idle.set()
        request = connection.unanswered.get(correlation)
        if request is None:
            return None
        self._observer.answered(request, message)
        if correlation in connection.held:
            connection.held.remove(correlation)
            self._handled += 1
        if correlation in connection.at_broker:
            # The answer to the second copy of a duplicated request takes its place.
            return None
        return self._faulty(connection, request, "responses", self._observer.rewritten(request, message))

    def _faulty(self, connection: _Connection, request: PassingRequest, side: Side, message: bytes) -> _Waiting | None:
        """Return a message with the faults of the rules; None if it is lost."""
        waiting = _Waiting(request, message, self._loop.time())
        is_lost = False
        for rule in self._rules:
            if not rule.applies(request.header.kind, side, request.opener, request.number):
                continue
            self._counts[rule.fault] += 1
            match rule.fault:
                case "lose":
                    is_lost = True
                case "hold":
                    waiting.gate = self._gate
                    if side == "requests":
                        connection.held.add(request.header.correlation)
                case "delay":
                    waiting.due += rule.seconds
                case "duplicate":
                    waiting.copies += 1
                case "break":
                    waiting.is_last = True
        return None if is_lost else waiting

    async def _pass_request(self, connection: _Connection, request: PassingRequest, copies: int) -> None:
        connection.at_broker[request.header.correlation] += copies
        connection.idle.clear()
        for _ in range(copies):
            self._observer.forwarded(request)
            await _send(connection.broker, request.data)
        if not self._observer.expects_answer(request):
            connection.unanswered.pop(request.header.correlation, None)
            connection.at_broker.pop(request.header.correlation, None)
            if not connection.at_broker:
                connection.idle.set()
        elif self._limits is not None and connection.unanswered.get(request.header.correlation) is request:
            connection.unanswered[request.header.correlation] = replace(request, data=b"")

    async def _pass_response(
        self, connection: _Connection, request: PassingRequest, response: bytes, copies: int
    ) -> None:
        connection.unanswered.pop(request.header.correlation, None)
        for _ in range(copies):
            self._observer.delivered(request)
            await _send(connection.client, response)

    async def _wait_until_idle(self, connection: _Connection) -> None:
        """Wait until the broker has answered its requests, so that nothing happens after the connection ended."""
        if connection.at_broker:
            with suppress(TimeoutError):
                await asyncio.wait_for(connection.idle.wait(), _ANSWER_SECONDS)

    def _close(self, connection: _Connection, *, resets: bool = False) -> None:
        if connection.is_closed:
            return
        connection.is_closed = True
        self._connections.discard(connection)
        self._observer.closed(connection.number, list(connection.unanswered.values()))
        for writer in (connection.client, connection.broker):
            if resets:
                _reset(writer)
            else:
                writer.close()


async def _within(seconds: float | None, reading: Coroutine[None, None, bytes]) -> bytes:
    """Return what is read; raise LimitError if it takes longer. None: any time."""
    if seconds is None:
        return await reading
    try:
        # `wait_for` of Python 3.11 may lose a cancellation.
        async with asyncio.timeout(seconds):
            return await reading
    except TimeoutError:
        raise LimitError(f"a message that is not whole after {seconds:g} s") from None


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise OSError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


async def _send(writer: asyncio.StreamWriter, message: bytes) -> None:
    if writer.is_closing():
        return
    with suppress(ConnectionError):
        writer.write(LENGTH.pack(len(message)) + message)
        await writer.drain()


def _port_of_peer(writer: asyncio.StreamWriter) -> int:
    """Return the port of the other side; raise ConnectionError if it is gone."""
    peer = writer.get_extra_info("peername")
    if peer is None:
        raise ConnectionError
    return int(peer[1])


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with RST, as a failing network does."""
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
