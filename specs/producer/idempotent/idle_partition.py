"""Epoch bumps and idle partitions of an idempotent producer that sends for ever (I6, KAFKA-12152).

`stale_sequences` finds the bug with numbered batches, whose number is bounded, so its bumps end. Here a batch is only
what the rules read of it, and the application sends without end: the bumps never end either.

Sources: TransactionManager.bumpIdempotentProducerEpoch, handleCompletedBatch and handleFailedBatch of Apache Kafka 2.6
and 2.8; `specs.broker.sequence_check`: a batch of a new epoch must begin with sequence 0.
"""

from checker.language import Bug, Constant, Drawing, Enum, Event, Lane, Map, Range, SetOf, Spec
from checker.language.roles import action, eventually_always, leads_to, require
from specs.producer.values import Partition


class Batch(Enum):
    """The state of a partition's batch. STALE: it has the epoch before the last bump, and the broker takes it."""

    NONE = "none"
    SENT = "sent"
    STALE = "stale"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    TO_RETRY = "to retry"


class IdlePartition(Spec):
    """A producer bumps its epoch because of one partition, and has to reset the sequences of the others."""

    partitions = Constant(2, at_least=1)
    rejections = Constant(1, at_least=0)
    resets_idle = Constant(True)
    """Whether a bump also resets the sequences of partitions without a batch in flight: since 2.7.1 and 2.8."""

    batch = Map(Partition, Batch)
    begins = Map(Partition, bool)  # the batch in flight has sequence 0
    is_behind = Map(Partition, bool)  # the broker has no batch of the producer's epoch
    next_is_zero = Map(Partition, bool)
    due = SetOf(Partition)  # partitions that request an epoch bump
    rejections_left = Range(0, "rejections")

    draws = Drawing(
        Lane("producer", boxes={"due": "epoch bump due for"}),
        Lane("partition", each=Partition, facts={"batch": "batch", "is_behind": "no batch of this epoch"}),
    ).with_events(
        Event("init", "Each partition has an acknowledged batch"),
        Event("reject", "The broker rejects the batch of {partition} permanently", "rejects", "partition", "refusal"),
    )  # fmt: skip

    def init(self):
        """Each partition has an acknowledged batch."""
        self.rejections_left = self.rejections

    @action(fair="weak")
    def send(self, partition: Partition):
        """The application sends, and the sender drains the batch; a due bump comes first."""
        require(self.batch[partition] == Batch.NONE and len(self.due) == 0)
        self.batch[partition] = Batch.SENT
        self.begins[partition] = self.next_is_zero[partition]
        self.next_is_zero[partition] = False

    @action(fair="weak")
    def send_again(self, partition: Partition):
        """The sender sends a refused batch again, under its present identity."""
        require(self.batch[partition] == Batch.TO_RETRY and len(self.due) == 0)
        self.batch[partition] = Batch.SENT

    @action(fair="weak")
    def handle(self, partition: Partition):
        """The broker appends a batch, or answers OUT_OF_ORDER_SEQUENCE_NUMBER if a new epoch begins above 0."""
        require(self.batch[partition] == Batch.SENT)
        if self.will_be_accepted(partition):
            self.batch[partition] = Batch.ACCEPTED
            self.is_behind[partition] = False
        else:
            self.batch[partition] = Batch.REFUSED

    def will_be_accepted(self, partition):
        """Return whether the broker appends or has appended the batch in flight: it begins or continues an epoch."""
        if self.batch[partition] == Batch.SENT:
            return self.begins[partition] or not self.is_behind[partition]
        return self.batch[partition] == Batch.ACCEPTED

    @action(fair="weak")
    def handle_stale(self, partition: Partition):
        """A batch of the former epoch completes, and the client resets the sequences of the partition."""
        require(self.batch[partition] == Batch.STALE)
        self.batch[partition] = Batch.NONE
        self.next_is_zero[partition] = True

    @action(fair="weak")
    def receive(self, partition: Partition):
        """The client reads the response: the batch is complete, or requests a bump and is sent again."""
        require(self.batch[partition] == Batch.ACCEPTED or self.batch[partition] == Batch.REFUSED)
        if self.batch[partition] == Batch.ACCEPTED:
            self.batch[partition] = Batch.NONE
        else:
            self.batch[partition] = Batch.TO_RETRY
            self.due.add(partition)

    @action
    def reject(self, partition: Partition):
        """The broker rejects a batch permanently: it fails, and requests a bump."""
        require(self.rejections_left > 0 and self.batch[partition] == Batch.SENT)
        self.rejections_left -= 1
        self.batch[partition] = Batch.NONE
        self.due.add(partition)

    @action(fair="weak")
    def bump_epoch(self):
        """The producer bumps its epoch; partitions that requested the bump begin at sequence 0."""
        require(len(self.due) > 0)
        for partition in Partition:
            if partition in self.due:
                self.begins[partition] = self.batch[partition] == Batch.TO_RETRY
                self.next_is_zero[partition] = self.batch[partition] == Batch.NONE
            elif self.will_be_accepted(partition):
                self.batch[partition] = Batch.STALE
            elif self.resets_idle and self.batch[partition] == Batch.NONE:
                self.next_is_zero[partition] = True
            self.is_behind[partition] = True
        self.due.clear()

    @eventually_always(says="the producer bumps its epoch for ever")
    def bumps_end(self):
        """No bump is due any more."""
        return len(self.due) == 0

    def is_incomplete(self, partition):
        """Return whether a partition has a batch."""
        return self.batch[partition] != Batch.NONE

    @leads_to("is_incomplete", says="the batch of partition {partition} is never completed")
    def batch_is_completed(self, partition: Partition):
        """Every batch is appended, or it fails."""
        return self.batch[partition] == Batch.NONE


scenarios = [
    Bug("bumps_never_end", IdlePartition, {"bumps_end": 5}, faulty=dict(resets_idle=False),
        larger=dict(partitions=3, rejections=2), fixed_name="bumps_end_after_reset",
        description="I6: every batch is completed, and every batch costs an epoch, as long as partitions take turns.",
        remedy="I6 since 2.7.1 and 2.8: the other partitions also begin at sequence 0, and no further bump follows."),
]  # fmt: skip
