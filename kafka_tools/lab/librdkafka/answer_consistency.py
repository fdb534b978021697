"""What the events of a recorded producer say about each other, and the specs do not have.

An answer repeats the fields of its request; the end of a connection names the requests that it leaves without an
answer; requests go to the broker that leads.
"""

from __future__ import annotations

from typing import Any

from kafka_tools.lab.librdkafka.recorder import ERRORS

Event = dict[str, Any]

_REPEATED = ("records", "producer_id", "epoch", "sequence", "broker")


class AnswerConsistency:
    """Gets the events of one trace in order; returns a sentence if one contradicts earlier ones."""

    def __init__(self) -> None:
        self._sends = 0
        self._open: list[Event] = []
        self._answered: list[Event] = []
        """The requests since the last lost one: those without an answer, and those with one."""
        self._errors: set[tuple[int, str]] = set()
        self._producer: Any = None
        self._leader: Any = None
        self._next_leader: Any = None

    def __call__(self, fields: Event) -> str | None:
        """Return how an event contradicts earlier ones, or None."""
        compare = {
            "send": self._send,
            "request": self._request,
            "response": self._response,
            "closed": self._close,
            "failed": self._fail,
            "restarted": self._restart,
            "leader_restarted": self._leader_restarted,
            "failed_over": self._fail_over,
        }.get(str(fields["event"]))
        return None if compare is None else compare(fields)

    def _send(self, fields: Event) -> str | None:
        self._sends += 1
        if fields["record"] != self._sends:
            return f"record {fields['record']} is sent after record {self._sends - 1}"
        return None

    def _request(self, fields: Event) -> str | None:
        self._open.append(fields)
        producer, leader = fields.get("producer_id"), fields.get("broker")
        if self._producer not in (None, producer):
            return f"the producer id is {producer}, before it was {self._producer}"
        if (expected := self._next_leader or self._leader) not in (None, leader):
            return f"the request goes to broker {leader}, and {expected} leads"
        self._producer, self._leader, self._next_leader = producer, leader, None
        return None

    def _response(self, fields: Event) -> str | None:
        position = next((n for n, sent in enumerate(self._open) if _answers(fields, sent)), None)
        if position is None:
            named = ", ".join(f"{name} {fields[name]}" for name in _REPEATED if name in fields)
            return f"no request without an answer has {named}"
        self._answered.append(self._open.pop(position))
        self._errors.update((record, fields["error"]) for record in fields["records"])
        if ("offset" in fields) != (fields["error"] == "none"):
            return f"the error is {fields['error']}, and the offset {fields.get('offset')}"
        return None

    def _close(self, fields: Event) -> str | None:
        unanswered = fields.get("unanswered", [])
        lost = [record for sent in self._open for record in sent["records"]]
        without = sorted(lost)
        # The answers of a connection arrive in order, so that the client may lack the last ones.
        while self._answered and len(lost) < max(len(unanswered), 1):
            lost += self._answered.pop()["records"]
        self._open, self._answered = [], []
        if fields.get("broker") != self._leader:
            return f"the connection to broker {fields.get('broker')} ends, and the requests went to {self._leader}"
        if "unanswered" in fields and unanswered != sorted(lost):
            return f"unanswered is {unanswered}; the requests without an answer are {without}"
        return None

    def _fail(self, fields: Event) -> str | None:
        """Compare an error of the broker with the answers. A client has others, such as a time-out."""
        if fields["error"] in ERRORS.values() and (fields["record"], fields["error"]) not in self._errors:
            return f"record {fields['record']} failed with {fields['error']}, and no answer has that error"
        return None

    def _restart(self, fields: Event) -> str | None:
        if fields["broker"] == self._leader:
            return f"broker {fields['broker']} leads: its restart is leader_restarted"
        self._next_leader = fields["broker"]
        return None

    def _leader_restarted(self, fields: Event) -> str | None:
        return None if fields["broker"] == self._leader else f"broker {fields['broker']} does not lead"

    def _fail_over(self, fields: Event) -> str | None:
        if fields["broker"] == self._leader or self._next_leader not in (None, fields["broker"]):
            return f"broker {fields['broker']} does not lead next"
        self._next_leader = fields["broker"]
        return None


def _answers(answer: Event, sent: Event) -> bool:
    return all(answer[name] == sent.get(name) for name in _REPEATED if name in answer)
