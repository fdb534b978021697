"""A proxy between a producer and its broker: it records the messages in one order, and drops some of them.

One thread runs the proxy, so the recorded order is the order in which the messages passed. A request is recorded before
the broker receives it, a response before the client does.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from kafka_tools.librdkafka.mock_cluster import PRODUCE
from kafka_tools.librdkafka.wire_format import api_key, correlation_of, produce_request, produce_response

Note = Callable[..., None]
"""Records an event: its name, and its fields by keyword."""

Loss = Literal["request", "response"]

LOOPBACK = "127.0.0.1"


@dataclass
class _Connection:
    """A client's connection, and the proxy's connection to the broker for it.

    `unanswered` maps the correlation ids of Produce requests to their records.
    """

    client: asyncio.StreamWriter
    broker: asyncio.StreamWriter
    unanswered: dict[int, list[int]] = field(default_factory=dict)
    losing: set[int] = field(default_factory=set)
    """Correlation ids of requests: their responses are dropped, and everything after them."""
    is_ending: bool = False
    is_closed: bool = False


class Proxy:
    """Listens on the loopback address, in its thread, until the context ends.

    `losses` maps the number of a Produce request to the message that is lost, together with its connection. `delay` is
    the time in seconds that a response is held, so that more than one request is in flight.
    """

    def __init__(self, broker: tuple[str, int], note: Note, losses: dict[int, Loss], delay: float):
        self._broker, self._note, self._losses, self._delay = broker, note, dict(losses), delay
        self._produced = 0
        self._generations: dict[tuple[int, int], int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, LOOPBACK, 0)

    async def _stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_broker, to_broker = await asyncio.open_connection(*self._broker)
        connection = _Connection(writer, to_broker)
        passed: asyncio.Queue[bytes | None] = asyncio.Queue()
        pumps = (
            self._pass_requests(connection, reader),
            self._read_responses(connection, from_broker, passed),
            self._pass_responses(connection, passed),
        )
        for pump in pumps:
            task = self._loop.create_task(pump)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_requests(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        while (message := await _message(reader)) is not None:
            if connection.is_ending:
                return
            if api_key(message) == PRODUCE and not self._take_request(connection, message):
                await self._close_when_idle(connection)
                return
            _send(connection.broker, message)
        self._close(connection)

    def _take_request(self, connection: _Connection, message: bytes) -> bool:
        """Record a Produce request; return whether it is passed to the broker."""
        request = produce_request(message)
        self._produced += 1
        loss = self._losses.get(self._produced)
        batch = request.batch
        records = [int(value) for value in batch.values]
        identity: dict[str, Any] = {}
        if batch.producer_id >= 0:
            generation = self._generations.setdefault((batch.producer_id, batch.epoch), len(self._generations))
            identity = {"epoch": generation, "sequence": batch.sequence}
        self._note("request", records=records, **identity)
        connection.unanswered[request.correlation] = records
        if loss == "response":
            connection.losing.add(request.correlation)
        return loss != "request"

    async def _read_responses(
        self, connection: _Connection, reader: asyncio.StreamReader, passed: asyncio.Queue[bytes | None]
    ) -> None:
        while (message := await _message(reader)) is not None:
            records = connection.unanswered.get(correlation_of(message))
            if records is not None:
                response = produce_response(message)
                where = {"offset": response.offset} if response.error == 0 else {}
                self._note("response", records=records, error=ERRORS.get(response.error, str(response.error)), **where)
            passed.put_nowait(message)
        passed.put_nowait(None)

    async def _pass_responses(self, connection: _Connection, passed: asyncio.Queue[bytes | None]) -> None:
        while (message := await passed.get()) is not None:
            correlation = correlation_of(message)
            if correlation in connection.unanswered:
                await asyncio.sleep(self._delay)
            if correlation in connection.losing:
                await self._close_when_idle(connection)
                return
            if connection.is_closed:
                return
            connection.unanswered.pop(correlation, None)
            _send(connection.client, message)
        self._close(connection)

    async def _close_when_idle(self, connection: _Connection) -> None:
        """Close after the broker has handled its requests, so that nothing happens after the end of a connection."""
        connection.is_ending = True
        await asyncio.sleep(2 * self._delay)
        self._close(connection)

    def _close(self, connection: _Connection) -> None:
        if not connection.is_closed:
            connection.is_closed = True
            if connection.unanswered:
                self._note("closed", unanswered=sorted(itertools.chain(*connection.unanswered.values())))
            connection.client.close()
            connection.broker.close()


ERRORS = {
    0: "none",
    6: "not leader or follower",
    7: "request timed out",
    10: "message too large",
    19: "not enough replicas",
    20: "not enough replicas after append",
    45: "out of order sequence number",
    46: "duplicate sequence number",
    87: "invalid record",
}
"""The error codes of Kafka's protocol that the broker answers with, as the specs name them."""


async def _message(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next message without its length prefix; None if the connection ends."""
    try:
        length = int.from_bytes(await reader.readexactly(4), "big")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _send(writer: asyncio.StreamWriter, message: bytes) -> None:
    if not writer.is_closing():
        writer.write(len(message).to_bytes(4, "big") + message)
