"""Packed states: what is encoded is decoded, and packed bits are ordered as values are."""

from __future__ import annotations

import random

import pytest
from engines import random_value
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.engines.native.lowering.state_layout import decode, encode, layout_of, packed_number, state_layout
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
def test_round_trip(kind: Type, seed: int) -> None:
    layout, chooser = layout_of(kind), random.Random(seed)
    for value in [kind.first(), *(random_value(kind, chooser) for _ in range(5))]:
        words = [0] * layout.storage
        encode(layout, value, words)
        assert all(0 <= word < 2**64 for word in words)
        assert decode(layout, words) == value
        if not layout.is_wide:
            assert words[0] <= layout.mask


@SETTINGS
@given(kind=kinds.filter(lambda kind: not layout_of(kind).is_wide), seed=st.integers(0, 10**6))
def test_order_of_packed_bits(kind: Type, seed: int) -> None:
    chooser = random.Random(seed)
    values = [random_value(kind, chooser) for _ in range(8)]
    by_bits = sorted(values, key=lambda value: packed_number(kind, value))
    assert by_bits == sorted(values, key=kind.sort_key)


@SETTINGS
@given(kinds=st.lists(kinds, min_size=1, max_size=6), seed=st.integers(0, 10**6))
def test_states(kinds: list[Type], seed: int) -> None:
    variables = {f"v{index}": kind for index, kind in enumerate(kinds)}
    layout, chooser = state_layout(variables), random.Random(seed)
    values = {name: random_value(kind, chooser) for name, kind in variables.items()}
    words = layout.encode(values)
    assert len(words) == layout.words
    assert layout.decode(words) == values


@pytest.mark.parametrize("size", [1, 2, 63, 64])
def test_whole_word_bit_sets(size: int) -> None:
    kind = SetType(IntType(1, size))
    every = kind.coerce(set(range(1, size + 1)))
    words = [0]
    encode(layout_of(kind), every, words)
    assert words == [2**size - 1] and decode(layout_of(kind), words) == every
