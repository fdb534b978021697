"""The mapping from the answers to Produce requests to `broker/leader_state`: the producer state of the leader alone.

Every answer is a step of the model, which must give the same answer. The model has one state: that of the broker that
leads. A follower's restart counts for it, if that follower leads later and nothing was appended in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.errors import InputError
from kafka_tools.lab.librdkafka.answer_consistency import AnswerConsistency
from kafka_tools.lab.recording.finished_answers import ANSWERS, FinishedAnswers
from traces.validate import Found, Mapping, PossibleStep, event
from traces.validate.mapping import Consistency

_REFUSED = ("not leader or follower", "not enough replicas")
"""Errors before the broker looks at the producer's state."""


class AnswersOfLeader(Mapping):
    """Events of `kafka_tools.lab.recording.produce_recorder`; one producer, one partition, one record per batch."""

    skips = ("configured", "request", "closed", "failed_over", "delivered", "failed", "log")
    unused = ("time",)
    forgetting = FinishedAnswers()

    def constants(self, events: Sequence[Found]) -> dict[str, int | bool | str]:
        """Return the rules of the brokers, and bounds that follow from the answers."""
        answers = [fields for fields in events if fields["event"] == "response"]
        return {
            "cache_size": 5,
            "no_state": "any",
            "restarts": True,
            "max_batch_records": 1,
            "log_size": len(answers) + 1,
            "max_epoch": max((fields["epoch"] for fields in answers), default=0) + 1,
            "max_sequence": max((fields["sequence"] for fields in answers), default=0) + 2,
        }

    def consistency(self) -> Consistency:
        """Return what compares answers with requests."""
        return AnswerConsistency()

    @event("response")
    def response(self, fields: Found) -> PossibleStep | None:
        """The leader has answered a batch: appended it, recognised a duplicate, or refused it."""
        if fields["error"] in _REFUSED:
            return None
        if fields["error"] not in ANSWERS:
            raise InputError(f"{fields['error']}: the spec has no such answer, so that it cannot judge this producer")
        offset = fields.get("offset")
        batch = {"epoch": fields["epoch"], "sequence": fields["sequence"], "records": 1}
        return PossibleStep("produce", **batch).after({"answer": {"error": fields["error"], "offset": offset}})

    @event("restarted", "leader_restarted")
    def restarted(self, fields: Found) -> PossibleStep:
        """The broker that leads from now on has restarted."""
        return PossibleStep("restart")
