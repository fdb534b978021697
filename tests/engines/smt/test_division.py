"""Quotients and remainders as terms, compared with Python for every combination of signs, in both lowerings."""

from contextlib import nullcontext

import pytest
import z3

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.arithmetic import divide
from checker.engines.smt.lowering.encoding import number_in
from checker.engines.smt.lowering.integers import concrete, new_integer

INTERVALS = [(-7, 7), (-7, -1), (1, 7), (0, 7), (-7, 0), (-7, 1), (-1, 7), (3, 3), (-3, -3)]
LOWERINGS = {"bit vectors": nullcontext, "mathematical integers": integers.mathematical}


def number(name, low, high):
    """Return a symbolic number of an interval, concrete if it has one value."""
    return concrete(low) if low == high else new_integer(name, low, high)


def given(symbol, value):
    """Return the substitution of a value for a symbolic number."""
    if symbol.is_concrete:
        return []
    term = symbol.term
    return [(term, z3.BitVecVal(value, term.size()) if z3.is_bv(term) else z3.IntVal(value))]


@pytest.mark.parametrize("lowering", LOWERINGS)
@pytest.mark.parametrize("divisors", INTERVALS, ids=str)
@pytest.mark.parametrize("dividends", INTERVALS, ids=str)
def test_division_is_python_s(lowering, dividends, divisors):
    with LOWERINGS[lowering]():
        top, bottom = number("top", *dividends), number("bottom", *divisors)
        quotient, remainder = divide(top, bottom)
        for one in range(dividends[0], dividends[1] + 1):
            for other in range(divisors[0], divisors[1] + 1):
                values = [*given(top, one), *given(bottom, other)]

                def evaluate(term, values=values):
                    return z3.simplify(z3.substitute(term, *values))

                if other != 0:
                    found = number_in(quotient, evaluate), number_in(remainder, evaluate)
                    assert found == divmod(one, other), (one, other)
                    # The intervals of the results hold for every value.
                    assert quotient.low <= found[0] <= quotient.high and remainder.low <= found[1] <= remainder.high


def test_a_divisor_without_bounds_may_be_negative():
    with integers.mathematical():
        top, bottom = (new_integer(name, float("-inf"), float("inf")) for name in ("top", "bottom"))
        quotient, remainder = divide(top, bottom)
        for one, other in [(7, 3), (-7, 3), (7, -3), (-7, -3), (6, -3), (-6, 3), (0, -3)]:
            values = [*given(top, one), *given(bottom, other)]

            def evaluate(term, values=values):
                return z3.simplify(z3.substitute(term, *values))

            assert (number_in(quotient, evaluate), number_in(remainder, evaluate)) == divmod(one, other)
