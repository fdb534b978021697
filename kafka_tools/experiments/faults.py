"""Rules of a proxy: which messages it loses, holds, delays or duplicates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Fault = Literal["lose", "hold", "delay", "duplicate", "break"]
"""`hold` keeps a message and all behind it on the connection until the rule is released. `break` loses a message
together with its connection, after the broker has answered the requests that it has."""

Side = Literal["requests", "responses"]

CLIENTS = "clients"
BROKERS = "brokers"


@dataclass
class FaultRule:
    """A fault in the messages of a kind, or of every kind (`kind` is None), in one direction.

    `opener` selects the connections by the side that opened them: clients, brokers, or a broker by its number. The rule
    applies to the next `count` messages, or to all (None). With `number`, it applies to one request, or to the response
    to it: the request of this number, from 1, among those of its kind from one opener.
    """

    fault: Fault
    kind: str | None
    side: Side
    opener: str | int = CLIENTS
    count: int | None = None
    number: int | None = None
    seconds: float = 0.0
    applied: int = field(default=0, init=False)

    def applies(self, kind: str, side: Side, opener: int, number: int) -> bool:
        """Return whether a message has the fault, and count it. `opener` is the number of a broker; 0: a client."""
        if side != self.side or self.kind not in (None, kind) or not self._selects(opener):
            return False
        if self.number not in (None, number) or self.applied == self.count:
            return False
        self.applied += 1
        return True

    def _selects(self, opener: int) -> bool:
        if self.opener == CLIENTS:
            return opener == 0
        return opener > 0 and self.opener in (BROKERS, opener)
