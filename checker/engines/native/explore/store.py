"""The store of an exploration: all states, exact and append-only, by shard; and the buffers for successors in flight.

Every array is a memory mapping of the largest size that this machine's memory, or the rest of the address space under
`ulimit -v`, could hold. It never moves, so kernels keep its address, and only pages that were written are resident.
`memory_layout` documents the arrays and records.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.memory_layout import (
    FIELD_LENGTHS,
    FIELD_OFFSETS,
    INITIAL_INSTANCE,
    INITIAL_PARENT,
    INITIAL_TABLE_SLOTS,
    LOAD_DENOMINATOR,
    LOAD_NUMERATOR,
    MAXIMUM_LOCAL,
    MAXIMUM_OUTBOX_ENTRIES,
    NO_STATE,
    RECORD_WORDS,
    RESTORED_FIELDS,
    SHARD_BITS,
    SHARDS,
    MemoryLayout,
)
from checker.run.endings import StoppedError
from checker.run.memory import available_address_space, memory_limit

Words = NDArray[np.uint64]
Number = TypeVar("Number", bound=np.generic)

_LINUX_MAP_NORESERVE = 0x4000
"""The flag of `mmap` that reserves no swap space; Python's `mmap` module has no name for it before 3.13."""

_MAPPED_NUMERATOR, _MAPPED_DENOMINATOR = 2, 3
"""The part of the address space left by `ulimit -v` that a store reserves; compiled code and threads take the rest."""

_LEAST_CAPACITY = 1024

_SLOT_BYTES = 4
_LARGE_PAGE = 2 << 20
_SMALL_PAGES_BYTES = 4 << 20
"""Bytes: a slot of a table, a large page, and the start of each shard's part that keeps small pages."""


class Store:
    """All states of one exploration, and the calls of the kernels that work on them.

    The id of a state is local index * SHARDS + shard, below 2**32. Raises MemoryError if the address space is limited.
    """

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self.layout = layout = kernels.layout
        capacity = _capacity(layout)
        self.states: Words = _reserve(np.uint64, SHARDS, capacity, layout.words)
        self.parents: NDArray[np.uint32] = _reserve(np.uint32, SHARDS, capacity)
        self.instances: NDArray[np.uint16] = _reserve(np.uint16, SHARDS, capacity)
        self._generated: Words = _reserve(np.uint64, SHARDS, layout.counter_words)
        self.step_violations: Words = np.zeros((SHARDS, 64, layout.entry_words), np.uint64)
        self._table: NDArray[np.uint32] = _reserve(np.uint32, SHARDS, _largest_table(capacity))
        self._successors: Words = _reserve(np.uint64, SHARDS, layout.outbox_capacity, layout.entry_words)
        self._outboxes: Words = _reserve(np.uint64, SHARDS, SHARDS, layout.outbox_capacity, layout.entry_words)
        self._records: Words = _reserve(np.uint64, SHARDS, RECORD_WORDS)
        # Kernels take plain addresses. They stay valid because this object keeps every array, and no array is resized.
        self._records_address: int = self._records.ctypes.data
        self._next_shard: Words = np.zeros(1, np.uint64)
        self._next_shard_address: int = self._next_shard.ctypes.data
        self._level_ends: list[Words] = []
        self._place_arrays()
        self.field("capacity")[:] = capacity
        # All other fields start as 0, which is right for them. 0 is a local index, so `deadlock` needs NO_STATE.
        self.field("table_mask")[:] = INITIAL_TABLE_SLOTS - 1
        self.field("deadlock")[:] = NO_STATE

    def _place_arrays(self) -> None:
        """Write the addresses of each shard's part of the arrays to its record."""
        arrays: dict[str, NDArray[Any]] = {
            "states": self.states,
            "parents": self.parents,
            "instances": self.instances,
            "table": self._table,
            "successors": self._successors,
            "outboxes": self._outboxes,
            "generated": self._generated,
            "step_violations": self.step_violations,
        }
        for name, array in arrays.items():
            self.field(name)[:] = array.ctypes.data + array.strides[0] * np.arange(SHARDS, dtype=np.uint64)

    def field(self, name: str) -> Words:
        """Return a view of a field of all records: (SHARDS,), or (SHARDS, items) for a field of several words."""
        offset, length = FIELD_OFFSETS[name], FIELD_LENGTHS[name]
        return self._records[:, offset] if length == 1 else self._records[:, offset : offset + length]

    def offer_shards(self) -> None:
        """Offer all shards to the workers that will run the next half of a round."""
        self._next_shard[0] = 0

    def improve_kernels(self) -> None:
        """Continue with optimised kernels, unless these are already optimised."""
        if self._kernels.better is not None:
            self._kernels = self._kernels.better()

    def expand(self, step_mask: int) -> None:
        """Run the first half of a round for the shards that no other worker has taken."""
        self._kernels.expand(self._records_address, self._next_shard_address, step_mask)

    def insert(self, mask: int) -> None:
        """Run the second half of a round for the shards that no other worker has taken."""
        self._kernels.insert(self._records_address, self._next_shard_address, mask)

    def send_initial(self, initial: Words) -> Iterator[None]:
        """Send initial states (n, words) to their shards in rounds; the caller runs `insert` after each yield.

        They take the way of successors: into the buffer of shard 0, from which `expand` routes them.
        """
        size = self.layout.outbox_entries
        for start in range(0, len(initial), size):
            batch = initial[start : start + size]
            self._successors[0, : len(batch), :-1] = batch
            self._successors[0, : len(batch), -1] = INITIAL_INSTANCE
            self.field("pending")[0] = len(batch)
            self.field("pending_parent")[0] = INITIAL_PARENT
            self.offer_shards()
            self.expand(0)
            yield

    def begin_level(self) -> None:
        """Make the states that were found since the last level began the frontier of the next level."""
        self.field("frontier_end")[:] = self.field("count")
        self._level_ends.append(self.field("count").copy())

    def depths_of(self, state_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the level (n,) of each of some states (n,), from 0 on: its distance from the initial states."""
        # A shard stores its states in the order of levels, so the number of levels that end at or before a local index
        # is the level of its state.
        depths = np.empty(len(state_ids), np.int64)
        ends = np.array(self._level_ends)
        shards = (state_ids % SHARDS).astype(np.uint8)
        by_shard = np.argsort(shards, kind="stable")
        bounds = np.searchsorted(shards[by_shard], np.arange(SHARDS + 1))
        for shard in range(SHARDS):
            chosen = by_shard[bounds[shard] : bounds[shard + 1]]
            local = (state_ids[chosen] >> SHARD_BITS).astype(np.uint64)
            depths[chosen] = np.searchsorted(ends[:, shard], local, side="right")
        return depths

    def counts(self) -> NDArray[np.int64]:
        """Return the number of states of each shard (SHARDS,)."""
        return self.field("count").astype(np.int64)

    def states_address(self, shard: int, local: int) -> int:
        """Return the address of a state; the states of a shard follow one another."""
        return int(self.states[shard, local:].ctypes.data)

    @property
    def records_address(self) -> int:
        """The address of the records of the shards, see `memory_layout`."""
        return self._records_address

    @property
    def distinct(self) -> int:
        """The number of states."""
        return int(self.field("count").sum())

    @property
    def within(self) -> int:
        """The number of states within the constraint; 0 if the spec has none."""
        return int(self.field("within").sum())

    @property
    def left_in_level(self) -> int:
        """The number of states of this level that are not yet expanded, or have successors that are not yet routed."""
        # Unsigned, but never negative: a cursor stops at `frontier_end`.
        unexpanded = self.field("frontier_end") - self.field("cursor")
        return int(unexpanded.sum()) + int(np.count_nonzero(self.field("pending")))

    @property
    def left(self) -> int:
        """The number of states of this level and the next that are not yet expanded."""
        # Never negative either: `frontier_end` is a former `count`, and states are never removed.
        found_since = self.field("count") - self.field("frontier_end")
        return self.left_in_level + int(found_since.sum())

    @property
    def round_bytes(self) -> int:
        """The bytes by which the next round may increase `memory_bytes`."""
        successors = self.left_in_level * max(1, self.layout.instances)
        added = min(successors, SHARDS * self.layout.outbox_capacity)
        slots = self.field("table_mask").astype(np.int64) + 1
        growing = (self.counts() + added) * LOAD_DENOMINATOR > slots * LOAD_NUMERATOR
        states = min(successors, SHARDS * added)
        return states * self.layout.bytes_per_state + int(slots[growing].sum()) * _SLOT_BYTES

    @property
    def memory_bytes(self) -> int:
        """The size in bytes of states, parents, instances and tables."""
        slots = int(self.field("table_mask").sum()) + SHARDS
        return self.distinct * self.layout.bytes_per_state + slots * _SLOT_BYTES

    def find(self, words: Words) -> int | None:
        """Return the id of the state with these words (words,), or None if it is not stored."""
        state = np.ascontiguousarray(words, np.uint64)
        if state.shape != (self.layout.words,):
            raise ValueError(f"a state has {self.layout.words} words, not shape {state.shape}")
        found = self._kernels.find(self._records_address, state.ctypes.data)
        return None if found == NO_STATE else found

    def words_of(self, state_id: int) -> Words:
        """Return a copy of a state's words."""
        words: Words = self.states[state_id % SHARDS, state_id >> SHARD_BITS].copy()
        return words

    def words_of_all(self, state_ids: NDArray[np.int64]) -> Words:
        """Return a copy of the words (n, words) of some states (n,)."""
        words: Words = self.states[state_ids % SHARDS, state_ids >> SHARD_BITS]
        return words

    def origin_of(self, state_id: int) -> tuple[int, int] | None:
        """Return the parent (a state id) and the action instance that first reached a state; None if it is initial."""
        shard, local = state_id % SHARDS, state_id >> SHARD_BITS
        parent = int(self.parents[shard, local])
        return None if parent == INITIAL_PARENT else (parent, int(self.instances[shard, local]))

    def all_states(self) -> Words:
        """Return a copy of all states (distinct, words), shard by shard."""
        return np.concatenate([self.states[shard, :count] for shard, count in enumerate(self._counts())])

    def generated_per_instance(self) -> NDArray[np.int64]:
        """Return the number of successors that each action instance has generated (instances,)."""
        total: NDArray[np.int64] = self._generated.sum(axis=0)[: self.layout.instances].astype(np.int64)
        return total

    def distinct_per_instance(self) -> NDArray[np.int64]:
        """Return the number of states that each action instance was the first to reach (instances,)."""
        total = np.zeros(self.layout.instances, np.int64)
        for shard, count in enumerate(self._counts()):
            # `minlength` gives every shard the same length; the slice drops the count of initial states.
            by_instance = np.bincount(self.instances[shard, :count], minlength=INITIAL_INSTANCE + 1)
            total += by_instance[: self.layout.instances]
        return total

    def _counts(self) -> list[int]:
        return [int(count) for count in self.field("count")]

    # Checkpoints, see `CheckpointedStore`.

    def growing_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the states and their origins, by shard."""
        return {
            f"{name}-{shard:02}": array[shard, :count]
            for shard, count in enumerate(self._counts())
            for name, array in self._by_state().items()
        }

    def changing_arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of the records, and of everything else that is small."""
        pending = [int(listed) for listed in self.field("pending")]
        return {
            **{f"record-{name}": self.field(name).copy() for name in RESTORED_FIELDS},
            "generated": self._generated.copy(),
            "step_violations": self.step_violations.copy(),
            "successors": np.concatenate([self._successors[shard, :listed] for shard, listed in enumerate(pending)]),
            "level_ends": np.array(self._level_ends, np.uint64),
        }

    def room_for(self, name: str, items: int) -> NDArray[Any]:
        """Return the memory of the first states or origins of a shard."""
        kind, _, shard = name.rpartition("-")
        if items > int(self.field("capacity")[int(shard)]):
            raise StoppedError(
                f"the checkpoint, with {items:,} states in a shard, needs more memory than this machine has"
            )
        room: NDArray[Any] = self._by_state()[kind][int(shard), :items]
        return room

    def restore(self, changing: Mapping[str, NDArray[Any]]) -> None:
        """Restore the records and the successors in flight. `rebuild` builds the tables from the states."""
        for name in RESTORED_FIELDS:
            self.field(name)[:] = changing[f"record-{name}"]
        self._generated[:] = changing["generated"]
        self.step_violations[:] = changing["step_violations"]
        self._level_ends = list(changing["level_ends"])
        self._require_order()
        ends = np.cumsum(self.field("pending")).astype(np.int64)
        for shard, listed in enumerate(np.split(changing["successors"], ends[:-1])):
            self._successors[shard, : len(listed)] = listed
        # Half as large as needed: `rebuild` doubles each table before it adds the states.
        slots = [_slots_for(count) for count in self._counts()]
        self.field("table_mask")[:] = np.array(slots, np.uint64) // 2 - 1
        self.offer_shards()

    def rebuild(self) -> None:
        """Build the tables of the restored shards that no other worker has taken."""
        self._kernels.rebuild(self._records_address, self._next_shard_address)

    def _require_order(self) -> None:
        """Raise ValueError if restored numbers contradict each other: kernels do not check them."""
        cursor, end, count = (self.field(name) for name in ("cursor", "frontier_end", "count"))
        is_ordered = (cursor <= end).all() and (end <= count).all() and (count <= self.field("capacity")).all()
        if not is_ordered or (self.field("pending") > self.layout.outbox_capacity).any():
            raise ValueError("its records contradict each other")

    def _by_state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays with an item for each state of each shard."""
        return {"states": self.states, "parents": self.parents, "instances": self.instances}


def physical_memory() -> int:
    """Return the machine's memory in bytes, or the memory that its control group may take."""
    limit = memory_limit()
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if limit is None else limit


def _capacity(layout: MemoryLayout) -> int:
    """Return the number of states for which a shard reserves memory.

    Assumes that the hash spreads the states evenly: each shard may hold a sixteenth of the machine's memory. A limit of
    the address space leaves less, of which the rest of the process needs a part.
    """
    capacity: int = min(MAXIMUM_LOCAL, physical_memory() // (SHARDS * layout.bytes_per_state))
    address_space = available_address_space()
    if address_space is not None:
        mapped = address_space * _MAPPED_NUMERATOR // _MAPPED_DENOMINATOR
        while capacity > _LEAST_CAPACITY and SHARDS * _reserved_bytes(layout, capacity) > mapped:
            capacity //= 2
    return capacity


def _reserved_bytes(layout: MemoryLayout, capacity: int) -> int:
    """Return the bytes that are reserved for a shard with `capacity` states."""
    entries = (1 + SHARDS) * layout.outbox_capacity * layout.entry_words
    return capacity * layout.bytes_per_state + _largest_table(capacity) * _SLOT_BYTES + entries * 8


def _largest_table(capacity: int) -> int:
    """Return the number of slots, a power of two, of the table of a shard with `capacity` states."""
    return _slots_for(capacity + MAXIMUM_OUTBOX_ENTRIES)


def _slots_for(count: int) -> int:
    """Return the number of slots, a power of two, of a table with `count` states."""
    slots = INITIAL_TABLE_SLOTS
    while slots * LOAD_NUMERATOR < count * LOAD_DENOMINATOR:
        slots *= 2
    return slots


def _reserve(kind: type[Number], *shape: int) -> NDArray[Number]:
    """Return an array of zeros with a part for each shard; only pages that are written take memory."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    # Without MAP_NORESERVE the kernel may refuse mappings that add up to more than the machine's memory.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", _LINUX_MAP_NORESERVE)
    try:
        region = mmap.mmap(-1, size, flags=flags)
    except OSError as error:
        raise MemoryError(f"cannot reserve {size >> 20} MiB of address space: raise its limit (ulimit -v)") from error
    _advise_large_pages(region, size // SHARDS)
    return np.frombuffer(region, kind).reshape(shape)


def _advise_large_pages(region: mmap.mmap, part: int) -> None:
    """Request large pages for each shard's part of a region, except its first 4 MiB.

    Large pages save TLB misses. A small state space stays in small pages, where it wastes no memory.
    """
    for shard in range(SHARDS):
        # Both ends are rounded to whole large pages: the start up, the end down. `madvise` needs aligned addresses.
        start = -(-(shard * part + _SMALL_PAGES_BYTES) // _LARGE_PAGE) * _LARGE_PAGE
        length = (shard + 1) * part // _LARGE_PAGE * _LARGE_PAGE - start
        if length > 0:
            # Advice only: a kernel or platform without large pages runs the same search more slowly.
            with suppress(OSError, AttributeError):
                region.madvise(mmap.MADV_HUGEPAGE, start, length)
