"""The result of a run, the same for every engine: counts, verdict, and a trace for everything that is violated."""

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
    """A state of a trace and the action instance that led to it; the initial state has none."""

    action: str | None
    arguments: tuple[Any, ...]
    state: State

    def __str__(self) -> str:
        return "initial state" if self.action is None else call_text(self.action, self.arguments)


@dataclass(frozen=True)
class Violation:
    """A property that does not hold, or a value that left its type's bounds.

    `property` names the property; for a `bounds_error` the action, property or constraint that was running.
    `trace` leads from an initial state to the violation; for a step invariant its last step is the one that violates.
    `failed_action` is the action instance that left the bounds in the trace's last state: there is no state after it.
    A `reachable` that nothing reaches has an empty trace; of kind `walk` is a trace that violates nothing, of
    kind `explanation` one that explains what was recorded.
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
    """How often an action was enabled (`generated`), and how many states it was the first to reach (`distinct`)."""

    generated: int = 0
    distinct: int = 0


@dataclass
class Result:
    """What a run found.

    `distinct_states` counts the initial states too, `generated_states` the enabled action instances that were executed
    (those that lead to known states included). `levels` holds the new states of each level, the initial states being
    the first. `reached` gives for each `@reachable` that was seen the number of states of the shortest trace to it.
    `findings` says what a complete exploration never did; None where that was not asked for or cannot be judged.
    `seconds` is the time of exploring, without `compile_seconds`; `memory_bytes` the peak of the process.
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
        """The answer: an error outranks a violation, and a violation stands however the exploration ended."""
        if any(violation.kind == "bounds_error" for violation in self.violations):
            return "error"
        if self.violations:
            return "violated"
        return "holds" if self.ended == "complete" else "incomplete"
