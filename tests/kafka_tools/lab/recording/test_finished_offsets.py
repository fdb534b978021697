"""A partition without finished offsets has the same future as the whole one, in walks of models and in recordings."""

import dataclasses
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checker.language import Spec, State
from kafka_tools.lab.recording.finished_offsets import FinishedOffsets, _answer_after
from kafka_tools.lab.recording.partition import RecordedPartition
from kafka_tools.lab.recording.recorder import as_json, record_partition
from specs.replication.by_version import AS_RECORDED
from specs.replication.partition import Partition
from specs.replication.partition_state import EpochEnd, EpochStart, FetchRequest, FetchResponse
from specs.replication.state import Record, Replica
from specs.replication.versions import replication_rules
from tests.kafka_tools.judgement import judgement, rejected_after_forgetting
from tests.kafka_tools.lab.recording.kept_cluster import logs_of
from traces.validate import forgetting as forgetting_module
from traces.validate import task as task_module
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.forgetting import FinishedPrefix, prefix_of_log
from traces.validate.moves import invariants_of
from traces.validate.task import RunningValidation, ValidationTask

FORGETTING = FinishedOffsets()

BOUNDS = dict(
    controller="kraft",
    sends_lazily=False,
    log_size=12,
    max_records=20,
    max_leader_epoch=6,
    max_partition_epoch=14,
    max_broker_epoch=3,
    unclean_elections=True,
    preferred_elections=True,
    session_timeouts=True,
    late_metadata=True,
    late_checkpoints=True,
    crashes=2,
    shutdowns=1,
    disk_losses=1,
)

MODELS = [
    ("4.3.1", dict(replicas=2, acks="all", min_insync_replicas=1)),
    pytest.param("4.3.1", dict(replicas=3, acks="all", min_insync_replicas=2), marks=pytest.mark.slow),
    ("4.0.0", dict(replicas=2, acks="1", min_insync_replicas=1)),
    ("3.9.2", dict(replicas=2, acks="all", min_insync_replicas=1)),
]

OFTEN = ("follower_fetch", "leader_handle_fetch", "follower_receive", "leader_answer_parked_fetch")
RARELY = (
    *("broker_crash", "broker_shut_down", "broker_lose_disk", "controller_fence", "controller_elect"),
    *("leader_ask_to_shrink_isr", "leader_ask_to_be_alone", "leader_await_follower"),
)

STEPS = {
    *RecordedPartition.silent,
    *["leader_append", "follower_fetch", "leader_handle_fetch", "leader_park_fetch", "leader_answer_as_read"],
    *["leader_handle_former_fetch", "follower_receive", "become_leader", "become_leader_with_earlier_isr"],
    *["become_follower", "become_leaderless", "leader_ask_to_be_alone", "leader_ask_to_shrink_isr"],
    *["leader_drop_request"],
    *["leader_ask_to_expand_isr", "controller_handle_alter_partition", "leader_get_answer", "leader_learn_isr"],
    *["leader_learn_earlier_isr", "leader_learn_isr_again", "controller_handle_request_of_dead_leader"],
    *["controller_fence", "controller_assign_directory", "controller_elect", "controller_elect_uncleanly"],
    *["controller_elect_last_known", "broker_reconnect", "broker_crash", "broker_shut_down", "broker_lose_disk"],
    *["broker_restart", "broker_register", "broker_checkpoint"],
}
"""The steps that events and silence may mean."""

NAMES_FIRST_ARGUMENT = {
    *("leader_append", "follower_receive", "become_follower", "become_leaderless"),
    *("leader_get_answer", "leader_learn_isr", "leader_learn_earlier_isr", "leader_learn_isr_again"),
}
"""The steps whose event names the high watermark, and the log end, of the broker that is the first argument."""

COUNTS = ("leader_handle_fetch", "leader_park_fetch", "leader_answer_as_read", "leader_handle_former_fetch")
"""The steps with which a leader counts a fetch."""


def walked(spec: Spec, seed: int, length: int) -> list[State]:
    """Return the states of a random walk, in which failures are rare, so that logs grow."""
    chosen, rarely = random.Random(seed), (0.02, 0.1)[seed % 2]
    state = next(iter(spec.initial_states()))
    states = [state]
    for _ in range(length):
        steps = [step for step in spec.expand(state)[0] if step.action in STEPS]
        weights = [1 if step.action in OFTEN else rarely if step.action in RARELY else 0.3 for step in steps]
        state = chosen.choices(steps, weights)[0].state
        states.append(state)
    return states


def prefixes(spec: Spec, state: State) -> list[FinishedPrefix]:
    with spec.bound():
        return FORGETTING.finished(spec.in_state(state), spec.constants["log_size"])


def shortened(spec: Spec, state: State, records: int) -> State:
    prefix = prefix_of_log(records)
    return spec.changed(state, lambda working: FORGETTING.forget(working, prefix))


def is_full(spec: Spec, state: State) -> bool:
    """Return whether a bound of the model, which a shorter log has not reached, prevents a step."""
    with spec.bound():
        found = spec.in_state(state)
        ends = [len(found.log[replica]) for replica in Replica]
        return found.next_record_id == spec.constants["max_records"] or max(ends) == spec.constants["log_size"]


def names_only_later_offsets(spec: Spec, before: State, step: Any, first: int) -> bool:
    """Return whether the event of a step names only offsets after `first`, as the validator requires."""
    with spec.bound():
        old, new = spec.in_state(before), spec.in_state(step.state)
        return all(offset > first for offset in named_offsets(old, new, step.action, step.arguments))


def named_offsets(old: Any, new: Any, action: str, arguments: tuple[Any, ...]) -> Iterator[int]:
    """Iterate over the offsets that the event of a step names; it may name more.

    An event names the high watermark and the log end of its broker if the step changes or reads them, the checkpoint
    that a broker writes or returns to, the offset that a leader counts, and where a log diverges.
    """
    named = {arguments[0]} if action in NAMES_FIRST_ARGUMENT else set()
    if action in ("become_leader", "become_leader_with_earlier_isr"):
        named = {new.requests[arguments[0]].leader}
    for replica in Replica:
        if replica in named or new.high_watermark[replica] != old.high_watermark[replica]:
            yield new.high_watermark[replica]
        if replica in named or len(new.log[replica]) != len(old.log[replica]):
            yield len(new.log[replica])
        if new.checkpoint[replica] != old.checkpoint[replica]:
            yield new.checkpoint[replica]
    if action == "broker_restart":
        yield old.checkpoint[arguments[0]]
    if action == "follower_receive":
        diverging = old.answers[arguments[0]].diverging
        if diverging is not None and diverging.epoch >= 0:
            yield diverging.end
    if action in COUNTS:
        follower = arguments[0]
        is_former = action == "leader_handle_former_fetch"
        request = old.former_fetches[follower][0] if is_former else old.fetches[follower]
        answer = new.answers[follower]
        # The event `diverged` names no offset.
        if answer is None or answer.diverging is None:
            yield new.remote_end[request.leader][follower]


def called(spec: Spec, step: Any, first: int) -> tuple[str, tuple[Any, ...]]:
    """Return a step as it is called after some offsets are forgotten."""
    if step.action != "leader_answer_as_read":
        return step.action, step.arguments
    follower, committed, has_record = step.arguments
    return step.action, (follower, committed - first, has_record)


def violated(spec: Spec, state: State) -> frozenset[str]:
    return frozenset(name for name in FORGETTING.checked if not spec.holds(name, state))


@pytest.mark.parametrize("walks", [1, pytest.param(12, marks=pytest.mark.sampled(2))])
@pytest.mark.parametrize(("version", "constants"), MODELS)
def test_finished_offsets_have_no_future(version, constants, walks):
    spec = Partition(**(replication_rules(version, "kraft") | AS_RECORDED | BOUNDS | constants))
    assert FORGETTING.fits(spec) and set(FORGETTING.checked) == set(invariants_of(Partition))
    tried = 0
    for seed in range(walks):
        states = [
            state
            for state in dict.fromkeys(walked(spec, seed, 80 * spec.constants["replicas"]))
            if not is_full(spec, state)
        ]
        for state in random.Random(seed).sample(states, min(20, len(states))):
            found = prefixes(spec, state)
            for prefix in {found[-1], found[len(found) // 2]} if found else ():
                tried += 1
                check_prefix(spec, state, prefix)
    assert tried > walks // 2


def check_prefix(spec: Spec, state: State, prefix: FinishedPrefix) -> None:
    """Check that the steps of a state, and what they violate, are those of the state without a finished prefix."""
    first, short = prefix.records, shortened(spec, state, prefix.records)
    before = violated(spec, state)
    assert violated(spec, short) <= before
    expected = {}
    for step in spec.expand(state)[0]:
        if step.action not in STEPS or not names_only_later_offsets(spec, state, step, first):
            continue
        assert prefix in prefixes(spec, step.state), (state, prefix, step)
        target = expected[called(spec, step, first)] = shortened(spec, step.state, first)
        of_whole, of_short = violated(spec, step.state), violated(spec, target)
        assert of_whole - before <= of_short <= of_whole, (state, prefix, step)
    found = {
        called(spec, step, 0): shortened(spec, step.state, 0)
        for step in spec.expand(short)[0]
        if step.action in STEPS and names_only_later_offsets(spec, short, step, 0)
    }
    assert found == expected, (state, prefix)


@pytest.fixture(scope="module")
def two_replicas() -> Partition:
    constants = replication_rules("4.3.1") | AS_RECORDED | BOUNDS
    return Partition(**(constants | dict(replicas=2, acks="all", min_insync_replicas=1)))


def of_four_records(spec: Spec, change: Callable[[Any, Any, Any], None]) -> list[int]:
    """Return the finished prefixes of two replicas that both know four committed records, after a change."""

    def prepare(working: Any) -> None:
        one, other = Replica
        for replica in Replica:
            working.log[replica] = [Record(id=n, epoch=0) for n in range(4)]
            working.high_watermark[replica] = 4
        working.next_record_id = 4
        working.leader_epoch[one] = working.leader_epoch[other] = 1
        change(working, one, other)

    state = spec.changed(next(iter(spec.initial_states())), prepare)
    return [prefix.records for prefix in prefixes(spec, state)]


def fetch_from(leader: Any, offset: int, **fields: int) -> FetchRequest:
    return FetchRequest(leader=leader, broker_epoch=0, offset=offset, **(dict(leader_epoch=1, last_epoch=0) | fields))


def test_what_all_replicas_have_committed_is_finished(two_replicas):
    def change(working, one, other):
        pass

    assert of_four_records(two_replicas, change) == [1, 2, 3]


def test_an_offset_is_not_finished_while_a_live_replica_does_not_know_that_it_is_committed(two_replicas):
    def change(working, one, other):
        working.high_watermark[other] = 2

    assert of_four_records(two_replicas, change) == [1]


def test_the_high_watermark_of_a_dead_replica_is_not_read(two_replicas):
    def change(working, one, other):
        working.high_watermark[other] = 2
        working.alive.discard(other)

    assert of_four_records(two_replicas, change) == [1, 2, 3]


def test_an_offset_is_not_finished_while_a_dead_replica_lacks_it_or_has_another_record(two_replicas):
    def lacks(working, one, other):
        working.alive.discard(other)
        del working.log[other][3:]

    def differs(working, one, other):
        working.alive.discard(other)
        working.log[other][2] = Record(id=9, epoch=0)

    assert of_four_records(two_replicas, lacks) == [1, 2]
    assert of_four_records(two_replicas, differs) == [1]


def test_an_offset_is_not_finished_while_a_leader_may_read_it_for_a_fetch(two_replicas):
    def waits(working, one, other):
        working.fetches[other] = fetch_from(one, 3)

    def is_fenced(working, one, other):
        working.fetches[other] = fetch_from(one, 3, leader_epoch=0)

    def is_parked(working, one, other):
        is_fenced(working, one, other)
        working.parked.add(other)

    assert of_four_records(two_replicas, waits) == [1, 2]
    assert of_four_records(two_replicas, is_fenced) == [1, 2, 3]
    assert of_four_records(two_replicas, is_parked) == [1, 2]


def test_a_fetch_of_a_former_connection_is_not_read_unless_the_logs_diverge_before_it(two_replicas):
    def former(**fields):
        def change(working, one, other):
            working.former_fetches[other] = [fetch_from(one, 3, **fields)]
            working.epoch_starts[one] = [EpochStart(epoch=0, start=0), EpochStart(epoch=1, start=2)]

        return change

    assert of_four_records(two_replicas, former(last_epoch=0)) == [1, 2]
    assert of_four_records(two_replicas, former(last_epoch=0, leader_epoch=0)) == [1, 2, 3]
    assert of_four_records(two_replicas, former(last_epoch=1)) == [1, 2, 3]


def test_an_answer_after_forgetting_has_the_later_numbers():
    """Offsets in the forgotten prefix become 0."""
    answer = FetchResponse(record=Record(id=5, epoch=1), high_watermark=3, diverging=EpochEnd(epoch=1, end=7))
    assert _answer_after(answer, 4, {5: 2}) == FetchResponse(
        record=Record(id=2, epoch=1), high_watermark=0, diverging=EpochEnd(epoch=1, end=3)
    )
    for end, later in ((-1, -1), (0, 0), (3, 0)):
        diverging = EpochEnd(epoch=1, end=end)
        found = _answer_after(FetchResponse(record=None, high_watermark=6, diverging=diverging), 4, {})
        assert found == FetchResponse(record=None, high_watermark=2, diverging=EpochEnd(epoch=1, end=later))


def test_the_start_of_a_broker_names_its_last_checkpoint():
    events = [
        {"event": "checkpointed", "broker": "b1", "high_watermark": 7},
        {"event": "started", "broker": "b2"},
        {"event": "started", "broker": "b1"},
        {"event": "lost_disk", "broker": "b1"},
        {"event": "started", "broker": "b1"},
        {"event": "handled_fetch", "broker": "b1", "follower": "b2", "end": 9, "high_watermark": 8},
        {"event": "truncated", "broker": "b2", "end": 0, "diverging": {"epoch": -1, "end": -1}},
    ]
    assert FORGETTING.named(events) == [[7], [1], [7], [1], [1], [9, 8], [1]]


# Recordings of real brokers.

FOUR = ("soak-4.3.1", "soak-2-4.3.1", "soak-3-4.3.1", "soak-4-4.3.1")
RECORDINGS = {"soak-106-1": 4, "soak-18-2": 6, "soak-76-0": 5, "soak-2-1": 6, "soak-94-1": 2, "soak-14-2": 4}
"""Partitions of soaks whose brokers fail, and the number of records that a small window forgets."""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> dict[str, RecordedTrace]:
    folder = tmp_path_factory.mktemp("kept")
    found = {}
    for name in FOUR:
        logs = logs_of(name, folder)
        for partition in RECORDINGS.keys() & set(logs.partitions):
            events = as_json(record_partition(logs, partition).events)
            numbered = tuple(RecordedEvent(line, event) for line, event in enumerate(events, 1))
            found[partition] = RecordedTrace(partition, partition, numbered)
    return found


@pytest.fixture
def small_windows(monkeypatch):
    for module in (forgetting_module, task_module):
        monkeypatch.setattr(module, "WINDOWS", (4, 5, 6, 8, 16))


@pytest.mark.parametrize(
    ("names", "controls"),
    [(["soak-18-2", "soak-2-1"], 4), pytest.param(list(RECORDINGS), 60, marks=pytest.mark.slow)],
)
def test_a_window_gives_the_verdict_of_all_offsets(recordings, small_windows, names, controls):
    task = ValidationTask("replication/partition", "kafka_tools.lab.recording.partition")
    windowed, whole = RunningValidation(task), RunningValidation(task)
    rejected = 0
    for name in names:
        recorded = recordings[name]
        settings = {"log_size": FORGETTING.total([event.found for event in recorded.events])}
        whole.task = dataclasses.replace(task, settings=settings)
        found = windowed.outcome(recorded)
        assert (found.verdict, found.forgotten, found.unchecked) == ("conforms", RECORDINGS[name], ())
        assert judgement(found) == judgement(whole.outcome(recorded))
        rejected += rejected_after_forgetting(windowed, whole, recorded, controls)
    assert rejected >= 3


def test_the_largest_offset_of_a_trace():
    assert FORGETTING.total([]) == 0 and FORGETTING.total([{"event": "appended", "broker": "b1", "end": 3}]) == 3
