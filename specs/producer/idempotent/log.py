"""The log of one idempotent producer, for proofs with any number of batches, sequences and offsets.

The broker's state is that of `specs.broker.producer_state`, for one partition and one epoch. The network is weaker than
TCP: any request that was ever sent may arrive again, any number of times and in any order.

Sources: KIP-98; `ProducerAppendInfo` and `ProducerStateEntry` of Apache Kafka; KAFKA-5494.
"""

from checker.language import Constant, Option, Range, Scenario, Seq, Spec, Struct
from checker.language.roles import action, invariant, lemma, reachable, require
from specs.broker.producer_state import CachedBatch, Offset, RecordCount, Sequence
from specs.scenario_forms import violates


class BatchNumber(Range):
    """The number of a batch, in the order in which the application created them."""

    low, high = 0, "batches - 1"


class Batch(Struct):
    """A batch as it is sent and stored: its number, its first sequence number, its number of records."""

    number: BatchNumber
    sequence: Sequence
    records: RecordCount
    shows = "{number}(s{sequence})"


class Response(Struct):
    """A successful response in transit to the producer."""

    number: BatchNumber
    offset: Offset
    shows = "{number}@{offset}"


class IdempotentLog(Spec):
    """An idempotent producer, a network that loses, repeats and reorders, and a broker that checks sequences.

    `python -m checker prove producer/idempotent_log --unbounded batches --unbounded log_size --unbounded max_sequence
    --unbounded max_batch_records` proves its properties for all values of these constants.

    Source: KIP-98; class `ProducerAppendInfo` of Apache Kafka, and its client's rule of five batches in flight.
    """

    batches = Constant(3, at_least=1)
    log_size = Constant(3, at_least=1)
    max_sequence = Constant(4, at_least=1)
    max_batch_records = Constant(2, at_least=1)
    max_in_flight = Constant(2, at_least=1)
    """The batches sent from the oldest unanswered one on: at most as many as the broker caches."""
    max_responses = Constant(2, at_least=1)
    cache_size = Constant(2, at_least=1)
    """`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`; Kafka: 5, and 1 before KAFKA-5494."""
    checks_sequences = Constant(True)
    no_state = Constant("zero", one_of=("zero", "any"))
    """The sequences that a broker without state accepts: only 0 (0.11), or any (KIP-360, Kafka 2.5 to 4.4)."""
    expiry = Constant(False)
    """Whether the broker may forget a producer but keep its batches: `producer.id.expiration.ms`, retention."""

    # The producer.
    sent = Seq(Batch, "batches")
    acknowledged = Seq(Option(Offset), "batches")
    oldest = Range(0, "batches")
    next_sequence = Sequence

    # The network and the broker.
    responses = Seq(Response, "max_responses")
    log = Seq(Batch, "log_size")
    cached = Seq(CachedBatch, "cache_size")

    # The producer.

    @action
    def send(self, records: RecordCount):
        """The producer gives the next batch the next sequence and sends it."""
        require(len(self.sent) < self.batches)
        require(len(self.sent) < self.oldest + self.max_in_flight)
        require(self.next_sequence + records <= self.max_sequence)
        self.sent.append(Batch(number=len(self.sent), sequence=self.next_sequence, records=records))
        self.acknowledged.append(None)
        self.next_sequence += records

    @action
    def receive(self):
        """A response arrives: the batch is acknowledged, with its offset."""
        require(len(self.responses) > 0)
        response = self.responses[0]
        self.responses.pop(0)
        self.acknowledged[response.number] = response.offset

    @action
    def lose_response(self):
        """A response is lost, so the producer will send the batch again."""
        require(len(self.responses) > 0)
        self.responses.pop(0)

    @action
    def complete_oldest(self):
        """The oldest batch is acknowledged, which makes room for a new one."""
        require(self.oldest < len(self.sent))
        require(self.acknowledged[self.oldest] is not None)
        self.oldest += 1

    # The broker.

    @action
    def handle(self, number: BatchNumber):
        """A request arrives: the first copy, a retry, or a delayed one."""
        require(number < len(self.sent))
        require(len(self.responses) < self.max_responses)
        batch = self.sent[number]
        if self.is_duplicate(batch):
            self.responses.append(Response(number=number, offset=self.duplicate_offset(batch)))
        elif self.is_next(batch) and len(self.log) < self.log_size:
            self.responses.append(Response(number=number, offset=len(self.log)))
            self.append(batch)

    def is_duplicate(self, batch):
        """Return whether a batch has the range of a cached batch. Source: `findDuplicateBatch`."""
        if not self.checks_sequences:
            return False
        return any(c.sequence == batch.sequence and c.records == batch.records for c in self.cached)

    def duplicate_offset(self, batch):
        """Return the offset of the cached batch with this range."""
        return min(c.offset for c in self.cached if c.sequence == batch.sequence and c.records == batch.records)

    def is_next(self, batch):
        """Return whether a batch begins where the last one ended. Source: `ProducerAppendInfo.checkSequence`."""
        if not self.checks_sequences:
            return True
        if len(self.cached) == 0:
            return batch.sequence == 0 or self.no_state == "any"
        last = self.cached[len(self.cached) - 1]
        return batch.sequence == last.sequence + last.records

    def append(self, batch):
        """Append a batch and cache it; a full cache evicts its oldest batch. Source: `ProducerStateEntry.addBatch`."""
        if len(self.cached) == self.cache_size:
            self.cached.pop(0)
        self.cached.append(CachedBatch(sequence=batch.sequence, records=batch.records, offset=len(self.log)))
        self.log.append(batch)

    @action
    def forget_producer(self):
        """The broker forgets the producer, but keeps the log. Source: `removeExpiredProducers`."""
        require(self.expiry)
        self.cached.clear()

    # Guarantees.

    @invariant(says="the batch at offset {o} does not begin where the one before it ends: {self.log}")
    def log_is_contiguous(self):
        """The first batch of the log has sequence 0, and each batch begins where the one before it ends."""
        return all(
            self.log[o].sequence == (0 if o == 0 else self.log[o - 1].sequence + self.log[o - 1].records)
            for o in range(len(self.log))
        )

    @invariant(says="offset {o} has batch {self.log[o].number}: {self.log}")
    def log_has_every_batch_once_in_order(self):
        """The log has the batches in creation order, without a gap or a duplicate."""
        return all(self.log[o].number == o for o in range(len(self.log)))

    @invariant(says="batch {n} was acknowledged at offset {self.acknowledged[n]}, and the log is {self.log}")
    def acknowledged_offset_holds_the_batch(self):
        """An acknowledged batch is at its acknowledged offset."""
        return all(
            self.acknowledged[n] is None or self.is_at(n, self.acknowledged[n]) for n in range(len(self.acknowledged))
        )

    def is_at(self, number, offset):
        """Return whether the log has a batch at this offset, with the sequence with which it was sent."""
        return offset < len(self.log) and self.log[offset].number == number and self.log[offset] == self.sent[number]

    @invariant(says="a retry of batch {n} would not be recognised: the broker caches {self.cached}")
    def retries_recognised(self):
        """An unacknowledged batch of the log is cached, so that the broker recognises a retry."""
        return all(
            self.acknowledged[n] is not None or any(c.sequence == self.sent[n].sequence for c in self.cached)
            for n in range(len(self.sent))
            if n < len(self.log)
        )

    # Lemmas.

    @lemma
    def log_is_part_of_what_was_sent(self):
        """The log is a prefix of the batches that the producer sent."""
        return len(self.log) <= len(self.sent) and all(self.log[o] == self.sent[o] for o in range(len(self.log)))

    @lemma
    def sent_is_numbered(self):
        """The producer numbers its batches and tracks the acknowledgement of each."""
        return len(self.acknowledged) == len(self.sent) and all(self.sent[n].number == n for n in range(len(self.sent)))

    @lemma
    def sent_is_contiguous(self):
        """Each batch is sent with the sequence at which the one before it ends; the next sequence follows the last."""
        return self.next_sequence == self.end_of(len(self.sent)) and all(
            self.sent[n].sequence == self.end_of(n) for n in range(len(self.sent))
        )

    def end_of(self, number):
        """Return the sequence at which the batch before a batch ends."""
        return 0 if number == 0 else self.sent[number - 1].sequence + self.sent[number - 1].records

    @lemma
    def sequences_ascend(self):
        """No two batches share a sequence."""
        return all(
            self.sent[one].sequence + self.sent[one].records <= self.sent[other].sequence
            for other in range(len(self.sent))
            for one in range(other)
        )

    @lemma
    def cache_is_end_of_log(self):
        """The broker caches the last batches of the log, each with its offset."""
        size = len(self.cached)
        return size == min(self.cache_size, len(self.log)) and all(
            self.is_remembered(i, len(self.log) - size + i) for i in range(size)
        )

    def is_remembered(self, i, offset):
        """Return whether cache entry `i` is the batch at an offset of the log."""
        return (
            self.cached[i].offset == offset
            and self.cached[i].sequence == self.log[offset].sequence
            and self.cached[i].records == self.log[offset].records
        )

    @lemma
    def responses_are_true(self):
        """A response has the offset of its batch."""
        return all(r.number < len(self.sent) and self.is_at(r.number, r.offset) for r in self.responses)

    @lemma
    def window_is_kept(self):
        """Every batch before the oldest unanswered one is acknowledged, and at most `max_in_flight` follow."""
        return (
            self.oldest <= len(self.sent)
            and len(self.sent) <= self.oldest + self.max_in_flight
            and all(self.acknowledged[n] is not None for n in range(self.oldest))
        )

    @reachable
    def duplicate_answered(self):
        """A retry of a batch that is not the last one is answered."""
        return any(response.offset + 1 < len(self.log) for response in self.responses)

    @reachable
    def everything_acknowledged(self):
        """All batches are sent and acknowledged."""
        return self.oldest == self.batches


class CacheOfOne(IdempotentLog):
    """A broker that caches one batch, as before KAFKA-5494, and a producer with two in flight."""

    cache_size = Constant(1, at_least=1)


class OldTakenForLast(CacheOfOne):
    """A broker that caches one batch, and answers a retry of an older one with the offset of that batch."""

    def is_duplicate(self, batch):
        """Return whether a batch is not after the last one."""
        return any(batch.sequence <= c.sequence for c in self.cached)

    def duplicate_offset(self, batch):
        """Return the offset of the last batch."""
        return self.cached[len(self.cached) - 1].offset


class NoSequenceCheck(IdempotentLog):
    """A broker that appends every batch that arrives."""

    checks_sequences = Constant(False)


class StateLost(IdempotentLog):
    """A broker that forgets a producer while its batches are in flight."""

    expiry = Constant(True)
    cache_is_end_of_log = None


class AnySequenceTaken(IdempotentLog):
    """A broker that accepts any sequence of a producer without state."""

    no_state = Constant("any", one_of=("zero", "any"))


SMALL = dict(max_sequence=2, max_batch_records=1, batches=2, log_size=2)
LOG = ("log_is_contiguous", "log_has_every_batch_once_in_order")

scenarios = [
    Scenario(IdempotentLog, "three_batches",
        description="With lost, repeated and reordered requests the log is in order, if it begins with sequence 0."),
    Scenario(CacheOfOne, "kafka_5494", SMALL, expect={"retries_recognised": 5},
        description="Two batches are appended; the broker remembers the second and refuses every retry of the first."),
    violates(OldTakenForLast, "old_taken_for_last", SMALL, {"acknowledged_offset_holds_the_batch": 9},
        "The retry of the first batch is answered with the offset of the second."),
    Scenario(NoSequenceCheck, "no_sequence_check", SMALL, expect=dict.fromkeys(LOG, 4), properties=LOG,
        description="A request arrives twice, and the batch is in the log twice."),
    Scenario(StateLost, "state_lost", SMALL, expect=dict.fromkeys(LOG, 5), properties=LOG,
        description="The broker forgets the producer and takes a retry of its first batch for a new first batch."),
    Scenario(AnySequenceTaken, "any_sequence_taken", SMALL, expect=dict.fromkeys(LOG, 4), properties=LOG,
        description="The second batch arrives first, and the log begins with it."),
]  # fmt: skip
