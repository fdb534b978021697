"""A state without finished records has the same future as the whole state, in the first states of small models."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checker.language import Spec, State
from kafka_tools.lab.librdkafka.finished_records import FinishedRecords
from kafka_tools.lab.librdkafka.idempotent import IdempotentClient
from kafka_tools.lab.librdkafka.plain import PlainClient
from kafka_tools.lab.recording.idempotent import IdempotentClientOfCluster
from kafka_tools.lab.recording.passed_batches import PassedBatches
from specs.producer.idempotent.failover import IdempotentFailover
from specs.producer.idempotent.mistakes import ImplicitAcks
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.plain.producer import PlainProducer
from tests.kafka_tools.judgement import judgement, rejected_after_forgetting
from traces.validate.events import read_log
from traces.validate.forgetting import FinishedPrefix, Forgetting
from traces.validate.moves import invariants_of
from traces.validate.task import RunningValidation, ValidationTask

MOST_STATES = 300
MOST_STATES_WITH_SNAPSHOTS = 800
"""With snapshots, batches are finished later."""
MOST_STATES_IN_CI = 5_000

PLAIN = dict(records=3, max_in_flight=2, mute_partitions=False, requeue="in_order")
BATCHES = dict(batches=4, log_size=6, cache_size=1, max_in_flight=2, max_sequence=20, max_epoch=3)

MODELS = [
    (PlainProducer, PLAIN | dict(refusals=1, disconnects=1), PlainClient),
    (PlainProducer, PLAIN | dict(acks="all", late_refusals=1, retries=0, rejections=2), PlainClient),
    (IdempotentProducer, BATCHES | dict(cache_size=2, max_rejections=1, max_disconnects=1), IdempotentClient),
    (IdempotentProducer, BATCHES | dict(max_abandoned=1, max_late_acks=1), PassedBatches),
    (
        IdempotentFailover,
        BATCHES | dict(cache_size=2, snapshot_batches=2, max_restarts=1, max_disconnects=0),
        IdempotentClientOfCluster,
    ),
    (PlainProducer, PLAIN | dict(requeue="head", disconnects=2, retries=2), PlainClient),
    (PlainProducer, PLAIN | dict(rejections=1, refusals=1, batch_size=2, broker_limit=1), PlainClient),
    (IdempotentProducer, BATCHES | dict(max_refusals=1, max_disconnects=1), IdempotentClient),
    (IdempotentProducer, BATCHES | dict(max_timeouts=1, max_disconnects=1), PassedBatches),
    (IdempotentProducer, BATCHES | dict(max_state_expiries=1, max_disconnects=1, cache_size=2), PassedBatches),
    (ImplicitAcks, BATCHES | dict(max_refusals=1, max_disconnects=1), IdempotentClient),
    (
        IdempotentFailover,
        BATCHES | dict(max_restarts=1, max_follower_restarts=1, max_failovers=1, max_disconnects=0),
        IdempotentClientOfCluster,
    ),
]
CASES = [
    # One for each mapping, and one with snapshots. The slow tests explore more states of every model.
    *((*model, MOST_STATES) for model in MODELS[:5]),
    *(pytest.param(*model, MOST_STATES_IN_CI, marks=pytest.mark.sampled(2)) for model in MODELS),
]

IDEMPOTENT_STEPS = (
    "drain refuse_as_not_leader reject_permanently handle_produce disconnect receive_response bump_epoch "
    "resolve_sequences"
)
STEPS = {
    PlainClient: "application_send sender_drain broker_append broker_finds_batch_too_large broker_reject "
    "broker_refuse broker_refuse_after_append connection_closed receive_response",
    IdempotentClient: IDEMPOTENT_STEPS,
    PassedBatches: f"{IDEMPOTENT_STEPS} append_but_time_out disconnect_while_handling handle_abandoned "
    "delivery_timeout expire_producer_state restart_broker",
    IdempotentClientOfCluster: f"{IDEMPOTENT_STEPS} follower_fetch restart_follower restart_broker fail_over",
}
"""The steps that events and silence may mean."""


def is_last_unused(spec: Spec, state: State) -> bool:
    """Return whether the last record was never sent, as in a window that is not at the end of its log."""
    with spec.bound():
        working = spec.in_state(state)
        if isinstance(spec, PlainProducer):
            return working.sent < spec.constants["records"]
        (p,) = spec.variables["queue"].key.values()
        last = spec.constants["batches"] - 1
        return last in working.queue[p] and last not in working.in_flight[p]


def explored(spec: Spec, steps: set[str], most: int) -> Iterator[tuple[State, list[Any]]]:
    """Iterate over the first reachable states, breadth first, with the steps from them."""
    found = dict.fromkeys(spec.initial_states())
    queue = list(found)
    while queue:
        following = []
        for state in queue:
            taken = [step for step in spec.expand(state)[0] if step.action in steps]
            yield state, taken
            for step in taken:
                if step.state not in found and len(found) < most:
                    found[step.state] = None
                    following.append(step.state)
        queue = following


def size_of(forgetting: Forgetting, spec: Spec) -> int:
    """Return the number of records of a model."""
    return int(spec.constants["records" if isinstance(forgetting, FinishedRecords) else "batches"])


def prefixes(forgetting: Forgetting, spec: Spec, state: State) -> list[FinishedPrefix]:
    with spec.bound():
        return forgetting.finished(spec.in_state(state), size_of(forgetting, spec))


def shortened(forgetting: Forgetting, spec: Spec, state: State, prefix: FinishedPrefix) -> State:
    return spec.changed(state, lambda working: forgetting.forget(working, prefix))


def called(step: Any, records: int) -> tuple[str, tuple[Any, ...]]:
    """Return a step as it is called after some records are forgotten."""
    is_numbered = step.action == "application_send"
    return step.action, tuple(value - records if is_numbered else value for value in step.arguments)


def violated(spec: Spec, forgetting: Forgetting, state: State) -> frozenset[str]:
    return frozenset(name for name in forgetting.checked if not spec.holds(name, state))


@pytest.mark.parametrize(("kind", "constants", "mapping", "most"), CASES)
def test_finished_records_have_no_future(kind, constants, mapping, most):
    spec, forgetting, allowed, tried = kind(**constants), mapping.forgetting, set(STEPS[mapping].split()), 0
    assert forgetting.fits(spec) and forgetting.checked <= set(invariants_of(kind))
    if "snapshot_batches" in constants:
        most = max(most, MOST_STATES_WITH_SNAPSHOTS)
    for state, steps in explored(spec, allowed, most):
        for prefix in prefixes(forgetting, spec, state) if is_last_unused(spec, state) else ():
            tried += 1
            check_prefix(spec, forgetting, state, steps, allowed, prefix)
    assert tried > 5


def check_prefix(
    spec: Spec, forgetting: Forgetting, state: State, steps: list[Any], allowed: set[str], prefix: FinishedPrefix
) -> None:
    """Check that the steps of a state, and what they violate, are those of the state without a finished prefix."""
    short = shortened(forgetting, spec, state, prefix)
    before, last = violated(spec, forgetting, state), size_of(forgetting, spec) - prefix.records
    assert violated(spec, forgetting, short) <= before
    expected = {}
    for step in steps:
        assert prefix in prefixes(forgetting, spec, step.state), (state, prefix, step)
        target = expected[called(step, prefix.records)] = shortened(forgetting, spec, step.state, prefix)
        of_whole, of_short = violated(spec, forgetting, step.state), violated(spec, forgetting, target)
        assert of_whole - before <= of_short <= of_whole, (state, prefix, step)
    found = {called(step, 0): step.state for step in spec.expand(short)[0] if step.action in allowed}
    # The records that replace the finished ones may be sent only by a log that names them.
    assert {
        (action, arguments): target
        for (action, arguments), target in found.items()
        if action != "application_send" or arguments[0] <= last
    } == expected, (state, prefix)


SIZES = {"plain-forty-records": "records", "idempotent-forty-records": "batches"}
RECORDED = Path(__file__).parent / "recorded"
TASKS = {
    "plain-forty-records": ValidationTask("producer/plain_producer", "kafka_tools.lab.librdkafka.plain"),
    "idempotent-forty-records": ValidationTask("producer/idempotent_producer", "kafka_tools.lab.librdkafka.idempotent"),
}


@pytest.mark.parametrize("tried", [16, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TASKS)
def test_a_window_gives_the_verdict_of_all_records(name, tried):
    task, recorded = TASKS[name], read_log(RECORDED / f"{name}.jsonl")
    windowed = RunningValidation(task)
    whole = RunningValidation(dataclasses.replace(task, settings={SIZES[name]: 40}))
    found = windowed.outcome(recorded)
    assert found.verdict == "conforms" and found.forgotten >= 8
    assert judgement(found) == judgement(whole.outcome(recorded), found.unchecked)
    assert rejected_after_forgetting(windowed, whole, recorded, tried) > tried // 6
