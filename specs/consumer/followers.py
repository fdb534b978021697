"""Reads from the leader or from a follower (KIP-392), up to the high watermark of the replica.

Scenarios: entry "fetch" of docs/consumer.md.
Sources: KIP-392; Partition.fetchRecords, UnifiedLog.read (FetchIsolation), ReplicaManager.findPreferredReadReplica and
FetchCollector.handleInitializeErrors of Apache Kafka.
"""

from checker.language import Bug, Constant, Range, Seq, Spec, action, invariant, reachable, require
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log
from specs.consumer.consumer import Offset


class FetchFromFollower(Spec):
    """A leader, a follower that lags and may leave the ISR, and a consumer that the leader redirects to the follower.

    `reads_to`: a replica returns the records below its "high_watermark", as in Kafka, or its whole log ("log_end").
    `selects`: the leader redirects to the follower while it is "in_sync" and has the requested offset, as in Kafka, or
    at "any" time. `out_of_range_at_follower`: if the follower's log ends before the position, the client "asks_leader"
    (it clears the preferred replica, as in Kafka) or "resets" to the end (latest).
    """

    records = Constant(2, at_least=1)
    reads_to = Constant("high_watermark", one_of=("high_watermark", "log_end"))
    selects = Constant("in_sync", one_of=("in_sync", "any"))
    out_of_range_at_follower = Constant("asks_leader", one_of=("asks_leader", "resets"))
    failovers = Constant(1, at_least=0)

    produced = Offset
    leader_log = Seq(Offset, "records")
    follower_log = Seq(Offset, "records")
    leader_high_watermark = Offset
    follower_high_watermark = Offset
    in_sync = bool  # the follower is in the ISR
    prefers_follower = bool
    position = Offset
    returned = Seq(Offset, "records * (failovers + 1)")
    failovers_left = Range(0, "failovers")

    draws = Drawing(
        Lane("leader", logs=(Log("leader_log", markers={"leader_high_watermark": "HW"}, colour="."),)),
        Lane("follower", logs=(Log("follower_log", markers={"follower_high_watermark": "HW"}, colour="."),)),
        Lane("consumer", logs=(Log("returned", end="", colour=".", called=("record",), at=()),),
            facts={"position": "position", "prefers_follower": "reads from the follower"}),
        arrows=(
            Arrow("follower_fetch", "'leader'", "'follower'"),
            Arrow("fetch_from_leader", "'leader'", "'consumer'", "record {leader_log[position]}"),
            Arrow("fetch_from_follower", "'follower'", "'consumer'", "record {follower_log[position]}"),
            Arrow("fetch_out_of_range", "'follower'", "'consumer'", "out of range"),
        ),
    ).with_events(
        Event("fail_over", "The leader dies, and the follower leads with what it has", "failover", "'follower'",
            "election"))  # fmt: skip

    def init(self):
        """Both logs are empty, and the follower is in the ISR."""
        self.in_sync = True
        self.failovers_left = self.failovers

    @action
    def produce(self):
        """The leader appends the next record."""
        require(self.produced < self.records)
        self.leader_log.append(self.produced)
        self.produced += 1

    @action
    def follower_fetch(self):
        """The follower appends the next record, if any, and learns the leader's high watermark.

        A fetch acknowledges the records that the follower has; its next fetch acknowledges the records of this
        response. The response carries the high watermark from before the fetch (Partition.fetchRecords), so that the
        follower's high watermark trails.
        """
        end = len(self.follower_log)
        known = self.leader_high_watermark
        self.in_sync = self.in_sync or end >= self.leader_high_watermark
        if self.in_sync:
            self.leader_high_watermark = max(self.leader_high_watermark, end)
        if end < len(self.leader_log):
            self.follower_log.append(self.leader_log[end])
        self.follower_high_watermark = max(self.follower_high_watermark, min(known, len(self.follower_log)))

    @action
    def shrink_isr(self):
        """The follower has lagged for replica.lag.time.max.ms; only the leader remains in the ISR."""
        require(len(self.follower_log) < len(self.leader_log))
        self.in_sync = False
        self.leader_high_watermark = len(self.leader_log)

    @action
    def fail_over(self):
        """The leader dies; the follower leads with its high watermark, and the old leader becomes its follower."""
        require(self.failovers_left > 0 and self.in_sync)
        self.failovers_left -= 1
        self.leader_log = self.follower_log
        self.leader_high_watermark = self.follower_high_watermark
        self.prefers_follower = False

    @action
    def prefer_follower(self):
        """The leader redirects to the follower in the consumer's rack. Source: findPreferredReadReplica."""
        require(not self.prefers_follower)
        require(self.selects == "any" or (self.in_sync and len(self.follower_log) >= self.position))
        self.prefers_follower = True

    @action
    def fetch_from_leader(self):
        """The consumer fetches the next record from the leader."""
        require(not self.prefers_follower)
        self.fetch(self.leader_log, self.leader_high_watermark)

    @action
    def fetch_from_follower(self):
        """The consumer fetches the next record from the follower."""
        require(self.prefers_follower)
        self.fetch(self.follower_log, self.follower_high_watermark)

    def fetch(self, log, high_watermark):
        """Return the next record of a replica's log, if the replica allows to read it."""
        end = high_watermark if self.reads_to == "high_watermark" else len(log)
        require(self.position < end)
        self.returned.append(log[self.position])
        self.position += 1

    @action
    def fetch_out_of_range(self):
        """OFFSET_OUT_OF_RANGE: the follower's log ends before the position that the leader had allowed."""
        require(self.prefers_follower)
        require(self.position > len(self.follower_log))
        if self.out_of_range_at_follower == "asks_leader":
            self.prefers_follower = False
        else:
            self.position = self.leader_high_watermark

    # Properties.

    @invariant(says="record {record} is skipped: position {self.position}, returned {self.returned}")
    def no_gap(self):
        """Every record of the leader's log below the position was returned."""
        return all(record in self.returned for record in self.leader_log[: self.position])

    @invariant(says="record {record} is returned {self.returned.count(record)} times: {self.returned}")
    def no_duplicate(self):
        """No record is returned twice."""
        return all(self.returned.count(record) <= 1 for record in self.returned)

    @invariant(says="record {record} was returned, the leader's log is {self.leader_log}")
    def reads_are_stable(self):
        """Every returned record is in the log of the current leader."""
        return all(record in self.leader_log for record in self.returned)

    @invariant(says="the leader has {self.leader_high_watermark}, the follower {self.follower_high_watermark}")
    def follower_trails(self):
        """The follower's high watermark is at most the leader's, and at most the end of its own log."""
        return self.follower_high_watermark <= min(self.leader_high_watermark, len(self.follower_log))

    @reachable
    def every_record_is_returned(self):
        """All records are returned."""
        return len(self.returned) == self.records

    @reachable
    def follower_is_behind_the_consumer(self):
        """The follower's high watermark is below the position that the consumer reached at the leader."""
        return self.prefers_follower and self.position > self.follower_high_watermark


SAFE = ["no_gap", "no_duplicate", "reads_are_stable", "follower_trails", "every_record_is_returned",
    "follower_is_behind_the_consumer"]  # fmt: skip
LARGER = dict(records=5, failovers=2)

scenarios = [
    Bug("log_end", FetchFromFollower, violates={"reads_are_stable": 4}, faulty=dict(reads_to="log_end"), larger=LARGER,
        promises=SAFE, fixed_name="high_watermark",
        description="The leader returns uncommitted records and dies: a record that was read is lost.",
        remedy="Both replicas return records below their high watermark: no gap, no duplicate, no lost read."),
    Bug("lagging_follower_resets", FetchFromFollower, violates={"no_gap": 7}, size=dict(selects="any"),
        faulty=dict(out_of_range_at_follower="resets", failovers=0), larger=dict(LARGER, selects="any"), promises=SAFE,
        fixed_name="lagging_follower_asks_leader",
        description="A lagging follower does not have the position; a client that resets its offset skips records.",
        remedy="A lagging follower does not have the position; the client asks the leader, as in Kafka."),
]  # fmt: skip
