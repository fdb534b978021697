"""The mapping from a recorded idempotent producer to `producer/idempotent_producer`, with one record per batch.

The client reads a response some time after the proxy has passed it on, and its epoch bump is not visible: these steps
are silent. The spec's application has sent everything before the first step, so `send` is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from kafka_tools.lab.librdkafka.answer_consistency import AnswerConsistency
from kafka_tools.lab.librdkafka.finished_records import FinishedBatches
from kafka_tools.lab.librdkafka.plain import REFUSALS
from traces.validate import Found, Mapping, Observation, PossibleStep, event
from traces.validate.mapping import Consistency, Expectations


class IdempotentClient(Mapping):
    """Events of `kafka_tools.lab.librdkafka.recorder`; one broker, one partition."""

    skips = ("configured", "send", "fatal")
    unused = ("time",)
    silent: ClassVar[tuple[str, ...]] = ("receive_response", "bump_epoch", "resolve_sequences")
    silent_bound = 8
    forgetting = FinishedBatches()

    def constants(self, events: Sequence[Found]) -> dict[str, int | bool | str]:
        """Return the producer's settings and the number of each kind of fault."""
        settings = next(fields for fields in events if fields["event"] == "configured")
        requests = [fields for fields in events if fields["event"] == "request"]
        errors = [fields["error"] for fields in events if fields["event"] == "response"]
        contents = [len(fields["records"]) for fields in events if fields["event"] == "log"]
        return {
            "batches": settings["records"],
            "log_size": max([settings["records"], *contents]) + 1,
            "max_in_flight": settings["max_in_flight"],
            "max_epoch": max((fields["epoch"] for fields in requests), default=0) + 1,
            "max_sequence": 2 * settings["records"] + 1,
            "max_refusals": sum(error in REFUSALS for error in errors),
            "max_rejections": errors.count("invalid record"),
            "max_disconnects": sum(fields["event"] == "closed" for fields in events),
        }

    def consistency(self) -> Consistency:
        """Return what compares answers with requests."""
        return AnswerConsistency()

    @event("request")
    def request(self, fields: Found) -> PossibleStep:
        """The client has put a batch on the wire."""
        (record,) = fields["records"]
        sent = {"id": record - 1, "epoch": fields["epoch"], "sequence": fields["sequence"]}
        return PossibleStep("drain").after({"requests[p1][len(requests[p1]) - 1].batch": sent})

    @event("response")
    def response(self, fields: Found) -> PossibleStep:
        """The broker has answered the oldest request that it has not answered."""
        (record,) = fields["records"]
        newest = "requests[p1][handled(p1) - 1]"
        if fields["error"] in REFUSALS:
            return PossibleStep("refuse_as_not_leader").after({f"{newest}.batch.id": record - 1})
        if fields["error"] == "invalid record":
            return PossibleStep("reject_permanently").after({f"{newest}.batch.id": record - 1})
        error = {f"{newest}.error": fields["error"]}
        offset = {f"{newest}.offset": fields["offset"]} if "offset" in fields else {}
        return PossibleStep("handle_produce").after({f"{newest}.batch.id": record - 1} | error | offset)

    @event("closed")
    def closed(self, fields: Found) -> PossibleStep:
        """The connection closed: the client had not read the answers to its unanswered requests, if they are known."""
        return PossibleStep("disconnect").before(in_flight_before(fields.get("unanswered", ())))

    @event("delivered")
    def delivered(self, fields: Found) -> Observation:
        """The application learned that the record is in the log."""
        batch = {"outcome": "acked", "offset": fields["offset"]}
        return Observation({f"batch[p1][{fields['record'] - 1}]": batch})

    @event("failed")
    def failed(self, fields: Found) -> Observation:
        """The application learned that the record failed."""
        return Observation({f"batch[p1][{fields['record'] - 1}].outcome": "failed"})

    @event("log")
    def log(self, fields: Found) -> Observation:
        """The contents of the partition at the end."""
        return Observation({"[entry.id + 1 for entry in log[p1]]": fields["records"]})


def in_flight_before(unanswered: Iterable[int]) -> Expectations:
    """Return that the client has not read the answers to some batches, by their numbers."""
    return {f"any(request.batch.id == {number} - 1 for request in requests[p1])": True for number in unanswered}
