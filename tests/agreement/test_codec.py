"""Packed states: decoding inverts encoding, and the order of the packed bits is the order of the values."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.engines.native.lowering.state_layout import bits_as_number, decode, encode, layout_of, state_layout
from checker.language import Domain, Enum, Struct
from checker.language.declarations import Binding
from checker.language.types import (
    BagType,
    BoolType,
    EnumType,
    IntType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
    count_codes,
)
from tests.agreement.engines import random_value

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True, database=None)


class Node(Domain):
    size, prefix = 3, "n"


class Role(Enum):
    C = 1
    A = 9
    B = 4


class Pair(Struct):
    left: int
    right: int


NODE = Binding({}).resolve(Node)
scalars = st.one_of(
    st.just(BoolType()),
    st.just(NODE),
    st.just(EnumType(Role)),
    st.builds(lambda low, size: IntType(low, low + size), st.integers(-40, 40), st.integers(0, 200)),
    st.just(IntType(-(2**40), 2**40)),
)


def composites(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    counts = st.integers(0, 5)
    plain = inner.filter(lambda kind: not isinstance(kind, OptionType))
    narrow = inner.filter(lambda kind: not layout_of(kind).is_wide)
    keys = scalars.filter(lambda kind: kind.cardinality() <= 8)
    small = narrow.filter(lambda kind: kind.cardinality() <= 64 and count_codes(kind) <= 64)
    return st.one_of(
        st.builds(OptionType, plain),
        st.builds(lambda left, right: StructType(Pair, (("left", left), ("right", right))), inner, inner),
        st.builds(MapType, keys, inner),
        st.builds(SetType, small),
        st.builds(SetType, narrow, counts),
        st.builds(SeqType, inner, counts),
        st.builds(BagType, narrow, counts),
    )


kinds = st.recursive(scalars, composites, max_leaves=4)


@SETTINGS
@given(kind=kinds, seed=st.integers(0, 10**6))
def test_decoding_inverts_encoding(kind: Type, seed: int) -> None:
    layout, chooser = layout_of(kind), random.Random(seed)
    for value in [kind.first(), *(random_value(kind, chooser) for _ in range(5))]:
        words = [0] * layout.storage
        encode(layout, value, words)
        assert all(0 <= word < 2**64 for word in words)
        assert decode(layout, words) == value
        if not layout.is_wide:
            assert words[0] <= layout.mask


@pytest.mark.parametrize(
    "kind",
    [
        StructType(Pair, (("left", SetType(IntType(-(2**40), 2**40), 2)), ("right", SeqType(BoolType(), 0)))),
        StructType(Pair, (("left", IntType(3, 3)), ("right", SetType(IntType(1, 64))))),
    ],
    ids=["after a wide part", "beside a whole word"],
)
def test_part_without_bits_is_inside_the_words(kind: StructType) -> None:
    layout = layout_of(kind)
    assert all(part.word < layout.storage and part.shift < 64 for part in layout.parts)
    words = [0] * layout.storage
    encode(layout, kind.first(), words)
    assert decode(layout, words) == kind.first()


def test_variable_without_bits_is_inside_the_words() -> None:
    layout = state_layout({"whole": SetType(IntType(1, 64)), "empty": SeqType(BoolType(), 0)})
    assert layout.places["empty"].shift < 64


@SETTINGS
@given(kind=kinds.filter(lambda kind: not layout_of(kind).is_wide), seed=st.integers(0, 10**6))
def test_packed_bits_have_the_order_of_values(kind: Type, seed: int) -> None:
    chooser = random.Random(seed)
    values = [random_value(kind, chooser) for _ in range(8)]
    by_bits = sorted(values, key=lambda value: bits_as_number(kind, value))
    assert by_bits == sorted(values, key=kind.sort_key)


@SETTINGS
@given(kind=kinds.filter(lambda kind: kind.cardinality() <= 200))
def test_positions_number_the_values(kind: Type) -> None:
    values = list(kind.values())
    assert [kind.position(kind.coerce(value)) for value in values] == list(range(len(values)))


@SETTINGS
@given(kinds=st.lists(kinds, min_size=1, max_size=6), seed=st.integers(0, 10**6))
def test_decoding_inverts_encoding_of_states(kinds: list[Type], seed: int) -> None:
    variables = {f"v{index}": kind for index, kind in enumerate(kinds)}
    layout, chooser = state_layout(variables), random.Random(seed)
    values = {name: random_value(kind, chooser) for name, kind in variables.items()}
    words = layout.encode(values)
    assert len(words) == layout.words
    assert layout.decode(words) == values


@pytest.mark.parametrize("size", [1, 2, 63, 64])
def test_bit_set_of_a_whole_word(size: int) -> None:
    kind = SetType(IntType(1, size))
    every = kind.coerce(set(range(1, size + 1)))
    words = [0]
    encode(layout_of(kind), every, words)
    assert words == [2**size - 1] and decode(layout_of(kind), words) == every
