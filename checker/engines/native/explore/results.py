"""Results of explorations of packed states, for every engine that explores them: in memory or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from checker.engines.native.explore import exploration
from checker.errors import BoundsError, Disabled, SpecError
from checker.explain import violations
from checker.language.interpreter import State
from checker.language.roles import DEADLOCK, SAFETY_ROLES, STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.memory import peak_memory
from checker.run.plan import Plan
from checker.run.result import Coverage, End, Result, TraceStep, Violation

Path = list[tuple[int | None, Any]]
"""A path of packed states as pairs (instance, words); the instance of the initial state is None."""

Trace = tuple[TraceStep, ...]


def initial_states(spec: Spec) -> list[State]:
    """Return the initial states; raise BoundsError if `init` leaves its bounds, and SpecError if there is no state."""
    initial = spec.initial_states()
    if not initial:
        raise SpecError(f"{spec.name} has no initial state: `init` is disabled for every choice of its parameters")
    return initial


def evaluated_properties(spec: Spec, plan: Plan, names: Sequence[str]) -> tuple[str, ...]:
    """Return the named properties of which an exploration has a bit, with `deadlock` if it looks for one."""
    return (*(name for name in names if spec.roles[name] in SAFETY_ROLES), *([DEADLOCK] if plan.deadlock else []))


def property_mask(spec: Spec, names: list[str], *roles: Role) -> int:
    """Return a mask of the properties with one of some roles; bit i is property names[i]."""
    return sum(1 << bit for bit, name in enumerate(names) if spec.roles[name] in roles)


def failure_of_init(engine: str, spec: Spec, plan: Plan, compile_seconds: float) -> Result:
    """Return the result of a run in which `init` leaves a type's bounds."""
    violation = violations.bounds_in_init(spec)
    return Result(
        engine,
        plan.workers,
        distinct_states=0,
        generated_states=0,
        levels=(),
        seconds=0.0,
        ended="violation",
        compile_seconds=compile_seconds,
        memory_bytes=peak_memory(),
        violations=[violation],
        coverage={action: Coverage() for action in spec.actions},
        unreached=tuple(name for name in plan.properties if spec.roles.get(name) is Role.REACHABLE),
    )


class PathTraces:
    """Rebuilds the traces of paths: the interpreter names the action of each instance.

    `state_of` unpacks the words of a state. `is_of_orbits`: a stored state represents its whole orbit.
    """

    is_of_orbits = False

    def __init__(self, spec: Spec, state_of: Callable[[Any], State]):
        self._spec, self._state_of = spec, state_of

    def trace(self, path: Path) -> Trace:
        """Return a path of packed states as a trace, with the action and arguments of each step."""
        steps: list[TraceStep] = []
        for instance, words in path:
            state = self._state_of(words)
            if instance is None:
                steps.append(TraceStep(None, (), state))
                continue
            action, arguments = self._spec.arguments_of(instance, steps[-1].state)
            steps.append(TraceStep(action, arguments, state))
        return tuple(steps)

    def failed_calls(self, path: Path, instance: int) -> Iterator[tuple[Trace, str, tuple[Any, ...]]]:
        """Iterate over the traces of a path that show an action instance that fails in the last state."""
        trace = self.trace(path)
        yield trace, *self._spec.arguments_of(instance, trace[-1].state)

    def variants(self, path: Path) -> Iterator[Trace]:
        """Iterate over the traces of a path that show a property that fails in the last state."""
        yield self.trace(path)

    def no_failure(self, what: str) -> Exception:
        """Return the error to raise if no trace of `failed_calls` or `variants` shows a failure of `what`."""
        return AssertionError(f"the engines disagree: {what} left its bounds in one, and not in the interpreter")


class ResultBuilder:
    """Builds the result of an exploration of packed states.

    Traces are rebuilt with the interpreter: it names the action of each instance, and explains each violation.
    `state_of` unpacks the words of a state. Bit i of the exploration is the property names[i]. `traces` rebuilds the
    traces; by default they have the states of the paths.
    """

    def __init__(
        self,
        engine: str,
        spec: Spec,
        state_of: Callable[[Any], State],
        plan: Plan,
        names: list[str],
        explored: exploration.Exploration,
        traces: PathTraces | None = None,
    ):
        self.engine, self.spec = engine, spec
        self._traces = PathTraces(spec, state_of) if traces is None else traces
        self.trace_of = self._traces.trace
        self.plan, self.names, self.found = plan, names, explored

    def result(self, compile_seconds: float) -> Result:
        """Return the result."""
        explored = self.found
        reachables = [name for name in self.names if self.spec.roles[name] is Role.REACHABLE]
        reached = {
            self.names[bit]: len(explored.path(where.state))
            for bit, where in explored.reached.items()
            if bit < len(self.names)
        }
        unreached = tuple(name for name in reachables if name not in reached)
        return Result(
            engine=self.engine,
            workers=self.plan.workers,
            distinct_states=explored.distinct,
            generated_states=sum(explored.generated_per_instance),
            levels=tuple(explored.levels),
            seconds=explored.seconds,
            ended=self._end(),
            compile_seconds=compile_seconds,
            memory_bytes=peak_memory(),
            violations=[*self._violations(), *self._never_reached(unreached)],
            coverage=self._coverage(),
            reached=reached,
            unreached=unreached,
            evaluated=evaluated_properties(self.spec, self.plan, self.names),
            levels_within=self._levels_within(),
        )

    def _levels_within(self) -> tuple[int, ...] | None:
        if not self.spec.names_of(Role.CONSTRAINT) or not self.found.levels_within:
            return None
        return tuple(self.found.levels_within)

    def _end(self) -> End:
        outcome = self.found.outcome
        return "violation" if outcome in ("stopped", "error") else outcome  # type: ignore[return-value]

    def _violations(self) -> list[Violation]:
        explored = self.found
        result = []
        for bit, where in sorted(explored.violations.items()):
            trace = self.trace_of(explored.path_to(where))
            result.append(violations.false_property(self.spec, self.names[bit], trace))
        if explored.error is not None:
            result.append(self._violation_of_action(explored.path(explored.error.state), explored.error.instance))
        if explored.property_error is not None:
            result.append(self._violation_of_property(explored.path_to(explored.property_error)))
        if self.plan.deadlock and explored.deadlock is not None:
            result.append(violations.deadlock(self.trace_of(explored.path(explored.deadlock))))
        return result

    def _violation_of_action(self, path: Path, instance: int) -> Violation:
        """Return the violation of an action instance that leaves its bounds at the end of a path."""
        for trace, action, arguments in self._traces.failed_calls(path, instance):
            try:
                self.spec.step(trace[-1].state, action, *arguments)
            except BoundsError:
                return violations.bounds_in_action(self.spec, action, arguments, trace)
            except Disabled:
                continue
        raise self._traces.no_failure("an action")

    def _violation_of_property(self, path: Path) -> Violation:
        """Return the violation of the first property, constraint or view that leaves its bounds after a path."""
        # The interpreter does not evaluate a property again that was false before: such a property comes last.
        violated = {self.names[bit] for bit in self.found.violations}
        names = [*sorted(self.names, key=violated.__contains__), *self.spec.names_of(Role.CONSTRAINT, Role.VIEW)]
        for trace in self._traces.variants(path):
            for name in names:
                if self._fails(name, trace):
                    return violations.bounds_in_property(self.spec, name, trace)
        raise self._traces.no_failure("a property")

    def _fails(self, name: str, trace: Trace) -> bool:
        """Return whether a property, constraint or view leaves its bounds at the end of a trace."""
        role = self.spec.roles[name]
        if role in STEP_ROLES and len(trace) < 2:
            return False
        try:
            if role is Role.VIEW:
                self.spec.value_of_view(name, trace[-1].state)
            else:
                self.spec.holds(name, trace[-1].state, trace[-2].state if role in STEP_ROLES else None)
        except BoundsError:
            return True
        return False

    def _never_reached(self, unreached: tuple[str, ...]) -> list[Violation]:
        if self.found.outcome != "complete":
            return []
        with_symmetry = self._traces.is_of_orbits
        return [violations.never_reached(name, self.found.distinct, with_symmetry=with_symmetry) for name in unreached]

    def _coverage(self) -> dict[str, Coverage]:
        generated, distinct = self.found.generated_per_instance, self.found.distinct_per_instance
        coverage = {}
        for shape in self.spec.shapes():
            span = slice(shape.first_instance, shape.first_instance + shape.instances)
            coverage[shape.name] = Coverage(sum(generated[span]), sum(distinct[span]))
        return coverage
