"""auto.offset.reset: the start of a consumer without a committed offset, or without a record at its position.

Scenarios: entry C7 of docs/consumer.md.
Sources: ConsumerCoordinator.initWithCommittedOffsetsIfNeeded, SubscriptionState.resetInitializingPositions,
FetchCollector.handleInitializeErrors, ClassicGroup.offsetExpirationCondition (KIP-211), OffsetExpirationConditionImpl.
"""

from checker.language import Bug, Constant, Event, Range, Scenario, action, invariant, reachable, require
from specs.consumer.commits import PollLoop
from specs.consumer.consumer import Offset
from specs.scenario_forms import violates


class OffsetReset(PollLoop):
    """A consumer that commits after processing, on a growing partition."""

    draws = PollLoop.draws.with_events(
        Event("init", "The partition is empty{', and not yet known to the consumer' if finds_partition_late else ''}"),
        Event("produce", "The leader appends record {produced}", at="'partition'", leaves_out=("readable",)),
        Event("seek_to_beginning", "An operator lets the consumer read from the beginning", at="'consumer'"),
    )  # fmt: skip

    max_poll_records = Constant(1, at_least=1)
    commits_at_start = Constant(False)  # the application commits as soon as it owns the partition
    finds_partition_late = Constant(False)  # the consumer's metadata is older (metadata.max.age.ms)
    operator_seeks = Constant(True)  # after an exception, an operator lets the consumer read from the beginning

    produced = Range(0, "records")
    given_up = bool  # the consumer threw an exception and waits for an operator

    def init(self):
        """The partition is new and empty; the consumer owns it, or has not found it yet."""
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
        """The leader appends a record."""
        require(self.produced < self.records)
        self.produced += 1

    @action
    def start(self):
        """A consumer is assigned the partition; without an offset and a policy it throws an exception."""
        require(not self.given_up)
        super().start()
        if self.position is None:
            self.given_up = True
        elif self.commits_at_start:
            self.committed = self.position

    @action
    def seek_to_beginning(self):
        """An operator handles NoOffsetForPartitionException or OffsetOutOfRangeException with seekToBeginning."""
        require(self.given_up and self.operator_seeks)
        self.given_up = False
        self.position = self.log_start()


class OffsetExpiry(OffsetReset):
    """Committed offsets expire after offsets.retention.minutes, `retention` ticks here.

    `expiry` defines the start of the retention time: "since_commit", with or without members (before KIP-211, 2.1);
    "since_empty", from the time at which the group has no members (since KIP-211). An outage of the consumer lasts at
    most `longest_outage` ticks.
    """

    draws = OffsetReset.draws.with_events(
        Event("tick", "Time passes", at="'partition'", kind="timeout"),
        Event("expire_offset", "The committed offset {committed} expires: offsets.retention.minutes has passed",
            "offset expires", "'partition'", "lost state"))  # fmt: skip

    retention = Constant(2, at_least=1)
    longest_outage = Constant(1, at_least=0)
    expiry = Constant("since_empty", one_of=("since_commit", "since_empty"))

    age = Range(0, "retention")  # of the committed offset
    empty_for = Range(0, "longest_outage")  # ticks since the group has had a member
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
        """The coordinator deletes the committed offset. Source: OffsetMetadataManager.cleanupExpiredOffsets."""
        require(self.committed is not None)
        require((self.age if self.expiry == "since_commit" else self.empty_for) >= self.retention)
        self.committed = None
        self.age = 0

    @action
    def commit_position(self):
        """The consumer commits; the age of the commit is zero."""
        super().commit_position()
        self.age = 0
        self.reached = max(self.reached, self.position)

    @action
    def start(self):
        """The group has a member again."""
        super().start()
        self.empty_for = 0

    @invariant(says="position {self.position}, although {self.reached} was committed")
    def no_step_back(self):
        """The owner's position is not below any offset that was ever committed."""
        return self.position is None or self.position >= self.reached

    @reachable
    def offset_is_old(self):
        """A committed offset reaches the age of offsets.retention.minutes."""
        return self.age == self.retention


class RecordDeletion(OffsetReset):
    """Retention (retention.ms) deletes the oldest records, read or unread."""

    draws = OffsetReset.draws.with_events(
        Event("delete_record", "Retention deletes record {deleted}", "retention", "'partition'", "lost state"),
        Event("fetch_out_of_range",
            "Offset {position} is out of range, and the consumer {'throws an exception' if auto_offset_reset == 'none' "
                "else 'continues at ' + str(log_start() if auto_offset_reset == 'earliest' else readable_end()) + ' "
                "(auto.offset.reset=' + str(auto_offset_reset) + ')'}", "out of range", "'consumer'", "refusal"),
    )  # fmt: skip

    deletions = Constant(1, at_least=0)

    deleted = Range(0, "deletions")

    def log_start(self):
        """Return the log start offset."""
        return self.deleted

    @action
    def delete_record(self):
        """Retention deletes the oldest record."""
        require(self.deleted < min(self.deletions, self.produced))
        self.deleted += 1

    def next_records(self, count):
        """Return the next records, if they are still in the log."""
        require(self.position is not None and self.position >= self.deleted)
        return super().next_records(count)

    @action
    def fetch_out_of_range(self):
        """OFFSET_OUT_OF_RANGE: the log starts after the position. Source: FetchCollector.handleInitializeErrors."""
        require(self.position is not None and self.position < self.deleted)
        require(len(self.in_hand) == 0)
        if self.auto_offset_reset == "none":
            self.stop()
            self.given_up = True
        else:
            self.position = self.log_start() if self.auto_offset_reset == "earliest" else self.readable_end()

    @invariant(says="record {offset} is neither processed nor held by the application; position {self.position}")
    def no_gap(self):
        """Every record below the position that is still in the log is processed or held by the application."""
        return self.position is None or all(
            self.is_processed_or_held(self.record_at(offset)) for offset in range(self.deleted, self.position)
        )

    @invariant(says="record {self.position} is deleted, and no consumer has read it")
    def deleted_records_were_read(self):
        """Retention deletes no record above the consumer's position."""
        return self.position is None or self.position >= self.deleted

    @reachable
    def a_record_is_deleted_unread(self):
        """A record is deleted that the consumer has not read."""
        return self.position is not None and self.position < self.deleted


NO_GAP = ["no_gap", "no_reorder", "every_record_is_processed", "successor_finishes"]
DELETION = ["no_gap", "no_reorder", "a_record_is_deleted_unread", "every_record_is_processed"]
LARGER = dict(records=4, max_poll_records=2, crashes=2, failures=1)

scenarios = [
    Bug("c7_latest_before_the_first_commit", OffsetReset, violates={"no_gap": 4}, size=dict(auto_offset_reset="latest"),
        faulty=dict(records=1), fixed=dict(commits_at_start=True), larger=dict(LARGER, auto_offset_reset="latest"),
        promises=NO_GAP, fixed_name="c7_fixed_first_commit_at_start",
        description="C7: the consumer dies before its first commit; its successor starts after a new record.",
        remedy="C7 with latest and a commit at the start: the successor finds a committed offset."),
    Bug("c7_latest_and_a_new_partition", OffsetReset, violates={"no_gap": 3}, size=dict(finds_partition_late=True),
        faulty=dict(records=1, auto_offset_reset="latest", commits_at_start=True, crashes=0),
        fixed=dict(auto_offset_reset="earliest"), larger=dict(LARGER, finds_partition_late=True), promises=NO_GAP,
        fixed_name="c7_fixed_earliest",
        description="C7 (KAFKA-12478): the group skips records that precede its discovery of a new partition.",
        remedy="C7 with auto.offset.reset=earliest: no record is skipped, even in a new partition."),
    Scenario(OffsetReset, "c7_fixed_none", dict(auto_offset_reset="none", finds_partition_late=True), properties=NO_GAP,
        description="C7 with auto.offset.reset=none: an exception instead of a gap, and an operator decides."),
    Scenario(OffsetReset, "c7_fixed_none_larger", dict(LARGER, auto_offset_reset="none", finds_partition_late=True),
        properties=NO_GAP, description="C7 with none, four records, two crashes, an exception in processing."),
    Bug("c7_offset_expires_under_an_idle_consumer", OffsetExpiry, violates={"no_gap": 7},
        size=dict(auto_offset_reset="none"),
        faulty=dict(auto_offset_reset="latest", commits_at_start=True, expiry="since_commit"),
        larger=dict(LARGER, auto_offset_reset="latest", commits_at_start=True, retention=3, longest_outage=2),
        promises=[*NO_GAP, "no_step_back", "offset_is_old"], fixed_name="c7_fixed_kip211",
        description="C7 (KAFKA-4682): the offset of a running consumer expires on a partition without new records.",
        remedy="C7 since KIP-211: only offsets of an empty group expire, and outages are shorter than the retention."),
    violates(OffsetExpiry, "c7_earliest_and_an_expired_offset",
        dict(records=1, auto_offset_reset="earliest", expiry="since_commit"), {"no_step_back": 10},
        "C7 (KAFKA-4682) with earliest: the offset expires, and committed records are processed again."),
    violates(OffsetExpiry, "c7_outage_longer_than_retention",
        dict(auto_offset_reset="latest", commits_at_start=True, longest_outage=2), {"no_gap": 7},
        "C7 since KIP-211: after an outage of offsets.retention.minutes, latest skips the new records."),
    Bug("c7_latest_when_out_of_range", RecordDeletion, violates={"no_gap": 5},
        faulty=dict(auto_offset_reset="latest", crashes=0), fixed=dict(auto_offset_reset="earliest"),
        larger=dict(LARGER, deletions=3), promises=DELETION, fixed_name="c7_fixed_out_of_range",
        description="C7: the next record of a slow consumer is deleted; latest skips the remaining records too.",
        remedy="C7 with earliest: only deleted records are lost."),
    Scenario(RecordDeletion, "c7_fixed_out_of_range_none", dict(auto_offset_reset="none", commits_at_start=True),
        properties=DELETION,
        description="C7 with none: an exception when the next record is deleted, and an operator decides."),
]  # fmt: skip
