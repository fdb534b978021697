"""Conversions between types agree with the interpreter: which values the other type has, and what they become there."""

import itertools

import pytest

from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.encoding import constant, decoded
from checker.errors import BoundsError
from checker.language.types import BagType, IntType, OptionType, SeqType, SetType, Type

NARROW, WIDE = IntType(0, 2, "Narrow"), IntType(1, 4, "Wide")
TYPES: list[Type] = [
    *(OptionType(item) for item in (NARROW, WIDE)),
    *(collection(item, size) for collection in (SeqType, BagType) for item in (NARROW, WIDE) for size in (0, 1, 2)),
    *(SetType(item, size) for item in (NARROW, WIDE) for size in (None, 0, 1, 2)),
]


def coerced(target: Type, value: object) -> object:
    try:
        return target.coerce(value)
    except BoundsError:
        return None


@pytest.mark.parametrize("source", TYPES, ids=str)
def test_a_converted_value_is_that_of_the_interpreter(source):
    targets = [target for target in TYPES if type(target) is type(source)]
    for target, value in itertools.product(targets, source.values()):
        result, has_it = converted(constant(source, value), source, target)
        wanted = coerced(target, value)
        assert has_it is (wanted is not None or value is None), (target, value)
        assert not has_it or decoded(target, result, lambda term: term) == wanted
