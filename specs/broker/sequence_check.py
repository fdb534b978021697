"""The broker's sequence check alone, on the circle of sequences (catalogue I12)."""

from checker.language import Constant, Scenario, action, invariant, reachable
from specs.broker.producer_state import Batch, CachedBatch, Error, Partition, ProducerState, RecordCount, Sequence


class SequenceCheck(ProducerState):
    """A leader with any last batch, and a request with a sequence any distance after the next one.

    `python -m checker prove broker/sequence_check --set max_sequence=2147483647 --set max_batch_records=2147483647`
    proves it for all of Kafka's sequences; the explorer takes small circles.

    Source: `ProducerAppendInfo.checkSequence` and `inSequence` of Apache Kafka, `DefaultRecordBatch.incrementSequence`.
    """

    batches = Constant(1)
    log_size = Constant(1)
    cache_size = Constant(1)
    max_epoch = Constant(0)
    max_sequence = Constant(5)
    max_batch_records = Constant(2)

    ahead = Sequence
    sequence = Sequence
    answer = Error

    @action
    def ask(self, partition: Partition, last: Sequence, records: RecordCount, ahead: Sequence, asked: RecordCount):
        """The last batch has `records` records from sequence `last`; a request is `ahead` after its end."""
        self.producer_epoch[partition] = 0
        self.cached[partition] = [CachedBatch(sequence=last, records=records, offset=0)]
        self.ahead = ahead
        self.sequence = self.sequence_after(self.sequence_after(last, records), ahead)
        self.answer = self.check(partition, Batch(id=0, epoch=0, sequence=self.sequence, records=asked))

    @invariant(says="sequence {self.sequence} after {self.cached}: {self.answer}")
    def next_sequence_alone_is_taken(self):
        """The request is accepted if its sequence is the next one, and refused otherwise."""
        return (self.answer == Error.NONE) == (self.ahead == 0)

    @reachable
    def taken_after_the_wrap(self):
        """The next sequence is 0, and the request is accepted."""
        return any(self.answer == Error.NONE and self.sequence == 0 and len(self.cached[p]) > 0 for p in Partition)


class PlainCheck(SequenceCheck):
    """The check without the wrap-around: the next sequence is the last one plus the number of records."""

    def check(self, partition, batch):
        """Return the error of a comparison of sequences as numbers."""
        last = self.cached[partition][0]
        if batch.sequence == last.sequence + last.records:
            return Error.NONE
        return Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    taken_after_the_wrap = None


scenarios = [
    Scenario(SequenceCheck, "circle", description="On the circle only the next sequence is accepted."),
    Scenario(PlainCheck, "plain", expect={"next_sequence_alone_is_taken": 2},
        description="Compared as numbers, the producer is stuck when its sequence wraps around."),
]  # fmt: skip
