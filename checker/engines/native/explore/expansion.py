"""The first half of a round: expand states of a shard's frontier and send each successor to the shard that owns it.

    expand_shard(source):
        while successors are pending or the frontier is not exhausted:
            if no successors are pending:
                list the successors of states[cursor] in the buffer; pending = their number
                cursor += 1
            if an outbox might overflow: return
            for successor in the buffer:
                append it to the outbox of the shard that its hash selects
                record the step invariants that the step to it violates
            pending = 0

Listing is separate from routing because the spec's code is called once per state and may emit any number of successors.
If the successors of a state do not fit, the shard's part in the round ends. They remain in the buffer and are routed
first in the next round, into empty outboxes, where the successors of one state always fit.

The spec's functions report through `emit` and `fail` to a sink, a struct on the stack:

    word   0             1                    2            3                4
          +-------------+--------------------+------------+----------------+------------+
          | next_entry  | generated          | failures   | instance       | site       |
          | i64*        | i64*, per instance | their      | of the first   | of the     |
          |             |                    | number     | failure        | first      |
          +-------------+--------------------+------------+----------------+------------+
"""

from __future__ import annotations

from checker.engines.native.explore.memory_layout import ORIGIN_SHIFT, SHARD_BITS, MemoryLayout
from checker.engines.native.explore.shard_record import ShardRecord, state_hash, state_id
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import (
    I8,
    I64,
    WORD_POINTER,
    LocalVariable,
    each_bit,
    endless_loop,
    for_loop,
    word,
)
from checker.engines.native.llvm.words import item, read_words, struct_field, write_words
from checker.engines.native.lowering.lane_emitter import LANES

_SINK = ir.LiteralStructType([WORD_POINTER, WORD_POINTER, I64, I64, I64])
"""The struct to which `emit` and `fail` report, as the module's docstring draws it."""

_NEXT_ENTRY, _GENERATED, _FAILURES, _INSTANCE, _SITE = range(5)


def define_sink(emit: ir.IrFunction, fail: ir.IrFunction, layout: MemoryLayout) -> None:
    """Give `emit` and `fail` their bodies."""
    _define_emit(emit, layout)
    _define_fail(fail)


def _define_emit(function: ir.IrFunction, layout: MemoryLayout) -> None:
    """Give `emit` its body: append the successor to the buffer and count it for its action instance."""
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    sink = builder.bitcast(function.args[0], _SINK.as_pointer())
    instance = builder.zext(function.args[2], I64)
    next_field = struct_field(builder, sink, _NEXT_ENTRY)
    entry = builder.load(next_field)
    # No check for the end of the buffer: a state emits each instance at most once, and the buffer has at least as many
    # entries as there are instances (`outbox_capacity`).
    write_words(builder, entry, [*read_words(builder, function.args[1], layout.words), instance])
    builder.store(item(builder, entry, word(1), layout.entry_words), next_field)
    # The counters belong to this shard. Only the worker on the shard writes them, so the addition need not be atomic.
    counter = item(builder, builder.load(struct_field(builder, sink, _GENERATED)), instance, 1)
    builder.store(builder.add(builder.load(counter), word(1)), counter)
    builder.ret_void()


def _define_fail(function: ir.IrFunction) -> None:
    """Give `fail` its body: count the failure, and keep the instance and site of the first one."""
    # It is called in many places, of which nearly none is ever reached.
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    sink = builder.bitcast(function.args[0], _SINK.as_pointer())
    failures_field = struct_field(builder, sink, _FAILURES)
    failures = builder.load(failures_field)
    with builder.if_then(builder.icmp_unsigned("==", failures, word(0))):
        builder.store(builder.zext(function.args[1], I64), struct_field(builder, sink, _INSTANCE))
        builder.store(builder.zext(function.args[2], I64), struct_field(builder, sink, _SITE))
    builder.store(builder.add(failures, word(1)), failures_field)
    builder.ret_void()


def define_expand_shard(spec: SpecFunctions) -> ir.IrFunction:
    """Define `void expand_shard(i64* record, i64 shard, i64 step_mask)`: the first half of a round for one shard.

    `step_mask` has the bits of the step invariants to check.
    """
    kind = ir.FunctionType(ir.VoidType(), [WORD_POINTER, I64, I64])
    function = ir.IrFunction(spec.module, kind, "explore.expand_shard")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    record = ShardRecord(builder, function.args[0], spec.layout)
    shard, step_mask = function.args[1:]
    cursor = LocalVariable(builder, record.get("cursor"), "cursor")
    # Kept in registers during the loop and written back at the end. `pending_parent` is written at once, because the
    # router reads it from the record, also in a later round.
    pending = LocalVariable(builder, record.get("pending"), "pending")
    frontier_end = record.get("frontier_end")
    router = _Router(builder, record, spec, step_mask)
    candidates = None
    if spec.lanes is not None and spec.lanes.candidates.function is not None:
        candidates = _Candidates(builder, record, spec, spec.lanes.candidates.function, spec.lanes.candidates.words)
    with endless_loop(builder, "expand") as loop:
        is_buffer_empty = builder.icmp_unsigned("==", pending.get(), word(0))
        is_exhausted = builder.icmp_unsigned("==", cursor.get(), frontier_end)
        # Both conditions are needed: the successors of the last state may wait in the buffer after the cursor has
        # reached the end.
        loop.leave_if(builder.and_(is_buffer_empty, is_exhausted))
        with builder.if_then(is_buffer_empty):
            position = cursor.get()
            record.set("pending_parent", state_id(builder, shard, position))
            pending.set(_list_successors(builder, record, spec, candidates, position))
            cursor.add(1)
        # Checked before the first successor is routed, so the successors of one state are never split over two rounds.
        loop.leave_if(router.lacks_room(pending.get()))
        router.route(pending.get())
        pending.set(word(0))
    record.set("cursor", cursor.get())
    record.set("pending", pending.get())
    builder.ret_void()
    return function


class _Candidates:
    """Emits the computation of the candidates of LANES states at once, when the first of them is expanded."""

    def __init__(
        self, builder: ir.IRBuilder, record: ShardRecord, spec: SpecFunctions, function: ir.IrFunction, words: int
    ) -> None:
        self._builder, self._record, self._spec = builder, record, spec
        self._function, self._words = function, words
        with builder.goto_entry_block():
            self._masks = builder.alloca(I64, LANES * words)
        # The local index of the state that the first words of `_masks` belong to. None at first: any index is at least
        # LANES states from it, modulo 2**64.
        self._first = LocalVariable(builder, word(2**63), "first_candidates")

    def of(self, position: ir.Value) -> ir.Value:
        """Return the address of the candidates of the state at a local index."""
        builder = self._builder
        is_known = builder.icmp_unsigned("<", builder.sub(position, self._first.get()), word(LANES))
        with builder.if_then(builder.not_(is_known)):
            self._compute(position)
            self._first.set(position)
        return item(builder, self._masks, builder.sub(position, self._first.get()), self._words)

    def _compute(self, position: ir.Value) -> None:
        """Emit the computation for the states from a local index on."""
        builder = self._builder
        left = builder.sub(self._record.get("frontier_end"), position)
        with builder.if_else(builder.icmp_unsigned(">=", left, word(LANES))) as (then, otherwise):
            with then:
                states = item(builder, self._record.array("states"), position, self._spec.layout.words)
                builder.call(self._function, [states, self._masks])
            with otherwise:
                # Too few states for all lanes: every instance is tried.
                write_words(builder, self._masks, [word(-1)] * (LANES * self._words))


def _list_successors(
    builder: ir.IRBuilder, record: ShardRecord, spec: SpecFunctions, candidates: _Candidates | None, position: ir.Value
) -> ir.Value:
    """Emit the listing of the successors of the state at a local index; return their number.

    A state outside the constraint is stored and checked, but not expanded: it has none.
    """
    stored = item(builder, record.array("states"), position, spec.layout.words)
    listed = LocalVariable(builder, word(0), "listed")
    if spec.within_constraint is None:
        listed.set(_expand(builder, record, spec, candidates, position, stored))
    else:
        with builder.if_then(builder.call(spec.within_constraint, [stored])):
            listed.set(_expand(builder, record, spec, candidates, position, stored))
    return listed.get()


def _expand(
    builder: ir.IRBuilder,
    record: ShardRecord,
    spec: SpecFunctions,
    candidates: _Candidates | None,
    position: ir.Value,
    stored: ir.Value,
) -> ir.Value:
    """Emit the call of the spec's `expand_state` and the record of a deadlock or failure; return how many it listed."""
    with builder.goto_entry_block():
        sink = builder.alloca(_SINK)
        state = builder.alloca(I64, spec.layout.words)
    first_entry = record.array("successors")
    builder.store(first_entry, struct_field(builder, sink, _NEXT_ENTRY))
    builder.store(record.array("generated"), struct_field(builder, sink, _GENERATED))
    builder.store(word(0), struct_field(builder, sink, _FAILURES))
    # A copy on the stack: LLVM then knows that writing successors does not change the state that is expanded.
    write_words(builder, state, read_words(builder, stored, spec.layout.words))
    masks = [] if candidates is None else [candidates.of(position)]
    builder.call(spec.expand_state, [state, builder.bitcast(sink, I8.as_pointer()), *masks])
    end = builder.load(struct_field(builder, sink, _NEXT_ENTRY))
    # The sink counts by moving an address. The number of entries is the distance divided by the bytes of an entry.
    bytes_listed = builder.sub(builder.ptrtoint(end, I64), builder.ptrtoint(first_entry, I64))
    listed = builder.udiv(bytes_listed, word(8 * spec.layout.entry_words))
    failures = builder.load(struct_field(builder, sink, _FAILURES))
    # A state in which an action left its bounds is not a deadlock: the action has no successor, but it was not
    # disabled.
    is_deadlock = builder.icmp_unsigned("==", builder.or_(listed, failures), word(0))
    with builder.if_then(is_deadlock, likely=False):
        _keep_first(builder, record, "deadlock", position)
    has_failed = builder.icmp_unsigned("!=", failures, word(0))
    with builder.if_then(has_failed, likely=False):
        _record_failure(builder, record, sink, position, failures)
    return listed


def _keep_first(builder: ir.IRBuilder, record: ShardRecord, field: str, position: ir.Value) -> None:
    """Emit the update of a field that holds the lowest local index so far, initially NO_STATE."""
    current = record.get(field)
    # NO_STATE is the greatest unsigned number, so the first comparison always replaces it.
    lower = builder.icmp_unsigned("<", position, current)
    record.set(field, builder.select(lower, position, current))


def _record_failure(
    builder: ir.IRBuilder, record: ShardRecord, sink: ir.Value, position: ir.Value, failures: ir.Value
) -> None:
    """Emit the count of a state's failures in the record, and keep the first failure of the exploration."""
    # A shard expands its states in the order of their local index, so the first failure is also the one of the lowest
    # state.
    with builder.if_then(builder.icmp_unsigned("==", record.get("failures"), word(0))):
        record.set("failed_state", position)
        record.set("failed_instance", builder.load(struct_field(builder, sink, _INSTANCE)))
        record.set("failed_site", builder.load(struct_field(builder, sink, _SITE)))
    record.set("failures", builder.add(record.get("failures"), failures))


class _Router:
    """Emits the routing of listed successors to outboxes. `_fullest` is the number of entries in the fullest outbox."""

    def __init__(self, builder: ir.IRBuilder, record: ShardRecord, spec: SpecFunctions, step_mask: ir.Value) -> None:
        self._builder = builder
        self._record = record
        self._spec = spec
        self._layout: MemoryLayout = spec.layout
        # Starts at 0 in each round: the second half of the previous round has emptied all outboxes.
        self._fullest = LocalVariable(builder, word(0), "fullest")
        self._step_mask = LocalVariable(builder, step_mask, "step_mask")

    def lacks_room(self, count: ir.Value) -> ir.Value:
        """Return (i1) whether some outbox might not take `count` more entries. Empty outboxes take all of any state."""
        builder, fullest = self._builder, self._fullest.get()
        # Compares with the fullest outbox, because the targets of the successors are not known before they are hashed.
        # With `fullest` 0 the answer is always no: otherwise a state with more successors than `outbox_entries` would
        # never be routed.
        too_many = builder.icmp_unsigned(">", builder.add(fullest, count), word(self._layout.outbox_entries))
        return builder.and_(too_many, builder.icmp_unsigned("!=", fullest, word(0)))

    def route(self, count: ir.Value) -> None:
        """Emit the routing of the first `count` listed successors of the pending parent, and the check of the steps."""
        builder, record, layout = self._builder, self._record, self._layout
        parent = record.get("pending_parent")
        listed = record.array("successors")
        with for_loop(builder, word(0), count, name="route") as index:
            entry = item(builder, listed, index, layout.entry_words)
            *state, instance = read_words(builder, entry, layout.entry_words)
            # A state id is below 2**48, so `parent` and the shifted instance share no bit.
            origin = builder.or_(parent, builder.shl(instance, word(ORIGIN_SHIFT)))
            if self._spec.representative is not None:
                # The step is checked first: the representative of the successor has other names of members.
                builder.store(origin, item(builder, entry, word(layout.words), 1))
                self._check_step(parent, entry)
                builder.call(self._spec.representative, [entry])
                state = read_words(builder, entry, layout.words)
            # The highest bits select the shard. The home group uses the lowest, so the states of a shard still spread
            # over its table.
            target = builder.lshr(state_hash(builder, self._spec.key_of(builder, state)), word(64 - SHARD_BITS))
            fill = record.get("fills", target)
            sent = item(builder, record.outbox(target), fill, layout.entry_words)
            write_words(builder, sent, [*state, origin])
            filled = builder.add(fill, word(1))
            record.set("fills", filled, target)
            fullest = self._fullest.get()
            self._fullest.set(builder.select(builder.icmp_unsigned(">", filled, fullest), filled, fullest))
            if self._spec.representative is None:
                self._check_step(parent, sent)

    def _check_step(self, parent: ir.Value, sent: ir.Value) -> None:
        """Emit the check of the step from the state with id `parent` to the state of the entry at `sent`, if any."""
        if self._spec.check_step is None:
            return
        builder, record, layout = self._builder, self._record, self._layout
        mask = self._step_mask.get()
        # The mask is 0 while initial states are routed. Their parent, INITIAL_PARENT, is not the id of a stored state.
        with builder.if_then(builder.icmp_unsigned("!=", mask, word(0))):
            # The parent is in the shard that is expanded, so its state is in this record's array; the low bits need no
            # check.
            position = builder.lshr(parent, word(SHARD_BITS))
            old = item(builder, record.array("states"), position, layout.words)
            # An entry starts with the words of its state, so the entry's address serves as that of the new state.
            violated = builder.call(self._spec.check_step, [old, sent, mask])
            with builder.if_then(builder.icmp_unsigned("!=", violated, word(0)), likely=False):
                self._record_step(violated, sent)

    def _record_step(self, violated: ir.Value, sent: ir.Value) -> None:
        """Emit the record of an entry as the first of each bit in `found` that is new; each is then checked no more."""
        builder, record, size = self._builder, self._record, self._layout.entry_words
        # Each shard keeps its own first step. Two shards may record the same bit in one round: `SearchFindings` then
        # takes the lower shard, which does not depend on the number of workers.
        seen = record.get("seen_in_steps")
        new = builder.and_(violated, builder.not_(seen))
        with each_bit(builder, new) as bit:
            kept = item(builder, record.array("step_violations"), bit, size)
            write_words(builder, kept, read_words(builder, sent, size))
        record.set("seen_in_steps", builder.or_(seen, violated))
        self._step_mask.set(builder.and_(self._step_mask.get(), builder.not_(violated)))
