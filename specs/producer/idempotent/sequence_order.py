"""The order of two sequence numbers in flight, on the circle of sequences (catalogue I12)."""

from checker.language import Constant, Range, Scenario, Spec, action, invariant, reachable
from specs.broker.producer_state import Sequence


class SequenceOrder(Spec):
    """A client compares the sequences of two batches that were sent less than half the circle apart.

    `python -m checker prove producer/sequence_order --set max_sequence=2147483647` proves it for all of Kafka's
    sequences; the explorer takes small circles.

    Source: KAFKA-9312 and `TransactionManager` of Apache Kafka, `DefaultRecordBatch.incrementSequence`.
    """

    max_sequence = Constant(7, at_least=1)

    first = Sequence
    second = Sequence
    ahead = Range(0, "max_sequence // 2")

    @action
    def send(self, first: Sequence, ahead: Range(0, "max_sequence // 2")):
        """Two batches are in flight: one at `first`, the other `ahead` sequences later."""
        self.first = first
        self.ahead = ahead
        self.second = (first + ahead) % (self.max_sequence + 1)

    def precedes(self, first, second):
        """Return whether `second` is in the half of the circle after `first`."""
        distance = (second - first) % (self.max_sequence + 1)
        return distance > 0 and distance <= self.max_sequence // 2

    @invariant(says="{self.second} was sent {self.ahead} after {self.first}")
    def order_is_that_of_sending(self):
        """The comparison gives the send order."""
        return self.precedes(self.first, self.second) == (self.ahead > 0) and not self.precedes(self.second, self.first)

    @reachable
    def sequence_wrapped(self):
        """The later batch has the smaller sequence."""
        return self.second < self.first


class PlainOrder(SequenceOrder):
    """The comparison of Kafka's client: `>` on the numbers, which is wrong after a wrap-around."""

    def precedes(self, first, second):
        """Return whether `second` is the larger number."""
        return second > first


scenarios = [
    Scenario(SequenceOrder, "circle", description="Compared on the circle, the order is the send order."),
    Scenario(PlainOrder, "plain", expect={"order_is_that_of_sending": 2},
        description="Compared as numbers, the order is reversed where the sequence wraps around (I12)."),
]  # fmt: skip
