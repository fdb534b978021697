"""The mapping from a recorded producer without idempotence to `producer/plain_producer`.

The client reads a response some time after the proxy has passed it on, so `receive_response` is a silent step.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.lab.librdkafka.answer_consistency import AnswerConsistency
from kafka_tools.lab.librdkafka.finished_records import FinishedRecords
from traces.validate import Found, Mapping, Observation, PossibleStep, event
from traces.validate.mapping import Consistency

REFUSALS = ("not leader or follower", "request timed out", "not enough replicas", "not enough replicas after append")
"""Retriable errors. The mock cluster appends nothing with them."""


class PlainClient(Mapping):
    """Events of `kafka_tools.lab.librdkafka.recorder`; one broker, one partition."""

    skips = ("configured", "fatal")
    unused = ("time",)
    silent = ("receive_response",)
    silent_bound = 6
    forgetting = FinishedRecords()

    def constants(self, events: Sequence[Found]) -> dict[str, int | bool | str]:
        """Return the producer's settings and the number of each kind of fault."""
        settings = next(fields for fields in events if fields["event"] == "configured")
        errors = [fields["error"] for fields in events if fields["event"] == "response"]
        return {
            "records": settings["records"],
            "max_in_flight": settings["max_in_flight"],
            "retries": settings["retries"],
            "batch_size": settings["batch_size"],
            "acks": settings["acks"],
            "requeue": "in_order",
            "mute_partitions": False,
            "refusals": sum(error in REFUSALS for error in errors),
            "rejections": errors.count("invalid record"),
            "disconnects": sum(fields["event"] == "closed" for fields in events),
            **({"broker_limit": settings["batch_size"] - 1} if "message too large" in errors else {}),
        }

    def consistency(self) -> Consistency:
        """Return what compares answers with requests."""
        return AnswerConsistency()

    @event("send")
    def send(self, fields: Found) -> PossibleStep:
        """The application sends the next record."""
        return PossibleStep("application_send", record=fields["record"])

    @event("request")
    def request(self, fields: Found) -> PossibleStep:
        """The client has put a batch on the wire."""
        return PossibleStep("sender_drain", partition=0).after(
            {"wire[n1][len(wire[n1]) - 1].records": fields["records"]}
        )

    @event("response")
    def response(self, fields: Found) -> PossibleStep:
        """The broker has answered the oldest request that it has not answered."""
        newest = "responses[n1][len(responses[n1]) - 1]"
        if fields["error"] == "none":
            return PossibleStep("broker_append").after(
                {f"{newest}.records": fields["records"], f"{newest}.base": fields["offset"]}
            )
        refusals = {"message too large": "broker_finds_batch_too_large", "invalid record": "broker_reject"}
        return PossibleStep(refusals.get(fields["error"], "broker_refuse")).after(
            {f"{newest}.records": fields["records"]}
        )

    @event("closed")
    def closed(self, fields: Found) -> PossibleStep:
        """The connection closed: the client had not read the answers to its unanswered requests."""
        is_in_flight = "any({} in batch.records for batch in in_flight[n1])"
        return PossibleStep("connection_closed").before(
            {is_in_flight.format(record): True for record in fields["unanswered"]}
        )

    @event("delivered")
    def delivered(self, fields: Found) -> Observation:
        """The application learned that the record is in the log."""
        return Observation(
            {f"future[{fields['record']}]": "succeeded", f"offset[{fields['record']}]": fields["offset"]}
        )

    @event("failed")
    def failed(self, fields: Found) -> Observation:
        """The application learned that the record failed."""
        return Observation({f"future[{fields['record']}]": "failed"})

    @event("log")
    def log(self, fields: Found) -> Observation:
        """The contents of the partition at the end."""
        return Observation({"log[0]": fields["records"]})
