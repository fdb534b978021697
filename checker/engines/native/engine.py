"""The native engine: compiles a spec to machine code and explores it.

explore(spec, plan)
    compile_native:     source -> typed program -> LLVM functions (`lowering`) + kernels (`explore`) -> machine code
    initial_states:     `init` runs in the interpreter
    explore_compiled:   breadth-first search on packed states; `ResultBuilder` rebuilds traces with the interpreter

The compiler is imported only if the cache does not have the code of a spec, and so are the parts for liveness,
symmetry and checkpoints: importing them takes longer than many explorations.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import gc
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.engines.native.cache.source_index import SourceIndex
from checker.engines.native.explore import exploration
from checker.engines.native.explore.chosen_store import compact_store_for, store_for
from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.results import (
    PathTraces,
    ResultBuilder,
    failure_of_init,
    initial_states,
)
from checker.engines.native.explore.search import breadth_first_search
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.lowering.state_layout import StateLayout, StateReader, state_layout
from checker.errors import BoundsError
from checker.explain.violations import wrong_starts
from checker.language.interpreter import State
from checker.language.liveness import check_liveness, liveness_names
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.liveness import UNDECIDED_WITH_SYMMETRY, UNDECIDED_WITH_VIEW, decide_liveness
from checker.run.memory import available_address_space, available_memory
from checker.run.plan import DEADLOCK, ExplorationProgress, Plan, properties_to_search
from checker.run.result import Result

if available_address_space() is not None:
    # There may be no room for NumPy when it is needed: the compiler and the store take what the limit (`ulimit -v`)
    # leaves.
    import numpy  # noqa: F401

if TYPE_CHECKING:
    from checker.engines.native.explore.lowered_spec import LoweredSpec
    from checker.engines.native.explore.search_checkpoints import SearchCheckpoints
    from checker.engines.native.lowering.native_spec import NativeSpec
    from checker.frontend.symmetry import ProgramSymmetry
    from checker.ir import nodes


@dataclass
class CompiledSpec:
    """A spec as machine code.

    Bit i of a mask is properties[i]; the bits of the `extra` predicates follow those of the properties. With a
    `symmetry`, one state represents all states that differ only in the names of the members of its domains.
    """

    spec: Spec
    layout: StateLayout
    kernels: Kernels
    properties: list[str]
    extra: list[nodes.Predicate] = field(default_factory=list)
    symmetry: ProgramSymmetry | None = None
    program_of: Callable[[], nodes.Program] | None = None
    """Returns the typed program with the properties; it may type the spec at the first call."""

    def words_of(self, state: State) -> list[int]:
        """Return the packed words of a state, or of its representative."""
        if self.symmetry is None:
            return self.layout.encode(state.values)
        words = (ctypes.c_uint64 * self.layout.words)(*self.layout.encode(state.values))
        self.kernels.represent(ctypes.addressof(words))
        return list(words)

    def state_of(self, words: Any) -> State:
        """Return the state that is packed in some words (k,)."""
        return self.layout.state_of(words)


Lowering = Callable[[Spec, list[str]], "LoweredSpec | None"]
"""Returns a spec that was lowered for some properties, and perhaps more; None: it is lowered by the caller."""


def compile_native(
    spec: Spec, properties: list[str], *, quick: bool = False, lowering: Lowering | None = None
) -> CompiledSpec:
    """Return a spec as machine code that checks the named properties, and perhaps more. `Plan` documents `quick`.

    `lowering`: lowers the spec in another way, such as `SharedLowering.lowered`. Raises SpecError if the spec is
    outside the language.
    """
    with garbage_collection_paused():
        return _compile(spec, SourceIndex(spec, "explore", properties), properties, quick=quick, lowering=lowering)


def _type_program(spec: Spec, properties: list[str]) -> nodes.Program:
    from checker.frontend import compile_spec

    return compile_spec(spec, properties)


def _compile(
    spec: Spec, index: SourceIndex, properties: list[str], *, quick: bool, lowering: Lowering | None = None
) -> CompiledSpec:
    """Return a spec as machine code; compile it if the index does not have the code.

    Quickly compiled code can compile optimised code for the same properties.
    """
    program_of = functools.cache(lambda: _type_program(spec, properties))

    def lowered() -> LoweredSpec:
        shared = None if lowering is None else lowering(spec, properties)
        if shared is not None:
            return shared
        from checker.engines.native.explore.lowered_spec import LoweredSpec, lower_with_kernels

        # Functions that look at several states at once save time in a long exploration, but take time to compile.
        native = lower_with_kernels(spec, program_of(), properties, with_lanes=not quick)
        return LoweredSpec.of(native, properties)

    indexed = index.code(lowered, quick=quick)
    machine_code = MachineCode(indexed.code, quick=indexed.is_quick)
    if indexed.runtime:
        from checker.engines.native.lowering.constant_block import SYMBOL, words_of

        machine_code.write_words(SYMBOL, words_of(indexed.runtime, spec.constants, spec.declared_constants))
    checked = list(indexed.properties)
    better = (lambda: _compile(spec, index, checked, quick=False).kernels) if indexed.is_quick else None
    kernels = Kernels(indexed.words, indexed.instances, machine_code.address_of, machine_code, better)
    return CompiledSpec(spec, state_layout(spec.variables), kernels, checked, program_of=program_of)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Disable the garbage collector inside the block: while compiling, this saves a sixth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def compile_program(
    spec: Spec,
    program: nodes.Program,
    properties: list[str],
    extra: Sequence[nodes.Predicate] = (),
    *,
    quick: bool = False,
    symmetry: ProgramSymmetry | None = None,
) -> CompiledSpec:
    """Return a typed program of a spec as machine code.

    The program's predicates are the named properties, followed by the `extra` ones. An extra predicate is never
    violated; an exploration records the first state or step in which it is true.
    """

    from checker.engines.native.explore.lowered_spec import lower_with_kernels

    def lowered(*, with_lanes: bool) -> NativeSpec:
        return lower_with_kernels(spec, program, properties, symmetry=symmetry, with_lanes=with_lanes)

    native = lowered(with_lanes=not quick)
    better = (lambda: _kernels(lowered(with_lanes=True))) if quick else None
    kernels = _kernels(native, better)
    return CompiledSpec(spec, native.layout, kernels, properties, list(extra), symmetry, lambda: program)


def _kernels(native: NativeSpec, better: Callable[[], Kernels] | None = None) -> Kernels:
    """Compile the kernels of a module: quickly if `better` compiles optimised ones."""
    code = MachineCode(str(native.module), quick=better is not None)
    return Kernels(native.layout.words, native.instances, code.address_of, code, better)


StatesSeen = Callable[[Result, Iterator[State]], None]
"""Gets the result of an exploration, and its states in any order."""


def explore(spec: Spec, plan: Plan, lowering: Lowering | None = None, on_states: StatesSeen | None = None) -> Result:
    """Explore a spec breadth-first and return the result, as `checker.engines.python.explorer.explore` does.

    A run that stops at a violation ends with the round (a part of a level) in which it was found. `compile_native`
    documents `lowering`; `on_states` is called before the states are freed. Raises SpecError if the spec is outside the
    language.
    """
    started = time.perf_counter()
    # A wrong liveness property or fair action is reported before the exploration.
    liveness = liveness_names(spec, plan.properties)
    check_liveness(spec, liveness)
    if liveness:
        from checker.engines.native.liveness.classes import StepClasses
        from checker.frontend.liveness_typing import type_liveness

        type_liveness(spec, liveness)
    names = properties_to_search(spec, plan.properties)
    try:
        if plan.symmetry:
            compiled = _compile_with_symmetry(spec, names, quick=plan.quick)
        else:
            compiled = compile_native(spec, names, quick=plan.quick, lowering=lowering)
        if liveness:
            StepClasses(spec, compiled.layout)
        compile_seconds = time.perf_counter() - started
        initial = initial_states(spec)
    except BoundsError:
        return failure_of_init("native", spec, plan, time.perf_counter() - started)
    result, explored = explore_compiled(compiled, plan, initial, compile_seconds)
    if on_states is not None:
        reader = StateReader(compiled.layout)
        on_states(result, (reader.state_of(list(map(int, words))) for words in explored.all_states()))
    return result


def _compile_with_symmetry(spec: Spec, properties: list[str], *, quick: bool) -> CompiledSpec:
    """Return a spec as machine code that stores one state of each orbit; raise BoundsError if `init` does."""
    from checker.frontend import compile_spec
    from checker.run.symmetry import symmetry_of_run

    with garbage_collection_paused():
        program = compile_spec(spec, properties)
        symmetry = symmetry_of_run(spec, program, initial_states(spec))
        return compile_program(spec, program, properties, quick=quick, symmetry=symmetry)


def explore_compiled(
    compiled: CompiledSpec, plan: Plan, initial: list[State], compile_seconds: float
) -> tuple[Result, exploration.Exploration]:
    """Explore a compiled spec from some initial states; return the result and the exploration on packed states.

    The plan may check some of the compiled properties only: bit i of the exploration is property i of the plan.
    Liveness is undecided if these are not the initial states of the spec, and with symmetry.
    """
    names = properties_to_search(compiled.spec, plan.properties)
    starts = wrong_starts(compiled.spec, names, initial)
    decided = {violation.property for violation in starts}
    is_over = plan.is_satisfied_by(decided) or any(violation.kind == "bounds_error" for violation in starts)
    searched = dataclasses.replace(plan, max_depth=1, checkpoint=None) if is_over else plan
    explored = _search(compiled, searched, names, initial, decided)
    builder = ResultBuilder(
        "native", compiled.spec, compiled.state_of, plan, names, explored, _traces(compiled, initial)
    )
    result = builder.result(compile_seconds)
    if compiled.symmetry is not None:
        result.symmetry = tuple(map(str, compiled.symmetry.domains))
        result.asymmetries = tuple(str(asymmetry.error) for asymmetry in compiled.symmetry.asymmetries)
    result.violations[:0] = starts
    if is_over:
        result.ended = "violation"
    liveness = liveness_names(compiled.spec, plan.properties)
    if liveness and result.ended != "violation":
        _decide_liveness(compiled, plan, liveness, result, builder, initial)
    return result, explored


def _traces(compiled: CompiledSpec, initial: list[State]) -> PathTraces:
    if compiled.symmetry is None:
        return PathTraces(compiled.spec, compiled.state_of)
    from checker.engines.native.explore.represented_traces import RepresentedTraces

    return RepresentedTraces(
        compiled.spec,
        compiled.state_of,
        lambda state: tuple(compiled.words_of(state)),
        compiled.symmetry.domains,
        initial,
    )


def _decide_liveness(
    compiled: CompiledSpec, plan: Plan, names: list[str], result: Result, builder: ResultBuilder, initial: list[State]
) -> None:
    """Decide liveness properties on the explored states, and add the outcomes to the result."""
    why = ""
    if compiled.symmetry is not None:
        why = UNDECIDED_WITH_SYMMETRY
    elif compiled.spec.names_of(Role.VIEW):
        why = UNDECIDED_WITH_VIEW
    elif initial != compiled.spec.initial_states():
        why = "liveness is decided only from the initial states of the spec"
    if why:
        result.undecided.update(dict.fromkeys(names, why))
        return
    from checker.engines.native.liveness.decision import NativeLiveness
    from checker.frontend.liveness_typing import type_liveness

    decider = NativeLiveness(
        compiled.spec,
        type_liveness(compiled.spec, names),
        compiled.layout,
        builder.found,
        builder.trace_of,
        compiled.program_of,
        workers=plan.workers,
        quick=plan.quick,
        cancelled=plan.cancelled,
    )
    result.compile_seconds += decider.compile_seconds
    spec = compiled.spec
    decide_liveness(names, plan, result, lambda name: decider.decide(spec, name), states_outside=decider.states_outside)


def extra_masks(extra: Sequence[nodes.Predicate], first_bit: int) -> tuple[int, int]:
    """Return the bits of extra predicates, from `first_bit` on, and the bits of those among them that are of steps."""
    bits = [1 << (first_bit + number) for number in range(len(extra))]
    of_steps = sum(bit for bit, predicate in zip(bits, extra, strict=True) if predicate.role == "step premise")
    return sum(bits), of_steps


def _search(
    compiled: CompiledSpec, plan: Plan, names: list[str], initial: list[State], decided: Collection[str]
) -> exploration.Exploration:
    """Run the search that a plan describes; some properties are `decided` by the initial states."""
    spec = compiled.spec
    awaited = plan.stop if isinstance(plan.stop, frozenset) else frozenset()
    if liveness_names(spec, list(awaited)):
        # Liveness is decided after the exploration, which must be complete.
        awaited = frozenset()
    bits = [compiled.properties.index(name) for name in names]
    extra_mask, extra_step_mask = extra_masks(compiled.extra, first_bit=len(compiled.properties))

    def mask(*roles: Role, but: Collection[str] = ()) -> int:
        pairs = zip(bits, names, strict=True)
        return sum(1 << bit for bit, name in pairs if spec.roles[name] in roles and name not in but)

    packed = [compiled.words_of(state) for state in initial]
    with _checkpoints(compiled, plan, packed) as checkpoints:
        explored = breadth_first_search(
            compiled.kernels,
            packed,
            workers=plan.workers,
            invariant_mask=mask(Role.INVARIANT),
            step_mask=mask(*STEP_ROLES, but=decided) | extra_step_mask,
            reachable_mask=mask(Role.REACHABLE) | extra_mask,
            stop_after=sum(
                1 << bit for bit, name in zip(bits, names, strict=True) if name in awaited and name not in decided
            ),
            stop_on_any=plan.stop == "first",
            stop_on_deadlock=plan.deadlock and plan.stop == "first",
            await_deadlock=plan.deadlock and DEADLOCK in awaited,
            max_states=plan.max_states,
            max_depth=plan.max_depth,
            max_memory=plan.max_memory,
            on_progress=None if plan.on_progress is None else lambda progress: _report_progress(plan, progress),
            cancelled=plan.cancelled,
            checkpoints=checkpoints,
            store_of=store_for(compiled.spec, compiled.layout, plan),
            compact_store_of=compact_store_for(compiled.spec, compiled.layout, plan),
        )
    if names == compiled.properties:
        return explored
    assert not compiled.extra, "the bits of extra predicates follow those of all properties"
    return dataclasses.replace(
        explored,
        violations={bits.index(bit): where for bit, where in explored.violations.items()},
        reached={bits.index(bit): where for bit, where in explored.reached.items()},
    )


@contextmanager
def _checkpoints(
    compiled: CompiledSpec, plan: Plan, initial: Sequence[Sequence[int]]
) -> Iterator[SearchCheckpoints | None]:
    """Yield the checkpoints of a search from packed initial states (n, words); None if the plan has none."""
    if plan.checkpoint is None:
        yield None
        return
    from checker.engines.native.cache.checkpoint_identity import identity_of
    from checker.engines.native.explore.checkpoint import opened_folder
    from checker.engines.native.explore.search_checkpoints import SearchCheckpoints
    from checker.frontend import compile_spec

    identity = identity_of(
        compiled.spec,
        plan,
        program=compile_spec(compiled.spec, compiled.properties),
        premises=len(compiled.extra),
        symmetry=""
        if compiled.symmetry is None
        else f"symmetry of {' and '.join(map(str, compiled.symmetry.domains))}",
        initial=initial,
    )
    chosen = plan.checkpoint
    # Deciding liveness may take as long as the exploration, so a complete exploration is kept.
    keeps_complete = bool(liveness_names(compiled.spec, plan.properties))
    with (
        opened_folder(chosen.folder, identity, must_exist=chosen.must_resume) as folder,
        SearchCheckpoints(folder, chosen.every, chosen.on_notice, keeps_complete=keeps_complete) as checkpoints,
    ):
        yield checkpoints


def _report_progress(plan: Plan, progress: exploration.SearchProgress) -> None:
    assert plan.on_progress is not None
    free = available_memory() if plan.max_memory is None else plan.max_memory - progress.memory_bytes
    plan.on_progress(
        ExplorationProgress(
            progress.level,
            progress.distinct,
            progress.generated,
            progress.queue,
            progress.seconds,
            progress.memory_bytes,
            progress.to_come,
            (progress.to_come or 0) * progress.memory_bytes // max(1, progress.distinct),
            max(0, free or 0),
            progress.is_movable,
            progress.activity,
        )
    )
