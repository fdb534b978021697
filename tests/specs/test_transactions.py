"""A transaction that an epoch bump splits, and a sender that does not poll: I14 and I16, step by step."""

import pytest

from checker.language import Disabled
from specs.producer.idempotent.transaction import Fate, Outcome, Transaction
from specs.producer.metadata.sender_poll import Node, SenderPoll


def run(spec, *steps):
    """Return the state after some steps, each an action with its arguments."""
    state = spec.initial_states()[0]
    for action, *arguments in steps:
        state = spec.step(state, action, *arguments)
    return state


def test_epoch_bump_in_a_transaction_aborts_what_was_sent():
    """librdkafka#3575: the first record is aborted by the bump, the second one is committed."""
    spec = Transaction(bumps_in_transaction=True)
    state = run(spec, ["append"], ["refuse"], ["init_producer_id"], ["append"], ["commit"])
    assert [(entry.record, entry.epoch, entry.fate) for entry in state.log] == [
        (0, 0, Fate.ABORTED),
        (1, 1, Fate.COMMITTED),
    ]
    assert state.outcome == Outcome.COMMITTED
    assert not spec.holds("commit_is_whole", state)


def test_refusal_in_a_transaction_of_kafkas_client_needs_an_abort():
    """TransactionManager.handleFailedBatch: an abortable error, after which only an abort is possible."""
    spec = Transaction()
    state = run(spec, ["append"], ["refuse"])
    for action in ("append", "commit", "init_producer_id"):
        with pytest.raises(Disabled):
            spec.step(state, action)
    state = spec.step(state, "abort")
    assert [entry.fate for entry in state.log] == [Fate.ABORTED]


def waiting(**constants):
    """A metadata response waits in the socket of the only node while the coordinator is looked up."""
    spec = SenderPoll(batches=0, **constants)
    return spec, run(spec, ["poll_sends_metadata_request", "n1"], ["need_coordinator"], ["answer", "n1"])


def test_sender_without_a_free_node_polls():
    """SenderTest.testInitProducerIdWithMaxInFlightOne: the metadata response is read, then the request is sent."""
    spec, state = waiting()
    state = spec.step(state, "poll_reads_response", "n1")
    state = spec.step(state, "send_coordinator_request", "n1")
    assert [request.kind.value for request in state.in_flight[Node(0)]] == ["coordinator"]


def test_sender_without_a_free_node_slept():
    """The same before KAFKA-10520: no step is possible."""
    spec, state = waiting(polls_without_node=False)
    assert not list(spec.successors(state))


def test_second_request_in_flight_prevents_the_sleep():
    spec, state = waiting(polls_without_node=False, max_in_flight=2)
    assert list(spec.successors(state))
