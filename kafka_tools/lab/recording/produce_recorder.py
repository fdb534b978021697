"""The producer's view of a partition: Produce requests and answers at the proxies, and what the leader has become.

The events have the format of `kafka_tools.lab.librdkafka.recorder`. Three more are about brokers: `restarted` (a
follower has restarted), `leader_restarted`, and `failed_over` (another broker handles requests). They come from the
notes of the harness. `answered` has the epoch, the sequence and the broker of each answer, for the broker's producer
state.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from kafka_tools.lab.cluster.producer_process import RecordFuture
from kafka_tools.lab.cluster.proxy import CLIENT, PassingRequest, TrafficObserver
from kafka_tools.lab.librdkafka.recorder import ERRORS
from kafka_tools.lab.librdkafka.wire_format import ProduceRequest, produce_request, produce_response
from kafka_tools.lab.recording.broker_log import milliseconds

Event = dict[str, Any]


class ProducerTraffic(TrafficObserver):
    """Collects the Produce traffic of a client. The records of the producer are named r1, r2, ..."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._connections: set[int] = set()

    def forwarded(self, request: PassingRequest) -> None:
        """Note a Produce request that reaches its broker."""
        if _is_produce(request):
            self._connections.add(request.connection)
            self._note("request", request, **_batch(produce_request(request.data)))

    def answered(self, request: PassingRequest, response: bytes) -> None:
        """Note the answer to a Produce request, whether or not the client receives it."""
        if _is_produce(request):
            answer = produce_response(response, request.header.version)
            error = ERRORS.get(answer.error, f"error {answer.error}")
            offset = {"offset": answer.offset} if not answer.error else {}
            self._note("response", request, **_batch(produce_request(request.data)), error=error, **offset)

    def closed(self, connection: int, unanswered: list[PassingRequest]) -> None:
        """Note that a connection with Produce requests has closed."""
        lost = [request for request in unanswered if _is_produce(request)]
        if connection in self._connections and lost:
            self._note("closed", lost[0])

    def _note(self, event: str, request: PassingRequest, **fields: Any) -> None:
        time_ms = round(time.time() * 1000)
        self._events.append({"event": event, "broker": request.broker, **fields, "time": time_ms})

    def result(
        self, notes: Sequence[Event], futures: Sequence[RecordFuture], log: Sequence[str], settings: Event
    ) -> list[Event]:
        """Return all events in their order; `notes` are those of the harness, `log` the values in the partition."""
        known = [*self._events, *_of_brokers(notes)]
        first = min((event["time"] for event in known), default=0)
        events = _with_leaders(sorted(known, key=lambda event: event["time"]))
        shown = [{**event, "time": event["time"] - first} for event in events]
        ends = [
            {"event": "delivered", "record": _number(future.record), "offset": future.offset}
            if not future.failure
            else {"event": "failed", "record": _number(future.record), "error": future.failure}
            for future in futures
        ]
        contents = {"event": "log", "records": [_number(value) for value in log]}
        return [{"event": "configured", **settings}, *shown, *ends, contents]


def _is_produce(request: PassingRequest) -> bool:
    return request.opener == CLIENT and request.header.kind == "Produce"


def _batch(request: ProduceRequest) -> Event:
    batch = request.batch
    return {
        "records": [_number(value.decode(errors="replace")) for value in batch.values],
        "producer_id": batch.producer_id,
        "epoch": batch.epoch,
        "sequence": batch.sequence,
    }


def _number(name: str) -> int:
    return int(name.removeprefix("r"))


def _of_brokers(notes: Sequence[Event]) -> list[Event]:
    """Return the notes of the harness about processes of brokers, with their time in milliseconds."""
    kept = ("starting", "stopped", "killed")
    ended = next((n for n, note in enumerate(notes) if note["event"] == "ending"), len(notes))
    return [{**note, "time": milliseconds(note["time"])} for note in notes[:ended] if note["event"] in kept]


def _with_leaders(events: Sequence[Event]) -> list[Event]:
    """Replace the notes about brokers by what they mean for the partition's leader.

    A restart counts if the broker leads when it, or the next leader, gets a request after it.
    """
    events_of_leaders: list[Event] = []
    leader: int | None = None
    leaders = [event["broker"] if _is_of_leader(event) else None for event in events]
    for position, event in enumerate(events):
        following = [broker for broker in leaders[position:] if broker is not None]
        if _is_of_leader(event):
            if leader is not None and event["broker"] != leader:
                events_of_leaders.append({"event": "failed_over", "broker": event["broker"], "time": event["time"]})
            leader = event["broker"]
        if event["event"] in ("request", "response", "closed"):
            events_of_leaders.append(event)
        elif event["event"] == "starting" and leader is not None and following[:1] == [event["broker"]]:
            name = "leader_restarted" if event["broker"] == leader else "restarted"
            events_of_leaders.append({**event, "event": name})
    return events_of_leaders


def _is_of_leader(event: Event) -> bool:
    return bool(event["event"] == "request")
