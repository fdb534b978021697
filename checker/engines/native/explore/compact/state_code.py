"""The code of a packed state: an integer of as few bits as the variables need, different for different states.

A packed state has unused bits, which are always zero, and fields with fewer values than bit patterns. The code is a
number in a mixed radix: each field is a digit, and its radix is the number of its values. Digits are combined into
groups of at most 64 bits, and the code is the concatenation of the groups, the first one in the lowest bits.

    digit of a scalar                    its bits
    digit of a small compound field      the rank of its bits among the patterns that values have, from a table
    digits of a larger compound field    those of its parts and items

A table never omits a pattern that a value has, so two states have the same code only if they are equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I16, I32, I64, word
from checker.engines.native.lowering.state_layout import (
    SCALARS,
    WORD,
    StateLayout,
    ValueLayout,
    ValuePart,
    item_place,
    layout_of,
)
from checker.ir import nodes
from checker.language.types import MapType, NeverType, OptionType, SetType, UnionType

TABLE_BITS = 12
"""The most bits of a field that is ranked by a table: 2**12 entries of two bytes stay in the first-level cache."""


@dataclass(frozen=True)
class Digit:
    """`bits` bits of a word of the state from bit `shift` on, as a digit below `radix`.

    `ranks` maps the bits to the digit; None: they are the digit.
    """

    word: int
    shift: int
    bits: int
    radix: int
    ranks: tuple[int, ...] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every pattern of the bits is a digit."""
        return self.ranks is None and self.radix == 1 << self.bits

    def of(self, words: Sequence[int]) -> int:
        """Return the digit of a state."""
        value = words[self.word] >> self.shift & (1 << self.bits) - 1
        return value if self.ranks is None else self.ranks[value]


@dataclass(frozen=True)
class StateCode:
    """The code of the states of a layout. A group has digits with a product of radices of at most 2**64."""

    groups: tuple[tuple[Digit, ...], ...]

    @classmethod
    def of_layout(cls, layout: StateLayout) -> StateCode:
        """Return the code of the states of a layout."""
        return cls._of_places(layout.places.values())

    @classmethod
    def of_view(cls, layout: StateLayout, view: nodes.View) -> tuple[StateCode, int]:
        """Return the code of what a view distinguishes, and the number of words that `explore_view` writes.

        Those words, if there are any, follow those of the state.
        """
        places = [layout.places[name] for name in view.kept]
        if view.computed is None:
            return cls._of_places(places), 0
        value = layout_of(view.computed.type)
        has_failed = Digit(layout.words + value.storage, 0, 1, 2)
        return cls._of_places([*places, ValuePart(value, layout.words, 0)], has_failed), value.storage + 1

    @classmethod
    def _of_places(cls, places: Iterable[ValuePart], *more: Digit) -> StateCode:
        return cls(_group(_merge([*(digit for place in places for digit in _digits(place)), *more])))

    @classmethod
    def of_words(cls, words: int) -> StateCode:
        """Return the code of states of which every bit may be set."""
        return cls(tuple((Digit(number, 0, WORD, 1 << WORD),) for number in range(words)))

    @property
    def bits(self) -> int:
        """The number of bits of a code, at least 1."""
        return max(1, sum(_bits_of(group) for group in self.groups))

    @property
    def words(self) -> int:
        """The number of words of a code."""
        return -(-self.bits // WORD)

    def encode(self, words: Sequence[int]) -> int:
        """Return the code of a packed state."""
        code = position = 0
        for group in self.groups:
            value = 0
            for digit in group:
                value = value * digit.radix + digit.of(words)
            code |= value << position
            position += _bits_of(group)
        return code

    def emit(self, builder: ir.IRBuilder, words: list[ir.Value]) -> list[ir.Value]:
        """Emit the code of a packed state; return its words, the lowest first."""
        code: list[ir.Value] = [word(0)] * self.words
        position = 0
        for group in self.groups:
            value = _emit_group(builder, group, words)
            at, shift = divmod(position, WORD)
            position += _bits_of(group)
            code[at] = builder.or_(code[at], builder.shl(value, word(shift)))
            if shift and position > (at + 1) * WORD:
                code[at + 1] = builder.lshr(value, word(WORD - shift))
        return code

    def emit_words(self, builder: ir.IRBuilder, code: list[ir.Value], words: int) -> list[ir.Value]:
        """Emit the inverse of `emit`: return the `words` words of the packed state of a code."""
        state: list[ir.Value] = [word(0)] * words
        position = 0
        for group in self.groups:
            bits = _bits_of(group)
            at, shift = divmod(position, WORD)
            position += bits
            value = builder.lshr(code[at], word(shift))
            if shift and position > (at + 1) * WORD:
                value = builder.or_(value, builder.shl(code[at + 1], word(WORD - shift)))
            if bits < WORD:
                value = builder.and_(value, word((1 << bits) - 1))
            _emit_digits(builder, group, value, state)
        return state


def _bits_of(group: tuple[Digit, ...]) -> int:
    product = 1
    for digit in group:
        product *= digit.radix
    return (product - 1).bit_length()


# The digits of a layout.


def _digits(place: ValuePart) -> Iterator[Digit]:
    """Yield the digits of a value at a place of the state."""
    layout = place.layout
    if not layout.is_wide:
        if layout.bits == 0:
            return
        if _is_scalar(layout):
            yield Digit(place.word, place.shift, layout.bits, layout.type.cardinality())
            return
        if layout.bits <= TABLE_BITS:
            yield _rank_digit(place)
            return
        if isinstance(layout.type, SetType) and layout.type.capacity is None:
            yield Digit(place.word, place.shift, layout.bits, 1 << layout.bits)
            return
    if isinstance(layout.type, UnionType):
        # The alternatives share their bits, so no part is a digit.
        yield from _whole_bits(place)
        return
    for part in layout.parts:
        yield from _digits(ValuePart(part.layout, place.word + part.word, place.shift + part.shift))
    if layout.items is not None:
        for index in range(layout.items.count):
            at, by = item_place(layout.items, index)
            yield from _digits(ValuePart(layout.items.layout, place.word + at, place.shift + by))


def _whole_bits(place: ValuePart) -> Iterator[Digit]:
    """Yield digits that take every bit of a value as it is."""
    if not place.layout.is_wide:
        yield Digit(place.word, place.shift, place.layout.bits, 1 << place.layout.bits)
        return
    for number in range(place.layout.words):
        yield Digit(place.word + number, 0, WORD, 1 << WORD)


def _is_scalar(layout: ValueLayout) -> bool:
    kind = layout.type
    return isinstance(kind, SCALARS) or (isinstance(kind, OptionType) and isinstance(kind.item, (*SCALARS, NeverType)))


def _rank_digit(place: ValuePart) -> Digit:
    layout = place.layout
    patterns = sorted(set(_patterns(layout)))
    if len(patterns) == 1 << layout.bits:
        return Digit(place.word, place.shift, layout.bits, len(patterns))
    # A pattern that no value has is never read; its rank is no digit.
    ranks = [len(patterns)] * (1 << layout.bits)
    for rank, pattern in enumerate(patterns):
        ranks[pattern] = rank
    return Digit(place.word, place.shift, layout.bits, len(patterns), tuple(ranks))


def _patterns(layout: ValueLayout) -> Iterable[int]:
    """Return the bit patterns that values of a packed layout have, or more."""
    kind = layout.type
    if layout.bits == 0:
        return [0]
    if _is_scalar(layout):
        return range(kind.cardinality())
    if isinstance(kind, SetType) and kind.capacity is None:
        return range(1 << layout.bits)
    if isinstance(kind, OptionType):
        presence, item = layout.parts
        return [0, *(1 << presence.shift | pattern << item.shift for pattern in _patterns(item.layout))]
    if isinstance(kind, UnionType):
        tag, *alternatives = layout.parts
        return [
            number << tag.shift | pattern << part.shift
            for number, part in enumerate(alternatives)
            for pattern in _patterns(part.layout)
        ]
    if layout.items is None:
        return _combinations([[pattern << part.shift for pattern in _patterns(part.layout)] for part in layout.parts])
    shifts = [item_place(layout.items, index)[1] for index in range(layout.items.count)]
    of_item = list(_patterns(layout.items.layout))
    by_item = [[pattern << shift for pattern in of_item] for shift in shifts]
    if isinstance(kind, MapType):
        return _combinations(by_item)
    (length,) = layout.parts
    return [
        count << length.shift | pattern
        for count in range(layout.items.count + 1)
        for pattern in _combinations(by_item[:count])
    ]


def _combinations(choices: list[list[int]]) -> list[int]:
    """Return the union of one pattern from each list, for every choice."""
    return [sum(chosen) for chosen in itertools.product(*choices)]


def _merge(digits: list[Digit]) -> list[Digit]:
    """Merge neighbouring digits of which every pattern is a value: one shift and mask for all of them."""
    merged: list[Digit] = []
    for digit in sorted(digits, key=lambda digit: (digit.word, digit.shift)):
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.is_whole
            and digit.is_whole
            and last.word == digit.word
            and last.shift + last.bits == digit.shift
        ):
            bits = last.bits + digit.bits
            merged[-1] = Digit(last.word, last.shift, bits, 1 << bits)
        else:
            merged.append(digit)
    return merged


def _group(digits: list[Digit]) -> tuple[tuple[Digit, ...], ...]:
    """Divide digits into groups with a product of radices of at most 2**64: first-fit decreasing."""
    groups: list[list[Digit]] = []
    products: list[int] = []
    for digit in sorted(digits, key=lambda digit: -digit.radix):
        position = next((at for at, product in enumerate(products) if product * digit.radix <= 1 << WORD), len(groups))
        if position == len(groups):
            groups.append([])
            products.append(1)
        groups[position].append(digit)
        products[position] *= digit.radix
    return tuple(tuple(group) for group in groups)


# The code of a state in LLVM.


def _emit_group(builder: ir.IRBuilder, group: tuple[Digit, ...], words: list[ir.Value]) -> ir.Value:
    value: ir.Value = word(0)
    for number, digit in enumerate(group):
        digit_value = _emit_digit(builder, digit, words)
        if number == 0:
            value = digit_value
        elif digit.is_whole:
            value = builder.or_(builder.shl(value, word(digit.bits)), digit_value)
        else:
            value = builder.add(builder.mul(value, word(digit.radix)), digit_value)
    return value


def _emit_digit(builder: ir.IRBuilder, digit: Digit, words: list[ir.Value]) -> ir.Value:
    if digit.bits == WORD:
        return words[digit.word]
    value = builder.and_(builder.lshr(words[digit.word], word(digit.shift)), word((1 << digit.bits) - 1))
    if digit.ranks is None:
        return value
    table = _rank_table(builder.module, digit.ranks)
    rank = builder.load(builder.gep(table, [ir.ConstantValue(I32, 0), value], inbounds=True))
    return builder.zext(rank, I64)


def _emit_digits(builder: ir.IRBuilder, group: tuple[Digit, ...], value: ir.Value, state: list[ir.Value]) -> None:
    """Emit the bits of the digits of a group with a value, and include them in the words of a state."""
    # The first digit is the most significant one: what is left of the value when the others are taken off.
    for number, digit in reversed(list(enumerate(group))):
        bits = value
        if number and digit.is_whole:
            bits = builder.and_(value, word(digit.radix - 1))
            value = builder.lshr(value, word(digit.bits))
        elif number:
            rest = builder.udiv(value, word(digit.radix))
            bits = builder.sub(value, builder.mul(rest, word(digit.radix)))
            value = rest
        if digit.ranks is not None:
            patterns = {rank: pattern for pattern, rank in enumerate(digit.ranks)}
            table = _rank_table(builder.module, tuple(patterns[rank] for rank in range(digit.radix)))
            bits = builder.zext(builder.load(builder.gep(table, [ir.ConstantValue(I32, 0), bits], inbounds=True)), I64)
        state[digit.word] = builder.or_(state[digit.word], builder.shl(bits, word(digit.shift)))


def _rank_table(module: ir.Module, ranks: tuple[int, ...]) -> ir.GlobalVariable:
    """Return the constant array (i16) of some ranks; equal tables are one."""
    kind = ir.ArrayType(I16, len(ranks))
    content = ir.ConstantValue(kind, list(ranks))
    tables = [variable for variable in module.globals.values() if isinstance(variable, ir.GlobalVariable)]
    for variable in tables:
        # The text of an array has the types of its items, and as many as there are.
        if variable.initializer is not None and variable.initializer.ref == content.ref:
            return variable
    table = ir.GlobalVariable(module, kind, f"ranks.{len(tables)}")
    table.initializer, table.global_constant, table.linkage = content, True, "internal"
    return table
