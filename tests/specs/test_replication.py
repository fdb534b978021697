"""The published models of replication: the proposals' rules, their failures step by step, and broken variants."""

import importlib
import json
from pathlib import Path

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.language import Disabled, action, require
from checker.run import ledger
from checker.run.plan import Plan
from checker.testing import play, state_with
from specs.replication.async_isr import AsyncIsr
from specs.replication.async_isr_history import AsyncIsrHistory
from specs.replication.kip101 import Kip101
from specs.replication.kip279 import Kip279
from specs.replication.kip320 import Kip320
from specs.replication.kip320_first_try import Kip320FirstTry
from specs.replication.state import LeaderAndIsr, LeaderEpoch, Record, Replica
from specs.replication.truncate_to_high_watermark import TruncateToHighWatermark

VARIANTS = [TruncateToHighWatermark, Kip101, Kip279, Kip320FirstTry, Kip320]
B1, B2, B3 = Replica(0), Replica(1), Replica(2)
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "kafka-replication.json").read_text())


def records(*epochs):
    """Return a log with a record of each of these leader epochs."""
    return [Record(id=offset, epoch=epoch) for offset, epoch in enumerate(epochs)]


def shown_logs(state):
    return str(state.log)


# The rules.


def truncation_offset(spec, leader_log, follower_log, high_watermark=0):
    state = state_with(spec, log={B1: leader_log, B2: follower_log}, high_watermark={B2: high_watermark})
    with spec.bound():
        return spec.in_state(state).truncation_offset(B1, B2)


@pytest.mark.parametrize(
    ("leader_epochs", "follower_epochs", "high_watermark", "expected"),
    [
        ([], [], 0, 0),
        ([0, 0], [], 0, 0),
        ([0], [0, 0], 1, 1),  # the leader's last epoch is the follower's: the leader's log end
        ([0, 0, 2], [0, 1], 0, 2),  # epoch 1 is unknown: the start of the next larger epoch
        ([0, 2, 2], [0, 1, 1], 0, 1),
        ([0], [0, 1], 1, 1),  # no larger epoch: the follower's high watermark
        ([], [0, 0], 1, 1),  # an empty leader knows no epoch
    ],
)
def test_kip101_truncates_to_the_end_of_the_followers_last_epoch(
    leader_epochs, follower_epochs, high_watermark, expected
):
    spec = Kip101(log_size=3, max_records=3)
    assert truncation_offset(spec, records(*leader_epochs), records(*follower_epochs), high_watermark) == expected


def test_kip101_answers_past_the_followers_log_end():
    spec = Kip101(log_size=3, max_records=3)
    assert truncation_offset(spec, records(0, 0), records(0)) == 2


@pytest.mark.parametrize(
    ("leader_epochs", "follower_epochs", "expected"),
    [
        ([], [0, 0], 0),
        ([0, 0], [], 0),
        ([0, 0, 2], [0, 1], 1),
        ([0, 1], [0, 1, 1], 2),
        ([2], [0, 1], 0),
    ],
)
def test_kip279_truncates_to_the_end_of_the_common_log(leader_epochs, follower_epochs, expected):
    spec = Kip279(log_size=3, max_records=3)
    assert truncation_offset(spec, records(*leader_epochs), records(*follower_epochs)) == expected


def test_before_kip101_a_follower_truncates_to_its_own_high_watermark():
    spec = TruncateToHighWatermark()
    assert truncation_offset(spec, records(0, 0), records(0, 0), high_watermark=1) == 1
    assert truncation_offset(spec, [], records(0, 0), high_watermark=2) == 2


def caught_up(spec, end_offset, **variables):
    with spec.bound():
        return spec.in_state(state_with(spec, **variables)).is_caught_up(B1, B2, end_offset)


def test_only_kip320_compares_the_followers_leader_epoch():
    same_leader = {
        "leader": {B1: B1, B2: B1},
        "leader_epoch": {B1: 2, B2: 0},
        "log": {B1: records(0), B2: records(0)},
    }
    assert caught_up(Kip279(), 1, **same_leader)
    assert caught_up(Kip320FirstTry(), 1, **same_leader)
    assert not caught_up(Kip320(), 1, **same_leader)
    assert caught_up(Kip320(), 1, **(same_leader | {"leader_epoch": {B1: 2, B2: 2}}))


def test_the_first_draft_of_kip320_compares_the_last_records_epoch():
    diverged = {"leader": {B1: B1, B2: B1}, "log": {B1: records(0, 2), B2: records(0, 1)}}
    assert caught_up(Kip279(), 2, **diverged)
    assert not caught_up(Kip320FirstTry(), 2, **diverged)
    assert caught_up(Kip320FirstTry(), 1, **diverged)
    assert caught_up(Kip320FirstTry(), 0, **diverged)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_follower_that_lags_or_follows_another_leader_is_not_caught_up(variant):
    logs = {B1: records(0), B2: []}
    assert not caught_up(variant(), 1, leader={B1: B1, B2: B1}, log=logs)
    assert not caught_up(variant(), 0, leader={B1: B1, B2: B3}, log=logs)


@pytest.mark.parametrize(("variant", "expected"), [(Kip279, True), (Kip320FirstTry, False), (Kip320, False)])
def test_a_new_leader_commits_its_predecessors_records_before_a_follower_joins(variant, expected):
    spec = variant()
    variables = {"leader": {B1: B1, B2: B1}, "leader_epoch": {B1: 1, B2: 1}, "log": {B1: records(0)}}
    with spec.bound():
        assert spec.in_state(state_with(spec, **variables)).may_join_isr(B1, B2) is expected
        committed = variables | {"log": {B1: records(0), B2: records(0)}, "high_watermark": {B1: 1}}
        assert spec.in_state(state_with(spec, **committed)).may_join_isr(B1, B2)


def test_the_first_draft_of_kip320_truncates_a_longer_log_and_another_epoch():
    spec = Kip320FirstTry()

    def needed(leader_log, follower_log):
        with spec.bound():
            return spec.in_state(state_with(spec, log={B1: leader_log, B2: follower_log})).needs_truncation(B1, B2)

    assert needed(records(0), records(0, 0))
    assert needed(records(0, 2), records(0, 1))
    assert needed(records(1), records(0))
    assert not needed(records(0, 0), records(0))
    assert not needed(records(0), [])
    assert not needed([], [])


# The actions that all proposals share.


def test_the_controller_numbers_its_requests():
    spec = Kip320()
    state = play(spec, "controller_elect_leader b2", "controller_shrink_isr b1")
    assert [str(request) for request in state.requests] == [
        "(leader b2, isr {b1, b2, b3})",
        "(leader b2, isr {b2, b3})",
    ]
    assert state.quorum == LeaderAndIsr(leader=B2, isr=state.requests[1].isr)


def test_the_controller_stops_at_the_last_leader_epoch():
    spec = Kip320(max_leader_epoch=0)
    state = play(spec, "controller_elect_leader b1")
    for replica in ("b1", "b2", "b3"):
        with pytest.raises(Disabled):
            spec.step(state, "controller_shrink_isr", replica)
        with pytest.raises(Disabled):
            spec.step(state, "controller_elect_leader", replica)


def test_the_last_leader_stays_in_the_isr_until_it_is_shrunk_twice():
    spec = Kip320(replicas=2, max_leader_epoch=3)
    state = play(spec, "controller_elect_leader b1", "controller_shrink_isr b2", "controller_shrink_isr b1")
    assert str(state.quorum) == "(leader none, isr {b1})"
    state = play(spec, "controller_shrink_isr b1", state=state)
    assert str(state.quorum) == "(leader none, isr {})"


def test_no_replica_acts_on_a_request_without_a_leader():
    spec = Kip320()
    state = play(spec, "controller_elect_leader b1", "controller_shrink_isr b1")
    for replica in ("b1", "b2", "b3"):
        with pytest.raises(Disabled):
            spec.step(state, "become_follower", replica, 1)
    with pytest.raises(Disabled):
        spec.step(state, "become_leader", 1)


def test_a_request_of_an_older_epoch_is_ignored():
    spec = Kip279()
    state = play(
        spec, "controller_elect_leader b1", "controller_elect_leader b2", "become_leader 1", "become_follower b1 1"
    )
    for call in ("become_leader 0", "become_follower b3 2", "become_follower b1 0", "become_leader 1"):
        with pytest.raises(Disabled):
            play(spec, call, state=state)


def test_the_quorum_rejects_isr_changes_of_an_old_leader():
    spec = Kip279()
    lagging = play(spec, "controller_elect_leader b1", "become_leader 0", "leader_write b1")
    assert str(play(spec, "leader_shrink_isr b3", state=lagging).quorum) == "(leader b1, isr {b1, b2})"
    deposed = play(spec, "controller_elect_leader b2", state=lagging)
    with pytest.raises(Disabled):
        spec.step(deposed, "leader_shrink_isr", "b3")


def test_a_follower_learns_the_high_watermark_one_fetch_late():
    spec = Kip320(replicas=2)
    state = play(
        spec,
        "controller_elect_leader b1",
        "become_leader 0",
        "become_follower b2 0",
        "leader_write b1",
        "follower_fetch b2",
        "leader_increment_high_watermark b1",
    )
    assert str(state.high_watermark) == "{b1: 1, b2: 0}"
    state = play(spec, "leader_write b1", "follower_fetch b2", state=state)
    assert str(state.high_watermark) == "{b1: 1, b2: 1}"
    assert shown_logs(state) == "{b1: [r0@0, r1@0], b2: [r0@0, r1@0]}"


# The failures that each proposal left open, step by step.

COMMITTED_ON_TWO = [
    "become_leader 0",
    "leader_write b1",
    "become_follower b2 0",
    "follower_fetch b2",
    "leader_increment_high_watermark b1",
]


def test_before_kip101_a_restarted_follower_loses_a_committed_record():
    """KIP-101, first scenario: the follower's high watermark is behind, it truncates, and is then elected."""
    spec = TruncateToHighWatermark(replicas=2)
    elections = ["controller_elect_leader b1", "controller_elect_leader b2", "controller_elect_leader b1"]
    state = play(spec, *elections, *COMMITTED_ON_TWO)
    assert spec.holds("strong_isr", state)
    state = play(spec, "become_follower b2 2", state=state)
    assert shown_logs(state) == "{b1: [r0@0], b2: []}"
    assert not spec.holds("strong_isr", state) and not spec.holds("weak_isr", state)

    # With KIP-101 the leader answers that epoch 0 ends at offset 1, and no record is lost.
    fixed = Kip101(replicas=2)
    state = play(fixed, *elections, *COMMITTED_ON_TWO, "become_follower b2 2")
    assert shown_logs(state) == "{b1: [r0@0], b2: [r0@0]}"
    assert fixed.holds("strong_isr", state)


def test_kip101_truncates_to_the_high_watermark_if_the_leader_has_no_newer_epoch():
    """b2 led for one record in epoch 1. Its leader has no such epoch, so b2 truncates to its high watermark, 0."""
    elections = ["controller_elect_leader b1", "controller_elect_leader b2", "controller_elect_leader b1"]
    detour = ["become_leader 1", "leader_write b2", "become_follower b2 2"]
    spec = Kip101(replicas=2)
    state = play(spec, *elections, *COMMITTED_ON_TWO, *detour)
    assert shown_logs(state) == "{b1: [r0@0], b2: []}"
    assert not spec.holds("strong_isr", state) and not spec.holds("weak_isr", state)

    # With KIP-279 the logs are compared record by record: b2 truncates its own record only.
    fixed = Kip279(replicas=2)
    state = play(fixed, *elections, *COMMITTED_ON_TWO, *detour)
    assert shown_logs(state) == "{b1: [r0@0], b2: [r0@0]}"
    assert fixed.holds("strong_isr", state)


def test_kip279_adds_a_follower_before_the_new_leader_knows_the_high_watermark():
    """KAFKA-7128: b3 leads with high watermark 0 although r0 is committed, so b2 seems to have caught up."""
    calls = [
        "controller_elect_leader b1",
        "become_leader 0",
        "leader_write b1",
        "leader_shrink_isr b2",
        "controller_elect_leader b3",
        "become_follower b3 0",
        "follower_fetch b3",
        "leader_increment_high_watermark b1",
        "become_leader 1",
        "become_follower b2 1",
    ]
    for variant in (Kip101, Kip279):
        state = play(variant(), *calls, "leader_expand_isr b2")
        assert str(state.quorum) == "(leader b3, isr {b1, b2, b3})"
        assert shown_logs(state) == "{b1: [r0@0], b2: [], b3: [r0@0]}"
        assert not variant().holds("strong_isr", state)
        assert variant().holds("weak_isr", state)
    for variant in (Kip320FirstTry, Kip320):
        state = play(variant(), *calls)
        with pytest.raises(Disabled):
            variant().step(state, "leader_expand_isr", "b2")


MISSED_EPOCHS = [
    "controller_elect_leader b1",
    "controller_elect_leader b2",
    "controller_elect_leader b1",
    "become_leader 1",  # b2 leads, and does not learn that b1 leads again
    "become_leader 2",
    "leader_shrink_isr b2",
    "leader_write b1",
]


def test_the_first_draft_of_kip320_counts_a_follower_of_an_old_epoch():
    """b3 fetches r0@2 while it is in epoch 0. Before epoch 2 it enters epoch 1 and follows b2, which lacks r0."""
    spec = Kip320FirstTry(log_size=1, max_records=1)
    acknowledged = ["become_follower b3 0", "follower_fetch b3", "leader_increment_high_watermark b1"]
    state = play(spec, *MISSED_EPOCHS, *acknowledged)
    assert str(state.quorum) == "(leader b1, isr {b1, b3})"
    assert str(state.high_watermark) == "{b1: 1, b2: 0, b3: 0}"
    assert spec.holds("strong_isr", state)
    state = play(spec, "become_follower b3 1", "follower_truncate b3", state=state)
    assert shown_logs(state) == "{b1: [r0@2], b2: [], b3: []}"
    assert not spec.holds("strong_isr", state) and not spec.holds("weak_isr", state)


def test_kip320_fences_the_follower_of_an_old_epoch():
    spec = Kip320(log_size=1, max_records=1)
    state = play(spec, *MISSED_EPOCHS)
    with pytest.raises(Disabled):
        spec.step(state, "become_follower", "b3", 0)  # no replica leads in epoch 0 any more
    state = play(spec, "become_follower b3 1", state=state)
    with pytest.raises(Disabled):
        spec.step(state, "follower_fetch", "b3")  # its leader is b2, whose log is empty
    state = play(spec, "become_follower b3 2", "follower_fetch b3", state=state)
    assert shown_logs(state) == "{b1: [r0@2], b2: [], b3: [r0@2]}"


def test_with_kip101_logs_diverge_after_fast_elections():
    """KIP-279: b1 never saw epoch 1 and answers with the start of epoch 2, so b2 keeps its own record."""
    calls = [
        "controller_elect_leader b1",
        "controller_elect_leader b2",
        "controller_elect_leader b1",
        "become_leader 0",
        "leader_write b1",
        "become_leader 1",
        "leader_write b2",
        "become_leader 2",
        "leader_write b1",
        "become_follower b2 2",
        "leader_increment_high_watermark b1",
        "follower_fetch b2",
    ]
    spec = Kip101(replicas=2, max_records=3)
    state = play(spec, *calls)
    assert shown_logs(state) == "{b1: [r0@0, r2@2], b2: [r1@1, r2@2]}"
    assert not spec.holds("log_matching", state)

    # With KIP-279 b2 finds no common record, and truncates its whole log.
    fixed = Kip279(replicas=2, max_records=3)
    state = play(fixed, *calls[:10], "follower_fetch b2", "leader_increment_high_watermark b1", "follower_fetch b2")
    assert shown_logs(state) == "{b1: [r0@0, r2@2], b2: [r0@0, r2@2]}"
    assert fixed.holds("log_matching", state)


# Deliberately broken variants: each violates a property.


def violated(spec, *properties, engine=explorer):
    result = engine.explore(spec, Plan(properties=properties, stop="first"))
    return {violation.property for violation in result.violations}


class AnyLeaderEpoch(Kip320):
    """KIP-320 without fencing of the question before a truncation."""

    def may_follow(self, follower: Replica, leader: Replica, epoch: LeaderEpoch):
        return True


class HighWatermarkOfOneself(Kip320):
    """KIP-320 with a leader that does not wait for its followers."""

    @action
    def leader_increment_high_watermark(self, leader: Replica):
        require(self.presumes_leadership(leader))
        require(self.high_watermark[leader] < len(self.log[leader]))
        self.high_watermark[leader] += 1


class NoTruncation(Kip320):
    """KIP-320 with followers that do not truncate."""

    def truncation_offset(self, leader: Replica, follower: Replica):
        return len(self.log[follower])


class ForgetfulLeader(Kip320):
    """KIP-320 with a leader whose high watermark falls when the ISR shrinks."""

    @action
    def leader_shrink_isr(self, follower: Replica):
        super().leader_shrink_isr(follower)
        leader = self.quorum.leader
        self.high_watermark[leader] = 0


@pytest.mark.parametrize(
    ("broken", "constants", "property_name"),
    [
        (HighWatermarkOfOneself, {"replicas": 2, "max_leader_epoch": 0}, "weak_isr"),
        (HighWatermarkOfOneself, {"replicas": 2, "max_leader_epoch": 0}, "strong_isr"),
        (HighWatermarkOfOneself, {"replicas": 2, "log_size": 1, "max_leader_epoch": 1}, "log_matching"),
        (NoTruncation, {"replicas": 2, "max_leader_epoch": 1}, "strong_isr"),
        (ForgetfulLeader, {"replicas": 2, "max_leader_epoch": 0}, "high_watermark_never_regresses"),
    ],
)
def test_a_broken_variant_is_found(broken, constants, property_name):
    assert violated(broken(**constants), property_name) == {property_name}
    assert violated(Kip320(**constants), property_name) == set()


def test_a_follower_must_not_truncate_by_the_log_of_a_leader_in_another_epoch():
    constants = {"log_size": 1}
    assert violated(AnyLeaderEpoch(**constants), "strong_isr", engine=native) == {"strong_isr"}
    assert violated(Kip320(**constants), "strong_isr", engine=native) == set()


GUARDS = (
    "replicated_record_is_committed",
    "everything_is_committed",
    "old_leader_meets_new_leader",
    "truncation_removes_a_record",
    "isr_expands",
)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_guard_is_reached(variant):
    assert violated(variant(replicas=2, max_leader_epoch=1), *GUARDS) == set()


class IdleController(Kip320):
    """A model without elections."""

    controller_elect_leader = None


def test_a_guard_fails_in_a_model_without_elections():
    assert violated(IdleController(replicas=2), "replicated_record_is_committed") == {"replicated_record_is_committed"}


# The asynchronous ISR.


class CommittedIsrOnly(AsyncIsr):
    """A leader that commits without the replicas that it has asked to add to the ISR."""

    def high_watermark(self):
        return min(self.end_offset[replica] for replica in self.isr)


def test_the_high_watermark_counts_the_requested_isr():
    spec = AsyncIsr(replicas=2)
    state = play(spec, "leader_request_shrink_isr b2", "leader_write")
    (request,) = state.requests
    assert str(request) == "{b1} v0"
    state = spec.step(state, "controller_handle_request", request)
    (update,) = state.updates
    with spec.bound():
        assert spec.in_state(state).high_watermark() == 0
    state = spec.step(state, "leader_handle_update", update)
    with spec.bound():
        assert spec.in_state(state).high_watermark() == 1
    with pytest.raises(Disabled):
        spec.step(state, "leader_request_expand_isr", "b2")
    state = play(spec, "follower_fetch b2", "leader_request_expand_isr b2", state=state)
    assert str(state.pending_isr) == "{b1, b2}"


def test_the_controller_ignores_a_request_based_on_an_older_version():
    spec = AsyncIsr(replicas=3)
    state = play(spec, "leader_request_shrink_isr b2", "controller_shrink_isr b3")
    (request,) = state.requests
    with pytest.raises(Disabled):
        spec.step(state, "controller_handle_request", request)


def test_ignoring_the_requested_isr_violates_the_high_watermark():
    broken = {"replicas": 2, "max_version": 3}
    assert violated(CommittedIsrOnly(**broken), "valid_high_watermark") == {"valid_high_watermark"}
    assert violated(AsyncIsr(**broken), "valid_high_watermark") == set()


@pytest.mark.parametrize("scenario", ["two_replicas", "three_replicas", "three_versions"])
def test_the_history_of_the_isr_has_the_states_and_steps_of_async_isr(scenario):
    rows = ledger.read(ledger.default_path())
    assert rows[f"replication/async_isr_history/{scenario}"] == rows[f"replication/async_isr/{scenario}"]


class ForgetsRequests(AsyncIsrHistory):
    """A leader that commits without the replicas that it has asked to add to the ISR."""

    def high_watermark(self):
        return min(self.end_offset[replica] for replica in self.isr())


def test_the_history_of_the_isr_needs_the_requested_isr():
    broken = {"replicas": 2, "max_version": 3}
    assert violated(ForgetsRequests(**broken), "valid_high_watermark") == {"valid_high_watermark"}


# The scenarios.


def test_every_published_row_is_a_scenario():
    wanted = {
        (module_name(row["module"]), tuple(row[constant] for constant in CONSTANTS)): row
        for row in GOLDEN["replication"]
    }
    found = {}
    for name in ("truncate_to_high_watermark", "kip101", "kip279", "kip320_first_try", "kip320"):
        for scenario in importlib.import_module(f"specs.replication.{name}").scenarios:
            constants = scenario.spec(**scenario.constants).constants
            found[(scenario.spec.name, tuple(constants[constant] for constant in CONSTANTS))] = scenario
    assert wanted.keys() <= found.keys()
    for key, row in wanted.items():
        lengths = {name: row[name]["length"] for name in ("weak_isr", "strong_isr") if "length" in row[name]}
        expected = found[key].expect if isinstance(found[key].expect, dict) else {}
        assert {name: length for name, length in expected.items() if name in lengths} == lengths
        assert not ({"weak_isr", "strong_isr"} - lengths.keys()) & expected.keys()


CONSTANTS = ("replicas", "log_size", "max_records", "max_leader_epoch")


def module_name(module):
    return {
        "KafkaTruncateToHighWatermark": "truncate_to_high_watermark",
        "Kip101": "kip101",
        "Kip279": "kip279",
        "Kip320FirstTry": "kip320_first_try",
        "Kip320": "kip320",
    }[module]
