"""The mapping from the recording of a proxy, `record --bootstrap`, to `producer/idempotent_producer`.

A batch of any size is one record of the spec. The proxy does not see the log: of an answer, the validation checks the
error, and the place of the batch among the others. `passed_consistency` compares what the spec does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from checker.errors import InputError
from kafka_tools.lab.librdkafka.finished_records import FinishedBatches
from kafka_tools.lab.librdkafka.idempotent import in_flight_before
from kafka_tools.lab.recording.passed_consistency import PassedConsistency
from traces.validate import Found, Mapping, Observation, PossibleStep, event
from traces.validate.forgetting import Forgotten
from traces.validate.mapping import Consistency

_REFUSED = ("not leader or follower", "not enough replicas", "error 3", "error 5", "error 9", "error 56")
"""Retriable errors without an append; 3, 5, 9, 56: unknown partition, no leader, no replica, a storage error."""

_LATE = ("request timed out", "not enough replicas after append")
"""Errors of a batch that the leader has appended, or may have."""

_REJECTED = ("invalid record", "error 29")
"""Errors that end a batch; 29: not authorized."""

_CHECKED = (
    "none",
    "duplicate sequence number",
    "out of order sequence number",
    "invalid producer epoch",
    "unknown producer id",
)


class FinishedPassedBatches(FinishedBatches):
    """Finished batches of a recording without the log; an answer also names its neighbours in the log."""

    def total(self, events: Sequence[Found]) -> int:
        """Return the number of batches of a trace."""
        return _batches(events)

    def named_by(self, fields: Found) -> Iterable[Any]:
        """Iterate over the batches of an event."""
        yield from super().named_by(fields)
        yield from (fields[name] for name in ("before", "after") if fields.get(name) is not None)

    def renumbered(self, fields: Found, forgotten: Forgotten) -> Found:
        """Return an event with the numbers of the states."""
        neighbours = {
            name: fields[name] - forgotten.records for name in ("before", "after") if type(fields.get(name)) is int
        }
        return super().renumbered(fields, forgotten) | neighbours


class PassedBatches(Mapping):
    """Events of `kafka_tools.lab.recording.passing_producers`: one producer and one partition."""

    silent: ClassVar[tuple[str, ...]] = (
        "receive_response",
        "bump_epoch",
        "resolve_sequences",
        "handle_abandoned",
        "delivery_timeout",
        "expire_producer_state",
        "restart_broker",
    )
    silent_bound = 8
    unused = ("trace", "time")
    forgetting = FinishedPassedBatches()

    def constants(self, events: Sequence[Found]) -> dict[str, int | bool | str]:
        """Return the number of batches and of each kind of fault; a producer has at most five requests in flight."""
        errors = [fields["error"] for fields in events if fields["event"] == "response"]
        closed = sum(fields["event"] == "closed" for fields in events)
        batches = _batches(events)
        return {
            "batches": max(batches, 1),
            "log_size": batches + 1,
            "max_in_flight": 5,
            "max_epoch": max((fields["epoch"] for fields in events if "epoch" in fields), default=0) + 1,
            "max_sequence": 2 * batches + 1,
            "max_refusals": sum(error in (*_REFUSED, *_LATE) for error in errors),
            "max_rejections": sum(error in _REJECTED for error in errors),
            "max_late_acks": sum(error in _LATE for error in errors),
            "max_disconnects": closed,
            "max_abandoned": closed,
        }

    def consistency(self) -> Consistency:
        """Return what compares real sequences, offsets and records."""
        return PassedConsistency()

    @event("request")
    def request(self, fields: Found) -> PossibleStep:
        """The client has sent a batch."""
        (number,) = fields["records"]
        sent = {"id": number - 1, "epoch": fields["epoch"], "sequence": fields["sequence"]}
        return PossibleStep("drain").after({"requests[p1][len(requests[p1]) - 1].batch": sent})

    @event("response")
    def response(self, fields: Found) -> PossibleStep | list[PossibleStep]:
        """The broker has answered the oldest request that it has not answered."""
        (number,) = fields["records"]
        error, newest = fields["error"], "requests[p1][handled(p1) - 1]"
        seen: dict[str, Any] = {f"{newest}.batch.id": number - 1}
        if error in _REFUSED:
            return PossibleStep("refuse_as_not_leader").after(seen)
        if error in _LATE:
            return [PossibleStep(action).after(seen) for action in ("append_but_time_out", "refuse_as_not_leader")]
        if error in _REJECTED:
            return PossibleStep("reject_permanently").after(seen)
        if error not in _CHECKED:
            raise InputError(f"{error}: the spec has no such answer, so that it cannot judge this producer")
        seen[f"{newest}.error"] = error
        order = [batch - 1 for batch in (fields.get("before"), number, fields.get("after")) if batch is not None]
        if error == "none":
            seen[f"[entry.id for entry in log[p1] if entry.id in {order}]"] = order
        return PossibleStep("handle_produce").after(seen)

    @event("closed")
    def closed(self, fields: Found) -> list[PossibleStep]:
        """The connection closed; the broker may go on with the request that it has read.

        If all requests were answered, the client may have read the answers, or not.
        """
        if fields.get("unanswered") == []:
            return [PossibleStep("disconnect"), Observation({})]
        in_flight = in_flight_before(fields["unanswered"])
        return [PossibleStep(action).before(in_flight) for action in ("disconnect", "disconnect_while_handling")]

    @event("second_connection")
    def second_connection(self, fields: Found) -> None:
        """Requests of two connections are in flight."""
        raise InputError("requests on two connections are in flight, and the spec has one connection for a partition")

    @event("ambiguous")
    def ambiguous(self, fields: Found) -> None:
        """A batch of a new epoch has the content of several batches without success."""
        raise InputError(
            "several batches have the content of one that is sent again in a new epoch, so that the recording does not "
            "tell which one it is: give each record a value of its own"
        )

    @event("resized")
    def resized(self, fields: Found) -> None:
        """A batch has other records than before."""
        raise InputError(
            "a batch was split, or its sequence was given to other records, and a batch of the spec keeps its records"
        )


def _batches(events: Sequence[Found]) -> int:
    """Return the highest number of a batch. A value that is no number has no step, whatever the number is."""
    lists = [each["records"] for each in events if isinstance(each.get("records"), list)]
    return max((number for numbers in lists for number in numbers if type(number) is int), default=0)
