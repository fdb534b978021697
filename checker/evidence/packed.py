"""Tallies of packed states: a few passes over a column of bits each, with no Python object for a state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.lowering.state_layout import StateLayout, ValueLayout, bit_items, item_place
from checker.evidence.tallies import MOST_LISTED, Tallies, add_seen, is_scalar, key_of
from checker.language.types import BagType, IntType, MapType, OptionType, SeqType, SetType, StructType, Type

Words = NDArray[np.uint64]

_COUNTED = 1 << 20
"""Numbers below this are counted in an array; of larger types the least and the greatest are enough."""

_NARROW_BITS = 20
_BLOCK = 1 << 15
"""Numbers are marked in blocks that stay in the cache."""


def tallies_of(layout: StateLayout, states: Words) -> Tallies:
    """Return what each part of the states (n, words) takes, n >= 1."""
    tallies: Tallies = {}
    # A column is read once for each part in it: together in memory it is read fast.
    columns = np.ascontiguousarray(states.T)
    for name, place in layout.places.items():
        _Columns(tallies, columns).tally(name, place.layout, place.word, place.shift)
    return tallies


def constant_variables(layout: StateLayout, states: Words) -> dict[str, Any]:
    """Return the variables that have one value in all states (n, words), and that value."""
    changing = np.bitwise_or.reduce(states ^ states[0], axis=0)
    first = layout.decode([int(word) for word in states[0]])
    found = {}
    for name, place in layout.places.items():
        size = max(1, place.layout.words)
        mask = (place.layout.mask << place.shift) if not place.layout.is_wide else 2**64 - 1
        if not any(int(word) & mask for word in changing[place.word : place.word + size]):
            found[name] = first[name]
    return found


class _Columns:
    """Counts over the columns (words, n) of some states."""

    def __init__(self, tallies: Tallies, columns: Words):
        self.tallies, self.columns = tallies, columns

    def tally(self, path: str, layout: ValueLayout, word: int, shift: int) -> None:
        """Count a part whose bits begin at a word and shift."""
        kind = layout.type
        if not self.columns.shape[1]:
            return
        if not layout.is_wide and layout.bits <= _NARROW_BITS and self.columns.shape[1] > 1 << layout.bits:
            # Few bits have few values: from here on only those are looked at, however many states there are.
            values = _distinct(self._bits(word, shift, layout.bits), 1 << layout.bits)
            column = np.array([sorted(values)], dtype=np.uint64)
            _Columns(self.tallies, column).tally(path, layout, 0, 0)
            return
        if is_scalar(kind):
            add_seen(self.tallies, path, kind, self._numbers(kind, layout.bits, word, shift))
        elif isinstance(kind, OptionType):
            flag, inner = layout.parts
            present = self._bits(word + flag.word, shift + flag.shift, 1)
            add_seen(self.tallies, path, kind, _distinct(present, 2))
            self._where(present == 1).tally(path, inner.layout, word + inner.word, shift + inner.shift)
        elif isinstance(kind, StructType):
            for (name, _), part in zip(kind.fields, layout.parts, strict=True):
                self.tally(f"{path}.{name}", part.layout, word + part.word, shift + part.shift)
        elif isinstance(kind, SetType) and kind.capacity is None:
            self._bit_set(path, kind, layout.bits, word, shift)
        else:
            self._items(path, kind, layout, word, shift)

    def _where(self, chosen: NDArray[np.bool_]) -> _Columns:
        return self if chosen.all() else _Columns(self.tallies, self.columns[:, chosen])

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
        add_seen(self.tallies, path, kind, seen)

    def _items(self, path: str, kind: Type, layout: ValueLayout, word: int, shift: int) -> None:
        assert layout.items is not None
        within = self
        count, lengths = layout.items.count, None
        if isinstance(kind, MapType):
            path = f"{path}[{key_of(kind)}]"
        else:
            assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
            head = layout.parts[0]
            lengths = self._bits(word + head.word, shift + head.shift, head.layout.bits)
            add_seen(self.tallies, path, kind, _distinct(lengths, kind.capacity + 1))
            path = f"{path}[]"
        for index in range(count):
            if lengths is not None:
                chosen = lengths > index
                if not chosen.any():
                    break
                within = self._where(chosen)
            at, by = item_place(layout.items, index)
            within.tally(path, layout.items.layout, word + at, shift + by)


def _distinct(numbers: Words, count: int) -> set[int]:
    """Return which of `count` numbers there are; of too many, the least and the greatest."""
    if count > _COUNTED:
        return {int(numbers.min()), int(numbers.max())}
    seen = np.zeros(count, dtype=np.bool_)
    for first in range(0, len(numbers), _BLOCK):
        seen[numbers[first : first + _BLOCK]] = True
    return set(np.flatnonzero(seen).tolist())
