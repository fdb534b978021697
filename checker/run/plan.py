"""The plan of a run: what an engine is asked to explore and to check."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

DEADLOCK = "deadlock"
"""The built-in property that a state without successors violates."""

Stop = Literal["first", "all"] | frozenset[str]
"""When to stop: at the first violation, never before the end, or once every property of a set has been violated."""


@dataclass(frozen=True)
class ExplorationProgress:
    """How far an exploration is.

    `level` counts from 1, the initial states. `queue` is the number of states found but not expanded, `seconds` the
    time since exploring began, `memory_bytes` what the process holds.
    """

    level: int
    distinct_states: int
    generated_states: int
    queue: int
    seconds: float
    memory_bytes: int


@dataclass
class Plan:
    """What to check and when to stop.

    An engine calls `on_progress` a few times a second at most, from the thread that called it, and looks at `cancelled`
    as often. `max_depth` counts levels, the initial states being the first: states of the last one are not expanded.
    `quick`: start with machine code that compiles faster and runs slower, which pays for many small explorations; a
    long exploration switches to better code.
    """

    properties: tuple[str, ...]
    stop: Stop = "first"
    workers: int = 1
    max_states: int | None = None
    max_depth: int | None = None
    deadlock: bool = False
    quick: bool = False
    on_progress: Callable[[ExplorationProgress], None] | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def satisfied_by(self, violated: set[str]) -> bool:
        """Return whether these violations are all that the run was asked to find."""
        if self.stop == "all":
            return False
        if self.stop == "first":
            return bool(violated)
        return self.stop <= violated
