"""The layout of values in 64-bit words, and the codec between words and the interpreter's values.

A value of at most 64 bits is *packed*: one bit field, of which no part crosses a word. A larger value is *wide*: it
starts at a word and takes whole words. Its parts are packed into them in order.

    Struct(a: Range(0, 4), b: bool), packed      Seq(Struct, 40), wide: the length, then items that cross no word
    3       1   0                                word 0            word 1                        word 2
    +-------+---+                                +----------------+-----------------------------+------------
    |   a   | b |                                | length, 6 bits | item 15 | ... |   item 0    | item 16 ..
    +-------+---+                                +----------------+-----------------------------+------------

    scalar             bits
    bool               0 or 1
    integer            the distance from the low bound of its type
    domain, enum       the position of the member
    option of those    0 for None, else the bits of the item plus 1
    other option       a presence bit, then the item
    union              the position of the alternative, then as many bits as the largest alternative needs
    set, no capacity   bit i is set if the item with bits i is in the set

Invariants. Equal values have equal bits: bits that a value does not use are zero, and the items of bags and sets with a
capacity are sorted. In a packed value the first part has the highest bits, so comparing bits as unsigned numbers orders
values as the interpreter orders them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from checker.errors import SpecError, UserError
from checker.language.interpreter import State
from checker.language.types import (
    LARGEST,
    BagType,
    BoolType,
    DomainType,
    EnumType,
    IntType,
    MapType,
    NeverType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
    UnionType,
    count_codes,
)
from checker.language.values import BagValue, SeqValue, SetValue

WORD = 64
SCALARS = (BoolType, IntType, DomainType, EnumType)


@dataclass(frozen=True)
class ValuePart:
    """A part of a composite value: its layout, and its location relative to the composite."""

    layout: ValueLayout
    word: int
    shift: int


@dataclass(frozen=True)
class ArrayItems:
    """An array of equal parts.

    Item i is in word `word + i // per_word`, at `shift + (i % per_word) * step`; wide items are `step` words apart.
    """

    layout: ValueLayout
    count: int
    word: int
    shift: int
    step: int
    per_word: int


@dataclass(frozen=True)
class ValueLayout:
    """The layout of a type's values: their size and the location of their parts. `words` is 0 for a packed value."""

    type: Type
    bits: int
    words: int
    parts: tuple[ValuePart, ...] = ()
    items: ArrayItems | None = None

    @property
    def is_wide(self) -> bool:
        """Whether a value takes whole words."""
        return self.words > 0

    @property
    def storage(self) -> int:
        """The number of words of a variable with such a value."""
        return max(1, self.words)

    @property
    def mask(self) -> int:
        """The bits of a packed value."""
        return (1 << self.bits) - 1


NUMBER = ValueLayout(IntType(0, 2**64 - 1), 64, 0)
"""The layout of a whole word that holds an integer itself, as locals and results do."""


def width(count: int) -> int:
    """Return the number of bits needed to number `count` values."""
    return max(count - 1, 0).bit_length()


@functools.lru_cache(maxsize=4096)
def layout_of(kind: Type) -> ValueLayout:
    """Return the layout of a type; raise SpecError if it cannot be packed."""
    if isinstance(kind, IntType):
        assert kind.low is not None and kind.high is not None
        if kind.low < -LARGEST or kind.high > LARGEST:
            raise SpecError(f"{kind} goes beyond 62 bits: choose nearer bounds")
    if isinstance(kind, SCALARS):
        return ValueLayout(kind, width(kind.cardinality()), 0)
    if isinstance(kind, NeverType):
        return ValueLayout(kind, 0, 0)
    if isinstance(kind, OptionType):
        if isinstance(kind.item, (*SCALARS, NeverType)):
            return ValueLayout(kind, width(kind.cardinality()), 0)
        return _composite(kind, [_bits(1), layout_of(kind.item)], None, 0)
    if isinstance(kind, StructType):
        return _composite(kind, [layout_of(field) for _, field in kind.fields], None, 0)
    if isinstance(kind, UnionType):
        return _union(kind)
    if isinstance(kind, MapType):
        return _composite(kind, [], layout_of(kind.value), kind.key.cardinality())
    if isinstance(kind, SetType) and kind.capacity is None:
        return ValueLayout(kind, _universe_bits(kind), 0)
    if isinstance(kind, (SetType, SeqType, BagType)):
        assert kind.capacity is not None
        item = layout_of(kind.item)
        if item.is_wide and not isinstance(kind, SeqType):
            raise SpecError(f"an item of {kind} takes more than 64 bits: make its type smaller, or keep items in a Seq")
        return _composite(kind, [_bits(width(kind.capacity + 1))], item, kind.capacity)
    raise SpecError(f"a {kind} cannot be stored")


def _universe_bits(kind: SetType) -> int:
    """Return the number of bits of a bit set of this type: one for each bit pattern of an item."""
    count = count_codes(kind.item)
    if count > WORD:
        bits = layout_of(kind.item).bits
        raise SpecError(f"{kind}: packed, an item takes {bits} bits, too many for a bit set: give a capacity")
    return count


def bits_as_number(kind: Type, value: Any) -> int:
    """Return the bits of a packed value, which are also the position of its bit in a bit set."""
    words = [0]
    encode(layout_of(kind), value, words)
    return words[0]


def bit_items(kind: SetType) -> list[tuple[int, Any]]:
    """Return each possible item of a bit set with the position of its bit, in ascending order."""
    return [(bits_as_number(kind.item, item), item) for item in kind.item.values()]


def _bits(count: int) -> ValueLayout:
    return ValueLayout(IntType(0, (1 << count) - 1), count, 0)


def _composite(kind: Type, layouts: list[ValueLayout], item: ValueLayout | None, count: int) -> ValueLayout:
    """Return the layout of single parts followed by `count` items."""
    total = sum(part.bits for part in layouts) + (item.bits * count if item is not None else 0)
    is_wide = total > WORD or any(part.is_wide for part in layouts) or (item is not None and item.is_wide and count > 0)
    return _wide(kind, layouts, item, count) if is_wide else _pack(kind, layouts, item, count, total)


def _union(kind: UnionType) -> ValueLayout:
    """Return the layout of a union: part 0 is the position of the alternative; all alternatives begin at one place."""
    tag = _bits(width(len(kind.alternatives)))
    layouts = [layout_of(alternative) for alternative in kind.alternatives]
    largest = max(layout.bits for layout in layouts)
    if tag.bits + largest <= WORD and not any(layout.is_wide for layout in layouts):
        # A smaller alternative has the lowest bits: those above are zero, so the order of bits is that of values.
        parts = (ValuePart(tag, 0, largest), *(ValuePart(layout, 0, 0) for layout in layouts))
        return ValueLayout(kind, tag.bits + largest, 0, parts)
    words = 1 + max(layout.storage for layout in layouts)
    return ValueLayout(
        kind, words * WORD, words, (ValuePart(tag, 0, 0), *(ValuePart(layout, 1, 0) for layout in layouts))
    )


def _pack(kind: Type, layouts: list[ValueLayout], item: ValueLayout | None, count: int, total: int) -> ValueLayout:
    # From the highest bits down, so that the order of bits is the order of the values.
    parts, top = [], total
    for part in layouts:
        top -= part.bits
        # A shift by a whole word is undefined in LLVM, so a part without bits is placed at bit 0.
        parts.append(ValuePart(part, 0, top if part.bits else 0))
    items = None
    if item is not None:
        # Without items (capacity 0) nothing is at `first`; it must still be a valid shift.
        first = max(top - item.bits, 0)
        items = ArrayItems(item, count, 0, first, -item.bits, max(count, 1))
    return ValueLayout(kind, total, 0, tuple(parts), items)


def _wide(kind: Type, layouts: list[ValueLayout], item: ValueLayout | None, count: int) -> ValueLayout:
    # From the lowest bits up: wide values are compared for equality only, as sets and bags cannot have wide items.
    parts, word, used = [], 0, 0
    for part in layouts:
        if part.bits == 0:
            # It has a location all the same, which must be inside the words of the composite.
            parts.append(ValuePart(part, 0, 0))
            continue
        if part.is_wide or used + part.bits > WORD:
            word, used = word + (used > 0), 0
        parts.append(ValuePart(part, word, used))
        word, used = (word + part.words, 0) if part.is_wide else (word, used + part.bits)
    if item is None:
        words = word + (used > 0)
        return ValueLayout(kind, words * WORD, words, tuple(parts))
    # The items start at a word of their own, so the word of item i follows from i by one division.
    word += used > 0
    if item.is_wide:
        items = ArrayItems(item, count, word, 0, item.words, 1)
        words = word + count * item.words
    else:
        per_word = WORD // item.bits if item.bits else max(count, 1)
        items = ArrayItems(item, count, word, 0, item.bits, per_word)
        # Rounded up. The unused high bits of each word stay zero.
        words = word + -(-count // per_word)
    return ValueLayout(kind, words * WORD, words, tuple(parts), items)


@dataclass(frozen=True)
class StateLayout:
    """The location of each state variable, and the number of words of a state."""

    words: int
    places: dict[str, ValuePart]

    def encode(self, values: dict[str, Any]) -> list[int]:
        """Return the words of a state, each a non-negative int below 2**64."""
        words = [0] * self.words
        for name, place in self.places.items():
            encode(place.layout, values[name], words, place.word, place.shift)
        return words

    def mask_of(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the bits of some variables in each word of a state."""
        masks = [0] * self.words
        for name in names:
            place = self.places[name]
            if place.layout.is_wide:
                masks[place.word : place.word + place.layout.words] = [2**64 - 1] * place.layout.words
            else:
                masks[place.word] |= place.layout.mask << place.shift
        return tuple(masks)

    def state_of(self, words: Iterable[Any]) -> State:
        """Return the state that is packed in some words."""
        return State(self.decode([int(word) for word in words]))

    def decode(self, words: list[int]) -> dict[str, Any]:
        """Return the values of a state's variables."""
        return {name: decode(place.layout, words, place.word, place.shift) for name, place in self.places.items()}


class StateReader:
    """Reads many packed states: each value of a variable is decoded once."""

    def __init__(self, layout: StateLayout):
        self._places = layout.places
        self._known: dict[str, dict[tuple[int, ...], Any]] = {name: {} for name in layout.places}

    def state_of(self, words: list[int]) -> State:
        """Return the state that is packed in some words."""
        return State({name: self._value(name, place, words) for name, place in self._places.items()})

    def _value(self, name: str, place: ValuePart, words: list[int]) -> Any:
        layout, known = place.layout, self._known[name]
        if layout.is_wide:
            bits = tuple(words[place.word : place.word + layout.words])
        else:
            bits = (words[place.word] >> place.shift & layout.mask,)
        if bits not in known:
            known[bits] = decode(layout, list(bits))
        return known[bits]


def state_layout(variables: dict[str, Type]) -> StateLayout:
    """Return the layout of a state: wide variables have their own words; the others are packed first-fit decreasing."""
    layouts = {}
    for name, kind in variables.items():
        try:
            layouts[name] = layout_of(kind)
        except UserError as error:
            raise SpecError(f"{name}: {error.message}") from None
    # free[i]: the number of bits of word i that are in use. The words of wide variables count as full.
    free: list[int] = []
    parts: dict[str, ValuePart] = {}
    # A stable sort: the layout depends only on the types and the order of declaration, so every process has the same.
    for name in sorted(layouts, key=lambda name: -layouts[name].bits):
        layout = layouts[name]
        if layout.is_wide:
            parts[name] = ValuePart(layout, len(free), 0)
            free.extend([WORD] * layout.words)
            continue
        if layout.bits == 0:
            parts[name] = ValuePart(layout, 0, 0)
            continue
        word = next((word for word, used in enumerate(free) if used + layout.bits <= WORD), len(free))
        if word == len(free):
            free.append(0)
        parts[name] = ValuePart(layout, word, free[word])
        free[word] += layout.bits
    # A spec without variables still has one word, since a state has at least one.
    return StateLayout(max(1, len(free)), {name: parts[name] for name in variables})


def item_place(items: ArrayItems, index: int) -> tuple[int, int]:
    """Return the word and shift of item `index`, relative to the composite's own."""
    if items.layout.is_wide:
        return items.word + index * items.step, 0
    return items.word + index // items.per_word, items.shift + (index % items.per_word) * items.step


def encode_scalar(kind: Type, value: Any) -> int:
    """Return the bits of a scalar."""
    # None is 0, so a zeroed word is a valid value of every option.
    if isinstance(kind, OptionType):
        return 0 if value is None else 1 + encode_scalar(kind.item, value)
    if isinstance(kind, IntType):
        assert kind.low is not None
        return int(value) - kind.low
    if isinstance(kind, DomainType):
        return int(value.index)
    if isinstance(kind, EnumType):
        return list(kind.declared).index(value)
    return int(value)


def decode_scalar(kind: Type, number: int) -> Any:
    """Return the scalar with some bits."""
    if isinstance(kind, OptionType):
        return None if number == 0 else decode_scalar(kind.item, number - 1)
    if isinstance(kind, IntType):
        assert kind.low is not None
        return number + kind.low
    if isinstance(kind, DomainType):
        return kind.members[number]
    if isinstance(kind, EnumType):
        return list(kind.declared)[number]
    return bool(number)


def _is_scalar(kind: Type) -> bool:
    return isinstance(kind, SCALARS) or (isinstance(kind, OptionType) and isinstance(kind.item, (*SCALARS, NeverType)))


def encode(layout: ValueLayout, value: Any, words: list[int], word: int = 0, shift: int = 0) -> None:
    """Write a value's bits into zeroed words."""
    # Bits are or-ed in, which is only right because the caller passes zeroed words.
    kind = layout.type
    if _is_scalar(kind):
        words[word] |= encode_scalar(kind, value) << shift
    elif isinstance(kind, OptionType):
        if value is not None:
            _encode_part(layout.parts[0], 1, words, word, shift)
            _encode_part(layout.parts[1], value, words, word, shift)
    elif isinstance(kind, StructType):
        for (name, _), part in zip(kind.fields, layout.parts, strict=True):
            _encode_part(part, value.field(name), words, word, shift)
    elif isinstance(kind, UnionType):
        position = kind.position_of(value)
        assert position is not None
        _encode_part(layout.parts[0], position, words, word, shift)
        _encode_part(layout.parts[1 + position], value, words, word, shift)
    elif isinstance(kind, SetType) and kind.capacity is None:
        words[word] |= sum(1 << bits_as_number(kind.item, item) for item in value) << shift
    else:
        items = value.items_in_order() if isinstance(kind, MapType) else tuple(value)
        if layout.parts:
            _encode_part(layout.parts[0], len(items), words, word, shift)
        assert layout.items is not None
        for index, item in enumerate(items):
            at, by = item_place(layout.items, index)
            encode(layout.items.layout, item, words, word + at, shift + by)


def _encode_part(part: ValuePart, value: Any, words: list[int], word: int, shift: int) -> None:
    encode(part.layout, value, words, word + part.word, shift + part.shift)


def decode(layout: ValueLayout, words: list[int], word: int = 0, shift: int = 0) -> Any:
    """Return the value whose bits are in `words` at a word and shift."""
    kind = layout.type
    if _is_scalar(kind):
        return decode_scalar(kind, words[word] >> shift & layout.mask)
    if isinstance(kind, OptionType):
        return (
            _decode_part(layout.parts[1], words, word, shift)
            if _decode_part(layout.parts[0], words, word, shift)
            else None
        )
    if isinstance(kind, StructType):
        fields = zip(kind.fields, layout.parts, strict=True)
        return kind.declared.of({name: _decode_part(part, words, word, shift) for (name, _), part in fields})
    if isinstance(kind, UnionType):
        position = _decode_part(layout.parts[0], words, word, shift)
        return _decode_part(layout.parts[1 + position], words, word, shift)
    if isinstance(kind, SetType) and kind.capacity is None:
        bits = words[word] >> shift & layout.mask
        return SetValue(kind, tuple(item for index, item in bit_items(kind) if bits >> index & 1))
    assert layout.items is not None
    count = layout.items.count if isinstance(kind, MapType) else _decode_part(layout.parts[0], words, word, shift)
    places = [item_place(layout.items, index) for index in range(count)]
    items = tuple(decode(layout.items.layout, words, word + at, shift + by) for at, by in places)
    if isinstance(kind, MapType):
        return kind.made(items)
    if isinstance(kind, SeqType):
        return SeqValue(kind, items)
    return SetValue(kind, items) if isinstance(kind, SetType) else BagValue(kind, items)


def _decode_part(part: ValuePart, words: list[int], word: int, shift: int) -> Any:
    return decode(part.layout, words, word + part.word, shift + part.shift)
