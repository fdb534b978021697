"""Up to where a consumer reads, from the leader or from a follower: the high watermark, and whose.

Scenarios: "Reading from a follower" of docs/consumer.md.
Sources: KIP-392; Partition.fetchRecords, UnifiedLog.read (FetchIsolation), ReplicaManager.findPreferredReadReplica and
FetchCollector.handleInitializeErrors of Apache Kafka.
"""

from checker.language import (
    Arrow,
    Constant,
    Drawing,
    Lane,
    Log,
    Range,
    Scenario,
    Seq,
    Spec,
    action,
    invariant,
    reachable,
    require,
)


class Offset(Range):
    """An offset, or the end of the log."""

    low, high = 0, "records"


class FetchFromFollower(Spec):
    """A leader, a follower that lags and may fall out of the ISR, a consumer that the leader sends to the follower.

    `reads_to` says what a replica returns to consumers: what is below its "high_watermark", as Kafka, or what is in its
    log ("log_end"). `selects` says when the leader names the follower: while it is "in_sync" and has the offset asked
    for, as Kafka, or "any" time. `out_of_range_at_follower` says what the client does where the follower's log ends
    before its position: "asks_leader" forgets the preferred replica, as Kafka's, "resets" goes to the end (latest).
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
        Lane(
            "consumer",
            logs=(Log("returned", end="", colour=".", called=("record",), at=()),),
            facts={"position": "position", "prefers_follower": "reads from the follower"},
        ),
        arrows=(
            Arrow("follower_fetch", "'leader'", "'follower'"),
            Arrow("fetch_from_leader", "'leader'", "'consumer'", "record {leader_log[position]}"),
            Arrow("fetch_from_follower", "'follower'", "'consumer'", "record {follower_log[position]}"),
            Arrow("fetch_out_of_range", "'follower'", "'consumer'", "out of range"),
        ),
    )

    def init(self):
        """Everything is empty, the follower in the ISR."""
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

        Its fetch says what it has, not what it is about to get: its next one makes that committed. The answer has the
        high watermark from before the fetch (Partition.fetchRecords): the follower's trails.
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
        """The follower has lagged for replica.lag.time.max.ms; the leader alone decides what is committed."""
        require(len(self.follower_log) < len(self.leader_log))
        self.in_sync = False
        self.leader_high_watermark = len(self.leader_log)

    @action
    def fail_over(self):
        """The leader dies; the follower leads, with its own high watermark, and its old leader follows it."""
        require(self.failovers_left > 0 and self.in_sync)
        self.failovers_left -= 1
        self.leader_log = self.follower_log
        self.leader_high_watermark = self.follower_high_watermark
        self.prefers_follower = False

    @action
    def prefer_follower(self):
        """The leader names the follower, which is in the consumer's rack. Source: findPreferredReadReplica."""
        require(not self.prefers_follower)
        require(self.selects == "any" or (self.in_sync and len(self.follower_log) >= self.position))
        self.prefers_follower = True

    @action
    def fetch_from_leader(self):
        """The consumer returns the next record that the leader lets it read."""
        require(not self.prefers_follower)
        end = self.leader_high_watermark if self.reads_to == "high_watermark" else len(self.leader_log)
        require(self.position < end)
        self.returned.append(self.leader_log[self.position])
        self.position += 1

    @action
    def fetch_from_follower(self):
        """The consumer returns the next record that the follower lets it read."""
        require(self.prefers_follower)
        end = self.follower_high_watermark if self.reads_to == "high_watermark" else len(self.follower_log)
        require(self.position < end)
        self.returned.append(self.follower_log[self.position])
        self.position += 1

    @action
    def fetch_out_of_range(self):
        """OFFSET_OUT_OF_RANGE: the follower's log ends before the position, which came from the leader."""
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
        """What was returned is in the log of whoever leads."""
        return all(record in self.leader_log for record in self.returned)

    @invariant(says="the leader has {self.leader_high_watermark}, the follower {self.follower_high_watermark}")
    def follower_trails(self):
        """The follower's high watermark is not beyond the leader's, nor beyond its own log."""
        return self.follower_high_watermark <= min(self.leader_high_watermark, len(self.follower_log))

    @reachable
    def every_record_is_returned(self):
        """All records are returned."""
        return len(self.returned) == self.records

    @reachable
    def follower_is_behind_the_consumer(self):
        """The follower may return less than the consumer has had from the leader."""
        return self.prefers_follower and self.position > self.follower_high_watermark


SAFE = ["no_gap", "no_duplicate", "reads_are_stable", "follower_trails", "every_record_is_returned"]

scenarios = [
    Scenario(
        FetchFromFollower,
        "high_watermark",
        properties=[*SAFE, "follower_is_behind_the_consumer"],
        description="Both replicas return records below their high watermark: no gap, no duplicate, no lost read.",
    ),
    Scenario(
        FetchFromFollower,
        "high_watermark_larger",
        dict(records=5, failovers=2),
        properties=[*SAFE, "follower_is_behind_the_consumer"],
        description="The same with five records and two failovers.",
    ),
    Scenario(
        FetchFromFollower,
        "log_end",
        dict(reads_to="log_end"),
        expect={"reads_are_stable": 4},
        properties=["reads_are_stable"],
        description="A leader that returns what is not committed: it dies, and what was read is gone.",
    ),
    Scenario(
        FetchFromFollower,
        "lagging_follower_resets",
        dict(selects="any", out_of_range_at_follower="resets", failovers=0),
        expect={"no_gap": 7},
        properties=["no_gap"],
        description="A follower that lags does not have the position; taking its word for the leader's skips records.",
    ),
    Scenario(
        FetchFromFollower,
        "lagging_follower_asks_leader",
        dict(selects="any"),
        properties=[*SAFE, "follower_is_behind_the_consumer"],
        description="The same where the client asks the leader then, as Kafka's does.",
    ),
    Scenario(
        FetchFromFollower,
        "lagging_follower_asks_leader_larger",
        dict(selects="any", records=5, failovers=2),
        properties=[*SAFE, "follower_is_behind_the_consumer"],
        description="The same with five records and two failovers.",
    ),
]
