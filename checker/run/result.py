"""The result of a run, the same for every engine: counts, the verdict, and a trace for each violation."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from typing import Any, Literal

from checker.language.interpreter import State, call_text
from checker.run.finding import Finding

Verdict = Literal["holds", "violated", "error", "incomplete"]
Kind = Literal["invariant", "step_invariant", "reachable", "deadlock", "bounds_error", "walk", "explanation"]
End = Literal["complete", "violation", "max_states", "max_depth", "interrupted"]


@dataclass(frozen=True)
class ActionCall:
    """An action with its arguments."""

    action: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return call_text(self.action, self.arguments)


@dataclass(frozen=True)
class TraceStep:
    """A state of a trace and the action instance that led to it; `action` is None for the initial state."""

    action: str | None
    arguments: tuple[Any, ...]
    state: State

    def __str__(self) -> str:
        return "initial state" if self.action is None else call_text(self.action, self.arguments)


@dataclass(frozen=True)
class Violation:
    """A property that does not hold, or a value that left its type's bounds.

    `property` names the property, or for a `bounds_error` the action, property or constraint that was running.
    `trace` leads from an initial state to the violation; the last step of a trace to a step invariant violates it.
    `failed_action` is the action instance that left the bounds in the last state of the trace: it has no successor.
    A `reachable` that is never reached has an empty trace. Two kinds are not violations: `walk`, the trace of a random
    walk without a violation, and `explanation`, a trace that explains a recorded log.
    """

    property: str
    kind: Kind
    trace: tuple[TraceStep, ...]
    explanation: str
    failed_action: ActionCall | None = None

    @builtins.property
    def length(self) -> int:
        """The number of states of the counterexample, the initial one included."""
        return len(self.trace)


@dataclass(frozen=True)
class Coverage:
    """The coverage of an action: `generated` successors in total, and the `distinct` states that it reached first."""

    generated: int = 0
    distinct: int = 0


@dataclass
class Result:
    """The result of a run.

    `distinct_states` includes the initial states. `generated_states` counts the executed action instances, those that
    lead to known states included. `levels` has the number of new states of each level, of which the initial states are
    the first. `reached` maps each `@reachable` that was reached to the number of states of the shortest trace to it;
    `unreached` names the others. `findings` are the parts of the spec that a complete exploration never used, or None
    if they were not requested or the exploration is not complete. `seconds` is the time of the exploration without
    `compile_seconds`, and `memory_bytes` the peak memory of the process.
    """

    engine: str
    workers: int
    distinct_states: int
    generated_states: int
    levels: tuple[int, ...]
    seconds: float
    ended: End
    compile_seconds: float = 0.0
    memory_bytes: int = 0
    violations: list[Violation] = field(default_factory=list)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    unreached: tuple[str, ...] = ()
    findings: tuple[Finding, ...] | None = None

    @property
    def depth(self) -> int:
        """The number of levels."""
        return len(self.levels)

    @property
    def verdict(self) -> Verdict:
        """The verdict: "error" before "violated"; without violations, "holds" only for a complete exploration."""
        if any(violation.kind == "bounds_error" for violation in self.violations):
            return "error"
        if self.violations:
            return "violated"
        return "holds" if self.ended == "complete" else "incomplete"
