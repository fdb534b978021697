"""The compact store: tables of quotients in memory, the states themselves in files, and no parents.

    the usual store            8 * words + 6 bytes a state, and 4 bytes a slot of a table with a load of 0.35 to 0.7
    this store, in memory      the bytes of a slot (see `quotient`), divided by a load of 0.8 to 0.9
    this store, on disk        8 * words bytes a state

The records, the order of states and their ids are those of the usual store, so the results are the same: counts,
levels, first violations and traces. The parents on a path are found again (see `origins`).
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.engines.native.explore.compact.origins import Origin, origins_of
from checker.engines.native.explore.compact.quotient import TableShape
from checker.engines.native.explore.compact.state_files import RELEASE_BYTES, StateFile
from checker.engines.native.explore.compact.table_kernels import CompactKernels
from checker.engines.native.explore.compact.table_record import (
    FIELD_OFFSETS,
    MOVED_SLOTS,
    OVERFLOW_BEFORE_GROWTH,
    OVERFLOW_ENTRIES,
    mask_offset,
    record_words,
)
from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.memory_layout import MAXIMUM_LOCAL, NO_STATE, SHARDS, MemoryLayout
from checker.engines.native.explore.reserved import U8, U32, U64, Reserved
from checker.engines.native.explore.search_store import Run, SearchStore, mappable_bytes, physical_memory
from checker.engines.native.explore.store import Store, slots_for
from checker.run.endings import StoppedError
from checker.run.liveness import TooLargeError
from checker.run.memory import available_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from checker.engines.native.llvm.word_arrays import Words

_ROWS_AT_ONCE = 1 << 18
"""States of a shard that are copied or inserted before their part of the file is released."""

_TAKE_OVER_GAIN = 1.25
"""The states of a usual store move only if they take less memory by this factor then."""

_GROW_TOGETHER = 0.98
"""Tables of nearly the greatest load grow with the first one, so that all workers have a part of the work."""


class CompactStore(SearchStore):
    """All states of one exploration. `tables` are the kernels for the code of its states."""

    def __init__(self, kernels: Kernels, tables: CompactKernels, folder: Path | None = None) -> None:
        super().__init__(kernels)
        self._tables = tables
        self._use_view()
        layout, smallest = self.layout, tables.smallest
        place = str(folder or state_folder())
        self._row_bytes = 8 * layout.words
        capacity, self._table_bytes = _capacities(layout, place)
        self._files = [StateFile(place, capacity, layout.words) for _ in range(SHARDS)]
        self._states = [file.states for file in self._files]
        self.write("states", [states.ctypes.data for states in self._states])
        self.write("capacity", capacity)
        # Counters of action instances, and one of initial states.
        self._distinct = Reserved(U64, SHARDS, -(-(layout.instances + 1) // 16) * 16)
        self._table: Reserved | None = Reserved(U8, SHARDS, self._table_bytes)
        self._index: Reserved | None = None
        room = MOVED_SLOTS * smallest.slot_bytes + 8 * (smallest.slot_words + 1)
        self._moved = Reserved(U8, SHARDS, -(-room // 128) * 128)
        self._overflow = Reserved(U64, SHARDS, OVERFLOW_ENTRIES, tables.code.words)
        self._table_records = Reserved(U64, SHARDS, record_words(smallest.slot_words))
        reserved = {
            "table": self._table,
            "moved": self._moved,
            "overflow": self._overflow,
            "distinct": self._distinct,
        }
        for name, memory in reserved.items():
            self._table_field(name)[:] = memory.addresses()
        self._shapes = [smallest] * SHARDS
        for shard in range(SHARDS):
            self._write_shape(shard, smallest, is_next=False)
        self._used_at_release = 0
        self._is_loading = False
        self._origins: dict[int, Origin] = {}

    def _table_field(self, name: str) -> Words:
        records: Words = self._table_records.array
        return records[:, FIELD_OFFSETS[name]]

    def _write_shape(self, shard: int, shape: TableShape, *, is_next: bool) -> None:
        prefix = "next_" if is_next else ""
        self._table_field(prefix + "slots")[shard] = shape.slots
        self._table_field(prefix + "inverse")[shard] = shape.inverse
        self._table_field(prefix + "slot_bytes")[shard] = shape.slot_bytes
        words = self._tables.smallest.slot_words
        first = mask_offset(words, is_next=is_next)
        self._table_records.array[shard, first : first + words] = shape.masks(words)

    @property
    def states(self) -> Sequence[Words]:
        """The states of each shard, an array (capacity, words); the files have space for the first ones."""
        return self._states

    @property
    def code_bits(self) -> int:
        """The number of bits that distinguish a state."""
        return self._tables.code.bits

    @property
    def memory_bytes(self) -> int:
        """The size in bytes of the tables."""
        return sum(shape.bytes for shape in self._shapes) if self._index is None else SHARDS * self._index.part_bytes

    @property
    def round_bytes(self) -> int:
        """The bytes by which the next round may increase `memory_bytes`: the growth of the tables that grow then.

        The hash spreads successors over the shards: twice the mean of a shard is more than any of them gets.
        """
        successors = self.left_in_level * max(1, self.layout.instances)
        added = min(2 * successors // SHARDS + 1, SHARDS * self.layout.outbox_capacity)
        grown = (
            shape.for_states(count + added).bytes - shape.bytes
            for count, shape in zip(self.counts(), self._shapes, strict=True)
        )
        return sum(grown)

    @property
    def is_full(self) -> bool:
        """Whether a code was in no slot and did not fit into the list."""
        return bool(self._table_field("overflow_full").any())

    def improve_kernels(self) -> None:
        """Continue with optimised kernels, unless these are already optimised."""
        super().improve_kernels()
        if self._tables.is_quick:
            self._tables = self._tables.better()
        self._use_view()

    def _use_view(self) -> None:
        """Let the tables distinguish states by the view of the spec, which is part of the kernels of the spec."""
        if self._tables.calls_view:
            self._tables.use_view(self._kernels.view_address)

    # The second half of a round.

    def make_room(self, run: Run) -> None:
        """Grow the tables and the files for the successors in flight, as if all of them were new."""
        wanted = self.field("count") + self.field("fills").sum(axis=0)
        for file, count in zip(self._files, wanted, strict=True):
            file.make_room(int(count))
        while self._plan_growth(wanted):
            self.offer_shards()
            run(lambda: self._tables.grow(self._table_records.address, self._next_shard_address))
            if self.is_full:
                raise MemoryError("too many states have the same place in a table of the compact store")
        self.release()

    def _plan_growth(self, wanted: Words) -> bool:
        """Choose the next shape of the tables that are too small; return whether there are any."""
        listed = self._table_field("overflow_count")
        is_small = [
            int(count) > shape.most_states or int(number) > OVERFLOW_BEFORE_GROWTH
            for count, number, shape in zip(wanted, listed, self._shapes, strict=True)
        ]
        if not any(is_small):
            return False
        for shard, shape in enumerate(self._shapes):
            if is_small[shard] or int(wanted[shard]) > _GROW_TOGETHER * shape.most_states:
                grown = shape.grown().for_states(int(wanted[shard]))
                if grown.bytes > self._table_bytes:
                    raise MemoryError(f"the states do not fit into memory: {self.distinct} were found")
                self._write_shape(shard, grown, is_next=True)
                self._shapes[shard] = grown
        return True

    def release(self) -> None:
        """Release the parts of the files that the search does not need soon, if many were used since the last time."""
        if self._is_loading:
            self._release_all()
            return
        used = int((self.field("cursor") + self.field("count")).sum()) * self._row_bytes
        if abs(used - self._used_at_release) < SHARDS * RELEASE_BYTES:
            return
        self._used_at_release = used
        for shard, file in enumerate(self._files):
            file.release(int(self.field("cursor")[shard]))
            file.release(int(self.field("count")[shard]), first=int(self.field("frontier_end")[shard]))

    def _release_all(self) -> None:
        for file in self._files:
            file.release(len(file.states))

    def insert(self, mask: int) -> None:
        """Run the second half of a round for the shards that no other worker has taken."""
        self._tables.insert(
            self._records_address,
            self._table_records.address,
            self._next_shard_address,
            self._kernels.check_new_address,
            mask,
        )

    # States and their origins.

    def find(self, words: Sequence[int] | Words) -> int | None:
        """Return the id of the state with these words (words,), or None. The first call builds the index of all states.

        Raises TooLargeError if the index does not fit into memory.
        """
        self.index_states(lambda work: work())
        state = np.ascontiguousarray(words, np.uint64)
        number = self._kernels.find(self._records_address, state.ctypes.data)
        return None if number == NO_STATE else number

    def index_states(self, run: Run) -> None:
        """Replace the tables of quotients by tables of local indices, as the usual store has them.

        Raises TooLargeError if they do not fit into memory, or if a shard has too many states for them.
        """
        if self._index is not None:
            return
        counts = self.counts()
        slots = [slots_for(count) for count in counts]
        needed = SHARDS * max(slots) * np.dtype(np.uint32).itemsize
        available = available_memory()
        if max(counts) > MAXIMUM_LOCAL:
            raise TooLargeError(f"liveness is decided for at most {SHARDS * MAXIMUM_LOCAL:,} states")
        if available is not None and needed > available + self.memory_bytes:
            raise TooLargeError(
                f"a table of {self.distinct:,} states takes {needed:,} bytes; {available:,} are available"
            )
        self._table = None
        self._index = Reserved(U32, SHARDS, max(slots))
        self._place(table=self._index)
        # The kernel doubles each table before it adds the states.
        self.write("table_mask", [number // 2 - 1 for number in slots])
        self.offer_shards()
        run(lambda: self._kernels.rebuild(self._records_address, self._next_shard_address))
        self._release_all()

    def keep_origins(self, state_ids: Sequence[int], run: Run, on_level: Callable[[int], None]) -> None:
        """Find the origins of some states, and of all states on the paths to them, in one pass through the levels."""
        missing = [state_id for state_id in state_ids if state_id not in self._origins]
        self._origins.update(origins_of(self, missing, run, on_level))

    def origin_of(self, state_id: int) -> Origin:
        """Return the parent (a state id) and the action instance that first reached a state; None if it is initial."""
        if state_id not in self._origins:
            self.keep_origins([state_id], lambda work: work(), lambda level: None)
        return self._origins[state_id]

    def distinct_per_instance(self) -> list[int]:
        """Return the number of states that each action instance was the first to reach (instances,)."""
        total: list[int] = self._distinct.array.sum(axis=0)[: self.layout.instances].tolist()
        return total

    # Checkpoints.

    def _growing(self) -> dict[str, Sequence[Words]]:
        return {"states": self._states}

    def _changing(self) -> dict[str, NDArray[np.uint64]]:
        return {**super()._changing(), "distinct": self._distinct.array}

    def release_items(self, name: str, first: int, end: int) -> None:
        """Release states of a shard: a checkpoint would otherwise bring all states since the last one into memory."""
        self._files[int(name.rpartition("-")[2])].release(end, first=first)

    def room_for(self, name: str, items: int) -> NDArray[Any] | None:
        """Return the memory of the first states of a shard, after reserving their disk space.

        None for the origins of states, which a usual store had before its states moved to this one.
        """
        self._is_loading = True
        room = super().room_for(name, items)
        if room is None:
            return None
        self._files[int(name.rpartition("-")[2])].make_room(items)
        return room

    def take_over(self, store: Store) -> None:
        """Copy the states and the progress of a usual store between two rounds; `rebuild` fills the tables.

        Raises OSError if the disk has no space, and MemoryError if the tables would not take much less memory.
        """
        needed = sum(self._tables.smallest.for_states(count).bytes for count in store.counts())
        if _TAKE_OVER_GAIN * needed > store.memory_bytes:
            raise MemoryError("the states would take as much memory as before")
        for shard, count in enumerate(store.counts()):
            room = self.room_for(f"states-{shard:02}", count)
            assert room is not None
            for start in range(0, count, _ROWS_AT_ONCE):
                end = min(start + _ROWS_AT_ONCE, count)
                room[start:end] = store.states[shard][start:end]
                self._files[shard].release(end)
        distinct = np.zeros_like(self._distinct.array)
        distinct[:, : self.layout.instances + 1] = store.distinct_by_shard()
        self.restore({**store.changing_arrays(), "distinct": distinct})

    def rebuild(self, run: Run) -> None:
        """Insert the states of a restored store into its tables; `run` calls a function in all workers."""
        counts = self.counts()
        for shard, count in enumerate(counts):
            self._shapes[shard] = self._tables.smallest.for_states(count)
            if self._shapes[shard].bytes > self._table_bytes:
                raise StoppedError(f"{self.distinct:,} states need more memory than this machine has")
            self._write_shape(shard, self._shapes[shard], is_next=False)
        tables = self._table_records.address
        for start in range(0, max(counts), _ROWS_AT_ONCE):
            self.offer_shards()
            run(
                lambda start=start: self._tables.rebuild(  # type: ignore[misc]
                    self._records_address, tables, self._next_shard_address, start, start + _ROWS_AT_ONCE
                )
            )
            self._release_all()
        self._is_loading = False


def state_folder() -> Path:
    """Return the folder of the files: TMPDIR if it is set, or the folder of large temporary files of the system."""
    large = Path("/var/tmp")
    is_chosen = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return large if not is_chosen and os.access(large, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _capacities(layout: MemoryLayout, folder: str) -> tuple[int, int]:
    """Return the states of a shard for which its file has space, and the bytes of its table.

    The hash spreads the states evenly. A limit of the address space leaves less, of which the buffers need a part.
    """
    files, tables = shutil.disk_usage(folder).free, physical_memory()
    mapped = mappable_bytes()
    if mapped is not None:
        entries = 8 * SHARDS * (1 + SHARDS) * layout.outbox_capacity * layout.entry_words
        part = max(0, mapped - entries) // 2
        files, tables = min(files, part), min(tables, part)
    page = mmap.PAGESIZE
    return max(1, files // (SHARDS * 8 * layout.words)), max(1, tables // (SHARDS * page)) * page
