"""Lowering of statements with unbounded types: rejects effects in endless loops, collects values for case splits."""

from __future__ import annotations

from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.engines.smt.lowering.symbolic_values import SymbolicOption
from checker.engines.smt.unbounded.lowering.evaluation import QuantifiedContext
from checker.engines.smt.unbounded.lowering.expressions import QuantifiedExpressions
from checker.errors import SpecError
from checker.ir import nodes
from checker.language.types import DomainType, OpenDomainType, OptionType


class QuantifiedStatements(SymbolicStatements):
    """Runs actions and helpers on a symbolic state with unbounded integers and sequences."""

    context: QuantifiedContext
    expressions: QuantifiedExpressions

    def __init__(self, context: QuantifiedContext):
        super().__init__(context)
        self.expressions = QuantifiedExpressions(context, self.visit_all)

    def assign_local(self, node: nodes.AssignLocal) -> None:
        super().assign_local(node)
        value = self.context.frame.locals[node.local]
        member = value.item if isinstance(value, SymbolicOption) else value
        kind = node.local.type.item if isinstance(node.local.type, OptionType) else node.local.type
        # A value that depends on a bound variable is different for every item: it cannot be split.
        if (
            isinstance(kind, DomainType)
            and not isinstance(kind, OpenDomainType)
            and not member.is_concrete
            and not self.context.variables
        ):
            is_new = all(not member.term.eq(case.term) for case in self.context.cases)
            self.context.cases += [member] if is_new else []

    def for_(self, node: nodes.For) -> None:
        if self.expressions.loops.is_endless(node.clause):
            raise SpecError(
                "a loop over something unbounded cannot change the state or a local: use `all`, `any`, `min`, `max` or "
                "a slice",
                file=node.site.file,
                line=node.site.line,
            )
        super().for_(node)

    def require(self, node: nodes.Require) -> None:
        if self.context.variables:
            message = "a helper with `require` is called for each item of something unbounded: require `all(...)` of it"
            raise SpecError(message, file=node.site.file, line=node.site.line)
        super().require(node)
