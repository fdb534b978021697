"""Lowering of integers and bools."""

from __future__ import annotations

from checker.engines.native.lowering.analysis import is_cheap
from checker.engines.native.lowering.emitter import Number, PackedValue, Value
from checker.engines.native.lowering.evaluation import Evaluation
from checker.frontend.type_relations import is_bounded
from checker.ir import nodes
from checker.language.types import IntType


class ScalarLowering(Evaluation):
    """Emits arithmetic, comparisons and logic."""

    def _Arithmetic(self, node: nodes.Arithmetic) -> Value:
        left, right = self.number(node.left), self.number(node.right)
        if node.operator in ("//", "%"):
            return PackedValue(node.type, self._division(node, left, right))
        if node.operator != "*" and not is_bounded(node.type):
            return PackedValue(node.type, self.checked(node.operator, left, right, node.site))
        operation = {"+": self.emit.add, "-": self.emit.subtract, "*": self.emit.multiply}[node.operator]
        return PackedValue(node.type, operation(left, right))

    def checked(self, operator: str, left: Number, right: Number, site: nodes.Site) -> Number:
        """Emit a sum or difference of integers without known bounds: a failure where it does not fit into 64 bits."""
        builder, sides = self.emit.builder, (self.emit.value(left), self.emit.value(right))
        pair = builder.sadd_with_overflow(*sides) if operator == "+" else builder.ssub_with_overflow(*sides)
        self.collections.check(self.emit.negate(builder.extract_value(pair, 1)), self.failing(site))
        return builder.extract_value(pair, 0)

    def _division(self, node: nodes.Arithmetic, left: Number, right: Number) -> Number:
        divisor = node.right.type
        assert isinstance(divisor, IntType)
        if divisor.low is None or divisor.low <= 0:
            self.collections.check(self.emit.compare("!=", right, 0), self.failing(node.site))
        if isinstance(left, int) and isinstance(right, int) and right != 0:
            return left // right if node.operator == "//" else left % right
        builder, top, bottom = self.emit.builder, self.emit.value(left), self.emit.value(right)
        quotient, remainder = builder.sdiv(top, bottom), builder.srem(top, bottom)
        # LLVM rounds towards zero, Python downwards: they differ where the remainder and the divisor differ in sign.
        differs = self.emit.both(
            self.emit.compare("!=", remainder, 0), self.emit.compare("<", builder.xor(remainder, bottom), 0)
        )
        if node.operator == "//":
            return self.emit.subtract(quotient, self.emit.widened(differs))
        return self.emit.add(remainder, self.emit.select(differs, bottom, 0))

    def _Extremum(self, node: nodes.Extremum) -> Value:
        best = self.number(node.operands[0])
        for operand in node.operands[1:]:
            other = self.number(operand)
            closer = self.emit.compare("<" if node.operator == "min" else ">", other, best)
            best = self.emit.select(closer, other, best)
        return PackedValue(node.type, best)

    def _Comparison(self, node: nodes.Comparison) -> Value:
        left, right = self.view(node.left), self.view(node.right)
        if isinstance(node.left.type, IntType) and isinstance(node.right.type, IntType):
            assert isinstance(left, PackedValue) and isinstance(right, PackedValue)
            return PackedValue(nodes.BOOL, self.emit.compare(node.operator, left.number, right.number))
        equal = self.emit.equal(left, right)
        return PackedValue(nodes.BOOL, equal if node.operator == "==" else self.emit.negate(equal))

    def _Not(self, node: nodes.Not) -> Value:
        return PackedValue(nodes.BOOL, self.emit.negate(self.truth(node.operand)))

    def _Logical(self, node: nodes.Logical) -> Value:
        if not node.eager and not is_cheap(node):
            return self._branched(node)
        combine = self.emit.both if node.operator == "and" else self.emit.either
        result = self.truth(node.operands[0])
        for operand in node.operands[1:]:
            result = combine(result, self.truth(operand))
        return PackedValue(nodes.BOOL, result)

    def _branched(self, node: nodes.Expr) -> Value:
        """Emit a bool that is decided by branches."""
        result = self.emit.slot()
        then, otherwise, end = (self.emit.block(name) for name in ("true", "false", "decided"))
        self.branch_on(node, then, otherwise)
        for block, truth in ((then, 1), (otherwise, 0)):
            self.emit.position(block)
            self.emit.builder.store(self.emit.value(truth), result)
            self.emit.jump(end)
        self.emit.position(end)
        return PackedValue(nodes.BOOL, self.emit.compare("!=", self.emit.builder.load(result), 0))

    def _Conditional(self, node: nodes.Conditional) -> Value:
        test = self.truth(node.test)
        if isinstance(test, bool):
            self.took(node.test, test)
            return self.evaluate(node.then if test else node.otherwise)
        result = self.own_place(node.type)

        def side(chosen: nodes.Expr, is_true: bool) -> None:
            self.took(node.test, is_true)
            self.write_own(result, self.evaluate(chosen), node.type)

        self.emit.when(test, lambda: side(node.then, True), lambda: side(node.otherwise, False))
        return self.read_own(result, node.type)
