"""Schedules for traces of the producer specs: which requests and responses are lost, and what closes the connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_tools.lab.cluster.schedule import ProposedSchedule, TraceCall

_DRAINS = ("drain", "sender_drain")
_HANDLES = ("handle_produce", "broker_append")
_FAULTS = {
    "disconnect": ("cut", "forward", "restore"),
    "connection_closed": ("cut", "forward", "restore"),
    "restart_broker": ("cut", "stop 1", "start 1", "forward", "restore"),
    "expire_producer_state": ("cut", "sleep 6", "forward", "restore"),
    "producer_restart": ("restart producer", "forward"),
}
_EXPIRY = {"producer.id.expiration.ms": 2000, "producer.id.expiration.check.interval.ms": 500}
"""The broker forgets an idle producer within the time that `_FAULTS` waits."""

_FOLLOW = (
    *("application_send", "receive_response", "bump_epoch", "resolve_sequences", "metadata_update"),
    *("sender_finish_write", "sender_report_success", "reenqueue", "backoff_ends"),
    *("mute", "unmute", "retry_waits", "retry_is_next"),
)
"""Actions that the client takes by itself."""


@dataclass(eq=False)
class _Request:
    """A Produce request, its number from 1, and whether it is a retry."""

    number: int
    is_retry: bool = False
    is_handled: bool = False

    @property
    def side(self) -> str:
        """The message that is lost if the connection closes now."""
        return "responses" if self.is_handled else "requests"


@dataclass
class _Translation:
    steps: list[str] = field(default_factory=lambda: ["send 1", "await acknowledged 1"])
    unforced: list[str] = field(default_factory=list)
    broker: dict[str, object] = field(default_factory=dict)
    """Settings of the brokers."""
    requests: int = 1
    """The Produce requests so far, with that of r1."""
    returned: int = 0
    """The batches that the client sends again by itself."""
    lost: int = 0
    acknowledged: int = 1
    waiting: list[_Request] = field(default_factory=list)
    """The requests with new records since the last fault, in the order in which they are sent."""
    in_flight: list[_Request] = field(default_factory=list)
    again: list[int] = field(default_factory=list)
    """The records that the application sends again, not drained yet."""

    def drain(self) -> None:
        self.requests += 1
        request = _Request(self.requests)
        self.in_flight.append(request)
        if self.returned:
            self.returned -= 1
            request.is_retry = True
        elif self.again:
            self.steps.append(f"send again {_name(self.again.pop(0))}")
            request.is_retry = True
        else:
            self.waiting.append(request)

    def handle(self) -> None:
        for request in self.in_flight:
            if not request.is_handled:
                request.is_handled = True
                return

    def fault(self, call: TraceCall) -> None:
        self.send_waiting(self.in_flight)
        if any(request.is_retry for request in self.in_flight):
            self.unforced.append(f"{call}: the time of a fault while a retry is in flight")
        self.steps += _FAULTS[call.action]
        self.returned = 0 if call.action == "producer_restart" else self.returned + len(self.in_flight)
        self.in_flight.clear()
        if call.action == "expire_producer_state":
            self.broker |= _EXPIRY

    def send_waiting(self, lost: Sequence[_Request]) -> None:
        """Send the new records, with the faults of those whose messages are lost."""
        faulty = [request for request in self.waiting if request in lost]
        fine = len(self.waiting) - len(faulty)
        # The first records of a run that are acknowledged come before those that are not.
        if fine:
            self.steps.append(f"send {fine}")
            self.acknowledged += fine
            self.steps.append(f"await acknowledged {self.acknowledged}")
        sides = [request.side for request in faulty]
        for side in dict.fromkeys(sides):
            if len(set(sides)) == 1:
                self.steps.append(f"lose Produce {side}")
            else:
                numbers = [request.number for request in faulty if request.side == side]
                self.steps += [f"lose Produce {side} @{number}" for number in numbers]
        if faulty:
            self.lost += len(faulty)
            self.steps += [f"send {len(faulty)}", f"await lost {self.lost}"]
        self.waiting.clear()


def producer_schedule(
    calls: Sequence[TraceCall], constants: Mapping[str, Any], *, idempotent: bool
) -> ProposedSchedule:
    """Return the schedule of a trace of the plain or the idempotent producer."""
    translation = _Translation()
    seen: set[int] = set()
    for call in calls:
        if call.action in _DRAINS:
            translation.drain()
        elif call.action in _HANDLES:
            translation.handle()
        elif call.action in _FAULTS:
            translation.fault(call)
        elif call.action not in _FOLLOW:
            translation.unforced.append(str(call))
        if call.action == "receive_response" and translation.in_flight:
            translation.in_flight.pop(0)
        if call.action == "application_send" and (record := call.arguments.get("record")) is not None:
            if record in seen:
                translation.again.append(record)
            seen.add(record)
    translation.send_waiting([])
    in_flight = constants.get("max_in_flight")
    settings = {"max.in.flight.requests.per.connection": in_flight} if isinstance(in_flight, int) else {}
    return ProposedSchedule(
        brokers=1,
        replicas=1,
        steps=[*translation.steps, "finish"],
        unforced=translation.unforced,
        broker=translation.broker,
        producer={"enable.idempotence": idempotent, **settings},
    )


def _name(record: int) -> str:
    """Return the name of a record: r1 was sent before the trace begins."""
    return f"r{record + 1}"
