"""Kernels on rows of packed states: remove duplicates, sort, subtract and merge, for engines that keep states on disk.

A row describes a state in `words + 2` 64-bit words: its packed words, the hash of the state that it was first reached
from (0 for an initial state), and its origin, `level << 16 | action instance`. Sorted rows are in the order of their
states' hashes, and in the order of the words where hashes are equal. All comparisons are of whole states.

A `RowTable` removes duplicates and sorts in one pass. It is a hash table with linear probing whose home slots are in
the order of the hashes, so its rows, read from the first slot to the last, are almost sorted:

    add(row):                                       sorted():
        slot = home(hash(row))                          for each used slot, from the first on:
        while slots[slot] is used:                          insert its row before the greater ones at the end
            if it holds the same state:
                keep the lesser origin, and return
            slot += 1
        slots[slot] = tag | number of rows + 1
        append the row

A `RowFilter` is a Bloom filter over the hashes of sorted rows: a state that it excludes is not among the rows, so most
searches read one word of the filter and no row. The bits of a state are in one word, and the words are in the order of
the hashes. Searches for sorted rows therefore read the filter from its first word to its last.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.explore.memory_layout import INITIAL_INSTANCE
from checker.engines.native.explore.shard_record import state_hash
from checker.engines.native.kernels.batch import ExpandedBatch
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import (
    I1,
    I16,
    I32,
    I64,
    WORD_POINTER,
    LocalVariable,
    endless_loop,
    for_loop,
    word,
)
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.llvm.word_arrays import Words
from checker.engines.native.llvm.words import item, prefetch, read_words, write_words

ORIGIN_WORDS = 2
"""The words of a row behind those of the state: the parent's hash, and the origin."""

INSTANCE_BITS = 16
"""The low bits of an origin hold the action instance, the others the level."""

HASH_RANGE = 1 << 32
"""The number of values of the high half of a hash. A range of hashes is given by bounds of this half."""

TAG_BITS = 4
NUMBER_BITS = 32 - TAG_BITS
"""The bits of a table's slot: some bits of the hash, and the number of a row. Another tag is that of another state."""

MOST_ROWS = 2**NUMBER_BITS - 2
"""The greatest number of rows of a table."""

SLOTS_PER_ROW = 2
"""Slots for each row that a table can hold: at a load of at most a half, few rows are out of place."""


SLOT_AHEAD, ROW_AHEAD = 16, 8
"""How many rows ahead a loop fetches the slot, and the row in it, so that they are in the cache when they are used."""


ROWS_PER_FILTER_WORD, FILTER_BITS = 6, 4
"""Rows for each 64-bit word of a filter, and bits of each row: about two of a hundred other states pass it."""


@dataclass(frozen=True)
class SortedRows:
    """Distinct rows (n, words + 2) in sorted order, and the hashes (n,) of their states."""

    rows: Words
    hashes: Words

    def __len__(self) -> int:
        return len(self.rows)


class RowFilter:
    """A Bloom filter for rows with hashes in a range; `words` (n,) is all of its content."""

    def __init__(self, words: Words, low: int = 0, high: int = HASH_RANGE) -> None:
        self.words, self.low = words, low
        # The word of a hash = (high half - low) * scale >> 32, below their number.
        self.scale = (len(words) << 32) // (high - low)

    @classmethod
    def empty(cls, rows: int, low: int = 0, high: int = HASH_RANGE) -> RowFilter:
        """Return an empty filter for a number of rows."""
        return cls(np.zeros(filter_words(rows), np.uint64), low, high)

    def add(self, kernels: RowKernels, rows: Words) -> None:
        """Add rows (n, words + 2)."""
        kernels.fill(rows.ctypes.data, len(rows), *self.arguments)

    @property
    def arguments(self) -> tuple[int, int, int]:
        """The arguments of a kernel that describe the filter."""
        return self.words.ctypes.data, self.low, self.scale


def filter_words(rows: int) -> int:
    """Return the number of words of a filter for a number of rows."""
    return rows // ROWS_PER_FILTER_WORD + 1


class RowTable:
    """Distinct rows with hashes in a range: each state with its least origin (by the parent's hash, then by instance).

    `capacity`: the greatest number of rows. `low`, `high`: the bounds of the high halves of the hashes.
    """

    def __init__(self, kernels: RowKernels, capacity: int, low: int = 0, high: int = HASH_RANGE) -> None:
        if capacity > MOST_ROWS:
            raise ValueError(f"a table holds at most {MOST_ROWS} rows, not {capacity}")
        self._kernels, self.capacity, self.count = kernels, capacity, 0
        slots = SLOTS_PER_ROW * max(1, capacity)
        # home = (high half - low) * scale >> 32, below `slots`. The product fits into 64 bits.
        self._low, self._scale = low, (slots << 32) // (high - low)
        # Probing never wraps around: behind the last home, there is a slot for every row. Fresh pages are zero, and
        # take memory only when they are written.
        self._slots = np.zeros(slots + capacity + SLOT_AHEAD, np.uint32)
        self._rows = np.empty((capacity, kernels.row_words), np.uint64)

    def add_rows(self, rows: Words) -> None:
        """Add rows (n, words + 2)."""
        rows = np.require(rows, np.uint64, ["C", "A"])
        self._require_room(len(rows))
        self.count = self._kernels.add_rows(rows.ctypes.data, len(rows), *self._arguments())

    def add_successors(self, successors: ExpandedBatch, parents: Words, level: int) -> None:
        """Add the successors of a batch of states with the hashes `parents`, as states of a level."""
        self._require_room(len(successors.states))
        arrays = (successors.states, successors.hashes, successors.parents, successors.instances, parents)
        self.count = self._kernels.add_successors(
            *(array.ctypes.data for array in arrays), len(successors.states), level, *self._arguments()
        )

    def sorted(self) -> SortedRows:
        """Return the rows in sorted order."""
        rows = np.empty((self.count, self._kernels.row_words), np.uint64)
        hashes = np.empty(self.count, np.uint64)
        arrays = (self._slots, self._rows, rows, hashes)
        self._kernels.sort(*(array.ctypes.data for array in arrays), self.count)
        return SortedRows(rows, hashes)

    def _arguments(self) -> tuple[int, int, int, int, int]:
        return self._slots.ctypes.data, self._low, self._scale, self._rows.ctypes.data, self.count

    def _require_room(self, more: int) -> None:
        if self.count + more > self.capacity:
            raise ValueError(f"a table for {self.capacity} rows cannot take {self.count + more}")


class RowKernels:
    """The machine code for states of `words` words. Calls release the global interpreter lock."""

    def __init__(self, words: int) -> None:
        self.words, self.row_words = words, words + ORIGIN_WORDS
        module = ir.Module()
        counts = {kernel.__name__.strip("_"): kernel(module, words) for kernel in _KERNELS}
        self._code = MachineCode(module)
        self.add_rows, self.add_successors, self.sort, self.fill, self._subtract, self._merge, self._lower_bound = (
            ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * arguments)(self._code.address_of(name))
            for name, arguments in counts.items()
        )

    def initial_rows(self, states: Words) -> Words:
        """Return rows of initial states (n, words)."""
        rows = np.zeros((len(states), self.row_words), np.uint64)
        rows[:, : self.words] = states
        rows[:, -1] = INITIAL_INSTANCE
        return rows

    def subtract(self, new: SortedRows, stored: Words, filtered: RowFilter) -> SortedRows:
        """Return the rows of `new` without the states of `stored`; the arrays of `new` are reused.

        `stored`: sorted rows. `filtered`: a filter of these and maybe of others.
        """
        arrays = (new.rows, new.hashes, stored)
        addresses = (array.ctypes.data for array in arrays)
        count = self._subtract(*addresses, len(new), len(stored), *filtered.arguments)
        return SortedRows(new.rows[:count], new.hashes[:count])

    def merge(self, one: Words, other: Words) -> Words:
        """Return the rows of both arrays in sorted order. Each is sorted, and no state is in both."""
        merged = np.empty((len(one) + len(other), self.row_words), np.uint64)
        self._merge(one.ctypes.data, other.ctypes.data, merged.ctypes.data, len(one), len(other))
        return merged

    def lower_bound(self, rows: Words, hashed: int) -> int:
        """Return the number of sorted rows whose hashes are below `hashed`."""
        return int(self._lower_bound(rows.ctypes.data, 0, len(rows), hashed))


@functools.cache
def row_kernels(words: int) -> RowKernels:
    """Return the kernels for states of `words` words, compiled once in each process."""
    return RowKernels(words)


def instances_of(rows: Words) -> NDArray[np.uint16]:
    """Return the action instances (n,) that first reached the states of rows."""
    return (rows[:, -1] & np.uint64(2**INSTANCE_BITS - 1)).astype(np.uint16)


def levels_of(rows: Words) -> Words:
    """Return the levels (n,) of the states of rows."""
    return np.asarray(rows[:, -1] >> np.uint64(INSTANCE_BITS), np.uint64)


def _function(module: ir.Module, name: str, arguments: int) -> tuple[ir.IRBuilder, tuple[ir.Value, ...]]:
    function = ir.IrFunction(module, ir.FunctionType(I64, [I64] * arguments), name)
    return ir.IRBuilder(function.append_basic_block("entry")), function.args


def _pointers(builder: ir.IRBuilder, *addresses: ir.Value) -> list[ir.Value]:
    return [builder.inttoptr(address, WORD_POINTER) for address in addresses]


class _Table:
    """The arguments of a `RowTable`'s kernels: addresses of the slots and rows, the range of hashes, the row count."""

    ARGUMENTS = 5

    def __init__(self, builder: ir.IRBuilder, arguments: tuple[ir.Value, ...], words: int) -> None:
        slots, self._low, self._scale, rows, count = arguments
        self._builder, self._words = builder, words
        self._slots = builder.inttoptr(slots, I32.as_pointer())
        self._rows = builder.inttoptr(rows, WORD_POINTER)
        self.count = LocalVariable(builder, count, "count")

    def prefetch_slot(self, hashed: ir.Value) -> None:
        """Emit a prefetch of the home slot of a hash."""
        prefetch(self._builder, self._slot(self._home(hashed)))

    def prefetch_row(self, hashed: ir.Value) -> None:
        """Emit a prefetch of the row in the home slot of a hash; for an empty slot, of the memory before the rows."""
        prefetch(self._builder, self._row(self._builder.load(self._slot(self._home(hashed)))))

    def add(self, state: list[ir.Value], hashed: ir.Value, origin: list[ir.Value]) -> None:
        """Emit the addition of a row, or the choice of the lesser origin if its state is in the table."""
        builder = self._builder
        position = LocalVariable(builder, self._home(hashed), "position")
        # The lowest bits of the hash: the order of the slots already distinguishes the highest ones.
        tag = builder.trunc(builder.and_(hashed, word(2**TAG_BITS - 1)), I32)
        is_known = LocalVariable(builder, ir.ConstantValue(I1, 0), "is_known")
        with endless_loop(builder, "probe") as probe:
            held = builder.load(self._slot(position.get()))
            probe.leave_if(builder.icmp_unsigned("==", held, ir.ConstantValue(I32, 0)))
            has_tag = builder.icmp_unsigned("==", builder.lshr(held, ir.ConstantValue(I32, NUMBER_BITS)), tag)
            with builder.if_then(has_tag):
                row = self._row(held)
                is_known.set(_same(builder, read_words(builder, row, self._words), state))
                with builder.if_then(is_known.get()):
                    self._keep_lesser(row, origin)
                probe.leave_if(is_known.get())
            position.add(1)
        with builder.if_then(builder.not_(is_known.get())):
            count = self.count.get()
            write_words(builder, item(builder, self._rows, count, self._words + ORIGIN_WORDS), [*state, *origin])
            # The number is counted from 1, because 0 is an empty slot.
            held = builder.or_(
                builder.shl(tag, ir.ConstantValue(I32, NUMBER_BITS)), builder.trunc(builder.add(count, word(1)), I32)
            )
            builder.store(held, self._slot(position.get()))
            self.count.add(1)

    def _home(self, hashed: ir.Value) -> ir.Value:
        half = self._builder.sub(self._builder.lshr(hashed, word(32)), self._low)
        return self._builder.lshr(self._builder.mul(half, self._scale), word(32))

    def _slot(self, position: ir.Value) -> ir.Value:
        return self._builder.gep(self._slots, [position], inbounds=True)

    def _row(self, held: ir.Value) -> ir.Value:
        return _row_of_slot(self._builder, self._rows, held, self._words + ORIGIN_WORDS)

    def _keep_lesser(self, row: ir.Value, origin: list[ir.Value]) -> None:
        builder = self._builder
        place = builder.gep(row, [word(self._words)], inbounds=True)
        with builder.if_then(_less(builder, origin, read_words(builder, place, ORIGIN_WORDS))):
            write_words(builder, place, origin)


def _row_of_slot(builder: ir.IRBuilder, rows: ir.Value, held: ir.Value, size: int) -> ir.Value:
    """Return the address of the row whose number a slot holds; for an empty slot, one row before the array."""
    number = builder.zext(builder.and_(held, ir.ConstantValue(I32, 2**NUMBER_BITS - 1)), I64)
    # Not `inbounds`: LLVM makes such an address outside of its array a poison value.
    return builder.gep(rows, [builder.mul(builder.sub(number, word(1)), word(size))])


def _prefetch_ahead(
    builder: ir.IRBuilder,
    table: _Table,
    index: ir.Value,
    count: ir.Value,
    hash_of: Callable[[ir.Value], ir.Value],
) -> None:
    """Emit prefetches for later rows of a loop: first of the slot, and when that has arrived, of the row it holds."""
    for ahead, fetch in ((SLOT_AHEAD, table.prefetch_slot), (ROW_AHEAD, table.prefetch_row)):
        later = builder.add(index, word(ahead))
        with builder.if_then(builder.icmp_unsigned("<", later, count)):
            fetch(hash_of(later))


def _add_rows(module: ir.Module, words: int) -> int:
    """Define `i64 add_rows(rows, count, table...)`, which returns the number of rows of the table."""
    builder, (rows, count, *table) = _function(module, "add_rows", 2 + _Table.ARGUMENTS)
    [rows] = _pointers(builder, rows)
    target = _Table(builder, tuple(table), words)

    def hash_of(index: ir.Value) -> ir.Value:
        return state_hash(builder, read_words(builder, item(builder, rows, index, words + ORIGIN_WORDS), words))

    with for_loop(builder, word(0), count) as index:
        _prefetch_ahead(builder, target, index, count, hash_of)
        row = read_words(builder, item(builder, rows, index, words + ORIGIN_WORDS), words + ORIGIN_WORDS)
        target.add(row[:words], state_hash(builder, row[:words]), row[words:])
    builder.ret(target.count.get())
    return 2 + _Table.ARGUMENTS


def _add_successors(module: ir.Module, words: int) -> int:
    """Define `i64 add_successors(states, hashes, parents, instances, parent_hashes, count, level, table...)`."""
    builder, (states, hashes, parents, instances, parent_hashes, count, level, *table) = _function(
        module, "add_successors", 7 + _Table.ARGUMENTS
    )
    states, hashes, parent_hashes = _pointers(builder, states, hashes, parent_hashes)
    parents = builder.inttoptr(parents, I32.as_pointer())
    instances = builder.inttoptr(instances, I16.as_pointer())
    target = _Table(builder, tuple(table), words)
    level = builder.shl(level, word(INSTANCE_BITS))

    def hash_of(index: ir.Value) -> ir.Value:
        return builder.load(item(builder, hashes, index, 1))

    with for_loop(builder, word(0), count) as index:
        _prefetch_ahead(builder, target, index, count, hash_of)
        parent = builder.zext(builder.load(builder.gep(parents, [index], inbounds=True)), I64)
        instance = builder.zext(builder.load(builder.gep(instances, [index], inbounds=True)), I64)
        origin = [builder.load(item(builder, parent_hashes, parent, 1)), builder.or_(level, instance)]
        state = read_words(builder, item(builder, states, index, words), words)
        target.add(state, hash_of(index), origin)
    builder.ret(target.count.get())
    return 7 + _Table.ARGUMENTS


def _sort(module: ir.Module, words: int) -> int:
    """Define `i64 sort(slots, rows, sorted, hashes, total)`, which returns the number of rows, `total`."""
    builder, (slots, rows, target, hashes, total) = _function(module, "sort", 5)
    slots = builder.inttoptr(slots, I32.as_pointer())
    rows, target, hashes = _pointers(builder, rows, target, hashes)
    size = words + ORIGIN_WORDS
    count = LocalVariable(builder, word(0), "count")
    position = LocalVariable(builder, word(0), "position")
    with endless_loop(builder, "walk") as walk:
        walk.leave_if(builder.icmp_unsigned(">=", count.get(), total))
        index = position.get()
        later = builder.load(builder.gep(slots, [builder.add(index, word(SLOT_AHEAD))], inbounds=True))
        prefetch(builder, _row_of_slot(builder, rows, later, size))
        held = builder.load(builder.gep(slots, [index], inbounds=True))
        with builder.if_then(builder.icmp_unsigned("!=", held, ir.ConstantValue(I32, 0))):
            row = read_words(builder, _row_of_slot(builder, rows, held, size), size)
            hashed = state_hash(builder, row[:words])
            free = LocalVariable(builder, count.get(), "free")
            with endless_loop(builder, "shift") as shift:
                shift.leave_if(builder.icmp_unsigned("==", free.get(), word(0)))
                before = builder.sub(free.get(), word(1))
                last = builder.load(item(builder, hashes, before, 1))
                moved = read_words(builder, item(builder, target, before, size), size)
                shift.leave_if(builder.not_(_less(builder, [hashed, *row[:words]], [last, *moved[:words]])))
                builder.store(last, item(builder, hashes, free.get(), 1))
                write_words(builder, item(builder, target, free.get(), size), moved)
                free.set(before)
            builder.store(hashed, item(builder, hashes, free.get(), 1))
            write_words(builder, item(builder, target, free.get(), size), row)
            count.add(1)
        position.add(1)
    builder.ret(count.get())
    return 5


def _filter_place(
    builder: ir.IRBuilder, words: ir.Value, low: ir.Value, scale: ir.Value, hashed: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Return the address (i64*) of a hash's word in a filter, and its bits (i64) in that word."""
    half = builder.sub(builder.lshr(hashed, word(32)), low)
    place = item(builder, words, builder.lshr(builder.mul(half, scale), word(32)), 1)
    bits: ir.Value = word(0)
    # The low half of the hash, six bits at a time: the order of the words already distinguishes the high half.
    for number in range(FILTER_BITS):
        position = builder.and_(builder.lshr(hashed, word(6 * number)), word(63))
        bits = builder.or_(bits, builder.shl(word(1), position))
    return place, bits


def _fill(module: ir.Module, words: int) -> int:
    """Define `i64 fill(rows, count, filter_words, low, scale)`, which returns the number of rows."""
    builder, (rows, count, filter_address, low, scale) = _function(module, "fill", 5)
    rows, filter_array = _pointers(builder, rows, filter_address)
    with for_loop(builder, word(0), count) as index:
        hashed = state_hash(builder, read_words(builder, item(builder, rows, index, words + ORIGIN_WORDS), words))
        place, bits = _filter_place(builder, filter_array, low, scale, hashed)
        builder.store(builder.or_(builder.load(place), bits), place)
    builder.ret(count)
    return 5


def _subtract(module: ir.Module, words: int) -> int:
    """Define `i64 subtract(rows, hashes, stored, count, stored_count, filter_words, low, scale)`.

    It moves the rows that are not stored to the front, with their hashes, and returns their number. Both arrays are
    sorted, so each search starts where the last one ended.
    """
    bound = _lower_bound_function(module, words)
    builder, (rows, hashes, stored_address, count, stored_count, filter_address, low, scale) = _function(
        module, "subtract", 8
    )
    rows, hashes, stored, filter_array = _pointers(builder, rows, hashes, stored_address, filter_address)
    size = words + ORIGIN_WORDS
    position = LocalVariable(builder, word(0), "position")
    kept = LocalVariable(builder, word(0), "kept")
    with for_loop(builder, word(0), count) as index:
        row = read_words(builder, item(builder, rows, index, size), size)
        hashed = builder.load(item(builder, hashes, index, 1))
        is_stored = LocalVariable(builder, ir.ConstantValue(I1, 0), "is_stored")
        place, bits = _filter_place(builder, filter_array, low, scale, hashed)
        with builder.if_then(builder.icmp_unsigned("==", builder.and_(builder.load(place), bits), bits)):
            position.set(builder.call(bound, [stored_address, position.get(), stored_count, hashed]))
            # Several states may have this hash: each of them is compared.
            candidate = LocalVariable(builder, position.get(), "candidate")
            with endless_loop(builder, "compare") as compare:
                compare.leave_if(builder.icmp_unsigned(">=", candidate.get(), stored_count))
                other = read_words(builder, item(builder, stored, candidate.get(), size), words)
                compare.leave_if(builder.icmp_unsigned("!=", state_hash(builder, other), hashed))
                is_stored.set(_same(builder, other, row[:words]))
                compare.leave_if(is_stored.get())
                candidate.add(1)
        with builder.if_then(builder.not_(is_stored.get())):
            write_words(builder, item(builder, rows, kept.get(), size), row)
            builder.store(hashed, item(builder, hashes, kept.get(), 1))
            kept.add(1)
    builder.ret(kept.get())
    return 8


class _MergeSide:
    """One of two sorted arrays that are merged: the position in it, and the hash and words of the row there."""

    def __init__(self, builder: ir.IRBuilder, rows: ir.Value, count: ir.Value, words: int) -> None:
        self._builder, self._rows, self._count, self._words = builder, rows, count, words
        self._position = LocalVariable(builder, word(0))
        self._key = [LocalVariable(builder, word(0)) for _ in range(1 + words)]
        self._read()

    def has_row(self) -> ir.Value:
        """Return whether there is a row at the position (i1)."""
        return self._builder.icmp_unsigned("<", self._position.get(), self._count)

    def key(self) -> list[ir.Value]:
        """Return the hash and the words of the row."""
        return [part.get() for part in self._key]

    def move_to(self, target: ir.Value) -> None:
        """Emit a copy of the row to an address, and the step to the next row."""
        size = self._words + ORIGIN_WORDS
        row = item(self._builder, self._rows, self._position.get(), size)
        write_words(self._builder, target, read_words(self._builder, row, size))
        self._position.add(1)
        self._read()

    def _read(self) -> None:
        builder = self._builder
        with builder.if_then(self.has_row()):
            row = item(builder, self._rows, self._position.get(), self._words + ORIGIN_WORDS)
            state = read_words(builder, row, self._words)
            for part, value in zip(self._key, [state_hash(builder, state), *state], strict=True):
                part.set(value)


def _merge(module: ir.Module, words: int) -> int:
    """Define `i64 merge(one, other, merged, one_count, other_count)`, which returns the number of rows."""
    builder, (one, other, merged, one_count, other_count) = _function(module, "merge", 5)
    one, other, merged = _pointers(builder, one, other, merged)
    size = words + ORIGIN_WORDS
    total = builder.add(one_count, other_count)
    sides = [_MergeSide(builder, *side, words) for side in ((one, one_count), (other, other_count))]
    with for_loop(builder, word(0), total) as index:
        left, right = sides
        is_first = _less(builder, left.key(), right.key())
        # A side that ended keeps the key of its last row, which may be the lesser one.
        takes_left = builder.and_(left.has_row(), builder.or_(builder.not_(right.has_row()), is_first))
        target = item(builder, merged, index, size)
        with builder.if_else(takes_left) as branches:
            for branch, side in zip(branches, sides, strict=True):
                with branch:
                    side.move_to(target)
    builder.ret(total)
    return 5


def _lower_bound(module: ir.Module, words: int) -> int:
    """Define `i64 lower_bound(rows, start, count, hash)`: the first of sorted rows whose hash is not below `hash`.

    All rows before `start` have lesser hashes. The search doubles its steps from there, and then halves them.
    """
    _lower_bound_function(module, words)
    return 4


def _lower_bound_function(module: ir.Module, words: int) -> ir.IrFunction:
    name = "lower_bound"
    if isinstance(known := module.globals.get(name), ir.IrFunction):
        return known
    builder, (rows, start, count, hashed) = _function(module, name, 4)
    [rows] = _pointers(builder, rows)

    def is_below(position: ir.Value) -> ir.Value:
        state = read_words(builder, item(builder, rows, position, words + ORIGIN_WORDS), words)
        return builder.icmp_unsigned("<", state_hash(builder, state), hashed)

    # Rows below `low` have lesser hashes; the row at `high`, if there is one, has not.
    low, high = LocalVariable(builder, start, "low"), LocalVariable(builder, start, "high")
    step = LocalVariable(builder, word(1), "step")
    with endless_loop(builder, "double") as loop:
        loop.leave_if(builder.icmp_unsigned(">=", high.get(), count))
        loop.leave_if(builder.not_(is_below(high.get())))
        low.set(builder.add(high.get(), word(1)))
        high.set(builder.add(high.get(), step.get()))
        step.set(builder.shl(step.get(), word(1)))
    past = builder.icmp_unsigned(">", high.get(), count)
    high.set(builder.select(past, count, high.get()))
    with endless_loop(builder, "halve") as loop:
        loop.leave_if(builder.icmp_unsigned(">=", low.get(), high.get()))
        middle = builder.lshr(builder.add(low.get(), high.get()), word(1))
        below = is_below(middle)
        low.set(builder.select(below, builder.add(middle, word(1)), low.get()))
        high.set(builder.select(below, high.get(), middle))
    builder.ret(low.get())
    return builder.function


def _same(builder: ir.IRBuilder, one: list[ir.Value], other: list[ir.Value]) -> ir.Value:
    """Return whether all words are equal (i1)."""
    difference: ir.Value = word(0)
    for left, right in zip(one, other, strict=True):
        difference = builder.or_(difference, builder.xor(left, right))
    return builder.icmp_unsigned("==", difference, word(0))


def _less(builder: ir.IRBuilder, one: list[ir.Value], other: list[ir.Value]) -> ir.Value:
    """Return whether `one` comes before `other` in the order of their words (i1), the first word being decisive."""
    less: ir.Value = ir.ConstantValue(I1, 0)
    for left, right in zip(reversed(one), reversed(other), strict=True):
        is_same = builder.icmp_unsigned("==", left, right)
        less = builder.select(is_same, less, builder.icmp_unsigned("<", left, right))
    return less


_KERNELS: tuple[Callable[[ir.Module, int], int], ...] = (
    _add_rows,
    _add_successors,
    _sort,
    _fill,
    _subtract,
    _merge,
    _lower_bound,
)
"""Each defines the kernel of its name and returns the number of its arguments, which are all i64."""
