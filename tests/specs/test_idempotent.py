"""The idempotent client against Apache Kafka's own unit tests, re-expressed as driven actions.

Each test names its Kafka test (`SenderTest`, `TransactionManagerTest`; commit 1eb7644349). As there,
the broker is scripted: a test answers any request with any response.
"""

import pytest

from checker.language import Disabled, Range, action, require
from checker.run import registry
from specs.broker.producer_state import Error, Offset, Partition
from specs.producer.idempotent.catalogue import FOUR, SIX, THREE, TWO
from specs.producer.idempotent.legacy import HeapOrder, LegacyReset, RetentionProducer
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.idempotent.repairs import CircularComparisons, MarksEveryExpiry
from specs.producer.idempotent.transaction_manager import Outcome

OUT_OF_ORDER = Error.OUT_OF_ORDER_SEQUENCE_NUMBER
NOT_LEADER = Error.NOT_LEADER_OR_FOLLOWER


class Place(Range):
    low, high = 0, "max_in_flight - 1"


class ScriptedProducer(IdempotentProducer):
    """The client with a broker that gives scripted answers, as `MockClient` does."""

    @action
    def respond(self, partition: Partition, place: Place, error: Error, offset: Offset):
        """The client reads this response to the request at `place`; another place than 0: from another broker."""
        require(place < len(self.requests[partition]))
        b = self.requests[partition][place].batch.id
        del self.requests[partition][place]
        self.complete(partition, b, error, offset if error == Error.NONE else None)


class Client:
    """A driven client, with accessors named after `TransactionManager`."""

    def __init__(self, spec=ScriptedProducer, **constants):
        self.spec = spec(**(dict(SIX, max_epoch=4, max_timeouts=6) | constants))
        self.state = self.spec.initial_states()[0]

    def do(self, action, *arguments):
        self.state = self.spec.step(self.state, action, *arguments)

    def send(self, tp=1, times=1):
        """`runOnce` with a batch that is ready."""
        for _ in range(times):
            self.do("drain", f"p{tp}")

    def respond(self, error=Error.NONE, offset=0, place=0, tp=1):
        self.do("respond", f"p{tp}", place, error, offset)

    def bump(self):
        """The next `runOnce` after a bump was requested."""
        self.do("bump_epoch")

    def expire(self, tp=1):
        self.do("delivery_timeout", f"p{tp}")

    def resolve(self, tp=1):
        self.do("resolve_sequences", f"p{tp}")

    def may_send(self, tp=1):
        """Whether a batch would be drained."""
        try:
            self.spec.step(self.state, "drain", f"p{tp}")
        except Disabled:
            return False
        return True

    def of(self, variable, tp=1):
        return getattr(self.state, variable)[Partition(tp - 1)]

    def batch(self, b, tp=1):
        return self.of("batch", tp)[b]

    def identity(self, b, tp=1):
        """(epoch, sequence) of a batch."""
        return self.batch(b, tp).epoch, self.batch(b, tp).sequence

    def partition(self, tp=1):
        """(epoch, next sequence, last acknowledged sequence), as assertPartitionState has them."""
        return self.of("partition_epoch", tp), self.of("next_sequence", tp), self.of("last_acked", tp)

    def on_the_wire(self, tp=1):
        return [request.batch.id for request in self.of("requests", tp)]

    def outcome(self, b, tp=1):
        return self.batch(b, tp).outcome

    @property
    def epoch(self):
        return self.state.epoch


# SenderTest


def test_sequence_number_increment():
    """testSequenceNumberIncrement: the first batch has epoch 0 and sequence 0; acknowledged, it counts."""
    client = Client()
    client.send()
    assert client.identity(0) == (0, 0)
    client.respond()
    assert client.partition() == (0, 1, 0)


def test_multiple_in_flight():
    """testIdempotenceWithMultipleInflights: two requests, acknowledged in order, each with its offset."""
    client = Client()
    client.send(times=2)
    assert client.partition() == (0, 2, -1)
    client.respond(offset=0)
    assert client.partition() == (0, 2, 0)
    client.respond(offset=1)
    assert client.partition() == (0, 2, 1)
    assert client.batch(1).offset == 1


def test_multiple_in_flight_retried_in_order():
    """testIdempotenceWithMultipleInflightsRetriedInOrder: three fail, are sent again one by one, the fourth waits."""
    client = Client()
    client.send(times=3)
    client.respond(NOT_LEADER)
    client.respond(OUT_OF_ORDER)
    client.respond(OUT_OF_ORDER)
    assert client.epoch == 0
    for b in range(3):
        client.send()
        assert client.on_the_wire() == [b]
        assert client.may_send() == (b == 2)
        client.respond(offset=b)
        assert client.of("last_acked") == b
    client.send()
    assert client.identity(3) == (0, 3)


def test_first_fails_permanently_and_later_sequences_are_adjusted():
    """testIdempotenceWithMultipleInflightsWhereFirstFailsFatallyAndSequenceOfFutureBatchesIsAdjusted."""
    client = Client()
    client.send(times=2)
    client.respond(Error.INVALID_RECORD)
    assert client.outcome(0) == Outcome.FAILED
    client.respond(OUT_OF_ORDER)
    client.bump()
    client.send()
    assert client.identity(1) == (1, 0)
    client.respond()
    assert client.partition() == (1, 1, 0)
    assert client.outcome(1) == Outcome.ACKED


def test_epoch_bump_for_the_next_batch():
    """testEpochBumpOnOutOfOrderSequenceForNextBatch: out of order right after the last acknowledged batch."""
    client = Client()
    client.send()
    client.respond()
    client.send()
    client.respond(OUT_OF_ORDER)
    client.bump()
    assert client.epoch == 1
    assert client.of("next_sequence") == 1
    assert client.identity(1) == (1, 0)


def test_epoch_bump_moves_an_idle_partition_lazily():
    """testEpochBumpOnOutOfOrderSequenceForNextBatchWhenThereIsNoBatchInFlight: it starts at 0 with its next batch."""
    client = Client(**TWO, partitions=2)
    for tp in (1, 2):
        client.send(tp)
        client.respond(tp=tp)
    client.send(1)
    client.respond(OUT_OF_ORDER, tp=1)
    client.bump()
    assert client.partition(1) == (1, 1, -1)
    assert client.partition(2) == (0, 1, 0)
    client.send(2)
    assert client.partition(2) == (1, 1, -1)
    assert client.identity(1, tp=2) == (1, 0)


def test_epoch_bump_while_another_partition_is_in_flight():
    """testEpochBumpOnOutOfOrderSequenceForNextBatchWhenBatchInFlightFails.

    It retries unchanged, then moves to the new epoch.
    """
    client = Client(**THREE, partitions=2)
    for tp in (1, 2):
        client.send(tp)
        client.respond(tp=tp)
        client.send(tp)
    client.respond(OUT_OF_ORDER, tp=1)
    client.bump()
    client.respond(NOT_LEADER, tp=2)
    assert client.partition(2) == (0, 2, 0)
    client.send(2)
    assert client.identity(1, tp=2) == (0, 1)
    client.respond(Error.INVALID_RECORD, tp=2)
    client.bump()
    client.send(2)
    assert client.identity(2, tp=2) == (2, 0)


def test_out_of_order_responses():
    """testCorrectHandlingOfOutOfOrderResponses: the second fails before the first; both are sent again in order."""
    client = Client()
    client.send(times=2)
    client.respond(OUT_OF_ORDER, place=1)
    assert list(client.of("queue"))[:1] == [1]
    client.respond(NOT_LEADER)
    assert list(client.of("queue"))[:2] == [0, 1]
    client.send()
    assert not client.may_send()
    client.respond(offset=0)
    client.send()
    client.respond(offset=1)
    assert client.of("last_acked") == 1


def test_out_of_order_responses_when_the_second_succeeds():
    """testCorrectHandlingOfOutOfOrderResponsesWhenSecondSucceeds: the last acknowledged sequence never decreases."""
    client = Client()
    client.send(times=2)
    client.respond(offset=1, place=1)
    assert client.of("last_acked") == 1
    client.respond(Error.REQUEST_TIMED_OUT)
    client.send()
    assert client.on_the_wire() == [0]
    client.respond(offset=0)
    assert client.of("last_acked") == 1
    assert client.batch(0).offset == 0


def test_expiry_of_an_unsent_batch():
    """testExpiryOfUnsentBatchesShouldNotCauseUnresolvedSequences."""
    client = Client()
    client.expire()
    assert client.outcome(0) == Outcome.FAILED
    assert client.of("unresolved") is None


def test_expiry_is_resolved_when_a_later_batch_succeeds():
    """testExpiryOfFirstBatchShouldNotCauseUnresolvedSequencesIfFutureBatchesSucceed: no bump; then the third goes."""
    client = Client(**THREE)
    client.send(times=2)
    client.respond(Error.REQUEST_TIMED_OUT)
    client.expire()
    assert client.of("unresolved") == 1
    client.respond(offset=1)
    assert not client.may_send()
    client.resolve()
    assert client.epoch == 0
    client.send()
    assert client.identity(2) == (0, 2)


def test_expiry_brings_a_new_epoch_when_the_next_batch_fails():
    """testExpiryOfFirstBatchShouldCauseEpochBumpIfFutureBatchesFail: the batch after the expired one is refused."""
    client = Client(**THREE)
    client.send(times=2)
    client.respond(NOT_LEADER)
    client.expire()
    client.respond(OUT_OF_ORDER)
    client.bump()
    assert client.epoch == 1
    assert client.of("unresolved") is None
    assert client.identity(1) == (1, 0)
    assert client.of("next_sequence") == 1


def test_expiry_of_all_sent_batches():
    """testExpiryOfAllSentBatchesShouldCauseUnresolvedSequences: nothing in flight, the next round bumps."""
    client = Client()
    client.send()
    client.respond(NOT_LEADER)
    client.expire()
    assert client.of("unresolved") == 1
    client.resolve()
    client.bump()
    assert client.epoch == 1
    assert client.of("unresolved") is None


def test_batches_of_the_old_epoch_succeed_on_a_later_retry():
    """testBatchesDrainedWithOldProducerIdShouldSucceedOnSubsequentRetry.

    Another partition's bump does not concern them.
    """
    client = Client(**TWO, partitions=2)
    client.send(1)
    client.send(2)
    client.respond(NOT_LEADER, tp=2)
    client.respond(OUT_OF_ORDER, tp=1)
    client.bump()
    for _ in range(2):
        client.send(2)
        assert client.identity(0, tp=2) == (0, 0)
        client.respond(NOT_LEADER, tp=2)
    client.send(2)
    client.respond(tp=2)
    assert client.outcome(0, tp=2) == Outcome.ACKED


def test_duplicate_sequence_error():
    """testCorrectHandlingOfDuplicateSequenceError: a success without an offset."""
    client = Client()
    client.send(times=2)
    client.respond(offset=1, place=1)
    client.respond(Error.DUPLICATE_SEQUENCE_NUMBER)
    assert client.of("last_acked") == 1
    assert client.outcome(0) == Outcome.ACKED
    assert client.batch(0).offset is None


def test_unknown_producer_after_retention():
    """testIdempotentUnknownProducerHandlingWhenRetentionLimitReached: a new epoch, sequence 0, the same batch."""
    client = Client()
    client.send()
    client.respond()
    client.send()
    client.respond(Error.UNKNOWN_PRODUCER_ID)
    client.bump()
    assert client.partition() == (1, 1, -1)
    client.send()
    assert client.identity(1) == (1, 0)
    client.respond(offset=1)
    assert client.partition() == (1, 1, 0)


def test_unknown_producer_for_later_batches():
    """testUnknownProducerErrorShouldBeRetriedForFutureBatchesWhenFirstFails: the late answer causes no second bump."""
    client = Client()
    client.send()
    client.respond()
    client.send(times=2)
    client.respond(Error.UNKNOWN_PRODUCER_ID)
    client.bump()
    client.send()
    client.respond(Error.UNKNOWN_PRODUCER_ID)
    assert len(client.state.rewrite) == 0
    client.respond(offset=1)
    client.send()
    assert client.identity(2) == (1, 1)
    client.respond(offset=2)
    assert client.epoch == 1
    assert client.of("last_acked") == 1


def test_bump_when_the_first_batch_is_out_of_order():
    """testBumpEpochWhenOutOfOrderSequenceReceived: with nothing acknowledged, 0 is the next sequence."""
    client = Client()
    client.send()
    client.respond(OUT_OF_ORDER)
    assert client.outcome(0) == Outcome.PENDING
    client.bump()
    assert client.epoch == 1


def test_in_flight_batch_expires():
    """testInflightBatchesExpireOnDeliveryTimeout.

    It fails, although its request continues; the answer changes nothing.
    """
    client = Client()
    client.send()
    client.expire()
    assert client.outcome(0) == Outcome.FAILED
    assert client.on_the_wire() == [0]
    client.respond()
    assert client.outcome(0) == Outcome.FAILED


def test_expired_batch_is_not_retried():
    """testExpiredBatchDoesNotRetry: a retriable error of an expired batch."""
    client = Client()
    client.send()
    client.expire()
    client.respond(NOT_LEADER)
    assert 0 not in client.of("queue")
    assert client.epoch == 0


def test_expired_batches_expire_in_order():
    """testExpiredBatchesInMultiplePartitions: the oldest batch of each partition first, alone."""
    client = Client(**TWO, partitions=2)
    client.expire(2)
    assert client.outcome(0, tp=2) == Outcome.FAILED
    assert client.outcome(1, tp=2) == Outcome.PENDING
    assert client.outcome(0, tp=1) == Outcome.PENDING


def test_in_flight_is_bounded():
    """InFlightRequests.canSendMore, by way of testSendInOrder: the sixth request waits."""
    client = Client()
    client.send(times=5)
    assert client.on_the_wire() == [0, 1, 2, 3, 4]
    assert not client.may_send()
    client.respond()
    assert client.may_send()


def test_disconnect_retries_all_in_order():
    """TransactionManagerTest.testDisconnectAndRetry, for data: all in flight fail, and queue in sequence order."""
    client = Client(max_disconnects=1)
    client.send(times=3)
    client.do("disconnect", "p1")
    assert list(client.of("queue")) == [0, 1, 2, 3, 4, 5]
    client.send()
    assert client.on_the_wire() == [0]
    assert not client.may_send()


# TransactionManagerTest


def test_default_sequence_number():
    """testDefaultSequenceNumber: 0, then one more for each record."""
    client = Client()
    assert client.of("next_sequence") == 0
    client.send(times=3)
    assert client.of("next_sequence") == 3


def test_sequence_number_overflow():
    """testSequenceNumberOverflow: the sequence after the last is 0."""
    client = Client(**THREE, first_sequence=7)
    client.send(times=2)
    assert [client.identity(b)[1] for b in (1, 2)] == [7, 0]
    assert client.of("next_sequence") == 1


def test_bump_rewrites_all_in_flight():
    """testBumpEpochAndResetSequenceNumbersAfterUnknownProducerId: the four behind the first are numbered 0 to 3."""
    client = Client()
    client.send(times=5)
    client.respond()
    client.respond(Error.UNKNOWN_PRODUCER_ID)
    client.bump()
    assert [client.identity(b) for b in range(1, 5)] == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert client.of("next_sequence") == 4


def test_bump_after_a_timeout_with_nothing_in_flight():
    """testBumpEpochAfterTimeoutWithoutPendingInflightRequests.

    The second batch expires, which leaves a gap in the sequences.
    """
    client = Client()
    client.send()
    client.respond()
    client.send()
    client.respond(NOT_LEADER)
    client.expire()
    client.resolve()
    client.bump()
    assert client.epoch == 1


def test_no_bump_when_the_last_in_flight_batch_succeeds():
    """testNoProducerIdResetAfterLastInFlightBatchSucceeds: two expire; the third is in the log, so they are also."""
    client = Client()
    client.send(times=3)
    client.respond(NOT_LEADER)
    client.expire()
    client.expire()
    client.respond(NOT_LEADER)
    client.respond(offset=2)
    client.resolve()
    assert len(client.state.rewrite) == 0
    assert client.partition() == (0, 3, 2)


def test_bump_when_the_last_in_flight_batch_fails():
    """testEpochBumpAfterLastInflightBatchFails: the second is in the log, the third expires."""
    client = Client()
    client.send(times=3)
    client.respond(NOT_LEADER)
    client.expire()
    client.respond(offset=1)
    client.respond(NOT_LEADER)
    client.expire()
    client.resolve()
    client.bump()
    assert client.partition() == (1, 0, -1)


def test_failed_in_flight_batch_after_a_bump():
    """testFailedInflightBatchAfterEpochBump.

    Only the partition that requested it is renumbered; a fresh batch waits.
    """
    client = Client(**THREE, partitions=2)
    client.send(1, times=3)
    client.send(2, times=2)
    client.respond(tp=1)
    client.respond(tp=2)
    client.respond(Error.UNKNOWN_PRODUCER_ID, tp=1)
    client.bump()
    assert client.identity(1, tp=1) == (1, 0)
    assert client.batch(1, tp=1).reset
    assert client.identity(1, tp=2) == (0, 1)
    assert not client.batch(1, tp=2).reset
    assert not client.may_send(2)


def test_healthy_partition_retries_during_a_bump():
    """testHealthyPartitionRetriesDuringEpochBump: it retries under the old epoch, and starts the new one afterwards."""
    client = Client(**THREE, partitions=2)
    client.send(1, times=2)
    client.send(2, times=2)
    client.respond(tp=1)
    client.respond(tp=2)
    client.respond(Error.UNKNOWN_PRODUCER_ID, tp=1)
    client.bump()
    client.respond(NOT_LEADER, tp=2)
    client.send(2)
    assert client.identity(1, tp=2) == (0, 1)
    client.respond(tp=2)
    client.send(2)
    assert client.identity(2, tp=2) == (1, 0)
    client.respond(tp=2)
    assert client.partition(2) == (1, 1, 0)


def test_request_in_flight_after_delivery_timeout():
    """testDuplicateSequenceAfterProducerReset: the expired retry is in transit when the epoch is bumped."""
    client = Client()
    client.send()
    client.respond(Error.REQUEST_TIMED_OUT)
    client.send()
    client.expire()
    client.resolve()
    client.bump()
    assert client.on_the_wire() == [0]
    client.send()
    assert client.identity(1) == (1, 0)
    client.respond(Error.NETWORK_EXCEPTION)
    assert client.of("in_flight")[0] == 1


def test_fenced_epoch_fails():
    """A late request of an old epoch is permanently refused (`InvalidProducerEpochException` is not retriable)."""
    client = Client()
    client.send()
    client.respond(Error.INVALID_PRODUCER_EPOCH)
    assert client.outcome(0) == Outcome.FAILED


# Where the variants differ.


def test_expiry_on_the_first_attempt_is_not_marked():
    """Sender.sendProducerData tests inRetry(), so a batch that expires in its first request is not marked."""
    for spec, unresolved in ((IdempotentProducer, None), (MarksEveryExpiry, 1)):
        client = Client(spec)
        client.send()
        client.expire()
        assert client.of("unresolved") == unresolved


def test_out_of_order_is_retried_forever_after_an_unmarked_expiry():
    """The next batch does not follow the last acknowledged one: it is retried without a bump."""
    client = Client()
    client.send(times=2)
    client.expire()
    client.respond(Error.NETWORK_EXCEPTION)
    for _ in range(3):
        client.respond(OUT_OF_ORDER)
        assert len(client.state.rewrite) == 0
        client.send()


def test_fresh_batches_overtake_a_retry_in_transit():
    """shouldStopDrainBatchesForPartition holds back a retry that is not the lowest, not a fresh batch behind one."""
    client = Client()
    client.send(times=2)
    client.respond(Error.REQUEST_TIMED_OUT)
    client.send(times=2)
    assert client.on_the_wire() == [1, 0, 2]


def test_wrapped_sequences_compare_on_the_circle():
    """TxnPartitionEntry's plain comparisons put sequence 0 before the last one (I12)."""
    for spec, first in ((IdempotentProducer, 2), (CircularComparisons, 1)):
        client = Client(spec, **THREE, first_sequence=7)
        client.send(times=2)
        assert client.of("in_flight")[0] == first


def test_legacy_reset_stays_in_the_epoch():
    """TransactionManager.canRetry until 2.4.

    If the log's start explains the error, sequences restart in the same epoch.
    """
    for spec, identity in ((LegacyReset, (0, 0)), (RetentionProducer, (1, 0))):
        client = Client(spec)
        for action_name in ("drain", "handle_produce", "receive_response", "delete_records"):
            client.do(action_name, "p1")
        for action_name in ("drain", "handle_produce", "receive_response"):
            client.do(action_name, "p1")
        if spec is RetentionProducer:
            client.bump()
        assert client.identity(1) == identity


def test_heap_is_not_sorted():
    """java.util.PriorityQueue: after the head of 0 1 2 3 is removed the array is 1 3 2 (KAFKA-8483)."""
    client = Client(HeapOrder, **FOUR)
    client.send(times=4)
    client.do("handle_produce", "p1")
    client.do("receive_response", "p1")
    assert list(client.of("in_flight")) == [1, 3, 2]


# The catalogue.

SCENARIOS = [scenario for entry in registry.load_family("producer").entries for scenario in entry.scenarios]


def test_every_entry_has_a_scenario():
    """I1 to I13 and I15, each with a violated scenario and one that holds."""
    for entry in [*range(1, 14), 15]:
        own = [s for s in SCENARIOS if s.name.startswith(f"i{entry}_")]
        assert any(s.expect == "holds" for s in own), entry
        assert any(s.expect != "holds" for s in own), entry


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        (
            "i7_restart",
            "drain drain handle_produce handle_produce restart_broker drain handle_produce receive_response "
            "bump_epoch drain handle_produce",
        ),
        (
            "i3_bump_rewrites_earlier_batches",
            "drain drain append_but_time_out receive_response reject_permanently receive_response bump_epoch drain "
            "handle_produce",
        ),
        (
            "i1_cache_of_one",
            "drain drain handle_produce handle_produce disconnect drain handle_produce receive_response bump_epoch "
            "drain handle_produce",
        ),
    ],
)
def test_schedule_ends_with_a_duplicate(name, schedule):
    """A counterexample step by step: a batch is in the log twice at its end, and not before."""
    scenario = next(s for s in SCENARIOS if s.name == name)
    spec = scenario.spec(**scenario.constants)
    state = spec.initial_states()[0]
    for step in schedule.split():
        assert spec.holds("no_duplicate", state)
        state = spec.step(state, step, *([] if step == "bump_epoch" else ["p1"]))
    assert not spec.holds("no_duplicate", state)
