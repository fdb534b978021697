"""Numbers that depend on a constant whose value is left open: to types an infinity, to the prover an expression.

`OpenNumber` is an `int` greater than every other one, so bindings and the front end resolve types with it as with any
number. It keeps its expression over the open constants, which the prover substitutes for the number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

INFINITE = 2**62
"""The number that stands for infinity: the largest that the language has."""

Expression = Any
"""An int, `("constant", name, at_least, at_most)`, or `(operator, left, right)`; None: it is not known."""


class OpenNumber(int):
    """A number without a value of its own: `expression` over open constants; equal to the same expression only."""

    expression: Expression

    def __new__(cls, expression: Expression = None, *, is_negative: bool = False) -> OpenNumber:  # noqa: D102
        made = super().__new__(cls, -INFINITE if is_negative else INFINITE)
        made.expression = expression
        return made

    @classmethod
    def constant(cls, name: str, at_least: int | None, at_most: int | None) -> OpenNumber:
        """Return an open constant."""
        return cls(("constant", name, at_least, at_most))

    @property
    def least(self) -> int:
        """The least value of an open constant, as far as it is declared."""
        is_bounded = isinstance(self.expression, tuple) and self.expression[0] == "constant"
        at_least = self.expression[2] if is_bounded else None
        return OpenNumber(is_negative=True) if at_least is None else int(at_least)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpenNumber):
            return False
        return self.expression == other.expression and int(self) == int(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.expression, int(self)))

    def __add__(self, other: int) -> int:
        return _computed("+", self, other)

    def __radd__(self, other: int) -> int:
        return _computed("+", other, self)

    def __sub__(self, other: int) -> int:
        return _computed("-", self, other)

    def __rsub__(self, other: int) -> int:
        return _computed("-", other, self)

    def __mul__(self, other: int) -> int:
        return _computed("*", self, other)

    def __rmul__(self, other: int) -> int:
        return _computed("*", other, self)

    def __floordiv__(self, other: int) -> int:
        return _computed("//", self, other)

    def __rfloordiv__(self, other: int) -> int:
        return _computed("//", other, self)

    def __mod__(self, other: int) -> int:
        return _computed("%", self, other)

    def __rmod__(self, other: int) -> int:
        return _computed("%", other, self)

    def __pow__(self, other: int, modulus: None = None) -> OpenNumber:  # type: ignore[override]
        return OpenNumber()

    def __rpow__(self, other: int, modulus: None = None) -> OpenNumber:  # type: ignore[override, misc]
        return OpenNumber()

    def __neg__(self) -> int:
        return _computed("-", 0, self)

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
    "*": lambda one, other: 0 if 0 in (one, other) else one * other,
    "//": lambda one, other: one // other,
    "%": lambda one, other: one % other,
}


def _computed(operator: str, left: int, right: int) -> int:
    """Return the result with infinities for open numbers; where that says nothing (inf - inf), an infinity."""
    try:
        value = _FLOATS[operator](_as_float(left), _as_float(right))
    except ZeroDivisionError:
        value = math.nan
    if math.isfinite(value):
        return int(value)
    one, other = expression_of(left), expression_of(right)
    expression = None if one is None or other is None else (operator, one, other)
    return OpenNumber(expression, is_negative=value < 0)


def _as_float(number: int) -> float:
    if not isinstance(number, OpenNumber):
        return number
    return -math.inf if int(number) < 0 else math.inf


def expression_of(number: int) -> Expression:
    """Return the expression of an open number, or the number."""
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
    """Say whether a bound or capacity depends on an open constant."""
    return isinstance(number, OpenNumber)


def open_extreme(operator: str) -> Callable[..., int]:
    """Return `min` or `max` as a declaration's bound has it: of open numbers the expression, not one of them."""
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
    return max(bounds)
