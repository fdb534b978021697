"""How the explorer's memory is laid out: shards, the record that describes one, and the successors in flight.

The kernels (LLVM) and the driver (Python) read the same memory; everything that both must agree on is here.
All of it is 64-bit words, but for the table (uint32), the parents (uint32) and the action instances (uint16).
"""

from __future__ import annotations

from dataclasses import dataclass

SHARD_BITS = 4
SHARDS = 1 << SHARD_BITS
"""A state belongs to the shard that the top bits of its hash name, however many workers there are."""

TAG_BITS = 4
LOCAL_BITS = 32 - TAG_BITS
"""A table slot holds four more bits of the hash above local index + 1, so most probes of other states end there."""

MAXIMUM_LOCAL = 2**LOCAL_BITS - 2
"""The most states that one shard can hold: state ids and table slots are 32 bits wide."""

NO_STATE = 2**64 - 1
INITIAL_PARENT = 2**32 - 1
INITIAL_INSTANCE = 2**16 - 1
MAXIMUM_INSTANCES = 65535

MAXIMUM_OUTBOX_ENTRIES, MINIMUM_OUTBOX_ENTRIES = 2048, 256
OUTBOX_WORDS = 6144
"""Words of an outbox, about: rounds are long enough to be worth starting, and all outboxes take some 12 MB."""

INITIAL_TABLE_SLOTS = 1024
LOAD_NUMERATOR, LOAD_DENOMINATOR = 7, 10
"""A table doubles when it would be fuller than this: it stays between 0.35 and 0.7."""

OUT_OF_BOUNDS_BIT = 63
"""The bit that `check_state` and `check_step` set where evaluating a property left its bounds."""

_RECORD_FIELDS = {
    # Where the shard's arrays are (addresses).
    "states": 1,
    "parents": 1,
    "instances": 1,
    "table": 1,
    "successors": 1,
    "outboxes": 1,
    "generated": 1,
    "step_violations": 1,
    # The store.
    "capacity": 1,
    "count": 1,
    "table_mask": 1,
    "full": 1,
    # The frontier: states cursor .. frontier_end - 1 of this level are not yet expanded.
    "cursor": 1,
    "frontier_end": 1,
    # Successors of `pending_parent` that did not fit into the outboxes of the last round.
    "pending": 1,
    "pending_parent": 1,
    # What was found: property bits, with the state (local index) or the step of the first of each.
    "seen_in_states": 1,
    "seen_in_steps": 1,
    "deadlock": 1,
    "failures": 1,
    "failed_state": 1,
    "failed_instance": 1,
    "failed_site": 1,
    # Entries in each outbox, and the first state (local index) of each property bit.
    "fills": SHARDS,
    "first_states": 64,
}


def _offsets() -> dict[str, int]:
    offsets, position = {}, 0
    for name, length in _RECORD_FIELDS.items():
        offsets[name] = position
        position += length
    return offsets


FIELD_LENGTHS = dict(_RECORD_FIELDS)
FIELD_OFFSETS = _offsets()


def _apart(words: int) -> int:
    """Round up to whole pairs of cache lines: what one worker writes must not share one with what another writes."""
    return -(-words // 16) * 16


RECORD_WORDS = _apart(sum(_RECORD_FIELDS.values()))
"""Words of a shard's record."""


@dataclass(frozen=True)
class MemoryLayout:
    """The sizes that follow from a spec: `words` of a state and the number of its action instances.

    A successor in flight is an entry of `words` + 1 words: the state, then parent id | instance << 32.
    """

    words: int
    instances: int

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ValueError("a state has at least one word")
        if not 0 <= self.instances <= MAXIMUM_INSTANCES:
            raise ValueError(f"{self.instances} action instances: at most {MAXIMUM_INSTANCES} are supported")

    @property
    def entry_words(self) -> int:
        """Words of a successor in flight."""
        return self.words + 1

    @property
    def outbox_entries(self) -> int:
        """How many successors a shard sends to another in one round, unless one state alone has more."""
        return min(MAXIMUM_OUTBOX_ENTRIES, max(MINIMUM_OUTBOX_ENTRIES, OUTBOX_WORDS // self.entry_words))

    @property
    def outbox_capacity(self) -> int:
        """Entries of one outbox: a state's successors always fit into an empty one."""
        return max(self.outbox_entries, self.instances)

    @property
    def counter_words(self) -> int:
        """Words of a shard's counters, one for each action instance and some to spare."""
        return _apart(max(1, self.instances))

    @property
    def bytes_per_state(self) -> int:
        """Bytes of a stored state with its parent and instance, without its share of the table."""
        return 8 * self.words + 6
