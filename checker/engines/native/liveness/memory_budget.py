"""The memory that a decision may take: what does not fit is refused before it is taken."""

from __future__ import annotations

from checker.engines.native.liveness.classes import StepClasses
from checker.run.liveness import TooLargeError
from checker.run.memory import available_memory

LABEL_BYTES = 8
"""Bytes of an explored state for at most 62 labels."""

ROW_BYTES = 12
"""Bytes of an explored state in the store of steps."""

STATE_BYTES, STEP_BYTES, LAYER_BYTES = 64, 56, 8
"""Bytes of a state and of a step of a region while it is decomposed, and of a step for each layer of fair classes.

They are upper bounds of the measured peak; a test measures it.
"""

_ALWAYS_BYTES = 1 << 20
"""What takes less is allowed without a look at the available memory, which takes longer than most small regions."""


class MemoryBudget:
    """Refuses what does not fit into `limit` bytes (default: the memory that is available at the time of the check)."""

    def __init__(self, limit: int | None = None):
        self._limit = limit

    def require_labels(self, states: int) -> None:
        """Raise TooLargeError if the labels of all explored states do not fit."""
        self._require(states * LABEL_BYTES, f"labels of {states:,} states ({LABEL_BYTES} bytes a state)")

    def require_rows(self, states: int) -> None:
        """Raise TooLargeError if the rows of the store of steps do not fit."""
        self._require(states * ROW_BYTES, f"indexes of {states:,} states ({ROW_BYTES} bytes a state)")

    def require_region(self, states: int, steps: int, classes: StepClasses) -> None:
        """Raise TooLargeError if the steps of a region, their fair classes and its decomposition do not fit."""
        state_bytes = STATE_BYTES + classes.state_bytes
        step_bytes = STEP_BYTES + classes.layers * LAYER_BYTES + classes.step_bytes
        each = f"{state_bytes} bytes a state and {step_bytes} a step"
        subject = f"{states:,} states of a region and their {steps:,} steps ({each})"
        self._require(states * state_bytes + steps * step_bytes, subject)

    def _require(self, needed: int, subject: str) -> None:
        if self._limit is None and needed < _ALWAYS_BYTES:
            return
        available = available_memory() if self._limit is None else self._limit
        if available is not None and needed > available:
            raise TooLargeError(f"{subject} take about {_size(needed)}; {_size(available)} are available")


def _size(count: int) -> str:
    """Return a number of bytes as text."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count:,} bytes"
