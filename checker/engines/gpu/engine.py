"""The engine on a graphics card: explores a spec with the functions that the native engine lowers.

explore(spec, plan)
    compile_for_card:   source -> typed program -> LLVM functions (`lowering`) + kernels -> PTX -> the driver
    search_on_card:     counts all states, and finds in which level a property is first violated or reached
    native engine:      if something is violated, explores again up to that level, and shows the counterexample

The order in which threads find states is not the same in two runs. So the card only counts, and a counterexample is
that of the native engine: the same in every run, and on every card. If that engine does not find it, one of the two
has a mistake, and there is no verdict.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from checker.engines.gpu.card_states import CardStates
from checker.engines.gpu.driver import Card
from checker.engines.gpu.kernels import ThreadsOf, add_kernels, define_sink, device_threads
from checker.engines.gpu.memory import REGIONS
from checker.engines.gpu.ptx import KERNELS, ptx_of, target_of
from checker.engines.gpu.search import CardSearch, Device, Limits, Shape, search_on_card
from checker.engines.native import engine as native
from checker.engines.native.explore.lowered_spec import require_sizes
from checker.engines.native.explore.results import (
    evaluated_properties,
    failure_of_init,
    initial_states,
    property_mask,
)
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.explore.workers import defer_interrupts
from checker.engines.native.lowering.native_spec import lower
from checker.engines.native.lowering.state_layout import StateLayout, state_layout
from checker.errors import BoundsError, InputError, InternalError
from checker.explain.violations import never_reached, wrong_starts
from checker.frontend import compile_spec
from checker.language.liveness import liveness_names
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.endings import StoppedError
from checker.run.memory import peak_memory
from checker.run.plan import DEADLOCK, Plan, properties_to_search
from checker.run.result import Coverage, Result, Violation
from checker.run.symmetry import symmetry_of_run

if TYPE_CHECKING:
    from checker.frontend.symmetry import ProgramSymmetry
    from checker.language.interpreter import State


@dataclass(frozen=True)
class CardSpec:
    """A spec with its kernels as the text of an LLVM module. `symmetry`: None if states are stored as they are."""

    text: str
    layout: StateLayout
    shape: Shape
    symmetry: ProgramSymmetry | None = None


def lower_for_card(
    spec: Spec,
    properties: list[str],
    symmetric_in: Sequence[State] | None = None,
    *,
    threads_of: ThreadsOf = device_threads,
    regions: int = REGIONS,
    linkage: str = "ptx_kernel",
) -> CardSpec:
    """Return a spec with the kernels that check the named properties; raise SpecError if it is outside the language.

    `symmetric_in`: the initial states, if one state is stored for each orbit. A test that plays the card has its own
    `threads_of` and `regions`, and kernels without the `linkage` of the card's.
    """
    program = compile_spec(spec, properties)
    require_sizes(program, properties)
    if program.view is not None and not program.view.is_checked:
        raise InputError(
            f"the states that the unchecked view {program.view.name} keeps depend on the order of threads: "
            "use --engine native"
        )
    symmetry = None if symmetric_in is None else symmetry_of_run(spec, program, symmetric_in)
    lowered = lower(
        program,
        with_view=True,
        unordered_folds=() if symmetry is None else symmetry.unordered_folds,
        define_sink=functools.partial(define_sink, words=state_layout(program.variables).words),
    )
    representative = None
    if symmetry is not None:
        from checker.engines.native.lowering.permuted_states import define_representative

        representative = define_representative(lowered.module, lowered.layout, symmetry.domains)
    functions = SpecFunctions(
        lowered.module,
        lowered.layout.words,
        lowered.instances,
        lowered.expand_state,
        lowered.check_state,
        lowered.check_step,
        lowered.within_constraint,
        representative,
        lowered.view,
    )
    stored = CardStates.of_layout(lowered.layout)
    add_kernels(functions, stored, threads_of, regions, linkage)
    has_steps = lowered.check_step is not None or representative is not None
    shape = Shape(lowered.layout.words, stored.units, lowered.instances, regions, has_steps)
    return CardSpec(str(lowered.module), lowered.layout, shape, symmetry)


LoadKernels = Callable[[CardSpec], Device]
"""Returns the device that has the kernels of a spec."""


def explore(spec: Spec, plan: Plan) -> Result:
    """Explore a spec on the first card of this machine, and return the result as the native engine does.

    Raises InputError, a sentence, if there is no such card, or if the run needs what this engine does not have.
    """
    with closing(Card()) as card:

        def load(compiled: CardSpec) -> Device:
            kernels = [name for name in KERNELS if name != "steps" or compiled.shape.has_steps]
            card.load(ptx_of(compiled.text, target_of(card.capability)), kernels)
            return card

        return explore_on(spec, plan, lower_for_card, load)


def explore_on(spec: Spec, plan: Plan, lowering: Callable[..., CardSpec], load: LoadKernels) -> Result:
    """Explore a spec on the device that `load` returns for what `lowering` returns (as `lower_for_card`)."""
    started = time.perf_counter()
    liveness = liveness_names(spec, plan.properties)
    if liveness:
        raise InputError(
            f"--engine gpu decides no liveness property ({', '.join(liveness)}): "
            "choose others with --property, or use --engine native"
        )
    names = properties_to_search(spec, plan.properties)
    try:
        initial = initial_states(spec)
    except BoundsError:
        return failure_of_init("gpu", spec, plan, time.perf_counter() - started)
    if wrong_starts(spec, names, initial):
        # The states after a violated start are not explored.
        return _native_result(spec, plan)
    with native.garbage_collection_paused():
        compiled = lowering(spec, names, initial if plan.symmetry else None)
        device = load(compiled)
    compile_seconds = time.perf_counter() - started
    packed = np.array([compiled.layout.encode(state.values) for state in initial], np.uint64)
    with defer_interrupts() as interrupted:
        exploration = search_on_card(
            device, compiled.shape, packed, _limits(spec, plan, names), [interrupted, plan.cancelled], plan.on_progress
        )
    if exploration.outcome == "stopped":
        return _native_result_of_stop(spec, plan)
    return _result(spec, plan, names, compiled, exploration, compile_seconds)


def _limits(spec: Spec, plan: Plan, names: list[str]) -> Limits:
    awaited = plan.stop if isinstance(plan.stop, frozenset) else frozenset()
    step_mask = property_mask(spec, names, *STEP_ROLES)
    return Limits(
        state_mask=property_mask(spec, names, Role.INVARIANT, Role.REACHABLE),
        step_mask=step_mask,
        stop_mask=property_mask(spec, names, Role.INVARIANT) | step_mask if plan.stop == "first" else 0,
        stop_on_deadlock=plan.deadlock and plan.stop == "first",
        stop_after=sum(1 << bit for bit, name in enumerate(names) if name in awaited),
        await_deadlock=plan.deadlock and DEADLOCK in awaited,
        max_states=plan.max_states,
        max_depth=plan.max_depth,
        max_memory=plan.max_memory,
    )


def _violation_levels(spec: Spec, plan: Plan, names: list[str], exploration: CardSearch) -> dict[str, int]:
    """Return the level of each property that is violated, in the order of the native engine."""
    levels = {names[bit]: level for bit, level in sorted(exploration.seen.items())}
    violated = {name: level for name, level in levels.items() if spec.roles[name] is not Role.REACHABLE}
    if plan.deadlock and exploration.deadlock is not None:
        violated[DEADLOCK] = exploration.deadlock
    return violated


def _native_result_of_stop(spec: Spec, plan: Plan) -> Result:
    """Return the native engine's result of a run that a finding stops; limits do not stop it before."""
    result = _native_result(spec, dataclasses.replace(plan, max_states=None, max_depth=None))
    _require_finished(spec, result)
    if result.ended != "violation":
        raise _disagreement(spec, "a violation", result)
    return result


def _native_violations(spec: Spec, plan: Plan, wanted: dict[str, int]) -> list[Violation]:
    """Return the native engine's counterexamples to some properties, by the levels in which they are violated."""
    if not wanted:
        return []
    names = tuple(name for name in wanted if name != DEADLOCK)
    deadlock = DEADLOCK in wanted
    again = dataclasses.replace(
        plan, properties=names, deadlock=deadlock, stop=frozenset(wanted), max_states=None, max_depth=None
    )
    result = _native_result(spec, again)
    _require_finished(spec, result)
    shown = {violation.property: violation for violation in result.violations}
    for name, level in wanted.items():
        if name not in shown or shown[name].length != level:
            raise _disagreement(spec, f"that {name} is violated in level {level}", result)
    return [shown[name] for name in wanted]


def _native_result(spec: Spec, plan: Plan) -> Result:
    """Return the result of the native engine."""
    return dataclasses.replace(native.explore(spec, plan), engine="gpu")


def _require_finished(spec: Spec, result: Result) -> None:
    """Raise StoppedError if the native engine ended before it found what the card found."""
    if result.ended in ("max_memory", "max_disk", "interrupted"):
        raise StoppedError(
            f"{spec.name} is violated, but the native engine, which shows the counterexample, ended before "
            f"({result.ended}) after {result.distinct_states:,} states"
        )


def _disagreement(spec: Spec, what: str, result: Result) -> InternalError:
    return InternalError(
        f"the engines disagree on {spec.name} {spec.constants}: the card finds {what}, and the native engine does not "
        f"(it ended with {result.ended} after {result.distinct_states:,} states)"
    )


def _result(
    spec: Spec, plan: Plan, names: list[str], compiled: CardSpec, exploration: CardSearch, compile_seconds: float
) -> Result:
    reachables = [name for name in names if spec.roles[name] is Role.REACHABLE]
    reached = {names[bit]: level for bit, level in exploration.seen.items() if names[bit] in reachables}
    unreached = tuple(name for name in reachables if name not in reached)
    violations = _native_violations(spec, plan, _violation_levels(spec, plan, names, exploration))
    if exploration.outcome == "complete":
        with_symmetry = compiled.symmetry is not None
        violations += [never_reached(name, exploration.distinct, with_symmetry=with_symmetry) for name in unreached]
    coverage = {}
    for shape in spec.shapes():
        span = slice(shape.first_instance, shape.first_instance + shape.instances)
        coverage[shape.name] = Coverage(sum(exploration.generated[span]), None)
    result = Result(
        engine="gpu",
        workers=plan.workers,
        distinct_states=exploration.distinct,
        generated_states=sum(exploration.generated),
        levels=tuple(exploration.levels),
        seconds=exploration.seconds,
        ended="violation" if exploration.outcome == "stopped" else exploration.outcome,
        compile_seconds=compile_seconds,
        memory_bytes=peak_memory(),
        violations=violations,
        coverage=coverage,
        reached=reached,
        unreached=unreached,
        evaluated=evaluated_properties(spec, plan, names),
        levels_within=tuple(exploration.levels_within) if spec.names_of(Role.CONSTRAINT) else None,
    )
    if compiled.symmetry is not None:
        result.symmetry = tuple(map(str, compiled.symmetry.domains))
        result.asymmetries = tuple(str(asymmetry.error) for asymmetry in compiled.symmetry.asymmetries)
    return result
