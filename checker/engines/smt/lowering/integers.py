"""Symbolic integers: a term with an interval. Concrete integers, bit-vectors or mathematical integers.

Representation of an integer with interval [low, high]:

- concrete: a Python `int`; low == high.
- bit-vector: if the interval is finite. Its width is `width_of(low, high)` bits: unsigned if low >= 0, else two's
  complement. The sign is part of the interval, not of the term, so every operation extends its operands by it.
- Z3 Int: if the interval is infinite, or inside `mathematical()`.

Invariant: the value is inside the interval in every state in which the evaluation is alive. Operations compute the
interval of the result first and evaluate at the width that it and the operands need, so nothing ever wraps around.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import z3

from checker.engines.smt.lowering.logic import (
    CONTEXT,
    CONTEXT_REF,
    Term,
    Truth,
    both,
    choose_term,
    equal_terms,
    negate,
)

Bound = int | float
"""An end of an interval: an integer or an infinity."""


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicInteger:
    """An integer and its interval. `term`: an `int` if it is concrete, else a bit-vector or a Z3 Int."""

    term: Any
    low: Bound
    high: Bound

    @property
    def is_concrete(self) -> bool:
        """Whether the number is a Python integer."""
        return isinstance(self.term, int)


_is_mathematical: ContextVar[bool] = ContextVar("is_mathematical", default=False)


@contextmanager
def mathematical() -> Iterator[None]:
    """Represent all integers as Z3 Ints for the duration: mixed with unbounded integers, bit-vectors are slower."""
    token = _is_mathematical.set(True)
    try:
        yield
    finally:
        _is_mathematical.reset(token)


def concrete(number: int) -> SymbolicInteger:
    """Return a Python integer as a symbolic one."""
    return SymbolicInteger(number, number, number)


def width_of(low: Bound, high: Bound) -> int:
    """Return the number of bits that the numbers of a finite interval need."""
    assert isinstance(low, int) and isinstance(high, int)
    if low >= 0:
        return max(1, high.bit_length())
    # Two's complement with n bits ends at -2**(n - 1) and 2**(n - 1) - 1: hence -low - 1, and one bit for the sign.
    return max(high.bit_length() if high >= 0 else 0, (-low - 1).bit_length()) + 1


def is_finite(low: Bound, high: Bound) -> bool:
    """Return whether an interval is finite."""
    return isinstance(low, int) and isinstance(high, int)


def new_integer(name: str, low: Bound, high: Bound) -> SymbolicInteger:
    """Return a new Z3 constant for a number of an interval; the caller asserts `is_well_formed`."""
    if low == high:
        assert isinstance(low, int)
        return concrete(low)
    is_bits = is_finite(low, high) and not _is_mathematical.get()
    term = z3.BitVec(name, width_of(low, high)) if is_bits else z3.Int(name)
    return SymbolicInteger(term, low, high)


def as_bits(number: SymbolicInteger, width: int) -> Term:
    """Return a number as a bit-vector of `width` bits, modulo 2**width."""
    if isinstance(number.term, int):
        return z3.BitVecVal(number.term, width)
    size = number.term.size()
    if size == width:
        return number.term
    if size > width:
        return z3.BitVecRef(z3.Z3_mk_extract(CONTEXT_REF, width - 1, 0, number.term.as_ast()), CONTEXT)
    # The interval of the operand decides, not that of the result: an unsigned operand of a signed operation gets a zero
    # as sign bit.
    extend = z3.Z3_mk_zero_ext if number.low >= 0 else z3.Z3_mk_sign_ext
    return z3.BitVecRef(extend(CONTEXT_REF, width - size, number.term.as_ast()), CONTEXT)


def as_integer(number: SymbolicInteger) -> Term:
    """Return a number as a Z3 Int."""
    if isinstance(number.term, int):
        return z3.IntVal(number.term)
    if isinstance(number.term, z3.BitVecRef):
        return z3.BV2Int(number.term, is_signed=number.low < 0)
    return number.term


def _is_bits(number: SymbolicInteger) -> bool:
    return isinstance(number.term, (int, z3.BitVecRef)) and not _is_mathematical.get()


def are_bits(one: SymbolicInteger, other: SymbolicInteger) -> bool:
    """Return whether two numbers can be represented as bit-vectors."""
    return _is_bits(one) and _is_bits(other)


def fit_number(number: SymbolicInteger, low: Bound, high: Bound) -> SymbolicInteger:
    """Return a number in the representation of an interval; outside the interval any number may result."""
    if isinstance(number.term, int):
        return number
    if low == high:
        assert isinstance(low, int)
        return concrete(low)
    if isinstance(number.term, z3.BitVecRef):
        if is_finite(low, high):
            return SymbolicInteger(as_bits(number, width_of(low, high)), low, high)
        return SymbolicInteger(as_integer(number), low, high)
    if is_finite(low, high) and not _is_mathematical.get():
        # Int2BV reduces modulo 2**width, so a number inside the interval is unchanged.
        return SymbolicInteger(z3.Int2BV(number.term, width_of(low, high)), low, high)
    return SymbolicInteger(number.term, low, high)


def narrowed(number: SymbolicInteger, low: Bound, high: Bound) -> SymbolicInteger:
    """Return a number that is inside an interval with the intersection of both intervals.

    The caller guarantees that the number is inside, or that the evaluation is not alive where it is outside.
    """
    low, high = max(low, number.low), min(high, number.high)
    # An empty intersection means that the evaluation is never alive here. Any interval is then correct.
    if low > high or (low, high) == (number.low, number.high):
        return number
    if not _is_bits(number):
        return SymbolicInteger(number.term, low, high) if low != high else concrete(int(low))
    return fit_number(number, low, high)


def is_well_formed(constant: SymbolicInteger) -> Truth:
    """Return whether a constant made by `new_integer` is inside its interval; its sort may have more values."""
    low, high = constant.low, constant.high
    if isinstance(constant.term, z3.BitVecRef):
        # The comparison needs the interval of the whole sort. With its own interval the constant would be inside by
        # definition, and `compare` would fold the condition to True.
        most = 2 ** constant.term.size()
        return is_inside(
            SymbolicInteger(constant.term, *((-most // 2, most // 2 - 1) if low < 0 else (0, most - 1))), low, high
        )
    return (
        is_inside(SymbolicInteger(constant.term, -math.inf, math.inf), low, high) if not constant.is_concrete else True
    )


def is_inside(number: SymbolicInteger, low: Bound, high: Bound) -> Truth:
    """Return whether a number is inside an interval."""
    above = True if not isinstance(low, int) else compare("<=", concrete(low), number)
    below = True if not isinstance(high, int) else compare("<=", number, concrete(high))
    return both(above, below)


def choose(test: Truth, then: SymbolicInteger, otherwise: SymbolicInteger) -> SymbolicInteger:
    """Return `then if test else otherwise`."""
    if isinstance(test, bool):
        return then if test else otherwise
    low, high = min(then.low, otherwise.low), max(then.high, otherwise.high)
    if low == high:
        return then
    if are_bits(then, otherwise) and is_finite(low, high):
        width = width_of(low, high)
        return SymbolicInteger(choose_term(test, as_bits(then, width), as_bits(otherwise, width)), low, high)
    return SymbolicInteger(choose_term(test, as_integer(then), as_integer(otherwise)), low, high)


# Comparisons.

_SWAPPED = {">": "<", ">=": "<="}


def compare(operator: str, left: SymbolicInteger, right: SymbolicInteger) -> Truth:
    """Return whether a comparison of two integers is true."""
    if operator in _SWAPPED:
        return compare(_SWAPPED[operator], right, left)
    if operator == "!=":
        return negate(compare("==", left, right))
    decided = _decide(operator, left, right)
    if decided is not None:
        return decided
    if not are_bits(left, right):
        one, other = as_integer(left), as_integer(right)
        return {"==": lambda: equal_terms(one, other), "<": lambda: one < other, "<=": lambda: one <= other}[operator]()
    # The common interval contains both operands, so extending them to its width changes no value.
    low, high = min(left.low, right.low), max(left.high, right.high)
    width = width_of(low, high)
    one, other = as_bits(left, width), as_bits(right, width)
    if operator == "==":
        return equal_terms(one, other)
    make = _ORDER[operator, low >= 0]
    return z3.BoolRef(make(CONTEXT_REF, one.as_ast(), other.as_ast()), CONTEXT)


_ORDER: dict[tuple[str, bool], Callable[..., Any]] = {
    ("<", True): z3.Z3_mk_bvult,
    ("<=", True): z3.Z3_mk_bvule,
    ("<", False): z3.Z3_mk_bvslt,
    ("<=", False): z3.Z3_mk_bvsle,
}


def _decide(operator: str, left: SymbolicInteger, right: SymbolicInteger) -> bool | None:
    """Return the result of a comparison that the intervals decide, else None."""
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


# Indices.


def is_index(index: SymbolicInteger, length: SymbolicInteger) -> Truth:
    """Return whether an index is inside a sequence of some length."""
    return both(compare("<=", concrete(0), index), compare("<", index, length))


def is_insertion_index(index: SymbolicInteger, length: SymbolicInteger) -> Truth:
    """Return whether an item can be inserted at an index: inside a sequence of some length, or at its end."""
    return both(compare("<=", concrete(0), index), compare("<=", index, length))
