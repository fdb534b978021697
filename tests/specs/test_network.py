"""The broker's network layer step by step: the cases of SocketServerTest, SelectorTest and InFlightRequestsTest."""

import pytest

from checker.language import action, require
from checker.testing import is_enabled, play
from specs.broker.network import BrokerNetwork, Connection, SequenceCheckedBroker
from tests.specs.counterexamples import counterexample, violated_properties

SENT = ("application_send 1", "application_send 2", "sender_drain 0", "sender_drain 0")
"""Two batches in transit over the same connection."""


def futures(state):
    return [future.value for future in state.future.items_in_order()]


def log(state):
    return list(state.log[0])


def in_flight(state):
    return [list(batch.records) for batch in state.in_flight.items_in_order()[0]]


def test_channel_is_muted_until_its_response_is_sent():
    """SelectorTest.testMute, SocketServerTest.testUnmuteChannelWithBufferedReceives: the next request stays unread."""
    spec = BrokerNetwork(acks="1", max_in_flight=2)
    state = play(spec, *SENT, "processor_receive 0")
    for step in ("handler_take h1", "handler_append h1"):
        assert not is_enabled(spec, state, "processor_receive 0")
        state = play(spec, step, state=state)
    assert is_enabled(spec, state, "processor_receive 0")


def test_mute_lasts_while_an_append_waits_for_replicas():
    """KafkaChannel, MUTED_AND_RESPONSE_PENDING: with acks=all the handler is done before the response."""
    spec = BrokerNetwork(max_in_flight=2)
    state = play(spec, *SENT, "processor_receive 0", "handler_take h1", "handler_append h1")
    assert state.handling.items_in_order() == (None, None)
    assert not is_enabled(spec, state, "processor_receive 0")
    assert is_enabled(spec, play(spec, "purgatory_complete", state=state), "processor_receive 0")


def test_one_request_per_poll():
    """Selector.poll: one of two requests in a connection's socket is received."""
    spec = BrokerNetwork(max_in_flight=2)
    state = play(spec, *SENT, "processor_receive 0")
    assert (len(state.request_queue), len(state.socket[0])) == (1, 1)


def test_queue_is_bounded():
    """RequestChannel: if queued.max.requests are queued, the processor waits."""
    spec = BrokerNetwork(max_in_flight=2, queue_size=1, mute_until="never")
    state = play(spec, *SENT, "processor_receive 0")
    assert not is_enabled(spec, state, "processor_receive 0")
    assert is_enabled(spec, play(spec, "handler_take h1", state=state), "processor_receive 0")


def test_any_idle_handler_takes_the_oldest_request():
    """KafkaRequestHandlerPool: handlers share the queue, and a busy one takes nothing."""
    spec = BrokerNetwork(max_in_flight=2, mute_until="never")
    state = play(spec, *SENT, "processor_receive 0", "processor_receive 0", "handler_take h2")
    assert not is_enabled(spec, state, "handler_take h2")
    state = play(spec, "handler_take h1", state=state)
    assert [list(received.records) for received in state.handling.items_in_order()] == [[2], [1]]


def test_requests_of_a_closed_connection_are_executed():
    """SocketServerTest.testClientDisconnectionWithOutstandingReceivesProcessedUntilFailedSend."""
    spec = BrokerNetwork(acks="1", max_in_flight=2, disconnects=1, retries=0)
    state = play(spec, *SENT, "processor_receive 0", "connection_closed n1")
    assert (futures(state), in_flight(state)) == (["failed", "failed"], [])
    state = play(spec, "handler_take h1", "handler_append h1", state=state)
    assert (log(state), len(state.responses)) == ([1], 0)
    state = play(spec, "processor_receive 0", "handler_take h1", "handler_append h1", state=state)
    assert log(state) == [1, 2]


def test_unread_requests_of_a_closed_connection_may_be_lost():
    """SelectorTest.testExpireClosedConnectionWithPendingReceives: the requests left in its socket may stay unread."""
    spec = BrokerNetwork(acks="1", max_in_flight=2, disconnects=1)
    state = play(spec, *SENT, "connection_closed n1", "processor_discard 0")
    assert not is_enabled(spec, state, "processor_receive 0")


def test_open_connection_keeps_its_requests():
    """A processor does not discard the requests of an open connection."""
    spec = BrokerNetwork(max_in_flight=2, disconnects=1)
    assert not is_enabled(spec, play(spec, *SENT), "processor_discard 0")


def test_new_connection_is_not_muted():
    """SocketServer: mute belongs to a channel, so the retry on a new one is read while the old request is processed."""
    spec = BrokerNetwork(acks="1", disconnects=1)
    state = play(spec, "application_send 1", "sender_drain 0", "processor_receive 0", "connection_closed n1")
    state = play(spec, "sender_drain 0", "processor_receive 1", "handler_take h1", "handler_take h2", state=state)
    assert play(spec, "handler_append h2", "receive_response", state=state).future[1].value == "succeeded"


def test_responses_lost_with_the_connection_are_not_read_on_the_next():
    """InFlightRequestsTest.testClearAll: no request in flight is left for a late response."""
    spec = BrokerNetwork(acks="1", disconnects=1)
    state = play(spec, "application_send 1", "sender_drain 0", "processor_receive 0", "handler_take h1")
    state = play(spec, "handler_append h1", "connection_closed n1", state=state)
    assert not is_enabled(spec, state, "receive_response")
    assert in_flight(state) == []


def test_requests_are_answered_in_order():
    """InFlightRequestsTest.testCompleteNext: with mute, each response answers the oldest request in flight."""
    spec = BrokerNetwork(acks="1", max_in_flight=2)
    served = ("processor_receive 0", "handler_take h1", "handler_append h1")
    state = play(spec, *SENT, *served, *served)
    assert spec.holds("responses_matched_in_order", state)
    state = play(spec, "receive_response", "receive_response", state=state)
    assert list(state.offset.items_in_order()) == [0, 1]


def test_nothing_to_complete_without_a_response():
    """InFlightRequestsTest.testCompleteNextThrowsIfNoInflights: a response is read only if it has arrived."""
    spec = BrokerNetwork()
    assert not is_enabled(spec, spec.initial_states()[0], "receive_response")


@pytest.mark.parametrize("first", ["h1", "h2"])
def test_sequences_admit_one_copy(first):
    """P12 with sequences, both ways: the retry first or the zombie first, the record is in the log once."""
    spec = SequenceCheckedBroker(disconnects=1)
    state = play(spec, "application_send 1", "sender_drain 0", "processor_receive 0", "connection_closed n1")
    state = play(spec, "sender_drain 0", "processor_receive 1", "handler_take h1", "handler_take h2", state=state)
    second = "h2" if first == "h1" else "h1"
    state = play(spec, f"handler_append {first}", f"handler_append {second}", state=state)
    assert log(state) == [1]


# Counterexamples of the scenarios.


def test_n1_without_mute_reorders():
    """Two handlers process requests of one connection, and the second appends first."""
    actions, state = counterexample("broker/broker_network/n1_no_mute", "no_reorder")
    assert actions[-4:] == ["handler_take", "handler_take", "handler_append", "handler_append"]
    assert log(state) == [2, 1]


def test_p12_zombie_request_is_appended_last():
    """The retry and the next batch are appended, then the request of the closed connection."""
    _, state = counterexample("broker/broker_network/p12_zombie_request", "no_late_copy")
    assert log(state) == [1, 2, 1]


WRITTEN_1 = ["application_send 1", "sender_drain 0", "sender_finish_write n1", "sender_report_success n1"]


def test_acks_0_sends_no_response_and_unmutes():
    """Processor.processNewResponses, NoOpResponse: the channel is read again."""
    spec = BrokerNetwork(acks="0")
    handled = ["processor_receive 0", "handler_take h1", "handler_append h1"]
    state = play(spec, *WRITTEN_1, *handled)
    assert (len(state.responses), len(state.muted_channels), list(state.log[0])) == (0, 0, [1])


def test_an_error_with_acks_0_closes_the_connection():
    """KafkaApis.handleProduceRequest: the requests that the processor has not read are lost."""
    spec = BrokerNetwork(acks="0", refusals=1)
    refused = ["processor_receive 0", "handler_take h1", "handler_refuse h1"]
    second = [*WRITTEN_1[1:], "application_send 2", *WRITTEN_1[1:]]
    state = play(spec, "application_send 1", *second, *refused)
    with spec.bound():
        assert (state.connection, [len(state.socket[connection]) for connection in Connection]) == (1, [0, 0])
    assert not spec.holds("no_acked_loss", state)


class ClosedSocketsAreNotRead(BrokerNetwork):
    """A broker that never reads the requests left in the socket of a closed connection."""

    @action
    def processor_receive(self, connection: Connection):
        require(connection == self.connection)
        super().processor_receive(connection)


def test_p12_needs_no_closed_socket():
    """P12 as in the catalogue: the zombie is in the request queue or in a handler when its connection closes."""
    assert violated_properties(ClosedSocketsAreNotRead(acks="1", disconnects=1), "no_late_copy") == {"no_late_copy": 17}


class MuteIsForgotten(BrokerNetwork):
    """A broker that does not unmute a channel."""

    def send_response(self, connection, response):
        self.responses.append(response)


def test_channel_that_stays_muted_is_stuck():
    """The deadlock check finds it: the second request is never read."""
    assert violated_properties(MuteIsForgotten(acks="1", max_in_flight=2), "deadlock", deadlock=True) == {"deadlock": 9}
