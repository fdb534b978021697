"""The hash table of a shard: open addressing over uint32 slots, probed by groups of 8 slots.

A slot holds a tag and the local index of a state; `memory_layout` shows its bits. The states themselves are in the
shard's `states` array. A search compares whole states, so it is exact even if two states have the same hash.

    find(state):                                        add(state, local):
        group = home group of hash(state)                   the same search, which ends at an empty slot
        forever:                                            that slot = tag | local + 1
            for slot in group, if its tag matches:
                if states[its local index] == state:    grow():   at a load above the limit
                    return its local index                  empty all slots; mask = 2 * mask + 1
            if a slot of group is empty:                    add every state of the shard
                return absent, that slot
            group = next group

All tags of a group are compared at once, with vector instructions and without a branch: open addressing by groups as in
Abseil's Swiss tables. States are never removed, so there are no deleted slots, and a group with an empty slot ends
every search. A table grows in place: its address space is reserved for its largest size when the store is created, and
pages that were never written take no memory.
"""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.native.explore.memory_layout import (
    GROUP_SLOTS,
    LOAD_DENOMINATOR,
    LOAD_NUMERATOR,
    SHARD_BITS,
)
from checker.engines.native.explore.shard_record import ShardRecord, state_hash
from checker.engines.native.explore.spec_functions import SpecFunctions
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import (
    I1,
    I32,
    I64,
    WORD_POINTER,
    LocalVariable,
    endless_loop,
    for_loop,
    word,
)
from checker.engines.native.llvm.words import item, prefetch, read_words

# Fresh pages of a mapping are zero, so a reserved table is empty without being written. A used slot holds the local
# index + 1: otherwise tag 0 with local index 0 would look empty.
_EMPTY = ir.ConstantValue(I32, 0)
_GROUP = ir.VectorType(I32, GROUP_SLOTS)

_ZERO_IS_DEFINED, _ZERO_IS_POISON = ir.ConstantValue(I1, 0), ir.ConstantValue(I1, 1)
"""The second argument of `cttz`, which counts the zeros below the lowest bit: whether its first one may be 0."""


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
        """Emit a prefetch of the home group of a hash: the group at which its search starts."""
        prefetch(self._builder, self._slot(self._home(hashed)))

    def candidate(self, hashed: ir.Value) -> ir.Value:
        """Return the local index (i64) in the first slot of the home group with a hash's tag; -1 if none has it.

        No branch depends on the table: a branch that the processor cannot predict takes longer than the rest.
        """
        builder = self._builder
        home = self._home(hashed)
        group = self._group(home)
        matching = self._matching(group, self._tag(hashed))
        # For no match the position is that of the first slot, which is read in vain.
        first = builder.and_(builder.cttz(matching, _ZERO_IS_DEFINED), word(GROUP_SLOTS - 1))
        held = builder.load(self._slot(builder.add(home, first)))
        has_tag = builder.icmp_unsigned("!=", matching, word(0))
        return builder.select(has_tag, self._local_index(held), word(-1))

    def prefetch_state(self, candidate: ir.Value) -> None:
        """Emit a prefetch of the state with the local index that `candidate` returned; for -1, of memory before it."""
        offset = self._builder.mul(candidate, word(self._words))
        # Not `inbounds`: LLVM makes an `inbounds` address outside of its array a poison value.
        prefetch(self._builder, self._builder.gep(self._states, [offset]))

    def is_candidate(self, candidate: ir.Value, state: list[ir.Value]) -> ir.Value:
        """Return whether the state with the local index that `candidate` returned equals `state` (i1), branch-free.

        If it does not, the state may still be stored in another slot: only `find` decides that.
        """
        builder = self._builder
        exists = builder.icmp_signed(">=", candidate, word(0))
        # The first state in place of one that does not exist.
        stored = self._state(builder.select(exists, candidate, word(0)))
        same = _same(builder, self._key_of(builder, stored), self._key_of(builder, state))
        return builder.and_(exists, same)

    def find(self, state: list[ir.Value], hashed: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Emit the search for a state.

        Return whether it is absent (i1), its local index (-1 if it is absent), and the position of its slot or, if it
        is absent, of the empty slot to which `add` may write it.
        """
        builder = self._builder
        tag, key = self._tag(hashed), self._key_of(builder, state)
        home = LocalVariable(builder, self._home(hashed), "group")
        position = LocalVariable(builder, word(0), "position")
        # Ends: some slot of the table is empty.
        with endless_loop(builder, "probe") as probe:
            group = self._group(home.get())
            matching = LocalVariable(builder, self._matching(group, tag), "matching")
            with endless_loop(builder, "match") as match:
                rest = matching.get()
                match.leave_if(builder.icmp_unsigned("==", rest, word(0)))
                position.set(builder.add(home.get(), builder.cttz(rest, _ZERO_IS_POISON)))
                # The tag only saves reads of states. Whether two states are equal is decided by all their words.
                stored = self._state(self._local_index(builder.load(self._slot(position.get()))))
                probe.leave_if(_same(builder, self._key_of(builder, stored), key))
                matching.set(builder.and_(rest, builder.sub(rest, word(1))))
            empty = self._empty(group)
            position.set(builder.add(home.get(), builder.cttz(empty, _ZERO_IS_DEFINED)))
            probe.leave_if(builder.icmp_unsigned("!=", empty, word(0)))
            home.set(self._next(home.get()))
        held = builder.load(self._slot(position.get()))
        return builder.icmp_unsigned("==", held, _EMPTY), self._local_index(held), position.get()

    def add(self, hashed: ir.Value, local: ir.Value, position: ir.Value) -> None:
        """Write a local index and the tag of its state's hash to the empty slot at `position`."""
        builder = self._builder
        held = builder.or_(self._tag(hashed), builder.trunc(builder.add(local, word(1)), I32))
        builder.store(held, self._slot(position))

    def rebuild(self, count: ir.Value) -> None:
        """Add the first `count` states of the shard to an empty table. They are distinct: none is compared."""
        builder = self._builder
        with for_loop(builder, word(0), count, name="rebuild") as local:
            hashed = state_hash(builder, self._key_of(builder, self._state(local)))
            home = LocalVariable(builder, self._home(hashed), "group")
            with endless_loop(builder, "probe") as probe:
                empty = self._empty(self._group(home.get()))
                probe.leave_if(builder.icmp_unsigned("!=", empty, word(0)))
                home.set(self._next(home.get()))
            # Read again after the loop, whose last iteration found an empty slot.
            empty = self._empty(self._group(home.get()))
            self.add(hashed, local, builder.add(home.get(), builder.cttz(empty, _ZERO_IS_POISON)))

    def clear(self, slots: ir.Value) -> None:
        """Make the first `slots` slots empty."""
        with for_loop(self._builder, word(0), slots, name="clear") as position:
            self._builder.store(_EMPTY, self._slot(position))

    def _slot(self, position: ir.Value) -> ir.Value:
        return self._builder.gep(self._slots, [position], inbounds=True)

    def _state(self, local: ir.Value) -> list[ir.Value]:
        return read_words(self._builder, item(self._builder, self._states, local, self._words), self._words)

    def _home(self, hashed: ir.Value) -> ir.Value:
        """Return the position of the first slot of the home group."""
        return self._builder.and_(self._builder.and_(hashed, self._mask), word(-GROUP_SLOTS))

    def _next(self, home: ir.Value) -> ir.Value:
        """Return the position of the first slot of the next group; the first group follows the last one."""
        return self._builder.and_(self._builder.add(home, word(GROUP_SLOTS)), self._mask)

    def _group(self, home: ir.Value) -> ir.Value:
        """Return the slots of a group (a vector of i32). Its address is a multiple of its size."""
        address = self._builder.bitcast(self._slot(home), _GROUP.as_pointer())
        return self._builder.load(address, align=4 * GROUP_SLOTS)

    def _matching(self, group: ir.Value, tag: ir.Value) -> ir.Value:
        """Return the slots of a group that are used and have a tag, as bits (i64)."""
        builder = self._builder
        tags = builder.and_(group, _splat(builder, builder.not_(self._index_mask())))
        has_tag = builder.icmp_unsigned("==", tags, _splat(builder, tag))
        is_used = builder.icmp_unsigned("!=", group, ir.ConstantValue(_GROUP, None))
        return _bits(builder, builder.and_(has_tag, is_used))

    def _empty(self, group: ir.Value) -> ir.Value:
        """Return the slots of a group that are empty, as bits (i64)."""
        return _bits(self._builder, self._builder.icmp_unsigned("==", group, ir.ConstantValue(_GROUP, None)))

    def _tag(self, hashed: ir.Value) -> ir.Value:
        """Return the tag of a hash (i32), in the bits of a slot above those of the local index."""
        # The bits above the tag are equal in all states of a shard, so they would distinguish nothing.
        shifted = self._builder.trunc(self._builder.lshr(hashed, word(32 - SHARD_BITS)), I32)
        return self._builder.and_(shifted, self._builder.not_(self._index_mask()))

    def _index_mask(self) -> ir.Value:
        """Return the bits (i32) of a slot that hold the local index plus 1, which is less than the number of slots."""
        return self._builder.trunc(self._mask, I32)

    def _local_index(self, held: ir.Value) -> ir.Value:
        """Return the local index (i64) that a slot holds; -1 for an empty slot."""
        index = self._builder.and_(held, self._index_mask())
        return self._builder.sub(self._builder.zext(index, I64), word(1))


def make_room(builder: ir.IRBuilder, record: ShardRecord, wanted: ir.Value, grow_table: ir.IrFunction) -> None:
    """Emit a loop that doubles the table until its load with `wanted` states is at most 0.75."""
    with endless_loop(builder, "make_room") as loop:
        slots = builder.add(record.get("table_mask"), word(1))
        allowed = builder.mul(slots, word(LOAD_NUMERATOR))
        # Integers in place of a quotient. `wanted` is below 2**29, so the products are far below 2**64.
        loop.leave_if(builder.icmp_unsigned("<=", builder.mul(wanted, word(LOAD_DENOMINATOR)), allowed))
        builder.call(grow_table, [record.address])


def define_grow_table(spec: SpecFunctions) -> ir.IrFunction:
    """Define `void grow_table(i64* record)`: double a shard's table in place and add its states again."""
    kind = ir.FunctionType(ir.VoidType(), [WORD_POINTER])
    function = ir.IrFunction(spec.module, kind, "explore.grow_table")
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    record = ShardRecord(builder, function.args[0], spec.layout)
    doubled = builder.or_(builder.shl(record.get("table_mask"), word(1)), word(1))
    # The upper half was never written, so it is zero already. It is written all the same: a page that is read before it
    # is written costs a second page fault, which also interrupts all other workers (the kernel maps one page of zeros
    # for reading, and must flush that mapping from every processor).
    HashTable(builder, record, spec.words, spec.key_of).clear(builder.add(doubled, word(1)))
    record.set("table_mask", doubled)
    # A new object, because the first one has the old mask in a register.
    HashTable(builder, record, spec.words, spec.key_of).rebuild(record.get("count"))
    builder.ret_void()
    return function


def _splat(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Return a vector that has a value (i32) in every position."""
    undefined, first = ir.ConstantValue(_GROUP, ir.Undefined), ir.ConstantValue(I32, 0)
    vector = builder.insert_element(undefined, value, first)
    return builder.shuffle_vector(vector, undefined, ir.ConstantValue(_GROUP, None))


def _bits(builder: ir.IRBuilder, truths: ir.Value) -> ir.Value:
    """Return a vector of truths as the bits of a number (i64)."""
    return builder.zext(builder.bitcast(truths, ir.IntegerType(GROUP_SLOTS)), I64)


def _same(builder: ir.IRBuilder, left: list[ir.Value], right: list[ir.Value]) -> ir.Value:
    """Return whether two states are equal (i1), without a branch per word."""
    difference: ir.Value = word(0)
    for one, other in zip(left, right, strict=True):
        difference = builder.or_(difference, builder.xor(one, other))
    return builder.icmp_unsigned("==", difference, word(0))
