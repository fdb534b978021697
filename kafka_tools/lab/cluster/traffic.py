"""A journal of the messages that pass the proxies, as JSON lines, and observers that see the same messages."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kafka_tools.lab.cluster.proxy import CLIENT, OTHER, PassingRequest, TrafficObserver

_OPENERS = {CLIENT: "client", OTHER: "other"}


class TrafficJournal(TrafficObserver):
    """Writes an event for each request that is sent, forwarded, answered and delivered, and for each closed connection.

    `from` is `client` or `broker N`, `to` the number of the broker, `number` counts the requests of a kind and opener.
    """

    def __init__(self, path: Path):
        self._stream = path.open("w", encoding="utf-8")
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def sent(self, request: PassingRequest) -> None:
        """Note that the opener has sent a request."""
        self._note("sent", request)

    def forwarded(self, request: PassingRequest) -> None:
        """Note that the broker receives a request."""
        self._note("forwarded", request)

    def answered(self, request: PassingRequest, response: bytes) -> None:
        """Note that the broker has answered."""
        self._note("answered", request, bytes=len(response))

    def delivered(self, request: PassingRequest) -> None:
        """Note that the opener receives the response."""
        self._note("delivered", request)

    def closed(self, connection: int, unanswered: list[PassingRequest]) -> None:
        """Note that a connection was closed, with the requests whose responses the opener did not receive."""
        self._write("closed", connection=connection, unanswered=[each.header.correlation for each in unanswered])

    def _note(self, event: str, request: PassingRequest, **more: int) -> None:
        self._write(
            event,
            connection=request.connection,
            **{"from": _OPENERS.get(request.opener, f"broker {request.opener}"), "to": request.broker},
            kind=request.header.kind,
            version=request.header.version,
            number=request.number,
            correlation=request.header.correlation,
            **more,
        )

    def _write(self, event: str, **fields: Any) -> None:
        seconds = round(time.monotonic() - self._begun, 6)
        self._stream.write(json.dumps({"seconds": seconds, "event": event, **fields}) + "\n")


class ObserverGroup(TrafficObserver):
    """Lets several observers see the same messages, in their order."""

    def __init__(self, observers: Sequence[TrafficObserver]):
        self._observers = observers

    def sent(self, request: PassingRequest) -> None:
        """Pass on a request that the opener has sent."""
        for each in self._observers:
            each.sent(request)

    def forwarded(self, request: PassingRequest) -> None:
        """Pass on a request that the broker receives."""
        for each in self._observers:
            each.forwarded(request)

    def answered(self, request: PassingRequest, response: bytes) -> None:
        """Pass on a response of the broker."""
        for each in self._observers:
            each.answered(request, response)

    def delivered(self, request: PassingRequest) -> None:
        """Pass on that the opener receives the response."""
        for each in self._observers:
            each.delivered(request)

    def closed(self, connection: int, unanswered: list[PassingRequest]) -> None:
        """Pass on that a connection was closed."""
        for each in self._observers:
            each.closed(connection, unanswered)
