"""Appends after a failed write (KAFKA-10778): entry R17 of docs/replication.md."""

from checker.language import Bug, Constant, Domain, Map, Range, Seq, SetOf, Spec, Struct
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log
from checker.language.roles import action, invariant, reachable, require


class Replica(Domain):
    """A broker with a copy of the partition; the first one leads at first."""

    size, prefix = 2, "b"


class RecordId(Range):
    """A record, numbered in the order in which the producer sends them."""

    low, high = 0, "records - 1"


class Batch(Struct):
    """A batch in a log file: a record and its offset."""

    id: RecordId
    offset: RecordId
    shows = "r{id} at {offset}"


class FailedWrites(Spec):
    """A leader whose write fails after the bytes have reached the file, before the log end offset was advanced.

    The broker takes the log directory offline, but some time later. Up to Kafka 2.7 the leader accepted appends in the
    meantime. The next batch then has the offset of the failed one, and lies behind it in the file. A follower that
    fetches this offset finds the failed batch first, and its next fetch counts for the batch that the leader has in
    mind. A fetch returns one batch here. If it returned both, the follower would reject them, since their offsets do
    not rise (UnifiedLog.analyzeAndValidateRecords).

    Source: KAFKA-10778; Log.append and maybeHandleIOException, LogSegment.read, LogDirFailureChannel.
    """

    records = Constant(2, at_least=1)
    failures = Constant(1, at_least=0)  # the number of writes that may fail
    rejects_after_failure = Constant(True)  # KAFKA-10778 (2.8): the log rejects appends after a failed write

    file = Map(Replica, Seq(Batch, "records"))
    end = Map(Replica, Range(0, "records"))  # the log end offset
    has_failed = bool  # a write of the leader has failed
    leader = Replica
    sent = Range(0, "records")  # records that the producer has sent
    waiting = Seq(RecordId, "records")  # the records that the leader has appended, by offset
    acked = SetOf(RecordId)

    draws = Drawing(
        Lane("producer", boxes={"acked": "acknowledged"}),
        Lane("partition", crowned={"leader": "leader"}),
        Lane("broker", each=Replica, logs=(Log("file", end=""),), facts={"end": "log end offset"}),
        arrows=(Arrow("leader_append", "'producer'", "leader", "record r{sent}"),
            Arrow("leader_write_fails", "'producer'", "leader", "record r{sent}"),
            Arrow("leader_acknowledge", "leader", "'producer'", "acknowledges r{waiting[len(acked)]}")),
        item_labels={"file": "r{item.id}"},
    ).with_events(
        Event("leader_append",
            "{leader} appends record r{sent} at {'the same ' * has_failed}offset {end[leader]}{', behind the record of "
                "the failed write' * has_failed}", at="leader", leaves_out=("file",)),
        Event("leader_write_fails",
            "The append of record r{sent} to {leader} fails with an I/O error after its bytes were written at offset "
                "{end[leader]}, and the producer gets an error", "write fails", "leader", "refusal", ("file",)),
        Event("follower_fetch",
            "b2 fetches from its log end offset, and gets the first batch that the file of {leader} has there"),
        Event("leader_acknowledge", "The next fetch of b2 is past offset {len(acked)}, and {leader} acknowledges "
            "r{waiting[len(acked)]}", at="leader", leaves_out=("acked",)),
        Event("leader_directory_goes_offline", "{leader} takes its log directory offline, and b2 is elected",
            "disk offline", "leader", "crash", ("leader",)),
    )  # fmt: skip

    @action
    def leader_append(self):
        """The leader appends a record at its log end offset."""
        require(self.leader == Replica[0] and self.sent < self.records)
        require(not (self.has_failed and self.rejects_after_failure))
        self.write()
        self.end[Replica[0]] += 1
        self.waiting.append(self.sent - 1)

    @action
    def leader_write_fails(self):
        """The bytes of a record are in the file, and the append fails with an I/O error: its producer gets an error."""
        require(self.leader == Replica[0] and self.sent < self.records)
        require(not self.has_failed and self.failures > 0)
        self.write()
        self.has_failed = True

    def write(self):
        """Write the next record behind the last batch of the leader's file."""
        self.file[Replica[0]].append(Batch(id=self.sent, offset=self.end[Replica[0]]))
        self.sent += 1

    @action
    def follower_fetch(self):
        """The follower gets the first batch in the leader's file with the offset that it asks for."""
        require(self.leader == Replica[0])
        offset = self.end[Replica[1]]
        require(offset < self.end[Replica[0]])
        found = [batch for batch in self.file[Replica[0]] if batch.offset == offset]
        self.file[Replica[1]].append(found[0])
        self.end[Replica[1]] += 1

    @action
    def leader_acknowledge(self):
        """The follower's next fetch shows that it is past an offset: the leader answers the append with this offset."""
        require(self.leader == Replica[0] and len(self.acked) < self.end[Replica[1]])
        self.acked.add(self.waiting[len(self.acked)])

    @action
    def leader_directory_goes_offline(self):
        """The broker takes the log directory offline, and the follower leads."""
        require(self.leader == Replica[0] and self.has_failed)
        self.leader = Replica[1]

    @invariant(says="r{record} was acknowledged, and the file of the leader {self.leader} is {self.file[self.leader]}")
    def no_acked_loss(self):
        """The leader has every acknowledged record."""
        return all(any(batch.id == record for batch in self.file[self.leader]) for record in self.acked)

    @reachable
    def record_is_acknowledged(self):
        """A record is acknowledged."""
        return len(self.acked) > 0

    @reachable
    def follower_leads(self):
        """If a write may fail, the follower leads afterwards."""
        return self.failures == 0 or self.leader == Replica[1]


scenarios = [
    Bug("r17_appends_after_a_failed_write", FailedWrites, violates={"no_acked_loss": 6}, larger=dict(records=4),
        faulty=dict(rejects_after_failure=False),
        description="KAFKA-10778: an append after a failed write gets the offset of the failed one, and the follower "
            "copies the wrong batch.", remedy="KAFKA-10778: a log rejects every append after a failed write."),
]  # fmt: skip
