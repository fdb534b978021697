"""Outlining: a large helper with several calls becomes an LLVM function; any other helper is inlined at each call.

Signature of an outlined helper: `i32 helper(i64* self, i64* old, i64* result, arguments...)`. `self` and `old` are the
words of the states. `result` is where the returned value is written. An argument is an i64 if its type is packed, and
the address of its words if it is wide. The returned status is DONE, DISABLED (a `require` was false), or
FIRST_SITE + n: the evaluation left a type's bounds at site n.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.analysis import reassigned_locals
from checker.engines.native.lowering.emitter import (
    I32,
    WORD_POINTER,
    Emitter,
    MemoryPlace,
    PackedValue,
    Value,
    WideValue,
)
from checker.engines.native.lowering.evaluation import EvaluationContext, Evaluator, NativeFrame
from checker.engines.native.lowering.state_layout import NUMBER, layout_of
from checker.ir import nodes
from checker.language.type_joins import NONE
from checker.language.types import IntType, Type

if TYPE_CHECKING:
    from checker.engines.native.lowering.statements import StatementLowering

SMALLEST_BODY = 40
SMALLEST_TOTAL = 600
"""A helper is outlined when its body has this many nodes, and this many over all its calls."""

_NODES = (nodes.Expr, nodes.Stmt, nodes.ForClause, nodes.IfClause, nodes.IntRange)

DONE, DISABLED, FIRST_SITE = 0, 1, 2
"""The statuses that an outlined helper returns; FIRST_SITE + n is site n."""

MakeLowering = Callable[[Emitter, dict[str, ir.Value], Callable[[nodes.Site], None], ir.Block], "StatementLowering"]


class Outliner:
    """Decides which helpers of a program become LLVM functions, and defines and calls them."""

    def __init__(
        self,
        program: nodes.Program,
        module: ir.Module,
        number_of: Callable[[nodes.Site], int],
        make_lowering: MakeLowering,
    ):
        self._module, self._number_of, self._make_lowering = module, number_of, make_lowering
        self._functions: dict[nodes.Function, ir.IrFunction] = {}
        self.sizes = Sizes()
        calls = _calls(program)
        self._chosen = {helper for helper, count in calls.items() if _pays(self.sizes.of_helper(helper), count)}

    def is_outlined(self, function: nodes.Function) -> bool:
        """Return whether a helper has its own LLVM function."""
        return function in self._chosen

    def call(self, expressions: Evaluator, node: nodes.HelperCall) -> Value:
        """Emit a call, and the end of the caller's evaluation for the case that the helper's evaluation ends early."""
        context = expressions.context
        result = context.new_variable(node.type)
        # A root that the caller does not have, such as `old` in an action, is never read by the helper.
        null = ir.ConstantValue(WORD_POINTER, None)
        roots = [context.roots.get(name, null) for name in ("self", "old")]
        arguments = []
        for parameter, argument in zip(node.function.parameters, node.arguments, strict=True):
            # `evaluate` copies a wide value out of the state, so a helper that writes the state does not change its
            # argument.
            value = context.convert(expressions.evaluate(argument), parameter.type, node.site)
            arguments.append(_passed(context.emit, value))
        # A status, because an LLVM function cannot jump to the caller's blocks.
        status = context.emit.builder.call(self._function(node.function), [*roots, result.pointer, *arguments])
        self._leave_unless_done(context, status)
        return context.read_variable(result, node.type)

    def _leave_unless_done(self, context: EvaluationContext, status: ir.Value) -> None:
        """Emit the end of the caller's evaluation for the case that a status is not DONE."""
        emit = context.emit
        done, ended = emit.block("done"), emit.block("ended")
        emit.builder.cbranch(emit.builder.icmp_unsigned("==", status, ir.ConstantValue(I32, DONE)), done, ended)
        emit.position(ended)
        # Without a target (in a property) no `require` occurs, so every other status is a failure.
        if context.disabled is not None:
            failed = emit.block("failed")
            is_disabled = emit.builder.icmp_unsigned("==", status, ir.ConstantValue(I32, DISABLED))
            emit.builder.cbranch(is_disabled, context.disabled, failed)
            emit.position(failed)
        context.fail_with(emit.builder.sub(status, ir.ConstantValue(I32, FIRST_SITE)))
        emit.position(done)

    def _function(self, helper: nodes.Function) -> ir.IrFunction:
        if helper not in self._functions:
            words = [_passed_type(parameter.type) for parameter in helper.parameters]
            kind = ir.FunctionType(I32, [WORD_POINTER, WORD_POINTER, WORD_POINTER, *words])
            name = self._module.get_unique_name(f"helper.{helper.name}")
            function = self._functions[helper] = ir.IrFunction(self._module, kind, name)
            function.linkage = "internal"
            self._define(helper, function)
        return self._functions[helper]

    def _define(self, helper: nodes.Function, function: ir.IrFunction) -> None:
        emit = Emitter(function)
        end, disabled = emit.block("end"), emit.block("disabled")

        def fail(site: nodes.Site) -> None:
            emit.builder.ret(ir.ConstantValue(I32, FIRST_SITE + self._number_of(site)))

        roots = {"self": function.args[0], "old": function.args[1]}
        lowering = self._make_lowering(emit, roots, fail, disabled)
        context = lowering.context
        context.fail_with = lambda number: emit.builder.ret(emit.builder.add(number, ir.ConstantValue(I32, FIRST_SITE)))
        result = helper.result or NONE
        context.frame = NativeFrame(
            reassigned=reassigned_locals(helper.body, helper.parameters),
            result=_result_place(result, function.args[2]),
            result_type=result,
            end=end,
        )
        for parameter, passed in zip(helper.parameters, function.args[3:], strict=True):
            context.set_local(parameter, _received(emit, parameter.type, passed))
        lowering.visit_all(helper.body)
        emit.jump(end)
        for block, status in ((end, DONE), (disabled, DISABLED)):
            emit.position(block)
            emit.builder.ret(ir.ConstantValue(I32, status))
        emit.finish()


def _pays(size: int, calls: int) -> bool:
    """Return whether outlining makes the module enough smaller to be worth the calls."""
    return calls > 1 and size >= SMALLEST_BODY and size * calls >= SMALLEST_TOTAL


def _result_place(kind: Type, pointer: ir.Value) -> MemoryPlace:
    """Return the place of a result, as `EvaluationContext.new_variable` lays it out."""
    layout = NUMBER if isinstance(kind, IntType) else layout_of(kind)
    return MemoryPlace(layout, pointer, 0, 0)


def _is_passed_by_number(kind: Type) -> bool:
    return isinstance(kind, IntType) or not layout_of(kind).is_wide


def _passed_type(kind: Type) -> ir.IrType:
    return WORD_POINTER.pointee if _is_passed_by_number(kind) else WORD_POINTER


def _passed(emit: Emitter, value: Value) -> ir.Value:
    """Return a value as an argument: an integer itself, the bits of another packed value, the address of a wide one."""
    if isinstance(value, WideValue):
        return emit.word_pointer(value.place.pointer, value.place.word)
    return emit.value(value.number if isinstance(value.type, IntType) else emit.bits_of(value))


def _received(emit: Emitter, kind: Type, passed: ir.Value) -> Value:
    """Return the value of a parameter from what `_passed` made of it."""
    if not _is_passed_by_number(kind):
        return WideValue(kind, MemoryPlace(layout_of(kind), passed, 0, 0))
    return PackedValue(kind, passed) if isinstance(kind, IntType) else emit.from_bits(kind, passed)


class _CallCounts:
    """Counts how often each helper would be inlined."""

    def __init__(self) -> None:
        self._of_helpers: dict[nodes.Function, Counter[nodes.Function]] = {}

    def below(self, node: object) -> Counter[nodes.Function]:
        """Return the counts in a node, or in a tuple of nodes."""
        counts: Counter[nodes.Function] = Counter()
        self._add(node, counts)
        return counts

    def _add(self, node: object, counts: Counter[nodes.Function]) -> None:
        if isinstance(node, tuple):
            for item in node:
                self._add(item, counts)
        elif isinstance(node, _NODES):
            if isinstance(node, nodes.HelperCall):
                # Counted as if inlined: a call counts the calls in the helper's body again, since each copy would
                # contain them.
                helper = node.function
                if helper not in self._of_helpers:
                    self._of_helpers[helper] = self.below(helper.body)
                counts[helper] += 1
                counts.update(self._of_helpers[helper])
            for value in vars(node).values():
                self._add(value, counts)


def _calls(program: nodes.Program) -> Counter[nodes.Function]:
    """Return how often each helper would be inlined."""
    bodies = [action.body for action in program.actions]
    bodies += [predicate.function.body for predicate in (*program.properties, *program.constraints)]
    return _CallCounts().below(tuple(bodies))


class Sizes:
    """Counts syntax nodes below a node; a helper counts at each call."""

    def __init__(self) -> None:
        self._of_nodes: dict[object, int] = {}
        self._of_helpers: dict[nodes.Function, int] = {}

    def of(self, node: object) -> int:
        """Return the number of nodes in a node, or in a tuple of nodes."""
        if isinstance(node, tuple):
            return sum(map(self.of, node))
        if not isinstance(node, _NODES):
            return 0
        # The size of a part is wanted again: of the action, of its statements, of the calls in them.
        if node not in self._of_nodes:
            self._of_nodes[node] = self._size(node)
        return self._of_nodes[node]

    def _size(self, node: object) -> int:
        if isinstance(node, nodes.HelperCall):
            return 1 + self.of(node.arguments) + self.of_helper(node.function)
        return 1 + sum(map(self.of, vars(node).values()))

    def of_helper(self, function: nodes.Function) -> int:
        """Return the number of nodes in a helper's body."""
        if function not in self._of_helpers:
            self._of_helpers[function] = self.of(function.body)
        return self._of_helpers[function]
