"""Bounds of types, which may depend on constants that an unbounded proof leaves open."""

from __future__ import annotations

import math
from typing import Any

import z3

from checker.engines.smt.lowering import arithmetic
from checker.engines.smt.lowering.integers import Bound, SymbolicInteger, compare, concrete
from checker.engines.smt.lowering.logic import Truth
from checker.language.symbols import expression_of, is_open
from checker.language.types import IntType, SeqType


def bounds_of(kind: IntType) -> tuple[Bound, Bound]:
    """Return the interval of a type: infinite at an end that has no bound or depends on an open constant."""
    # Intervals are numbers, and an open constant has none: the infinite interval is wider than the type. The bound
    # itself is a separate condition, `within_open_bound`.
    low = -math.inf if kind.low is None or is_open(kind.low) else kind.low
    high = math.inf if kind.high is None or is_open(kind.high) else kind.high
    return low, high


def open_number(bound: int) -> SymbolicInteger | None:
    """Return a bound that may depend on open constants as a term; None if it has no expression."""
    expression = expression_of(bound)
    return None if expression is None else _evaluate(expression)


def _evaluate(expression: Any) -> SymbolicInteger:
    if isinstance(expression, int):
        return concrete(expression)
    if expression[0] == "constant":
        _, name, low, high = expression
        # Z3 identifies constants by name and sort: every use of an open constant is the same Z3 constant.
        return SymbolicInteger(
            z3.Int(f"constant {name}"), -math.inf if low is None else low, math.inf if high is None else high
        )
    operator, left, right = expression[0], _evaluate(expression[1]), _evaluate(expression[2])
    if operator in ("min", "max"):
        return arithmetic.extremum(operator, left, right)
    if operator in ("//", "%"):
        return arithmetic.divide(left, right)[0 if operator == "//" else 1]
    return {"+": arithmetic.add, "-": arithmetic.subtract, "*": arithmetic.multiply}[operator](left, right)


def within_open_bound(number: SymbolicInteger, kind: IntType) -> Truth:
    """Return whether a number is at most a type's upper bound, if that depends on open constants; else True."""
    bound = open_number(kind.high) if is_open(kind.high) else None  # type: ignore[arg-type]
    return True if bound is None else compare("<=", number, bound)


def fits(length: SymbolicInteger, kind: SeqType) -> Truth:
    """Return whether a length is at most a sequence type's capacity."""
    capacity = open_number(kind.capacity)
    return True if capacity is None else compare("<=", length, capacity)
