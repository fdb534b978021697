"""The kernels of the compact store: insert with quotients, grow in place, rebuild.

They depend on the layout of a state only, not on the spec, and are compiled apart from it.

The codes of a cluster, a run of used slots, are in the order of their homes (Robin Hood hashing). A search therefore
ends at the first slot whose displacement is smaller than that of the wanted code would be there:

    find(code):                                            insert(code, position):
        expected = slot of the code with displacement 0        moved = slot of the code at position
        position = home                                        while moved is not empty:
        while displacement of slot[position] + 1                   swap moved and slot[position]
              >= displacement of expected + 1:                     displacement of moved += 1
            if slot[position] == expected: return found            position += 1
            displacement of expected += 1
            position += 1
        return absent, position

A table grows in place, from its end to its start, in blocks of slots. `table_record` states why a block never moves to
a slot that is still to be moved.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

from checker.engines.native.explore.compact.quotient import (
    TableShape,
    emit_home,
    emit_mixed_key,
    emit_start,
)
from checker.engines.native.explore.compact.state_code import StateCode
from checker.engines.native.explore.compact.table_record import (
    MOVED_SLOTS,
    OVERFLOW_ENTRIES,
    TableRecord,
)
from checker.engines.native.explore.memory_layout import ORIGIN_SHIFT, MemoryLayout
from checker.engines.native.explore.shard_record import ShardRecord, inbox_blocks
from checker.engines.native.explore.shards_taken import shards_taken
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import (
    I1,
    I8,
    I64,
    WORD_POINTER,
    LocalVariable,
    endless_loop,
    for_loop,
    word,
)
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.llvm.words import item, prefetch, read_words, write_words

INSERT, GROW, REBUILD = ("compact_insert", "compact_grow", "compact_rebuild")

BLOCK = 64
"""Entries of a block: enough for many overlapping cache misses, few enough for the first-level cache."""

_WORD = 64
_CHECK = ir.FunctionType(ir.VoidType(), [WORD_POINTER, I64, I64])
"""`check_new` of the spec's kernels."""

_VIEW = ir.FunctionType(ir.VoidType(), [WORD_POINTER, WORD_POINTER])
"""`explore_view` of the spec's kernels."""

_VIEW_ADDRESS = "compact.view"


@dataclass(frozen=True)
class _Shape:
    """The shape of a table, in registers."""

    slots: ir.Value
    inverse: ir.Value
    slot_bytes: ir.Value
    masks: list[ir.Value]


class _Table:
    """The table of a shard in a kernel under construction. The constructor emits the reads of its shape."""

    def __init__(self, kernels: _Definitions, builder: ir.IRBuilder, record: TableRecord, *, is_next: bool = False):
        self._kernels, self._builder, self.record = kernels, builder, record
        prefix = "next_" if is_next else ""
        slots, inverse, slot_bytes = (record.get(prefix + name) for name in ("slots", "inverse", "slot_bytes"))
        self.shape = _Shape(slots, inverse, slot_bytes, record.masks(is_next=is_next))
        self.slots = record.bytes_at("table")

    def home(self, hashed: ir.Value) -> ir.Value:
        """Return the home of a hash."""
        return emit_home(self._builder, hashed, self.shape.slots, self._kernels.sizes.hash_bits)

    def prefetch(self, hashed: ir.Value) -> None:
        """Emit a prefetch of the home slot of a hash, and of the next cache line."""
        builder = self._builder
        address = self.address_of(self.home(hashed))
        prefetch(builder, address)
        prefetch(builder, builder.gep(address, [word(64)]))

    def address_of(self, position: ir.Value) -> ir.Value:
        """Return the address (i8*) of a slot."""
        offset = self._builder.mul(position, self.shape.slot_bytes)
        return self._builder.gep(self.slots, [offset], inbounds=True)

    def expected(self, home: ir.Value, hashed: ir.Value, rest: list[ir.Value]) -> list[ir.Value]:
        """Return the words of a slot that holds a code in its home."""
        builder, sizes = self._builder, self._kernels.sizes
        start = emit_start(builder, home, self.shape.inverse, sizes.hash_bits)
        remainder = builder.sub(hashed, start)
        words: list[ir.Value] = [word(1), *[word(0)] * (self._kernels.slot_words - 1)]
        self._place(words, rest, sizes.displacement_bits)
        self._place(words, [remainder], sizes.displacement_bits + sizes.rest_bits)
        return words

    def _place(self, slot: list[ir.Value], values: list[ir.Value], position: int) -> None:
        """Or values of one word each into a slot, from a bit on."""
        builder = self._builder
        for number, value in enumerate(values):
            at, shift = divmod(position + _WORD * number, _WORD)
            if at < len(slot):
                slot[at] = builder.or_(slot[at], builder.shl(value, word(shift)))
            if shift and at + 1 < len(slot):
                slot[at + 1] = builder.or_(slot[at + 1], builder.lshr(value, word(_WORD - shift)))

    def code_in(self, slot: list[ir.Value], position: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
        """Return the hash and the rest of the code that a masked slot at a position holds."""
        builder, sizes = self._builder, self._kernels.sizes
        distance = builder.sub(self.mark(slot), word(1))
        start = emit_start(builder, builder.sub(position, distance), self.shape.inverse, sizes.hash_bits)
        remainder = self._extract(slot, sizes.displacement_bits + sizes.rest_bits, sizes.remainder_bits)
        rest = [
            self._extract(slot, sizes.displacement_bits + at, min(_WORD, sizes.rest_bits - at))
            for at in range(0, sizes.rest_bits, _WORD)
        ]
        return builder.add(start, remainder), rest

    def _extract(self, slot: list[ir.Value], position: int, bits: int) -> ir.Value:
        builder = self._builder
        at, shift = divmod(position, _WORD)
        value = builder.lshr(slot[at], word(shift))
        if shift and at + 1 < len(slot):
            value = builder.or_(value, builder.shl(slot[at + 1], word(_WORD - shift)))
        return builder.and_(value, word((1 << bits) - 1))

    def mark(self, slot: list[ir.Value]) -> ir.Value:
        """Return the displacement + 1 that a slot holds, or 0."""
        return self._builder.and_(slot[0], word(self._kernels.sizes.greatest_mark))

    def masked(self, slot: list[ir.Value]) -> list[ir.Value]:
        """Return the words of a slot without the bytes of the next ones."""
        return [self._builder.and_(part, mask) for part, mask in zip(slot, self.shape.masks, strict=True)]

    def read(self, address: ir.Value) -> list[ir.Value]:
        """Return the words at the address (i8*) of a slot, with bytes of the next ones."""
        words = self._builder.bitcast(address, WORD_POINTER)
        return [
            self._load(self._builder.gep(words, [word(number)], inbounds=True))
            for number in range(self._kernels.slot_words)
        ]

    def write(self, address: ir.Value, old: list[ir.Value], slot: list[ir.Value]) -> None:
        """Emit the write of a slot at an address (i8*); `old` are the words that were read there."""
        builder = self._builder
        words = builder.bitcast(address, WORD_POINTER)
        for number, (before, part, mask) in enumerate(zip(old, slot, self.shape.masks, strict=True)):
            value = builder.or_(builder.and_(before, builder.not_(mask)), part)
            # Slots have whole bytes, so their words are not aligned.
            builder.store(value, builder.gep(words, [word(number)], inbounds=True), align=1)

    def _load(self, address: ir.Value) -> ir.Value:
        return self._builder.load(address, align=1)

    def find(self, hashed: ir.Value, rest: list[ir.Value]) -> tuple[ir.Value, ir.Value, list[ir.Value]]:
        """Emit the search for a code.

        Return whether it is in no slot (i1), the address of its slot or of the one before which it belongs, and the
        words of its slot. The displacement + 1 in these words may be beyond the greatest that fits.
        """
        builder = self._builder
        home = self.home(hashed)
        first, *others = self.expected(home, hashed, rest)
        # The displacement is apart from the other bits: added to them, it could overflow into them.
        body = builder.and_(first, word(~self._kernels.sizes.greatest_mark))
        mark = LocalVariable(builder, word(1), "mark")
        address = LocalVariable(builder, self.address_of(home), "address")
        is_absent = LocalVariable(builder, ir.ConstantValue(I1, 1), "is_absent")
        with endless_loop(builder, "probe") as probe:
            slot = self.read(address.get())
            # Also true for an empty slot, whose mark is 0. So the loop ends: the slots after the last one are empty.
            is_absent.set(builder.icmp_unsigned("<", self.mark(slot), mark.get()))
            probe.leave_if(is_absent.get())
            wanted = [builder.or_(body, mark.get()), *others]
            probe.leave_if(self._is_same(slot, wanted))
            mark.add(1)
            address.set(builder.gep(address.get(), [self.shape.slot_bytes], inbounds=True))
        return is_absent.get(), address.get(), [body, *others, mark.get()]

    def _is_same(self, slot: list[ir.Value], wanted: list[ir.Value]) -> ir.Value:
        builder = self._builder
        difference: ir.Value = word(0)
        for actual, expected in zip(self.masked(slot), wanted, strict=True):
            difference = builder.or_(difference, builder.xor(actual, expected))
        return builder.icmp_unsigned("==", difference, word(0))


class _Definitions:
    """Defines the kernels of one code of states in a module."""

    def __init__(self, module: ir.Module, code: StateCode, layout: MemoryLayout, smallest: TableShape, view_words: int):
        self.module, self.code, self.layout, self.sizes = module, code, layout, smallest
        self._view_words = view_words
        if view_words:
            # Of external linkage: the loader writes the address of the view, see `CompactKernels.use_view`.
            self._view = ir.GlobalVariable(module, I64, _VIEW_ADDRESS)
            self._view.initializer = ir.ConstantValue(I64, 0)
        self.slot_words = smallest.slot_words
        self._list = self._define_list()
        self._is_listed = self._define_is_listed()
        self._shift_in = self._define_shift_in()
        self._insert_absent = self._define_insert_absent()
        self._grow_shard = self._define_grow_shard()

    def define(self) -> None:
        """Define the kernels of `CompactKernels`."""
        self._define_insert()
        self._define_grow()
        self._define_rebuild()

    def _function(
        self, name: str, result: ir.IrType, arguments: list[ir.IrType], *, is_internal: bool = True
    ) -> tuple[ir.IRBuilder, tuple[ir.Value, ...]]:
        function = ir.IrFunction(self.module, ir.FunctionType(result, arguments), name)
        if is_internal:
            function.linkage = "internal"
            function.attributes.add("noinline")
        return ir.IRBuilder(function.append_basic_block("entry")), function.args

    def _record(self, builder: ir.IRBuilder, address: ir.Value) -> TableRecord:
        return TableRecord(builder, address, self.slot_words)

    def hash_of(self, builder: ir.IRBuilder, state: list[ir.Value]) -> list[ir.Value]:
        """Return the hash and the words of the rest of a state's code."""
        code = self.code.emit(builder, [*state, *self._words_of_view(builder, state)])
        return [emit_mixed_key(builder, code, self.code.bits), *code[1:]]

    def _words_of_view(self, builder: ir.IRBuilder, state: list[ir.Value]) -> list[ir.Value]:
        """Return the words that the view of a state computes."""
        if not self._view_words:
            return []
        with builder.goto_entry_block():
            memory, value = builder.alloca(I64, self.layout.words), builder.alloca(I64, self._view_words)
        write_words(builder, memory, state)
        view = builder.inttoptr(builder.load(self._view), _VIEW.as_pointer())
        builder.call(view, [memory, value])
        return read_words(builder, value, self._view_words)

    # The list of codes that are in no slot.

    def _define_list(self) -> ir.IrFunction:
        """Define `void list(i64* record, i64* code)`: add hash and rest to the list, or record that it is full."""
        builder, (address, code) = self._function("list", ir.VoidType(), [WORD_POINTER, WORD_POINTER])
        record = self._record(builder, address)
        count = record.get("overflow_count")
        with builder.if_else(builder.icmp_unsigned("<", count, word(OVERFLOW_ENTRIES))) as (then, otherwise):
            with then:
                entry = item(builder, record.words_at("overflow"), count, self.code.words)
                write_words(builder, entry, read_words(builder, code, self.code.words))
                record.set("overflow_count", builder.add(count, word(1)))
            with otherwise:
                record.set("overflow_full", word(1))
        builder.ret_void()
        return builder.function

    def _define_is_listed(self) -> ir.IrFunction:
        """Define `i64 is_listed(i64* record, i64* code)`: return 1 if hash and rest are in the list, or it is full.

        A code that did not fit into a full list may be stored already, so no state counts as new any more.
        """
        builder, (address, code) = self._function("is_listed", I64, [WORD_POINTER, WORD_POINTER])
        record = self._record(builder, address)
        entries, wanted = record.words_at("overflow"), read_words(builder, code, self.code.words)
        is_listed = LocalVariable(builder, record.get("overflow_full"), "found")
        with for_loop(builder, word(0), record.get("overflow_count"), name="entries") as index:
            difference: ir.Value = word(0)
            entry = read_words(builder, item(builder, entries, index, self.code.words), self.code.words)
            for one, other in zip(entry, wanted, strict=True):
                difference = builder.or_(difference, builder.xor(one, other))
            is_same = builder.icmp_unsigned("==", difference, word(0))
            is_listed.set(builder.or_(is_listed.get(), builder.zext(is_same, I64)))
        builder.ret(is_listed.get())
        return builder.function

    # Insertion.

    def _define_shift_in(self) -> ir.IrFunction:
        """Define `void shift_in(i64* record, i64 is_next, i8* address, i64* slot)`: insert a slot at an address.

        The slots from there to the next empty one move on by one. A code that would be too far from its home is added
        to the list. `is_next`: the table has its next shape.
        """
        builder, (address, is_next, at, slot) = self._function(
            "shift_in", ir.VoidType(), [WORD_POINTER, I64, I8.as_pointer(), WORD_POINTER]
        )
        with builder.if_else(builder.icmp_unsigned("!=", is_next, word(0))) as (then, otherwise):
            with then:
                self._emit_shift_in(builder, address, at, slot, is_next=True)
            with otherwise:
                self._emit_shift_in(builder, address, at, slot, is_next=False)
        builder.ret_void()
        return builder.function

    def _emit_shift_in(
        self, builder: ir.IRBuilder, address: ir.Value, at: ir.Value, slot: ir.Value, *, is_next: bool
    ) -> None:
        record = self._record(builder, address)
        table = _Table(self, builder, record, is_next=is_next)
        carried = [LocalVariable(builder, part, "carried") for part in read_words(builder, slot, self.slot_words)]
        position = LocalVariable(builder, at, "position")
        held = [LocalVariable(builder, part, "held") for part in table.read(at)]
        with endless_loop(builder, "shift") as loop:
            here = position.get()
            following = builder.gep(here, [table.shape.slot_bytes], inbounds=True)
            # Read before the write: a read of bytes that were just written in other pieces stalls the processor.
            next_slot = table.read(following)
            old = [variable.get() for variable in held]
            table.write(here, old, [variable.get() for variable in carried])
            mark = table.mark(old)
            loop.leave_if(builder.icmp_unsigned("==", mark, word(0)))
            moved = table.masked(old)
            is_last = builder.icmp_unsigned("==", mark, word(self.sizes.greatest_mark))
            with builder.if_then(is_last, likely=False):
                # It cannot be moved further from its home. The shift ends, because its slot is taken.
                self._emit_list(builder, address, *self._code_at(builder, table, moved, here))
            loop.leave_if(is_last)
            moved[0] = builder.add(moved[0], word(1))
            for variable, part in zip(carried, moved, strict=True):
                variable.set(part)
            for variable, part in zip(held, next_slot, strict=True):
                variable.set(part)
            position.set(following)

    def _code_at(
        self, builder: ir.IRBuilder, table: _Table, slot: list[ir.Value], address: ir.Value
    ) -> tuple[ir.Value, list[ir.Value]]:
        """Return the hash and the rest of the code that a masked slot at an address holds."""
        distance = builder.sub(builder.ptrtoint(address, I64), builder.ptrtoint(table.slots, I64))
        return table.code_in(slot, builder.udiv(distance, table.shape.slot_bytes))

    def _emit_list(self, builder: ir.IRBuilder, record: ir.Value, hashed: ir.Value, rest: list[ir.Value]) -> None:
        with builder.goto_entry_block():
            code = builder.alloca(I64, self.code.words)
        write_words(builder, code, [hashed, *rest])
        builder.call(self._list, [record, code])

    def _emit_insert(
        self,
        builder: ir.IRBuilder,
        table: _Table,
        address: ir.Value,
        slot: list[ir.Value],
        code: list[ir.Value],
        *,
        is_next: bool = False,
    ) -> None:
        """Emit the insertion of an absent code at the address that `_Table.find` returned, or into the list."""
        first, *others, mark = slot
        fits = builder.icmp_unsigned("<=", mark, word(self.sizes.greatest_mark))
        with builder.if_else(fits, likely=True) as (then, otherwise):
            with then:
                with builder.goto_entry_block():
                    carried = builder.alloca(I64, self.slot_words)
                write_words(builder, carried, [builder.or_(first, mark), *others])
                builder.call(self._shift_in, [table.record.address, word(int(is_next)), address, carried])
            with otherwise:
                self._emit_list(builder, table.record.address, code[0], code[1:])

    def _define_insert_absent(self) -> ir.IrFunction:
        """Define `void insert_absent(i64* record, i64* code)`: insert hash and rest into the table of the next shape.

        The code is not in the table: codes are not compared.
        """
        builder, (address, code) = self._function("insert_absent", ir.VoidType(), [WORD_POINTER, WORD_POINTER])
        table = _Table(self, builder, self._record(builder, address), is_next=True)
        hashed, *rest = read_words(builder, code, self.code.words)
        _, position, slot = table.find(hashed, rest)
        self._emit_insert(builder, table, position, slot, [hashed, *rest], is_next=True)
        builder.ret_void()
        return builder.function

    # The kernels.

    def _define_insert(self) -> None:
        arguments = [WORD_POINTER, WORD_POINTER, WORD_POINTER, _CHECK.as_pointer(), I64]
        builder, (records, tables, next_shard, check_new, mask) = self._function(
            INSERT, ir.VoidType(), arguments, is_internal=False
        )
        codes = builder.alloca(I64, BLOCK * self.code.words)
        with shards_taken(builder, next_shard) as shard:
            record = ShardRecord.of_shard(builder, records, shard, self.layout)
            table = _Table(self, builder, TableRecord.of_shard(builder, tables, shard, self.slot_words))
            first_new = record.get("count")
            with inbox_blocks(builder, records, shard, self.layout, BLOCK) as (entries, size):
                self._insert_block(builder, record, table, entries, size, codes)
            builder.call(check_new, [record.address, first_new, mask])
        builder.ret_void()

    def _insert_block(
        self,
        builder: ir.IRBuilder,
        record: ShardRecord,
        table: _Table,
        entries: ir.Value,
        size: ir.Value,
        codes: ir.Value,
    ) -> None:
        """Emit the insertion of `size` entries in two passes, so that the cache misses of a block overlap."""
        words = self.code.words
        with for_loop(builder, word(0), size, name="hash") as index:
            entry = item(builder, entries, index, self.layout.entry_words)
            code = self.hash_of(builder, read_words(builder, entry, self.layout.words))
            write_words(builder, item(builder, codes, index, words), code)
            table.prefetch(code[0])
        with for_loop(builder, word(0), size, name="insert") as index:
            address = item(builder, codes, index, words)
            code = read_words(builder, address, words)
            is_absent, position, slot = table.find(code[0], code[1:])
            with builder.if_then(is_absent):
                is_new = builder.icmp_unsigned("==", self._is_in_list(builder, table.record, address), word(0))
                with builder.if_then(is_new, likely=True):
                    self._emit_insert(builder, table, position, slot, code)
                    self._append(builder, record, table, item(builder, entries, index, self.layout.entry_words))

    def _is_in_list(self, builder: ir.IRBuilder, record: TableRecord, code: ir.Value) -> ir.Value:
        """Return 1 (i64) if a code is in the list, which is nearly always empty."""
        is_listed = LocalVariable(builder, word(0), "listed")
        with builder.if_then(builder.icmp_unsigned("!=", record.get("overflow_count"), word(0)), likely=False):
            is_listed.set(builder.call(self._is_listed, [record.address, code]))
        return is_listed.get()

    def _append(self, builder: ir.IRBuilder, record: ShardRecord, table: _Table, entry: ir.Value) -> None:
        """Emit the storing of a new state; the search has provided memory for it."""
        *state, origin = read_words(builder, entry, self.layout.entry_words)
        local = record.get("count")
        write_words(builder, item(builder, record.array("states"), local, self.layout.words), state)
        record.set("count", builder.add(local, word(1)))
        instance = builder.lshr(origin, word(ORIGIN_SHIFT))
        # The counter of initial states is the last one: their instance is no action instance.
        is_action = builder.icmp_unsigned("<", instance, word(self.layout.instances))
        number = builder.select(is_action, instance, word(self.layout.instances))
        counter = item(builder, table.record.words_at("distinct"), number, 1)
        builder.store(builder.add(builder.load(counter), word(1)), counter)

    def _define_grow_shard(self) -> ir.IrFunction:
        """Define `void grow_shard(i64* record)`: give a table its next shape, in place."""
        builder, (address,) = self._function("grow_shard", ir.VoidType(), [WORD_POINTER])
        record = self._record(builder, address)
        old = _Table(self, builder, record)
        moved = record.bytes_at("moved")
        code = builder.alloca(I64, self.code.words)
        old_end = builder.add(old.shape.slots, word(self.sizes.greatest_mark))
        self._clear_added(builder, record, old.address_of(old_end))
        end = LocalVariable(builder, old_end, "end")
        with endless_loop(builder, "blocks") as loop:
            stop = end.get()
            loop.leave_if(builder.icmp_unsigned("==", stop, word(0)))
            # Blocks begin at multiples of their size, so every block but the first begins far from 0.
            before = builder.sub(stop, word(1))
            first = builder.sub(before, builder.urem(before, word(MOVED_SLOTS)))
            count = builder.sub(stop, first)
            self._take_block(builder, old, moved, first, count)
            self._put_block(builder, old, moved, first, count, code)
            end.set(first)
        # The codes of the list again: most fit now. An insertion adds at most one code to the list, so the codes that
        # return to it never overtake those that are still to be read.
        listed = record.get("overflow_count")
        record.set("overflow_count", word(0))
        entries = record.words_at("overflow")
        with for_loop(builder, word(0), listed, name="listed") as index:
            entry = item(builder, entries, index, self.code.words)
            write_words(builder, code, read_words(builder, entry, self.code.words))
            builder.call(self._insert_absent, [address, code])
        for name in ("slots", "inverse", "slot_bytes"):
            record.set(name, record.get("next_" + name))
        record.set_masks(record.masks(is_next=True))
        record.set("next_slots", word(0))
        builder.ret_void()
        return builder.function

    def _clear_added(self, builder: ir.IRBuilder, record: TableRecord, first: ir.Value) -> None:
        """Emit the clearing of the bytes from an address on that the next shape adds to a table.

        They are zero already. Pages that are written before they are read cost one page fault, see `hash_table`.
        """
        following = _Table(self, builder, record, is_next=True)
        last = following.address_of(builder.add(following.shape.slots, word(self.sizes.greatest_mark)))
        size = builder.sub(builder.ptrtoint(last, I64), builder.ptrtoint(first, I64))
        # Slots of fewer bytes may need less behind the last home than before.
        is_longer = builder.icmp_signed(">", size, word(0))
        self._clear(builder, first, builder.select(is_longer, size, word(0)))

    def _clear(self, builder: ir.IRBuilder, address: ir.Value, size: ir.Value) -> None:
        """Emit the clearing of `size` bytes at an address (i8*)."""
        clear = self.module.declared("llvm.memset.p0.i64", ir.VoidType(), [I8.as_pointer(), I8, I64, I1])
        builder.call(clear, [address, ir.ConstantValue(I8, 0), size, ir.ConstantValue(I1, 0)])

    def _take_block(
        self, builder: ir.IRBuilder, old: _Table, moved: ir.Value, first: ir.Value, count: ir.Value
    ) -> None:
        """Emit the copy of the slots of a block to the room for it, and empty them."""
        size = builder.mul(count, old.shape.slot_bytes)
        source = old.address_of(first)
        no = ir.ConstantValue(I1, 0)
        pointer = I8.as_pointer()
        nothing = ir.VoidType()
        copy = self.module.declared("llvm.memcpy.p0.p0.i64", nothing, [pointer, pointer, I64, I1])
        builder.call(copy, [moved, source, size, no])
        self._clear(builder, source, size)

    def _put_block(
        self,
        builder: ir.IRBuilder,
        old: _Table,
        moved: ir.Value,
        first: ir.Value,
        count: ir.Value,
        code: ir.Value,
    ) -> None:
        """Emit the insertion of the codes of a block, in their order, into the table of the next shape."""
        with for_loop(builder, word(0), count, name="slots") as index:
            address = builder.gep(moved, [builder.mul(index, old.shape.slot_bytes)], inbounds=True)
            slot = old.masked(old.read(address))
            with builder.if_then(builder.icmp_unsigned("!=", old.mark(slot), word(0)), likely=True):
                hashed, rest = old.code_in(slot, builder.add(first, index))
                write_words(builder, code, [hashed, *rest])
                builder.call(self._insert_absent, [old.record.address, code])

    def _define_grow(self) -> None:
        builder, (tables, next_shard) = self._function(
            GROW, ir.VoidType(), [WORD_POINTER, WORD_POINTER], is_internal=False
        )
        with shards_taken(builder, next_shard) as shard:
            record = TableRecord.of_shard(builder, tables, shard, self.slot_words)
            with builder.if_then(builder.icmp_unsigned("!=", record.get("next_slots"), word(0))):
                builder.call(self._grow_shard, [record.address])
        builder.ret_void()

    def _define_rebuild(self) -> None:
        builder, (records, tables, next_shard, first, last) = self._function(
            REBUILD, ir.VoidType(), [WORD_POINTER, WORD_POINTER, WORD_POINTER, I64, I64], is_internal=False
        )
        codes = builder.alloca(I64, BLOCK * self.code.words)
        with shards_taken(builder, next_shard) as shard:
            record = ShardRecord.of_shard(builder, records, shard, self.layout)
            table = _Table(self, builder, TableRecord.of_shard(builder, tables, shard, self.slot_words))
            count, states = record.get("count"), record.array("states")
            end = builder.select(builder.icmp_unsigned("<", count, last), count, last)
            with for_loop(builder, first, end, word(BLOCK), "blocks") as start:
                remaining = builder.sub(end, start)
                size = builder.select(builder.icmp_unsigned("<", remaining, word(BLOCK)), remaining, word(BLOCK))
                self._rebuild_block(builder, table, item(builder, states, start, self.layout.words), size, codes)
        builder.ret_void()

    def _rebuild_block(
        self, builder: ir.IRBuilder, table: _Table, states: ir.Value, size: ir.Value, codes: ir.Value
    ) -> None:
        """Emit the insertion of the codes of `size` distinct states."""
        words = self.code.words
        with for_loop(builder, word(0), size, name="hash") as index:
            state = read_words(builder, item(builder, states, index, self.layout.words), self.layout.words)
            code = self.hash_of(builder, state)
            write_words(builder, item(builder, codes, index, words), code)
            table.prefetch(code[0])
        with for_loop(builder, word(0), size, name="insert") as index:
            code = read_words(builder, item(builder, codes, index, words), words)
            _, position, slot = table.find(code[0], code[1:])
            self._emit_insert(builder, table, position, slot, code)


_INSERT = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_uint64)
_GROW = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)
_REBUILD = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_uint64, ctypes.c_uint64)


class CompactKernels:
    """The kernels of the compact store for one code of states, as Python callables.

    - `insert(records, tables, next_shard, check_new, mask)` is the second half of a round, as `explore_insert` is. The
      search has provided memory for all states that may be new. `check_new`: the address of that kernel.
    - `grow(tables, next_shard)` gives the tables that have a next shape this shape.
    - `rebuild(records, tables, next_shard, first, last)` inserts the distinct states of each shard with these local
      indices into its table.

    `smallest`: the shape with which tables begin. `view_words`: the words that `explore_view` of the spec's kernels
    writes, which follow those of a state in its code; 0: the spec has no such kernel. `quick`: compile quickly;
    `better` compiles the same kernels with optimisation.
    """

    def __init__(
        self,
        code: StateCode,
        layout: MemoryLayout,
        smallest: TableShape | None = None,
        view_words: int = 0,
        *,
        quick: bool = False,
    ) -> None:
        self.code, self.layout = code, layout
        self._view_words, self.is_quick = view_words, quick
        self.smallest = TableShape(code.bits) if smallest is None else smallest
        module = ir.Module()
        _Definitions(module, code, layout, self.smallest, view_words).define()
        self._owner = MachineCode(module, quick=quick)
        address_of = self._owner.address_of
        self.insert: Callable[[int, int, int, int, int], None] = _INSERT(address_of(INSERT))
        self.grow: Callable[[int, int], None] = _GROW(address_of(GROW))
        self.rebuild: Callable[[int, int, int, int, int], None] = _REBUILD(address_of(REBUILD))

    @property
    def calls_view(self) -> bool:
        """Whether the kernels call `explore_view` of the spec's kernels."""
        return self._view_words > 0

    def better(self) -> CompactKernels:
        """Return the same kernels, compiled with optimisation."""
        return CompactKernels(self.code, self.layout, self.smallest, self._view_words)

    def use_view(self, address: int) -> None:
        """Let the kernels call the view at an address."""
        self._owner.write_words(_VIEW_ADDRESS, [address])
