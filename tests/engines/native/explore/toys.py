"""Toy specs, each written twice: by hand in LLVM for the explorer, and in plain Python for the reference search."""

from collections.abc import Callable
from dataclasses import dataclass, field

import llvmlite.binding as llvm
import numpy as np

from checker.engines.native.explore.expansion import define_sink
from checker.engines.native.explore.kernel_definitions import add_kernels
from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.memory_layout import MemoryLayout
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I1, I8, I32, I64, WORD_POINTER, for_loop, word
from checker.engines.native.llvm.words import read_words, write_words

State = tuple[int, ...]
MASK = 2**64 - 1


@dataclass
class Step:
    """One action instance in plain Python: its successor, None if it is disabled, or the site of a failure (an int)."""

    instance: int
    successor: State | None = None
    site: int | None = None


@dataclass
class Toy:
    """A toy spec: `build_expand(builder, state words, emit, fail)` is `steps(state)` in LLVM, and so on."""

    words: int
    instances: int
    initial: list[State]
    steps: Callable[[State], list[Step]]
    build_expand: Callable[..., None]
    check: Callable[[State], int] = lambda state: 0
    build_check: Callable[[ir.IRBuilder, list[ir.Value]], ir.Value] = lambda builder, state: word(0)
    check_step: Callable[[State, State], int] | None = None
    build_check_step: Callable[[ir.IRBuilder, list[ir.Value], list[ir.Value]], ir.Value] | None = None
    constraint: Callable[[State], bool] | None = None
    build_constraint: Callable[[ir.IRBuilder, list[ir.Value]], ir.Value] | None = None
    invariants: int = 0
    step_invariants: int = 0
    reachables: int = 0

    def masks(self) -> dict[str, int]:
        return {"invariant_mask": self.invariants, "step_mask": self.step_invariants, "reachable_mask": self.reachables}

    def initial_array(self) -> np.ndarray:
        return np.array(self.initial, np.uint64).reshape(-1, self.words)


def compile_toy(toy: Toy) -> Kernels:
    """Compile a toy with the explorer's kernels."""
    module = ir.Module()
    add_kernels(_functions(module, toy))
    engine = _machine_code(str(module))
    return Kernels(toy.words, toy.instances, engine.get_function_address, engine)


def _functions(module: ir.Module, toy: Toy) -> SpecFunctions:
    void, sink = ir.VoidType(), I8.as_pointer()
    emit = _internal(module, "emit", void, [sink, WORD_POINTER, I32])
    fail = _internal(module, "fail", void, [sink, I32, I32])
    define_sink(emit, fail, MemoryLayout(toy.words, toy.instances))
    expand = _internal(module, "expand_state", void, [WORD_POINTER, sink])
    builder = ir.IRBuilder(expand.append_basic_block("entry"))
    scratch = builder.alloca(I64, toy.words)

    def call_emit(instance: int | ir.Value, values: list[ir.Value]) -> None:
        write_words(builder, scratch, values)
        number = ir.ConstantValue(I32, instance) if isinstance(instance, int) else builder.trunc(instance, I32)
        builder.call(emit, [expand.args[1], scratch, number])

    def call_fail(instance: int, site: int) -> None:
        builder.call(fail, [expand.args[1], ir.ConstantValue(I32, instance), ir.ConstantValue(I32, site)])

    toy.build_expand(builder, read_words(builder, expand.args[0], toy.words), call_emit, call_fail)
    builder.ret_void()
    return SpecFunctions(
        module,
        toy.words,
        toy.instances,
        expand_state=expand,
        check_state=_check_state(module, toy),
        check_step=_check_step(module, toy),
        within_constraint=_constraint(module, toy),
    )


def _check_state(module: ir.Module, toy: Toy) -> ir.IrFunction:
    function = _internal(module, "check_state", I64, [WORD_POINTER, I64])
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    found = toy.build_check(builder, read_words(builder, function.args[0], toy.words))
    builder.ret(builder.and_(found, builder.or_(function.args[1], word(1 << 63))))
    return function


def _check_step(module: ir.Module, toy: Toy) -> ir.IrFunction | None:
    if toy.build_check_step is None:
        return None
    function = _internal(module, "check_step", I64, [WORD_POINTER, WORD_POINTER, I64])
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    old, new = (read_words(builder, function.args[i], toy.words) for i in (0, 1))
    found = toy.build_check_step(builder, old, new)
    builder.ret(builder.and_(found, builder.or_(function.args[2], word(1 << 63))))
    return function


def _constraint(module: ir.Module, toy: Toy) -> ir.IrFunction | None:
    if toy.build_constraint is None:
        return None
    function = _internal(module, "within_constraint", I1, [WORD_POINTER])
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(toy.build_constraint(builder, read_words(builder, function.args[0], toy.words)))
    return function


def _internal(module: ir.Module, name: str, result: ir.IrType, arguments: list[ir.IrType]) -> ir.IrFunction:
    function = ir.IrFunction(module, ir.FunctionType(result, arguments), name)
    function.linkage = "internal"
    return function


def _machine_code(text: str) -> llvm.ExecutionEngine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def bit_where(builder: ir.IRBuilder, *conditions: tuple[int, ir.Value]) -> ir.Value:
    """Emit a word in which each bit is set if its condition holds."""
    found: ir.Value = word(0)
    for bit, condition in conditions:
        found = builder.or_(found, builder.select(condition, word(1 << bit), word(0)))
    return found


def below(limit: int, bit: int) -> dict[str, object]:
    """An invariant: word 0 is below a limit."""
    return {
        "check": lambda state: (state[0] >= limit) << bit,
        "build_check": lambda builder, state: bit_where(
            builder, (bit, builder.icmp_unsigned(">=", state[0], word(limit)))
        ),
        "invariants": 1 << bit,
    }


def no_leap(limit: int, bit: int) -> dict[str, object]:
    """A step invariant: no step goes from a state number below the limit to itself modulo 64."""

    def build(builder: ir.IRBuilder, old: list[ir.Value], new: list[ir.Value]) -> ir.Value:
        low = builder.icmp_unsigned("<", old[0], word(limit))
        same = builder.icmp_unsigned("==", builder.and_(builder.xor(old[0], new[0]), word(63)), word(0))
        return bit_where(builder, (bit, builder.and_(low, same)))

    return {
        "check_step": lambda old, new: (old[0] < limit and (old[0] ^ new[0]) & 63 == 0) << bit,
        "build_check_step": build,
        "step_invariants": 1 << bit,
    }


def even_only() -> dict[str, object]:
    """A constraint: only states with an even word 0 are expanded."""
    return {
        "constraint": lambda state: state[0] % 2 == 0,
        "build_constraint": lambda builder, state: builder.icmp_unsigned(
            "==", builder.and_(state[0], word(1)), word(0)
        ),
    }


def grid(size: int, **more: object) -> Toy:
    """Two counters in one word, each from 0 to size - 1, that can be incremented: one deadlock, at the end."""

    def steps(state: State) -> list[Step]:
        x, y = state[0] & 0xFFFFFFFF, state[0] >> 32
        return [
            *([Step(0, (state[0] + 1,))] if x < size - 1 else []),
            *([Step(1, (state[0] + (1 << 32),))] if y < size - 1 else []),
        ]

    def build(builder: ir.IRBuilder, state: list[ir.Value], emit: Callable, fail: Callable) -> None:
        coordinates = builder.and_(state[0], word(0xFFFFFFFF)), builder.lshr(state[0], word(32))
        for instance, coordinate in enumerate(coordinates):
            with builder.if_then(builder.icmp_unsigned("<", coordinate, word(size - 1))):
                emit(instance, [builder.add(state[0], word(1 << 32 * instance))])

    return Toy(1, 2, [(0,)], steps, build, **more)


def scatter(words: int, states: int, instances: int = 4, **more: object) -> Toy:
    """A pseudo-random graph: word 0 is the state's number, from which the other words follow."""

    def numbered(number: int) -> State:
        return (number, *((number * (2 * i + 3)) & MASK for i in range(1, words)))

    def steps(state: State) -> list[Step]:
        found = []
        for instance in range(instances):
            mixed = ((state[0] + 1) * (0x9E3779B97F4A7C15 + 2 * instance)) & MASK
            mixed ^= mixed >> 29
            mixed = (mixed * 0xBF58476D1CE4E5B9) & MASK
            found.append(Step(instance, numbered((mixed >> 32) % states)))
        return found

    def build(builder: ir.IRBuilder, state: list[ir.Value], emit: Callable, fail: Callable) -> None:
        for instance in range(instances):
            mixed = builder.mul(builder.add(state[0], word(1)), word(0x9E3779B97F4A7C15 + 2 * instance))
            mixed = builder.xor(mixed, builder.lshr(mixed, word(29)))
            mixed = builder.mul(mixed, word(0xBF58476D1CE4E5B9))
            number = builder.urem(builder.lshr(mixed, word(32)), word(states))
            emit(instance, [number, *(builder.mul(number, word(2 * i + 3)) for i in range(1, words))])

    return Toy(words, instances, [numbered(0)], steps, build, **more)


def fan(states: int, instances: int) -> Toy:
    """A graph with many successors per state, emitted by a loop: instance i of state s leads to 7 * s + i."""

    def steps(state: State) -> list[Step]:
        return [Step(i, ((7 * state[0] + i) % states,)) for i in range(instances)]

    def build(builder: ir.IRBuilder, state: list[ir.Value], emit: Callable, fail: Callable) -> None:
        with for_loop(builder, word(0), word(instances)) as instance:
            number = builder.add(builder.mul(state[0], word(7)), instance)
            emit(instance, [builder.urem(number, word(states))])

    return Toy(1, instances, [(0,)], steps, build)


def failing_grid(size: int, failing_at: int) -> Toy:
    """A grid whose second action fails with site 7 instead, where the first counter is at `failing_at`."""
    plain = grid(size)

    def steps(state: State) -> list[Step]:
        at = state[0] & 0xFFFFFFFF == failing_at
        return [Step(1, site=7) if step.instance == 1 and at else step for step in plain.steps(state)]

    def build(builder: ir.IRBuilder, state: list[ir.Value], emit: Callable, fail: Callable) -> None:
        x, y = builder.and_(state[0], word(0xFFFFFFFF)), builder.lshr(state[0], word(32))
        with builder.if_then(builder.icmp_unsigned("<", x, word(size - 1))):
            emit(0, [builder.add(state[0], word(1))])
        with builder.if_then(builder.icmp_unsigned("<", y, word(size - 1))):
            at = builder.icmp_unsigned("==", x, word(failing_at))
            with builder.if_else(at) as (then, otherwise):
                with then:
                    fail(1, 7)
                with otherwise:
                    emit(1, [builder.add(state[0], word(1 << 32))])

    return Toy(1, 2, [(0,)], steps, build)


@dataclass
class Reference:
    """The result of a plain breadth-first search."""

    levels: list[set[State]] = field(default_factory=list)
    generated: int = 0
    per_instance: dict[int, int] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)
    failure_level: int | None = None
    deadlocks: set[State] = field(default_factory=set)

    @property
    def states(self) -> set[State]:
        return set().union(*self.levels)


def search(toy: Toy) -> Reference:
    """Explore all states of a toy; `lengths` has the length of the shortest counterexample of each property bit."""
    found = Reference(generated=len(toy.initial))
    frontier, known = set(toy.initial), set(toy.initial)
    while frontier:
        found.levels.append(frontier)
        level, following = len(found.levels), set()
        for state in frontier:
            _note(found, toy.check(state), level)
            if toy.constraint is not None and not toy.constraint(state):
                continue
            steps = toy.steps(state)
            if not steps:
                found.deadlocks.add(state)
            for step in steps:
                if step.successor is None:
                    found.failure_level = found.failure_level or level
                    continue
                found.generated += 1
                found.per_instance[step.instance] = found.per_instance.get(step.instance, 0) + 1
                if toy.check_step is not None:
                    _note(found, toy.check_step(state, step.successor), level + 1)
                following.add(step.successor)
        frontier = following - known
        known |= frontier
    return found


def _note(found: Reference, bits: int, length: int) -> None:
    for bit in range(64):
        if bits >> bit & 1:
            found.lengths.setdefault(bit, length)
