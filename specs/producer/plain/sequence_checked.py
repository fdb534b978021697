"""The remedy for retries that reorder or duplicate: brokers that check sequences.

Scenarios: entries P1 to P3 of docs/producer.md.
"""

from checker.language import Constant, Scenario
from specs.producer.plain.producer import PlainProducer
from specs.scenario_forms import violates


class SequenceCheckedProducer(PlainProducer):
    """A producer whose brokers check sequences: the remedy for most bugs of `PlainProducer`.

    This is two rules of the idempotent producer (KIP-98): a batch that is in the log is not appended again, and a batch
    is appended only directly after its predecessor. `specs.producer.idempotent` has its errors, epochs and lost state.
    Released brokers from 2.5 on break the second rule for the first batch of a producer (`accepts_any_first`, I2).
    """

    requeue = Constant("in_order", one_of=("in_order",))  # insertInSequenceOrder
    acks = Constant("all", one_of=("all",))
    restarts = Constant(0, at_most=0)  # a new process has a new producer id, so its sequences restart
    resends = Constant(0, at_most=0)  # a record sent again has a new sequence number
    accepts_any_first = Constant(False)
    """Whether brokers accept any batch of a producer that they have no batch of: 2.5 to 4.4."""

    def is_sequence_checked(self):
        """Return True: brokers check the sequence of a batch."""
        return True

    def follows(self, request):
        """Return whether a batch continues the log, or is the first and need not have sequence 0."""
        return (self.accepts_any_first and len(self.log[request.partition]) == 0) or super().follows(request)


scenarios = [
    Scenario(SequenceCheckedProducer, "p1_fixed_by_sequences", dict(records=3, max_in_flight=2, refusals=1, retries=2),
        deadlock=True,
        description="P1 with sequences: the broker refuses the second request until the first is in the log."),
    violates(SequenceCheckedProducer, "p1_first_batches",
        dict(records=3, max_in_flight=2, refusals=1, retries=2, accepts_any_first=True), {"no_gap": 7},
        "P1 with the sequences of 2.5 to 4.4: the first batch is refused, the second is accepted (I2)."),
    Scenario(SequenceCheckedProducer, "p2_fixed_by_sequences",
        dict(records=3, max_in_flight=3, disconnects=2, retries=3), deadlock=True,
        description="P2 with sequences and batches put back in their order: three in flight, two disconnects."),
    Scenario(SequenceCheckedProducer, "p3_fixed_by_sequences",
        dict(records=1, disconnects=1, late_refusals=1, retries=2), deadlock=True,
        description="P3 with sequences: the broker recognises the retry and answers with the first offset."),
    Scenario(SequenceCheckedProducer, "p3_fixed_by_sequences_larger",
        dict(records=3, max_in_flight=2, disconnects=1, late_refusals=1, retries=2), deadlock=True,
        description="P3 with sequences, three records, two in flight."),
    Scenario(SequenceCheckedProducer, "p1_split_with_sequences",
        dict(records=3, batch_size=2, broker_limit=1, max_in_flight=2, retries=3), deadlock=True,
        description="P1 with sequences: the parts of a split batch keep their sequences, later batches wait."),
    Scenario(SequenceCheckedProducer, "p1_split_with_sequences_larger",
        dict(records=6, batch_size=2, broker_limit=1, max_in_flight=3, retries=4, refusals=1, disconnects=1),
        deadlock=True,
        description="P1 with sequences, three batches of two, three in flight, a refusal and a disconnect."),
    Scenario(SequenceCheckedProducer, "five_in_flight",
        dict(records=6, max_in_flight=5, refusals=1, disconnects=1, late_refusals=1, retries=3), deadlock=True,
        description="P1, P2 and P3 with sequences: six records, five in flight, a fault of each kind."),
]  # fmt: skip
