"""The start of the log: a leader deletes records that a follower has not fetched (KAFKA-9491, KAFKA-12996)."""

from checker.language import Bug, Constant, Event, Map, Range, SetOf, action, invariant, reachable, require
from specs.replication.partition import Partition
from specs.replication.partition_drawing import DRAWING
from specs.replication.partition_state import EpochStart, Offset
from specs.replication.state import Replica


class LogStart(Partition):
    """A partition whose leader deletes committed records, by retention or on request.

    A follower whose log ends before its leader's log start is out of range. It deletes its log and starts at the
    leader's log start. Deleted records stay in `log`, so that an offset is an index; a replica that starts later gets
    them from its leader. They do not count as lost or as different, also where a follower still has another record: it
    deletes that record when it learns the leader's log start.

    Source: UnifiedLog.maybeIncrementLogStartOffset and truncateFullyAndStartAt, LeaderEpochFileCache.truncateFromStart,
    Partition.readRecords, AbstractFetcherThread.fetchOffsetAndTruncate; KAFKA-9491, KAFKA-12996.
    """

    deletions = Constant(1, at_least=0)
    # KAFKA-9491 (2.4.1, 2.5.0), Log.updateLogStartOffset: the high watermark may stay below the log start.
    leaves_high_watermark = Constant(False)
    # KAFKA-12996 (2.7.2, 2.8.1, 3.0.0), Partition.readRecords: below the log start the leader looks for divergence
    # first. The follower cannot use that answer, and its fetcher gives the partition up.
    diverges_below_start = Constant(False)

    log_start = Map(Replica, Offset)
    deletions_left = Range(0, "deletions")
    out_of_range = SetOf(Replica)  # followers with the error OFFSET_OUT_OF_RANGE in flight
    failed = SetOf(Replica)  # followers whose fetcher has given the partition up

    # The model forgets that a deleted record was acknowledged, and keeps it in the log as a place.
    draws = DRAWING.with_events(
        Event("leader_delete_records", "{leader} deletes its committed records below offset {start}", "delete records",
            "leader", leaves_out=("acked",)),
        Event("follower_start_at_log_start", "{follower}, which is out of range, deletes its log and starts at offset "
            "{log_start[leader[follower]]}, the log start of {leader[follower]}", leaves_out=("log",)),
    )  # fmt: skip

    def init(self):
        """Start with complete logs."""
        super().init()
        self.deletions_left = self.deletions

    @action
    def leader_delete_records(self, leader: Replica, start: Offset):
        """A leader deletes committed records, with the epochs that end before the new start."""
        require(self.deletions_left > 0)
        require(self.leads(leader))
        require(self.log_start[leader] < start and start <= self.high_watermark[leader])
        self.deletions_left -= 1
        for record in self.log[leader][:start]:
            self.acked.discard(record.id)
        self.log_start[leader] = start
        first = self.epoch_at(leader, start)
        self.epoch_starts[leader] = [
            EpochStart(epoch=found.epoch, start=max(found.start, start))
            for found in self.epoch_starts[leader]
            if found.start > start or found.epoch == first
        ]

    @action
    def leader_handle_fetch(self, follower: Replica):
        """A leader rejects a fetch below its log start."""
        request = self.fetches[follower]
        require(request is not None)
        leader = request.leader
        if request.offset >= self.log_start[leader]:
            super().leader_handle_fetch(follower)
        else:
            require(self.leads(leader))
            require(not self.fences_fetches or request.leader_epoch == self.leader_epoch[leader])
            self.fetches[follower] = None
            if self.follows(follower) and self.leader[follower] == leader and self.is_waiting(follower, request):
                if self.diverges_below_start and self.diverging(leader, request) is not None:
                    self.failed.add(follower)
                else:
                    self.out_of_range.add(follower)

    @action
    def follower_start_at_log_start(self, follower: Replica):
        """A follower that is out of range deletes its log and starts at its leader's log start.

        ListOffsets carries the leader epoch, as a fetch does.
        """
        require(follower in self.out_of_range)
        leader = self.leader[follower]
        require(self.leads(leader) and self.leader_epoch[leader] == self.leader_epoch[follower])
        self.out_of_range.discard(follower)
        start = self.log_start[leader]
        if start > len(self.log[follower]):
            self.log[follower] = self.log[leader][:start]
            self.epoch_starts[follower] = []
            self.log_start[follower] = start
            if not self.leaves_high_watermark:
                self.high_watermark[follower] = start

    @action
    def follower_fetch(self, follower: Replica):
        """A follower fetches while its fetcher is active and it is not out of range."""
        require(follower not in self.out_of_range and follower not in self.failed)
        super().follower_fetch(follower)

    def stop_fetching(self, replica):
        """Drop a follower's messages in flight; a new epoch starts its fetcher again."""
        super().stop_fetching(replica)
        self.out_of_range.discard(replica)
        self.failed.discard(replica)

    def agree_at(self, one: Replica, other: Replica, offset: int):
        """Return whether two replicas have the same record at an offset, or one of them has deleted it."""
        return offset < self.log_start[one] or offset < self.log_start[other] or super().agree_at(one, other, offset)

    def truncate(self, replica, offset):
        """Truncate a log; below its start nothing is left of it."""
        super().truncate(replica, offset)
        self.log_start[replica] = min(self.log_start[replica], offset)

    @invariant(
        says="the log of {replica} starts at {self.log_start[replica]}, and its high watermark is "
        "{self.high_watermark[replica]}"
    )
    def high_watermark_is_in_the_log(self):
        """The high watermark is not below the log start."""
        return all(self.log_start[replica] <= self.high_watermark[replica] for replica in Replica)

    @invariant(says="the fetcher of {follower} has given the partition up")
    def fetchers_are_active(self):
        """No follower stops to fetch because of what its leader answered."""
        return all(follower not in self.failed for follower in Replica)

    def cache_matches_the_log(self):
        """For each record that is not deleted the cache has the epoch in which it was appended."""
        return all(
            epoch == self.log[replica][offset].epoch
            for replica in Replica
            for offset in range(self.log_start[replica], len(self.log[replica]))
            for epoch in [self.epoch_at(replica, offset)]
        )

    @reachable
    def follower_starts_at_the_log_start(self):
        """If records are deleted, a follower starts at its leader's log start."""
        return self.deletions == 0 or any(
            self.log_start[follower] > 0 and self.leader[follower] != follower for follower in Replica
        )


BEHIND = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1, max_partition_epoch=3)
"""The follower lags and leaves the ISR; its leader commits alone and deletes."""

DIVERGED = dict(replicas=2, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=5, crashes=2) | dict(
    unclean_elections=True, late_requests=False
)
"""A replica that has fetched nothing leads for a moment, after an unclean election."""

KEPT = ["follower_starts_at_the_log_start", "cache_matches_the_log", "counted_followers_agree"]

scenarios = [
    Bug("r22_high_watermark_below_log_start", LogStart, violates={"high_watermark_is_in_the_log": 9}, size=BEHIND,
        larger=dict(BEHIND, log_size=2, max_records=2, max_leader_epoch=2, max_partition_epoch=5, deletions=2),
        faulty=dict(leaves_high_watermark=True),
        promises=["high_watermark_is_in_the_log", "no_acked_loss", "strong_isr", *KEPT],
        description="KAFKA-9491: a follower that starts at its leader's log start keeps its old high watermark.",
        remedy="KAFKA-9491: the high watermark is raised to the new log start."),
    Bug("r23_diverges_below_log_start", LogStart, violates={"fetchers_are_active": 16}, size=DIVERGED,
        larger=dict(DIVERGED, max_records=3, deletions=2), faulty=dict(diverges_below_start=True),
        promises=["fetchers_are_active", "high_watermark_is_in_the_log", *KEPT],
        description="KAFKA-12996: a follower below the log start is told that its log diverges, and stops to fetch.",
        remedy="KAFKA-12996: a fetch below the log start is out of range, whatever its epoch is."),
]  # fmt: skip
