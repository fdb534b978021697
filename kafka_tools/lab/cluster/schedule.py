"""A step of a trace, and the schedule that is proposed for a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TraceCall:
    """A step of a trace: its number from 2, the action with its arguments, and the state before and after it."""

    number: int
    action: str
    arguments: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def __str__(self) -> str:
        """The step as text, such as `step 6, restart_broker(p1)`."""
        return f"step {self.number}, {self.action}({', '.join(map(str, self.arguments.values()))})"


@dataclass
class ProposedSchedule:
    """The cluster, the settings and the steps of an experiment. `unforced` names what the harness cannot bring about.

    The first replica leads at first.
    """

    brokers: int
    replicas: int
    steps: list[str]
    unforced: list[str] = field(default_factory=list)
    broker: dict[str, object] = field(default_factory=dict)
    topic: dict[str, object] = field(default_factory=dict)
    producer: dict[str, object] = field(default_factory=dict)
