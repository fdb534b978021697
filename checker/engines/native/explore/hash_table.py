"""The hash table of a shard: open addressing with linear probing (Knuth, TAOCP 6.4, algorithm L) over uint32 slots.

A slot holds a tag and the local index of a state; `memory_layout` shows its bits. The states themselves are in the
shard's `states` array. A search compares whole states, so it is exact even if two states have the same hash.

    find(state):                                        add(state, local):
        position = hash(state) & mask                       the same search, which ends at an empty slot
        while slot[position] is not empty:                  slot[position] = tag | local + 1
            if its tag matches
               and states[its local index] == state:    grow():   at a load above 0.7
                return its local index                      empty all slots; mask = 2 * mask + 1
            position = (position + 1) & mask                add every state of the shard
        return absent, position

States are never removed, so there are no deleted slots. A table grows in place: its address space is reserved for its
largest size when the store is created, and pages that were never written take no memory.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from checker.engines.native.explore.memory_layout import (
    LOAD_DENOMINATOR,
    LOAD_NUMERATOR,
    LOCAL_BITS,
    SHARD_BITS,
    TAG_BITS,
)
from checker.engines.native.explore.shard_record import ShardRecord, state_hash
from checker.engines.native.explore.spec_functions import SpecFunctions
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
from checker.engines.native.llvm.words import item, read_words

# Fresh pages of a mapping are zero, so a reserved table is empty without being written. A used slot holds the local
# index + 1: otherwise tag 0 with local index 0 would look empty.
_EMPTY = ir.Constant(I32, 0)


KeyOf = Callable[[ir.IRBuilder, list[ir.Value]], list[ir.Value]]
"""Returns the words of a state that distinguish it from others."""


class HashTable:
    """The table and the states of a shard, in a kernel under construction.

    The constructor emits the reads of the addresses and the mask. Create a new object after `make_room`, which changes
    the mask. `key_of` returns the words of a state that are compared; by default all.
    """

    def __init__(
        self, builder: ir.IRBuilder, record: ShardRecord, words: int, key_of: KeyOf = lambda builder, state: state
    ) -> None:
        self._builder = builder
        self._words, self._key_of = words, key_of
        self._slots = record.table()
        self._mask = record.get("table_mask")
        self._states = record.array("states")

    def prefetch_slot(self, hashed: ir.Value) -> None:
        """Emit a prefetch of the home slot of a hash: the slot at which its search starts."""
        _prefetch(self._builder, self._slot(self._home(hashed)))

    def prefetch_state(self, hashed: ir.Value) -> None:
        """Emit a prefetch of the state in the home slot of a hash; for an empty slot, of the memory before them."""
        builder = self._builder
        held = builder.load(self._slot(self._home(hashed)))
        offset = builder.mul(self._local_index(held), word(self._words))
        # Not `inbounds`: for an empty slot the address is one state before the array, and LLVM makes an `inbounds`
        # address outside of its array a poison value.
        _prefetch(builder, builder.gep(self._states, [offset]))

    def find(self, state: list[ir.Value], hashed: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Emit the search for a state.

        Return whether it is absent (i1), its local index (-1 if it is absent), and the position of its slot or, if it
        is absent, of the empty slot to which `add` may write it.
        """
        builder = self._builder
        wanted, key = builder.trunc(_tag(builder, hashed), I32), self._key_of(builder, state)
        position = LocalVariable(builder, self._home(hashed), "position")
        # Ends: at a load of at most 0.7 some slot is empty.
        with endless_loop(builder, "probe") as probe:
            held = builder.load(self._slot(position.get()), name="held")
            probe.leave_if(builder.icmp_unsigned("==", held, _EMPTY))
            # The tag only saves reads of states. Whether two states are equal is decided by all their words.
            has_tag = builder.icmp_unsigned("==", builder.lshr(held, ir.Constant(I32, LOCAL_BITS)), wanted)
            with builder.if_then(has_tag):
                stored = read_words(
                    builder, item(builder, self._states, self._local_index(held), self._words), self._words
                )
                probe.leave_if(_same(builder, self._key_of(builder, stored), key))
            position.set(self._next(position.get()))
        held = builder.load(self._slot(position.get()))
        return builder.icmp_unsigned("==", held, _EMPTY), self._local_index(held), position.get()

    def add(self, hashed: ir.Value, local: ir.Value, position: ir.Value) -> None:
        """Write a local index and the tag of its state's hash to the empty slot at `position`."""
        builder = self._builder
        tag = builder.shl(_tag(builder, hashed), word(LOCAL_BITS))
        held = builder.or_(tag, builder.add(local, word(1)))
        builder.store(builder.trunc(held, I32), self._slot(position))

    def rebuild(self, count: ir.Value) -> None:
        """Add the first `count` states of the shard to an empty table. They are distinct: none is compared."""
        builder = self._builder
        with counted_loop(builder, word(0), count, name="rebuild") as local:
            state = read_words(builder, item(builder, self._states, local, self._words), self._words)
            hashed = state_hash(builder, self._key_of(builder, state))
            position = LocalVariable(builder, self._home(hashed), "position")
            with endless_loop(builder, "probe") as probe:
                held = builder.load(self._slot(position.get()), name="held")
                probe.leave_if(builder.icmp_unsigned("==", held, _EMPTY))
                position.set(self._next(position.get()))
            self.add(hashed, local, position.get())

    def clear(self, slots: ir.Value) -> None:
        """Make the first `slots` slots empty."""
        with counted_loop(self._builder, word(0), slots, name="clear") as position:
            self._builder.store(_EMPTY, self._slot(position))

    def _slot(self, position: ir.Value) -> ir.Value:
        return self._builder.gep(self._slots, [position], inbounds=True)

    def _home(self, hashed: ir.Value) -> ir.Value:
        return self._builder.and_(hashed, self._mask)

    def _next(self, position: ir.Value) -> ir.Value:
        return self._builder.and_(self._builder.add(position, word(1)), self._mask)

    def _local_index(self, held: ir.Value) -> ir.Value:
        """Return the local index (i64) that a slot holds; -1 for an empty slot."""
        index = self._builder.and_(held, ir.Constant(I32, 2**LOCAL_BITS - 1))
        return self._builder.sub(self._builder.zext(index, I64), word(1))


def make_room(builder: ir.IRBuilder, record: ShardRecord, wanted: ir.Value, grow_table: ir.Function) -> None:
    """Emit a loop that doubles the table until its load with `wanted` states is at most 0.7."""
    with endless_loop(builder, "make_room") as loop:
        slots = builder.add(record.get("table_mask"), word(1))
        allowed = builder.mul(slots, word(LOAD_NUMERATOR))
        # Integers in place of a quotient. `wanted` is below 2**29, so the products are far below 2**64.
        loop.leave_if(builder.icmp_unsigned("<=", builder.mul(wanted, word(LOAD_DENOMINATOR)), allowed))
        builder.call(grow_table, [record.address])


def define_grow_table(spec: SpecFunctions) -> ir.Function:
    """Define `void grow_table(i64* record)`: double a shard's table in place and add its states again."""
    kind = ir.FunctionType(ir.VoidType(), [WORD_POINTER])
    function = ir.Function(spec.module, kind, "explore.grow_table")
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    record = ShardRecord(builder, function.args[0], spec.layout)
    mask = record.get("table_mask")
    # Only the lower half is cleared. The upper half of the doubled table was never written, so it is still zero.
    HashTable(builder, record, spec.words, spec.key_of).clear(builder.add(mask, word(1)))
    record.set("table_mask", builder.or_(builder.shl(mask, word(1)), word(1)))
    # A new object, because the first one has the old mask in a register.
    HashTable(builder, record, spec.words, spec.key_of).rebuild(record.get("count"))
    builder.ret_void()
    return function


def _tag(builder: ir.IRBuilder, hashed: ir.Value) -> ir.Value:
    """Return the tag (i64) of a hash: the bits below those that select the shard."""
    # The bits above the tag are equal in all states of a shard, so they would distinguish nothing.
    shifted = builder.lshr(hashed, word(64 - SHARD_BITS - TAG_BITS))
    return builder.and_(shifted, word(2**TAG_BITS - 1))


def _same(builder: ir.IRBuilder, left: list[ir.Value], right: list[ir.Value]) -> ir.Value:
    """Return whether two states are equal (i1), without a branch per word."""
    difference: ir.Value = word(0)
    for one, other in zip(left, right, strict=True):
        difference = builder.or_(difference, builder.xor(one, other))
    return builder.icmp_unsigned("==", difference, word(0))


def _prefetch(builder: ir.IRBuilder, address: ir.Value) -> None:
    """Emit a prefetch for reading, with the highest locality. A prefetch of an invalid address does nothing."""
    name, byte_pointer = "llvm.prefetch.p0", I8.as_pointer()
    function = builder.module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, I32, I32, I32])
        function = ir.Function(builder.module, kind, name)
    to_read, keep, data = (ir.Constant(I32, value) for value in (0, 3, 1))
    builder.call(function, [builder.bitcast(address, byte_pointer), to_read, keep, data])
