"""Arithmetic of symbolic integers: each operation computes the interval of its result.

Python semantics: integers do not overflow, `//` and `%` round downwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import z3

from checker.engines.smt.lowering.integers import (
    Bound,
    SymbolicInteger,
    are_bits,
    as_bits,
    as_integer,
    choose,
    compare,
    concrete,
    fit_number,
    is_finite,
    narrowed,
    width_of,
)
from checker.engines.smt.lowering.logic import CONTEXT, CONTEXT_REF


def add(left: SymbolicInteger, right: SymbolicInteger) -> SymbolicInteger:
    """Return the sum."""
    return _compute("+", left, right, left.low + right.low, left.high + right.high)


def subtract(left: SymbolicInteger, right: SymbolicInteger) -> SymbolicInteger:
    """Return the difference."""
    return _compute("-", left, right, left.low - right.high, left.high - right.low)


def multiply(left: SymbolicInteger, right: SymbolicInteger) -> SymbolicInteger:
    """Return the product."""
    corners = [_product(one, other) for one in (left.low, left.high) for other in (right.low, right.high)]
    return _compute("*", left, right, min(corners), max(corners))


def _product(one: Bound, other: Bound) -> Bound:
    # In Python 0 * infinity is NaN.
    return 0 if one == 0 or other == 0 else one * other


_BITS = {"+": z3.Z3_mk_bvadd, "-": z3.Z3_mk_bvsub, "*": z3.Z3_mk_bvmul}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
}


def _compute(operator: str, left: SymbolicInteger, right: SymbolicInteger, low: Bound, high: Bound) -> SymbolicInteger:
    if left.is_concrete and right.is_concrete:
        return concrete(_PYTHON[operator](left.term, right.term))
    if right.is_concrete and right.term == 0 and operator != "*":
        return left
    if low == high:
        return concrete(int(low))
    if are_bits(left, right) and is_finite(low, high):
        width = width_of(low, high)
        # The width of the result is enough: sums, differences and products are exact modulo 2**width.
        one, other = as_bits(left, width), as_bits(right, width)
        return SymbolicInteger(
            z3.BitVecRef(_BITS[operator](CONTEXT_REF, one.as_ast(), other.as_ast()), CONTEXT), low, high
        )
    return SymbolicInteger(_PYTHON[operator](as_integer(left), as_integer(right)), low, high)


def divide(left: SymbolicInteger, right: SymbolicInteger) -> tuple[SymbolicInteger, SymbolicInteger]:
    """Return quotient and remainder as Python computes them; if the divisor is 0, any numbers may result."""
    if right.low == 0 == right.high:
        # Not only the concrete 0: unbounded proofs also have terms with this interval.
        return concrete(0), concrete(0)
    if left.is_concrete and right.is_concrete:
        return concrete(left.term // right.term), concrete(left.term % right.term)
    quotients, remainders = _division_bounds(left, right)
    if not are_bits(left, right):
        return _divide_integers(left, right, quotients, remainders)
    low, high = min(left.low, right.low, quotients[0]), max(left.high, right.high, quotients[1])
    width = width_of(low, high)
    top, bottom = as_bits(left, width), as_bits(right, width)
    if low >= 0:
        quotient, remainder = z3.UDiv(top, bottom), z3.URem(top, bottom)
    else:
        quotient, remainder = top / bottom, z3.SRem(top, bottom)
        # Bit-vector division rounds towards zero, Python downwards: they differ if the signs of remainder and divisor
        # differ.
        differs = z3.And(remainder != 0, (remainder < 0) != (bottom < 0))
        quotient, remainder = z3.If(differs, quotient - 1, quotient), z3.If(differs, remainder + bottom, remainder)
    return (
        fit_number(SymbolicInteger(quotient, low, high), *quotients),
        fit_number(SymbolicInteger(remainder, low, high), *remainders),
    )


def _divide_integers(
    left: SymbolicInteger, right: SymbolicInteger, quotients: tuple[Bound, Bound], remainders: tuple[Bound, Bound]
) -> tuple[SymbolicInteger, SymbolicInteger]:
    top, bottom = as_integer(left), as_integer(right)
    # Z3's remainder is never negative, which is Python's result for a positive divisor. For a negative one both
    # operands are negated: the quotient stays the same, and the remainder changes its sign.
    quotient, remainder = top / bottom, top % bottom
    if right.low < 0:
        is_positive = bottom > 0
        quotient = z3.If(is_positive, quotient, (-top) / (-bottom))
        remainder = z3.If(is_positive, remainder, -((-top) % (-bottom)))
    return SymbolicInteger(quotient, *quotients), SymbolicInteger(remainder, *remainders)


def _division_bounds(left: SymbolicInteger, right: SymbolicInteger) -> tuple[tuple[Bound, Bound], tuple[Bound, Bound]]:
    ends = [end for end in (right.low, right.high, 1, -1) if right.low <= end <= right.high and end != 0]
    corners = [_quotient(one, other) for one in (left.low, left.high) for other in ends]
    low, high = min(0, right.low + 1), max(0, right.high - 1)
    if left.low >= 0 and right.low >= 0:
        high = min(high, left.high)
    return (min(corners), max(corners)), (low, max(high, low))


def _quotient(one: Bound, other: Bound) -> Bound:
    if isinstance(one, int) and isinstance(other, int):
        return one // other
    if math.isinf(other):
        return 0 if (one >= 0) == (other > 0) else -1
    return one if other > 0 else -one


def extremum(operator: str, left: SymbolicInteger, right: SymbolicInteger) -> SymbolicInteger:
    """Return the lesser (`min`) or greater (`max`) of two numbers."""
    choose_bound = min if operator == "min" else max
    is_right = compare("<" if operator == "min" else ">", right, left)
    best = choose(is_right, right, left)
    return narrowed(best, choose_bound(left.low, right.low), choose_bound(left.high, right.high))
