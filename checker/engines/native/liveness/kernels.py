"""The kernels that label stored states and expand them again, compiled apart from those of the exploration.

    label(states):                              expand(ids):
        for state in states:                        until all states are expanded, or the next might not fit:
            write check_state(state)                    for the next states, until the block is full:
                                                            for each successor that differs from its state:
                                                                add it to the block, prefetch its slot of the table
                                                        for each in the block: prefetch the state in its slot
                                                        for each in the block:
                                                            write the number of the stored state that equals it,
                                                            and the action instance

A look-up in a large table misses the cache twice: for the slot and for the state. The misses of a block overlap, as in
`explore.insertion`.

A run compiles them only after an exploration without violations, so they cost other runs nothing.
"""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.cache.source_index import SourceIndex
from checker.engines.native.explore.hash_table import HashTable
from checker.engines.native.explore.lowered_spec import LoweredSpec
from checker.engines.native.explore.memory_layout import SHARD_BITS, SHARDS, MemoryLayout
from checker.engines.native.explore.search_store import SearchStore
from checker.engines.native.explore.shard_record import ShardRecord, state_hash
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import (
    I8,
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
from checker.engines.native.llvm.words import item, read_words, struct_field, write_words
from checker.engines.native.lowering.native_spec import NativeSpec, lower
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.language.spec import Spec

LABEL, _EXPAND = "liveness.label", "liveness.expand"

NOT_STORED = 2**32 - 1
"""In place of the number of a successor: it is not stored, because the exploration stopped before it."""

MOST_LABELS = 62
"""The predicates of a module: its masks have 64 bits, of which one reports a failure."""

_BLOCK = 64
"""Successors of a block: enough for many overlapping misses, few enough for the first-level cache."""

_SINK = ir.LiteralStructType([WORD_POINTER, WORD_POINTER])
"""The struct to which `emit` reports: the addresses of the next successor and of its action instance."""


class LabelKernel:
    """The machine code that evaluates at most MOST_LABELS predicates in stored states; bit i is predicate i."""

    def __init__(self, index: SourceIndex, program: nodes.Program, *, quick: bool):
        """Take the code from the index, or compile the predicates of the program, which has no actions."""
        indexed = index.code(lambda: LoweredSpec.of(_labelling(program), index.names), quick=quick)
        self._code = MachineCode(indexed.code, quick=indexed.is_quick)
        self._label = _callable(self._code, LABEL, 4)

    def label(self, store: SearchStore, mask: int) -> Words:
        """Return the bits in `mask` of the predicates that are true (n,), for all states, shard by shard."""
        counts = store.counts()
        bits = np.empty(sum(counts), np.uint64)
        start = 0
        for shard, count in enumerate(counts):
            self._label(store.states_address(shard, 0), bits[start:].ctypes.data, count, mask)
            start += count
        return bits


class ExpandKernel:
    """The machine code that expands stored states again; a call releases the global interpreter lock."""

    def __init__(self, spec: Spec, program_of: Callable[[], nodes.Program] | None = None, *, quick: bool):
        """Take the code from the index, or compile the actions of `program_of` (default: those of the typed spec)."""

        def lowered() -> LoweredSpec:
            program = compile_spec(spec, []) if program_of is None else program_of()
            return LoweredSpec.of(_expanding(dataclasses.replace(program, properties=[])))

        indexed = SourceIndex(spec, _EXPAND).code(lowered, quick=quick)
        self.instances, self.words = indexed.instances, indexed.words
        self._code = MachineCode(indexed.code, quick=indexed.is_quick)
        self._expand = _callable(self._code, _EXPAND, 10)

    def expand(
        self, store: SearchStore, offsets: Words, ids: NDArray[np.uint32], room: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint16]]:
        """Return the steps of the first of some states (n,) that change them, as many states as fit into `room` steps.

        `offsets` (SHARDS,): the number of the first state of each shard. The arrays are the number of steps of each
        expanded state, the numbers of their successors or NOT_STORED, and their action instances. `room` is at least
        the number of action instances, so at least one state is expanded.
        """
        counts = np.empty(len(ids), np.uint32)
        targets, instances = np.empty(room, np.uint32), np.empty(room, np.uint16)
        # A block is full from _BLOCK successors on, and the last state adds at most one for each action instance.
        size = _BLOCK + self.instances
        successors = np.empty((size, self.words), np.uint64)
        # Of each successor: its action instance, and its hash.
        numbers, hashes = np.empty(size, np.uint64), np.empty(size, np.uint64)
        arrays = (offsets, ids, counts, targets, instances, successors, numbers, hashes)
        taken = self._expand(store.records_address, *(array.ctypes.data for array in arrays), len(ids) | room << 32)
        counts = counts[:taken]
        total = int(counts.sum())
        return counts, targets[:total], instances[:total]


def _labelling(program: nodes.Program) -> NativeSpec:
    """Return a program with the function `liveness.label`."""
    native = lower(program)
    _define_nothing(native)
    builder, (states, bits, count, mask) = _function(native, LABEL, 4)
    states, bits = builder.inttoptr(states, WORD_POINTER), builder.inttoptr(bits, WORD_POINTER)
    with for_loop(builder, word(0), count) as index:
        state = item(builder, states, index, native.layout.words)
        builder.store(builder.call(native.check_state, [state, mask]), item(builder, bits, index, 1))
    builder.ret(count)
    return native


def _expanding(program: nodes.Program) -> NativeSpec:
    """Return a program with the function `liveness.expand`."""
    native = lower(program)
    _define_emit(native)
    _define_fail(native)
    _define_expand(native)
    return native


def _callable(code: MachineCode, name: str, arguments: int) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * arguments)(code.address_of(name))


def _function(native: NativeSpec, name: str, arguments: int) -> tuple[ir.IRBuilder, tuple[ir.Value, ...]]:
    function = ir.IrFunction(native.module, ir.FunctionType(I64, [I64] * arguments), name)
    return ir.IRBuilder(function.append_basic_block("entry")), function.args


def _define_nothing(native: NativeSpec) -> None:
    """Give `emit` and `fail` empty bodies: a module of labels expands no state."""
    for function in (native.emit, native.fail):
        ir.IRBuilder(function.append_basic_block("entry")).ret_void()


def _define_emit(native: NativeSpec) -> None:
    """Give `emit` its body: append the successor and its action instance."""
    native.emit.attributes.add("alwaysinline")
    builder = ir.IRBuilder(native.emit.append_basic_block("entry"))
    sink, successor, instance = native.emit.args
    sink = builder.bitcast(sink, _SINK.as_pointer())
    words = native.layout.words
    next_state, next_number = struct_field(builder, sink, 0), struct_field(builder, sink, 1)
    state, number = builder.load(next_state), builder.load(next_number)
    write_words(builder, state, read_words(builder, successor, words))
    builder.store(builder.zext(instance, I64), number)
    builder.store(item(builder, state, word(1), words), next_state)
    builder.store(item(builder, number, word(1), 1), next_number)
    builder.ret_void()


def _define_fail(native: NativeSpec) -> None:
    """Give `fail` an empty body: an instance that leaves its bounds has no successor."""
    native.fail.attributes.add("alwaysinline")
    ir.IRBuilder(native.fail.append_basic_block("entry")).ret_void()


def _define_expand(native: NativeSpec) -> None:
    """Define `i64 liveness.expand`, with the arguments that `ExpandKernel.expand` passes.

    All but the last are addresses. The last one is the number of states, or-ed with the room << 32. Returns the number
    of states that were expanded.
    """
    layout = MemoryLayout(native.layout.words, native.instances)
    builder, arguments = _function(native, _EXPAND, 10)
    records, offsets, successors, numbers, hashes = (
        builder.inttoptr(arguments[position], WORD_POINTER) for position in (0, 1, 6, 7, 8)
    )
    ids, counts, targets = (builder.inttoptr(arguments[position], I32.as_pointer()) for position in (2, 3, 4))
    instances = builder.inttoptr(arguments[5], I16.as_pointer())
    count, room = builder.and_(arguments[9], word(2**32 - 1)), builder.lshr(arguments[9], word(32))
    block = _Block(builder, native, layout, records, successors, numbers, hashes)
    position, listed = LocalVariable(builder, word(0), "position"), LocalVariable(builder, word(0), "listed")
    # A state has at most one successor per action instance.
    most = word(native.instances)
    with endless_loop(builder, "blocks") as loop:
        before = position.get()
        block.size.set(word(0))
        with endless_loop(builder, "expand") as states:
            current, size = position.get(), block.size.get()
            states.leave_if(builder.icmp_unsigned(">=", current, count))
            states.leave_if(builder.icmp_unsigned(">=", size, word(_BLOCK)))
            end = builder.add(builder.add(listed.get(), size), most)
            states.leave_if(builder.icmp_unsigned(">", end, room))
            block.add_successors(builder.zext(builder.load(builder.gep(ids, [current])), I64))
            steps = builder.sub(block.size.get(), size)
            builder.store(builder.trunc(steps, I32), builder.gep(counts, [current]))
            position.add(1)
        loop.leave_if(builder.icmp_unsigned("==", position.get(), before))
        first, size = listed.get(), block.size.get()
        block.prefetch_states()
        with for_loop(builder, word(0), size, name="find") as index:
            shard, absent, local = block.find(index)
            number = builder.add(builder.load(item(builder, offsets, shard, 1)), local)
            number = builder.select(absent, word(NOT_STORED), number)
            place = builder.add(first, index)
            builder.store(builder.trunc(number, I32), builder.gep(targets, [place]))
            builder.store(builder.trunc(block.instance(index), I16), builder.gep(instances, [place]))
        listed.set(builder.add(first, size))
    builder.ret(position.get())


class _Block:
    """The successors of some states, and the searches for them in the tables; `size` is their number.

    Each has its words in `successors`, its action instance in `numbers`, and its hash in `hashes`.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        native: NativeSpec,
        layout: MemoryLayout,
        records: ir.Value,
        successors: ir.Value,
        numbers: ir.Value,
        hashes: ir.Value,
    ):
        self._builder, self._native, self._layout, self._records = builder, native, layout, records
        self._words = native.layout.words
        self._successors, self._numbers, self._hashes = successors, numbers, hashes
        self._sink, self._state = builder.alloca(_SINK), builder.alloca(I64, self._words)
        self.size = LocalVariable(builder, word(0), "size")

    def add_successors(self, state_id: ir.Value) -> None:
        """Emit the expansion of a stored state; add the successors that differ from it, and prefetch their slots."""
        builder = self._builder
        owner = ShardRecord.of_shard(builder, self._records, builder.and_(state_id, word(SHARDS - 1)), self._layout)
        stored = item(builder, owner.array("states"), builder.lshr(state_id, word(SHARD_BITS)), self._words)
        write_words(builder, self._state, read_words(builder, stored, self._words))
        first = self.size.get()
        builder.store(item(builder, self._successors, first, self._words), struct_field(builder, self._sink, 0))
        builder.store(item(builder, self._numbers, first, 1), struct_field(builder, self._sink, 1))
        builder.call(self._native.expand_state, [self._state, builder.bitcast(self._sink, I8.as_pointer())])
        end = builder.ptrtoint(builder.load(struct_field(builder, self._sink, 1)), I64)
        end = builder.udiv(builder.sub(end, builder.ptrtoint(self._numbers, I64)), word(8))
        with for_loop(builder, first, end, name="hash") as index:
            successor = self._successor(index)
            # A step that leaves the state unchanged counts for nothing: it is neither enabled nor taken. The next
            # successor takes its place.
            with builder.if_then(_differ(builder, read_words(builder, self._state, self._words), successor)):
                place = self.size.get()
                hashed = state_hash(builder, successor)
                write_words(builder, item(builder, self._successors, place, self._words), successor)
                builder.store(self.instance(index), item(builder, self._numbers, place, 1))
                builder.store(hashed, item(builder, self._hashes, place, 1))
                self._table(hashed)[0].prefetch_slot(hashed)
                self.size.add(1)

    def prefetch_states(self) -> None:
        """Emit prefetches of the states in the slots of all successors."""
        with for_loop(self._builder, word(0), self.size.get(), name="prefetch") as index:
            hashed = self._hash(index)
            table, _ = self._table(hashed)
            table.prefetch_state(table.candidate(hashed))

    def find(self, index: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Emit the search for a successor; return its shard, whether it is absent (i1), and its local index."""
        hashed = self._hash(index)
        table, shard = self._table(hashed)
        absent, local, _ = table.find(self._successor(index), hashed)
        return shard, absent, local

    def instance(self, index: ir.Value) -> ir.Value:
        """Return the action instance of a successor."""
        return self._builder.load(item(self._builder, self._numbers, index, 1))

    def _successor(self, index: ir.Value) -> list[ir.Value]:
        return read_words(self._builder, item(self._builder, self._successors, index, self._words), self._words)

    def _hash(self, index: ir.Value) -> ir.Value:
        return self._builder.load(item(self._builder, self._hashes, index, 1))

    def _table(self, hashed: ir.Value) -> tuple[HashTable, ir.Value]:
        """Return the table that may hold a state with this hash, and its shard."""
        shard = self._builder.lshr(hashed, word(64 - SHARD_BITS))
        record = ShardRecord.of_shard(self._builder, self._records, shard, self._layout)
        return HashTable(self._builder, record, self._words), shard


def _differ(builder: ir.IRBuilder, left: list[ir.Value], right: list[ir.Value]) -> ir.Value:
    """Return whether two states differ (i1)."""
    difference: ir.Value = word(0)
    for one, other in zip(left, right, strict=True):
        difference = builder.or_(difference, builder.xor(one, other))
    return builder.icmp_unsigned("!=", difference, word(0))
