"""What the events of `record --bootstrap` say about each other, and the spec does not have.

The recorder numbers batches and derives `sequence`, `before` and `after` from the real sequences and offsets. Here the
real values of a trace are compared: the records under a sequence, the ranges of offsets, the requests of a connection.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Any

from kafka_tools.lab.recording.log_neighbours import add_offset

Event = dict[str, Any]

_IDENTITY = ("records", "epoch", "sequence", "base_sequence", "size")


class PassedConsistency:
    """Gets the events of one trace in order; returns a sentence if one contradicts earlier ones."""

    def __init__(self) -> None:
        self._sent: dict[tuple[int, int], Event] = {}
        """The first request with an epoch and a base sequence."""
        self._contents: dict[int, str] = {}
        self._ends: dict[int, tuple[int, int]] = {}
        """By epoch: the last sequence in batches, and the base sequence that follows the last batch."""
        self._open: list[Event] = []
        self._answered: list[Event] = []
        """The requests of the connection without an answer, and those with one."""
        self._broker: int | None = None
        self._offsets: list[tuple[int, int]] = []
        self._sizes: dict[int, int] = {}

    def __call__(self, fields: Event) -> str | None:
        """Return how an event contradicts earlier ones, or None."""
        match fields.get("event"):
            case "request":
                return self._request(fields)
            case "response":
                return self._response(fields)
            case "closed":
                return self._close(fields)
        return None

    def _request(self, fields: Event) -> str | None:
        wrong = self._numbers(fields) or self._content(fields) or self._connection(fields)
        self._open.append(fields)
        return wrong

    def _numbers(self, fields: Event) -> str | None:
        """Compare the real sequence of a request with those of its epoch."""
        epoch, base, size = fields["epoch"], fields["base_sequence"], fields["size"]
        if size < 1:
            return f"the batch has {size} records"
        first = self._sent.setdefault((epoch, base), fields)
        if first is not fields:
            differs = next((name for name in _IDENTITY if fields[name] != first[name]), None)
            return differs and (
                f"{differs} is {fields[differs]}, and was {first[differs]} for base_sequence {base} of epoch {epoch}"
            )
        last, end = self._ends.get(epoch, (-1, 0))
        expected = last + 1 if base == end else last + 2
        self._ends[epoch] = expected, base + size
        if fields["sequence"] != expected:
            return f"base_sequence {base} after {end - 1} is sequence {expected} in batches, not {fields['sequence']}"
        return None

    def _content(self, sent: Event) -> str | None:
        """Compare the records of a batch with those that it had before: a client never gives its sequence to others."""
        (number,) = sent["records"]
        if self._contents.setdefault(number, sent["content"]) == sent["content"]:
            return None
        return (
            f"batch {number} has other records than before: the client has used base_sequence {sent['base_sequence']} "
            "of the epoch again, and the broker takes the batch for a duplicate"
        )

    def _connection(self, fields: Event) -> str | None:
        before, self._broker = self._broker, fields["broker"]
        if before not in (None, self._broker):
            return f"the request goes to broker {self._broker}, and the connection to {before} has no end"
        return None

    def _response(self, fields: Event) -> str | None:
        position = next((n for n, sent in enumerate(self._open) if _is_same(sent, fields)), None)
        if position is None:
            named = ", ".join(f"{name} {fields[name]}" for name in _IDENTITY)
            return f"no request without an answer has {named}"
        self._answered.append(self._open.pop(position))
        has_offset = "base_offset" in fields
        if has_offset != (fields["error"] == "none"):
            return f"the error is {fields['error']}, and the answer has {'an' if has_offset else 'no'} offset"
        return self._offset(fields) if has_offset else None

    def _offset(self, fields: Event) -> str | None:
        """Compare the place of a batch in the log with those of the others."""
        (number,) = fields["records"]
        offset = fields["base_offset"]
        if type(offset) is not int or offset < 0:
            return f"base_offset {offset} is not an offset"
        self._sizes[number] = fields["size"]
        derived = add_offset(self._offsets, offset, number)
        for name, wanted in derived.items():
            if fields[name] != wanted:
                return f"{name} is {fields[name]}; the offsets of the answers give {wanted}"
        return self._overlap(offset, number)

    def _overlap(self, offset: int, number: int) -> str | None:
        place = bisect_left(self._offsets, (offset, number))
        for first, second in pairwise(self._offsets[max(place - 1, 0) : place + 2]):
            end = first[0] + self._sizes[first[1]]
            if end > second[0] and first[1] != second[1]:
                return (
                    f"batch {first[1]} has offsets {first[0]} to {end - 1}, and batch {second[1]} begins at {second[0]}"
                )
        return None

    def _close(self, fields: Event) -> str | None:
        """Compare the unanswered batches: all without an answer, and perhaps the last ones whose answer is lost."""
        unanswered, without = sorted(fields["unanswered"]), sorted(sent["records"][0] for sent in self._open)
        more = max(len(unanswered) - len(without), 0)
        lost = [sent["records"][0] for sent in self._answered[len(self._answered) - more :]]
        self._open, self._answered, self._broker = [], [], None
        if unanswered == sorted(without + lost):
            return None
        return f"unanswered is {fields['unanswered']}; the requests without an answer are {without}"


def _is_same(sent: Event, answer: Event) -> bool:
    return all(sent[name] == answer[name] for name in _IDENTITY)
