"""The wait for metadata step by step: the cases of ProducerMetadataTest, MetadataTest and KafkaProducerTest."""

import pytest

from checker.testing import is_enabled, play
from specs.producer.metadata.metadata_wait import (
    MetadataWait,
    OneIsNotified,
    Request,
    Sender,
    VersionReadTooLate,
    WakeupIsForgotten,
)

ASK = ["look t1", "request_update t1", "wake_sender t1"]
SEND = ["check", "poll", "check", "poll"]  # the first poll returns at once, for the wake-up
ANSWER = ["answer", "receive"]


def places(state):
    """Return the positions of the threads, as traces show them."""
    return str(state.at)


def test_no_update_is_requested_at_first():
    """ProducerMetadataTest.testMetadata, "no update needed": a sender that was not woken requests nothing."""
    state = play(MetadataWait(), "check", "poll")
    assert (state.sender, state.request) == (Sender.ASLEEP, Request.NONE)


def test_waiting_threads_are_released_by_one_update():
    """ProducerMetadataTest.testMetadata: two threads wait for the same topic, and one response releases both."""
    spec = MetadataWait(threads=2)
    both = [*ASK, "look t2", "request_update t2", "wake_sender t2", "await_update t1", "await_update t2"]
    state = play(spec, *both)
    assert places(state) == "{t1: waiting, t2: waiting}"
    state = play(spec, *SEND, *ANSWER, "run_again t1", "run_again t2", "look t1", "look t2", state=state)
    assert places(state) == "{t1: done, t2: done}"


def test_request_returns_the_version_that_it_replaces():
    """Metadata.requestUpdate: a thread remembers the version before the update, and the response makes a newer one."""
    spec = MetadataWait(threads=1)
    state = play(spec, *ASK)
    with spec.bound():
        assert str(state.seen) == "{t1: 0}"
    assert play(spec, *SEND, *ANSWER, state=state).version == 1


def test_update_before_the_wait_is_not_missed():
    """ProducerMetadata.awaitUpdate: if the version is already newer, the thread does not wait."""
    spec = MetadataWait(threads=1)
    state = play(spec, *ASK, *SEND, *ANSWER, "await_update t1")
    assert places(state) == "{t1: looking}"


def test_response_fulfils_the_request():
    """ProducerMetadataTest.testRequestUpdateForTopic, MetadataTest.testRequestVersion: no other update is requested."""
    spec = MetadataWait(threads=1)
    state = play(spec, *ASK)
    assert state.update_requested
    state = play(spec, *SEND, *ANSWER, state=state)
    assert not state.update_requested
    assert play(spec, "check", state=state).request == Request.NONE


def test_lost_request_is_sent_again():
    """MetadataTest.testFailedUpdate: a failed update leaves the version unchanged and is repeated."""
    spec = MetadataWait(threads=1, losses=1)
    state = play(spec, *ASK, *SEND, "lose_request")
    assert (state.version, state.update_requested) == (0, True)
    assert play(spec, "check", state=state).request == Request.SENT


def test_one_request_at_a_time():
    """NetworkClient.DefaultMetadataUpdater: while a metadata request is in flight no other is sent."""
    spec = MetadataWait(threads=2)
    state = play(spec, *ASK, *SEND, "look t2", "request_update t2", "wake_sender t2", "check")
    assert state.request == Request.SENT
    state = play(spec, "poll", "answer", "receive", "check", state=state)
    assert state.request == Request.NONE


def test_await_after_close_fails():
    """ProducerMetadataTest.testMetadataAwaitAfterClose: a wait for an update of closed metadata is an error."""
    spec = MetadataWait(threads=1, closes=True)
    assert places(play(spec, "close", *ASK, "await_update t1")) == "{t1: failed}"


def test_close_ends_a_wait():
    """KafkaProducerTest.testCloseWhenWaitingForMetadataUpdate: a thread that waits for metadata fails."""
    spec = MetadataWait(threads=1, closes=True)
    assert places(play(spec, *ASK, "await_update t1", "close", "run_again t1")) == "{t1: failed}"


def test_no_update_after_close():
    """MetadataTest.testMetadataUpdateAfterClose: a response after close is ignored."""
    spec = MetadataWait(threads=1, closes=True)
    assert not is_enabled(spec, play(spec, *ASK, *SEND, "answer", "close"), "receive")


def test_wait_times_out():
    """ProducerMetadataTest.testMetadataUpdateWaitTime: a wait without an update ends with a timeout."""
    spec = MetadataWait(threads=1, timeouts=1)
    assert places(play(spec, *ASK, "await_update t1", "time_out t1")) == "{t1: failed}"


def test_known_topic_needs_no_update():
    """KafkaProducerTest.testMetadataFetch: with a cached topic `send` requests nothing."""
    spec = MetadataWait(threads=2)
    state = play(spec, *ASK, *SEND, *ANSWER, "await_update t1", "look t1", "look t2")
    assert places(state) == "{t1: done, t2: done}"
    assert not state.update_requested


def test_missing_topic_is_requested_again():
    """KafkaProducerTest.testTopicNotExistingInMetadata, testTopicRefreshInMetadata.

    The thread requests another update.
    """
    spec = MetadataWait(threads=1, misses=1)
    state = play(spec, *ASK, "await_update t1", *SEND, "answer_unknown", "receive", "run_again t1", "look t1")
    assert places(state) == "{t1: asking}"
    state = play(spec, "request_update t1", "wake_sender t1", "await_update t1", *SEND, *ANSWER, state=state)
    assert places(play(spec, "run_again t1", "look t1", state=state)) == "{t1: done}"


def test_wakeup_before_poll_is_remembered():
    """Selector.wakeup: the poll that follows returns at once, and the sender finds the request."""
    early = ["check", *ASK, "poll"]
    assert play(MetadataWait(threads=1), *early).sender == Sender.CHECKING
    assert play(WakeupIsForgotten(threads=1), *early).sender == Sender.ASLEEP


def test_spurious_wakeup_is_no_update():
    """SystemTime.waitObject: a thread that wakes without an update tests the condition and waits again."""
    spec = MetadataWait(threads=1, spurious_wakeups=1)
    state = play(spec, *ASK, "await_update t1", "wake_spuriously t1", "run_again t1")
    assert places(state) == "{t1: waiting}"


@pytest.mark.parametrize(
    ("spec", "broken"),
    [
        (VersionReadTooLate(threads=1), "update_is_requested_while_waiting"),
        (OneIsNotified(threads=2), "no_thread_misses_an_update"),
    ],
)
def test_lost_wakeup_is_a_dead_end(spec, broken):
    """Faulty variants: the thread waits for a version that will not come, or that has already arrived."""
    if isinstance(spec, OneIsNotified):
        both = [*ASK, "look t2", "request_update t2", "wake_sender t2", "await_update t1", "await_update t2"]
        state = play(spec, *both, *SEND, *ANSWER)
    else:
        state = play(spec, *ASK, *SEND, *ANSWER, "await_update t1")
    assert not spec.holds(broken, state)
