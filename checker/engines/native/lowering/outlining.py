"""Helpers that are large and called often become functions of their own; others are written out at each call.

Such a function takes the states' memory, its arguments and a place for its result. It returns a status: 0, or why the
evaluation ends (a `require` was false, or which site left its bounds).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from llvmlite import ir

from checker.engines.native.lowering.emitter import (
    I32,
    WORD_POINTER,
    Emitter,
    MemoryPlace,
    PackedValue,
    Value,
    WideValue,
)
from checker.engines.native.lowering.state_layout import NUMBER, layout_of
from checker.frontend.type_relations import NONE
from checker.ir import nodes
from checker.language.types import IntType, Type

if TYPE_CHECKING:
    from checker.engines.native.lowering.expressions import ExpressionLowering

SMALLEST_BODY = 40
SMALLEST_TOTAL = 600
"""A helper is outlined when its body has this many nodes, and this many over all its calls."""

_NODES = (nodes.Expr, nodes.Stmt, nodes.ForClause, nodes.IfClause, nodes.IntRange)

DONE, DISABLED, FIRST_SITE = 0, 1, 2
"""The statuses; FIRST_SITE + n is site n."""

MakeLowering = Callable[[Emitter, dict[str, ir.Value], Callable[[nodes.Site], None], ir.Block], "ExpressionLowering"]


class Outliner:
    """Decides which helpers of a program become functions, and makes and calls them."""

    def __init__(
        self,
        program: nodes.Program,
        module: ir.Module,
        number_of: Callable[[nodes.Site], int],
        make_lowering: MakeLowering,
    ):
        self._module, self._number_of, self._make_lowering = module, number_of, make_lowering
        self._functions: dict[nodes.Function, ir.Function] = {}
        self.sizes = Sizes()
        calls = _calls(program)
        self._chosen = {helper for helper, count in calls.items() if _pays(self.sizes.of_helper(helper), count)}

    def wants(self, function: nodes.Function) -> bool:
        """Say whether calls of a helper go to a function of its own."""
        return function in self._chosen

    def call(self, lowering: ExpressionLowering, node: nodes.HelperCall) -> Value:
        """Emit a call, and the end of the caller's evaluation for where the helper's ended."""
        emit = lowering.emit
        result = lowering.own_place(node.type)
        null = ir.Constant(WORD_POINTER, None)
        roots = [lowering.roots.get(name, null) for name in ("self", "old")]
        arguments = []
        for parameter, argument in zip(node.function.parameters, node.arguments, strict=True):
            value = lowering.convert(lowering.evaluate(argument), parameter.type, lowering.failing(node.site))
            arguments.append(_passed(emit, value))
        status = emit.builder.call(self._function(node.function), [*roots, result.pointer, *arguments])
        self._leave_unless_done(lowering, status)
        return lowering.read_own(result, node.type)

    def _leave_unless_done(self, lowering: ExpressionLowering, status: ir.Value) -> None:
        emit = lowering.emit
        done, ended = emit.block("done"), emit.block("ended")
        emit.builder.cbranch(emit.builder.icmp_unsigned("==", status, ir.Constant(I32, DONE)), done, ended)
        emit.position(ended)
        if lowering.disabled is not None:
            failed = emit.block("failed")
            is_disabled = emit.builder.icmp_unsigned("==", status, ir.Constant(I32, DISABLED))
            emit.builder.cbranch(is_disabled, lowering.disabled, failed)
            emit.position(failed)
        lowering.fail_with(emit.builder.sub(status, ir.Constant(I32, FIRST_SITE)))
        emit.position(done)

    def _function(self, helper: nodes.Function) -> ir.Function:
        if helper not in self._functions:
            words = [_passed_type(parameter.type) for parameter in helper.parameters]
            kind = ir.FunctionType(I32, [WORD_POINTER, WORD_POINTER, WORD_POINTER, *words])
            name = self._module.get_unique_name(f"helper.{helper.name}")
            function = self._functions[helper] = ir.Function(self._module, kind, name)
            function.linkage = "internal"
            self._define(helper, function)
        return self._functions[helper]

    def _define(self, helper: nodes.Function, function: ir.Function) -> None:
        emit = Emitter(function)
        end, disabled = emit.block("end"), emit.block("disabled")

        def fail(site: nodes.Site) -> None:
            emit.builder.ret(ir.Constant(I32, FIRST_SITE + self._number_of(site)))

        roots = {"self": function.args[0], "old": function.args[1]}
        lowering = self._make_lowering(emit, roots, fail, disabled)
        lowering.fail_with = lambda number: emit.builder.ret(emit.builder.add(number, ir.Constant(I32, FIRST_SITE)))
        result = helper.result or NONE
        lowering.begin(helper, _own_place(result, function.args[2]), result, end)
        for parameter, passed in zip(helper.parameters, function.args[3:], strict=True):
            lowering.set_local(parameter, _received(emit, parameter.type, passed))
        lowering.statements(helper.body)
        emit.jump(end)
        for block, status in ((end, DONE), (disabled, DISABLED)):
            emit.position(block)
            emit.builder.ret(ir.Constant(I32, status))
        emit.finish()


def _pays(size: int, calls: int) -> bool:
    return calls > 1 and size >= SMALLEST_BODY and size * calls >= SMALLEST_TOTAL


def _own_place(kind: Type, pointer: ir.Value) -> MemoryPlace:
    layout = NUMBER if isinstance(kind, IntType) else layout_of(kind)
    return MemoryPlace(layout, pointer, 0, 0)


def _is_passed_by_number(kind: Type) -> bool:
    return isinstance(kind, IntType) or not layout_of(kind).is_wide


def _passed_type(kind: Type) -> ir.Type:
    return WORD_POINTER.pointee if _is_passed_by_number(kind) else WORD_POINTER


def _passed(emit: Emitter, value: Value) -> ir.Value:
    """Return what stands for an argument: an integer as it is, other packed values' bits, a wide one's address."""
    if isinstance(value, WideValue):
        return emit.word_pointer(value.place.pointer, value.place.word)
    return emit.value(value.number if isinstance(value.type, IntType) else emit.bits_of(value))


def _received(emit: Emitter, kind: Type, passed: ir.Value) -> Value:
    if not _is_passed_by_number(kind):
        return WideValue(kind, MemoryPlace(layout_of(kind), passed, 0, 0))
    return PackedValue(kind, passed) if isinstance(kind, IntType) else emit.from_bits(kind, passed)


def _calls(program: nodes.Program) -> Counter[nodes.Function]:
    """Return how often each helper would be written out."""
    of_helpers: dict[nodes.Function, Counter[nodes.Function]] = {}

    def below(node: object) -> Counter[nodes.Function]:
        counts: Counter[nodes.Function] = Counter()
        visit(node, counts)
        return counts

    def visit(node: object, counts: Counter[nodes.Function]) -> None:
        if isinstance(node, tuple):
            for item in node:
                visit(item, counts)
        elif isinstance(node, _NODES):
            if isinstance(node, nodes.HelperCall):
                helper = node.function
                if helper not in of_helpers:
                    of_helpers[helper] = below(helper.body)
                counts[helper] += 1
                counts.update(of_helpers[helper])
            for value in vars(node).values():
                visit(value, counts)

    bodies = [action.body for action in program.actions]
    bodies += [predicate.function.body for predicate in (*program.properties, *program.constraints)]
    return below(tuple(bodies))


class Sizes:
    """How many syntax nodes there are below a node, helpers counted at each call."""

    def __init__(self) -> None:
        self._of_helpers: dict[nodes.Function, int] = {}

    def of(self, node: object) -> int:
        """Return the size of a node or of several."""
        if isinstance(node, tuple):
            return sum(map(self.of, node))
        if isinstance(node, nodes.HelperCall):
            return 1 + self.of(node.arguments) + self.of_helper(node.function)
        if isinstance(node, _NODES):
            return 1 + sum(map(self.of, vars(node).values()))
        return 0

    def of_helper(self, function: nodes.Function) -> int:
        """Return the size of a helper's body."""
        if function not in self._of_helpers:
            self._of_helpers[function] = self.of(function.body)
        return self._of_helpers[function]
