"""The plan of a run: the properties, limits and callbacks that an engine gets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from checker.language.liveness import liveness_names
from checker.language.roles import DEADLOCK as DEADLOCK
from checker.language.spec import Spec


def properties_to_search(spec: Spec, properties: Sequence[str]) -> list[str]:
    """Return the properties that states and steps decide: all but `deadlock` and liveness properties."""
    decided_later = liveness_names(spec, properties)
    return [name for name in properties if name != DEADLOCK and name not in decided_later]


Stop = Literal["first", "all"] | frozenset[str]
"""When to stop: at the first violation, only at the end, or once every property in a set is violated."""


@dataclass(frozen=True)
class ExplorationProgress:
    """The progress of an exploration.

    `level` counts from 1, the level of the initial states. `queue` is the number of states that are found but not
    expanded, `seconds` the time since the exploration began, and `memory_bytes` the memory of the process.
    `states_to_come` is about how many states are still to be found; None if that is unknown. They will take
    `bytes_to_come`, of which `free_bytes` are available; 0 if that is unknown. With `is_movable`, the states move to a
    smaller store if memory is short. `activity` is what the engine does instead of exploring; "" while it explores.
    """

    level: int
    distinct_states: int
    generated_states: int
    queue: int
    seconds: float
    memory_bytes: int
    states_to_come: int | None = None
    bytes_to_come: int = 0
    free_bytes: int = 0
    is_movable: bool = False
    activity: str = ""


@dataclass(frozen=True)
class CheckpointPlan:
    """Where the native engine keeps checkpoints of a run, and how often it writes one, in seconds.

    A run resumes the checkpoint of an equal run in the folder; `must_resume`: it is an error if there is none.
    `on_notice` gets a sentence when a checkpoint is resumed, and when none can be written.
    """

    folder: Path
    every: float
    must_resume: bool = False
    on_notice: Callable[[str], None] = lambda sentence: None


StoreChoice = Literal["auto", "usual", "compact"]
"""The store of the native engine: whole states with their parents in memory, or quotients, with the states on disk."""


@dataclass
class Plan:
    """The properties to check, and when to stop.

    An engine calls `on_progress` at most a few times a second, from the thread that called the engine, and tests
    `cancelled` as often. `max_depth` is a number of levels; the initial states are the first level, and states of the
    last level are not expanded. `max_memory` is the bytes that the states may take; default: what the machine has.
    With `quick` the native engine starts with machine code that compiles faster and runs slower, which saves time in
    many small explorations; a long exploration switches to better code. With `symmetry` an engine stores one state for
    all that differ only in the names of the members of symmetric domains. Only the native engine writes a `checkpoint`,
    and only it has a `store` to choose.
    """

    properties: tuple[str, ...]
    stop: Stop = "first"
    workers: int = 1
    max_states: int | None = None
    max_depth: int | None = None
    max_memory: int | None = None
    deadlock: bool = False
    quick: bool = False
    symmetry: bool = False
    store: StoreChoice = "auto"
    checkpoint: CheckpointPlan | None = None
    on_progress: Callable[[ExplorationProgress], None] | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def is_satisfied_by(self, violated: set[str]) -> bool:
        """Return whether the run may stop with these violations."""
        if self.stop == "all":
            return False
        if self.stop == "first":
            return bool(violated)
        return self.stop <= violated
