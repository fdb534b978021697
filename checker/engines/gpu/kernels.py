"""The kernels of an exploration, built around the lowered functions of a spec.

    expand     for each state of the piece: append its successors to the entries of the block's region
    steps      for each entry: check the step to it, and replace it by its representative
    insert     for each entry: look for its state in the table; the first thread to claim a slot for it wins
    compact    for each entry that won: store its state, let the slot refer to it, and check the properties
    rebuild    for each state: claim a slot of a new, larger table

The host launches them one after the other. What a kernel wrote, the next one reads; within a kernel, threads share only
counters, and the slots of the table, which they change by atomic operations. No thread ever waits for another one.

Every thread has the number of its block, the number of blocks, and the same two of itself in its block: the card's
registers have them (`device_threads`), or the last four arguments (`host_threads`), where a test plays the card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from checker.engines.gpu.card_states import CardStates
from checker.engines.gpu.memory import (
    COPIES,
    COUNT,
    DEADLOCK,
    FAILURE,
    FILL_STRIDE,
    FILLS,
    INDEX_MASK,
    NEW,
    NOT_WON,
    SEEN,
    TAG_SHIFT,
    WITHIN,
)
from checker.engines.native.explore.shard_record import state_hash
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import (
    I1,
    I8,
    I32,
    I64,
    WORD_POINTER,
    LocalVariable,
    endless_loop,
    for_loop,
    word,
)
from checker.engines.native.llvm.words import item, read_words, struct_field, write_words

_SINK = ir.LiteralStructType([WORD_POINTER] * 4 + [I64] * 5)
"""The struct to which `emit` and `fail` report."""

_ENTRIES, _ORIGINS, _FILL, _GENERATED, _ROOM, _AMOUNT, _STATE, _LISTED, _FAILURES = range(9)
"""Its fields: the entries, origins and counter of the region; the thread's copies of the counters of instances; the
room of the region; what is added to those counters; the index of the state; how much it listed, and how much failed."""

_TAG_MASK = -1 << TAG_SHIFT
_I128 = ir.IntegerType(128)


@dataclass(frozen=True)
class Threads:
    """The position of a thread: its block of `blocks`, and itself among the `size` threads of the block."""

    block: ir.Value
    blocks: ir.Value
    thread: ir.Value
    size: ir.Value


def device_threads(builder: ir.IRBuilder) -> Threads:
    """Return the position of a thread of the card."""
    names = ("ctaid", "nctaid", "tid", "ntid")
    functions = (builder.module.declared(f"llvm.nvvm.read.ptx.sreg.{name}.x", I32, []) for name in names)
    return Threads(*(builder.zext(builder.call(function, []), I64) for function in functions))


def host_threads(builder: ir.IRBuilder) -> Threads:
    """Return the position of a pretended thread, from the last arguments of its kernel."""
    return Threads(*builder.function.args[-4:])


ThreadsOf = Callable[[ir.IRBuilder], Threads]


def define_sink(emit: ir.IrFunction, fail: ir.IrFunction, *, words: int) -> None:
    """Give `emit` and `fail` their bodies."""
    emit.attributes.add("alwaysinline")
    builder = ir.IRBuilder(emit.append_basic_block("entry"))
    sink = builder.bitcast(emit.args[0], _SINK.as_pointer())
    instance = builder.zext(emit.args[2], I64)
    counter = item(builder, builder.load(struct_field(builder, sink, _GENERATED)), instance, COPIES)
    _add(builder, counter, builder.load(struct_field(builder, sink, _AMOUNT)))
    position = _add(builder, builder.load(struct_field(builder, sink, _FILL)), word(1))
    # Beyond the room nothing is written. The host sees it in the counter, and expands the states again, in pieces.
    with builder.if_then(builder.icmp_unsigned("<", position, builder.load(struct_field(builder, sink, _ROOM)))):
        entries = builder.load(struct_field(builder, sink, _ENTRIES))
        write_words(builder, item(builder, entries, position, words), read_words(builder, emit.args[1], words))
        origins = builder.load(struct_field(builder, sink, _ORIGINS))
        builder.store(builder.load(struct_field(builder, sink, _STATE)), item(builder, origins, position, 1))
    _increase(builder, struct_field(builder, sink, _LISTED))
    builder.ret_void()
    fail.attributes.add("alwaysinline")
    builder = ir.IRBuilder(fail.append_basic_block("entry"))
    sink = builder.bitcast(fail.args[0], _SINK.as_pointer())
    _increase(builder, struct_field(builder, sink, _FAILURES))
    builder.ret_void()


def add_kernels(spec: SpecFunctions, stored: CardStates, threads_of: ThreadsOf, regions: int, linkage: str) -> None:
    """Add the kernels to the module of a spec."""
    kernels = _Kernels(spec, stored, threads_of, regions, linkage)
    kernels.define_expand()
    if spec.check_step is not None or spec.representative is not None:
        kernels.define_steps()
    kernels.define_insert()
    kernels.define_compact()
    kernels.define_rebuild()


class _Kernels:
    """Defines the kernels of one spec."""

    def __init__(self, spec: SpecFunctions, stored: CardStates, threads_of: ThreadsOf, regions: int, linkage: str):
        self._spec, self._stored = spec, stored
        self._threads_of, self._regions, self._linkage = threads_of, regions, linkage

    def _begin(self, name: str, arrays: int, numbers: int) -> tuple[ir.IRBuilder, Threads, tuple[ir.Value, ...]]:
        """Begin a kernel with the addresses of some arrays, and some numbers, as arguments."""
        extra = 0 if self._linkage else 4
        kind = ir.FunctionType(ir.VoidType(), [WORD_POINTER] * arrays + [I64] * (numbers + extra))
        function = ir.IrFunction(self._spec.module, kind, name)
        function.linkage = self._linkage
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        return builder, self._threads_of(builder), function.args[: arrays + numbers]

    def define_expand(self) -> None:
        """Define `expand(states, entries, origins, generated, status, room, begin, end, amount)`."""
        builder, threads, arguments = self._begin("expand", 5, 4)
        states, entries, origins, generated, status, room, begin, end, amount = arguments
        spec, words = self._spec, self._spec.words
        with builder.goto_entry_block():
            sink, state = builder.alloca(_SINK), builder.alloca(I64, words)
        region = builder.urem(threads.block, word(self._regions))
        first = builder.mul(region, room)
        own = builder.add(builder.mul(threads.block, threads.size), threads.thread)
        for field, value in (
            (_ENTRIES, item(builder, entries, first, words)),
            (_ORIGINS, item(builder, origins, first, 1)),
            (_FILL, self._fill(builder, status, region)),
            (_GENERATED, item(builder, generated, builder.urem(own, word(COPIES)), 1)),
            (_ROOM, room),
            (_AMOUNT, amount),
        ):
            builder.store(value, struct_field(builder, sink, field))
        all_threads = builder.mul(threads.blocks, threads.size)
        with for_loop(builder, builder.add(begin, own), end, all_threads, "states") as index:
            write_words(builder, state, self._state(builder, states, index))
            builder.store(index, struct_field(builder, sink, _STATE))
            for field in (_LISTED, _FAILURES):
                builder.store(word(0), struct_field(builder, sink, field))
            within: ir.Value = ir.ConstantValue(I1, 1)
            if spec.within_constraint is not None:
                within = builder.call(spec.within_constraint, [state])
            with builder.if_then(within):
                builder.call(spec.expand_state, [state, builder.bitcast(sink, I8.as_pointer())])
                listed = builder.load(struct_field(builder, sink, _LISTED))
                failures = builder.load(struct_field(builder, sink, _FAILURES))
                # Also if an action left its bounds, but then the native engine decides.
                with builder.if_then(builder.icmp_unsigned("==", listed, word(0)), likely=False):
                    _include(builder, item(builder, status, word(DEADLOCK), 1), word(1))
                with builder.if_then(builder.icmp_unsigned("!=", failures, word(0)), likely=False):
                    _include(builder, item(builder, status, word(FAILURE), 1), word(1))
        builder.ret_void()

    def define_steps(self) -> None:
        """Define `steps(states, entries, origins, status, room, mask)`."""
        builder, threads, arguments = self._begin("steps", 4, 2)
        states, entries, origins, status, room, mask = arguments
        spec, words = self._spec, self._spec.words
        with builder.goto_entry_block():
            old = builder.alloca(I64, words)
        with self._entries(builder, threads, status, room) as index:
            entry = item(builder, entries, index, words)
            if spec.check_step is not None:
                with builder.if_then(builder.icmp_unsigned("!=", mask, word(0))):
                    parent = builder.load(item(builder, origins, index, 1))
                    write_words(builder, old, self._state(builder, states, parent))
                    seen = builder.call(spec.check_step, [old, entry, mask])
                    with builder.if_then(builder.icmp_unsigned("!=", seen, word(0)), likely=False):
                        _include(builder, item(builder, status, word(SEEN), 1), seen)
            if spec.representative is not None:
                # After the check: the representative has other names of members than the parent.
                builder.call(spec.representative, [entry])
        builder.ret_void()

    def define_insert(self) -> None:
        """Define `insert(states, entries, won, table, status, room, slots)`."""
        builder, threads, arguments = self._begin("insert", 5, 2)
        states, entries, won, table, status, room, slots = arguments
        words = self._spec.words
        with self._entries(builder, threads, status, room) as index:
            state = read_words(builder, item(builder, entries, index, words), words)
            code = self._stored.encode(builder, state)
            key = self._key(builder, code, state)
            hashed = state_hash(builder, key)
            tag = builder.shl(hashed, word(TAG_SHIFT))
            own = builder.or_(tag, builder.add(index, word(NEW + 1)))
            at = LocalVariable(builder, _home(builder, hashed, slots), "at")
            result = LocalVariable(builder, word(NOT_WON), "result")
            with endless_loop(builder, "probe") as loop:
                slot = item(builder, table, at.get(), 1)
                current = LocalVariable(builder, _atomic_load(builder, slot), "current")
                with builder.if_then(builder.icmp_unsigned("==", current.get(), word(0))):
                    current.set(_claim(builder, slot, own))
                    with builder.if_then(builder.icmp_unsigned("==", current.get(), word(0))):
                        result.set(at.get())
                slot_word = current.get()
                # This thread won the slot.
                loop.leave_if(builder.icmp_unsigned("==", slot_word, word(0)))
                same = LocalVariable(builder, ir.ConstantValue(I1, 0), "same")
                has_tag = builder.icmp_unsigned("==", builder.and_(slot_word, word(_TAG_MASK)), tag)
                with builder.if_then(has_tag):
                    is_new = builder.icmp_unsigned("!=", builder.and_(slot_word, word(NEW)), word(0))
                    position = builder.sub(builder.and_(slot_word, word(INDEX_MASK)), word(1))
                    with builder.if_else(is_new) as (then, otherwise):
                        with then:
                            other = read_words(builder, item(builder, entries, position, words), words)
                            same.set(self._is_same(builder, state, other))
                        with otherwise:
                            known = self._stored.read(builder, states, position)
                            same.set(_equal(builder, key, self._key(builder, known)))
                loop.leave_if(same.get())
                at.set(_after(builder, at.get(), slots))
            builder.store(result.get(), item(builder, won, index, 1))
        builder.ret_void()

    def define_compact(self) -> None:
        """Define `compact(states, entries, won, table, status, room, capacity, mask)`."""
        builder, threads, arguments = self._begin("compact", 5, 3)
        states, entries, won, table, status, room, capacity, mask = arguments
        words = self._spec.words
        with builder.goto_entry_block():
            state = builder.alloca(I64, words)
        with self._entries(builder, threads, status, room) as index:
            slot = builder.load(item(builder, won, index, 1))
            with builder.if_then(builder.icmp_unsigned("!=", slot, word(NOT_WON))):
                position = _add(builder, item(builder, status, word(COUNT), 1), word(1))
                # Beyond the capacity nothing is stored: the host sees it in the counter, and ends the search.
                with builder.if_then(builder.icmp_unsigned("<", position, capacity)):
                    content = read_words(builder, item(builder, entries, index, words), words)
                    self._stored.write(builder, states, position, self._stored.encode(builder, content))
                    write_words(builder, state, content)
                    claimed = item(builder, table, slot, 1)
                    tag = builder.and_(builder.load(claimed), word(_TAG_MASK))
                    builder.store(builder.or_(tag, builder.add(position, word(1))), claimed)
                    self._check(builder, state, status, mask)
        builder.ret_void()

    def _check(self, builder: ir.IRBuilder, state: ir.Value, status: ir.Value, mask: ir.Value) -> None:
        spec = self._spec
        if spec.within_constraint is not None:
            within = builder.zext(builder.call(spec.within_constraint, [state]), I64)
            _add(builder, item(builder, status, word(WITHIN), 1), within)
        seen = builder.call(spec.check_state, [state, mask])
        with builder.if_then(builder.icmp_unsigned("!=", seen, word(0)), likely=False):
            _include(builder, item(builder, status, word(SEEN), 1), seen)

    def define_rebuild(self) -> None:
        """Define `rebuild(states, table, count, slots)`: all states are different, so they are not compared."""
        builder, threads, arguments = self._begin("rebuild", 2, 2)
        states, table, count, slots = arguments
        own = builder.add(builder.mul(threads.block, threads.size), threads.thread)
        all_threads = builder.mul(threads.blocks, threads.size)
        with for_loop(builder, own, count, all_threads, "states") as index:
            hashed = state_hash(builder, self._key(builder, self._stored.read(builder, states, index)))
            own_slot = builder.or_(builder.shl(hashed, word(TAG_SHIFT)), builder.add(index, word(1)))
            at = LocalVariable(builder, _home(builder, hashed, slots), "at")
            with endless_loop(builder, "probe") as loop:
                before = _claim(builder, item(builder, table, at.get(), 1), own_slot)
                loop.leave_if(builder.icmp_unsigned("==", before, word(0)))
                at.set(_after(builder, at.get(), slots))
        builder.ret_void()

    def _state(self, builder: ir.IRBuilder, states: ir.Value, index: ir.Value) -> list[ir.Value]:
        """Return the words of the state at an index."""
        return self._stored.decode(builder, self._stored.read(builder, states, index))

    def _key(self, builder: ir.IRBuilder, code: list[ir.Value], state: list[ir.Value] | None = None) -> list[ir.Value]:
        """Return what distinguishes a state with a code from others; `state`: its words, if they are known."""
        if self._spec.view is None:
            return code
        return self._spec.key_of(builder, self._stored.decode(builder, code) if state is None else state)

    def _is_same(self, builder: ir.IRBuilder, state: list[ir.Value], other: list[ir.Value]) -> ir.Value:
        """Return whether two states count as one."""
        return _equal(builder, self._spec.key_of(builder, state), self._spec.key_of(builder, other))

    @contextmanager
    def _entries(self, builder: ir.IRBuilder, threads: Threads, status: ir.Value, room: ir.Value) -> Iterator[ir.Value]:
        """Emit a loop over the entries of this thread; yield the index of each.

        The blocks of a region share its entries; there are as many blocks as regions, or a multiple.
        """
        region = builder.urem(threads.block, word(self._regions))
        rank = builder.udiv(threads.block, word(self._regions))
        first = builder.add(builder.mul(rank, threads.size), threads.thread)
        step = builder.mul(builder.udiv(threads.blocks, word(self._regions)), threads.size)
        fill = builder.load(self._fill(builder, status, region))
        start = builder.mul(region, room)
        with for_loop(builder, first, fill, step, "entries") as position:
            yield builder.add(start, position)

    def _fill(self, builder: ir.IRBuilder, status: ir.Value, region: ir.Value) -> ir.Value:
        """Return the address of the number of entries of a region."""
        offset = builder.add(builder.mul(region, word(FILL_STRIDE)), word(FILLS))
        return item(builder, status, offset, 1)


def _increase(builder: ir.IRBuilder, address: ir.Value) -> None:
    builder.store(builder.add(builder.load(address), word(1)), address)


def _add(builder: ir.IRBuilder, address: ir.Value, amount: ir.Value) -> ir.Value:
    """Emit an addition in one step; return the former value."""
    return builder.atomic_rmw("add", address, amount, "monotonic")


def _include(builder: ir.IRBuilder, address: ir.Value, bits: ir.Value) -> None:
    """Emit the inclusion of some bits in a word, in one step."""
    builder.atomic_rmw("or", address, bits, "monotonic")


def _atomic_load(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    return builder.emit(I64, f"load atomic i64, ptr {address.ref} monotonic, align 8")


def _claim(builder: ir.IRBuilder, slot: ir.Value, content: ir.Value) -> ir.Value:
    """Emit a write to a slot if it is empty, in one step; return its former content, 0 if the write was done."""
    kind = ir.LiteralStructType([I64, I1])
    text = f"cmpxchg ptr {slot.ref}, i64 0, i64 {content.ref} monotonic monotonic"
    return builder.extract_value(builder.emit(kind, text), 0)


def _home(builder: ir.IRBuilder, hashed: ir.Value, slots: ir.Value) -> ir.Value:
    """Return the slot at which the search for a hash begins: hash * slots / 2**64."""
    product = builder.mul(builder.zext(hashed, _I128), builder.zext(slots, _I128))
    return builder.trunc(builder.lshr(product, ir.ConstantValue(_I128, 64)), I64)


def _after(builder: ir.IRBuilder, at: ir.Value, slots: ir.Value) -> ir.Value:
    """Return the slot after another one; the first one comes after the last one."""
    following = builder.add(at, word(1))
    return builder.select(builder.icmp_unsigned("==", following, slots), word(0), following)


def _equal(builder: ir.IRBuilder, left: list[ir.Value], right: list[ir.Value]) -> ir.Value:
    difference: ir.Value = word(0)
    for one, other in zip(left, right, strict=True):
        difference = builder.or_(difference, builder.xor(one, other))
    return builder.icmp_unsigned("==", difference, word(0))
