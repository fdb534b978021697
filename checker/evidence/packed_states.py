"""Observations of packed states: vectorised passes over columns of bits, without a Python object per state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.lowering.state_layout import StateLayout, ValueLayout, bit_items, item_place
from checker.evidence.observed_values import MOST_LISTED, Observations, field_path, is_scalar, observe_numbers, path_key
from checker.language.types import (
    BagType,
    IntType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
    UnionType,
)

Words = NDArray[np.uint64]

_COUNTED = 1 << 20
"""Types with at most this many values are counted in an array; for larger types only the extremes are kept."""

_NARROW_BITS = 20
_BLOCK = 1 << 15
"""Numbers are processed in blocks of this many, which fit into the processor's cache."""


def observations_of(layout: StateLayout, states: Words) -> Observations:
    """Return the observed values of each part of the states; `states` has the shape (n, words), n >= 1."""
    observations: Observations = {}
    # Each column is read once per part in it. Contiguous columns are read fastest.
    columns = np.ascontiguousarray(states.T)
    for name, place in layout.places.items():
        _Columns(observations, columns).observe(name, place.layout, place.word, place.shift)
    return observations


def constant_variables(layout: StateLayout, states: Words) -> dict[str, Any]:
    """Return the variables with the same value in all states, and that value; `states` has the shape (n, words)."""
    changing = np.bitwise_or.reduce(states ^ states[0], axis=0)
    first = layout.decode([int(word) for word in states[0]])
    constant = {}
    for name, place in layout.places.items():
        size = max(1, place.layout.words)
        mask = (place.layout.mask << place.shift) if not place.layout.is_wide else 2**64 - 1
        if not any(int(word) & mask for word in changing[place.word : place.word + size]):
            constant[name] = first[name]
    return constant


class _Columns:
    """Observations of the columns of some states; `columns` has the shape (words, n)."""

    def __init__(self, observations: Observations, columns: Words):
        self.observations, self.columns = observations, columns

    def observe(self, path: str, layout: ValueLayout, word: int, shift: int) -> None:
        """Record the values of a part whose bits begin at bit `shift` of the word `word`."""
        kind = layout.type
        if not self.columns.shape[1]:
            return
        if not layout.is_wide and layout.bits <= _NARROW_BITS and self.columns.shape[1] > 1 << layout.bits:
            # A part of a few bits has few distinct values: continue with these instead of one value per state.
            values = _distinct(self._bits(word, shift, layout.bits), 1 << layout.bits)
            column = np.array([sorted(values)], dtype=np.uint64)
            _Columns(self.observations, column).observe(path, layout, 0, 0)
            return
        if is_scalar(kind):
            observe_numbers(self.observations, path, kind, self._numbers(kind, layout.bits, word, shift))
        elif isinstance(kind, OptionType):
            flag, inner = layout.parts
            present = self._bits(word + flag.word, shift + flag.shift, 1)
            observe_numbers(self.observations, path, kind, _distinct(present, 2))
            self._where(present == 1).observe(path, inner.layout, word + inner.word, shift + inner.shift)
        elif isinstance(kind, UnionType):
            tag, *parts = layout.parts
            positions = self._bits(word + tag.word, shift + tag.shift, tag.layout.bits)
            for position, part in enumerate(parts):
                chosen = self._where(positions == position)
                chosen.observe(f"{path}.{part.layout.type}", part.layout, word + part.word, shift + part.shift)
        elif isinstance(kind, StructType):
            for (name, _), part in zip(kind.fields, layout.parts, strict=True):
                self.observe(field_path(path, kind, name), part.layout, word + part.word, shift + part.shift)
        elif isinstance(kind, SetType) and kind.capacity is None:
            self._bit_set(path, kind, layout.bits, word, shift)
        else:
            self._items(path, kind, layout, word, shift)

    def _where(self, chosen: NDArray[np.bool_]) -> _Columns:
        return self if chosen.all() else _Columns(self.observations, self.columns[:, chosen])

    def _bits(self, word: int, shift: int, bits: int) -> Words:
        numbers: Words = (self.columns[word] >> np.uint64(shift)) & np.uint64((1 << bits) - 1)
        return numbers

    def _numbers(self, kind: Type, bits: int, word: int, shift: int) -> set[int]:
        if bits == 0:
            return {0}
        numbers = self._bits(word, shift, bits)
        is_large = isinstance(kind, IntType) and kind.cardinality() > MOST_LISTED
        return _distinct(numbers, kind.cardinality() if not is_large else _COUNTED + 1)

    def _bit_set(self, path: str, kind: SetType, bits: int, word: int, shift: int) -> None:
        ever = int(np.bitwise_or.reduce(self._bits(word, shift, bits)))
        seen = {number for number, (bit, _) in enumerate(bit_items(kind)) if ever >> bit & 1}
        observe_numbers(self.observations, path, kind, seen)

    def _items(self, path: str, kind: Type, layout: ValueLayout, word: int, shift: int) -> None:
        assert layout.items is not None
        within = self
        count, lengths = layout.items.count, None
        if isinstance(kind, MapType):
            path = f"{path}[{path_key(kind)}]"
        else:
            assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
            head = layout.parts[0]
            lengths = self._bits(word + head.word, shift + head.shift, head.layout.bits)
            observe_numbers(self.observations, path, kind, _distinct(lengths, kind.capacity + 1))
            path = f"{path}[]"
        for index in range(count):
            if lengths is not None:
                chosen = lengths > index
                if not chosen.any():
                    break
                within = self._where(chosen)
            at, by = item_place(layout.items, index)
            within.observe(path, layout.items.layout, word + at, shift + by)


def _distinct(numbers: Words, count: int) -> set[int]:
    """Return the distinct numbers, all below `count`; only the least and the greatest if `count` is large."""
    if count > _COUNTED:
        return {int(numbers.min()), int(numbers.max())}
    seen = np.zeros(count, dtype=np.bool_)
    for first in range(0, len(numbers), _BLOCK):
        seen[numbers[first : first + _BLOCK]] = True
    return set(np.flatnonzero(seen).tolist())
