"""Forgetting of finished records, so that a short window of records suffices for a log of any length.

A record is finished when no later step and no later event reads or changes it. The validator removes the oldest
finished records from its candidate states and renumbers the others; later events are renumbered in the same way. The
spec then has as many records as the window, and not as many as the log.

A `Forgetting` promises, for one family of specs and one mapping, that a state without finished records has the same
future as the whole state. `tests/kafka_tools/lab/test_finished_records.py` checks this in states of small models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from checker.language.spec import Spec
from traces.validate.events import Found

Constants = dict[str, int | bool | str]


@dataclass(frozen=True)
class FinishedPrefix:
    """The oldest `records` records of a state, which are finished, and the part of the log that only they fill.

    `entries` has the record at each offset of that part. `sequences` has a producer epoch, and the number by which the
    sequences of that epoch become smaller; a spec with other sequences does not change them.
    """

    records: int
    entries: tuple[int, ...]
    sequences: tuple[int, int] = (0, 0)


@dataclass
class Forgotten:
    """What was forgotten of a log so far: a number of records, and the record at each of the first offsets.

    `sequences` is the sum of the prefixes' `sequences` of the last epoch.
    """

    records: int = 0
    entries: list[int] = field(default_factory=list)
    sequences: tuple[int, int] = (0, 0)

    @property
    def offsets(self) -> int:
        """The number of forgotten offsets: offset 0 of a state is this offset of the log."""
        return len(self.entries)

    def add(self, prefix: FinishedPrefix) -> None:
        """Add a prefix of the states, which number their records from here on."""
        self.entries += [self.records + record for record in prefix.entries]
        self.records += prefix.records
        epoch, fewer = prefix.sequences
        self.sequences = (epoch, fewer + self.sequences[1] if epoch == self.sequences[0] else fewer)


def prefix_of_log(offsets: int, sequences: tuple[int, int] = (0, 0)) -> FinishedPrefix:
    """Return a prefix whose records have the numbers of their offsets, from 1 on."""
    return FinishedPrefix(offsets, tuple(range(1, offsets + 1)), sequences)


class Forgetting(ABC):
    """Which records are finished in a state of a spec, the state without them, and the numbers in events.

    Records are numbered 1, 2, ... in send order, as in events.
    """

    checked: ClassVar[frozenset[str]]
    """The invariants that a state without finished records decides like the whole state."""

    @abstractmethod
    def fits(self, spec: Spec) -> bool:
        """Return whether this forgetting is right for a spec with its constants."""

    @abstractmethod
    def total(self, events: Sequence[Found]) -> int:
        """Return the number of records of a trace."""

    @abstractmethod
    def named(self, events: Sequence[Found]) -> list[list[Any]]:
        """Return the records that each event of a trace names. An event with the contents of the log names none."""

    def takes_identity(self, fields: Found) -> bool:
        """Return whether an event takes one of the spec's identities of records, if these are not the numbers."""
        return False

    def identities_in(self, spec: Any) -> int:
        """Return the number of identities that are taken in a state of a spec."""
        return 0

    def identities(self, window: int) -> int:
        """Return the number of identities of a model with a window of records."""
        return window

    def contradiction(self, fields: Found, forgotten: Forgotten) -> str | None:
        """Return a sentence if an event contradicts what was forgotten. Most events say nothing of it."""
        return None

    @abstractmethod
    def renumbered(self, fields: Found, forgotten: Forgotten) -> Found:
        """Return an event with the numbers that its records and offsets have in the states."""

    def description(self, forgotten: int, first_offset: int) -> str:
        """Return what the numbers of a state mean after some records were forgotten."""
        return f"record 1 is record {forgotten + 1:,} of the log, offset 0 is offset {first_offset:,}"

    @abstractmethod
    def constants(self, constants: Mapping[str, Any], window: int) -> Constants:
        """Return the constants of a model of `window` records, from those of the whole trace."""

    @abstractmethod
    def finished(self, spec: Any, most: int) -> list[FinishedPrefix]:
        """Return the finished prefixes, with 1 to `most` records, of a spec in a state."""

    @abstractmethod
    def forget(self, spec: Any, prefix: FinishedPrefix) -> None:
        """Remove a finished prefix from a working copy of a spec, and renumber the other records."""


class WindowExceededError(Exception):
    """A trace needs a larger window: an event names a record beyond it, and no more records are finished."""


class RecordWindow:
    """The window of records while one trace is validated: what was forgotten, and which records later events name."""

    def __init__(self, forgetting: Forgetting, size: int, events: Sequence[Found]):
        self.forgotten = Forgotten()
        self._forgetting, self._size, self._total = forgetting, size, forgetting.total(events)
        # Other values are no numbers of records; the mapping then finds no step for the event.
        self._named = [[number for number in named if type(number) is int] for named in forgetting.named(events)]
        self._oldest = [self._total + 1] * (len(events) + 1)
        for position in reversed(range(len(events))):
            self._oldest[position] = min([self._oldest[position + 1], *self._named[position]])
        self._taking = [forgetting.takes_identity(fields) for fields in events]
        self._identities, self._taken = forgetting.identities(size), 0

    def contradiction(self, position: int, fields: Found) -> str | None:
        """Return a sentence if an event names a record that was never sent, or contradicts what was forgotten."""
        unknown = [number for number in self._named[position] if not 1 <= number <= self._total]
        if unknown:
            return f"the log has records 1 to {self._total}; the event names record {unknown[0]}"
        return self._forgetting.contradiction(fields, self.forgotten)

    def has_room(self, position: int) -> bool:
        """Return whether the records of an event are in the window, and no candidate runs out of identities.

        The last record of the window is not used before the end of the log, so that a queue never runs empty early.
        """
        if self._taken + self._taking[position] > self._identities:
            return False
        last = self.forgotten.records + self._size
        newest = max(self._named[position], default=0)
        return newest < last or newest <= self._total <= last

    def most(self, position: int) -> int:
        """Return how many records may be forgotten: none that this or a later event names, none beyond the last."""
        unnamed = self._oldest[position] - 1 - self.forgotten.records
        return max(0, min(unnamed, self._total - self._size - self.forgotten.records))

    def forget(self, prefix: FinishedPrefix, identities: int) -> None:
        """Note that the candidates are without a prefix from now on, and have taken at most so many identities."""
        self.forgotten.add(prefix)
        self._taken = identities

    def take(self, position: int) -> None:
        """Note that the candidates take the steps of an event."""
        self._taken += self._taking[position]

    def renumbered(self, fields: Found) -> Found:
        """Return an event with the numbers of the states."""
        return self._forgetting.renumbered(fields, self.forgotten) if self.forgotten.records else fields


WINDOWS = (16, 32, 48, 64, 128, 256)
"""The windows to try. A log with at most as many records as the first is validated with all of them."""


def windows(forgetting: Forgetting, events: Sequence[Found]) -> Iterator[int | None]:
    """Iterate over the windows to try for a trace; the last, None, has all records."""
    total = forgetting.total(events)
    yield from (window for window in WINDOWS if window < total)
    if total <= WINDOWS[-1]:
        yield None
