"""The record of a shard's table: the description that the kernels and the search share."""

from __future__ import annotations

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I8, I64, WORD_POINTER, word

MOST_SLOT_WORDS = 1024
"""The greatest number of words of a slot: far beyond the states of any spec that is explored to a billion states."""

OVERFLOW_ENTRIES = 4096
"""The codes for which the list of a shard has memory: those that are too far from their homes."""

OVERFLOW_BEFORE_GROWTH = 16
"""A table with more codes in this list grows before the next insertion: a search for an absent code reads the list."""

MOVED_SLOTS = 4096
"""The slots that move together when a table grows in place.

A block of slots from position a on moves to addresses from its own on if a >= (g * d + 1) / (g - 1), where d is the
greatest displacement + 1 and g = 9 / 8 the growth in bytes: a >= 1160 for d = 128. The first block begins at 0, and is
cleared before any of its codes moves.
"""

_FIELDS = {
    # Addresses.
    "table": 1,  # u8 (bytes of the shape,): the slots
    "moved": 1,  # u8: room for the MOVED_SLOTS slots of a block
    "overflow": 1,  # u64 (OVERFLOW_ENTRIES, 1 + rest words): hash and rest of the codes that are in no slot
    "distinct": 1,  # u64 (counter_words,): how many states each action instance was the first to reach
    # The list of codes that are in no slot.
    "overflow_count": 1,
    "overflow_full": 1,  # 1 after a code did not fit into the list
    # The shape of the table, and the shape to which it grows; 0 next slots: it does not grow.
    "slots": 1,
    "inverse": 1,
    "slot_bytes": 1,
    "next_slots": 1,
    "next_inverse": 1,
    "next_slot_bytes": 1,
}
"""The fields of a record, each with its length in words. The masks of the slots follow: `masks`, then `next_masks`."""

FIELD_OFFSETS = {name: offset for offset, name in enumerate(_FIELDS)}


def record_words(slot_words: int) -> int:
    """Return the words of a record, rounded up to 128 bytes: two workers never write to the same cache lines."""
    return -(-(len(_FIELDS) + 2 * slot_words) // 16) * 16


def mask_offset(slot_words: int, *, is_next: bool) -> int:
    """Return the offset of the masks of a slot in a record, in words."""
    return len(_FIELDS) + (slot_words if is_next else 0)


class TableRecord:
    """The record at an address (i64*), in a kernel under construction."""

    def __init__(self, builder: ir.IRBuilder, address: ir.Value, slot_words: int) -> None:
        self._builder = builder
        self._slot_words = slot_words
        self.address = address

    @classmethod
    def of_shard(cls, builder: ir.IRBuilder, records: ir.Value, shard: ir.Value, slot_words: int) -> TableRecord:
        """Return the record of a shard (i64), given the address of all records."""
        offset = builder.mul(shard, word(record_words(slot_words)))
        return cls(builder, builder.gep(records, [offset], inbounds=True), slot_words)

    def get(self, name: str) -> ir.Value:
        """Return the value (i64) of a field."""
        return self._builder.load(self._slot(FIELD_OFFSETS[name]))

    def set(self, name: str, value: ir.Value) -> None:
        """Replace the value of a field."""
        self._builder.store(value, self._slot(FIELD_OFFSETS[name]))

    def bytes_at(self, name: str) -> ir.Value:
        """Return the bytes (i8*) whose address a field holds."""
        return self._builder.inttoptr(self.get(name), I8.as_pointer())

    def words_at(self, name: str) -> ir.Value:
        """Return the words (i64*) whose address a field holds."""
        return self._builder.inttoptr(self.get(name), WORD_POINTER)

    def masks(self, *, is_next: bool = False) -> list[ir.Value]:
        """Return the bits of a slot in each word from its first byte on."""
        first = mask_offset(self._slot_words, is_next=is_next)
        return [self._builder.load(self._slot(first + number)) for number in range(self._slot_words)]

    def set_masks(self, masks: list[ir.Value]) -> None:
        """Replace the bits of a slot."""
        first = mask_offset(self._slot_words, is_next=False)
        for number, mask in enumerate(masks):
            self._builder.store(mask, self._slot(first + number))

    def _slot(self, offset: int) -> ir.Value:
        return self._builder.gep(self.address, [ir.ConstantValue(I64, offset)], inbounds=True)
