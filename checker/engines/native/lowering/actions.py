"""Lowering of actions: the code in `expand_state` that computes the successors of a state.

    for every choice of the parameters:          (a loop, or unrolled)
        evaluate the first `require`s            (a false one jumps to `done`; a failure calls `fail` and jumps)
        work = the words of the state
        run the rest of the body on `work`       (as above)
        out = work
        emit(sink, out, instance)
        done:

The number of an instance is its action's first number plus its parameters' positions as a mixed-radix number, of which
the last parameter varies fastest.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.words import read_words, write_words
from checker.engines.native.lowering.analysis import reassigned_locals
from checker.engines.native.lowering.arrays import ArrayEmitter, is_bit_set
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
from checker.engines.native.lowering.evaluation import NativeFrame
from checker.engines.native.lowering.lane_functions import Guarded
from checker.engines.native.lowering.module import SINK, SpecModule
from checker.engines.native.lowering.state_layout import bits_as_number
from checker.engines.native.lowering.statements import StatementLowering
from checker.ir import nodes
from checker.ir.parts import Node, parts_of
from checker.language.types import SetType

MOST_UNROLLED_NODES = 300
"""The code of an action is emitted once per instance, with known parameters, up to this many nodes times instances."""


class ActionLowering:
    """Emits the code of one action inside `expand_state`.

    `words` are those of the state that is expanded, which is in stack memory at `source`. `_work` and `_out` are such
    memory for the successor: statements change `_work`, and the function `emit` gets `_out`.
    """

    def __init__(
        self,
        module: SpecModule,
        emit: Emitter,
        action: nodes.Action,
        words: list[ir.Value],
        source: ir.Value,
        sink: ir.Value,
    ):
        self.module, self.emit, self.action, self.sink = module, emit, action, sink
        self.words, self.source = words, source
        self._work = emit.slot(max(2, len(words)))
        self._out = emit.slot(max(2, len(words)))
        self._reassigned = reassigned_locals(action.body, tuple(p.local for p in action.parameters))

    def lower(self) -> None:
        """Emit the code of every instance: unrolled if that is small, else loops over the parameters."""
        is_unrolled = self.action.instances * self.module.outliner.counts.size(self.action.body) <= MOST_UNROLLED_NODES
        self._parameters(0, 0, [], is_unrolled)

    def lower_candidates(self, candidates: ir.Value) -> None:
        """Emit the instances that are set in `candidates`, the bits of a word: the first instance is bit 0."""
        tables = [self._table_of(parameter) for parameter in self.action.parameters]
        rest = self.emit.slot()
        self.emit.builder.store(candidates, rest)
        head, body, end = (self.emit.block(name) for name in ("candidates", "candidate", "tried"))
        self.emit.jump(head)
        self.emit.position(head)
        bits = self.emit.builder.load(rest)
        self.emit.branch(self.emit.compare("!=", bits, 0), body, end)
        self.emit.position(body)
        others = self.emit.bit_and(bits, self.emit.subtract(bits, 1))
        self.emit.builder.store(self.emit.value(others), rest)
        position: Number = self.emit.builder.cttz(bits, ir.ConstantValue(I1, 1)) if self.action.instances > 1 else 0
        chosen = self._choices(position, tables)
        self._instance(self.emit.add(position, self.action.first_instance), chosen)
        self.emit.jump(head)
        self.emit.position(end)

    def _choices(self, position: Number, tables: list[ir.Value | None]) -> list[Value]:
        """Return the values of the parameters of an instance, given its position in the action."""
        values: list[Value] = []
        for parameter, table in zip(reversed(self.action.parameters), reversed(tables), strict=True):
            choice = position
            # The first parameter takes what is left.
            if parameter is not self.action.parameters[0]:
                choices = ir.ConstantValue(I64, parameter.choices)
                choice = self.emit.builder.urem(self.emit.value(position), choices)
                position = self.emit.builder.udiv(self.emit.value(position), choices)
            bits = choice if table is None else self.emit.builder.load(self.emit.word_pointer(table, choice))
            values.append(self.emit.from_bits(parameter.local.type, bits))
        return values[::-1]

    def _parameters(self, index: int, instance: Number, chosen: list[Value], is_unrolled: bool) -> None:
        """Emit the choice of the parameters from `index` on; `instance` is the number of the choices before it."""
        if index == len(self.action.parameters):
            self._instance(self.emit.add(instance, self.action.first_instance), chosen)
            return
        parameter = self.action.parameters[index]

        # Horner's rule for the mixed-radix number: the last parameter varies fastest.
        def choose(position: Number, value: Value) -> None:
            number = self.emit.add(self.emit.multiply(instance, parameter.choices), position)
            self._parameters(index + 1, number, [*chosen, value], is_unrolled)

        if parameter.collection is not None:
            self._choose_from_collection(parameter.collection, chosen, choose)
        elif is_unrolled:
            for number, value in enumerate(parameter.local.type.values()):
                choose(number, self.emit.constant(parameter.local.type, value))
        else:
            table = self._table_of(parameter)
            with self.emit.loop(0, parameter.choices) as (position, _, _):
                bits = position if table is None else self.emit.builder.load(self.emit.word_pointer(table, position))
                choose(position, self.emit.from_bits(parameter.local.type, bits))

    def _table_of(self, parameter: nodes.ActionParameter) -> ir.Value | None:
        """Return a table on the stack with the bits of a parameter's values; None if these are 0, 1, 2, and so on."""
        kind = parameter.local.type
        if _has_consecutive_bits(parameter):
            return None
        constants = [self.emit.constant(kind, value) for value in kind.values()]
        table = self.emit.slot(max(2, len(constants)))
        for position, constant in enumerate(constants):
            assert isinstance(constant, PackedValue)
            address = self.emit.word_pointer(table, position)
            self.emit.builder.store(self.emit.value(self.emit.bits_of(constant)), address)
        return table

    def _choose_from_collection(
        self, collection: nodes.Expr, chosen: list[Value], choose: Callable[[Number, Value], None]
    ) -> None:
        """Emit a loop over the distinct items of a set or bag; `chosen` has the values of the earlier parameters."""
        end = self.emit.block("end")

        def fail_at(site: nodes.Site) -> None:
            # Never reached: the front end refuses a collection that may fail. LLVM cannot always see that.
            number = ir.ConstantValue(I32, self.module.number_of(site))
            self.emit.builder.call(
                self.module.fail, [self.sink, _narrow(self.emit, self.action.first_instance), number]
            )
            self.emit.jump(end)

        lowering = self.module.new_lowering(self.emit, {"self": self.source}, fail_at, None)
        for parameter, value in zip(self.action.parameters, chosen, strict=False):
            lowering.context.set_local(parameter.local, value)
        if is_bit_set(collection.type):
            self._choose_from_bits(lowering, collection, choose)
        else:
            self._choose_from_array(lowering, collection, choose)
        self.emit.jump(end)
        self.emit.position(end)

    def _choose_from_array(
        self, lowering: StatementLowering, collection: nodes.Expr, choose: Callable[[Number, Value], None]
    ) -> None:
        """Emit a loop over the items of a bag, or of a set with a capacity."""
        place = self.emit.spill(lowering.expressions.view(collection))
        with self.emit.loop(0, ArrayEmitter(self.emit).length(place)) as (position, step, _):
            item = self.emit.load(self.emit.item(place, position))
            if not isinstance(collection.type, SetType):
                self._skip_repeated(place, position, item, step)
            choose(position, item)

    def _choose_from_bits(
        self, lowering: StatementLowering, collection: nodes.Expr, choose: Callable[[Number, Value], None]
    ) -> None:
        """Emit a loop over the items of a bit set, with their positions among the items."""
        position = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), position)

        def with_item(item: Value, next_item: ir.Block) -> None:
            number = self.emit.builder.load(position)
            self.emit.builder.store(self.emit.value(self.emit.add(number, 1)), position)
            choose(number, item)

        lowering.expressions.loops.over(collection, with_item)

    def _skip_repeated(self, place: MemoryPlace, position: Number, item: Value, step: ir.Block) -> None:
        """Emit a jump to the next item of a bag if this one is equal to the one before."""
        # Equal items are adjacent, because bags are sorted. The position still counts them, so instance numbers may
        # have gaps.
        later, new = self.emit.block("later"), self.emit.block("new")
        self.emit.branch(self.emit.compare("==", position, 0), new, later)
        self.emit.position(later)
        before = self.emit.load(self.emit.item(place, self.emit.subtract(position, 1)), copy=False)
        self.emit.branch(self.emit.equal(before, item), step, new)
        self.emit.position(new)

    def _lowering(self, instance: Number, done: ir.Block) -> StatementLowering:
        """Return the lowering of one instance on the expanded state.

        A failure is reported through `fail`, and then jumps to `done`.
        """

        def fail_with(number: ir.Value) -> None:
            # The other instances are still expanded: one failure does not hide their successors.
            self.emit.builder.call(self.module.fail, [self.sink, _narrow(self.emit, instance), number])
            self.emit.jump(done)

        def fail_at(site: nodes.Site) -> None:
            fail_with(ir.ConstantValue(I32, self.module.number_of(site)))

        lowering = self.module.new_lowering(self.emit, {"self": self.source}, fail_at, done)
        lowering.context.fail_with = fail_with
        return lowering

    def _instance(self, instance: Number, chosen: list[Value]) -> None:
        """Emit the body of the action for a choice of all parameters, and the call of `emit`."""
        if self.module.branches is not None:
            self.module.branches.clear(self.emit.builder)
        if self.module.labels is not None:
            self.module.labels.set(self.emit, self.action, chosen)
        done, step = self.emit.block("done"), self.emit.block("step")
        lowering = self._lowering(instance, done)
        lowering.context.frame = NativeFrame(reassigned=self._reassigned, end=step)
        for parameter, value in zip(self.action.parameters, chosen, strict=True):
            lowering.context.set_local(parameter.local, value)
        # Most instances are disabled: they make no copy of the state.
        guards = tuple(itertools.takewhile(_is_guard, self.action.body))
        lowering.visit_all(guards)
        write_words(self.emit.builder, self._work, self.words)
        lowering.context.roots["self"] = self._work
        lowering.visit_all(self.action.body[len(guards) :])
        self.emit.jump(step)
        self.emit.position(step)
        # A copy, because the address that `emit` gets escapes: LLVM can keep `_work` in registers.
        write_words(self.emit.builder, self._out, read_words(self.emit.builder, self._work, len(self.words)))
        arguments = [self.sink, self._out, _narrow(self.emit, instance)]
        self.emit.builder.call(self.module.emit, arguments)
        self.emit.jump(done)
        self.emit.position(done)


def _is_guard(statement: nodes.Stmt) -> bool:
    """Return whether a statement is a `require` without a call of a helper, which might write to the state."""
    return isinstance(statement, nodes.Require) and not _calls_helper(statement)


def _calls_helper(node: Node) -> bool:
    return isinstance(node, nodes.HelperCall) or any(map(_calls_helper, parts_of(node)))


def _has_consecutive_bits(parameter: nodes.ActionParameter) -> bool:
    """Return whether the bits of the values of a parameter's type are 0, 1, 2, and so on."""
    kind = parameter.local.type
    return all(bits_as_number(kind, value) == position for position, value in enumerate(kind.values()))


def _narrow(emit: Emitter, number: Number) -> ir.Value:
    return ir.ConstantValue(I32, number) if isinstance(number, int) else emit.builder.trunc(number, I32)


def define_expand_state(module: SpecModule, guarded: Mapping[nodes.Action, Guarded] | None = None) -> ir.IrFunction:
    """Define `void expand_state(i64* state, i8* sink)`: all actions, one after the other.

    If some actions are `guarded`, it has a third argument, `i64* masks`: the candidates of the state.
    """
    guarded = guarded or {}
    arguments = [WORD_POINTER, SINK, WORD_POINTER] if guarded else [WORD_POINTER, SINK]
    function, emit = module.new_function("expand_state", ir.VoidType(), arguments)
    state, sink = function.args[:2]
    # Loaded once, before the first action: no action sees the writes of another one.
    words = read_words(emit.builder, state, module.layout.words)
    source = emit.slot(max(2, len(words)))
    write_words(emit.builder, source, words)
    for action in module.program.actions:
        lowering = ActionLowering(module, emit, action, words, source, sink)
        place = guarded.get(action)
        if place is None:
            lowering.lower()
            continue
        mask = emit.builder.load(emit.word_pointer(function.args[2], place.word))
        bits = emit.bit_and(emit.shift_right(mask, place.shift), (1 << action.instances) - 1)
        lowering.lower_candidates(emit.value(bits))
    emit.builder.ret_void()
    emit.finish()
    return function
