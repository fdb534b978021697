"""Lowering of integers and bools."""

from __future__ import annotations

from checker.engines.native.lowering.analysis import is_cheap
from checker.engines.native.lowering.emitter import Number, PackedValue, Value
from checker.engines.native.lowering.evaluation import SubjectLowering
from checker.ir import nodes
from checker.language.type_joins import is_bounded
from checker.language.types import IntType


class ScalarLowering(SubjectLowering):
    """Emits arithmetic, comparisons and logic."""

    def arithmetic(self, node: nodes.Arithmetic) -> Value:
        left, right = self.expressions.number(node.left), self.expressions.number(node.right)
        if node.operator in ("//", "%"):
            return PackedValue(node.type, self._division(node, left, right))
        if node.operator != "*" and not is_bounded(node.type):
            fail = self.context.failure_at(node.site)
            return PackedValue(node.type, self.emit.checked(node.operator, left, right, fail))
        operation = {"+": self.emit.add, "-": self.emit.subtract, "*": self.emit.multiply}[node.operator]
        return PackedValue(node.type, operation(left, right))

    def _division(self, node: nodes.Arithmetic, left: Number, right: Number) -> Number:
        """Emit `//` or `%`, which fail for a divisor of 0."""
        divisor = node.right.type
        assert isinstance(divisor, IntType)
        if divisor.low is None or divisor.low <= 0:
            self.context.check(self.emit.compare("!=", right, 0), node.site)
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

    def extremum(self, node: nodes.Extremum) -> Value:
        best = self.expressions.number(node.operands[0])
        for operand in node.operands[1:]:
            other = self.expressions.number(operand)
            closer = self.emit.compare("<" if node.operator == "min" else ">", other, best)
            best = self.emit.select(closer, other, best)
        return PackedValue(node.type, best)

    def comparison(self, node: nodes.Comparison) -> Value:
        left, right = self.expressions.view(node.left), self.expressions.view(node.right)
        if isinstance(node.left.type, IntType) and isinstance(node.right.type, IntType):
            assert isinstance(left, PackedValue) and isinstance(right, PackedValue)
            return PackedValue(nodes.BOOL, self.emit.compare(node.operator, left.number, right.number))
        equal = self.emit.equal(left, right)
        return PackedValue(nodes.BOOL, equal if node.operator == "==" else self.emit.negate(equal))

    def not_(self, node: nodes.Not) -> Value:
        return PackedValue(nodes.BOOL, self.emit.negate(self.expressions.truth(node.operand)))

    def logical(self, node: nodes.Logical) -> Value:
        # Operands that are cheap cannot fail, so evaluating one that is not needed has no effect but saves a branch.
        if not node.eager and not is_cheap(node):
            return self.expressions.truth_by_branches(node)
        combine = self.emit.both if node.operator == "and" else self.emit.either
        result = self.expressions.truth(node.operands[0])
        for operand in node.operands[1:]:
            result = combine(result, self.expressions.truth(operand))
        return PackedValue(nodes.BOOL, result)

    def conditional(self, node: nodes.Conditional) -> Value:
        test = self.expressions.truth(node.test)
        if isinstance(test, bool):
            self.context.record_branch(node.test, test)
            return self.expressions.evaluate(node.then if test else node.otherwise)
        # Not a `select`: only the chosen side may be evaluated, because the other one may leave its bounds.
        result = self.context.new_variable(node.type)

        def side(chosen: nodes.Expr, is_true: bool) -> None:
            self.context.record_branch(node.test, is_true)
            self.context.write_variable(result, self.expressions.evaluate(chosen), node.type)

        self.emit.when(test, lambda: side(node.then, True), lambda: side(node.otherwise, False))
        return self.context.read_variable(result, node.type)
