"""Intervals and joins: what the front end says about an expression's values covers all that it can have."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.frontend import compile_spec
from checker.frontend.type_relations import arithmetic_range, can_become, union_type, widen_towards
from checker.language import Range, Seq, Spec, invariant
from checker.language.type_joins import NONE, NOTHING, is_bounded, join
from checker.language.types import LARGEST, BagType, BoolType, IntType, MapType, OptionType, SeqType, SetType

SETTINGS = settings(deadline=None, derandomize=True, database=None, max_examples=300)
bounds = st.tuples(st.integers(-7, 7), st.integers(0, 6)).map(lambda pair: IntType(pair[0], pair[0] + pair[1]))
OPERATIONS = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}


@SETTINGS
@given(operator=st.sampled_from(list(OPERATIONS)), left=bounds, right=bounds)
def test_ranges_hold_every_result(operator: str, left: IntType, right: IntType) -> None:
    kind = arithmetic_range(operator, left, right)
    assert kind is not None
    for one, other in itertools.product(left.values(), right.values()):
        if other or operator not in ("//", "%"):
            assert kind.coerce(OPERATIONS[operator](one, other)) is not None


@SETTINGS
@given(operator=st.sampled_from(["+", "-", "*"]), left=bounds, right=bounds)
def test_ranges_are_no_wider_than_needed(operator: str, left: IntType, right: IntType) -> None:
    results = [OPERATIONS[operator](*pair) for pair in itertools.product(left.values(), right.values())]
    assert arithmetic_range(operator, left, right) == IntType(min(results), max(results))


def test_unknown_bounds_stay_unknown() -> None:
    unknown = IntType(None, None)
    assert arithmetic_range("+", IntType(0, None), IntType(1, 2)) == IntType(1, None)
    assert arithmetic_range("-", IntType(0, None), IntType(0, None)) == unknown
    assert arithmetic_range("%", unknown, IntType(1, 5)) == IntType(0, 4)
    assert arithmetic_range("*", unknown, IntType(1, 5)) is None


@pytest.mark.parametrize("operator", ["+", "*"])
def test_what_could_overflow_is_no_range(operator: str) -> None:
    assert arithmetic_range(operator, IntType(0, LARGEST), IntType(0, LARGEST)) is None


SMALL, SIGNED = IntType(0, 3), IntType(-2, 1)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (SMALL, SIGNED, IntType(-2, 3)),
        (SMALL, NONE, OptionType(SMALL)),
        (OptionType(SMALL), SIGNED, OptionType(IntType(-2, 3))),
        (SMALL, NOTHING, SMALL),
        (SMALL, BoolType(), None),
        (SeqType(SMALL, 2), SeqType(SIGNED, 3), SeqType(IntType(-2, 3), 3)),
        (SeqType(NOTHING, 0), SeqType(SIGNED, 3), SeqType(SIGNED, 3)),
        (SeqType(SMALL, 2), BagType(SMALL, 2), None),
        (SetType(SMALL), SetType(SIGNED), SetType(IntType(-2, 3))),
        (SetType(SMALL), SetType(IntType(50, 99)), SetType(IntType(0, 99), 50)),
        (MapType(BoolType(), SMALL), MapType(BoolType(), SIGNED), MapType(BoolType(), IntType(-2, 3))),
        (MapType(BoolType(), SMALL), MapType(SMALL, SMALL), None),
    ],
)
def test_join(left: object, right: object, expected: object) -> None:
    assert join(left, right) == expected
    assert join(right, left) == expected


def test_union_has_room_for_both() -> None:
    wide = IntType(0, 999)
    assert union_type(SetType(wide, 2), SetType(wide, 3)) == SetType(wide, 5)


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        (SMALL, SIGNED, True),
        (NONE, OptionType(BoolType()), True),
        (OptionType(SMALL), SMALL, True),
        (BoolType(), SMALL, False),
        (SetType(SMALL), SeqType(SMALL, 3), False),
        (SeqType(NONE, 1), SeqType(OptionType(SMALL), 3), True),
    ],
)
def test_can_become(found: object, wanted: object, expected: bool) -> None:
    assert can_become(found, wanted) is expected


def test_a_display_is_typed_by_its_items_too() -> None:
    assert widen_towards(IntType(4, 9), SMALL) == IntType(0, 9)
    assert widen_towards(SMALL, None) == SMALL
    assert widen_towards(IntType(0, None), SMALL) == IntType(0, None)
    assert not is_bounded(IntType(0, None))


@pytest.mark.parametrize(("low", "high", "total"), [(-2, 3, (-6, 9)), (1, 3, (0, 9)), (-3, -1, (-9, 0))])
def test_a_sum_has_room_for_any_number_of_items(low: int, high: int, total: tuple[int, int]) -> None:
    class Summed(Spec):
        items = Seq(Range(low, high), 3)

        @invariant
        def is_zero(self):
            return sum(self.items) == 0

    (returned,) = compile_spec(Summed(), ["is_zero"]).properties[0].function.body
    assert (returned.value.left.type.low, returned.value.left.type.high) == total
