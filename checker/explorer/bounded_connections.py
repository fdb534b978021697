"""Connections of the explorer: few at a time, each closed if no request arrives. To connect, nobody needs the token."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS, REQUEST_SECONDS = 64, 5.0
"""The number of open connections, and the time in which each has to send a whole request, or the next one."""


class BoundedConnection(H11Protocol):
    """A connection that ends if it waits for a request too long, or if others need its place."""

    def connection_made(self, transport: Any) -> None:
        """Take a connection; end one that waits for a request, or this one, if there are too many."""
        super().connection_made(transport)
        self._seen: Any = None
        self._made_at = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            # The oldest: the request of a new connection is still on its way.
            waiting = (other for other in self.connections if isinstance(other, BoundedConnection) and other.is_waiting)
            min(waiting, key=lambda other: other._made_at, default=self).transport.abort()
        self.loop.call_later(REQUEST_SECONDS, self._end_if_idle)

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing()

    def _end_if_idle(self) -> None:
        if self.transport.is_closing():
            return
        if self.is_waiting and self.cycle is self._seen:
            self.transport.abort()
            return
        self._seen = self.cycle
        self.loop.call_later(REQUEST_SECONDS, self._end_if_idle)
