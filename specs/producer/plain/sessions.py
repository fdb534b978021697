"""An idempotent producer that may restart: sequences protect a session, not its successor.

Scenarios: entry P9 of docs/producer.md.
"""

from checker.language import Bug, Constant, Map, Range, Scenario, action
from specs.producer.plain.application import Offset, Partition, RecordId
from specs.producer.plain.producer import PlainProducer


class FirstRecord(Range):
    """The first record of a session; one past the last record if the session has none to send."""

    low, high = 1, "records + 1"


class ProducerSessions(PlainProducer):
    """Brokers check sequences as in `SequenceCheckedProducer`, but a restarted producer has a new producer id.

    Its sequences restart, and the brokers do not recognise the records of its predecessor.
    Source: KIP-98 (idempotence holds within a session), Sender.maybeSendAndPollTransactionalRequest (InitProducerId).
    """

    requeue = Constant("in_order", one_of=("in_order",))
    acks = Constant("all", one_of=("all",))
    retries = Constant(2, at_least=0)
    restarts = Constant(1, at_least=0)
    resends = Constant(0, at_most=0)

    session_start = Map(Partition, Offset)  # the end of the log at the start of the session
    session_first = Map(Partition, FirstRecord)

    def init(self):
        """The first session begins with the partition's first record."""
        super().init()
        for partition in Partition:
            self.session_first[partition] = min(partition + 1, self.records + 1)

    def is_sequence_checked(self):
        """Return True: brokers check the sequence of a batch."""
        return True

    @action
    def producer_restart(self):
        """The process dies; its successor has a new producer id and sends every incomplete record again."""
        super().producer_restart()
        for partition in Partition:
            self.session_start[partition] = len(self.log[partition])
            self.session_first[partition] = min(
                (r for r in RecordId if self.partition_of(r) == partition and not self.is_complete(r)),
                default=self.records + 1,
            )

    def is_duplicate(self, request):
        """Return whether this session has already appended the batch."""
        session = self.log[request.partition][self.session_start[request.partition] :]
        return all(record in session for record in request.records)

    def copy_of(self, request):
        """Return the offset of this session's copy."""
        start = self.session_start[request.partition]
        return start + self.log[request.partition][start:].index(min(request.records))

    def follows(self, request):
        """Return whether a batch continues the session's part of the log, or is the session's first."""
        end = len(self.log[request.partition])
        if end == self.session_start[request.partition]:
            return min(request.records) == self.session_first[request.partition]
        return min(request.records) == self.log[request.partition][end - 1] + self.partitions


scenarios = [
    Bug("p9_idempotent_within_a_session", ProducerSessions, {"no_duplicate": 8, "no_late_copy": 11},
        size=dict(records=3, max_in_flight=2),
        larger=dict(records=4, max_in_flight=3, refusals=1, disconnects=1, restarts=2), fixed=dict(read_back=True),
        deadlock=True, fixed_name="p9_fixed_read_back",
        description="P9 with idempotence: the successor has another producer id, so the broker takes a copy as new.",
        remedy="P9 with idempotence: the successor reads the log before it sends."),
    Scenario(ProducerSessions, "one_session", dict(records=3, max_in_flight=2, refusals=1, disconnects=1, restarts=0),
        deadlock=True, description="P1 to P3 with sequences, as long as the producer lives."),
]  # fmt: skip
