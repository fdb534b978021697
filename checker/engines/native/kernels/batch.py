"""Kernels on arrays of states, for engines that keep the states elsewhere: successors, properties and hashes.

`compile_batch` compiles a typed program to `BatchCode`, which is small and complete: it can be pickled and sent to
another process. `BatchEngine` is its machine code. States are rows of packed words (n, words): `StateLayout.encode`.

    batch.expand(states):                           batch.check(states):        batch.hash(states):
        for state in states:                            for state in states:        for state in states:
            stop if its successors might not fit            check_state                 state_hash
            list its successors, if it is within
              the constraint
            for successor in the listed ones:
                hash it; check the step to it
            write the summary of the state
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.explore.shard_record import state_hash
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import (
    I8,
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
from checker.engines.native.lowering.state_layout import StateLayout
from checker.ir import nodes

MOST_SUCCESSORS = 1 << 18
"""The number of successors for which a call of `BatchEngine.expand` has memory, or the action instances if more."""

_EXPAND, _CHECK, _HASH = "batch.expand", "batch.check", "batch.hash"

_SINK = ir.LiteralStructType([WORD_POINTER, WORD_POINTER, I64, I64, I64])
"""The struct to which `emit` and `fail` report. Its fields, in order:

the addresses of the next successor and of its origin, the parent's position, the number of failures, the first one.
"""

_NEXT_STATE, _NEXT_ORIGIN, _PARENT, _FAILURES, _FAILED = range(5)

_WITHIN, _SUCCESSORS, _STATE_FAILURES, _STATE_FAILED = range(4)
_SUMMARY = 4
"""The words of a state's summary (whether it is within the constraint; three numbers), and their number."""


@dataclass(frozen=True)
class BatchCode:
    """A spec's kernels as the text of an LLVM module, for any machine; `words` per state, number of `instances`."""

    text: str
    words: int
    instances: int


@dataclass(frozen=True)
class ExpandedBatch:
    """The m successors of the first `taken` states of a batch, in the order of their parents and instances.

    Of each successor (m,):
    - `states` (m, words) and `hashes`; `parents`: positions in the batch; `instances`: the action instances.
    - `steps`: the bits of the step invariants that the step violates; bit 63: one left its bounds.

    Of each expanded state (taken,):
    - `within`: whether it is within the constraint. `counts`: the number of its successors.
    - `failures`: the number of its action instances that left a type's bounds. `failed`: the first of those.
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
        """The positions of the states within the constraint in which no action instance is enabled."""
        return np.flatnonzero(self.within & (self.counts == 0) & (self.failures == 0))


def compile_batch(program: nodes.Program) -> tuple[BatchCode, StateLayout]:
    """Return the batch code of a typed program and the layout of its states; raise SpecError as `lower` does."""
    native = lower(program)
    _define_emit(native)
    _define_fail(native)
    _define_expand(native)
    _define_check(native)
    _define_hash(native)
    return BatchCode(str(native.module), native.layout.words, native.instances), native.layout


class BatchEngine:
    """Batch code compiled for this process. Calls release the global interpreter lock."""

    def __init__(self, code: BatchCode):
        self.words, self.instances = code.words, code.instances
        self._code = MachineCode(code.text)
        self._expand, self._check, self._hash = (
            ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * arguments)(self._code.address_of(name))
            for name, arguments in ((_EXPAND, 9), (_CHECK, 4), (_HASH, 3))
        )

    def expand(self, states: Words, step_mask: int = 0) -> ExpandedBatch:
        """Return the successors of the first of some states (n, words), n >= 1: of as many as fit into one call.

        `step_mask`: the bits of the step invariants to check. Raises ValueError for a wrong shape.
        """
        states = self._rows(states)
        # Room for all successors of any one state: a call expands at least one state, so a loop of calls always ends.
        room = max(MOST_SUCCESSORS, self.instances)
        successors, hashes = np.empty((room, self.words), np.uint64), np.empty(room, np.uint64)
        origins, steps = np.empty(room, np.uint64), np.empty(room, np.uint64)
        summary = np.empty((len(states), _SUMMARY), np.uint64)
        arrays = (states, successors, origins, hashes, steps, summary)
        taken = self._expand(*(array.ctypes.data for array in arrays), len(states), room, step_mask)
        # The arrays are not initialised: only the rows that the kernel has written may be read.
        summary = summary[:taken]
        count = int(summary[:, _SUCCESSORS].sum())
        origins = origins[:count]
        return ExpandedBatch(
            taken=taken,
            states=successors[:count],
            hashes=hashes[:count],
            # The origin of a successor: its parent's position in the low 32 bits, the action instance above.
            parents=(origins & np.uint64(0xFFFFFFFF)).astype(np.uint32),
            instances=(origins >> np.uint64(32)).astype(np.uint16),
            steps=steps[:count],
            within=summary[:, _WITHIN].astype(np.bool_),
            counts=summary[:, _SUCCESSORS],
            failures=summary[:, _STATE_FAILURES],
            failed=summary[:, _STATE_FAILED],
        )

    def check(self, states: Words, mask: int) -> Words:
        """Return the bits in `mask` of the invariants that are false and the reachables that are true (n,).

        Bit 63: the evaluation of a property or constraint left its bounds. Raises ValueError for a wrong shape.
        """
        states, bits = self._rows(states), np.empty(len(states), np.uint64)
        self._check(states.ctypes.data, bits.ctypes.data, len(states), mask)
        return bits

    def hashes(self, states: Words) -> Words:
        """Return the 64-bit hashes (n,) of states: the same in every process and on every machine."""
        states, hashes = self._rows(states), np.empty(len(states), np.uint64)
        self._hash(states.ctypes.data, hashes.ctypes.data, len(states))
        return hashes

    def _rows(self, states: Words) -> Words:
        """Return states as a C-contiguous array, as the kernels need it."""
        # Without a copy if the array already has this form.
        rows = np.require(states, np.uint64, ["C", "A"])
        if rows.ndim != 2 or rows.shape[1] != self.words:
            raise ValueError(f"states have shape (n, {self.words}), not {rows.shape}")
        return rows


def _define_emit(native: NativeSpec) -> None:
    """Give `emit` its body: append the successor, and its origin: parent | instance << 32."""
    native.emit.attributes.add("alwaysinline")
    builder = ir.IRBuilder(native.emit.append_basic_block("entry"))
    sink = builder.bitcast(native.emit.args[0], _SINK.as_pointer())
    words = native.layout.words
    next_state, next_origin = struct_field(builder, sink, _NEXT_STATE), struct_field(builder, sink, _NEXT_ORIGIN)
    state, origin = builder.load(next_state), builder.load(next_origin)
    write_words(builder, state, read_words(builder, native.emit.args[1], words))
    instance = builder.shl(builder.zext(native.emit.args[2], I64), word(32))
    builder.store(builder.or_(builder.load(struct_field(builder, sink, _PARENT)), instance), origin)
    builder.store(item(builder, state, word(1), words), next_state)
    builder.store(item(builder, origin, word(1), 1), next_origin)
    builder.ret_void()


def _define_fail(native: NativeSpec) -> None:
    """Give `fail` its body: count the failure, and keep the first instance that failed."""
    native.fail.attributes.add("alwaysinline")
    builder = ir.IRBuilder(native.fail.append_basic_block("entry"))
    sink = builder.bitcast(native.fail.args[0], _SINK.as_pointer())
    failures_field = struct_field(builder, sink, _FAILURES)
    failures = builder.load(failures_field)
    with builder.if_then(builder.icmp_unsigned("==", failures, word(0))):
        builder.store(builder.zext(native.fail.args[1], I64), struct_field(builder, sink, _FAILED))
    builder.store(builder.add(failures, word(1)), failures_field)
    builder.ret_void()


def _define_expand(native: NativeSpec) -> None:
    """Define `i64 batch.expand(states, found, origins, hashes, steps, summary, count, room, step_mask)`.

    All arguments are i64; the first six are addresses. `count`: the number of states. `room`: the number of successors
    for which there is memory. The kernel stops when the successors of one more state might not fit. It returns the
    number of states that it expanded.
    """
    words = native.layout.words
    builder, arguments = _function(native, _EXPAND, 9)
    states, successors, origins, hashes, steps, summary = (
        builder.inttoptr(address, WORD_POINTER) for address in arguments[:6]
    )
    count, room, step_mask = arguments[6:]
    sink, state = builder.alloca(_SINK), builder.alloca(I64, words)
    position, listed = LocalVariable(builder, word(0), "position"), LocalVariable(builder, word(0), "listed")
    builder.store(successors, struct_field(builder, sink, _NEXT_STATE))
    builder.store(origins, struct_field(builder, sink, _NEXT_ORIGIN))
    with endless_loop(builder, "expand") as loop:
        current, first = position.get(), listed.get()
        loop.leave_if(builder.icmp_unsigned(">=", current, count))
        # A state has at most one successor per action instance.
        most = builder.add(first, word(native.instances))
        loop.leave_if(builder.icmp_unsigned(">", most, room))
        builder.store(current, struct_field(builder, sink, _PARENT))
        builder.store(word(0), struct_field(builder, sink, _FAILURES))
        # Reset for each state, because the summary holds it even for a state without failures.
        builder.store(word(0), struct_field(builder, sink, _FAILED))
        # A copy on the stack: LLVM then knows that writing successors does not change the state that is expanded.
        write_words(builder, state, read_words(builder, item(builder, states, current, words), words))
        within = _expand_within(builder, native, state, builder.bitcast(sink, I8.as_pointer()))
        # Counted by the origins, which have one word per successor, so the division is by a constant power of two.
        end = builder.ptrtoint(builder.load(struct_field(builder, sink, _NEXT_ORIGIN)), I64)
        total = builder.udiv(builder.sub(end, builder.ptrtoint(origins, I64)), word(8))
        listed.set(total)
        with for_loop(builder, first, total, name="describe") as index:
            successor = item(builder, successors, index, words)
            hashed = state_hash(builder, read_words(builder, successor, words))
            builder.store(hashed, item(builder, hashes, index, 1))
            violated = word(0)
            if native.check_step is not None:
                violated = builder.call(native.check_step, [state, successor, step_mask])
            builder.store(violated, item(builder, steps, index, 1))
        failures, failed = (builder.load(struct_field(builder, sink, field)) for field in (_FAILURES, _FAILED))
        write_words(
            builder,
            item(builder, summary, current, _SUMMARY),
            [within, builder.sub(total, first), failures, failed],
        )
        position.add(1)
    builder.ret(position.get())


def _expand_within(builder: ir.IRBuilder, native: NativeSpec, state: ir.Value, sink: ir.Value) -> ir.Value:
    """Emit the expansion of a state that is within the constraint; return (i64) whether it is."""
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
    with for_loop(builder, word(0), count) as index:
        findings = builder.call(native.check_state, [item(builder, states, index, native.layout.words), mask])
        builder.store(findings, item(builder, bits, index, 1))
    builder.ret(count)


def _define_hash(native: NativeSpec) -> None:
    """Define `i64 batch.hash(states, hashes, count)`."""
    builder, (states, hashes, count) = _function(native, _HASH, 3)
    states, hashes = builder.inttoptr(states, WORD_POINTER), builder.inttoptr(hashes, WORD_POINTER)
    words = native.layout.words
    with for_loop(builder, word(0), count) as index:
        hashed = state_hash(builder, read_words(builder, item(builder, states, index, words), words))
        builder.store(hashed, item(builder, hashes, index, 1))
    builder.ret(count)


def _function(native: NativeSpec, name: str, arguments: int) -> tuple[ir.IRBuilder, tuple[ir.Value, ...]]:
    function = ir.IrFunction(native.module, ir.FunctionType(I64, [I64] * arguments), name)
    return ir.IRBuilder(function.append_basic_block("entry")), function.args
