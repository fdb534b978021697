"""The result of a run, the same for every engine: counts, the verdict, and a trace for each violation."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from typing import Any, Literal

from checker.language.interpreter import State, call_text
from checker.run.finding import Finding

Verdict = Literal["holds", "violated", "error", "incomplete"]
Kind = Literal[
    "invariant", "step_invariant", "reachable", "deadlock", "liveness", "bounds_error", "walk", "explanation"
]
End = Literal["complete", "violation", "max_states", "max_depth", "max_memory", "max_disk", "interrupted"]


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

    A `liveness` violation is a lasso: a stem, and a loop that is repeated for ever. The trace holds the stem and one
    round of the loop. `loop_start` is the index in the trace of the first state of the loop, and the last state of the
    trace equals that state: the step that closes the loop is the last step of the trace. If `loop_start` is the last
    index, no step closes the loop, and the system stays in the last state for ever.

        trace        0   1   2   3   4        loop_start = 2
        state        a   b   c   d   c        a -> b -> c -> d -> c -> d -> ...

    `bindings` are the values of the property's parameters, and `owed_since` is the index of the state in which the
    obligation that is never met begins. `fairness` has a sentence for each fair action: why it does not help.
    """

    property: str
    kind: Kind
    trace: tuple[TraceStep, ...]
    explanation: str
    failed_action: ActionCall | None = None
    loop_start: int | None = None
    bindings: tuple[tuple[str, Any], ...] = ()
    owed_since: int | None = None
    fairness: tuple[str, ...] = ()

    @builtins.property
    def length(self) -> int:
        """The number of states of the counterexample, the initial one included.

        For a lasso it is the number of states up to the first state of the loop. The stem is a shortest one, so this
        number does not depend on the engine.
        """
        return len(self.trace) if self.loop_start is None else self.loop_start + 1

    @builtins.property
    def loop(self) -> tuple[TraceStep, ...]:
        """The states of the loop of a lasso, without the repeated one; one state if the system stays in it."""
        if self.loop_start is None:
            return ()
        return self.trace[self.loop_start : max(len(self.trace) - 1, self.loop_start + 1)]

    @builtins.property
    def closing_step(self) -> TraceStep | None:
        """The step of a lasso that returns to the first state of the loop; None if the system stays in that state."""
        if self.loop_start is None or self.loop_start == len(self.trace) - 1:
            return None
        return self.trace[-1]


@dataclass(frozen=True)
class Coverage:
    """The coverage of an action: `generated` successors in total, and the `distinct` states that it reached first.

    `distinct` is None if it depends on the order of threads.
    """

    generated: int = 0
    distinct: int | None = 0


@dataclass(frozen=True)
class LivenessStatistics:
    """The work of deciding a liveness property.

    `obligations` counts the choices of the property's parameters. `states` and `edges` count the states in which an
    obligation is open and the steps between them that change the state, `components` the strongly connected components
    of these graphs; each is a sum over the obligations. `seconds` is the time of the decision.
    """

    property: str
    obligations: int
    states: int
    edges: int
    components: int
    seconds: float


@dataclass
class Result:
    """The result of a run.

    `distinct_states` includes the initial states. `generated_states` counts the executed action instances, those that
    lead to known states included. `levels` has the number of new states of each level, of which the initial states are
    the first. `reached` maps each `@reachable` that was reached to the number of states of the shortest trace to it;
    `unreached` names the others. `findings` are the parts of the spec that a complete exploration never used, or None
    if they were not requested or the exploration is not complete. `seconds` is the time of the exploration without
    `compile_seconds`, and `memory_bytes` the peak memory of the process. `liveness` has the work for each liveness
    property that was decided; its time is not in `seconds`. `undecided` maps each property that the run could not
    decide to the reason, a sentence. `levels_within` has the number of new states of each level that are within the
    constraints; None if the spec has no constraint, or if the engine does not count them (`spark`). `state_bits` is how
    many bits distinguish a state, and `state_words` how many 64-bit words it takes; None if they were not requested.
    `findings_omitted` is why a complete exploration has no findings although they were requested, a sentence.
    `evaluated` names the properties that the engine evaluated in the states and steps that it explored, `deadlock`
    among them; the liveness properties that it decided are in `liveness`.
    `symmetry` names the domains of which the members are interchangeable: all counts of states are then counts of
    orbits, the sets of states that differ only in the names of members, and all counts of steps count those from one
    state of each orbit. `asymmetries` has a sentence for each other domain.
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
    liveness: tuple[LivenessStatistics, ...] = ()
    undecided: dict[str, str] = field(default_factory=dict)
    evaluated: tuple[str, ...] = ()
    levels_within: tuple[int, ...] | None = None
    state_bits: int | None = None
    state_words: int | None = None
    findings_omitted: str = ""
    symmetry: tuple[str, ...] = ()
    asymmetries: tuple[str, ...] = ()

    @property
    def states_within(self) -> int | None:
        """The number of distinct states within the constraints, which is the number that TLC reports as distinct."""
        return None if self.levels_within is None else sum(self.levels_within)

    @property
    def depth_within(self) -> int | None:
        """The number of levels with a state within the constraints, which is the depth that TLC reports."""
        return None if self.levels_within is None else sum(count > 0 for count in self.levels_within)

    @property
    def depth(self) -> int:
        """The number of levels."""
        return len(self.levels)

    def is_decided(self, name: str) -> bool:
        """Return whether the run decided a property: it is violated, was reached, or was checked in every state."""
        if name in self.reached or any(violation.property == name for violation in self.violations):
            return True
        return self.ended == "complete" and name not in self.undecided and self.verdict != "error"

    @property
    def verdict(self) -> Verdict:
        """The verdict: "error" before "violated"; without violations, "holds" only for a complete exploration."""
        if any(violation.kind == "bounds_error" for violation in self.violations):
            return "error"
        if self.violations:
            return "violated"
        return "holds" if self.ended == "complete" and not self.undecided else "incomplete"
