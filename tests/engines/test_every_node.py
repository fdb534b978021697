"""Every engine has a handler for every node of the typed program."""

import pytest

from checker.engines.native.lowering.expressions import ExpressionLowering
from checker.engines.native.lowering.statements import StatementLowering
from checker.engines.smt.lowering.expressions import SymbolicExpressions
from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.engines.smt.unbounded.lowering.expressions import QuantifiedExpressions
from checker.engines.smt.unbounded.lowering.statements import QuantifiedStatements
from checker.ir.visitor import EXPRESSION_METHODS, STATEMENT_METHODS, ExpressionVisitor, StatementVisitor

EXPRESSIONS: list[type[ExpressionVisitor]] = [ExpressionLowering, SymbolicExpressions, QuantifiedExpressions]
STATEMENTS: list[type[StatementVisitor]] = [StatementLowering, SymbolicStatements, QuantifiedStatements]


@pytest.mark.parametrize("engine", [*EXPRESSIONS, *STATEMENTS], ids=lambda engine: engine.__module__)
def test_every_node_has_a_handler(engine: type) -> None:
    visitor, methods = (
        (ExpressionVisitor, EXPRESSION_METHODS) if engine in EXPRESSIONS else (StatementVisitor, STATEMENT_METHODS)
    )
    names = list(methods.values())
    assert len(names) > 5
    assert [name for name in names if getattr(engine, name) is getattr(visitor, name)] == []
    assert engine.__abstractmethods__.isdisjoint(names)
