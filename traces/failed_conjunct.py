"""The false conjunct of a property: the first false operand of the `and` expression that the property returns."""

from __future__ import annotations

import ast

from checker.explain.returned_calls import trace_call
from checker.language.interpreter import State
from checker.language.source import source_of
from checker.language.spec import Spec


def conjunct_expressions(spec: Spec, name: str) -> list[ast.expr]:
    """Return the operands of the `and` expression that a property returns; empty if it returns something else."""
    method = getattr(type(spec), name, None) if name in spec.roles else None
    last = source_of(method).tree.body[-1] if method is not None else None
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.BoolOp):
        return []
    return last.value.values if isinstance(last.value.op, ast.And) else []


def false_conjunct(spec: Spec, name: str, state: State, old: State | None = None) -> int | None:
    """Return the index of the first false conjunct of a false property; None if the property has no conjuncts."""
    operands = conjunct_expressions(spec, name)
    if not operands:
        return None
    with spec.bound():
        arguments = tuple(spec.in_state(part) for part in (state, old) if part is not None)
        scope = trace_call(getattr(type(spec), name), arguments).scope
        return next((number for number, operand in enumerate(operands) if not scope.evaluate(operand)), None)


def conjunct_text(spec: Spec, name: str, number: int | None) -> str:
    """Return the source text of a conjunct on one line; an empty string for None."""
    return "" if number is None else ast.unparse(conjunct_expressions(spec, name)[number])
