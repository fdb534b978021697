"""Bugs of the catalogue step by step: each schedule is a shortest counterexample, and harmless with the fix."""

import pytest

from checker.language import Bug, Disabled
from checker.testing import play
from specs.replication import catalogue, catalogue_controller, catalogue_metadata

DECLARED = [*catalogue.scenarios, *catalogue_controller.scenarios, *catalogue_metadata.scenarios]
SCENARIOS = {
    scenario.name: scenario
    for found in DECLARED
    for scenario in (found.scenarios() if isinstance(found, Bug) else [found])
}


def calls_of(text):
    """Return the calls of a schedule; `fetches b2` is a fetch with its answer, `counts b2` a fetch that is handled."""
    calls = []
    for call in (call.strip() for call in text.split(";")):
        name, _, arguments = call.partition(" ")
        if name in ("fetches", "counts"):
            calls += [f"follower_fetch {arguments}", f"leader_handle_fetch {arguments}"]
            calls += [f"follower_receive {arguments}"] if name == "fetches" else []
        elif name == "asks":
            calls += [f"{step} {arguments}" for step in ("follower_ask_epoch_end", "leader_answer_epoch_end")]
            calls += [f"follower_truncate {arguments}"]
        elif name == "fails":
            calls += [f"broker_crash {arguments}", f"controller_fence {arguments}"]
        else:
            calls.append(call)
    return calls


COMMITTED = "leader_append b1; fetches b2; counts b2; "

SCHEDULES = {
    "r1_truncate_to_high_watermark": COMMITTED
    + "broker_crash b2; broker_restart b2; become_follower b2 0; fails b1; become_leader 1",
    "r2_divergence_after_power_failure": COMMITTED
    + "fails b1; broker_lose_power b2 0; controller_fence b2; broker_restart b2; controller_elect b2; become_leader 2; "
    "leader_append b2; broker_restart b1; become_follower b1 2; counts b1",
    "r3_fast_elections": "leader_append b1; fails b1; become_leader 1; leader_append b2; broker_restart b1; fails b2; "
    "controller_elect_uncleanly b1; become_leader 2; broker_restart b2; become_follower b2 2; asks b2; counts b2",
    "r4_no_epoch_on_election": COMMITTED
    + "controller_elect b2; become_leader 1; leader_append b2; controller_elect b1; become_leader 2; "
    "become_follower b2 2; asks b2; controller_elect b2; become_leader 3",
    "r5_zombie_follower": "leader_append b1; fetches b3; controller_elect b2; become_leader 1; become_follower b1 1; "
    "asks b1; fails b2; become_leader 2; leader_append b1; counts b3",
    "r6_same_leader_id": "leader_append b1; fetches b2; controller_elect b3; become_leader 1; become_follower b1 1; "
    "asks b1; controller_elect b1; become_leader 2; become_follower b2 2; leader_append b1; counts b2",
    "r7_joins_at_lagging_high_watermark": "leader_append b1; leader_ask_to_shrink_isr b1 b3; "
    "controller_handle_alter_partition b1; leader_learn_isr b1; fetches b2; counts b2; controller_elect b2; "
    "become_leader 1; become_follower b3 1; counts b3; controller_handle_alter_partition b2; controller_elect b3; "
    "become_leader 2",
    "r8_counts_diverging_fetch": "leader_append b1; fails b1; become_leader 1; leader_append b2; broker_restart b1; "
    "become_follower b1 1; counts b1; controller_handle_alter_partition b2; fails b2; become_leader 2",
    "r9_high_watermark_before_truncation": "leader_append b1; fails b1; become_leader 1; leader_append b2; "
    "broker_restart b1; become_follower b1 1; counts b1; follower_take_high_watermark b1; consumer_read b1",
    "r10_stale_broker_epoch": COMMITTED
    + "broker_lose_power b2 0; controller_fence b2; broker_restart b2; controller_handle_alter_partition b1; fails b1; "
    "become_leader 1",
    "r11_last_replica_standing": COMMITTED
    + "controller_fence b2; broker_lose_power b1 0; controller_fence b1; broker_restart b1; controller_elect b1; "
    "become_leader 1",
    "r12_unclean_election": "leader_append b1; fails b1; controller_elect_uncleanly b2; become_leader 1",
    "r13_high_watermark_below_min_isr": "leader_append b1; consumer_read b1; fails b1; controller_elect_uncleanly b2; "
    "become_leader 1",
    "r18_missed_leader_epoch": "leader_append b1; fetches b2; counts b2; controller_elect b3; become_leader 1; "
    "become_follower b2 1; counts b2; controller_elect b1; become_leader 2; become_follower b3 2; fetches b3; "
    "fetches b3; counts b3; follower_receive b2; controller_elect b2; become_leader 3",
    "r20_registered_again_in_the_isr": COMMITTED + "broker_lose_power b1 0; broker_restart b1; become_leader 0",
    "r21_lowered_min_isr": "controller_fence b2; operator_change_min_isr; leader_learn_isr b1; "
    "broker_learn_min_isr b1; broker_reconnect b2; leader_append b1; controller_fence b1; become_leader 1",
}


def spec_of(name):
    scenario = SCENARIOS[name]
    return scenario.spec(**scenario.constants)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_schedule_is_a_shortest_counterexample(name):
    """Its length is that of the explorer's counterexample, and the property fails with the last step."""
    ((violated, length),) = SCENARIOS[name].expect.items()
    calls = calls_of(SCHEDULES[name])
    assert len(calls) + 1 == length
    spec = spec_of(name)
    before = play(spec, *calls[:-1])
    assert spec.holds(violated, before)
    assert not spec.holds(violated, play(spec, calls[-1], state=before))


@pytest.mark.parametrize("name", SCHEDULES)
def test_with_the_fix_the_schedule_is_harmless(name):
    (violated,) = SCENARIOS[name].expect
    spec = spec_of(f"{name}_fixed")
    (state,) = spec.initial_states()
    for call in calls_of(SCHEDULES[name]):
        try:
            state = play(spec, call, state=state)
        except Disabled:
            return
        assert spec.holds(violated, state)
