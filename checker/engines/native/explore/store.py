"""The usual store of an exploration: all states, exact and append-only, by shard, with their parents, in memory.

Every array is a memory mapping of the largest size that this machine's memory, or the rest of the address space under
`ulimit -v`, could hold. It never moves, so kernels keep its address, and only pages that were written are resident.
`memory_layout` documents the arrays and records.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.memory_layout import (
    INITIAL_INSTANCE,
    INITIAL_PARENT,
    INITIAL_TABLE_SLOTS,
    LOAD_DENOMINATOR,
    LOAD_NUMERATOR,
    MAXIMUM_LOCAL,
    MAXIMUM_OUTBOX_ENTRIES,
    NO_STATE,
    SHARD_BITS,
    SHARDS,
    MemoryLayout,
)
from checker.engines.native.explore.reserved import U16, U32, U64, Reserved
from checker.engines.native.explore.search_store import Run, SearchStore, mappable_bytes, physical_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from checker.engines.native.llvm.word_arrays import Words

_LEAST_CAPACITY = 1024

_SLOT_BYTES = 4


class Store(SearchStore):
    """All states of one exploration, with their parents, in memory. The id of a state is below 2**32."""

    def __init__(self, kernels: Kernels) -> None:
        super().__init__(kernels)
        layout = self.layout
        capacity = _capacity(layout)
        self._capacity = capacity
        self._states = Reserved(U64, SHARDS, capacity, layout.words)
        self._parents = Reserved(U32, SHARDS, capacity)
        self._instances = Reserved(U16, SHARDS, capacity)
        self._table = Reserved(U32, SHARDS, _largest_table(capacity))
        self._place(states=self._states, parents=self._parents, instances=self._instances, table=self._table)
        self.write("capacity", capacity)
        self.write("table_mask", INITIAL_TABLE_SLOTS - 1)

    @property
    def states(self) -> Sequence[Words]:
        """The states of each shard, an array (capacity, words)."""
        return list(self._states.array)

    @property
    def is_full(self) -> bool:
        """Whether the last round dropped states for which there was no memory."""
        return any(self.read("full"))

    @property
    def is_nearly_full(self) -> bool:
        """Whether the next round might drop states: the memory is reserved for a number of states."""
        return max(self.counts()) + SHARDS * self.layout.outbox_capacity > self._capacity

    def make_room(self, run: Run) -> None:
        """Do nothing: the memory of the largest store is reserved."""

    def release(self) -> None:
        """Do nothing: every state stays in memory."""

    def keep_origins(self, state_ids: Sequence[int], run: Run, on_level: Callable[[int], None]) -> None:
        """Do nothing: the origin of every state is stored."""

    def insert(self, mask: int) -> None:
        """Run the second half of a round for the shards that no other worker has taken."""
        self._kernels.insert(self._records_address, self._next_shard_address, mask)

    def index_states(self, run: Run) -> None:
        """Do nothing: the table has the local indices."""

    @property
    def round_bytes(self) -> int:
        """The bytes by which the next round may increase `memory_bytes`."""
        successors = self.left_in_level * max(1, self.layout.instances)
        added = min(successors, SHARDS * self.layout.outbox_capacity)
        grown = sum(
            mask + 1
            for count, mask in zip(self.counts(), self.read("table_mask"), strict=True)
            if (count + added) * LOAD_DENOMINATOR > (mask + 1) * LOAD_NUMERATOR
        )
        states = min(successors, SHARDS * added)
        return states * self.layout.bytes_per_state + grown * _SLOT_BYTES

    @property
    def memory_bytes(self) -> int:
        """The size in bytes of states, parents, instances and tables."""
        slots = sum(self.read("table_mask")) + SHARDS
        return self.distinct * self.layout.bytes_per_state + slots * _SLOT_BYTES

    def find(self, words: Sequence[int] | Words) -> int | None:
        """Return the id of the state with these words (words,), or None if it is not stored."""
        if len(words) != self.layout.words:
            raise ValueError(f"a state has {self.layout.words} words, not {len(words)}")
        state = array(U64, words)
        state_id = self._kernels.find(self._records_address, state.buffer_info()[0])
        return None if state_id == NO_STATE else state_id

    def words_of(self, state_id: int) -> list[int]:
        """Return a state's words."""
        size = self.layout.words
        start = self._place_of(state_id) * size
        words: list[int] = self._states.items[start : start + size].tolist()
        return words

    def words_of_all(self, state_ids: NDArray[np.int64]) -> Words:
        """Return a copy of the words (n, words) of some states (n,)."""
        words: Words = self._states.array[state_ids % SHARDS, state_ids >> SHARD_BITS]
        return words

    def origin_of(self, state_id: int) -> tuple[int, int] | None:
        """Return the parent (a state id) and the action instance that first reached a state; None if it is initial."""
        place = self._place_of(state_id)
        parent = self._parents.items[place]
        return None if parent == INITIAL_PARENT else (parent, self._instances.items[place])

    def _place_of(self, state_id: int) -> int:
        """Return the position of a state among the items of all shards."""
        return state_id % SHARDS * self._capacity + (state_id >> SHARD_BITS)

    def distinct_per_instance(self) -> list[int]:
        """Return the number of states that each action instance was the first to reach (instances,)."""
        counters = self._new_counters()
        for record in self._records.addresses():
            self._kernels.count(record, ctypes.addressof(counters))
        return counters[: self.layout.instances]

    def distinct_by_shard(self) -> list[list[int]]:
        """Return how many states each action instance was the first to reach (SHARDS, instances + 1).

        The last column counts initial states.
        """
        counts = []
        for record in self._records.addresses():
            counters = self._new_counters()
            self._kernels.count(record, ctypes.addressof(counters))
            counts.append([*counters[: self.layout.instances], counters[INITIAL_INSTANCE]])
        return counts

    @staticmethod
    def _new_counters() -> ctypes.Array[ctypes.c_uint64]:
        return (ctypes.c_uint64 * (INITIAL_INSTANCE + 1))()

    def _growing(self) -> dict[str, Sequence[NDArray[Any]]]:
        memory = {"states": self._states, "parents": self._parents, "instances": self._instances}
        return {name: list(reserved.array) for name, reserved in memory.items()}

    def rebuild(self, run: Run) -> None:
        """Build the tables of a restored store; `run` calls a function in all workers at the same time."""
        # Half as large as needed: the kernel doubles each table before it adds the states.
        self.write("table_mask", [slots_for(count) // 2 - 1 for count in self.counts()])
        self.offer_shards()
        run(lambda: self._kernels.rebuild(self._records_address, self._next_shard_address))


def _capacity(layout: MemoryLayout) -> int:
    """Return the number of states for which a shard reserves memory.

    Assumes that the hash spreads the states evenly: each shard may hold a sixteenth of the machine's memory. A limit of
    the address space leaves less, of which the rest of the process needs a part.
    """
    capacity: int = min(MAXIMUM_LOCAL, physical_memory() // (SHARDS * layout.bytes_per_state))
    mapped = mappable_bytes()
    if mapped is not None:
        while capacity > _LEAST_CAPACITY and SHARDS * _shard_bytes(layout, capacity) > mapped:
            capacity //= 2
    return capacity


def _shard_bytes(layout: MemoryLayout, capacity: int) -> int:
    """Return the bytes that are reserved for a shard with `capacity` states."""
    entries = (1 + SHARDS) * layout.outbox_capacity * layout.entry_words
    return capacity * layout.bytes_per_state + _largest_table(capacity) * _SLOT_BYTES + entries * 8


def _largest_table(capacity: int) -> int:
    """Return the number of slots, a power of two, of the table of a shard with `capacity` states."""
    return slots_for(capacity + MAXIMUM_OUTBOX_ENTRIES)


def slots_for(count: int) -> int:
    """Return the number of slots, a power of two, of a table with `count` states."""
    slots = INITIAL_TABLE_SLOTS
    while slots * LOAD_NUMERATOR < count * LOAD_DENOMINATOR:
        slots *= 2
    return slots
