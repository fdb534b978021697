"""The digest of a spec's graph by machine code; `checker.engines.python.graph_digest` defines it.

    add_to_digest(states, count, totals):
        for each state:
            add its hash to the totals
            if it is within the constraints: expand it
                emit: add the hash of the step to the totals

The states are those of a complete exploration. Their packed words depend on the types of the variables only, so two
specs with the same variables and other actions have comparable digests. The code adds to these totals, one word each:

    0, 1: sum over the states      2, 3: sum over the steps      4: number of steps
"""

from __future__ import annotations

import ctypes
import threading

import numpy as np

from checker.engines.native.engine import compile_native, explore_compiled, garbage_collection_paused
from checker.engines.native.explore.results import initial_states
from checker.engines.native.explore.store import Store
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I8, I64, WORD_POINTER, for_loop, word
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.llvm.words import item, read_words, struct_field
from checker.engines.native.lowering.native_spec import NativeSpec, lower
from checker.engines.native.lowering.step_labels import absorb
from checker.engines.python.graph_digest import SEEDS, GraphDigest, sum_of_states
from checker.errors import BoundsError
from checker.frontend import compile_spec
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.plan import Plan

_FUNCTION = "add_to_digest"

_OF_STATES, _OF_STEPS, _STEPS, _TOTALS = 0, 2, 4, 5
"""The first totals of the sums, the number of steps, and the number of totals."""

_BATCH = 1 << 16
"""The states between two looks at the event that cancels."""

_SINK = ir.LiteralStructType([I64, I64, WORD_POINTER])
"""The struct to which `emit` reports: the lanes of the expanded state's hash, and the totals."""


def graph_digest(spec: Spec, *, max_states: int | None, cancelled: threading.Event) -> GraphDigest | None:
    """Return the digest of the complete graph of a spec; None if it is not known.

    It is not known if the exploration ends at a limit or if a value leaves its bounds, and if the spec has a view:
    states are then compared by the value of the view only. Raises SpecError if the spec is outside the language.
    """
    if spec.names_of(Role.VIEW):
        return None
    try:
        initial = initial_states(spec)
    except BoundsError:
        return None
    compiled = compile_native(spec, [], quick=True)
    plan = Plan((), stop="all", max_states=max_states, quick=True, store="usual", cancelled=cancelled)
    result, exploration = explore_compiled(compiled, plan, initial, 0.0)
    if result.ended != "complete":
        return None
    assert isinstance(exploration.store, Store)
    totals = _totals(spec, exploration.store, cancelled)
    if totals is None:
        return None
    of_initial = sum_of_states(compiled.words_of(state) for state in initial)
    sums = (*of_initial, *totals[_OF_STATES:_STEPS])
    return GraphDigest(exploration.distinct, totals[_STEPS], sums)


def _totals(spec: Spec, store: Store, cancelled: threading.Event) -> list[int] | None:
    """Return the totals over the states of a store; None if cancelled."""
    with garbage_collection_paused():
        native = lower(compile_spec(spec, []), labels=True)
        _define_emit(native)
        _define_fail(native)
        _define_add(native)
        code = MachineCode(native.module, quick=True)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * 3)(code.address_of(_FUNCTION))
    totals = np.zeros(_TOTALS, np.uint64)
    for shard, count in enumerate(store.counts()):
        for first in range(0, count, _BATCH):
            if cancelled.is_set():
                return None
            function(store.states_address(shard, first), min(_BATCH, count - first), totals.ctypes.data)
    return [int(total) for total in totals]


def _define_add(native: NativeSpec) -> None:
    """Define `void add_to_digest(i64* states, i64 count, i64* totals)`."""
    kind = ir.FunctionType(ir.VoidType(), [WORD_POINTER, I64, WORD_POINTER])
    function = ir.IrFunction(native.module, kind, _FUNCTION)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    states, count, totals = function.args
    sink = builder.alloca(_SINK)
    builder.store(totals, struct_field(builder, sink, 2))
    with for_loop(builder, word(0), count) as index:
        state = item(builder, states, index, native.layout.words)
        words = read_words(builder, state, native.layout.words)
        hashed = [_absorb(builder, word(seed), words) for seed in SEEDS]
        for position, lane in enumerate(hashed):
            builder.store(lane, struct_field(builder, sink, position))
        _add(builder, totals, _OF_STATES, hashed)
        expand = [state, builder.bitcast(sink, I8.as_pointer())]
        if native.within_constraint is None:
            builder.call(native.expand_state, expand)
        else:
            with builder.if_then(builder.call(native.within_constraint, [state])):
                builder.call(native.expand_state, expand)
    builder.ret_void()


def _define_emit(native: NativeSpec) -> None:
    """Give `emit` its body: add the hash of a step."""
    assert native.labels is not None
    builder = ir.IRBuilder(native.emit.append_basic_block("entry"))
    sink = builder.bitcast(native.emit.args[0], _SINK.as_pointer())
    target = read_words(builder, native.emit.args[1], native.layout.words)
    hashed = [
        _absorb(builder, builder.load(struct_field(builder, sink, position)), [part, *target])
        for position, part in enumerate(native.labels.get(builder))
    ]
    totals = builder.load(struct_field(builder, sink, 2))
    _add(builder, totals, _OF_STEPS, hashed)
    _add(builder, totals, _STEPS, [word(1)])
    builder.ret_void()


def _define_fail(native: NativeSpec) -> None:
    """Give `fail` an empty body: in a complete exploration no value leaves its bounds."""
    ir.IRBuilder(native.fail.append_basic_block("entry")).ret_void()


def _absorb(builder: ir.IRBuilder, lane: ir.Value, words: list[ir.Value]) -> ir.Value:
    for part in words:
        lane = absorb(builder, lane, part)
    return lane


def _add(builder: ir.IRBuilder, totals: ir.Value, first: int, values: list[ir.Value]) -> None:
    for position, value in enumerate(values, first):
        place = builder.gep(totals, [word(position)], inbounds=True)
        builder.store(builder.add(builder.load(place), value), place)
