"""The second half of a round: a shard stores the new states among the successors sent to it, and checks them.

    insert_shard(target):
        first_new = count
        for source in all shards:
            for block of at most 128 entries in source.outbox[target]:
                make room in the table for as many more states
                for entry in block:  hash it, prefetch its home group, and an entry that follows
                for entry in block:  prefetch the state in the home group that has the entry's tag: its candidate
                for entry in block:  keep it unless its candidate equals its state
                for entry that is kept:  unless its state is stored, append the state and its origin
            source.fills[target] = 0
        for state in states[first_new:count]:
            record the invariants that are false in it and the reachables that are true

A look-up in a large table misses the cache twice: for the slot and for the state. With a pass for each, the misses of
the 128 entries of a block overlap. More than half of the entries are duplicates, and which of them is not predictable.
The third pass finds nearly all of them without a branch. The order of insertion is that of the entries, so the passes
change no result.
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.engines.native.explore.hash_table import HashTable, make_room
from checker.engines.native.explore.shard_record import ShardRecord, inbox_blocks, state_hash
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import (
    I1,
    I64,
    WORD_POINTER,
    LocalVariable,
    each_bit,
    endless_loop,
    for_loop,
    word,
)
from checker.engines.native.llvm.words import item, prefetch, read_words
from checker.engines.native.lowering.lane_emitter import LANES

_BLOCK = 128
"""Entries of a block: enough for many overlapping misses, few enough for the first-level cache."""

_AHEAD = 64
"""The distance in entries at which outboxes are prefetched: other shards wrote them long ago, or another processor."""


def define_insert_shard(spec: SpecFunctions, grow_table: ir.IrFunction, check_new: ir.IrFunction) -> ir.IrFunction:
    """Define `void insert_shard(i64* records, i64 shard, i64 mask)`: the second half of a round for one shard.

    `mask` has the bits of the properties to check in new states. `grow_table` is that of `hash_table`.
    """
    kind = ir.FunctionType(ir.VoidType(), [WORD_POINTER, I64, I64])
    function = ir.IrFunction(spec.module, kind, "explore.insert_shard")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    records, shard, mask = function.args
    record = ShardRecord.of_shard(builder, records, shard, spec.layout)
    # Read before the first insertion: the states from here on are the ones to check at the end.
    first_new = record.get("count")
    hashes, candidates, unknown = (_BlockArray(builder) for _ in range(3))
    inserter = _Inserter(builder, record, spec, grow_table, hashes, candidates, unknown)
    with inbox_blocks(builder, records, shard, spec.layout, _BLOCK) as (entries, size):
        inserter.insert(entries, size)
    builder.call(check_new, [record.address, first_new, mask])
    builder.ret_void()
    return function


def define_check_new(spec: SpecFunctions, name: str) -> ir.IrFunction:
    """Define `void name(i64* record, i64 first_new, i64 mask)`: check the states of a shard from a local index on."""
    function = ir.IrFunction(spec.module, ir.FunctionType(ir.VoidType(), [WORD_POINTER, I64, I64]), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    address, first_new, mask = function.args
    _check_states(builder, ShardRecord(builder, address, spec.layout), spec, first_new, mask)
    builder.ret_void()
    return function


class _BlockArray:
    """Stack memory with a word for each entry of a block."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self._builder = builder
        self._words = builder.alloca(I64, _BLOCK)

    def get(self, index: ir.Value) -> ir.Value:
        """Return the word at an index."""
        return self._builder.load(item(self._builder, self._words, index, 1))

    def set(self, index: ir.Value, value: ir.Value) -> None:
        """Replace the word at an index."""
        self._builder.store(value, item(self._builder, self._words, index, 1))


@dataclass(frozen=True)
class _Inserter:
    """Emits the insertion of blocks of at most _BLOCK entries.

    `hashes` and `candidates` have the hash and the candidate of each entry, `unknown` the indices of those to insert.
    """

    builder: ir.IRBuilder
    record: ShardRecord
    spec: SpecFunctions
    grow_table: ir.IrFunction
    hashes: _BlockArray
    candidates: _BlockArray
    unknown: _BlockArray

    def insert(self, entries: ir.Value, size: ir.Value) -> None:
        """Emit the insertion of the `size` entries at an address, in four passes."""
        builder = self.builder
        # The table grows before the block, as if all its states were new: no slot moves between prefetch and use.
        wanted = builder.add(self.record.get("count"), size)
        make_room(builder, self.record, wanted, self.grow_table)
        table = HashTable(builder, self.record, self.spec.words, self.spec.key_of)
        with for_loop(builder, word(0), size, name="hash") as index:
            hashed = state_hash(builder, self.spec.key_of(builder, self._entry(entries, index)[:-1]))
            self.hashes.set(index, hashed)
            table.prefetch_slot(hashed)
            # Beyond the last entry it prefetches memory that is not read, which does no harm. Hence not `inbounds`.
            ahead = builder.mul(builder.add(index, word(_AHEAD)), word(self.spec.layout.entry_words))
            prefetch(builder, builder.gep(entries, [ahead]))
        with for_loop(builder, word(0), size, name="prefetch") as index:
            candidate = table.candidate(self.hashes.get(index))
            self.candidates.set(index, candidate)
            table.prefetch_state(candidate)
        remaining = LocalVariable(builder, word(0), "remaining")
        with for_loop(builder, word(0), size, name="compare") as index:
            is_stored = table.is_candidate(self.candidates.get(index), self._entry(entries, index)[:-1])
            # Written in any case, and overwritten by the next entry if this one is stored.
            self.unknown.set(remaining.get(), index)
            remaining.set(builder.add(remaining.get(), builder.zext(builder.not_(is_stored), I64)))
        with for_loop(builder, word(0), remaining.get(), name="insert") as number:
            index = self.unknown.get(number)
            # One after the other: a state that occurs twice in the block is found by the second look-up. A prefetched
            # line may have changed by then, which costs time but not correctness, because `find` reads the memory
            # again.
            self._insert_one(table, self._entry(entries, index), self.hashes.get(index))

    def _insert_one(self, table: HashTable, entry: list[ir.Value], hashed: ir.Value) -> None:
        """Emit the insertion of an entry; set `full` if its state is new and there is no memory for it."""
        builder, record = self.builder, self.record
        *state, origin = entry
        absent, _, position = table.find(state, hashed)
        with builder.if_then(absent):
            local = record.get("count")
            has_room = builder.icmp_unsigned("<", local, record.get("capacity"))
            # The table always has a slot: its largest size is chosen for `capacity` states and a whole outbox more.
            with builder.if_else(has_room, likely=True) as (then, otherwise):
                with then:
                    record.append(local, state, origin)
                    table.add(hashed, local, position)
                    record.set("count", builder.add(local, word(1)))
                with otherwise:
                    # The state is dropped. The search ends with this round: its findings are right, but not complete.
                    record.set("full", word(1))

    def _entry(self, entries: ir.Value, index: ir.Value) -> list[ir.Value]:
        size = self.spec.layout.entry_words
        return read_words(self.builder, item(self.builder, entries, index, size), size)


def _check_states(
    builder: ir.IRBuilder, record: ShardRecord, spec: SpecFunctions, first_new: ir.Value, mask: ir.Value
) -> None:
    """Emit the check of the states from local index `first_new` on, and the record of the first state of each bit."""
    check = _StateCheck(builder, record, spec, mask)
    is_wanted = ir.ConstantValue(I1, 1) if spec.checks_every_state else builder.icmp_unsigned("!=", mask, word(0))
    with builder.if_then(is_wanted):
        unchecked = LocalVariable(builder, first_new, "unchecked")
        if spec.lanes is not None and spec.lanes.suspects.function is not None and not spec.checks_every_state:
            check.by_lanes(unchecked, spec.lanes.suspects.function)
        with for_loop(builder, unchecked.get(), record.get("count"), name="check") as local:
            check.one(local, word(-1))


class _StateCheck:
    """Emits the check of new states. A property is no longer checked after its first finding."""

    def __init__(self, builder: ir.IRBuilder, record: ShardRecord, spec: SpecFunctions, mask: ir.Value) -> None:
        self._builder, self._record, self._spec = builder, record, spec
        self._open_mask = LocalVariable(builder, mask, "open_mask")
        self._states = record.array("states")

    def by_lanes(self, unchecked: LocalVariable, suspects: ir.IrFunction) -> None:
        """Emit the check of LANES states at a time, from the local index `unchecked` on, as long as there are so many.

        Properties that `suspects` reports in a state are checked in it one by one.
        """
        builder, record = self._builder, self._record
        with builder.goto_entry_block():
            bits = builder.alloca(I64, LANES)
        with endless_loop(builder, "lanes") as loop:
            first = unchecked.get()
            end = builder.add(first, word(LANES))
            loop.leave_if(builder.icmp_unsigned(">", end, record.get("count")))
            suspicious = builder.call(suspects, [item(builder, self._states, first, self._spec.words), bits])
            is_suspect = builder.icmp_unsigned("!=", builder.and_(suspicious, self._open_mask.get()), word(0))
            with (
                builder.if_then(is_suspect, likely=False),
                for_loop(builder, word(0), word(LANES), name="suspects") as lane,
            ):
                self.one(builder.add(first, lane), builder.load(item(builder, bits, lane, 1)))
            unchecked.set(end)

    def one(self, local: ir.Value, suspect: ir.Value) -> None:
        """Emit the check of the properties with the bits `suspect` in the state at a local index."""
        builder, record, spec = self._builder, self._record, self._spec
        state = item(builder, self._states, local, spec.words)
        if spec.within_constraint is not None:
            within = builder.zext(builder.call(spec.within_constraint, [state]), I64)
            record.set("within", builder.add(record.get("within"), within))
        violated = builder.call(spec.check_state, [state, builder.and_(self._open_mask.get(), suspect)])
        with builder.if_then(builder.icmp_unsigned("!=", violated, word(0)), likely=False):
            seen = record.get("seen_in_states")
            # `open_mask` does not cover bit 63, which is set without being selected; `seen` keeps its first state.
            with each_bit(builder, builder.and_(violated, builder.not_(seen))) as bit:
                record.set("first_states", local, bit)
            record.set("seen_in_states", builder.or_(seen, violated))
            self._open_mask.set(builder.and_(self._open_mask.get(), builder.not_(violated)))
