"""The kernels that label stored states and expand them again, compiled apart from those of the exploration.

    label(states):                              expand(ids):
        for state in states:                        for state in the stored states with these ids:
            write check_state(state)                    stop if its successors might not fit
                                                        list its successors
                                                        for each: hash it, prefetch its slot of the table
                                                        for each: prefetch the state in the slot
                                                        for each that differs from the state:
                                                            write the number of the stored state that equals it,
                                                            and the action instance

A run compiles them only after an exploration without violations, so they cost other runs nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from checker.engines.native.explore.hash_table import HashTable
from checker.engines.native.explore.memory_layout import SHARD_BITS, SHARDS, MemoryLayout
from checker.engines.native.explore.shard_record import ShardRecord, state_hash
from checker.engines.native.explore.store import Store, Words
from checker.engines.native.llvm.control_flow import (
    I8,
    I16,
    I32,
    I64,
    WORD_POINTER,
    LocalVariable,
    counted_loop,
    endless_loop,
    word,
)
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.llvm.words import item, read_words, struct_field, write_words
from checker.engines.native.lowering.native_spec import NativeSpec, lower
from checker.ir import nodes

_LABEL, _EXPAND = "liveness.label", "liveness.expand"

NOT_STORED = 2**32 - 1
"""In place of the number of a successor: it is not stored, because the exploration stopped before it."""

MOST_LABELS = 62
"""The predicates of a module: its masks have 64 bits, of which one reports a failure."""

_SINK = ir.LiteralStructType([WORD_POINTER, WORD_POINTER])
"""The struct to which `emit` reports: the addresses of the next successor and of its action instance."""


class LabelKernel:
    """The machine code that evaluates at most MOST_LABELS predicates in stored states; bit i is predicate i."""

    def __init__(self, program: nodes.Program, *, quick: bool):
        native = lower(program)
        _define_nothing(native)
        builder, (states, bits, count, mask) = _function(native, _LABEL, 4)
        states, bits = builder.inttoptr(states, WORD_POINTER), builder.inttoptr(bits, WORD_POINTER)
        with counted_loop(builder, word(0), count) as index:
            state = item(builder, states, index, native.layout.words)
            builder.store(builder.call(native.check_state, [state, mask]), item(builder, bits, index, 1))
        builder.ret(count)
        self._code = MachineCode(native.module, quick=quick)
        self._label = _callable(self._code, _LABEL, 4)

    def label(self, store: Store, mask: int) -> Words:
        """Return the bits in `mask` of the predicates that are true (n,), for all states, shard by shard."""
        counts = store.counts()
        bits = np.empty(int(counts.sum()), np.uint64)
        start = 0
        for shard, count in enumerate(counts.tolist()):
            self._label(store.states_address(shard, 0), bits[start:].ctypes.data, count, mask)
            start += count
        return bits


class ExpandKernel:
    """The machine code that expands stored states again; a call releases the global interpreter lock."""

    def __init__(self, program: nodes.Program, *, quick: bool):
        native = lower(program)
        self.instances, self.words = native.instances, native.layout.words
        _define_emit(native)
        _define_fail(native)
        _define_expand(native)
        self._code = MachineCode(native.module, quick=quick)
        self._expand = _callable(self._code, _EXPAND, 10)

    def expand(
        self, store: Store, offsets: Words, ids: NDArray[np.uint32], room: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint16]]:
        """Return the steps of the first of some states (n,) that change them, as many states as fit into `room` steps.

        `offsets` (SHARDS,): the number of the first state of each shard. The arrays are the number of steps of each
        expanded state, the numbers of their successors or NOT_STORED, and their action instances. `room` is at least
        the number of action instances, so at least one state is expanded.
        """
        counts = np.empty(len(ids), np.uint32)
        targets, instances = np.empty(room, np.uint32), np.empty(room, np.uint16)
        successors = np.empty((max(1, self.instances), self.words), np.uint64)
        # Of each successor of one state: its action instance, and its hash.
        numbers, hashes = np.empty(max(1, self.instances), np.uint64), np.empty(max(1, self.instances), np.uint64)
        arrays = (offsets, ids, counts, targets, instances, successors, numbers, hashes)
        taken = self._expand(store.records_address, *(array.ctypes.data for array in arrays), len(ids) | room << 32)
        counts = counts[:taken]
        total = int(counts.sum())
        return counts, targets[:total], instances[:total]


def _callable(code: MachineCode, name: str, arguments: int) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * arguments)(code.address_of(name))


def _function(native: NativeSpec, name: str, arguments: int) -> tuple[ir.IRBuilder, tuple[ir.Argument, ...]]:
    function = ir.Function(native.module, ir.FunctionType(I64, [I64] * arguments), name)
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
    words = native.layout.words
    layout = MemoryLayout(words, native.instances)
    builder, arguments = _function(native, _EXPAND, 10)
    records, offsets, successors, numbers, hashes = (
        builder.inttoptr(arguments[position], WORD_POINTER) for position in (0, 1, 6, 7, 8)
    )
    ids, counts, targets = (builder.inttoptr(arguments[position], I32.as_pointer()) for position in (2, 3, 4))
    instances = builder.inttoptr(arguments[5], I16.as_pointer())
    count, room = builder.and_(arguments[9], word(2**32 - 1)), builder.lshr(arguments[9], word(32))
    sink, state = builder.alloca(_SINK), builder.alloca(I64, words)
    position, listed = LocalVariable(builder, word(0), "position"), LocalVariable(builder, word(0), "listed")

    def table_of(hashed: ir.Value) -> tuple[HashTable, ir.Value]:
        shard = builder.lshr(hashed, word(64 - SHARD_BITS))
        return HashTable(builder, ShardRecord.of_shard(builder, records, shard, layout), words), shard

    with endless_loop(builder, "expand") as loop:
        current, first = position.get(), listed.get()
        loop.leave_if(builder.icmp_unsigned(">=", current, count))
        # A state has at most one successor per action instance.
        loop.leave_if(builder.icmp_unsigned(">", builder.add(first, word(native.instances)), room))
        state_id = builder.zext(builder.load(builder.gep(ids, [current])), I64)
        owner = ShardRecord.of_shard(builder, records, builder.and_(state_id, word(SHARDS - 1)), layout)
        stored = item(builder, owner.array("states"), builder.lshr(state_id, word(SHARD_BITS)), words)
        write_words(builder, state, read_words(builder, stored, words))
        builder.store(successors, struct_field(builder, sink, 0))
        builder.store(numbers, struct_field(builder, sink, 1))
        builder.call(native.expand_state, [state, builder.bitcast(sink, I8.as_pointer())])
        end = builder.ptrtoint(builder.load(struct_field(builder, sink, 1)), I64)
        total = builder.udiv(builder.sub(end, builder.ptrtoint(numbers, I64)), word(8))
        # Three passes, so that the cache misses of the successors overlap, as in `explore.insertion`.
        with counted_loop(builder, word(0), total, name="hash") as index:
            hashed = state_hash(builder, read_words(builder, item(builder, successors, index, words), words))
            builder.store(hashed, item(builder, hashes, index, 1))
            table_of(hashed)[0].prefetch_slot(hashed)
        with counted_loop(builder, word(0), total, name="prefetch") as index:
            hashed = builder.load(item(builder, hashes, index, 1))
            table_of(hashed)[0].prefetch_state(hashed)
        with counted_loop(builder, word(0), total, name="find") as index:
            successor = read_words(builder, item(builder, successors, index, words), words)
            # A step that leaves the state unchanged counts for nothing: it is neither enabled nor taken.
            with builder.if_then(_differ(builder, read_words(builder, state, words), successor)):
                hashed = builder.load(item(builder, hashes, index, 1))
                table, shard = table_of(hashed)
                absent, local, _ = table.find(successor, hashed)
                number = builder.add(builder.load(item(builder, offsets, shard, 1)), local)
                number = builder.select(absent, word(NOT_STORED), number)
                place = listed.get()
                builder.store(builder.trunc(number, I32), builder.gep(targets, [place]))
                instance = builder.load(item(builder, numbers, index, 1))
                builder.store(builder.trunc(instance, I16), builder.gep(instances, [place]))
                listed.add(1)
        steps = builder.sub(listed.get(), first)
        builder.store(builder.trunc(steps, I32), builder.gep(counts, [current]))
        position.add(1)
    builder.ret(position.get())


def _differ(builder: ir.IRBuilder, left: list[ir.Value], right: list[ir.Value]) -> ir.Value:
    """Return whether two states differ (i1)."""
    difference: ir.Value = word(0)
    for one, other in zip(left, right, strict=True):
        difference = builder.or_(difference, builder.xor(one, other))
    return builder.icmp_unsigned("!=", difference, word(0))
