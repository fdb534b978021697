"""One representative for all states that differ only in the names of a domain's members, by sorting the members.

It serves states that consist of one slice for each member (its entries in maps, its bits in sets, whether a scalar
names it) and of a rest that mentions no member. The representative has the slices in ascending order. Members with
equal slices can be exchanged without an effect, so the representative does not depend on how ties are ordered.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I1, I64, WORD_POINTER, word
from checker.engines.native.llvm.words import read_words, write_words
from checker.engines.native.lowering.state_layout import WORD, StateLayout, ValuePart, item_place
from checker.errors import SpecError
from checker.language.permutations import mentions
from checker.language.types import DomainType, MapType, OptionType, SetType


@dataclass(frozen=True)
class _Bits:
    """`count` bits of a word of the state, from bit `shift` on."""

    word: int
    shift: int
    count: int

    @property
    def mask(self) -> int:
        return (1 << self.count) - 1


@dataclass(frozen=True)
class _MemberName:
    """A scalar that names a member: its bits are the member's index plus `offset`. `offset` is 1 if it may be None."""

    bits: _Bits
    offset: int


class SortedMembers:
    """The slices of a domain's members in a state layout.

    Raises SpecError if a variable refers to members in a way that has no slices, such as a sequence of members.
    """

    def __init__(self, layout: StateLayout, domain: DomainType):
        self.domain = domain
        self.count = domain.cardinality()
        self._words = layout.words
        self._slices: list[list[_Bits]] = [[] for _ in range(self.count)]
        self._names: list[_MemberName] = []
        for variable, place in layout.places.items():
            self._add(variable, place)
        self._groups = self._group()

    @staticmethod
    def suits(layout: StateLayout, domain: DomainType) -> bool:
        """Return whether every state in a layout consists of slices and a rest."""
        try:
            SortedMembers(layout, domain)
        except SpecError:
            return False
        return True

    def _add(self, variable: str, place: ValuePart) -> None:
        kind = place.layout.type
        if not mentions(kind, self.domain):
            return
        if kind == self.domain or (isinstance(kind, OptionType) and kind.item == self.domain):
            bits = _Bits(place.word, place.shift, place.layout.bits)
            self._names.append(_MemberName(bits, offset=0 if kind == self.domain else 1))
        elif isinstance(kind, SetType) and kind.item == self.domain and kind.capacity is None:
            for index, slice_ in enumerate(self._slices):
                slice_.append(_Bits(place.word, place.shift + index, 1))
        elif isinstance(kind, MapType) and kind.key == self.domain and not mentions(kind.value, self.domain):
            items = place.layout.items
            assert items is not None
            for index, slice_ in enumerate(self._slices):
                at, by = item_place(items, index)
                if items.layout.is_wide:
                    slice_ += [_Bits(place.word + at + part, 0, WORD) for part in range(items.layout.words)]
                elif items.layout.bits:
                    slice_.append(_Bits(place.word + at, place.shift + by, items.layout.bits))
        else:
            raise SpecError(f"{variable}: {kind} has no slices of {self.domain}")

    def _group(self) -> list[list[int]]:
        """Return the numbers of the parts of a slice in groups that fit into a word: fewer words to compare.

        Part number n + i stands for the bit that says whether name i is this member, after n parts of the slice.
        """
        sizes = [bits.count for bits in self._slices[0]] + [1] * len(self._names)
        groups: list[list[int]] = []
        free = 0
        for number, size in sorted(enumerate(sizes), key=lambda numbered: -numbered[1]):
            if size > free:
                groups.append([])
                free = WORD
            groups[-1].append(number)
            free -= size
        return groups

    def _width(self, number: int) -> int:
        parts = self._slices[0]
        return parts[number].count if number < len(parts) else 1

    def define(self, module: ir.Module) -> ir.IrFunction:
        """Define `void representative(i64* state)`: replace a state by its representative."""
        function = ir.IrFunction(module, ir.FunctionType(ir.VoidType(), [WORD_POINTER]), "representative")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        words = read_words(builder, function.args[0], self._words)
        keys = [
            [self._emit_key(builder, words, member, group) for group in self._groups] for member in range(self.count)
        ]
        _emit_sort(builder, keys)
        write_words(builder, function.args[0], self._emit_words(builder, words, keys))
        builder.ret_void()
        return function

    def _emit_key(self, builder: ir.IRBuilder, words: list[ir.Value], member: int, group: list[int]) -> ir.Value:
        key = word(0)
        for number in group:
            if number < len(self._slices[member]):
                value = _extract(builder, words, self._slices[member][number])
            else:
                name = self._names[number - len(self._slices[member])]
                named = builder.icmp_unsigned("==", _extract(builder, words, name.bits), word(member + name.offset))
                value = builder.zext(named, I64)
            size = self._width(number)
            key = value if size == WORD else builder.or_(builder.shl(key, word(size)), value)
        return key

    def _emit_words(self, builder: ir.IRBuilder, words: list[ir.Value], keys: list[list[ir.Value]]) -> list[ir.Value]:
        """Emit the words of the state whose slices have these keys, one key per position."""
        cleared = [0] * self._words
        for bits in (*itertools.chain(*self._slices), *(name.bits for name in self._names)):
            cleared[bits.word] |= bits.mask << bits.shift
        placed_words = [builder.and_(old, word(~mask)) for old, mask in zip(words, cleared, strict=True)]
        for position, key in enumerate(keys):
            for group, packed in zip(self._groups, key, strict=True):
                for number, value in self._emit_parts(builder, group, packed):
                    bits, placed = self._place(builder, position, number, value)
                    placed_words[bits.word] = builder.or_(
                        placed_words[bits.word], builder.shl(placed, word(bits.shift))
                    )
        return placed_words

    def _emit_parts(self, builder: ir.IRBuilder, group: list[int], packed: ir.Value) -> Iterator[tuple[int, ir.Value]]:
        """Yield the numbers and values of the parts that `_emit_key` packed."""
        below = 0
        for number in reversed(group):
            size = self._width(number)
            yield number, _extract(builder, [packed], _Bits(0, below, size))
            below += size

    def _place(self, builder: ir.IRBuilder, position: int, number: int, value: ir.Value) -> tuple[_Bits, ir.Value]:
        """Return where part `number` of the slice at a position is stored, and what is stored there."""
        parts = self._slices[position]
        if number < len(parts):
            return parts[number], value
        name = self._names[number - len(parts)]
        # One position is named at most, and the others store 0, so the scalar is the disjunction over the positions.
        return name.bits, builder.mul(value, word(position + name.offset))


def _extract(builder: ir.IRBuilder, words: list[ir.Value], bits: _Bits) -> ir.Value:
    if bits.count == WORD:
        return words[bits.word]
    return builder.and_(builder.lshr(words[bits.word], word(bits.shift)), word(bits.mask))


def _emit_sort(builder: ir.IRBuilder, keys: list[list[ir.Value]]) -> None:
    """Emit a bubble sort of keys without branches: there are few, and the comparisons of a pass overlap."""
    for end in range(len(keys) - 1, 0, -1):
        for position in range(end):
            one, other = keys[position], keys[position + 1]
            is_greater = _emit_greater(builder, one, other)
            pairs = list(zip(one, other, strict=True))
            keys[position] = [builder.select(is_greater, b, a) for a, b in pairs]
            keys[position + 1] = [builder.select(is_greater, a, b) for a, b in pairs]


def _emit_greater(builder: ir.IRBuilder, one: list[ir.Value], other: list[ir.Value]) -> ir.Value:
    """Emit the lexicographic comparison of two keys."""
    is_greater: ir.Value = ir.ConstantValue(I1, 0)
    for a, b in reversed(list(zip(one, other, strict=True))):
        is_equal = builder.icmp_unsigned("==", a, b)
        is_greater = builder.select(is_equal, is_greater, builder.icmp_unsigned(">", a, b))
    return is_greater
