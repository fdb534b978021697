"""The first half of a round: expand the states of a shard's frontier and send each successor to its own shard.

A state's successors are first listed in a buffer of the shard, then routed. A state whose successors no longer fit into
the outboxes ends the shard's part in the round; they wait in the buffer and are routed first in the next round.
"""

from __future__ import annotations

from llvmlite import ir

from checker.engines.native.explore.memory_layout import SHARD_BITS, MemoryLayout
from checker.engines.native.explore.shard_record import ShardRecord, state_hash, state_id
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.llvm.control_flow import (
    I8,
    I64,
    WORD_POINTER,
    LocalVariable,
    counted_loop,
    each_bit,
    endless_loop,
    word,
)
from checker.engines.native.llvm.words import item, read_words, write_words

_SINK = ir.LiteralStructType([WORD_POINTER, WORD_POINTER, I64, I64, I64])
_NEXT_ENTRY, _GENERATED, _FAILURES, _INSTANCE, _SITE = range(5)


def _sink_slot(builder: ir.IRBuilder, sink: ir.Value, index: int) -> ir.Value:
    int32 = ir.IntType(32)
    return builder.gep(sink, [ir.Constant(int32, 0), ir.Constant(int32, index)], inbounds=True)


def define_emit(spec: SpecFunctions) -> None:
    """Give `emit` its body: append the successor to the list, count it for its action instance."""
    function, layout = spec.emit, spec.layout
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    sink = builder.bitcast(function.args[0], _SINK.as_pointer())
    instance = builder.zext(function.args[2], I64)
    next_slot = _sink_slot(builder, sink, _NEXT_ENTRY)
    entry = builder.load(next_slot)
    write_words(builder, entry, [*read_words(builder, function.args[1], layout.words), instance])
    builder.store(item(builder, entry, word(1), layout.entry_words), next_slot)
    counter = item(builder, builder.load(_sink_slot(builder, sink, _GENERATED)), instance, 1)
    builder.store(builder.add(builder.load(counter), word(1)), counter)
    builder.ret_void()


def define_fail(spec: SpecFunctions) -> None:
    """Give `fail` its body: count the failure and remember the first instance and site."""
    function = spec.fail
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    sink = builder.bitcast(function.args[0], _SINK.as_pointer())
    failures_slot = _sink_slot(builder, sink, _FAILURES)
    failures = builder.load(failures_slot)
    with builder.if_then(builder.icmp_unsigned("==", failures, word(0))):
        builder.store(builder.zext(function.args[1], I64), _sink_slot(builder, sink, _INSTANCE))
        builder.store(builder.zext(function.args[2], I64), _sink_slot(builder, sink, _SITE))
    builder.store(builder.add(failures, word(1)), failures_slot)
    builder.ret_void()


def define_expand_shard(spec: SpecFunctions) -> ir.Function:
    """Define `void expand_shard(i64* record, i64 shard, i64 step_mask)`: one shard's part of a round's first half."""
    kind = ir.FunctionType(ir.VoidType(), [WORD_POINTER, I64, I64])
    function = ir.Function(spec.module, kind, "explore.expand_shard")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    record = ShardRecord(builder, function.args[0], spec.layout)
    shard, step_mask = function.args[1:]
    cursor = LocalVariable(builder, record.get("cursor"))
    pending = LocalVariable(builder, record.get("pending"))
    frontier_end = record.get("frontier_end")
    router = _Router(builder, record, spec, step_mask)
    with endless_loop(builder) as loop:
        idle = builder.icmp_unsigned("==", pending.get(), word(0))
        loop.leave_if(builder.and_(idle, builder.icmp_unsigned("==", cursor.get(), frontier_end)))
        with builder.if_then(idle):
            position = cursor.get()
            record.set("pending_parent", state_id(builder, shard, position))
            pending.set(_list_successors(builder, record, spec, position))
            cursor.add(1)
        loop.leave_if(router.lacks_room(pending.get()))
        router.route(pending.get())
        pending.set(word(0))
    record.set("cursor", cursor.get())
    record.set("pending", pending.get())
    builder.ret_void()
    return function


def _list_successors(builder: ir.IRBuilder, record: ShardRecord, spec: SpecFunctions, position: ir.Value) -> ir.Value:
    """List the successors of the state at a local index, where it is within the constraint; return their number."""
    stored = item(builder, record.array("states"), position, spec.layout.words)
    listed = LocalVariable(builder, word(0))
    if spec.within_constraint is None:
        listed.set(_expand(builder, record, spec, position, stored))
    else:
        with builder.if_then(builder.call(spec.within_constraint, [stored])):
            listed.set(_expand(builder, record, spec, position, stored))
    return listed.get()


def _expand(
    builder: ir.IRBuilder, record: ShardRecord, spec: SpecFunctions, position: ir.Value, stored: ir.Value
) -> ir.Value:
    with builder.goto_entry_block():
        sink = builder.alloca(_SINK)
        state = builder.alloca(I64, spec.layout.words)
    first_entry = record.array("successors")
    builder.store(first_entry, _sink_slot(builder, sink, _NEXT_ENTRY))
    builder.store(record.array("generated"), _sink_slot(builder, sink, _GENERATED))
    builder.store(word(0), _sink_slot(builder, sink, _FAILURES))
    # A copy of its own, so that LLVM knows that listing successors does not change the state being expanded.
    write_words(builder, state, read_words(builder, stored, spec.layout.words))
    builder.call(spec.expand_state, [state, builder.bitcast(sink, I8.as_pointer())])
    bytes_listed = builder.sub(
        builder.ptrtoint(builder.load(_sink_slot(builder, sink, _NEXT_ENTRY)), I64), builder.ptrtoint(first_entry, I64)
    )
    listed = builder.udiv(bytes_listed, word(8 * spec.layout.entry_words))
    failures = builder.load(_sink_slot(builder, sink, _FAILURES))
    with builder.if_then(builder.icmp_unsigned("==", builder.or_(listed, failures), word(0)), likely=False):
        _keep_first(builder, record, "deadlock", position)
    with builder.if_then(builder.icmp_unsigned("!=", failures, word(0)), likely=False):
        _record_failure(builder, record, sink, position, failures)
    return listed


def _keep_first(builder: ir.IRBuilder, record: ShardRecord, field: str, position: ir.Value) -> None:
    """Set a field that holds the lowest local index so far; it starts at NO_STATE."""
    current = record.get(field)
    lower = builder.icmp_unsigned("<", position, current)
    record.set(field, builder.select(lower, position, current))


def _record_failure(
    builder: ir.IRBuilder, record: ShardRecord, sink: ir.Value, position: ir.Value, failures: ir.Value
) -> None:
    with builder.if_then(builder.icmp_unsigned("==", record.get("failures"), word(0))):
        record.set("failed_state", position)
        record.set("failed_instance", builder.load(_sink_slot(builder, sink, _INSTANCE)))
        record.set("failed_site", builder.load(_sink_slot(builder, sink, _SITE)))
    record.set("failures", builder.add(record.get("failures"), failures))


class _Router:
    """Sends the listed successors of a state to the outboxes of the shards that they belong to."""

    def __init__(self, builder: ir.IRBuilder, record: ShardRecord, spec: SpecFunctions, step_mask: ir.Value) -> None:
        self._builder = builder
        self._record = record
        self._spec = spec
        self._layout: MemoryLayout = spec.layout
        self._fullest = LocalVariable(builder, word(0))
        self._step_mask = LocalVariable(builder, step_mask)

    def lacks_room(self, count: ir.Value) -> ir.Value:
        """Tell (i1) whether some outbox might not take `count` more entries; an empty one takes any state's."""
        builder, fullest = self._builder, self._fullest.get()
        too_many = builder.icmp_unsigned(">", builder.add(fullest, count), word(self._layout.outbox_entries))
        return builder.and_(too_many, builder.icmp_unsigned("!=", fullest, word(0)))

    def route(self, count: ir.Value) -> None:
        """Send the first `count` listed successors of the pending parent, and check the steps to them."""
        builder, record, layout = self._builder, self._record, self._layout
        parent = record.get("pending_parent")
        listed = record.array("successors")
        with counted_loop(builder, word(0), count) as index:
            entry = item(builder, listed, index, layout.entry_words)
            *state, instance = read_words(builder, entry, layout.entry_words)
            target = builder.lshr(state_hash(builder, state), word(64 - SHARD_BITS))
            fill = record.get("fills", target)
            sent = item(builder, record.outbox(target), fill, layout.entry_words)
            write_words(builder, sent, [*state, builder.or_(parent, builder.shl(instance, word(32)))])
            filled = builder.add(fill, word(1))
            record.set("fills", filled, target)
            fullest = self._fullest.get()
            self._fullest.set(builder.select(builder.icmp_unsigned(">", filled, fullest), filled, fullest))
            if self._spec.check_step is not None:
                self._check_step(parent, sent)

    def _check_step(self, parent: ir.Value, sent: ir.Value) -> None:
        builder, record, layout = self._builder, self._record, self._layout
        mask = self._step_mask.get()
        with builder.if_then(builder.icmp_unsigned("!=", mask, word(0))):
            position = builder.lshr(parent, word(SHARD_BITS))
            old = item(builder, record.array("states"), position, layout.words)
            found = builder.call(self._spec.check_step, [old, sent, mask])
            with builder.if_then(builder.icmp_unsigned("!=", found, word(0)), likely=False):
                self._record_step(found, sent)

    def _record_step(self, found: ir.Value, sent: ir.Value) -> None:
        builder, record, size = self._builder, self._record, self._layout.entry_words
        seen = record.get("seen_in_steps")
        new = builder.and_(found, builder.not_(seen))
        with each_bit(builder, new) as bit:
            kept = item(builder, record.array("step_violations"), bit, size)
            write_words(builder, kept, read_words(builder, sent, size))
        record.set("seen_in_steps", builder.or_(seen, found))
        self._step_mask.set(builder.and_(self._step_mask.get(), builder.not_(found)))
