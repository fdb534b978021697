"""Validation of a trace in a model with as many records as the trace needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from checker.errors import SpecError
from traces.validate.events import RecordedTrace
from traces.validate.forgetting import Forgetting, WindowExceededError, windows
from traces.validate.mapping import Mapping
from traces.validate.validator import Validator
from traces.validate.verdict import Limit, TraceVerdict


class SizedValidation:
    """Validates traces in the smallest model that suffices.

    `make` returns a validator with a window of records, or with all of them if the window is None. Without a
    `forgetting` the model has all records.
    """

    def __init__(self, mapping: Mapping, forgetting: Forgetting | None, make: Callable[[int | None], Validator]):
        self.mapping = mapping
        self._forgetting, self._make = forgetting, make

    def validate(self, recorded: RecordedTrace) -> TraceVerdict:
        """Return the verdict on a trace; raise InputError if the mapping fails or skips every event."""
        for window in self._windows(recorded):
            try:
                validator = self._make(window)
            except SpecError:
                # With all records, the error says what to reduce. A window this large does not help.
                if window is None:
                    raise
                break
            try:
                return validator.validate(recorded)
            except WindowExceededError:
                continue
        return too_long(recorded)

    def _windows(self, recorded: RecordedTrace) -> Iterable[int | None]:
        if self._forgetting is None:
            return (None,)
        return windows(self._forgetting, [event.found for event in recorded.events])


def too_long(recorded: RecordedTrace) -> TraceVerdict:
    """Return the verdict on a trace with more records at a time than a model can have."""
    total, limits = len(recorded.events), frozenset[Limit](("window",))
    return TraceVerdict(recorded.name, recorded.file, total, "undecided", blank=recorded.blank, limits=limits)
