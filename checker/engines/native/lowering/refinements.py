"""Lowering of refinements: the comparison of a step with the steps of an abstract spec.

    before, after = the mapped variables in `old` and in `self`, packed as states of the abstract spec
    if before == after: the step is allowed
    else: run all actions of the abstract spec in `before`; `emit` compares each successor with `after`

The abstract spec has its functions in the same LLVM module. Their names begin with `abstract.` and a number.
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.words import read_words, struct_field
from checker.engines.native.lowering.actions import define_expand_state
from checker.engines.native.lowering.emitter import I64, WORD_POINTER, Emitter, MemoryPlace, Truth
from checker.engines.native.lowering.evaluation import Evaluator
from checker.engines.native.lowering.module import SINK, SpecModule
from checker.engines.native.lowering.state_layout import StateLayout
from checker.ir import nodes

NO_STEP, STEP, FAILED = 0, 1, 2
"""The statuses of an abstract step: none, at least one, and none although an action left a type's bounds."""

_SEARCH = ir.LiteralStructType([WORD_POINTER, I64, I64])
"""The struct to which `emit` and `fail` report: the words of the wanted state, whether it is found, the failures."""

_WANTED, _FOUND, _FAILURES = range(3)


@dataclass(frozen=True)
class AbstractStepFunction:
    """The function `i64 step(i64* before, i64* after)` of an abstract program, which returns a status; its layout."""

    layout: StateLayout
    function: ir.IrFunction


class RefinementLowering:
    """Emits comparisons with abstract programs into one LLVM module; each program is lowered once."""

    def __init__(self, module: SpecModule):
        self._module, self._unordered_folds = module.module, module.unordered_folds
        self._steps: dict[int, AbstractStepFunction] = {}

    def allows(self, expressions: Evaluator, node: nodes.Refines) -> Truth:
        """Emit the comparison of the step from `old` to `self` with the steps of the abstract program."""
        # The programs of `old` and `self` in a node are one; those of two nodes are compared by identity.
        if id(node.abstract) not in self._steps:
            self._steps[id(node.abstract)] = self._define(node.abstract, f"abstract.{len(self._steps)}.")
        step = self._steps[id(node.abstract)]
        emit = expressions.context.emit
        before, after = (
            _map_state(expressions, step.layout, node.abstract, side) for side in (node.before, node.after)
        )
        status = emit.slot()
        emit.builder.store(ir.ConstantValue(I64, STEP), status)

        def search() -> None:
            emit.builder.store(emit.builder.call(step.function, [before, after]), status)

        emit.when(emit.negate(_same_words(emit, before, after, step.layout.words)), search)
        outcome = emit.builder.load(status)
        expressions.context.check(emit.compare("!=", outcome, FAILED), node.site)
        return emit.compare("==", outcome, STEP)

    def _define(self, program: nodes.Program, prefix: str) -> AbstractStepFunction:
        abstract = SpecModule(
            program, record_branches=False, unordered_folds=self._unordered_folds, inside=self._module, prefix=prefix
        )
        expand_state = define_expand_state(abstract)
        _define_emit(abstract.emit, abstract.layout.words)
        _define_fail(abstract.fail)
        function, emit = abstract.new_function("step", I64, [WORD_POINTER, WORD_POINTER])
        builder = emit.builder
        search = builder.alloca(_SEARCH)
        builder.store(function.args[1], struct_field(builder, search, _WANTED))
        for number in (_FOUND, _FAILURES):
            builder.store(ir.ConstantValue(I64, 0), struct_field(builder, search, number))
        builder.call(expand_state, [function.args[0], builder.bitcast(search, SINK)])
        outcome, failures = (
            builder.icmp_unsigned("!=", builder.load(struct_field(builder, search, number)), ir.ConstantValue(I64, 0))
            for number in (_FOUND, _FAILURES)
        )
        without = builder.select(failures, ir.ConstantValue(I64, FAILED), ir.ConstantValue(I64, NO_STEP))
        builder.ret(builder.select(outcome, ir.ConstantValue(I64, STEP), without))
        emit.finish()
        abstract.release()
        return AbstractStepFunction(abstract.layout, function)


def _map_state(
    expressions: Evaluator, layout: StateLayout, program: nodes.Program, values: tuple[nodes.Expr, ...]
) -> ir.Value:
    """Emit a state of an abstract program from the values of its variables; return the address of its words."""
    emit = expressions.context.emit
    pointer = emit.slot(max(2, layout.words))
    for word in range(layout.words):
        emit.builder.store(ir.ConstantValue(I64, 0), emit.word_pointer(pointer, word))
    for variable, value in zip(program.variables, values, strict=True):
        place = layout.places[variable]
        emit.store(MemoryPlace(place.layout, pointer, place.word, place.shift), expressions.evaluate(value))
    return pointer


def _same_words(emit: Emitter, left: ir.Value, right: ir.Value, words: int) -> Truth:
    same: Truth = True
    for word in range(words):
        pair = (emit.builder.load(emit.word_pointer(pointer, word)) for pointer in (left, right))
        same = emit.both(same, emit.compare("==", *pair))
    return same


def _define_emit(function: ir.IrFunction, words: int) -> None:
    """Give `emit` its body: note whether the successor is the wanted state."""
    function.attributes.add("alwaysinline")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    search = builder.bitcast(function.args[0], _SEARCH.as_pointer())
    wanted = read_words(builder, builder.load(struct_field(builder, search, _WANTED)), words)
    differences: ir.Value = ir.ConstantValue(I64, 0)
    for word, other in zip(wanted, read_words(builder, function.args[1], words), strict=True):
        differences = builder.or_(differences, builder.xor(word, other))
    is_wanted = builder.zext(builder.icmp_unsigned("==", differences, ir.ConstantValue(I64, 0)), I64)
    flag = struct_field(builder, search, _FOUND)
    builder.store(builder.or_(builder.load(flag), is_wanted), flag)
    builder.ret_void()


def _define_fail(function: ir.IrFunction) -> None:
    """Give `fail` its body: count the failure."""
    function.attributes.add("alwaysinline")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    search = builder.bitcast(function.args[0], _SEARCH.as_pointer())
    failures = struct_field(builder, search, _FAILURES)
    builder.store(builder.add(builder.load(failures), ir.ConstantValue(I64, 1)), failures)
    builder.ret_void()
