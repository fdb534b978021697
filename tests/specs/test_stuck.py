"""Stuck states on the whole state graph: states from which no completion is reachable.

The specs check this with the invariants `no_endless_retry` and `no_dead_end`, and with `deadlock`, state by state.
These tests search the graph backwards from the states in which every future is complete.
"""

import pytest

from checker.language import Disabled
from specs.broker.network import BrokerNetwork, SequenceCheckedBroker
from specs.producer.idempotent.catalogue import KNOWN_TWO, TWO
from specs.producer.idempotent.failover import IdempotentFailover
from specs.producer.idempotent.mistakes import Librdkafka
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.idempotent.repairs import MarksEveryExpiry
from specs.producer.plain.producer import PlainProducer
from specs.producer.plain.sequence_checked import SequenceCheckedProducer
from specs.producer.plain.sessions import ProducerSessions

FAULTS = dict(refusals=1, disconnects=1, max_in_flight=2)


def graph(spec):
    """Return the states that lead to each reachable state in one step."""
    before = {state: set() for state in spec.initial_states()}
    waiting = list(before)
    while waiting:
        state = waiting.pop()
        for step in spec.successors(state):
            if step.state not in before:
                before[step.state] = set()
                waiting.append(step.state)
            before[step.state].add(state)
    return before


def leading_to(before, goals):
    """Return the states from which one of some states can be reached."""
    found = set(goals)
    waiting = list(goals)
    while waiting:
        for state in before[waiting.pop()] - found:
            found.add(state)
            waiting.append(state)
    return found


def is_complete(spec, state):
    """Return whether every future is complete; for a `Sender`, whether its last action is enabled."""
    if "all_completed" in spec.actions:
        try:
            spec.step(state, "all_completed")
        except Disabled:
            return False
        return True
    partitions = state.batch.items_in_order()
    return all(b.outcome.value != "pending" for batches in partitions for b in batches.items_in_order())


def stuck(spec):
    """Return the states from which no completion is reachable, and the graph."""
    before = graph(spec)
    return set(before) - leading_to(before, [state for state in before if is_complete(spec, state)]), before


@pytest.mark.parametrize(
    "spec",
    [
        PlainProducer(records=2, delivery_timeouts=True, **FAULTS),
        PlainProducer(records=3, batch_size=2, broker_limit=1, max_in_flight=2, retries=0),
        PlainProducer(records=2, nodes=2, leader_moves=1, restarts=1),
        SequenceCheckedProducer(records=3, retries=2, **FAULTS),
        ProducerSessions(records=2, retries=2, **FAULTS),
        BrokerNetwork(records=2, disconnects=1),
        SequenceCheckedBroker(records=2, disconnects=1),
        IdempotentProducer(**KNOWN_TWO, max_disconnects=1, max_refusals=1, max_rejections=1),
        IdempotentProducer(**TWO, no_state="never_held", max_refusals=1, max_rejections=1),
        IdempotentProducer(**TWO, max_restarts=1, max_late_acks=1, snapshot_batches=5),
        IdempotentFailover(**TWO),
        MarksEveryExpiry(**KNOWN_TWO, max_disconnects=1, max_timeouts=1),
    ],
    ids=lambda spec: spec.name,
)
def test_completion_stays_reachable(spec):
    found, _ = stuck(spec)
    assert not found


@pytest.mark.parametrize(
    ("spec", "property"),
    [
        (IdempotentProducer(**KNOWN_TWO, max_disconnects=1, max_timeouts=1), "no_endless_retry"),
        (IdempotentProducer(**TWO, max_refusals=1), "no_endless_retry"),
        (IdempotentProducer(**TWO, max_restarts=1, max_late_acks=1), "no_endless_retry"),
        (
            IdempotentProducer(
                batches=3, max_in_flight=3, log_size=6, first_sequence=3, max_sequence=3, max_refusals=1
            ),
            "no_endless_retry",
        ),
        (Librdkafka(**KNOWN_TWO, max_disconnects=1, max_refusals=1), "no_dead_end"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_invariant_is_false_in_stuck_states(spec, property):
    """It is false only in stuck states, and every stuck state leads to one in which it is false."""
    found, before = stuck(spec)
    assert found
    false = {state for state in before if not spec.holds(property, state)}
    assert false <= found
    assert found <= leading_to(before, false)
