"""Lowering of a typed program to LLVM functions on packed states.

- `expand_state` calls `emit` for each successor of a state, and `fail` for each evaluation that leaves its bounds.
- `check_state` and `check_step` evaluate properties. `within_constraint` evaluates the constraints.

`emit` and `fail` are declared only: each kernel (`explore`, `walk`, `batch`) defines them for its own purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from llvmlite import ir

from checker.engines.native.lowering.analysis import reassigned_locals
from checker.engines.native.lowering.arrays import ArrayEmitter, is_bit_set
from checker.engines.native.lowering.branches import Branches
from checker.engines.native.lowering.emitter import (
    I1,
    I32,
    I64,
    WORD_POINTER,
    Emitter,
    MemoryPlace,
    Number,
    PackedValue,
    Value,
)
from checker.engines.native.lowering.evaluation import EvaluationContext, NativeFrame
from checker.engines.native.lowering.outlining import Outliner
from checker.engines.native.lowering.state_layout import StateLayout, bit_items, packed_number, state_layout
from checker.engines.native.lowering.statements import StatementLowering
from checker.ir import nodes
from checker.language.types import SetType

SINK = ir.IntType(8).as_pointer()
"""The type of the pointer that `expand_state` passes to `emit` and `fail`: a struct that only the kernel knows."""

FAILED_BIT = 63
"""The bit that `check_state` and `check_step` set if a property left a type's bounds."""

PREMISE_ROLES = ("premise", "step premise")
STEP_ROLES = ("step invariant", "step premise")

MOST_UNROLLED_NODES = 300
"""The code of an action is emitted once per instance, with known parameters, up to this many nodes times instances."""


@dataclass
class NativeSpec:
    """The LLVM functions of a spec, in one module.

    - `properties`: bit i of every mask is properties[i].
    - `sites`: the argument `site` of `fail` is a position in this list.
    - `branches`: the branches that led to a successor, which `emit` may read; None if they are not recorded.
    """

    module: ir.Module
    layout: StateLayout
    properties: list[nodes.Predicate]
    instances: int
    emit: ir.Function
    fail: ir.Function
    expand_state: ir.Function
    check_state: ir.Function
    check_step: ir.Function | None
    within_constraint: ir.Function | None
    sites: list[nodes.Site] = field(default_factory=list)
    branches: Branches | None = None


def lower(program: nodes.Program, *, branches: bool = False) -> NativeSpec:
    """Return the LLVM functions of a program; raise SpecError if its state cannot be packed.

    `branches`: record the branches that actions take.
    """
    return _Assembly(program, branches).native


class _Assembly:
    """Builds the functions of one program."""

    def __init__(self, program: nodes.Program, branches: bool):
        self.program = program
        self.layout = state_layout(program.variables)
        self.sites: list[nodes.Site] = []
        self._numbers: dict[nodes.Site, int] = {}
        module = self.module = ir.Module(name=program.name)
        self.branches = Branches(module, program) if branches else None
        void = ir.VoidType()
        self.emit_function = ir.Function(module, ir.FunctionType(void, [SINK, WORD_POINTER, I32]), "emit")
        self.fail_function = ir.Function(module, ir.FunctionType(void, [SINK, I32, I32]), "fail")
        self.outliner = Outliner(program, module, self._number, self.lowering)
        steps = [p for p in program.properties if p.role in STEP_ROLES]
        of_states = [p for p in program.properties if p.role not in STEP_ROLES]
        self.native = NativeSpec(
            module,
            self.layout,
            program.properties,
            program.instances,
            self.emit_function,
            self.fail_function,
            self._expand(),
            self._check("check_state", of_states),
            self._check("check_step", steps) if steps else None,
            self._within_constraint() if program.constraints else None,
            self.sites,
            self.branches,
        )

    def _function(self, name: str, result: ir.Type, arguments: list[ir.Type]) -> tuple[ir.Function, Emitter]:
        function = ir.Function(self.module, ir.FunctionType(result, arguments), name)
        function.linkage = "internal"
        return function, Emitter(function)

    def lowering(
        self,
        emit: Emitter,
        roots: dict[str, ir.Value],
        fail: Callable[[nodes.Site], None],
        disabled: ir.Block | None,
    ) -> StatementLowering:
        """Return the lowering of one evaluation in the function that `emit` builds."""
        context = EvaluationContext(
            emit, self.layout, roots, fail, disabled, outliner=self.outliner, branches=self.branches
        )
        return StatementLowering(context)

    def _number(self, site: nodes.Site) -> int:
        if site not in self._numbers:
            self._numbers[site] = len(self.sites)
            self.sites.append(site)
        return self._numbers[site]

    # Successors.

    def _expand(self) -> ir.Function:
        function, emit = self._function("expand_state", ir.VoidType(), [WORD_POINTER, SINK])
        words = [emit.builder.load(emit.word_pointer(function.args[0], word)) for word in range(self.layout.words)]
        for action in self.program.actions:
            _Action(self, emit, action, words, function.args[1]).lower()
        emit.builder.ret_void()
        emit.finish()
        return function

    # Properties.

    def _check(self, name: str, properties: list[nodes.Predicate]) -> ir.Function:
        """Define `check_state` or `check_step`, which checks the properties whose bits are in its mask."""
        states = 2 if name == "check_step" else 1
        function, emit = self._function(name, I64, [WORD_POINTER] * states + [I64])
        mask = function.args[states]
        roots = {"self": function.args[states - 1], "old": function.args[0]}
        result = emit.slot()
        emit.builder.store(ir.Constant(I64, 0), result)

        def report(bit: int, block: ir.Block, then: ir.Block) -> None:
            emit.position(block)
            emit.builder.store(emit.value(emit.bit_or(emit.builder.load(result), bit)), result)
            emit.jump(then)

        for predicate in properties:
            bit = 1 << self.program.properties.index(predicate)
            wanted, found, failed, skip = (emit.block(name) for name in (predicate.name, "found", "failed", "skip"))
            emit.branch(emit.compare("!=", emit.bit_and(mask, bit), 0), wanted, skip)
            emit.position(wanted)
            # An invariant is reported if it is false, a reachable or a premise if it is true. An evaluation that leaves
            # its bounds in a premise does so in the premise's property too, and is reported there.
            is_premise = predicate.role in PREMISE_ROLES
            targets = (found, skip) if is_premise or predicate.role == "reachable" else (skip, found)
            self._predicate(emit, predicate, roots, failed, *targets)
            report(bit, found, skip)
            report(0 if is_premise else 1 << FAILED_BIT, failed, skip)
            emit.position(skip)
        if states == 1 and self.program.constraints:
            failed, end = emit.block("failed"), emit.block("checked")
            self._constraints_in_bounds(emit, roots, failed)
            emit.jump(end)
            report(1 << FAILED_BIT, failed, end)
            emit.position(end)
        emit.builder.ret(emit.builder.load(result))
        emit.finish()
        return function

    def _constraints_in_bounds(self, emit: Emitter, roots: dict[str, ir.Value], failed: ir.Block) -> None:
        """Emit a jump to `failed` if a constraint leaves its bounds. LLVM removes a constraint that never does."""
        for predicate in self.program.constraints:
            either = emit.block("either")
            self._predicate(emit, predicate, roots, failed, either, either)
            emit.position(either)

    def _predicate(
        self,
        emit: Emitter,
        predicate: nodes.Predicate,
        roots: dict[str, ir.Value],
        failed: ir.Block,
        then: ir.Block,
        otherwise: ir.Block,
    ) -> None:
        """Emit a predicate as a three-way branch: it is true, it is false, or its evaluation left its bounds."""
        lowering = self.lowering(emit, roots, lambda site: emit.jump(failed), None)
        context, expressions = lowering.context, lowering.expressions
        context.fail_with = lambda number: emit.jump(failed)
        assert predicate.function.result is not None
        call = nodes.HelperCall(predicate.function.result, nodes.Site("", 0, ""), predicate.function, ())
        if call.type == nodes.BOOL:
            expressions.branch_on(call, then, otherwise)
        else:
            value = context.convert(expressions.evaluate(call), nodes.BOOL)
            assert isinstance(value, PackedValue)
            emit.branch(value.number, then, otherwise)

    def _within_constraint(self) -> ir.Function:
        """Define `within_constraint`; it returns false for a constraint that leaves its bounds."""
        function, emit = self._function("within_constraint", I1, [WORD_POINTER])
        outside = emit.block("outside")
        for predicate in self.program.constraints:
            holds = emit.block("holds")
            self._predicate(emit, predicate, {"self": function.args[0]}, outside, holds, outside)
            emit.position(holds)
        emit.builder.ret(ir.Constant(I1, 1))
        emit.position(outside)
        emit.builder.ret(ir.Constant(I1, 0))
        emit.finish()
        return function

    def site_number(self, site: nodes.Site) -> ir.Constant:
        """Return the number of a site, as an argument of `fail`."""
        return ir.Constant(I32, self._number(site))

    def fail(self, emit: Emitter, sink: ir.Value, instance: Number, number: ir.Value, then: ir.Block) -> None:
        """Emit the report of an action instance that left a type's bounds, and the jump to the next instance."""
        emit.builder.call(self.fail_function, [sink, _narrow(emit, instance), number])
        emit.jump(then)


def _narrow(emit: Emitter, number: Number) -> ir.Value:
    return ir.Constant(I32, number) if isinstance(number, int) else emit.builder.trunc(number, I32)


class _Action:
    """Emits the code of one action inside `expand_state`.

    `work` and `out` are stack memory for the successor: statements change `work`, and `emit` gets `out`.
    """

    def __init__(self, assembly: _Assembly, emit: Emitter, action: nodes.Action, words: list[ir.Value], sink: ir.Value):
        self.assembly, self.emit, self.action, self.words, self.sink = assembly, emit, action, words, sink
        self.work = emit.slot(max(2, len(words)))
        self.out = emit.slot(max(2, len(words)))
        self.reassigned = reassigned_locals(action.body, tuple(p.local for p in action.parameters))

    def lower(self) -> None:
        """Emit the code of every instance: unrolled if that is small, else loops over the parameters."""
        is_unrolled = self.action.instances * self.assembly.outliner.sizes.of(self.action.body) <= MOST_UNROLLED_NODES
        self._parameters(0, 0, [], is_unrolled)

    def _parameters(self, index: int, instance: Number, chosen: list[Value], is_unrolled: bool) -> None:
        if index == len(self.action.parameters):
            self._instance(self.emit.add(instance, self.action.first_instance), chosen)
            return
        parameter = self.action.parameters[index]

        def choose(position: Number, value: Value) -> None:
            number = self.emit.add(self.emit.multiply(instance, parameter.choices), position)
            self._parameters(index + 1, number, [*chosen, value], is_unrolled)

        if parameter.collection is not None:
            self._choose_from(parameter.collection, choose)
        elif is_unrolled:
            for position, value in enumerate(parameter.local.type.values()):
                choose(position, self.emit.constant(parameter.local.type, value))
        elif _is_numbered(parameter):
            with self.emit.loop(0, parameter.choices) as (position, _, _):
                choose(position, self.emit.from_bits(parameter.local.type, position))
        else:
            self._choose_by_number(parameter, choose)

    def _choose_by_number(self, parameter: nodes.ActionParameter, choose: Callable[[Number, Value], None]) -> None:
        """Emit a loop over the values of a type whose bits are not consecutive; a table on the stack holds them."""
        kind = parameter.local.type
        constants = [self.emit.constant(kind, value) for value in kind.values()]
        table = self.emit.slot(max(2, len(constants)))
        for position, constant in enumerate(constants):
            assert isinstance(constant, PackedValue)
            address = self.emit.word_pointer(table, position)
            self.emit.builder.store(self.emit.value(self.emit.bits_of(constant)), address)
        with self.emit.loop(0, parameter.choices) as (position, _, _):
            bits = self.emit.builder.load(self.emit.word_pointer(table, position))
            choose(position, self.emit.from_bits(kind, bits))

    def _choose_from(self, collection: nodes.StateRead, choose: Callable[[Number, Value], None]) -> None:
        """Emit a loop over the distinct items of a set or bag of the state."""
        part = self.assembly.layout.places[collection.variable]
        source = self.emit.slot(max(2, len(self.words)))
        for word, loaded in enumerate(self.words):
            self.emit.builder.store(loaded, self.emit.word_pointer(source, word))
        place = MemoryPlace(part.layout, source, part.word, part.shift)
        collections = ArrayEmitter(self.emit)
        if is_bit_set(collection.type):
            assert isinstance(collection.type, SetType)
            bits = self.emit.load_bits(place)
            for position, (bit, value) in enumerate(bit_items(collection.type)):
                item = self.emit.constant(collection.type.item, value)
                is_in = collections.has_bit(bits, bit)
                self.emit.when(is_in, lambda at=position, item=item: choose(at, item))  # type: ignore[misc]
            return
        with self.emit.loop(0, collections.length(place)) as (position, step, _):
            item = self.emit.load(self.emit.item(place, position))
            if not isinstance(collection.type, SetType):
                self._skip_repeated(place, position, item, step)
            choose(position, item)

    def _skip_repeated(self, place: MemoryPlace, position: Number, item: Value, step: ir.Block) -> None:
        """Emit a jump to the next item of a bag if this one is equal to the one before."""
        later, new = self.emit.block("later"), self.emit.block("new")
        self.emit.branch(self.emit.compare("==", position, 0), new, later)
        self.emit.position(later)
        before = self.emit.load(self.emit.item(place, self.emit.subtract(position, 1)), copy=False)
        self.emit.branch(self.emit.equal(before, item), step, new)
        self.emit.position(new)

    def _lowering(self, instance: Number, done: ir.Block) -> StatementLowering:
        def fail_with(number: ir.Value) -> None:
            self.assembly.fail(self.emit, self.sink, instance, number, done)

        def fail(site: nodes.Site) -> None:
            fail_with(self.assembly.site_number(site))

        lowering = self.assembly.lowering(self.emit, {"self": self.work}, fail, done)
        lowering.context.fail_with = fail_with
        return lowering

    def _instance(self, instance: Number, chosen: list[Value]) -> None:
        for word, loaded in enumerate(self.words):
            self.emit.builder.store(loaded, self.emit.word_pointer(self.work, word))
        if self.assembly.branches is not None:
            self.assembly.branches.clear(self.emit.builder)
        done, step = self.emit.block("done"), self.emit.block("step")
        lowering = self._lowering(instance, done)
        lowering.context.frame = NativeFrame(reassigned=self.reassigned, end=step)
        for parameter, value in zip(self.action.parameters, chosen, strict=True):
            lowering.context.set_local(parameter.local, value)
        lowering.visit_all(self.action.body)
        self.emit.jump(step)
        self.emit.position(step)
        # A copy, because the address that `emit` gets escapes: LLVM can keep `work` in registers.
        for word in range(len(self.words)):
            result = self.emit.builder.load(self.emit.word_pointer(self.work, word))
            self.emit.builder.store(result, self.emit.word_pointer(self.out, word))
        arguments = [self.sink, self.out, _narrow(self.emit, instance)]
        self.emit.builder.call(self.assembly.emit_function, arguments)
        self.emit.jump(done)
        self.emit.position(done)


def _is_numbered(parameter: nodes.ActionParameter) -> bool:
    """Return whether the bits of the values of a parameter's type are 0, 1, 2, and so on."""
    kind = parameter.local.type
    return all(packed_number(kind, value) == position for position, value in enumerate(kind.values()))
