"""Numbers that depend on an open constant, a constant without a value in an unbounded proof.

`OpenNumber` is an `int` that is greater (or, negated, less) than every other int. Bindings and the front end therefore
resolve types with it as with any number: a bound that depends on an open constant is infinite. It also keeps its
expression over the open constants, which the prover uses in place of the number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

INFINITE = 2**62
"""The int that represents infinity: the largest integer of the language."""

Expression = Any
"""An int, `("constant", name, at_least, at_most)`, `(operator, left, right)`, or None if it is unknown."""


class OpenNumber(int):
    """A number that depends on open constants through `expression`; equal only to a number with the same expression."""

    expression: Expression

    def __new__(cls, expression: Expression = None, *, is_negative: bool = False) -> OpenNumber:  # noqa: D102
        # An int, so that comparisons with bounds work without special cases: it compares as infinite.
        made = super().__new__(cls, -INFINITE if is_negative else INFINITE)
        made.expression = expression
        return made

    @classmethod
    def constant(cls, name: str, at_least: int | None, at_most: int | None) -> OpenNumber:
        """Return an open constant."""
        return cls(("constant", name, at_least, at_most))

    @property
    def least(self) -> int:
        """The declared lower bound of an open constant; minus infinity for other open numbers."""
        is_bounded = isinstance(self.expression, tuple) and self.expression[0] == "constant"
        at_least = self.expression[2] if is_bounded else None
        return OpenNumber(is_negative=True) if at_least is None else int(at_least)

    # Not equal to the plain int 2**62: otherwise a type with this bound could be taken for an unbounded one.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpenNumber):
            return False
        return self.expression == other.expression and int(self) == int(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.expression, int(self)))

    def __add__(self, other: int) -> int:
        return _compute("+", self, other)

    def __radd__(self, other: int) -> int:
        return _compute("+", other, self)

    def __sub__(self, other: int) -> int:
        return _compute("-", self, other)

    def __rsub__(self, other: int) -> int:
        return _compute("-", other, self)

    def __mul__(self, other: int) -> int:
        return _compute("*", self, other)

    def __rmul__(self, other: int) -> int:
        return _compute("*", other, self)

    def __floordiv__(self, other: int) -> int:
        return _compute("//", self, other)

    def __rfloordiv__(self, other: int) -> int:
        return _compute("//", other, self)

    def __mod__(self, other: int) -> int:
        return _compute("%", self, other)

    def __rmod__(self, other: int) -> int:
        return _compute("%", other, self)

    def __pow__(self, other: int, modulus: None = None) -> OpenNumber:  # type: ignore[override]
        # Powers occur in cardinalities only; their expression is never needed.
        return OpenNumber()

    def __rpow__(self, other: int, modulus: None = None) -> OpenNumber:  # type: ignore[override, misc]
        return OpenNumber()

    def __neg__(self) -> int:
        return _compute("-", 0, self)

    def __abs__(self) -> int:
        return -self if int(self) < 0 else self

    def __str__(self) -> str:
        if self.expression is None:
            return "-inf" if int(self) < 0 else "inf"
        return _text(self.expression)

    __repr__ = __str__


_FLOATS: dict[str, Callable[[float, float], float]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    # 0 * inf is not a number for floats, but 0 for cardinalities.
    "*": lambda one, other: 0 if 0 in (one, other) else one * other,
    "//": lambda one, other: one // other,
    "%": lambda one, other: one % other,
}


def _compute(operator: str, left: int, right: int) -> int:
    """Return the result of an operator, with infinities in place of open numbers.

    A finite result is an ordinary int: `3 // open` is 0, which declarations refuse. An infinite or undefined result
    (inf - inf) is an open number with the expression of the operation.
    """
    try:
        value = _FLOATS[operator](_as_float(left), _as_float(right))
    except ZeroDivisionError:
        # Undefined, so the result is an open number.
        value = math.nan
    if math.isfinite(value):
        return int(value)
    one, other = expression_of(left), expression_of(right)
    expression = None if one is None or other is None else (operator, one, other)
    # NaN is not below 0: an undefined result counts as positive infinity.
    return OpenNumber(expression, is_negative=value < 0)


def _as_float(number: int) -> float:
    if not isinstance(number, OpenNumber):
        return number
    return -math.inf if int(number) < 0 else math.inf


def expression_of(number: int) -> Expression:
    """Return the expression of an open number; other numbers unchanged."""
    return number.expression if isinstance(number, OpenNumber) else number


def _text(expression: Expression) -> str:
    if isinstance(expression, int):
        return str(expression)
    if expression[0] == "constant":
        return str(expression[1])
    operator, left, right = expression
    if operator in ("min", "max"):
        return f"{operator}({_text(left)}, {_text(right)})"
    if operator in "+-" and left == 0:
        return f"-{_text(right)}" if operator == "-" else _text(right)
    return f"({_text(left)} {operator} {_text(right)})" if operator != "+" else f"{_text(left)} + {_text(right)}"


def is_open(number: int | None) -> bool:
    """Return whether a bound or capacity depends on an open constant."""
    return isinstance(number, OpenNumber)


def open_extreme(operator: str) -> Callable[..., int]:
    """Return the function `min` or `max` for bounds in declarations: of open numbers it returns the expression."""
    choose: Callable[..., int] = min if operator == "min" else max

    def extreme(*numbers: int) -> int:
        result = numbers[0]
        for number in numbers[1:]:
            if is_open(result) or is_open(number):
                result = OpenNumber((operator, expression_of(result), expression_of(number)))
            else:
                result = choose(result, number)
        return result

    return extreme


def upper_bound(*bounds: int) -> int:
    """Return the largest of some bounds, or infinity if they include different open numbers, which have no order."""
    if len(set(bounds)) > 1 and any(is_open(bound) and bound > 0 for bound in bounds):
        return OpenNumber()
    # Equal open numbers, or none above 0: the order of the ints is right.
    return max(bounds)
