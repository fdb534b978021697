"""Integers with an interval: known ones, bit-vectors as wide as their interval needs, or mathematical integers.

An integer that the spec bounds is a bit-vector: unsigned where its interval has no negative number, in two's complement
otherwise. Results are as wide as their own interval needs, so nothing ever wraps around. An integer without bounds is
of Z3's sort Int, and so is what is computed with one. While `mathematical()` holds, every integer is of that sort.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import z3

from checker.engines.smt.lowering.logic import CONTEXT, Term, Truth, both, choose_term, equal_terms, negate
from checker.language.symbols import expression_of, is_open
from checker.language.types import IntType

_REF = CONTEXT.ref()

Bound = int | float
"""An end of an interval: an integer, or an infinity."""


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicInteger:
    """An integer: `term` is an `int` where it is known, else a bit-vector of the interval's width or a Z3 Int."""

    term: Any
    low: Bound
    high: Bound

    @property
    def is_concrete(self) -> bool:
        """Whether the number is known."""
        return isinstance(self.term, int)


_is_mathematical: ContextVar[bool] = ContextVar("is_mathematical", default=False)


@contextmanager
def mathematical() -> Iterator[None]:
    """While this holds, no integer is a bit-vector: beside unbounded ones they would cost more than they save."""
    token = _is_mathematical.set(True)
    try:
        yield
    finally:
        _is_mathematical.reset(token)


def concrete(number: int) -> SymbolicInteger:
    """Return a number that is known."""
    return SymbolicInteger(number, number, number)


def bounds_of(kind: IntType) -> tuple[Bound, Bound]:
    """Return the interval of a type; infinite where it has no bound, or one that depends on an unbounded constant."""
    low = -math.inf if kind.low is None or is_open(kind.low) else kind.low
    high = math.inf if kind.high is None or is_open(kind.high) else kind.high
    return low, high


def open_number(bound: int) -> SymbolicInteger | None:
    """Return a number that may depend on unbounded constants; None where its expression is not known."""
    expression = expression_of(bound)
    return None if expression is None else _expressed(expression)


def _expressed(expression: Any) -> SymbolicInteger:
    if isinstance(expression, int):
        return concrete(expression)
    if expression[0] == "constant":
        _, name, low, high = expression
        return SymbolicInteger(
            z3.Int(f"constant {name}"), -math.inf if low is None else low, math.inf if high is None else high
        )
    operator, left, right = expression[0], _expressed(expression[1]), _expressed(expression[2])
    if operator in ("min", "max"):
        return extremum(operator, left, right)
    if operator in ("//", "%"):
        return divide(left, right)[0 if operator == "//" else 1]
    return {"+": add, "-": subtract, "*": multiply}[operator](left, right)


def within_open_bound(number: SymbolicInteger, kind: IntType) -> Truth:
    """Return whether a number is not above a type's upper bound, where that depends on unbounded constants."""
    bound = open_number(kind.high) if is_open(kind.high) else None  # type: ignore[arg-type]
    return True if bound is None else compare("<=", number, bound)


def width_of(low: Bound, high: Bound) -> int:
    """Return how many bits the numbers of a finite interval need."""
    assert isinstance(low, int) and isinstance(high, int)
    if low >= 0:
        return max(1, high.bit_length())
    return max(high.bit_length() if high >= 0 else 0, (-low - 1).bit_length()) + 1


def is_finite(low: Bound, high: Bound) -> bool:
    """Say whether an interval has both ends."""
    return isinstance(low, int) and isinstance(high, int)


def new_integer(name: str, low: Bound, high: Bound) -> SymbolicInteger:
    """Return a new constant for a number of an interval, which the caller keeps within it."""
    if low == high:
        assert isinstance(low, int)
        return concrete(low)
    is_bits = is_finite(low, high) and not _is_mathematical.get()
    term = z3.BitVec(name, width_of(low, high)) if is_bits else z3.Int(name)
    return SymbolicInteger(term, low, high)


def _resized(number: SymbolicInteger, width: int) -> Term:
    """Return a number as a bit-vector of a width, modulo 2 to the power of it."""
    if isinstance(number.term, int):
        return z3.BitVecVal(number.term, width)
    size = number.term.size()
    if size == width:
        return number.term
    if size > width:
        return z3.BitVecRef(z3.Z3_mk_extract(_REF, width - 1, 0, number.term.as_ast()), CONTEXT)
    extend = z3.Z3_mk_zero_ext if number.low >= 0 else z3.Z3_mk_sign_ext
    return z3.BitVecRef(extend(_REF, width - size, number.term.as_ast()), CONTEXT)


def as_integer(number: SymbolicInteger) -> Term:
    """Return a number as a Z3 Int."""
    if isinstance(number.term, int):
        return z3.IntVal(number.term)
    if isinstance(number.term, z3.BitVecRef):
        return z3.BV2Int(number.term, is_signed=number.low < 0)
    return number.term


def _is_bits(number: SymbolicInteger) -> bool:
    return isinstance(number.term, (int, z3.BitVecRef)) and not _is_mathematical.get()


def _in_bits(one: SymbolicInteger, other: SymbolicInteger) -> bool:
    return _is_bits(one) and _is_bits(other)


def fitted(number: SymbolicInteger, low: Bound, high: Bound) -> SymbolicInteger:
    """Return a number that is within an interval in that interval's form; outside it any number may result."""
    if isinstance(number.term, int):
        return number
    if low == high:
        assert isinstance(low, int)
        return concrete(low)
    if isinstance(number.term, z3.BitVecRef):
        if is_finite(low, high):
            return SymbolicInteger(_resized(number, width_of(low, high)), low, high)
        return SymbolicInteger(as_integer(number), low, high)
    if is_finite(low, high) and not _is_mathematical.get():
        return SymbolicInteger(z3.Int2BV(number.term, width_of(low, high)), low, high)
    return SymbolicInteger(number.term, low, high)


def narrowed(number: SymbolicInteger, low: Bound, high: Bound) -> SymbolicInteger:
    """Return a number that is known to be within an interval with the narrower bounds of both."""
    low, high = max(low, number.low), min(high, number.high)
    if low > high or (low, high) == (number.low, number.high):
        return number
    if not _is_bits(number):
        return SymbolicInteger(number.term, low, high) if low != high else concrete(int(low))
    return fitted(number, low, high)


def is_within(constant: SymbolicInteger) -> Truth:
    """Return whether a constant made by `fresh`, which may have any value of its sort, is within its interval."""
    low, high = constant.low, constant.high
    if isinstance(constant.term, z3.BitVecRef):
        most = 2 ** constant.term.size()
        return inside(
            SymbolicInteger(constant.term, *((-most // 2, most // 2 - 1) if low < 0 else (0, most - 1))), low, high
        )
    return inside(SymbolicInteger(constant.term, -math.inf, math.inf), low, high) if not constant.is_concrete else True


def inside(number: SymbolicInteger, low: Bound, high: Bound) -> Truth:
    """Return whether a number is within an interval."""
    above = True if not isinstance(low, int) else compare("<=", concrete(low), number)
    below = True if not isinstance(high, int) else compare("<=", number, concrete(high))
    return both(above, below)


def chosen(test: Truth, then: SymbolicInteger, otherwise: SymbolicInteger) -> SymbolicInteger:
    """Return `then if test else otherwise`."""
    if isinstance(test, bool):
        return then if test else otherwise
    low, high = min(then.low, otherwise.low), max(then.high, otherwise.high)
    if low == high:
        return then
    if _in_bits(then, otherwise) and is_finite(low, high):
        width = width_of(low, high)
        return SymbolicInteger(choose_term(test, _resized(then, width), _resized(otherwise, width)), low, high)
    return SymbolicInteger(choose_term(test, as_integer(then), as_integer(otherwise)), low, high)


# Comparisons.

_SWAPPED = {">": "<", ">=": "<="}


def compare(operator: str, left: SymbolicInteger, right: SymbolicInteger) -> Truth:
    """Return whether a comparison of two integers is true."""
    if operator in _SWAPPED:
        return compare(_SWAPPED[operator], right, left)
    if operator == "!=":
        return negate(compare("==", left, right))
    decided = _decided(operator, left, right)
    if decided is not None:
        return decided
    if not _in_bits(left, right):
        one, other = as_integer(left), as_integer(right)
        return {"==": lambda: equal_terms(one, other), "<": lambda: one < other, "<=": lambda: one <= other}[operator]()
    low, high = min(left.low, right.low), max(left.high, right.high)
    width = width_of(low, high)
    one, other = _resized(left, width), _resized(right, width)
    if operator == "==":
        return equal_terms(one, other)
    make = _ORDER[operator, low >= 0]
    return z3.BoolRef(make(_REF, one.as_ast(), other.as_ast()), CONTEXT)


_ORDER: dict[tuple[str, bool], Callable[..., Any]] = {
    ("<", True): z3.Z3_mk_bvult,
    ("<=", True): z3.Z3_mk_bvule,
    ("<", False): z3.Z3_mk_bvslt,
    ("<=", False): z3.Z3_mk_bvsle,
}


def _decided(operator: str, left: SymbolicInteger, right: SymbolicInteger) -> bool | None:
    """Return the answer where the intervals decide it."""
    if operator == "==":
        if left.high < right.low or right.high < left.low:
            return False
        return True if left.is_concrete and right.is_concrete else None
    is_strict = operator == "<"
    if left.high < right.low or (not is_strict and left.high == right.low):
        return True
    if left.low > right.high or (is_strict and left.low == right.high):
        return False
    return None


# Arithmetic.


def add(left: SymbolicInteger, right: SymbolicInteger) -> SymbolicInteger:
    """Return the sum."""
    return _computed("+", left, right, left.low + right.low, left.high + right.high)


def subtract(left: SymbolicInteger, right: SymbolicInteger) -> SymbolicInteger:
    """Return the difference."""
    return _computed("-", left, right, left.low - right.high, left.high - right.low)


def multiply(left: SymbolicInteger, right: SymbolicInteger) -> SymbolicInteger:
    """Return the product."""
    corners = [_product(one, other) for one in (left.low, left.high) for other in (right.low, right.high)]
    return _computed("*", left, right, min(corners), max(corners))


def _product(one: Bound, other: Bound) -> Bound:
    return 0 if one == 0 or other == 0 else one * other


_BITS = {"+": z3.Z3_mk_bvadd, "-": z3.Z3_mk_bvsub, "*": z3.Z3_mk_bvmul}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
}


def _computed(operator: str, left: SymbolicInteger, right: SymbolicInteger, low: Bound, high: Bound) -> SymbolicInteger:
    if left.is_concrete and right.is_concrete:
        return concrete(_PYTHON[operator](left.term, right.term))
    if right.is_concrete and right.term == 0 and operator != "*":
        return left
    if low == high:
        return concrete(int(low))
    if _in_bits(left, right) and is_finite(low, high):
        width = width_of(low, high)
        one, other = _resized(left, width), _resized(right, width)
        return SymbolicInteger(z3.BitVecRef(_BITS[operator](_REF, one.as_ast(), other.as_ast()), CONTEXT), low, high)
    return SymbolicInteger(_PYTHON[operator](as_integer(left), as_integer(right)), low, high)


def divide(left: SymbolicInteger, right: SymbolicInteger) -> tuple[SymbolicInteger, SymbolicInteger]:
    """Return quotient and remainder, rounded as Python does; where the divisor is 0 any numbers may result."""
    if right.is_concrete and right.term == 0:
        return concrete(0), concrete(0)
    if left.is_concrete and right.is_concrete:
        return concrete(left.term // right.term), concrete(left.term % right.term)
    quotients, remainders = _division_bounds(left, right)
    if not _in_bits(left, right):
        return _divided_integers(left, right, quotients, remainders)
    low, high = min(left.low, right.low, quotients[0]), max(left.high, right.high, quotients[1])
    width = width_of(low, high)
    top, bottom = _resized(left, width), _resized(right, width)
    if low >= 0:
        quotient, remainder = z3.UDiv(top, bottom), z3.URem(top, bottom)
    else:
        quotient, remainder = top / bottom, z3.SRem(top, bottom)
        # Z3 rounds towards zero, Python downwards: they differ where the remainder and the divisor differ in sign.
        differs = z3.And(remainder != 0, (remainder < 0) != (bottom < 0))
        quotient, remainder = z3.If(differs, quotient - 1, quotient), z3.If(differs, remainder + bottom, remainder)
    return (
        fitted(SymbolicInteger(quotient, low, high), *quotients),
        fitted(SymbolicInteger(remainder, low, high), *remainders),
    )


def _divided_integers(
    left: SymbolicInteger, right: SymbolicInteger, quotients: tuple[Bound, Bound], remainders: tuple[Bound, Bound]
) -> tuple[SymbolicInteger, SymbolicInteger]:
    top, bottom = as_integer(left), as_integer(right)
    # Z3's remainder is never negative; with both signs changed a negative divisor is a positive one.
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
    closer = compare("<" if operator == "min" else ">", right, left)
    best = chosen(closer, right, left)
    return narrowed(best, choose_bound(left.low, right.low), choose_bound(left.high, right.high))
