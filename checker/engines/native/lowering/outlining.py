"""Outlining: a large helper with several calls becomes an LLVM function; any other helper is inlined at each call.

Signature of an outlined helper: `i32 helper(i64* self, i64* old, i64* result, arguments...)`. `self` and `old` are the
words of the states. `result` is where the returned value is written. An argument is an i64 if its type is packed, and
the address of its words if it is wide. The returned status is DONE, DISABLED (a `require` was false), or
FIRST_SITE + n: the evaluation left a type's bounds at site n.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

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
from checker.ir.parts import Node, parts_of
from checker.language.type_joins import NONE
from checker.language.types import IntType, Type

SMALLEST_BODY = 20
SMALLEST_TOTAL = 150
"""A helper is outlined when its body has this many nodes, and this many over all its calls."""

Body = tuple[nodes.Stmt, ...]
"""The statements of a function."""

DONE, DISABLED, FIRST_SITE = 0, 1, 2
"""The statuses that an outlined helper returns; FIRST_SITE + n is site n."""


class BodyLowering(Protocol):
    """Emits the statements of one function."""

    context: EvaluationContext

    def visit_all(self, body: Body) -> None:
        """Emit statements in order."""


MakeLowering = Callable[[Emitter, dict[str, ir.Value], Callable[[nodes.Site], None], ir.Block], BodyLowering]


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
        self.counts = BodyCounts()
        calls = _calls(program, self.counts)
        self._chosen = {helper for helper, count in calls.items() if _pays(self.counts.size(helper.body), count)}

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
            arguments.append(_pass(context.emit, value))
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
            words = [_type_of_argument(parameter.type) for parameter in helper.parameters]
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
            context.set_local(parameter, _receive(emit, parameter.type, passed))
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


def _type_of_argument(kind: Type) -> ir.IrType:
    return WORD_POINTER.pointee if _is_passed_by_number(kind) else WORD_POINTER


def _pass(emit: Emitter, value: Value) -> ir.Value:
    """Return a value as an argument: an integer itself, the bits of another packed value, the address of a wide one."""
    if isinstance(value, WideValue):
        return emit.word_pointer(value.place.pointer, value.place.word)
    return emit.value(value.number if isinstance(value.type, IntType) else emit.bits_of(value))


def _receive(emit: Emitter, kind: Type, passed: ir.Value) -> Value:
    """Return the value of a parameter from what `_pass` made of it."""
    if not _is_passed_by_number(kind):
        return WideValue(kind, MemoryPlace(layout_of(kind), passed, 0, 0))
    return PackedValue(kind, passed) if isinstance(kind, IntType) else emit.from_bits(kind, passed)


@dataclass
class _Counts:
    """The size of a body in nodes, and the number of its calls of each helper, without those in helpers' bodies."""

    size: int
    calls: Counter[nodes.Function]


class BodyCounts:
    """Counts the nodes and the calls in bodies of functions. A helper counts at each call, as if it were inlined."""

    def __init__(self) -> None:
        self._own: dict[Body, _Counts] = {}
        self._sizes: dict[Body, int] = {}
        self._calls: dict[Body, Counter[nodes.Function]] = {}

    def size(self, body: Body) -> int:
        """Return the number of nodes in a body."""
        if body not in self._sizes:
            own = self._own_counts(body)
            called = sum(count * self.size(helper.body) for helper, count in own.calls.items())
            self._sizes[body] = own.size + called
        return self._sizes[body]

    def calls(self, body: Body) -> Counter[nodes.Function]:
        """Return how often each helper is called: each copy of a helper's body has the calls in it again."""
        if body not in self._calls:
            direct = self._own_counts(body).calls
            counts = Counter(direct)
            for helper, count in direct.items():
                for called, times in self.calls(helper.body).items():
                    counts[called] += count * times
            self._calls[body] = counts
        return self._calls[body]

    def _own_counts(self, body: Body) -> _Counts:
        if body not in self._own:
            counts = self._own[body] = _Counts(0, Counter())
            waiting: list[Node] = list(body)
            while waiting:
                node = waiting.pop()
                counts.size += 1
                if isinstance(node, nodes.HelperCall):
                    counts.calls[node.function] += 1
                waiting += parts_of(node)
        return self._own[body]


def _calls(program: nodes.Program, counts: BodyCounts) -> Counter[nodes.Function]:
    """Return how often each helper would be inlined."""
    bodies = [action.body for action in program.actions]
    bodies += [predicate.function.body for predicate in (*program.properties, *program.constraints)]
    return sum(map(counts.calls, bodies), Counter[nodes.Function]())
