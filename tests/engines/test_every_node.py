"""Every engine has a handler for every node of the typed program."""

from __future__ import annotations

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


@pytest.mark.parametrize("engine", EXPRESSIONS, ids=lambda engine: engine.__module__)
@pytest.mark.parametrize("name", EXPRESSION_METHODS.values())
def test_every_expression_has_a_handler(engine: type[ExpressionVisitor], name: str) -> None:
    assert name not in engine.__abstractmethods__
    assert getattr(engine, name) is not getattr(ExpressionVisitor, name)


@pytest.mark.parametrize("engine", STATEMENTS, ids=lambda engine: engine.__module__)
@pytest.mark.parametrize("name", STATEMENT_METHODS.values())
def test_every_statement_has_a_handler(engine: type[StatementVisitor], name: str) -> None:
    assert name not in engine.__abstractmethods__
    assert getattr(engine, name) is not getattr(StatementVisitor, name)
