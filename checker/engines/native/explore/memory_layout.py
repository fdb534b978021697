"""The memory layout of the explorer: shards, the record of a shard, and successors in flight.

The kernels (LLVM) and the search (Python) use the same memory. This module holds everything on which both must agree.
The unit is the 64-bit word, except for the table (uint32), the parents (uint32) and the action instances (uint16).

Every state belongs to one of 16 shards. A shard has its own arrays of states and its own hash table. The hash of a
state selects the shard, the tag and the home group, which is where a search of the table starts: 8 adjacent slots.

    hash, 64 bits      63      60 59                                              3  0
                      +----------+-------------+---------+------------------------+----+
                      |  shard   |     tag     |   ...   |       home group       | .. |
                      +----------+-------------+---------+------------------------+----+
                                  32 - b bits             bits 3 to b - 1, for a table of 2**b slots

    state id, 32 bits  31                                              4 3            0
                      +-------------------------------------------------+--------------+
                      | local index: position in the shard's arrays     |    shard     |
                      +-------------------------------------------------+--------------+

    table slot         31               b b - 1                                      0
    (0: empty)        +------------------+---------------------------------------------+
                      |       tag        |               local index + 1               |
                      +------------------+---------------------------------------------+

    entry: a successor in flight, `words` + 1 words
                      +----------------------+-----------------------------------------+
                      | state, `words` words | parent id, or-ed with instance << 48    |
                      +----------------------+-----------------------------------------+

In a shard's `successors` buffer the last word of an entry holds the instance only: all have the same parent.

Ownership. A round has two halves (see `search`), and all workers finish a half before any worker starts the next one.
In a half, one worker at a time works on a shard, so no lock is needed. The only shared counter is the number of the
next shard that has no worker yet.

    half     the worker on shard s reads                  and writes
    expand   the states of s                              successors and outboxes of s, record of s
    insert   the outboxes of all shards to s              states, parents, instances, table and record of s;
                                                          `fills[s]` in the record of each shard

Canonical order. The contents of a shard's outboxes depend only on the order of the shard's own states. A shard inserts
the entries of its inboxes in the order of source shard and position. By induction, each shard's states have the same
order for every number of workers, and so have all counts and the first violation by (level, round, shard, local index).
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.language.instance_limit import MOST_INSTANCES

SHARD_BITS = 4
SHARDS = 1 << SHARD_BITS
"""The number of shards. It does not depend on the number of workers, which therefore cannot change a result."""

MAXIMUM_LOCAL = 2 ** (32 - SHARD_BITS) - 2
"""The greatest number of states in one shard: a state id has 32 bits."""

NO_STATE = 2**64 - 1
"""In place of a state id or local index: none."""

ORIGIN_SHIFT = 48
"""The bit of an entry's last word from which on it holds the instance."""

INITIAL_PARENT = 2**32 - 1
INITIAL_INSTANCE = 2**16 - 1
"""The parent id and the action instance of an initial state. Neither is the id or instance of anything else."""

MAXIMUM_OUTBOX_ENTRIES, MINIMUM_OUTBOX_ENTRIES = 2048, 256
OUTBOX_WORDS = 6144
"""The intended size of an outbox: a round is long enough to be worth starting, and all outboxes take about 12 MB."""

GROUP_SLOTS = 8
"""The slots of a table that are compared at once: 32 bytes, half of a cache line."""

INITIAL_TABLE_SLOTS = 1024
LOAD_NUMERATOR, LOAD_DENOMINATOR = 3, 4
"""A table is doubled when its load would exceed this ratio. Its load then stays between 0.375 and 0.75."""

MASK_BITS = 64
"""The bits of a mask of properties."""

OUT_OF_BOUNDS_BIT = MASK_BITS - 1
"""The bit that `check_state` and `check_step` set when the evaluation of a property leaves its bounds."""

_RECORD_FIELDS = {
    # Addresses of the shard's arrays.
    "states": 1,  # u64 (capacity, words): the states in the order in which they were found
    "parents": 1,  # u32 (capacity,): the id of the state from which each was first reached
    "instances": 1,  # u16 (capacity,): the action instance that first reached each
    "table": 1,  # u32 (table_mask + 1,): the hash table; a slot has as many bits for the index as `table_mask`
    "successors": 1,  # u64 (outbox_capacity, entry_words): the successors of the state that is being expanded
    "outboxes": 1,  # u64 (SHARDS, outbox_capacity, entry_words): entries for each target shard
    "generated": 1,  # u64 (counter_words,): how many successors each action instance generated
    "step_violations": 1,  # u64 (64, entry_words): the first step that set each property bit
    # The store.
    "capacity": 1,  # the number of states for which there is memory
    "count": 1,  # the number of states
    "table_mask": 1,  # the number of table slots, a power of two, minus 1
    "full": 1,  # 1 after a state did not fit
    "within": 1,  # the number of states within the constraint; 0 if the spec has none
    # The frontier: the states cursor .. frontier_end - 1 of this level are not yet expanded.
    "cursor": 1,
    "frontier_end": 1,
    # The number of listed successors of `pending_parent` (a state id) that did not fit into the last round's outboxes.
    "pending": 1,
    "pending_parent": 1,
    # Findings. Property bits, and NO_STATE or the local index of the first deadlock.
    "seen_in_states": 1,
    "seen_in_steps": 1,
    "deadlock": 1,
    # The number of evaluations in actions that left their bounds, and the first of them.
    "failures": 1,
    "failed_state": 1,
    "failed_instance": 1,
    "failed_site": 1,
    # The number of entries in each outbox, and the local index of the first state that set each property bit.
    "fills": SHARDS,
    "first_states": MASK_BITS,
}
"""The fields of a shard's record, in order, each with its length in words."""

RESTORED_FIELDS = ("count", "within", "cursor", "frontier_end", "pending", "pending_parent")
"""The fields that a checkpoint holds.

The others are addresses, depend on the machine or on the rebuilt table, are 0 between two rounds, or are findings: the
search keeps its own, and no property is checked again after its first finding.
"""


def _offsets() -> dict[str, int]:
    offsets, position = {}, 0
    for name, length in _RECORD_FIELDS.items():
        offsets[name] = position
        position += length
    return offsets


FIELD_LENGTHS = dict(_RECORD_FIELDS)
FIELD_OFFSETS = _offsets()


def _apart(words: int) -> int:
    """Round up to 128 bytes, a pair of cache lines: two workers never write to the same line (false sharing)."""
    return -(-words // 16) * 16


RECORD_WORDS = _apart(sum(_RECORD_FIELDS.values()))
"""The size of a shard's record in words. The records of all shards are one array (SHARDS, RECORD_WORDS)."""


@dataclass(frozen=True)
class MemoryLayout:
    """The sizes that depend on the spec, from `words`, the size of a state, and the number of action instances.

    Raises ValueError if a size is out of range.
    """

    words: int
    instances: int

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ValueError("a state has at least one word")
        if not 0 <= self.instances <= MOST_INSTANCES:
            raise ValueError(f"{self.instances} action instances: at most {MOST_INSTANCES} are supported")

    @property
    def entry_words(self) -> int:
        """Words of an entry: a successor in flight."""
        return self.words + 1

    @property
    def outbox_entries(self) -> int:
        """Entries after which an outbox is full and ends the shard's part in a round."""
        return min(MAXIMUM_OUTBOX_ENTRIES, max(MINIMUM_OUTBOX_ENTRIES, OUTBOX_WORDS // self.entry_words))

    @property
    def outbox_capacity(self) -> int:
        """Entries for which an outbox has memory: all successors of one state always fit into an empty outbox."""
        return max(self.outbox_entries, self.instances)

    @property
    def counter_words(self) -> int:
        """Words of a shard's counters: one per action instance, rounded up to whole cache lines."""
        return _apart(max(1, self.instances))

    @property
    def bytes_per_state(self) -> int:
        """Bytes of a stored state with its parent and its action instance, without its share of the table."""
        return 8 * self.words + 6
