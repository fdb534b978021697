"""The leader's producer state alone, under any request, restart, truncation and expiry.

Source: `ProducerStateManager`, `ProducerAppendInfo`, `UnifiedLog` of Apache Kafka (see `producer_state`).
"""

from checker.language import Bug, Constant, Map, Option, Scenario, Struct, action, invariant, lemma, reachable, require
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log
from specs.broker.producer_state import (
    Answer,
    Batch,
    Error,
    Offset,
    Partition,
    ProducerEpoch,
    ProducerState,
    RecordCount,
    Sequence,
)
from specs.scenario_forms import violates


class Verification(Struct):
    """`VerificationStateEntry`: the lowest sequence of a transaction's batches that wait for the coordinator."""

    epoch: ProducerEpoch
    sequence: Sequence
    shows = "e{epoch} s{sequence}"


class LeaderState(ProducerState):
    """A leader's producer state under every possible request, restart, truncation and expiry.

    Without state of the producer it accepts only sequence 0, as in 0.11. Later versions accept more, and the sequences
    are then not contiguous (`any_sequence_without_state`).
    """

    batches = Constant(1)
    log_size = Constant(3)
    cache_size = Constant(2)
    max_sequence = Constant(3)
    max_batch_records = Constant(2)
    no_state = Constant("full", one_of=("any", "never_held", "full", "unknown_producer_id"))
    restarts = Constant(False)
    truncations = Constant(False)
    expiry = Constant(False)
    markers = Constant(False)
    verification = Constant(False)

    answer = Answer
    verified = Map(Partition, Option(Verification))

    draws = Drawing(
        Lane("client", facts={"answer": "last answer"}),
        Lane("leader of", each=Partition, logs=(Log("log", colour="sequence", at=("offset", "o")),),
            boxes={"cached": "remembered batches"}, facts={"producer_epoch": "producer epoch",
            "forgotten": "batches before expiry", "verified": "verification"}),
        arrows=(Arrow("produce", "'client'", "partition", "batch s{sequence}, {records} record{'s'[:records - 1]}"),),
        item_labels={"log": "s{item.sequence}", "cached": "s{item.sequence}@{item.offset}"},
    ).with_events(
        Event("produce", "The client sends batch s{sequence}: sequence {sequence}, {records} record{'s'[:records - "
            "1]}, epoch {epoch}"),
        Event("restart",
            "The broker restarts; its log survives, but it remembers only what the snapshot at the end of the log has: "
                "the last {snapshot_batches} of up to {cache_size} batches", "restart: loads snapshot", kind="restart"),
        Event("truncate_to", "A new leader's log diverges at offset {end}: the log is truncated", "truncation"),
        Event("roll_segment", "The log rolls a segment, which starts with a snapshot", "snapshot", "partition"),
        Event("begin_verification", "A transaction's batch s{sequence} waits for the coordinator", "verify",
            "partition"),
        Event("expire_producer", "The leader forgets the producer, whose state expires", "expiry", "partition",
            "lost state"))  # fmt: skip

    @action
    def produce(self, partition: Partition, epoch: ProducerEpoch, sequence: Sequence, records: RecordCount):
        """A client sends a produce request with one batch: new, a retry, old or wrong."""
        batch = Batch(id=0, epoch=epoch, sequence=sequence, records=records)
        require(len(self.log[partition]) < self.log_size)
        end = len(self.log[partition])
        self.answer = self.append_from_client(partition, batch)
        if len(self.log[partition]) > end:
            self.verified[partition] = None

    def check(self, partition, batch):
        """Return the error of a batch; during verification only up to the lowest sequence seen (KAFKA-14920)."""
        if self.verified[partition] is not None and batch.sequence > self.verified[partition].sequence:
            return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        return super().check(partition, batch)

    @action
    def begin_verification(self, partition: Partition, epoch: ProducerEpoch, sequence: Sequence):
        """A transaction's first batch waits for the coordinator (`maybeCreateVerificationStateEntry`)."""
        require(self.verification)
        if self.is_lowest(partition, epoch, sequence):
            self.verified[partition] = Verification(epoch=epoch, sequence=sequence)

    def is_lowest(self, partition, epoch, sequence):
        """Return whether a sequence is the first, of a higher epoch, or lower than the one verified in its epoch."""
        if self.verified[partition] is None or epoch > self.verified[partition].epoch:
            return True
        return epoch == self.verified[partition].epoch and sequence < self.verified[partition].sequence

    @action
    def write_marker(self, partition: Partition, epoch: ProducerEpoch):
        """A transaction marker is appended; a higher epoch clears the cache. Source: `appendEndTxnMarker`."""
        require(self.markers)
        require(self.producer_epoch[partition] is None or self.producer_epoch[partition] <= epoch)
        if self.producer_epoch[partition] is None or self.producer_epoch[partition] != epoch:
            self.cached[partition].clear()
            self.producer_epoch[partition] = epoch

    @action
    def roll_segment(self, partition: Partition):
        """The log rolls a segment, which starts with a snapshot (`UnifiedLog.roll`)."""
        require(self.truncations)
        self.take_snapshot(partition)

    @action
    def restart(self, partition: Partition):
        """The broker restarts and loads a snapshot at the log's end, so that it replays nothing.

        A clean shutdown writes it (`UnifiedLog.close`), and so does recovery (`LogLoader.recoverSegment`).
        """
        require(self.restarts)
        self.take_snapshot(partition)
        self.reload(partition)

    @action
    def truncate_to(self, partition: Partition, end: Offset):
        """A new leader's log diverges at `end`, and the log is truncated."""
        require(self.truncations)
        require(end < len(self.log[partition]))
        self.truncate(partition, end)

    @action
    def expire_producer(self, partition: Partition):
        """`producer.id.expiration.ms` passes after the last batch."""
        require(self.expiry)
        require(self.producer_epoch[partition] is not None)
        self.forget(partition)

    @invariant(says="{p}: the batch at offset {o} does not continue the batch before it: {self.log[p]}")
    def sequences_contiguous(self):
        """Within an epoch each batch begins where the one before it ends, and an epoch begins at 0."""
        return all(self.follows(p, o) for p in Partition for o in range(len(self.log[p])))

    def follows(self, partition, offset):
        """Return whether the batch at `offset` continues its epoch, or begins it at 0."""
        batch = self.log[partition][offset]
        if offset == 0 or self.log[partition][offset - 1].epoch != batch.epoch:
            return batch.sequence == 0
        before = self.log[partition][offset - 1]
        return batch.sequence == self.sequence_after(before.sequence, before.records)

    @invariant(says="{p} caches {c}, and its log is {self.log[p]}")
    def cache_names_the_log(self):
        """A cached batch is in the log, with its sequence and at its offset."""
        return all(
            c.offset < len(self.log[p])
            and self.log[p][c.offset].sequence == c.sequence
            and self.log[p][c.offset].records == c.records
            for p in Partition
            for c in self.cached[p]
        )

    @invariant(
        says="{p} would not recognise a retry of batch s{self.log[p][o].sequence} at offset {o}: "
        "it remembers {self.cached[p]} only"
    )
    def retries_recognised(self):
        """A retry of each of the last `cache_size` batches of the current epoch is answered as a duplicate."""
        return all(
            self.is_duplicate(p, self.log[p][o]) or self.is_past(p, self.log[p][o].epoch)
            for p in Partition
            for o in range(max(len(self.log[p]) - self.cache_size, 0), len(self.log[p]))
        )

    def is_past(self, partition, epoch):
        """Return whether the leader has a later epoch, so that it refuses a retry of this one."""
        return self.producer_epoch[partition] is not None and epoch < self.producer_epoch[partition]

    @invariant(says="{p}: a batch of an older epoch follows one of a newer epoch: {self.log[p]}")
    def epochs_never_go_back(self):
        """A fenced epoch appends nothing."""
        return all(
            self.log[p][o].epoch <= self.log[p][o + 1].epoch for p in Partition for o in range(len(self.log[p]) - 1)
        )

    @lemma
    def nothing_is_forgotten(self):
        """Without expiry, no batch is forgotten."""
        return self.expiry or all(self.forgotten[p] == 0 for p in Partition)

    @lemma
    def state_knows_end_of_log(self):
        """Without expiry, the state has the last batch of the log, or a marker's later epoch and no batch."""
        return self.expiry or all(self.knows_end_of_log(p) for p in Partition)

    def knows_end_of_log(self, partition):
        """Return whether the epoch is that of the last batch, which is the last one cached, or a later one."""
        end = len(self.log[partition])
        size = len(self.cached[partition])
        if end == 0:
            return size == 0
        if self.producer_epoch[partition] == self.log[partition][end - 1].epoch:
            return size > 0 and self.cached[partition][size - 1].offset == end - 1
        return (
            self.producer_epoch[partition] is not None
            and self.producer_epoch[partition] > self.log[partition][end - 1].epoch
            and size == 0
        )

    @lemma
    def cache_is_end_of_log(self):
        """With appends and complete reloads only, the state has the last batches of the log."""
        return self.may_lose_state() or all(self.caches_end_of_log(p) for p in Partition)

    def may_lose_state(self):
        """Return whether the constants allow more than appends and reloads of the whole cache."""
        reloads = self.restarts or self.truncations
        return (reloads and self.snapshot_batches < self.cache_size) or self.expiry or self.markers or self.verification

    def caches_end_of_log(self, partition):
        """Return whether the last batches of the current epoch are cached, each with its offset."""
        end = len(self.log[partition])
        size = len(self.cached[partition])
        if end == 0 or self.verified[partition] is not None:
            return self.producer_epoch[partition] is None and size == 0 and self.verified[partition] is None
        return (
            self.producer_epoch[partition] == self.log[partition][end - 1].epoch
            and size == min(self.cache_size, self.batches_of_epoch(partition))
            and all(self.cached[partition][i].offset == end - size + i for i in range(size))
        )

    def batches_of_epoch(self, partition):
        """Return the number of batches of the current epoch in the log."""
        return sum(1 for b in self.log[partition] if b.epoch == self.producer_epoch[partition])

    @reachable
    def sequence_wrapped_inside_a_batch(self):
        """A batch has the last sequence and the first."""
        return any(b.sequence == self.max_sequence and b.records == 2 for p in Partition for b in self.log[p])

    @reachable
    def duplicate_answered(self):
        """A request is answered with the offset of a batch that is not the last one."""
        return any(self.answer.offset is not None and self.answer.offset + 1 < len(self.log[p]) for p in Partition)


class FollowerState(LeaderState):
    """A follower's producer state: batches come from the leader without checks (`AppendOrigin.REPLICATION`)."""

    @action
    def produce(self, partition: Partition, epoch: ProducerEpoch, sequence: Sequence, records: RecordCount):
        """The follower appends the next batch of the leader's log, with any sequence."""
        batch = Batch(id=0, epoch=epoch, sequence=sequence, records=records)
        require(len(self.log[partition]) < self.log_size)
        self.append_unchecked(partition, batch)

    duplicate_answered = None
    cache_is_end_of_log = None


scenarios = [
    Scenario(LeaderState, "requests",
        description="Any requests, sequence 0 first (0.11): the log has one copy of each, in sequence."),
    Scenario(LeaderState, "markers_and_verification", dict(markers=True, verification=True),
        properties=["sequences_contiguous", "cache_names_the_log", "epochs_never_go_back"],
        description="Transaction markers and verification: sequences and epochs stay in order."),
    Scenario(LeaderState, "any_sequence_without_state", dict(no_state="any"), expect={"sequences_contiguous": 2},
        description="Without state, Kafka 2.5 to 4.4 takes any sequence: the log begins in the middle (I2)."),
    Bug("i7_restart", LeaderState, {"retries_recognised": 4}, size=dict(restarts=True), fixed=dict(snapshot_batches=2),
        fixed_name="i7_restart_whole_cache",
        description="Two batches, a restart: the snapshot at the end of the log keeps only the second, so that the "
        "leader does not recognise a retry of the first. It answers OUT_OF_ORDER_SEQUENCE_NUMBER, and the client may "
        "then send the records again under a new epoch (docs/idempotence.md).",
        remedy="I7 with a snapshot that holds the whole cache, after a restart."),
    Bug("i7_truncation", LeaderState, {"retries_recognised": 6}, size=dict(truncations=True),
        fixed=dict(restarts=True, snapshot_batches=2), fixed_name="i7_truncation_whole_cache",
        description="Two batches, a segment roll, a third batch that is truncated: the reload leaves the second only.",
        remedy="I7 with a snapshot that holds the whole cache, after a truncation."),
    Scenario(LeaderState, "i13_expiry", dict(expiry=True),
        expect={"retries_recognised": 3, "sequences_contiguous": 4, "epochs_never_go_back": 4},
        description="The state expires; a retry of the appended batch is new to the leader, which appends it again "
        "(I13)."),
    violates(LeaderState, "expiry_forgets_fencing", dict(expiry=True), {"epochs_never_go_back": 4},
        "A batch of epoch 1, expiry, a batch of epoch 0: without state the leader takes a fenced epoch."),
    Scenario(LeaderState, "expiry", dict(expiry=True), properties=["cache_names_the_log"],
        description="Expiry loses the fencing, but every cached batch is in the log."),
    Scenario(FollowerState, "replication", dict(restarts=True, truncations=True, max_batch_records=1),
        properties=["cache_names_the_log"], description="A follower's cached batches are in its log."),
]  # fmt: skip
