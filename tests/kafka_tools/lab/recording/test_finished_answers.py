"""A leader's state without finished batches has the same future as the whole one, in states of models and in logs."""

import dataclasses
import random
from typing import Any

import pytest

from checker.language import Spec, State
from kafka_tools.lab.recording.finished_answers import FinishedAnswers
from kafka_tools.lab.recording.leader_state import AnswersOfLeader
from specs.broker.leader_state import LeaderState
from specs.broker.producer_state import Partition
from tests.kafka_tools.judgement import judgement, rejected_after_forgetting
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.forgetting import FinishedPrefix
from traces.validate.task import RunningValidation, ValidationTask

FORGETTING = FinishedAnswers()
TASK = ValidationTask("broker/leader_state", "kafka_tools.lab.recording.leader_state")
STEPS = ("produce", "restart")
SMALL = dict(no_state="any", restarts=True, max_batch_records=1, max_epoch=2, max_sequence=5, cache_size=1, log_size=5)


def prefixes(spec: Spec, state: State) -> list[FinishedPrefix]:
    with spec.bound():
        return FORGETTING.finished(spec.in_state(state), spec.constants["log_size"])


def shortened(spec: Spec, state: State, prefix: FinishedPrefix) -> State:
    return spec.changed(state, lambda working: FORGETTING.forget(working, prefix))


def is_contiguous(spec: Spec, state: State) -> bool:
    """Return whether the sequences of each epoch in the log are 0, 1, 2, ..., as the validator requires."""
    return not spec.constants["restarts"] or spec.holds("sequences_contiguous", state)


def has_room(spec: Spec, state: State) -> bool:
    """Return whether the log is shorter than its bound, which a shorter log has not reached."""
    with spec.bound():
        (p,) = Partition
        return len(spec.in_state(state).log[p]) < spec.constants["log_size"]


def explored(spec: Spec, depth: int) -> list[State]:
    found = dict.fromkeys(spec.initial_states())
    frontier = list(found)
    for _ in range(depth):
        reached = {step.state for state in frontier for step in spec.expand(state)[0] if step.action in STEPS}
        frontier = [state for state in reached if state not in found and is_contiguous(spec, state)]
        found |= dict.fromkeys(frontier)
    return list(found)


def violated(spec: Spec, state: State) -> frozenset[str]:
    return frozenset(name for name in FORGETTING.checked if not spec.holds(name, state))


def called(step: Any, prefix: FinishedPrefix) -> tuple[Any, ...]:
    """Return a step as it is called after some batches are forgotten."""
    if step.action != "produce":
        return step.action, *step.arguments
    partition, epoch, sequence, records = step.arguments
    oldest, fewer = prefix.sequences
    return step.action, partition, epoch, sequence - (fewer if epoch == oldest else 0), records


def is_later(call: tuple[Any, ...], prefix: FinishedPrefix, last: int) -> bool:
    """Return whether a request, with the numbers of the shorter state, names no forgotten batch nor one too large."""
    if call[0] != "produce":
        return True
    epoch, sequence, (oldest, fewer) = call[2], call[3], prefix.sequences
    return epoch > oldest or (epoch == oldest and 0 <= sequence <= last - fewer)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(dict(), marks=pytest.mark.slow),
        pytest.param(dict(cache_size=2), marks=pytest.mark.slow),
        dict(snapshot_batches=2, cache_size=2),
    ],
)
def test_finished_batches_have_no_future(more):
    spec, tried = LeaderState(**(SMALL | more)), 0
    assert FORGETTING.fits(spec)
    for state in explored(spec, 4):
        for prefix in prefixes(spec, state) if has_room(spec, state) else ():
            tried += 1
            check_prefix(spec, state, prefix)
    assert tried > 20


def check_prefix(spec: Spec, state: State, prefix: FinishedPrefix) -> None:
    """Check that the steps of a state, and what they violate, are those of the state without a finished prefix."""
    short, last = shortened(spec, state, prefix), spec.constants["max_sequence"]
    assert violated(spec, short) == violated(spec, state)
    expected = {}
    for step in spec.expand(state)[0]:
        call = called(step, prefix)
        if step.action in STEPS and is_later(call, prefix, last):
            assert prefix in prefixes(spec, step.state), (state, prefix, step)
            expected[call] = shortened(spec, step.state, prefix)
            assert violated(spec, expected[call]) == violated(spec, step.state)
    found = {(step.action, *step.arguments): step.state for step in spec.expand(short)[0] if step.action in STEPS}
    assert {call: target for call, target in found.items() if is_later(call, prefix, last)} == expected


def answered(batches: int, seed: int) -> RecordedTrace:
    """Return the answers of a leader: retries, batches that come too early, restarts, and later epochs."""
    chosen, events = random.Random(seed), [{"event": "configured"}]
    epoch, following, cached, offsets, leader = 0, 0, [], 0, 1

    def note(epoch: int, sequence: int, error: str, **fields: int) -> None:
        sent = {"epoch": epoch, "sequence": sequence, "records": [], "broker": leader}
        events.append({"event": "request", **sent})
        events.append({"event": "response", **sent, "error": error, **fields})

    while offsets < batches:
        match chosen.choices(("append", "retry", "early", "old epoch", "epoch", "restart"), (20, 4, 2, 1, 1, 1))[0]:
            case "append":
                note(epoch, following, "none", offset=offsets)
                cached = [*cached[-4:], (following, offsets)]
                following, offsets = following + 1, offsets + 1
            case "retry" if cached:
                sequence, offset = chosen.choice(cached)
                note(epoch, sequence, "none", offset=offset)
            case "early" if cached:
                note(epoch, following + chosen.randint(1, 4), "out of order sequence number")
            case "old epoch" if cached and epoch:
                note(epoch - 1, 0, "invalid producer epoch")
            case "epoch" if cached:
                epoch, following, cached = epoch + 1, 1, [(0, offsets)]
                note(epoch, 0, "none", offset=offsets)
                offsets += 1
            case "restart":
                leader = 3 - leader
                events.append({"event": "restarted", "broker": leader})
                cached = cached[-1:]
    note(epoch, following - 1, "none", offset=offsets - 1)
    return RecordedTrace("answers", "answers", tuple(RecordedEvent(n, event) for n, event in enumerate(events, 1)))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_window_gives_the_verdict_of_all_batches(seed):
    recorded = answered(40, seed)
    windowed = RunningValidation(TASK)
    whole = RunningValidation(dataclasses.replace(TASK, settings={"log_size": 60}))
    found = windowed.outcome(recorded)
    assert found.verdict == "conforms" and found.forgotten == 24 and not found.unchecked
    assert judgement(found) == judgement(whole.outcome(recorded))
    assert rejected_after_forgetting(windowed, whole, recorded, 40) > 10


def test_a_log_whose_sequences_begin_later_keeps_all_batches():
    sent = [{"epoch": 0, "sequence": 7 + n, "records": [], "broker": 1} for n in range(20)]
    pairs = [
        ({"event": "request", **each}, {"event": "response", **each, "error": "none", "offset": offset})
        for offset, each in enumerate(sent)
    ]
    events = [event for pair in pairs for event in pair]
    assert FORGETTING.total(events) == 0
    outcome = RunningValidation(TASK).outcome(RecordedTrace("a", "a", tuple(map(RecordedEvent, range(40), events))))
    assert (outcome.verdict, outcome.forgotten, outcome.unchecked) == ("conforms", 0, ())


def test_the_bounds_of_a_window_are_those_of_the_mapping():
    assert FORGETTING.constants({}, 16).keys() <= AnswersOfLeader().constants([]).keys()
