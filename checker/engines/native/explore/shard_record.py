"""Access to the record and the arrays of a shard from a kernel under construction, and the hash of a state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from checker.engines.native.explore.memory_layout import (
    FIELD_OFFSETS,
    ORIGIN_SHIFT,
    RECORD_WORDS,
    SHARD_BITS,
    SHARDS,
    MemoryLayout,
)
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I16, I32, WORD_POINTER, for_loop, word
from checker.engines.native.llvm.words import item, write_words

_HASH_MULTIPLIER = 0x9E3779B97F4A7C15
_HASH_FINISHER = 0xD6E8FEB86659FD93
"""Odd multipliers: 2**64 divided by the golden ratio (Knuth, TAOCP 6.4), and the one of degski's 64-bit mixer."""


class ShardRecord:
    """The record of one shard: `address` (i64*) in the function that `builder` builds; fields as in `memory_layout`."""

    def __init__(self, builder: ir.IRBuilder, address: ir.Value, layout: MemoryLayout) -> None:
        self._builder = builder
        self._layout = layout
        self.address = address

    @classmethod
    def of_shard(cls, builder: ir.IRBuilder, records: ir.Value, shard: ir.Value, layout: MemoryLayout) -> ShardRecord:
        """Return the record of a shard (i64), given the address of all records."""
        offset = builder.mul(shard, word(RECORD_WORDS))
        return cls(builder, builder.gep(records, [offset], inbounds=True), layout)

    def slot(self, name: str, index: ir.Value | None = None) -> ir.Value:
        """Return the address (i64*) of a field, or of item `index` of a field with several words."""
        offset = word(FIELD_OFFSETS[name])
        if index is not None:
            offset = self._builder.add(offset, index)
        return self._builder.gep(self.address, [offset], inbounds=True)

    def get(self, name: str, index: ir.Value | None = None) -> ir.Value:
        """Return the value (i64) of a field, or of its item `index`."""
        return self._builder.load(self.slot(name, index))

    def set(self, name: str, value: ir.Value, index: ir.Value | None = None) -> None:
        """Replace the value of a field, or of its item `index`."""
        self._builder.store(value, self.slot(name, index))

    def array(self, name: str, pointer: ir.IrType = WORD_POINTER) -> ir.Value:
        """Return the array whose address a field holds, as a pointer of a type."""
        return self._builder.inttoptr(self.get(name), pointer)

    def table(self) -> ir.Value:
        """Return the table (i32*)."""
        return self.array("table", I32.as_pointer())

    def outbox(self, target: ir.Value) -> ir.Value:
        """Return the address of the first entry of the outbox to a target shard (i64)."""
        offset = self._builder.mul(target, word(self._layout.outbox_capacity * self._layout.entry_words))
        return self._builder.gep(self.array("outboxes"), [offset], inbounds=True)

    def append(self, position: ir.Value, state: list[ir.Value], origin: ir.Value) -> None:
        """Store a state and its origin (parent id | instance << 48) at a local index; `count` is left to the caller."""
        builder = self._builder
        write_words(builder, item(builder, self.array("states"), position, self._layout.words), state)
        parent = builder.gep(self.array("parents", I32.as_pointer()), [position], inbounds=True)
        # A parent id has 32 bits in this store, and an instance the highest 16.
        builder.store(builder.trunc(origin, I32), parent)
        instance = builder.gep(self.array("instances", I16.as_pointer()), [position], inbounds=True)
        builder.store(builder.trunc(builder.lshr(origin, word(ORIGIN_SHIFT)), I16), instance)


@contextmanager
def inbox_blocks(
    builder: ir.IRBuilder, records: ir.Value, shard: ir.Value, layout: MemoryLayout, most: int
) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Emit a loop over the entries sent to a shard, in blocks: the address of each, and its size of up to `most`.

    After the loop the outboxes to the shard are empty.
    """
    # Sources in ascending order, whatever the order in which workers finished them: this makes the order of states
    # canonical.
    with for_loop(builder, word(0), word(SHARDS), name="sources") as source_shard:
        source = ShardRecord.of_shard(builder, records, source_shard, layout)
        fill = source.get("fills", shard)
        inbox = source.outbox(shard)
        with for_loop(builder, word(0), fill, word(most), "blocks") as start:
            remaining = builder.sub(fill, start)
            size = builder.select(builder.icmp_unsigned("<", remaining, word(most)), remaining, word(most))
            yield item(builder, inbox, start, layout.entry_words), size
        # A write to another shard's record, but only this worker touches item `shard` in this half. The next `expand`
        # of the source starts after the join of all workers.
        source.set("fills", word(0), shard)


def state_id(builder: ir.IRBuilder, shard: ir.Value, position: ir.Value) -> ir.Value:
    """Return the id (i64) of the state at a local index of a shard."""
    return builder.or_(builder.shl(position, word(SHARD_BITS)), shard)


def state_hash(builder: ir.IRBuilder, state: list[ir.Value]) -> ir.Value:
    """Return the 64-bit hash of a state. `memory_layout` shows which bits select the shard, the tag and the home group.

        h = FINISHER
        for w in state:
            h = (h ^ w) * MULTIPLIER
            h ^= h >> 32
        h *= FINISHER
        return h ^ h >> 32

    The shifts bring the well-mixed high half of a product into the low half, which selects the home group.
    """
    value: ir.Value = word(_HASH_FINISHER)
    for part in state:
        # Each factor is odd, so multiplication modulo 2**64 loses nothing: a one-word state has a hash of its own.
        value = builder.mul(builder.xor(value, part), word(_HASH_MULTIPLIER))
        value = builder.xor(value, builder.lshr(value, word(32)))
    value = builder.mul(value, word(_HASH_FINISHER))
    return builder.xor(value, builder.lshr(value, word(32)))
