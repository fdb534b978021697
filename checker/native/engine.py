"""The native engine: compiles a spec and explores it; the interpreter tells the counterexamples."""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from checker.check import violations
from checker.check.interpreted import peak_memory
from checker.check.plan import DEADLOCK, Plan, Progress
from checker.check.result import Coverage, End, Result, TraceStep, Violation
from checker.evidence.premises import Premise, premises_of
from checker.explore import exploration as explored
from checker.explore.functions import SpecFunctions
from checker.explore.kernels import Kernels, add_kernels
from checker.explore.search import explore as search
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.ir.types import BoundsError
from checker.language.errors import SpecError
from checker.language.interpreter import State
from checker.language.spec import Role, Spec
from checker.native.compile import MachineCode
from checker.native.program import NativeSpec, lower

MOST_INSTANCES = 65535
MOST_PROPERTIES = 63


@dataclass
class Compiled:
    """A spec as machine code, with what its numbers mean: bits of properties, and after them of premises."""

    spec: Spec
    native: NativeSpec
    kernels: Kernels
    premises: list[Premise] = field(default_factory=list)

    def words_of(self, state: State) -> list[int]:
        """Return the packed words of a state."""
        return self.native.layout.encode(state.values)

    def state_of(self, words: Any) -> State:
        """Return the state that some words (k,) stand for."""
        return State(self.native.layout.decode([int(word) for word in words]))


def compile_native(spec: Spec, properties: list[str], *, evidence: bool = False, quick: bool = False) -> Compiled:
    """Return a spec as machine code that checks some properties; raise SpecError where it is outside the language.

    `evidence`: it also looks for the properties' premises, as far as there are bits for them. `quick`: see `Plan`.
    """
    with _uncollected():
        program = compile_spec(spec, properties)
        premises = premises_of(program)[: MOST_PROPERTIES - len(properties)] if evidence else []
        program.properties += [premise.predicate for premise in premises]
        return compile_program(spec, program, properties, premises, quick=quick)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector from going over and over what is being built: that is a sixth of compiling."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def compile_program(
    spec: Spec, program: nodes.Program, properties: list[str], premises: list[Premise], *, quick: bool = False
) -> Compiled:
    """Return a typed program of a spec as machine code; its properties are those named, and after them the premises."""
    require_sizes(spec, program, properties)
    native = lower(program)
    functions = SpecFunctions(
        native.module,
        native.layout.words,
        native.instances,
        native.emit,
        native.fail,
        native.expand_state,
        native.check_state,
        native.check_step,
        native.within_constraint,
    )
    add_kernels(functions)
    return Compiled(spec, native, _kernels(native, str(native.module), quick=quick), premises)


def _kernels(native: NativeSpec, text: str, *, quick: bool) -> Kernels:
    """Return the kernels in a module's text; quick ones know how to make better ones."""
    code = MachineCode(text, quick=quick)
    better = functools.partial(_kernels, native, text, quick=False) if quick else None
    return Kernels(native.layout.words, native.instances, code.address_of, code, better)


def require_sizes(spec: Spec, program: nodes.Program, properties: list[str]) -> None:
    """Raise SpecError where a spec has more action instances or properties than there are numbers for."""
    if program.instances > MOST_INSTANCES:
        raise SpecError(
            f"{spec.name} has {program.instances} action instances, over {MOST_INSTANCES}: "
            "bind a parameter with require(parameter in self.collection)"
        )
    if len(properties) > MOST_PROPERTIES:
        raise SpecError(f"{len(properties)} properties at once, over {MOST_PROPERTIES}: choose some with --property")


def explore(spec: Spec, plan: Plan) -> Result:
    """Explore a spec breadth-first and return what was found, as `checker.check.interpreted.explore` does.

    The run ends with the round (a part of a level) in which what it was asked for was found. Raises SpecError where the
    spec is outside the language.
    """
    started = time.perf_counter()
    compiled = compile_native(spec, _named(plan), evidence=plan.evidence, quick=plan.quick)
    compile_seconds = time.perf_counter() - started
    try:
        initial = initial_states(spec)
    except BoundsError:
        return failed_init("native", spec, plan, compile_seconds)
    return _explore(compiled, plan, initial, compile_seconds)


def explore_from(spec: Spec, plan: Plan, starts: Iterable[list[State]]) -> Iterator[Result]:
    """Yield what `explore` would return if each of some lists of states in turn were the spec's initial states.

    The spec is compiled once, which takes longer than most explorations; it counts for the first one.
    """
    started = time.perf_counter()
    compiled = compile_native(spec, _named(plan), evidence=plan.evidence, quick=plan.quick)
    compile_seconds = time.perf_counter() - started
    for initial in starts:
        yield _explore(compiled, plan, initial, compile_seconds)
        compile_seconds = 0.0


def _named(plan: Plan) -> list[str]:
    return [name for name in plan.properties if name != DEADLOCK]


def _explore(compiled: Compiled, plan: Plan, initial: list[State], compile_seconds: float) -> Result:
    spec, names = compiled.spec, _named(plan)
    found = _search(compiled, plan, names, initial)
    result = Report("native", spec, compiled.state_of, plan, names, found).result(compile_seconds)
    if plan.evidence and result.ended == "complete":
        from checker.native.evidence import findings

        result.findings = findings(compiled, names, found, result)
    return result


def initial_states(spec: Spec) -> list[State]:
    """Return the initial states; raise BoundsError as `init` does, and SpecError where there are none."""
    initial = spec.initial_states()
    if not initial:
        raise SpecError(f"{spec.name} has no initial state: `init` is disabled for every choice of its parameters")
    return initial


def property_mask(spec: Spec, names: list[str], *roles: Role) -> int:
    """Return the bits of the properties that have one of some roles; bit i is that of names[i]."""
    return sum(1 << bit for bit, name in enumerate(names) if spec.roles[name] in roles)


def premise_masks(premises: list[Premise], first_bit: int) -> tuple[int, int]:
    """Return the bits of premises, and of those among them that are of steps, from `first_bit` on."""
    bits = {premise: 1 << (first_bit + number) for number, premise in enumerate(premises)}
    of_steps = sum(bit for premise, bit in bits.items() if premise.predicate.role == "step premise")
    return sum(bits.values()), of_steps


def _search(compiled: Compiled, plan: Plan, names: list[str], initial: list[State]) -> explored.Exploration:
    spec = compiled.spec
    awaited = plan.stop if isinstance(plan.stop, frozenset) else frozenset()
    premise_mask, step_premise_mask = premise_masks(compiled.premises, first_bit=len(names))
    return search(
        compiled.kernels,
        np.array([compiled.words_of(state) for state in initial], dtype=np.uint64),
        workers=plan.workers,
        invariant_mask=property_mask(spec, names, Role.INVARIANT),
        step_mask=property_mask(spec, names, Role.STEP_INVARIANT) | step_premise_mask,
        reachable_mask=property_mask(spec, names, Role.REACHABLE) | premise_mask,
        stop_after=sum(1 << bit for bit, name in enumerate(names) if name in awaited),
        stop_on_any=plan.stop == "first",
        stop_on_deadlock=plan.deadlock and plan.stop == "first",
        await_deadlock=plan.deadlock and DEADLOCK in awaited,
        max_states=plan.max_states,
        max_depth=plan.max_depth,
        on_progress=None if plan.on_progress is None else lambda progress: _pass_on(plan, progress),
        cancelled=plan.cancelled,
    )


def _pass_on(plan: Plan, progress: explored.Progress) -> None:
    assert plan.on_progress is not None
    counts = (progress.level, progress.distinct, progress.generated, progress.queue)
    plan.on_progress(Progress(*counts, progress.seconds, progress.memory_bytes))


def failed_init(engine: str, spec: Spec, plan: Plan, compile_seconds: float) -> Result:
    """Return the result of a run whose `init` leaves a type's bounds."""
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


class Report:
    """Turns an exploration's numbers into a result, with the interpreter's words for what failed.

    `state_of` unpacks the words of a state; bit i of the exploration is the property names[i].
    """

    def __init__(
        self,
        engine: str,
        spec: Spec,
        state_of: Callable[[Any], State],
        plan: Plan,
        names: list[str],
        found: explored.Exploration,
    ):
        self.engine, self.spec, self.state_of = engine, spec, state_of
        self.plan, self.names, self.found = plan, names, found

    def result(self, compile_seconds: float) -> Result:
        """Return the result."""
        found = self.found
        reachables = [name for name in self.names if self.spec.roles[name] is Role.REACHABLE]
        reached = {
            self.names[bit]: len(found.path(where.state))
            for bit, where in found.reached.items()
            if bit < len(self.names)
        }
        unreached = tuple(name for name in reachables if name not in reached)
        return Result(
            engine=self.engine,
            workers=self.plan.workers,
            distinct_states=found.distinct,
            generated_states=int(found.generated_per_instance.sum()),
            levels=tuple(found.levels),
            seconds=found.seconds,
            ended=self._end(),
            compile_seconds=compile_seconds,
            memory_bytes=peak_memory(),
            violations=[*self._violations(), *self._never_reached(unreached)],
            coverage=self._coverage(),
            reached=reached,
            unreached=unreached,
        )

    def _end(self) -> End:
        outcome = self.found.outcome
        return "violation" if outcome in ("stopped", "error") else outcome  # type: ignore[return-value]

    def _trace(self, path: list[tuple[int | None, Any]]) -> tuple[TraceStep, ...]:
        """Return a path of packed states as a trace, with the action and arguments of each step."""
        steps: list[TraceStep] = []
        for instance, words in path:
            state = self.state_of(words)
            if instance is None:
                steps.append(TraceStep(None, (), state))
                continue
            action, arguments = self.spec.arguments_of(instance, steps[-1].state)
            steps.append(TraceStep(action, arguments, state))
        return tuple(steps)

    def _violations(self) -> list[Violation]:
        found = self.found
        result = []
        for bit, where in sorted(found.violations.items()):
            trace = self._trace(found.path_to(where))
            result.append(violations.false_property(self.spec, self.names[bit], trace))
        if found.error is not None:
            trace = self._trace(found.path(found.error.state))
            action, arguments = self.spec.arguments_of(found.error.instance, trace[-1].state)
            result.append(violations.bounds_in_action(self.spec, action, arguments, trace))
        if found.property_error is not None:
            result.append(self._failed_property(self._trace(found.path_to(found.property_error))))
        if self.plan.deadlock and found.deadlock is not None:
            result.append(violations.deadlock(self._trace(found.path(found.deadlock))))
        return result

    def _failed_property(self, trace: tuple[TraceStep, ...]) -> Violation:
        for name in [*self.names, *self.spec.names_of(Role.CONSTRAINT)]:
            is_step = self.spec.roles[name] is Role.STEP_INVARIANT
            if is_step and len(trace) < 2:
                continue
            try:
                self.spec.holds(name, trace[-1].state, trace[-2].state if is_step else None)
            except BoundsError:
                return violations.bounds_in_property(self.spec, name, trace)
        raise AssertionError("the engines disagree: a property left its bounds in one, and not in the interpreter")

    def _never_reached(self, unreached: tuple[str, ...]) -> list[Violation]:
        if self.found.outcome != "complete":
            return []
        return [violations.never_reached(name, self.found.distinct) for name in unreached]

    def _coverage(self) -> dict[str, Coverage]:
        generated, distinct = self.found.generated_per_instance, self.found.distinct_per_instance
        coverage = {}
        for shape in self.spec.shapes():
            span = slice(shape.first_instance, shape.first_instance + shape.instances)
            coverage[shape.name] = Coverage(int(generated[span].sum()), int(distinct[span].sum()))
        return coverage
