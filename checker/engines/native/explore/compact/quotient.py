"""Quotients: the home slot of a code in a table carries a part of the code; only the remainder is stored.

A code of `code_bits` bits is split into the low `hash_bits` = min(64, code_bits) bits, the key, and the rest above it.
The key is mixed with the rest to a hash of as many bits, and a table of n slots divides the hash:

    hash        bijection of the key, for each rest                          `mix_key`, `unmix_key`
    home        floor(hash * n / 2**hash_bits)                               below n
    start       floor(home * floor(2**64 / n) / 2**(64 - hash_bits))         at most the lowest hash with this home
    remainder   hash - start                                                 stored
    rest        as it is                                                     stored

Every step has an inverse: home and remainder give the hash, hash and rest the key. Two codes are therefore equal if
and only if their homes, remainders and rests are equal. Nothing is approximate. See Cleary, "Compact hash tables using
bidirectional linear probing", 1984, and van der Vegt and Laarman, "A parallel compact hash table", 2011.

A slot has whole bytes, the lowest bits first:

    +---------------------+---------------------+-----------------------------+-----------+
    | displacement + 1,   | rest,               | remainder,                  | 0         |
    | or 0 for empty      | code_bits - 64 bits | fewer bits in larger tables |           |
    +---------------------+---------------------+-----------------------------+-----------+

The displacement is the distance of the slot from the home. A slot with the greatest displacement that fits cannot move
on: such a code goes to a short list instead, which every search for an absent code reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I64, word

DISPLACEMENT_BITS = 7
"""The bits of displacement + 1. With a load of 0.9, one code in about 10**11 is further from its home."""

INITIAL_SLOTS = 4096

LOAD_NUMERATOR, LOAD_DENOMINATOR = 9, 10
"""A table grows when its load would exceed this ratio."""

GROWTH_NUMERATOR, GROWTH_DENOMINATOR = 9, 8
"""The ratio by which the bytes of a table grow. Its load then stays above 0.8."""

_WORD = 64
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xBF58476D1CE4E5B9)
"""Odd numbers: 2**64 divided by the golden ratio, and the factors of degski's and Stafford's 64-bit mixers."""


@dataclass(frozen=True)
class TableShape:
    """The sizes of a table with `slots` home slots for codes of `code_bits` bits."""

    code_bits: int
    slots: int = INITIAL_SLOTS
    displacement_bits: int = DISPLACEMENT_BITS

    @property
    def hash_bits(self) -> int:
        """The bits of a hash, and of the key."""
        return min(_WORD, self.code_bits)

    @property
    def rest_bits(self) -> int:
        """The bits of a code that are stored as they are."""
        return self.code_bits - self.hash_bits

    @property
    def inverse(self) -> int:
        """The factor by which a home becomes the start of its hashes."""
        return (1 << _WORD) // self.slots

    @property
    def greatest_mark(self) -> int:
        """The greatest displacement + 1."""
        return (1 << self.displacement_bits) - 1

    @property
    def remainder_bits(self) -> int:
        """The bits of a remainder.

        With s = 2**(64 - hash_bits): hash < (home + 1) * 2**hash_bits / slots, and start is less than home / s + 1
        below home * 2**hash_bits / slots. So a remainder is below 2**hash_bits / slots + slots / s + 2.
        """
        bound = (1 << self.hash_bits) // self.slots + (self.slots >> (_WORD - self.hash_bits)) + 3
        return min(self.hash_bits, bound.bit_length())

    @property
    def slot_bytes(self) -> int:
        """The bytes of a slot."""
        return -(-(self.displacement_bits + self.rest_bits + self.remainder_bits) // 8)

    @property
    def slot_words(self) -> int:
        """The words that a slot may touch if it begins with one of them."""
        return -(-self.slot_bytes // 8)

    @property
    def all_slots(self) -> int:
        """The slots with those after the last home, which displaced codes take."""
        return self.slots + self.greatest_mark

    @property
    def bytes(self) -> int:
        """The bytes of the table, and of the words that are read beyond its last slot."""
        return (self.all_slots + 2) * self.slot_bytes + 2 * _WORD // 8 * (self.slot_words + 1)

    @property
    def most_states(self) -> int:
        """The number of codes above which the table grows."""
        return self.slots * LOAD_NUMERATOR // LOAD_DENOMINATOR

    def masks(self, words: int) -> list[int]:
        """Return the bits of a slot in each of `words` words from its first byte on."""
        bits = 8 * self.slot_bytes
        return [(1 << min(_WORD, max(0, bits - _WORD * number))) - 1 for number in range(words)]

    def grown(self) -> TableShape:
        """Return the next larger shape: of more bytes by an eighth, even if its slots are smaller."""
        wanted = self.slots * self.slot_bytes * GROWTH_NUMERATOR
        shape = replace(self, slots=-(-wanted // (self.slot_bytes * GROWTH_DENOMINATOR)) + 1)
        if shape.slot_bytes < self.slot_bytes:
            # Growing in place moves every code to a higher address, so fewer bytes a slot must mean more slots.
            shape = replace(self, slots=-(-wanted // (shape.slot_bytes * GROWTH_DENOMINATOR)) + 1)
        return shape

    def for_states(self, count: int) -> TableShape:
        """Return the first shape, from this one on, that takes `count` codes."""
        shape = self
        while shape.most_states < count:
            shape = shape.grown()
        return shape

    def divide(self, hashed: int) -> tuple[int, int]:
        """Return the home and the remainder of a hash."""
        home = hashed * self.slots >> self.hash_bits
        return home, hashed - self.start_of(home)

    def start_of(self, home: int) -> int:
        """Return the start of the hashes of a home."""
        return home * self.inverse >> _WORD - self.hash_bits


def mix_key(code: int, code_bits: int) -> int:
    """Return the hash of a code: a bijection of its low 64 bits for each value of the others."""
    bits = min(_WORD, code_bits)
    value = (code ^ _fold(code >> bits, code_bits - bits)) & (1 << bits) - 1
    for multiplier in _MULTIPLIERS[:2]:
        value ^= value >> (bits + 1) // 2
        value = value * multiplier & (1 << bits) - 1
    return value


def unmix_key(hashed: int, rest: int, code_bits: int) -> int:
    """Return the code of a hash and of the bits above the key: the inverse of `mix_key`."""
    bits = min(_WORD, code_bits)
    value = hashed
    for multiplier in _MULTIPLIERS[1::-1]:
        value = value * pow(multiplier, -1, 1 << bits) & (1 << bits) - 1
        # The shift is at least half of the bits, so the upper half is unchanged and one step undoes it.
        value ^= value >> (bits + 1) // 2
    return rest << bits | (value ^ _fold(rest, code_bits - bits)) & (1 << bits) - 1


def _fold(rest: int, bits: int) -> int:
    """Return a 64-bit hash of the `bits` bits above the key, word by word."""
    value = 0
    for shift in range(0, bits, _WORD):
        value = (value ^ rest >> shift & 2**_WORD - 1) * _MULTIPLIERS[2] % 2**_WORD
        value ^= value >> 32
    return value


def emit_mixed_key(builder: ir.IRBuilder, code: list[ir.Value], code_bits: int) -> ir.Value:
    """Emit the hash (i64) of a code, which is given as words."""
    bits = min(_WORD, code_bits)
    key, *rest = code
    folded: ir.Value = word(0)
    for part in rest:
        folded = builder.mul(builder.xor(folded, part), word(_MULTIPLIERS[2]))
        folded = builder.xor(folded, builder.lshr(folded, word(32)))
    value = builder.xor(key, folded)
    for multiplier in _MULTIPLIERS[:2]:
        value = builder.xor(value, builder.lshr(value, word((bits + 1) // 2)))
        value = builder.and_(builder.mul(value, word(multiplier)), word((1 << bits) - 1))
    return value


def emit_home(builder: ir.IRBuilder, hashed: ir.Value, slots: ir.Value, hash_bits: int) -> ir.Value:
    """Emit the home (i64) of a hash."""
    wide = ir.IntegerType(2 * _WORD)
    product = builder.mul(builder.zext(hashed, wide), builder.zext(slots, wide))
    return builder.trunc(builder.lshr(product, ir.ConstantValue(wide, hash_bits)), I64)


def emit_start(builder: ir.IRBuilder, home: ir.Value, inverse: ir.Value, hash_bits: int) -> ir.Value:
    """Emit the start (i64) of the hashes of a home."""
    return builder.lshr(builder.mul(home, inverse), word(_WORD - hash_bits))
