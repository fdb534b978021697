"""The entry points of the explorer's kernels, which are defined in the module of a compiled spec.

Workers share a round through one counter. Each worker runs the same kernel:

    while (shard = next_shard++) < SHARDS:      (atomic)
        expand_shard(shard), or insert_shard(shard)

No two workers get the same shard, and `memory_layout` states what the worker on a shard may write. The counter orders
nothing else: the halves of a round are separated by the join of the threads in `workers`.
"""

from __future__ import annotations

from checker.engines.native.explore.expansion import define_expand_shard
from checker.engines.native.explore.hash_table import HashTable, define_grow_table
from checker.engines.native.explore.insertion import define_check_new, define_insert_shard
from checker.engines.native.explore.kernels import CHECK_NEW, COUNT, EXPAND, FIND, INSERT, REBUILD, VIEW
from checker.engines.native.explore.memory_layout import NO_STATE, SHARD_BITS
from checker.engines.native.explore.shard_record import ShardRecord, state_hash, state_id
from checker.engines.native.explore.shards_taken import shards_taken
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I16, I64, WORD_POINTER, for_loop, word
from checker.engines.native.llvm.words import item, read_words


def add_kernels(functions: SpecFunctions) -> None:
    """Add the kernels to the spec's module, under KERNEL_NAMES.

    - `void explore_expand(i64* records, i64* next_shard, i64 step_mask)` runs the first half of a round for the shards
      from `next_shard` on, and checks the step invariants in `step_mask`. Workers that get the same `next_shard` share
      the shards.
    - `void explore_insert(i64* records, i64* next_shard, i64 mask)` runs the second half in the same way, and checks
      the properties in `mask` in new states.
    - `void explore_check_new(i64* record, i64 first_new, i64 mask)` checks the properties in `mask` in the states of
      one shard from local index `first_new` on. `explore_insert` calls it, and so does the compact store.
    - `i64 explore_find(i64* records, i64* state)` returns the id of a stored state, or NO_STATE.
    - `void explore_rebuild(i64* records, i64* next_shard)` doubles the tables of the shards from `next_shard` on and
      adds all their states again.
    - `void explore_count(i64* record, i64* counters)` adds 1 to the counter of the action instance that first reached
      it, for each state of a shard. There is a counter for every 16-bit number.
    - `void explore_view(i64* state, i64* value)`, only if the view of the spec computes a value: writes the words of
      the value, and a word that is 1 if the evaluation left a type's bounds. The compact store calls it.

    Raises ValueError if the spec has more action instances than the store can number.
    """
    expand_shard = define_expand_shard(functions)
    grow_table = define_grow_table(functions)
    check_new = define_check_new(functions, CHECK_NEW)
    insert_shard = define_insert_shard(functions, grow_table, check_new)
    _define_expand(functions, expand_shard)
    _define_insert(functions, insert_shard)
    _define_find(functions)
    _define_rebuild(functions, grow_table)
    _define_count(functions)
    if functions.view is not None and functions.view.compute is not None:
        _define_view(functions, functions.view.compute, functions.view.words)


def _define_expand(spec: SpecFunctions, expand_shard: ir.IrFunction) -> None:
    arguments = [WORD_POINTER, WORD_POINTER, I64]
    builder, (records, next_shard, mask) = _define(spec, EXPAND, ir.VoidType(), arguments)
    with shards_taken(builder, next_shard) as shard:
        record = ShardRecord.of_shard(builder, records, shard, spec.layout)
        builder.call(expand_shard, [record.address, shard, mask])
    builder.ret_void()


def _define_insert(spec: SpecFunctions, insert_shard: ir.IrFunction) -> None:
    arguments = [WORD_POINTER, WORD_POINTER, I64]
    builder, (records, next_shard, mask) = _define(spec, INSERT, ir.VoidType(), arguments)
    with shards_taken(builder, next_shard) as shard:
        builder.call(insert_shard, [records, shard, mask])
    builder.ret_void()


def _define_rebuild(spec: SpecFunctions, grow_table: ir.IrFunction) -> None:
    builder, (records, next_shard) = _define(spec, REBUILD, ir.VoidType(), [WORD_POINTER, WORD_POINTER])
    with shards_taken(builder, next_shard) as shard:
        builder.call(grow_table, [ShardRecord.of_shard(builder, records, shard, spec.layout).address])
    builder.ret_void()


def _define_count(spec: SpecFunctions) -> None:
    builder, (address, counters) = _define(spec, COUNT, ir.VoidType(), [WORD_POINTER, WORD_POINTER])
    record = ShardRecord(builder, address, spec.layout)
    instances = record.array("instances", I16.as_pointer())
    with for_loop(builder, word(0), record.get("count"), name="states") as local:
        instance = builder.zext(builder.load(builder.gep(instances, [local], inbounds=True)), I64)
        counter = item(builder, counters, instance, 1)
        builder.store(builder.add(builder.load(counter), word(1)), counter)
    builder.ret_void()


def _define_view(spec: SpecFunctions, compute: ir.IrFunction, words: int) -> None:
    builder, (state, value) = _define(spec, VIEW, ir.VoidType(), [WORD_POINTER, WORD_POINTER])
    builder.store(builder.call(compute, [state, value]), builder.gep(value, [word(words)], inbounds=True))
    builder.ret_void()


def _define_find(spec: SpecFunctions) -> None:
    builder, (records, address) = _define(spec, FIND, I64, [WORD_POINTER, WORD_POINTER])
    state = read_words(builder, address, spec.words)
    hashed = state_hash(builder, spec.key_of(builder, state))
    shard = builder.lshr(hashed, word(64 - SHARD_BITS))
    record = ShardRecord.of_shard(builder, records, shard, spec.layout)
    # Reads without synchronisation: the caller runs it between rounds, when no worker writes.
    absent, local, _ = HashTable(builder, record, spec.words, spec.key_of).find(state, hashed)
    builder.ret(builder.select(absent, word(NO_STATE), state_id(builder, shard, local)))


def _define(
    spec: SpecFunctions, name: str, result: ir.IrType, arguments: list[ir.IrType]
) -> tuple[ir.IRBuilder, tuple[ir.Value, ...]]:
    function = ir.IrFunction(spec.module, ir.FunctionType(result, arguments), name)
    return ir.IRBuilder(function.append_basic_block("entry")), function.args
