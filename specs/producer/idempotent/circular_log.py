"""The log of one idempotent producer with sequences that wrap around, and changes of the leader.

Sources: `DefaultRecordBatch.incrementSequence`, `ProducerAppendInfo` and `ProducerStateEntry` of Apache Kafka; KIP-98.
"""

from checker.language import Constant, Range, Scenario, action, invariant, lemma, reachable, require
from specs.broker.producer_state import CachedBatch, RecordCount, Sequence
from specs.producer.idempotent.log import Batch, IdempotentLog, Response


class CircularLog(IdempotentLog):
    """An idempotent producer in the middle of its life: its next sequence may be any, and 0 follows the largest one.

    All replicas in the ISR have the first `replicated` batches of the log. The leader answers a batch when it is among
    them (acks=all). A new leader has these batches, and perhaps more of the old leader's log. Its producer state is
    that of a follower, which caches each batch that it appends.

    All batches together have fewer records than there are sequence numbers. So a request that arrives late is at most
    one round of the numbers old.

    Source: KIP-98; classes `DefaultRecordBatch` and `ProducerAppendInfo` of Apache Kafka.
    """

    batches = Constant(2, at_least=1)
    log_size = Constant(2, at_least=1)

    first = Sequence
    replicated = Range(0, "log_size")

    def init(self, first: Sequence):
        """Begin with any sequence."""
        self.first = first
        self.next_sequence = first

    def sequence_after(self, sequence, records):
        """Return the sequence that follows a batch. Source: `DefaultRecordBatch.incrementSequence`."""
        left = self.max_sequence - sequence
        return sequence + records if records <= left else records - left - 1

    def distance(self, sequence):
        """Return the number of sequences from the first one to another one, around the circle."""
        return sequence - self.first if sequence >= self.first else self.max_sequence - self.first + 1 + sequence

    def share(self):
        """Return the most records of a batch with which all batches fit on the circle."""
        return self.max_sequence // self.batches

    @action
    def send(self, records: RecordCount):
        """The producer gives the next batch the next sequence and sends it."""
        require(len(self.sent) < self.batches)
        require(len(self.sent) < self.oldest + self.max_in_flight)
        require(records <= self.share())
        self.sent.append(Batch(number=len(self.sent), sequence=self.next_sequence, records=records))
        self.acknowledged.append(None)
        self.next_sequence = self.sequence_after(self.next_sequence, records)

    @action
    def handle(self, number: Range(0, "batches - 1")):
        """A request arrives: the first copy, a retry, or a delayed one."""
        require(number < len(self.sent))
        batch = self.sent[number]
        require(not self.is_duplicate(batch) and self.is_next(batch) and len(self.log) < self.log_size)
        self.append(batch)

    @action
    def answer(self, number: Range(0, "batches - 1")):
        """The leader answers a request for a batch that it has appended, when the batch is replicated."""
        require(number < len(self.sent) and len(self.responses) < self.max_responses)
        batch = self.sent[number]
        require(self.is_duplicate(batch) and self.duplicate_offset(batch) < self.replicated)
        self.responses.append(Response(number=number, offset=self.duplicate_offset(batch)))

    @action
    def replicate(self):
        """Every replica in the ISR has the next batch."""
        require(self.replicated < len(self.log))
        self.replicated += 1

    @action
    def change_leader(self, length: Range(0, "log_size")):
        """A replica in the ISR becomes the leader. Its log is a prefix of the old leader's."""
        require(self.replicated <= length and length <= len(self.log))
        del self.log[length:]
        self.cached.clear()
        for offset in range(max(0, length - self.cache_size), length):
            batch = self.log[offset]
            self.cached.append(CachedBatch(sequence=batch.sequence, records=batch.records, offset=offset))

    def is_next(self, batch):
        """Return whether a batch begins where the last one ended. Source: `ProducerAppendInfo.checkSequence`."""
        if len(self.cached) == 0:
            return batch.sequence == self.first
        last = self.cached[len(self.cached) - 1]
        return batch.sequence == self.sequence_after(last.sequence, last.records)

    @invariant(says="the batch at offset {o} does not begin where the one before it ends: {self.log}")
    def log_is_contiguous(self):
        """Each batch of the log begins where the one before it ends, around the circle."""
        return all(
            self.log[o].sequence
            == (self.first if o == 0 else self.sequence_after(self.log[o - 1].sequence, self.log[o - 1].records))
            for o in range(len(self.log))
        )

    def is_at(self, number, offset):
        """Return whether every replica in the ISR has a batch at this offset, with its sequence."""
        return offset < self.replicated and super().is_at(number, offset)

    def end_of(self, number):
        """Return the sequence at which the batch before a batch ends."""
        if number == 0:
            return self.first
        return self.sequence_after(self.sent[number - 1].sequence, self.sent[number - 1].records)

    @lemma
    def sequences_ascend(self):
        """Batches follow each other on the circle, and do not go around it."""
        return all(
            self.distance(self.sent[one].sequence) + self.sent[one].records <= self.distance(self.sent[other].sequence)
            for other in range(len(self.sent))
            for one in range(other)
        )

    @lemma
    def batches_fit_on_the_circle(self):
        """A batch has at most its share of the sequence numbers, and so do all batches up to each one."""
        return all(
            self.sent[n].records <= self.share() and self.distance(self.sent[n].sequence) <= n * self.share()
            for n in range(len(self.sent))
        )

    @lemma
    def replicated_batches_are_in_the_log(self):
        """The replicated batches are part of the leader's log."""
        return self.replicated <= len(self.log)

    @reachable
    def sequences_wrap_around(self):
        """A batch begins at a smaller sequence than the one before it."""
        return any(self.log[o].sequence < self.first for o in range(len(self.log)))

    @reachable
    def leader_is_ahead(self):
        """The leader has a batch that another replica may lack: a change of the leader truncates it."""
        return self.replicated < len(self.log)


scenarios = [
    Scenario(CircularLog, "wrap_around", description="Any first sequence, two batches, and changes of the leader."),
    Scenario(CircularLog, "more_in_flight_than_cached", dict(cache_size=1), expect={"retries_recognised": 5},
        description="Two batches in flight, of which the broker caches one (KAFKA-5494)."),
]  # fmt: skip
