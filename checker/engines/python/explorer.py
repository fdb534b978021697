"""The `python` engine: breadth-first exploration with the interpreter.

It is slow and simple. Its counts, depths and counterexample lengths are the reference for the other engines.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from checker.engines.python.liveness import ExploredGraph, LivenessDecider
from checker.engines.python.view_keys import ViewKeys
from checker.errors import BoundsError, SpecError
from checker.explain import violations
from checker.frontend import compile_spec, compile_view
from checker.frontend.liveness_typing import check_language
from checker.frontend.symmetry import NO_SYMMETRY, ProgramSymmetry
from checker.language.error_location import line_in, source_files, with_location
from checker.language.interpreter import State, Step
from checker.language.liveness import liveness_names
from checker.language.permutations import Permutation, all_permutations, permute, permute_state
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.liveness import UNDECIDED_WITH_SYMMETRY, UNDECIDED_WITH_VIEW, decide_liveness
from checker.run.memory import MemoryWatch, peak_memory, resident_memory
from checker.run.plan import DEADLOCK, ExplorationProgress, Plan
from checker.run.result import Coverage, End, Result, TraceStep, Violation
from checker.run.symmetry import symmetry_of_run

_PROGRESS_INTERVAL = 0.1
"""Seconds between two calls of `Plan.on_progress`."""

_STATES_A_LOOK = 256
"""The states that are expanded between two looks at the memory of the process."""


def explore(spec: Spec, plan: Plan) -> Result:
    """Explore a spec breadth-first and return the result.

    Properties are checked in each new state, step invariants on each step, including steps to known states. States
    outside the constraints are checked, but not expanded. A run that the plan lets stop at its findings ends with the
    level in which it has them. A value that leaves its bounds always ends the run with the level. Liveness properties
    are decided after the exploration, if it did not end at a violation.

    Raises SpecError if the spec's own code raises an exception other than BoundsError.
    """
    return explore_states(spec, plan).result


@dataclass
class ExploredStates:
    """The result of an exploration, its states in breadth-first order, and the actions that changed a state.

    `trace_to` returns the trace to a state by its number.
    """

    result: Result
    states: list[State]
    changing_actions: set[str]
    trace_to: Callable[[int], tuple[TraceStep, ...]]


def explore_states(spec: Spec, plan: Plan) -> ExploredStates:
    """Explore as `explore` does, and return the states too."""
    # The interpreter would run more of Python than the language has, with a meaning that other engines do not share.
    check_language(spec, [name for name in plan.properties if name != DEADLOCK])
    names = liveness_names(spec, plan.properties)
    exploration = _Exploration(spec, plan, _symmetry(spec, plan, names) if plan.symmetry else NO_SYMMETRY)
    try:
        result = exploration.result(exploration.run())
        if names:
            exploration.decide_liveness(names, result)
    except Exception as error:
        files = source_files(type(spec))
        if isinstance(error, SpecError) or line_in(files, error.__traceback__):
            raise with_location(error, files) from error
        raise
    return ExploredStates(result, exploration.states, exploration.changing, exploration.trace_to)


def _symmetry(spec: Spec, plan: Plan, liveness: list[str]) -> ProgramSymmetry:
    names = [name for name in plan.properties if name != DEADLOCK and name not in liveness]
    program = compile_spec(spec, names)
    try:
        return symmetry_of_run(spec, program, spec.initial_states())
    except BoundsError:
        # The exploration reports it.
        return NO_SYMMETRY


class _Exploration:
    """One run. `states` are in breadth-first order; `_origins` has the parent and the first step of each.

    With a symmetry it stores the first state that it finds of each orbit, and recognises the others by trying all
    permutations of the members. If it depends on the order of the members whether a value leaves its bounds, it
    evaluates everything in all states of an orbit (`_images`).
    """

    def __init__(self, spec: Spec, plan: Plan, symmetry: ProgramSymmetry):
        self._spec, self._plan, self._symmetry = spec, plan, symmetry
        self._permutations = list(all_permutations(symmetry.domains))
        self._memory, self._memory_before = MemoryWatch(plan.max_memory), resident_memory()
        self._started = self._reported = time.perf_counter()
        self._index: dict[Any, int] = {}
        view = compile_view(spec)
        self._view = None if view is None else ViewKeys(spec, view)
        self.states: list[State] = []
        self._origins: list[tuple[int, Step] | None] = []
        self._levels: list[int] = []
        self._generated = 0
        self._enabled = dict.fromkeys(spec.actions, 0)
        self._first_found = dict.fromkeys(spec.actions, 0)
        self.changing: set[str] = set()
        self._violations: dict[str, Violation] = {}
        # Apart from violations: a property may be false in one step of a level, and leave its bounds in another one.
        self._failures: dict[str, Violation] = {}
        self._reached: dict[str, int] = {}
        checked = [name for name in plan.properties if name in spec.roles]
        self._invariants = [name for name in checked if spec.roles[name] is Role.INVARIANT]
        self._step_invariants = [name for name in checked if spec.roles[name] in STEP_ROLES]
        self._reachables = [name for name in checked if spec.roles[name] is Role.REACHABLE]
        self._constraints = spec.names_of(Role.CONSTRAINT)

    def run(self) -> End:
        """Explore level by level, and return why the exploration ended."""
        frontier = self._start()
        has_new = bool(self.states)
        while True:
            if self._failures or self._plan.is_satisfied_by(set(self._violations)):
                return "violation"
            # At `max_depth` the search is incomplete even if no state of the last level is within the constraints.
            if has_new and self._plan.max_depth is not None and len(self._levels) >= self._plan.max_depth:
                return "max_depth"
            if not frontier:
                return self._complete()
            first_new = len(self.states)
            stopped = self._expand_level(frontier)
            has_new = len(self.states) > first_new
            if has_new:
                self._levels.append(len(self.states) - first_new)
            if stopped is not None:
                return stopped
            frontier = self._to_expand(first_new)

    def result(self, ended: End) -> Result:
        """Return the result of a run that has ended."""
        return Result(
            engine="python",
            workers=1,
            distinct_states=len(self.states),
            generated_states=self._generated,
            levels=tuple(self._levels),
            seconds=time.perf_counter() - self._started,
            ended=ended,
            memory_bytes=peak_memory(),
            violations=[*self._violations.values(), *self._failures.values()],
            coverage={
                action: Coverage(self._enabled[action], self._first_found[action]) for action in self._spec.actions
            },
            reached=self._reached,
            unreached=tuple(name for name in self._reachables if name not in self._reached),
            evaluated=(
                *self._invariants,
                *self._step_invariants,
                *self._reachables,
                *([DEADLOCK] if self._plan.deadlock else []),
            ),
            levels_within=self._levels_within(),
            symmetry=tuple(map(str, self._symmetry.domains)),
            asymmetries=tuple(str(asymmetry.error) for asymmetry in self._symmetry.asymmetries),
        )

    def _levels_within(self) -> tuple[int, ...] | None:
        if not self._constraints or not self._levels:
            return None
        ends = list(itertools.accumulate(self._levels, initial=0))
        return tuple(
            sum(self._is_within(state) for state in self.states[start:end]) for start, end in itertools.pairwise(ends)
        )

    def _is_within(self, state: State) -> bool:
        """Return whether a state is within the constraints; false if one leaves its bounds, which ends the run."""
        try:
            return self._spec.within_constraints(state)
        except BoundsError:
            return False

    def decide_liveness(self, names: list[str], result: Result) -> None:
        """Decide liveness properties on the explored states, and add the outcomes to the result."""
        why = UNDECIDED_WITH_SYMMETRY if self._symmetry.domains else "" if self._view is None else UNDECIDED_WITH_VIEW
        if why:
            result.undecided.update(dict.fromkeys(names, why))
            return
        depths = [depth for depth, size in enumerate(self._levels) for _ in range(size)]
        is_inside = [self._spec.within_constraints(state) for state in self.states]
        graph = ExploredGraph(self._spec, self.states, self._index, depths, is_inside, self.trace_to)
        decider = LivenessDecider(graph)
        decide_liveness(names, self._plan, result, decider.decide, states_outside=lambda: is_inside.count(False))

    def _start(self) -> list[int]:
        """Store the initial states and return those to expand."""
        try:
            states = self._spec.initial_states()
        except BoundsError:
            self._fail(violations.bounds_in_init(self._spec))
            return []
        for state in states:
            if self._key(state) not in self._index:
                self._store(state, None)
        if states:
            self._levels.append(len(self.states))
        for violation in violations.wrong_starts(self._spec, self._step_invariants, states):
            if violation.kind == "bounds_error":
                self._fail(violation)
            else:
                self._violations[violation.property] = violation
        return self._to_expand(0)

    def _complete(self) -> End:
        """Report the reachables that were never true in a complete exploration."""
        for name in self._reachables:
            if name not in self._reached:
                with_symmetry = bool(self._symmetry.domains)
                self._violations[name] = violations.never_reached(name, len(self.states), with_symmetry=with_symmetry)
        return "complete"

    def _key(self, state: State) -> Any:
        """Return what distinguishes a state from others: the state itself, or the value of the view.

        With symmetry it is the stored state of the same orbit, or the state itself if none is stored.
        """
        if self._symmetry.domains:
            images = (self._permute(state, by) for by in self._permutations)
            return next((image for image in images if image in self._index), state)
        return state if self._view is None else self._view.key_of(state)

    def _permute(self, state: State, by: Permutation) -> State:
        return permute_state(self._spec.variables, state, by) if by else state

    def _images(self) -> Iterator[Permutation]:
        """Iterate over the permutations under which a state must be evaluated; the first one changes nothing."""
        return iter(self._permutations if self._symmetry.unordered_folds else self._permutations[:1])

    def _permute_trace(self, trace: tuple[TraceStep, ...], by: Permutation) -> tuple[TraceStep, ...]:
        return tuple(
            TraceStep(
                step.action, self._permute_arguments(step.action, step.arguments, by), self._permute(step.state, by)
            )
            for step in trace
        )

    def _permute_arguments(self, action: str | None, arguments: tuple[Any, ...], by: Permutation) -> tuple[Any, ...]:
        kinds = next(([p.type for p in shape.parameters] for shape in self._spec.shapes() if shape.name == action), [])
        return tuple(permute(kind, argument, by) for kind, argument in zip(kinds, arguments, strict=True))

    def _expand_level(self, frontier: list[int]) -> End | None:
        """Expand every state of a level; return why it stopped early, or None."""
        limit = self._plan.max_states
        for done, number in enumerate(frontier):
            if self._plan.cancelled.is_set():
                return "interrupted"
            if limit is not None and len(self.states) >= limit:
                return "max_states"
            if done % _STATES_A_LOOK == 0 and self._memory.is_short(resident_memory() - self._memory_before, lambda: 0):
                return "max_memory"
            self._expand(number)
            self._report(queue=len(self.states) - frontier[0] - done - 1)
        return None

    def _expand(self, number: int) -> None:
        state = self.states[number]
        steps, failures = self._spec.expand(state)
        for by in self._images():
            bounds_failures = (
                failures if by == self._permutations[0] else self._spec.expand(self._permute(state, by))[1]
            )
            for failure in bounds_failures:
                trace = self._permute_trace(self.trace_to(number), by)
                self._fail(violations.bounds_in_action(self._spec, failure.action, failure.arguments, trace))
        for step in steps:
            self._generated += 1
            self._enabled[step.action] += 1
            if step.state != state:
                self.changing.add(step.action)
            self._check_step(number, step)
            if self._key(step.state) not in self._index:
                self._first_found[step.action] += 1
                self._store(step.state, (number, step))
        if self._plan.deadlock and not steps and not failures and DEADLOCK not in self._violations:
            self._violations[DEADLOCK] = violations.deadlock(self.trace_to(number))

    def _store(self, state: State, origin: tuple[int, Step] | None) -> None:
        """Store a new state, and check the properties of states in it."""
        number = self._index[self._key(state)] = len(self.states)
        self.states.append(state)
        self._origins.append(origin)
        if self._view is not None:
            self._require_view(self._view, number)
        for name in self._invariants:
            if name not in self._violations and not self._true(name, number):
                self._violations[name] = violations.false_property(self._spec, name, self.trace_to(number))
        for name in self._reachables:
            if name not in self._reached and self._true(name, number, if_failed=False):
                self._reached[name] = len(self.trace_to(number))

    def _require_view(self, view: ViewKeys, number: int) -> None:
        """Record a failure if the view leaves its bounds in a state."""
        try:
            view.value_in(self.states[number])
        except BoundsError:
            self._fail(violations.bounds_in_property(self._spec, view.name, self.trace_to(number)))

    def _true(self, name: str, number: int, *, if_failed: bool = True) -> bool:
        """Return whether a property is true in a state; if it leaves its bounds, record that and return `if_failed`."""
        is_true = if_failed
        for by in self._images():
            try:
                is_true = self._spec.holds(name, self._permute(self.states[number], by))
            except BoundsError:
                trace = self._permute_trace(self.trace_to(number), by)
                self._fail(violations.bounds_in_property(self._spec, name, trace))
                return if_failed
        return is_true

    def _check_step(self, number: int, step: Step) -> None:
        for name in self._step_invariants:
            if name in self._violations:
                continue
            for by in self._images():
                try:
                    states = self._permute(step.state, by), self._permute(self.states[number], by)
                    if self._spec.holds(name, *states) or name in self._violations:
                        continue
                    trace = self._trace_with(number, step)
                    self._violations[name] = violations.false_property(self._spec, name, trace)
                except BoundsError:
                    trace = self._permute_trace(self._trace_with(number, step), by)
                    self._fail(violations.bounds_in_property(self._spec, name, trace))

    def _fail(self, violation: Violation) -> None:
        """Keep the first failure of each action or property: in breadth-first order its trace is a shortest one."""
        self._failures.setdefault(violation.property, violation)

    def _to_expand(self, first: int) -> list[int]:
        """Return the states from number `first` on that are within the constraints."""
        numbers = range(first, len(self.states))
        if not self._constraints:
            return list(numbers)
        return [number for number in numbers if all(self._true(name, number) for name in self._constraints)]

    def trace_to(self, number: int) -> tuple[TraceStep, ...]:
        """Return the steps from an initial state to a stored one."""
        steps = []
        while (origin := self._origins[number]) is not None:
            parent, step = origin
            steps.append(TraceStep(step.action, step.arguments, self.states[number]))
            number = parent
        steps.append(TraceStep(None, (), self.states[number]))
        return tuple(reversed(steps))

    def _trace_with(self, number: int, step: Step) -> tuple[TraceStep, ...]:
        """Return the steps to a stored state, and one more step."""
        return (*self.trace_to(number), TraceStep(step.action, step.arguments, step.state))

    def _report(self, queue: int) -> None:
        now = time.perf_counter()
        if self._plan.on_progress is None or now - self._reported < _PROGRESS_INTERVAL:
            return
        self._reported = now
        seconds = now - self._started
        self._plan.on_progress(
            ExplorationProgress(len(self._levels), len(self.states), self._generated, queue, seconds, peak_memory())
        )
