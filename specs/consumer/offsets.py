"""Where a consumer starts that finds no committed offset, or no record at its position: auto.offset.reset.

Scenarios: entry C7 of docs/consumer.md.
Sources: ConsumerCoordinator.initWithCommittedOffsetsIfNeeded, SubscriptionState.resetInitializingPositions,
FetchCollector.handleInitializeErrors, ClassicGroup.offsetExpirationCondition (KIP-211), OffsetExpirationConditionImpl.
"""

from checker.language import Constant, Range, Scenario, action, invariant, reachable, require
from specs.consumer.commits import PollLoop
from specs.consumer.consumer import Offset


class OffsetReset(PollLoop):
    """A consumer that commits what it has processed, on a partition that grows meanwhile."""

    max_poll_records = Constant(1, at_least=1)
    commits_at_start = Constant(False)  # the application commits the position as soon as it has the partition
    finds_partition_late = Constant(False)  # the partition is newer than the consumer's metadata (metadata.max.age.ms)

    produced = Range(0, "records")
    given_up = bool  # the consumer raised an error and waits for a person

    def init(self):
        """The partition is new and empty; the consumer has it, or has yet to find it."""
        super().init()
        if self.finds_partition_late:
            self.position = None
        elif self.commits_at_start:
            self.committed = self.position

    def readable_end(self):
        """Return the end of the log."""
        return self.produced

    @action
    def produce(self):
        """A record is appended."""
        require(self.produced < self.records)
        self.produced += 1

    @action
    def start(self):
        """A consumer gets the partition; without an offset and without a policy it raises an error."""
        require(not self.given_up)
        super().start()
        if self.position is None:
            self.given_up = True
        elif self.commits_at_start:
            self.committed = self.position

    @action
    def seek_to_beginning(self):
        """A person sees NoOffsetForPartitionException, or OffsetOutOfRangeException, and has everything read again."""
        require(self.given_up)
        self.given_up = False
        self.position = self.log_start()


class OffsetExpiry(OffsetReset):
    """Committed offsets are forgotten after offsets.retention.minutes, which is `retention` ticks here.

    `expiry` says since when they count: "since_commit", whoever runs, as before KIP-211 (2.1); "since_empty", the group
    has no member any more, as since then. A consumer that stopped is back before `longest_outage` is over.
    """

    retention = Constant(2, at_least=1)
    longest_outage = Constant(1, at_least=0)
    expiry = Constant("since_empty", one_of=("since_commit", "since_empty"))

    age = Range(0, "retention")  # of the committed offset
    empty_for = Range(0, "longest_outage")  # how long the group has had no member
    reached = Offset  # the highest offset ever committed

    @action
    def tick(self):
        """Time passes."""
        if self.position is None:
            require(self.empty_for < self.longest_outage)
            self.empty_for += 1
        if self.committed is not None:
            self.age = min(self.age + 1, self.retention)

    @action
    def expire_offset(self):
        """The coordinator forgets the committed offset. Source: OffsetMetadataManager.cleanupExpiredOffsets."""
        require(self.committed is not None)
        require((self.age if self.expiry == "since_commit" else self.empty_for) >= self.retention)
        self.committed = None
        self.age = 0

    @action
    def commit_position(self):
        """A commit begins to age."""
        super().commit_position()
        self.age = 0
        self.reached = max(self.reached, self.position)

    @action
    def start(self):
        """The group has a member again."""
        super().start()
        self.empty_for = 0

    @invariant(says="position {self.position}, though {self.reached} was committed")
    def no_step_back(self):
        """Whoever has the partition is not behind an offset that was committed once."""
        return self.position is None or self.position >= self.reached

    @reachable
    def offset_is_old(self):
        """A committed offset gets as old as offsets.retention.minutes."""
        return self.age == self.retention


class RecordDeletion(OffsetReset):
    """Records leave the log at its start (retention.ms), read or not."""

    deletions = Constant(1, at_least=0)

    deleted = Range(0, "deletions")

    def log_start(self):
        """Return the log start offset."""
        return self.deleted

    @action
    def delete_record(self):
        """The oldest record is too old."""
        require(self.deleted < min(self.deletions, self.produced))
        self.deleted += 1

    def next_records(self, count):
        """Return the next records, which are still there."""
        require(self.position is not None and self.position >= self.deleted)
        return super().next_records(count)

    @action
    def fetch_out_of_range(self):
        """OFFSET_OUT_OF_RANGE: the log begins behind the position. Source: FetchCollector.handleInitializeErrors."""
        require(self.position is not None and self.position < self.deleted)
        require(len(self.in_hand) == 0)
        if self.auto_offset_reset == "none":
            self.stop()
            self.given_up = True
        else:
            self.position = self.log_start() if self.auto_offset_reset == "earliest" else self.readable_end()

    @invariant(says="record {offset} is neither processed nor in anybody's hands; position {self.position}")
    def no_gap(self):
        """Every record below the position that is still in the log is processed, or in the hands of who will."""
        return self.position is None or all(
            self.is_taken(self.record_at(offset)) for offset in range(self.deleted, self.position)
        )

    @reachable
    def a_record_is_deleted_unread(self):
        """A record is deleted that nobody had read."""
        return self.position is not None and self.position < self.deleted


NO_GAP = ["no_gap", "no_reorder", "every_record_is_processed", "successor_finishes"]
LARGER = dict(records=4, max_poll_records=2, crashes=2, failures=1)

scenarios = [
    Scenario(
        OffsetReset,
        "c7_latest_before_the_first_commit",
        dict(records=1, auto_offset_reset="latest"),
        expect={"no_gap": 4},
        properties=["no_gap"],
        description="C7: the consumer dies before its first commit; its successor starts behind a new record.",
    ),
    Scenario(
        OffsetReset,
        "c7_latest_and_a_new_partition",
        dict(records=1, auto_offset_reset="latest", commits_at_start=True, finds_partition_late=True, crashes=0),
        expect={"no_gap": 3},
        properties=["no_gap"],
        description="C7 (KAFKA-12478): what is appended to a new partition before the group finds it is skipped.",
    ),
    Scenario(
        OffsetReset,
        "c7_fixed_earliest",
        dict(auto_offset_reset="earliest", finds_partition_late=True),
        properties=NO_GAP,
        description="C7 with auto.offset.reset=earliest: nothing is skipped, in a new partition either.",
    ),
    Scenario(
        OffsetReset,
        "c7_fixed_earliest_larger",
        dict(LARGER, auto_offset_reset="earliest", finds_partition_late=True),
        properties=NO_GAP,
        description="C7 with earliest, four records, two crashes, an exception.",
    ),
    Scenario(
        OffsetReset,
        "c7_fixed_first_commit_at_start",
        dict(auto_offset_reset="latest", commits_at_start=True),
        properties=NO_GAP,
        description="C7 with latest and a commit at the start: the successor finds a committed offset.",
    ),
    Scenario(
        OffsetReset,
        "c7_fixed_first_commit_at_start_larger",
        dict(LARGER, auto_offset_reset="latest", commits_at_start=True),
        properties=NO_GAP,
        description="C7 with latest and a commit at the start, four records, two crashes, an exception.",
    ),
    Scenario(
        OffsetReset,
        "c7_fixed_none",
        dict(auto_offset_reset="none", finds_partition_late=True),
        properties=NO_GAP,
        description="C7 with auto.offset.reset=none: an error instead of a gap, and a person decides.",
    ),
    Scenario(
        OffsetReset,
        "c7_fixed_none_larger",
        dict(LARGER, auto_offset_reset="none", finds_partition_late=True),
        properties=NO_GAP,
        description="C7 with none, four records, two crashes, an exception.",
    ),
    Scenario(
        OffsetExpiry,
        "c7_offset_expires_under_an_idle_consumer",
        dict(auto_offset_reset="latest", commits_at_start=True, expiry="since_commit"),
        expect={"no_gap": 7},
        properties=["no_gap"],
        description="C7 (KAFKA-4682): a partition without records, a consumer that runs, and its offset expires.",
    ),
    Scenario(
        OffsetExpiry,
        "c7_earliest_and_an_expired_offset",
        dict(records=1, auto_offset_reset="earliest", expiry="since_commit"),
        expect={"no_step_back": 10},
        properties=["no_step_back"],
        description="C7 (KAFKA-4682) with earliest: the offset expires, and what was committed is processed again.",
    ),
    Scenario(
        OffsetExpiry,
        "c7_fixed_kip211",
        dict(auto_offset_reset="none"),
        properties=[*NO_GAP, "no_step_back", "offset_is_old"],
        description="C7 since KIP-211: only the offsets of an empty group expire, and outages are shorter than that.",
    ),
    Scenario(
        OffsetExpiry,
        "c7_fixed_kip211_larger",
        dict(LARGER, auto_offset_reset="latest", commits_at_start=True, retention=3, longest_outage=2),
        properties=[*NO_GAP, "no_step_back", "offset_is_old"],
        description="C7 since KIP-211, four records, two crashes, an exception.",
    ),
    Scenario(
        OffsetExpiry,
        "c7_outage_longer_than_retention",
        dict(auto_offset_reset="latest", commits_at_start=True, longest_outage=2),
        expect={"no_gap": 7},
        properties=["no_gap"],
        description="C7 since KIP-211: after an outage of offsets.retention.minutes, latest skips the new records.",
    ),
    Scenario(
        RecordDeletion,
        "c7_latest_when_out_of_range",
        dict(auto_offset_reset="latest", crashes=0),
        expect={"no_gap": 5},
        properties=["no_gap"],
        description="C7: the next record of a slow consumer is deleted; latest skips the remaining records too.",
    ),
    Scenario(
        RecordDeletion,
        "c7_fixed_out_of_range",
        dict(auto_offset_reset="earliest", crashes=1),
        properties=["no_gap", "no_reorder", "a_record_is_deleted_unread", "every_record_is_processed"],
        description="C7 with earliest: only what is deleted is lost.",
    ),
    Scenario(
        RecordDeletion,
        "c7_fixed_out_of_range_none",
        dict(auto_offset_reset="none", commits_at_start=True),
        properties=["no_gap", "no_reorder", "a_record_is_deleted_unread", "every_record_is_processed"],
        description="C7 with none: an error where the next record is deleted, and a person decides.",
    ),
    Scenario(
        RecordDeletion,
        "c7_fixed_out_of_range_larger",
        dict(LARGER, auto_offset_reset="earliest", deletions=3),
        properties=["no_gap", "no_reorder", "a_record_is_deleted_unread", "every_record_is_processed"],
        description="C7 with earliest, four records, two crashes, an exception, three deletions.",
    ),
]
