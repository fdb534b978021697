"""The order of the first batches of a transaction while the leader verifies them with the coordinator (T10).

Sources: `VerificationStateEntry` (`maybeUpdateLowestSequenceAndEpoch`), `ProducerAppendInfo.checkSequence`,
`AddPartitionsToTxnManager` of Apache Kafka 3.9.1 and 4.3.1; KAFKA-14920.
"""

from checker.language import Bug, Constant, Option, Range, Seq, Spec, action, always_eventually, invariant, require
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log


class BatchSequence(Range):
    """The sequence of a batch of the transaction; each has one record."""

    low, high = 0, "batches - 1"


class VerifiedOrder(Spec):
    """A client sends the batches of a transaction in order, several in flight, and the leader has no state of it.

    The leader verifies each batch until one is appended. The coordinator may answer that it is loading: the batch is
    refused with a retriable error, and the client sends it again, as it does after an out-of-order error. The leader
    accepts any sequence while it has no state, which is the rule of transaction version 1; version 2 accepts only
    sequence 0 from 4.1 on (KAFKA-18202).
    """

    batches = Constant(2, at_least=1)
    max_in_flight = Constant(2, at_least=1)
    verification = Constant(True)
    """Whether the leader verifies batches with the coordinator (KIP-890, part 1)."""
    remembers_lowest = Constant(True)
    """Whether the leader remembers the lowest sequence that it has verified, and refuses higher ones (KAFKA-14920)."""

    log = Seq(BatchSequence, "batches")
    sent = Range(0, "batches")
    arrived = Seq(BatchSequence, "max_in_flight")
    lowest = Option(BatchSequence)

    draws = Drawing(
        Lane("client", facts={"sent": "batches sent"}),
        Lane("leader", logs=(Log("log"),), boxes={"arrived": "batches that wait"},
            facts={"lowest": "lowest sequence seen"}),
        Lane("coordinator"),
        arrows=(
            Arrow("send", "'client'", "'leader'", "the next batch"),
            Arrow("send_again", "'client'", "'leader'", "batch {sequence}"),
            Arrow("refuse_verification", "'coordinator'", "'leader'", "is loading: the batch is refused"),
            Arrow("append", "'coordinator'", "'leader'", "the batch is verified"),
        ),
    ).with_events(
        Event("send", "The client sends batch {sent}", "", "'leader'"),
        Event("send_again", "The client sends batch {sequence} again", "again", "'leader'"),
        Event("refuse_verification", "The coordinator loads: batch {arrived[0]} fails", "refused", "'leader'",
            "refusal"),
        Event("append", "Batch {sequence} is verified, and the leader {'takes it' if is_accepted(sequence) else "
            "'refuses it as out of order'}", "", "'leader'", "{'' if is_accepted(sequence) else 'refusal'}"),
    )  # fmt: skip

    @action(fair="weak")
    def send(self):
        """The client sends its next batch; a refused one is at the head of the queue, and goes first.

        Source: RecordAccumulator.drainBatchesForOneNode.
        """
        require(self.sent < self.batches)
        require(all(sequence in self.arrived or sequence in self.log for sequence in range(self.sent)))
        self.arrive(self.sent)
        self.sent += 1

    def arrive(self, sequence):
        """The batch reaches the leader, which has it verified if no batch is appended yet."""
        require(len(self.arrived) < self.max_in_flight)
        self.arrived.append(sequence)
        if len(self.log) == 0 and (self.lowest is None or sequence < self.lowest):
            self.lowest = sequence

    @action
    def refuse_verification(self):
        """The coordinator is loading: the batch that arrived first fails, and the client is going to send it again."""
        require(self.verification and len(self.arrived) > 0 and len(self.log) == 0)
        del self.arrived[0]

    @action(fair="strong", for_each="sequence")
    def send_again(self, sequence: BatchSequence):
        """The client sends a refused batch again."""
        require(sequence < self.sent and sequence not in self.arrived and sequence not in self.log)
        self.arrive(sequence)

    @action(fair="strong", for_each="sequence")
    def append(self, sequence: BatchSequence):
        """The coordinator confirms the transaction; the leader appends the batch or refuses it as out of order."""
        require(len(self.arrived) > 0 and self.arrived[0] == sequence)
        del self.arrived[0]
        if self.is_accepted(sequence):
            self.log.append(sequence)
            self.lowest = None

    def is_accepted(self, sequence):
        """Return whether the sequence is the next one; without state any one that is not above the lowest seen."""
        if len(self.log) == 0:
            return not self.remembers_lowest or self.lowest is None or sequence <= self.lowest
        return sequence == self.log[len(self.log) - 1] + 1

    @invariant(says="the log begins with batch {self.log[0]}")
    def begins_with_the_first(self):
        """The first batch of the log is the first that was sent."""
        return len(self.log) == 0 or self.log[0] == 0

    @always_eventually(says="the log stays {self.log}, and never gets the other batches")
    def every_batch_is_appended(self):
        """Every batch is appended."""
        return len(self.log) == self.batches


scenarios = [
    Bug("t10_verification_reorders", VerifiedOrder, {"begins_with_the_first": 5, "every_batch_is_appended": 5},
        larger=dict(batches=4, max_in_flight=3), faulty=dict(remembers_lowest=False),
        description="T10 (KAFKA-14920): the verification of the first batch fails, the second one is appended, and the "
        "first is out of order for ever.",
        remedy="T10 (3.6): the leader refuses sequences above the lowest one that it has seen."),
]  # fmt: skip
