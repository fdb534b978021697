"""Many states in one call: the successors of an array of states, the properties of each; no Python object a state.

`compile_batch` turns a typed program into `BatchCode`, which is small, says all there is and can be sent to another
process (pickled). `BatchEngine` is its machine code. States are rows of packed words (n, words), see `layout.encode`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from checker.engines.native.explore.shard_record import state_hash
from checker.engines.native.explore.store import Words
from checker.engines.native.llvm.control_flow import (
    I8,
    I32,
    I64,
    WORD_POINTER,
    LocalVariable,
    counted_loop,
    endless_loop,
    word,
)
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.llvm.words import item, read_words, write_words
from checker.engines.native.lowering.program import NativeSpec, lower
from checker.engines.native.lowering.state_layout import StateLayout
from checker.ir import nodes

MOST_SUCCESSORS = 1 << 18
"""How many successors a call lists, unless a single state may have more."""

_EXPAND, _CHECK, _HASH = "batch.expand", "batch.check", "batch.hash"

_SINK = ir.LiteralStructType([WORD_POINTER, WORD_POINTER, I64, I64, I64])
_NEXT_STATE, _NEXT_ORIGIN, _PARENT, _FAILURES, _FAILED = range(5)

_WITHIN, _SUCCESSORS, _STATE_FAILURES, _STATE_FAILED = range(4)
_SUMMARY = 4
"""The words of a state's summary, and their number."""


@dataclass(frozen=True)
class BatchCode:
    """A spec's functions as LLVM's text, for any machine; `words` of a state, number of action `instances`."""

    text: str
    words: int
    instances: int


@dataclass(frozen=True)
class ExpandedBatch:
    """The successors (m) of the first `taken` states of a batch, in the order of their parents and instances.

    `states` (m, words), `hashes` (m,), `parents` (m,): positions in the batch, `instances` (m,). `steps` (m,): the bits
    of the step invariants that the step violates, bit 63 where one left its bounds. Of the states (taken,):
    `within` says whether a state is within the constraint, and was expanded; `counts` how many successors it has,
    `failures` how many of its action instances left a type's bounds, `failed` the first of those.
    """

    taken: int
    states: Words
    hashes: Words
    parents: NDArray[np.uint32]
    instances: NDArray[np.uint16]
    steps: Words
    within: NDArray[np.bool_]
    counts: Words
    failures: Words
    failed: Words

    @property
    def deadlocked(self) -> NDArray[np.intp]:
        """The positions of the states that nothing is enabled in, though they are within the constraint."""
        return np.flatnonzero(self.within & (self.counts == 0) & (self.failures == 0))


def compile_batch(program: nodes.Program) -> tuple[BatchCode, StateLayout]:
    """Return the batch code of a typed program, and the layout of its states; raise SpecError as the lowering does."""
    native = lower(program)
    _define_emit(native)
    _define_fail(native)
    _define_expand(native)
    _define_check(native)
    _define_hash(native)
    return BatchCode(str(native.module), native.layout.words, native.instances), native.layout


class BatchEngine:
    """Batch code compiled for this process. Its calls release the interpreter lock."""

    def __init__(self, code: BatchCode):
        self.words, self.instances = code.words, code.instances
        self._code = MachineCode(code.text)
        self._expand, self._check, self._hash = (
            ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * arguments)(self._code.address_of(name))
            for name, arguments in ((_EXPAND, 9), (_CHECK, 4), (_HASH, 3))
        )

    def expand(self, states: Words, step_mask: int = 0) -> ExpandedBatch:
        """Return the successors of the first of some states (n, words), n >= 1: of as many as one call lists.

        `step_mask`: the bits of the step invariants to check.
        """
        states = self._rows(states)
        room = max(MOST_SUCCESSORS, self.instances)
        found, hashes = np.empty((room, self.words), np.uint64), np.empty(room, np.uint64)
        origins, steps = np.empty(room, np.uint64), np.empty(room, np.uint64)
        summary = np.empty((len(states), _SUMMARY), np.uint64)
        arrays = (states, found, origins, hashes, steps, summary)
        taken = self._expand(*(array.ctypes.data for array in arrays), len(states), room, step_mask)
        summary = summary[:taken]
        count = int(summary[:, _SUCCESSORS].sum())
        origins = origins[:count]
        return ExpandedBatch(
            taken=taken,
            states=found[:count],
            hashes=hashes[:count],
            parents=(origins & np.uint64(0xFFFFFFFF)).astype(np.uint32),
            instances=(origins >> np.uint64(32)).astype(np.uint16),
            steps=steps[:count],
            within=summary[:, _WITHIN].astype(np.bool_),
            counts=summary[:, _SUCCESSORS],
            failures=summary[:, _STATE_FAILURES],
            failed=summary[:, _STATE_FAILED],
        )

    def check(self, states: Words, mask: int) -> Words:
        """Return (n,) the bits, of those in `mask`, of the invariants that are false and the reachables that are true.

        Bit 63: evaluating a property, or a constraint, left its bounds.
        """
        states, bits = self._rows(states), np.empty(len(states), np.uint64)
        self._check(states.ctypes.data, bits.ctypes.data, len(states), mask)
        return bits

    def hashes(self, states: Words) -> Words:
        """Return the 64-bit hashes (n,) of states: the same everywhere."""
        states, hashes = self._rows(states), np.empty(len(states), np.uint64)
        self._hash(states.ctypes.data, hashes.ctypes.data, len(states))
        return hashes

    def _rows(self, states: Words) -> Words:
        rows = np.require(states, np.uint64, ["C", "A"])
        if rows.ndim != 2 or rows.shape[1] != self.words:
            raise ValueError(f"states have shape (n, {self.words}), not {rows.shape}")
        return rows


def _slot(builder: ir.IRBuilder, sink: ir.Value, index: int) -> ir.Value:
    return builder.gep(sink, [ir.Constant(I32, 0), ir.Constant(I32, index)], inbounds=True)


def _define_emit(native: NativeSpec) -> None:
    """Append the successor, and its origin: parent | instance << 32."""
    native.emit.attributes.add("alwaysinline")
    builder = ir.IRBuilder(native.emit.append_basic_block("entry"))
    sink = builder.bitcast(native.emit.args[0], _SINK.as_pointer())
    words = native.layout.words
    state_slot, origin_slot = _slot(builder, sink, _NEXT_STATE), _slot(builder, sink, _NEXT_ORIGIN)
    state, origin = builder.load(state_slot), builder.load(origin_slot)
    write_words(builder, state, read_words(builder, native.emit.args[1], words))
    instance = builder.shl(builder.zext(native.emit.args[2], I64), word(32))
    builder.store(builder.or_(builder.load(_slot(builder, sink, _PARENT)), instance), origin)
    builder.store(item(builder, state, word(1), words), state_slot)
    builder.store(item(builder, origin, word(1), 1), origin_slot)
    builder.ret_void()


def _define_fail(native: NativeSpec) -> None:
    """Count the failure, and remember the first instance that failed."""
    native.fail.attributes.add("alwaysinline")
    builder = ir.IRBuilder(native.fail.append_basic_block("entry"))
    sink = builder.bitcast(native.fail.args[0], _SINK.as_pointer())
    failures_slot = _slot(builder, sink, _FAILURES)
    failures = builder.load(failures_slot)
    with builder.if_then(builder.icmp_unsigned("==", failures, word(0))):
        builder.store(builder.zext(native.fail.args[1], I64), _slot(builder, sink, _FAILED))
    builder.store(builder.add(failures, word(1)), failures_slot)
    builder.ret_void()


def _define_expand(native: NativeSpec) -> None:
    """Define `i64 batch.expand(states, found, origins, hashes, steps, summary, count, room, step_mask)`.

    All are i64, the first six addresses. It ends where the successors of one more state might not fit, and returns the
    number of states that it took.
    """
    words = native.layout.words
    builder, arguments = _function(native, _EXPAND, 9)
    states, found, origins, hashes, steps, summary = (
        builder.inttoptr(address, WORD_POINTER) for address in arguments[:6]
    )
    count, room, step_mask = arguments[6:]
    sink, state = builder.alloca(_SINK), builder.alloca(I64, words)
    position, listed = LocalVariable(builder, word(0)), LocalVariable(builder, word(0))
    builder.store(found, _slot(builder, sink, _NEXT_STATE))
    builder.store(origins, _slot(builder, sink, _NEXT_ORIGIN))
    with endless_loop(builder) as loop:
        current, first = position.get(), listed.get()
        loop.leave_if(builder.icmp_unsigned(">=", current, count))
        loop.leave_if(builder.icmp_unsigned(">", builder.add(first, word(native.instances)), room))
        builder.store(current, _slot(builder, sink, _PARENT))
        builder.store(word(0), _slot(builder, sink, _FAILURES))
        builder.store(word(0), _slot(builder, sink, _FAILED))
        # A copy of its own, so that LLVM knows that listing successors does not change the state being expanded.
        write_words(builder, state, read_words(builder, item(builder, states, current, words), words))
        within = _expand_within(builder, native, state, builder.bitcast(sink, I8.as_pointer()))
        end = builder.ptrtoint(builder.load(_slot(builder, sink, _NEXT_ORIGIN)), I64)
        total = builder.udiv(builder.sub(end, builder.ptrtoint(origins, I64)), word(8))
        listed.set(total)
        with counted_loop(builder, first, total) as index:
            successor = item(builder, found, index, words)
            builder.store(state_hash(builder, read_words(builder, successor, words)), item(builder, hashes, index, 1))
            bits = word(0)
            if native.check_step is not None:
                bits = builder.call(native.check_step, [state, successor, step_mask])
            builder.store(bits, item(builder, steps, index, 1))
        failures, failed = (builder.load(_slot(builder, sink, field)) for field in (_FAILURES, _FAILED))
        write_words(
            builder,
            item(builder, summary, current, _SUMMARY),
            [within, builder.sub(total, first), failures, failed],
        )
        position.add(1)
    builder.ret(position.get())


def _expand_within(builder: ir.IRBuilder, native: NativeSpec, state: ir.Value, sink: ir.Value) -> ir.Value:
    """Expand a state that is within the constraint; return (i64) whether it is."""
    if native.within_constraint is None:
        builder.call(native.expand_state, [state, sink])
        return word(1)
    within = builder.call(native.within_constraint, [state])
    with builder.if_then(within):
        builder.call(native.expand_state, [state, sink])
    return builder.zext(within, I64)


def _define_check(native: NativeSpec) -> None:
    """Define `i64 batch.check(states, bits, count, mask)`."""
    builder, (states, bits, count, mask) = _function(native, _CHECK, 4)
    states, bits = builder.inttoptr(states, WORD_POINTER), builder.inttoptr(bits, WORD_POINTER)
    with counted_loop(builder, word(0), count) as index:
        found = builder.call(native.check_state, [item(builder, states, index, native.layout.words), mask])
        builder.store(found, item(builder, bits, index, 1))
    builder.ret(count)


def _define_hash(native: NativeSpec) -> None:
    """Define `i64 batch.hash(states, hashes, count)`."""
    builder, (states, hashes, count) = _function(native, _HASH, 3)
    states, hashes = builder.inttoptr(states, WORD_POINTER), builder.inttoptr(hashes, WORD_POINTER)
    words = native.layout.words
    with counted_loop(builder, word(0), count) as index:
        hashed = state_hash(builder, read_words(builder, item(builder, states, index, words), words))
        builder.store(hashed, item(builder, hashes, index, 1))
    builder.ret(count)


def _function(native: NativeSpec, name: str, arguments: int) -> tuple[ir.IRBuilder, tuple[ir.Argument, ...]]:
    function = ir.Function(native.module, ir.FunctionType(I64, [I64] * arguments), name)
    return ir.IRBuilder(function.append_basic_block("entry")), function.args
