"""The producer step by step: the cases of Kafka's RecordAccumulatorTest, SenderTest and KafkaProducerTest."""

import pytest

from checker.testing import is_enabled, play
from specs.producer.acks import Acks
from specs.producer.plain.configured import ConfiguredProducer
from specs.producer.plain.drain import Drain
from specs.producer.plain.producer import PlainProducer
from specs.producer.plain.sender import Batch, Error, Stage
from specs.producer.plain.sequence_checked import SequenceCheckedProducer
from specs.producer.plain.sessions import ProducerSessions
from tests.specs.counterexamples import counterexample, violated_properties


def sends(*records):
    return [f"application_send {record}" for record in records]


def drained_and_appended(times=1):
    return ["sender_drain 0", "broker_append n1", "receive_response n1"] * times


def records_of(batches):
    """Return the record ids of each batch."""
    return [list(batch.records) for batch in batches]


def queued(state, partition=0):
    return records_of(state.queue[partition])


def in_flight(state, node=0):
    return records_of(state.in_flight.items_in_order()[node])


def futures(state):
    return [future.value for future in state.future.items_in_order()]


def offsets(state):
    return list(state.offset.items_in_order())


def log(state, partition=0):
    return list(state.log[partition])


def muted(state):
    return list(state.muted)


# The accumulator: RecordAccumulatorTest.


def test_full_batch_is_followed_by_another():
    """RecordAccumulatorTest.testFull: records go to one batch until it is full, the next record to a new batch."""
    spec = PlainProducer(records=3, batch_size=2)
    state = play(spec, *sends(1, 2))
    assert queued(state) == [[1, 2]]
    state = play(spec, *sends(3), state=state)
    assert queued(state) == [[1, 2], [3]]
    assert in_flight(play(spec, "sender_drain 0", state=state)) == [[1, 2]]


def test_drained_batch_takes_no_more_records():
    """RecordAccumulatorTest.testFull, after a retry: a batch that was drained and re-enqueued is closed for appends."""
    spec = PlainProducer(records=2, batch_size=2, refusals=1)
    state = play(spec, *sends(1), "sender_drain 0", "broker_refuse n1", "receive_response n1", *sends(2))
    assert queued(state) == [[1], [2]]


def test_one_batch_of_a_partition_each_drain():
    """RecordAccumulatorTest.testStressfulSituation, small: a drain takes the first batch only, in order."""
    spec = PlainProducer(records=3, max_in_flight=5)
    state = play(spec, *sends(1, 2, 3), "sender_drain 0")
    assert (queued(state), in_flight(state)) == ([[2], [3]], [[1]])
    state = play(spec, "sender_drain 0", state=state)
    assert (queued(state), in_flight(state)) == ([[3]], [[1], [2]])


def test_request_is_bounded():
    """RecordAccumulatorTest.testPartialDrain: two partitions have a batch, the request holds one."""
    spec = Drain()
    state = play(spec, "application_send 0", "application_send 1", "drain 0")
    assert list(state.drained) == [0]
    assert state.queue[1] == 1


def test_drains_take_turns():
    """RecordAccumulatorTest.testDrainBatches.

    A full request ends the drain, the next begins with the batch that did not fit.
    """
    spec = Drain(nodes=2, partitions=4)
    state = play(spec, *(f"application_send {p}" for p in (0, 1, 2, 3)))
    state = play(spec, "drain 0", state=state)
    assert list(state.drained) == [0]
    state = play(spec, "drain 1", state=state)
    assert list(state.drained) == [2]
    state = play(spec, "application_send 0", "application_send 2", "drain 0", state=state)
    assert list(state.drained) == [1]
    state = play(spec, "drain 1", state=state)
    assert list(state.drained) == [3]
    assert list(play(spec, "drain 0", state=state).drained) == [0]
    assert list(play(spec, "drain 1", state=state).drained) == [2]


def test_muted_partition_loses_its_turn_only():
    """RecordAccumulatorTest.testDrainBatches, with one partition muted: the node's other partition is drained."""
    spec = Drain(nodes=2, partitions=4)
    sent = [f"application_send {p}" for p in (2, 3)]
    assert list(play(spec, *sent, "mute 2", "drain 1").drained) == [3]
    state = play(spec, *sent, "mute 2", "drain 1", "application_send 3", "unmute 2", "drain 1", "drain 1")
    assert (state.queue[2], state.queue[3]) == (0, 0)


def test_large_request_takes_a_batch_of_each_partition():
    """RecordAccumulatorTest.testDrainBatches, last part: without a bound every partition of the node is drained."""
    spec = Drain(partitions=3, batches=2, request_size=3)
    state = play(spec, *(f"application_send {p}" for p in (0, 0, 1, 2)), "drain 0")
    assert list(state.drained) == [0, 1, 2]
    assert state.queue[0] == 1


def test_muted_partition_is_neither_ready_nor_drained():
    """RecordAccumulatorTest.testMutedPartitions."""
    spec = Drain()
    state = play(spec, "application_send 0", "mute 0")
    assert not is_enabled(spec, state, "drain 0")
    state = play(spec, "unmute 0", state=state)
    assert list(play(spec, "drain 0", state=state).drained) == [0]


def test_backoff_holds_one_partition_back():
    """RecordAccumulatorTest.testRetryBackoff: while a retry backs off, the node's other partition is drained."""
    spec = Drain(request_size=2)
    state = play(spec, "application_send 0", "drain 0", "reenqueue 0")
    assert not is_enabled(spec, state, "drain 0")
    state = play(spec, "application_send 1", "drain 0", state=state)
    assert list(state.drained) == [1]
    state = play(spec, "backoff_ends 0", "drain 0", state=state)
    assert list(state.drained) == [0]


def test_new_leader_ends_the_backoff_of_one_retry():
    """RecordAccumulatorTest.testReadyAndDrainWhenABatchIsBeingRetried: of the ongoing retry only, not of the next."""
    spec = Drain()
    state = play(spec, "application_send 0", "drain 0", "reenqueue 0", "backoff_ends 0", "drain 0", "reenqueue 0")
    assert not is_enabled(spec, state, "drain 0")


def test_retried_batch_goes_to_the_head():
    """RecordAccumulatorTest.testRetryBackoff and reenqueue: a failed batch is sent before later batches."""
    spec = PlainProducer(records=2, refusals=1)
    state = play(spec, *sends(1), "sender_drain 0", *sends(2), "broker_refuse n1", "receive_response n1")
    assert queued(state) == [[1], [2]]
    assert state.queue[0][0].attempts == 1


def test_split_batch_is_sent_part_by_part():
    """RecordAccumulatorTest.testSplitAndReenqueue: the parts are at the head in order; each record gets its offset."""
    spec = PlainProducer(records=3, batch_size=2, broker_limit=1, retries=0)
    state = play(spec, *sends(1, 2, 3), "sender_drain 0", "broker_finds_batch_too_large n1", "receive_response n1")
    assert queued(state) == [[1], [2], [3]]
    assert [batch.attempts for batch in state.queue[0]] == [0, 0, 0]
    state = play(spec, *drained_and_appended(), state=state)
    assert (futures(state)[:2], offsets(state)[:2]) == (["succeeded", "pending"], [0, None])
    state = play(spec, *drained_and_appended(2), state=state)
    assert offsets(state) == [0, 1, 2]


def test_split_parts_take_no_more_records():
    """RecordAccumulatorTest.testSplitBatchOffAccumulator: a split batch is closed for appends."""
    spec = PlainProducer(records=3, batch_size=2, broker_limit=1)
    state = play(spec, *sends(1, 2), "sender_drain 0", "broker_finds_batch_too_large n1", "receive_response n1")
    assert queued(play(spec, *sends(3), state=state)) == [[1], [2], [3]]


def test_queued_batches_of_a_muted_partition_expire():
    """RecordAccumulatorTest.testExpiredBatches: mute does not keep a queued batch from expiring."""
    spec = PlainProducer(records=2, delivery_timeouts=True, retries=0)
    state = play(spec, *sends(1, 2), "sender_drain 0")
    assert muted(state) == [0]
    state = play(spec, "delivery_timeout", "delivery_timeout", state=state)
    assert (queued(state), futures(state)) == ([], ["failed", "failed"])


def test_retry_expires_in_the_queue():
    """RecordAccumulatorTest.testExpiredBatchesRetry: a batch that waits for its retry expires like any other."""
    spec = PlainProducer(records=1, delivery_timeouts=True, refusals=1)
    state = play(spec, *sends(1), "sender_drain 0", "broker_refuse n1", "receive_response n1", "delivery_timeout")
    assert (queued(state), futures(state)) == ([], ["failed"])


def test_batches_expire_in_send_order():
    """RecordAccumulatorTest.testExpiredBatchSingle: the first batch expires, a later one of the queue stays."""
    spec = PlainProducer(records=2, delivery_timeouts=True)
    state = play(spec, *sends(1, 2), "delivery_timeout")
    assert (queued(state), futures(state)) == ([[2]], ["failed", "pending"])


# The sender: SenderTest.


def test_simple():
    """SenderTest.testSimple: one record, one request, one offset."""
    state = play(PlainProducer(records=1), *sends(1), *drained_and_appended())
    assert (futures(state), offsets(state), in_flight(state)) == (["succeeded"], [0], [])


def test_retry_after_disconnect_and_no_more_than_retries():
    """SenderTest.testRetries: with retries=1 a batch survives one disconnect, and the second fails it."""
    spec = PlainProducer(records=1, disconnects=2, retries=1)
    once = play(spec, *sends(1), "sender_drain 0", "connection_closed n1", "sender_drain 0")
    assert in_flight(once) == [[1]]
    state = play(spec, "broker_append n1", "receive_response n1", state=once)
    assert (futures(state), offsets(state)) == (["succeeded"], [0])
    state = play(spec, "connection_closed n1", state=once)
    assert (futures(state), queued(state)) == (["failed"], [])


def test_error_that_is_not_retriable():
    """SenderTest.testCanRetryWithoutIdempotence: TOPIC_AUTHORIZATION_FAILED fails the batch at once."""
    spec = PlainProducer(records=1, rejections=1, retries=5)
    state = play(spec, *sends(1), "sender_drain 0", "broker_reject n1", "receive_response n1")
    assert (futures(state), queued(state)) == (["failed"], [])


def test_order_is_kept_when_the_leader_moves():
    """SenderTest.testSendInOrder.

    With one request in flight the second batch waits, although another node leads now.
    """
    spec = PlainProducer(records=2, nodes=2, leader_moves=1)
    state = play(spec, *sends(1), "sender_drain 0", *sends(2), "broker_append n1", "leader_moves_to 0 n2")
    state = play(spec, "metadata_update 0", state=state)
    assert not is_enabled(spec, state, "sender_drain 0")
    state = play(spec, "receive_response n1", "sender_drain 0", state=state)
    assert (in_flight(state, 0), in_flight(state, 1)) == ([], [[2]])


def test_responses_complete_in_send_order():
    """InFlightRequestsTest.testCompleteNext: of three requests in flight the oldest is completed first."""
    spec = PlainProducer(records=3, max_in_flight=3)
    state = play(spec, *sends(1, 2, 3), *["sender_drain 0"] * 3, *["broker_append n1"] * 3)
    state = play(spec, "receive_response n1", state=state)
    assert (futures(state), in_flight(state)) == (["succeeded", "pending", "pending"], [[2], [3]])


def test_in_flight_batch_expires():
    """SenderTest.testInflightBatchesExpireOnDeliveryTimeout: the future fails although the broker has answered."""
    spec = PlainProducer(records=1, delivery_timeouts=True)
    state = play(spec, *sends(1), "sender_drain 0", "broker_append n1", "delivery_timeout")
    assert futures(state) == ["failed"]
    state = play(spec, "receive_response n1", state=state)
    assert (futures(state), log(state)) == (["failed"], [1])


def test_second_batch_waits_for_the_answer_to_an_expired_one():
    """SenderTest.testWhenFirstBatchExpireNoSendSecondBatchIfGuaranteeOrder: expiry does not unmute the partition."""
    spec = PlainProducer(records=2, delivery_timeouts=True)
    state = play(spec, *sends(1), "sender_drain 0", *sends(2), "delivery_timeout")
    assert not is_enabled(spec, state, "sender_drain 0")
    state = play(spec, "broker_append n1", "receive_response n1", "sender_drain 0", state=state)
    assert in_flight(state) == [[2]]


def test_expired_batch_is_not_retried():
    """SenderTest.testExpiredBatchDoesNotRetry: a retriable error after the delivery timeout causes no retry."""
    spec = PlainProducer(records=1, nodes=2, leader_moves=1, retries=5, delivery_timeouts=True)
    state = play(spec, *sends(1), "leader_moves_to 0 n2", "sender_drain 0", "delivery_timeout")
    state = play(spec, "broker_is_not_leader n1", "receive_response n1", state=state)
    assert (queued(state), in_flight(state), futures(state)) == ([], [], ["failed"])


def test_expired_batch_is_not_split():
    """SenderTest.testExpiredBatchDoesNotSplitOnMessageTooLargeError."""
    spec = PlainProducer(records=2, batch_size=2, broker_limit=1, delivery_timeouts=True)
    state = play(spec, *sends(1, 2), "sender_drain 0", "broker_finds_batch_too_large n1", "delivery_timeout")
    state = play(spec, "receive_response n1", state=state)
    assert (queued(state), futures(state)) == ([], ["failed", "failed"])


def test_too_large_batch_leaves_nothing_in_flight():
    """SenderTest.testTooLargeBatchesAreSafelyRemoved: after a split the large batch is in no list."""
    spec = PlainProducer(records=2, batch_size=2, broker_limit=1, delivery_timeouts=True)
    state = play(spec, *sends(1, 2), "sender_drain 0", "broker_finds_batch_too_large n1", "receive_response n1")
    assert in_flight(state) == []
    state = play(spec, *drained_and_appended(2), "delivery_timeout", "delivery_timeout", state=state)
    assert futures(state) == ["succeeded", "succeeded"]


def test_single_record_that_is_too_large_fails():
    """Sender.completeBatch: MESSAGE_TOO_LARGE for one record is final."""
    spec = PlainProducer(records=1, broker_limit=0, retries=5)
    state = play(spec, *sends(1), "sender_drain 0", "broker_finds_batch_too_large n1", "receive_response n1")
    assert (futures(state), queued(state)) == (["failed"], [])


def test_batches_of_several_partitions_expire():
    """SenderTest.testExpiredBatchesInMultiplePartitions."""
    spec = PlainProducer(records=2, partitions=2, max_in_flight=2, delivery_timeouts=True)
    state = play(spec, *sends(1, 2), "sender_drain 0", "sender_drain 1", "delivery_timeout", "delivery_timeout")
    assert futures(state) == ["failed", "failed"]


def test_expired_batch_fails_once():
    """SenderTest.testNoDoubleDeallocation: a closed connection does not change a batch that has expired."""
    spec = PlainProducer(records=1, delivery_timeouts=True, disconnects=1)
    state = play(spec, *sends(1), "sender_drain 0", "delivery_timeout", "connection_closed n1")
    assert (futures(state), queued(state), in_flight(state), muted(state)) == (["failed"], [], [], [])


def test_leader_change_sends_the_retry_to_the_new_leader():
    """SenderTest.testWhenProduceResponseReturnsWithALeaderShipChangeErrorAndNewLeaderInformation, without the hint."""
    spec = PlainProducer(records=1, nodes=2, leader_moves=1)
    state = play(spec, *sends(1), "sender_drain 0", "leader_moves_to 0 n2", "broker_is_not_leader n1")
    state = play(spec, "receive_response n1", "metadata_update 0", "sender_drain 0", "broker_append n2", state=state)
    assert log(state) == [1]


def test_partition_is_unmuted_by_every_outcome():
    """Sender.completeBatch: success, failure, retry and split all unmute."""
    spec = PlainProducer(records=2, batch_size=2, broker_limit=2, refusals=1, rejections=1, retries=1)
    for outcome in ("broker_append n1", "broker_refuse n1", "broker_reject n1"):
        state = play(spec, *sends(1), "sender_drain 0", outcome)
        assert muted(state) == [0]
        assert muted(play(spec, "receive_response n1", state=state)) == []
    spec = PlainProducer(records=2, batch_size=2, broker_limit=1)
    state = play(spec, *sends(1, 2), "sender_drain 0", "broker_finds_batch_too_large n1", "receive_response n1")
    assert muted(state) == []


def test_cap_counts_requests_of_a_node():
    """InFlightRequests.canSendMore: at most max_in_flight requests on one connection."""
    spec = PlainProducer(records=3, max_in_flight=2)
    state = play(spec, *sends(1, 2, 3), "sender_drain 0", "sender_drain 0")
    assert not is_enabled(spec, state, "sender_drain 0")
    state = play(spec, "broker_append n1", "receive_response n1", state=state)
    assert is_enabled(spec, state, "sender_drain 0")


def test_disconnect_fails_the_oldest_batch_in_flight_first():
    """NetworkClientTest.testDisconnectWithMultipleInFlights; with addFirst the queue is then reversed."""
    spec = PlainProducer(records=2, max_in_flight=2, disconnects=1)
    state = play(spec, *sends(1, 2), "sender_drain 0", "sender_drain 0", "connection_closed n1")
    assert queued(state) == [[2], [1]]


def test_acks_0_is_complete_when_written():
    """NetworkClient.handleCompletedSends, InFlightRequests.canSendMore: success without an offset, then the next."""
    spec = PlainProducer(records=2, acks="0", max_in_flight=2)
    writing = play(spec, *sends(1, 2), "sender_drain 0")
    assert not is_enabled(spec, writing, "broker_append n1") and not is_enabled(spec, writing, "sender_drain 0")
    written = play(spec, "sender_finish_write n1", state=writing)
    assert futures(written) == ["pending", "pending"] and is_enabled(spec, written, "broker_append n1")
    assert not is_enabled(spec, written, "sender_finish_write n1") and not is_enabled(spec, written, "sender_drain 0")
    reported = play(spec, "sender_report_success n1", state=written)
    assert (futures(reported), offsets(reported)) == (["succeeded", "pending"], [None, None])
    assert in_flight(reported) == [] and is_enabled(spec, reported, "sender_drain 0")


def test_acks_0_duplicates_if_the_process_dies_before_the_callback():
    """A written request whose success is not reported is in the log; the successor sends its record again."""
    spec = PlainProducer(records=1, acks="0", restarts=1)
    sent = [*sends(1), "sender_drain 0", "sender_finish_write n1", "broker_append n1"]
    assert log(play(spec, *sent, "producer_restart", *sent)) == [1, 1]
    assert not is_enabled(spec, play(spec, *sent, "sender_report_success n1", "producer_restart"), *sends(1))


@pytest.mark.parametrize(("retries", "future", "again"), [(1, "pending", [[1]]), (0, "failed", [])])
def test_acks_0_retries_a_request_that_is_written_in_part(retries, future, again):
    """Sender.handleProduceResponse, wasDisconnected: NETWORK_EXCEPTION, as for any acks."""
    spec = PlainProducer(records=1, acks="0", retries=retries, disconnects=1)
    state = play(spec, *sends(1), "sender_drain 0", "connection_closed n1")
    assert (futures(state), queued(state), muted(state)) == ([future], again, [])
    state = play(spec, *sends(1), "sender_drain 0", "sender_finish_write n1", "connection_closed n1")
    assert (futures(state), queued(state), muted(state)) == (["succeeded"], [], [])


def test_acks_0_writes_a_request_whose_batch_has_expired():
    """Sender.getExpiredInflightBatches completes the batch; the request remains in NetworkClient."""
    spec = PlainProducer(records=1, acks="0", delivery_timeouts=True)
    state = play(spec, *sends(1), "sender_drain 0", "delivery_timeout", "sender_finish_write n1", "broker_append n1")
    assert (futures(state), log(state), in_flight(state), muted(state)) == (["failed"], [1], [], [])


def test_acks_0_error_closes_the_connection():
    """KafkaApis.handleProduceRequest: an error without a response closes the connection, which loses later requests."""
    spec = PlainProducer(records=2, acks="0", refusals=1)
    written = ["sender_drain 0", "sender_finish_write n1", "sender_report_success n1"]
    state = play(spec, *sends(1, 2), *written, *written, "broker_refuse n1")
    assert not is_enabled(spec, state, "broker_append n1")
    assert not spec.holds("no_acked_loss", state)
    state = play(spec, *sends(1, 2), *written, "sender_drain 0", "broker_refuse n1")
    assert (queued(state), in_flight(state)) == ([[2]], [])


def test_sequences_answer_a_retry_with_its_first_offset():
    """UnifiedLogTest.testDuplicateAppends: the duplicate is not appended and gets the offset of the original."""
    spec = SequenceCheckedProducer(records=2, disconnects=1)
    state = play(spec, *sends(1), *drained_and_appended(), *sends(2), "sender_drain 0", "broker_append n1")
    state = play(spec, "connection_closed n1", "sender_drain 0", "broker_append n1", "receive_response n1", state=state)
    assert (log(state), offsets(state)) == ([1, 2], [0, 1])


def test_parts_of_a_split_batch_keep_their_sequences():
    """SenderTest.testIdempotentSplitBatchAndSend: the parts are sent one by one, before later batches."""
    spec = SequenceCheckedProducer(records=3, batch_size=2, broker_limit=1, max_in_flight=2, retries=2)
    state = play(spec, *sends(1, 2, 3), "sender_drain 0", "sender_drain 0")
    state = play(spec, "broker_finds_batch_too_large n1", "broker_append n1", "receive_response n1", state=state)
    assert (log(state), queued(state), in_flight(state)) == ([], [[1], [2]], [[3]])
    state = play(spec, "receive_response n1", *drained_and_appended(3), state=state)
    assert (log(state), offsets(state)) == ([1, 2, 3], [0, 1, 2])


def test_split_retries_stay_in_sequence_order():
    """RecordAccumulator.splitAndReenqueue with a transaction manager: a part goes behind earlier retries."""
    spec = SequenceCheckedProducer(records=4, batch_size=2, broker_limit=1, max_in_flight=2, retries=2, refusals=1)
    state = play(spec, *sends(1, 2, 3, 4), "sender_drain 0", "sender_drain 0")
    state = play(spec, "broker_refuse n1", "broker_finds_batch_too_large n1", state=state)
    state = play(spec, "receive_response n1", "receive_response n1", state=state)
    assert queued(state) == [[1, 2], [3], [4]]


def test_restarted_idempotent_producer_has_a_new_session():
    """Each session has a producer id: the broker takes a copy from another session as new, but recognises a retry."""
    spec = ProducerSessions(records=1, disconnects=1)
    state = play(spec, *sends(1), "sender_drain 0", "broker_append n1", "producer_restart", *sends(1))
    state = play(spec, "sender_drain 0", "broker_append n1", "connection_closed n1", state=state)
    state = play(spec, *drained_and_appended(), state=state)
    assert (log(state), offsets(state)) == ([1, 1], [1])


# The configuration: KafkaProducerTest.


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        # testAcksAndIdempotenceForIdempotentProducers
        (dict(acks="0", enable_idempotence="false"), "plain"),
        (dict(acks="all", enable_idempotence="false"), "plain"),
        (dict(), "idempotent"),
        (dict(acks="0"), "plain"),
        (dict(acks="1"), "plain"),
        (dict(acks="1", enable_idempotence="true"), "refused"),
        (dict(acks="0", enable_idempotence="true"), "refused"),
        # testRetriesAndIdempotenceForIdempotentProducers
        (dict(retries=0, enable_idempotence="false"), "plain"),
        (dict(retries=0), "plain"),
        (dict(retries=0, enable_idempotence="true"), "refused"),
        (dict(retries=1), "idempotent"),
        # testInflightRequestsAndIdempotenceForIdempotentProducers
        (dict(max_in_flight=6, enable_idempotence="false"), "plain"),
        (dict(max_in_flight=6), "plain"),
        (dict(max_in_flight=6, enable_idempotence="true"), "refused"),
        (dict(max_in_flight=5), "idempotent"),
        # KAFKA-17927
        (dict(version="4.0.0", max_in_flight=6), "refused"),
        (dict(version="4.0.0", max_in_flight=6, enable_idempotence="false"), "plain"),
        (dict(version="4.0.0", acks="1"), "plain"),
        # KAFKA-13598
        (dict(version="2.8.0"), "plain"),
        (dict(version="3.0.0"), "plain"),
        (dict(version="3.1.0"), "plain"),
        (dict(version="3.0.0", enable_idempotence="true"), "idempotent"),
        (dict(version="3.0.1"), "idempotent"),
        (dict(version="3.1.1"), "idempotent"),
        (dict(version="2.8.0", enable_idempotence="true"), "idempotent"),
    ],
)
def test_configuration(settings, outcome):
    """The producer that ProducerConfig makes of settings: idempotent, plain, or none."""
    spec = ConfiguredProducer(**settings)
    found = "refused" if spec.is_refused() else "idempotent" if spec.is_sequence_checked() else "plain"
    assert found == outcome
    assert is_enabled(spec, spec.initial_states()[0], "application_send 1") == (outcome != "refused")


# Acknowledgements and replicas.


def test_acks_all_is_refused_below_min_isr_and_acks_1_is_not():
    """ReplicaManager and Partition.appendRecordsToLeader: only acks=all checks min.insync.replicas."""
    alone = dict(min_insync_replicas=2, starts_in_sync=False)
    state = play(Acks(acks="1", **alone), "producer_send", "leader_append")
    assert list(state.acked) == [1]
    spec = Acks(acks="all", **alone)
    state = play(spec, "producer_send")
    assert not is_enabled(spec, state, "leader_append")
    assert is_enabled(spec, state, "leader_refuse")


def test_acks_all_waits_for_every_in_sync_replica():
    """DelayedProduce: answered when the high watermark is past the append."""
    spec = Acks(acks="all")
    state = play(spec, "producer_send", "leader_append")
    assert not is_enabled(spec, state, "leader_increment_high_watermark")
    state = play(spec, "follower_fetch n2", "leader_increment_high_watermark", "leader_acknowledge", state=state)
    assert list(state.acked) == [1]


# Counterexamples of the scenarios.


def test_p1_retry_reorders():
    """Two in flight, the first refused and the second appended: the log has them in reverse order."""
    actions, state = counterexample("producer/plain_producer/p1_reorder_by_retry", "no_reorder")
    assert sorted(actions[:4]) == ["application_send"] * 2 + ["sender_drain"] * 2
    assert "broker_refuse" in actions
    assert log(state) == [2, 1]


def test_p2_reenqueue_reorders():
    """The connection closes before an append; the retries are appended in reverse order."""
    actions, state = counterexample("producer/plain_producer/p2_reorder_by_reenqueue", "no_reorder")
    assert actions.index("connection_closed") < actions.index("broker_append")
    assert log(state) == [2, 1]


def test_p4_leader_move_reorders():
    """The second batch is appended at the new leader while the first comes back from the old one."""
    actions, state = counterexample("producer/plain_producer/p4_reorder_when_leader_moves", "no_reorder")
    assert "leader_moves_to" in actions and "broker_is_not_leader" in actions
    assert log(state) == [2, 1]


def test_p9_restart_duplicates():
    """Appended, not acknowledged, restarted, sent again."""
    actions, state = counterexample("producer/plain_producer/p9_duplicate_by_restart", "no_duplicate")
    assert actions == [
        "application_send",
        "sender_drain",
        "broker_append",
        "producer_restart",
        "application_send",
        "sender_drain",
        "broker_append",
    ]
    assert log(state) == [1, 1]


# Deliberate bugs: each rule is necessary.


class ForgetsToUnmute(PlainProducer):
    """A sender that leaves a partition muted after a failed attempt."""

    def complete(self, batch, error, base):
        super().complete(batch, error, base)
        if error != Error.NONE:
            self.muted.add(batch.partition)


class ExpiryCompletesTheRequest(PlainProducer):
    """A client that removes an expired batch from the requests in flight: responses complete the wrong request."""

    def expire_in_flight(self, node):
        for _ in range(len(self.in_flight[node])):
            if self.is_overdue(self.in_flight[node][0]):
                batch = self.in_flight[node].pop(0)
                self.fail(batch)
                self.muted.discard(batch.partition)


class SplitToTheTail(PlainProducer):
    """An accumulator that puts the parts of a split batch at the end of the queue."""

    def split(self, batch):
        for record in batch.records:
            part = Batch(partition=batch.partition, records={record}, attempts=0, stage=Stage.CLOSED)
            self.queue[batch.partition].append(part)


class AppendsTwice(SequenceCheckedProducer):
    """A broker that neither recognises duplicates nor checks sequences."""

    def is_duplicate(self, request):
        return False

    def follows(self, request):
        return True


def test_partition_that_stays_muted_is_stuck():
    spec = ForgetsToUnmute(records=1, refusals=1)
    found = violated_properties(spec, "deadlock", "muted_while_in_flight", deadlock=True)
    assert set(found) == {"deadlock", "muted_while_in_flight"}


def test_requests_stay_in_flight_until_they_are_answered():
    spec = ExpiryCompletesTheRequest(delivery_timeouts=True)
    assert "responses_matched_in_order" in violated_properties(spec, "responses_matched_in_order", "ack_true")


def test_parts_of_a_split_batch_go_to_the_head():
    spec = SplitToTheTail(records=3, batch_size=2, broker_limit=1)
    assert "no_reorder" in violated_properties(spec, "no_reorder")


def test_duplicate_check_is_necessary():
    spec = AppendsTwice(records=1, disconnects=1)
    assert "no_duplicate" in violated_properties(spec, "no_duplicate")
