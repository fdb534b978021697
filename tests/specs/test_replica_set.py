"""The model in which the replica set changes, step by step: what Kafka's own classes did with the same steps.

The steps of the schedules were taken with the controller of 4.3.1 (ReplicationControlManager, without brokers): it
wrote the same ISR, ELR and leader. There a broker registers and is unfenced in two steps, and a crash is noticed in a
second one, so its sequences are longer.
"""

import itertools

import pytest

from checker.api.state_graph import StateGraph
from checker.engines.native import engine as native
from checker.errors import Disabled
from checker.language import Bug, action, choose, require, subsets
from checker.run.plan import Plan
from checker.testing import SpecChecks, play, state_with
from specs.hazards import hazards
from specs.replication import catalogue_replica_set
from specs.replication.eligible_replicas import eligible_replicas, is_clean_choice
from specs.replication.partition import Partition
from specs.replication.replica_set import ReplicaSet
from specs.replication.replica_set_state import Broker
from specs.replication.state import LeaderAndIsr, Replica
from tests.specs.counterexamples import violated_properties

SCENARIOS = {
    scenario.name: scenario
    for declared in catalogue_replica_set.scenarios
    for scenario in (declared.scenarios() if isinstance(declared, Bug) else [declared])
}

STOPPED = "broker_stop b1; broker_stop b2; broker_stop b3"
"""The ISR is empty, and b2 and b3 are eligible."""

SCHEDULES = {
    "stale_eligible_replica": "broker_stop b2; broker_stop b3; operator_reassign {b2, b3, b4}; follower_join b4; "
    "operator_reassign {b1, b2, b3}; broker_stop b4",
    "min_isr_of_partition_0": "operator_reassign {b1, b2, b3}; follower_join b2; broker_stop b1; broker_lose_power b2; "
    "broker_start b2",
    "stale_list_of_eligible": "broker_stop b1; broker_crash b2; operator_set_min_isr 1; operator_delete_topic; "
    "broker_start b2",
    "min_isr_without_leader": f"{STOPPED}; operator_set_min_isr 1; broker_start b1; broker_start b2; broker_start b3",
    "feature_without_leader": f"{STOPPED}; operator_change_feature; broker_start b1; broker_start b2; broker_start b3",
    "removed_disk": f"{STOPPED}; operator_remove_disk b3; broker_start b3",
    "foreign_last_known_leader": "broker_stop b1; broker_crash b2; operator_reassign {b2, b3, b4}; broker_stop b3; "
    "broker_crash b4; operator_cancel; broker_start b4; broker_start b2",
    "replaced_by_the_original": "operator_reassign {b2, b3, b4}; operator_reassign {b1, b2, b3}; follower_join b4",
    "replaced_by_more": "operator_reassign {b2, b3, b4}; operator_reassign {b1, b2, b3, b4}; follower_join b4",
    "cancelled_below_min_isr": "broker_stop b1; broker_stop b2; operator_reassign {b3, b4, b5}; follower_join b4; "
    "operator_cancel; broker_lose_power b3; broker_start b3",
    "completed_below_min_isr": "operator_reassign {b2, b4}; broker_stop b2; broker_stop b3; follower_join b4; "
    "operator_reassign {b2, b3, b4}; broker_lose_power b4; broker_start b4",
    "stale_eligible_with_feature_off": "broker_stop b3; broker_stop b2; operator_change_feature; "
    "operator_set_min_isr 1; produce; broker_start b2; broker_stop b1",
    "feature_on_without_leader": "broker_stop b1; broker_stop b3; broker_crash b2; operator_change_feature; "
    "broker_start b3; broker_start b2; broker_start b1",
    "cancelled_with_an_eligible_copy": "broker_stop b1; broker_stop b2; operator_reassign {b3, b4, b5}; "
    "follower_join b4; broker_stop b4; operator_cancel; broker_lose_power b3; broker_start b3",
    "stale_eligible_replica_blocks": "operator_reassign {b1}; broker_crash b1; broker_start b1",
    "completed_with_one_copy": "broker_stop b3; operator_reassign {b2, b3}; broker_lose_power b2; broker_start b2",
    "stale_eligible_after_min_isr": "broker_stop b3; broker_stop b2; operator_set_min_isr 1; produce; broker_start b2; "
    "broker_stop b1",
    "fenced_last_known_leader": "broker_stop b3; broker_crash b2; broker_crash b1; broker_start b1; broker_crash b1; "
    "broker_start b2",
    "log_move_clears_eligible": "broker_stop b3; broker_stop b2; operator_move_log b1; broker_lose_power b1; "
    "broker_start b1",
    "empty_log_is_eligible": "broker_stop b1; broker_stop b2; operator_remove_disk b2; broker_start b2",
    "cancelled_to_one_copy": "broker_stop b1; broker_stop b2; operator_reassign {b3, b4, b5}; follower_join b4; "
    "operator_cancel",
    "completed_to_one_copy": "operator_reassign {b2, b4}; broker_stop b2; broker_stop b3; follower_join b4; "
    "operator_reassign {b2, b3, b4}",
    "one_copy_by_partition_0": "operator_reassign {b1, b2, b3}; follower_join b2; broker_stop b1",
}


def steps(text):
    """Yield the name and the argument of each step; a set of brokers is the target of a reassignment."""
    for step in text.split("; "):
        name, _, argument = step.partition(" ")
        yield name, argument


def after(spec, text, state=None):
    """Return the state after a schedule."""
    state = spec.initial_states()[0] if state is None else state
    for name, argument in steps(text):
        if argument.startswith("{"):
            state = spec.step(state, name, target=argument)
        else:
            state = play(spec, f"{name} {argument}".strip(), state=state)
    return state


def spec_of(name):
    return SCENARIOS[name].configured_spec()


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_schedule_is_a_shortest_counterexample(name):
    """Its length is that of the explorer's counterexample, and the property fails with the last step."""
    ((violated, length),) = SCENARIOS[name].expect.items()
    *before, last = SCHEDULES[name].split("; ")
    spec = spec_of(name)
    state = after(spec, "; ".join(before))
    expected = len(before) + 2
    assert expected == length
    assert spec.holds(violated, state)
    assert not spec.holds(violated, after(spec, last, state))


@pytest.mark.parametrize("name", [name for name in SCHEDULES if f"{name}_fixed" in SCENARIOS])
def test_with_the_fix_the_schedule_is_harmless(name):
    (violated,) = SCENARIOS[name].expect
    spec = spec_of(f"{name}_fixed")
    state = spec.initial_states()[0]
    for step in SCHEDULES[name].split("; "):
        try:
            state = after(spec, step, state)
        except Disabled:
            return
        assert spec.holds(violated, state)


def test_a_cancellation_counts_eligible_copies():
    *before, _, _ = SCHEDULES["cancelled_with_an_eligible_copy"].split("; ")
    after(spec_of("cancelled_with_an_eligible_copy"), "; ".join(before))
    with pytest.raises(Disabled):
        after(spec_of("cancelled_below_min_isr_fixed"), "; ".join(before))


@pytest.mark.parametrize("name", ["min_isr_without_leader_fixed", "feature_without_leader_fixed", "removed_disk_fixed"])
def test_a_small_scenario_holds(name):
    """Every property, by the interpreter."""
    SpecChecks(engine="python").check_scenario(SCENARIOS[name], f"replication/replica_set/{name}")


def names(members):
    return {str(member) for member in members}


@pytest.mark.parametrize(
    ("name", "steps_taken", "isr", "elr", "leader"),
    [
        ("stale_eligible_replica", 4, "b4", "b1 b3", "b4"),
        ("stale_eligible_replica", 6, "b1", "b3 b4", "b1"),
        ("min_isr_without_leader", 3, "", "b2 b3", "None"),
        ("removed_disk", 5, "b3", "b2", "b3"),
        ("foreign_last_known_leader", 4, "b4", "", "b4"),
        ("foreign_last_known_leader", 6, "b2", "", "None"),
        ("cancelled_below_min_isr", 4, "b3 b4", "", "b3"),
        ("completed_below_min_isr", 5, "b4", "", "b4"),
        ("stale_eligible_with_feature_off", 7, "b2", "", "b2"),
        ("feature_on_without_leader", 6, "", "", "None"),
        ("stale_eligible_replica_blocks", 3, "", "b2 b3", "None"),
        ("fenced_last_known_leader", 6, "b1", "", "b1"),
        ("log_move_clears_eligible", 3, "b1", "", "b1"),
        ("log_move_clears_eligible", 5, "b1", "", "b1"),
        ("log_move_clears_eligible_fixed", 3, "b1", "b2", "b1"),
        ("log_move_clears_eligible_fixed", 5, "", "b2", "None"),
    ],
)
def test_the_registration_is_that_of_kafka(name, steps_taken, isr, elr, leader):
    """What the classes of 4.3.1 answered, those of 4.0.0 of a fenced leader, and those of 4.2.0 of a moved log.

    Of foreign members of the ELR only where the rule of C-1 is Kafka's.
    """
    schedule = SCHEDULES[name.removesuffix("_fixed")].split("; ")
    state = after(spec_of(name), "; ".join(schedule[:steps_taken]))
    assert (names(state.isr), names(state.elr), str(state.leader)) == ({*isr.split()}, {*elr.split()}, leader)


def test_the_first_slice_has_the_same_lengths():
    """A model of one rule, replacements of one broker and clean stops alone: 5 states and 7."""
    spec = ReplicaSet(reassignments=2, eligible_are_replicas=False)
    assert violated_properties(spec, "eligible_replicas_are_replicas", "no_acked_loss") == {
        "eligible_replicas_are_replicas": 5,
        "no_acked_loss": 7,
    }


class FirstSlice(ReplicaSet):
    """What the first model had: one reassignment at a time, and neither cancellations nor new records."""

    @action
    def operator_reassign(self):
        """An operator reassigns a partition that is not being reassigned."""
        target = choose(subsets(Broker))
        require(not self.is_reassigning())
        self.reassign(target)

    @action
    def operator_cancel(self):
        """No operator cancels."""
        require(False)

    @action
    def produce(self):
        """Nobody produces."""
        require(False)


@pytest.mark.parametrize(("is_fixed", "states"), [(True, 1_440), (False, 3_532)])
def test_the_first_slice_has_the_same_states(is_fixed, states):
    """The numbers of a model that was written apart, for any number of reassignments: a fifth reaches no new state."""
    spec = FirstSlice(reassignments=5, eligible_are_replicas=is_fixed, completes_with_min_isr_only=False)
    fields = ("replicas", "adding", "removing", "isr", "elr", "leader", "active")
    assert len(StateGraph(spec).projection(fields, [])[0]) == states


def test_a_smaller_replication_factor_makes_removed_replicas_eligible_in_one_step():
    spec = ReplicaSet(reassignments=1, eligible_are_replicas=False, smallest_target=1, stops=False)
    assert violated_properties(spec, "eligible_replicas_are_replicas") == {"eligible_replicas_are_replicas": 2}


def test_a_rule_of_all_target_replicas_completes_a_rollback_at_once():
    """4.0 to 4.2 did not have H-6."""
    spec = ReplicaSet(reassignments=2, stops=False, awaits_removed=True, awaits="all")
    assert violated_properties(spec, "reassignment_completes") == {}


@pytest.mark.parametrize(
    ("release", "awaits"), [("3.7.2", "added"), ("3.8.0", "all"), ("4.2.2", "all"), ("4.3.0", "added_or_all")]
)
def test_two_rules_of_reassignments_are_in_the_releases_that_await_added_replicas(release, awaits):
    """H-6 and H-10: KAFKA-15665 ended both, and KAFKA-19975 brought them back."""
    is_there = awaits != "all"
    rollback = ReplicaSet(reassignments=2, stops=False, awaits_removed=True, awaits=awaits)
    assert bool(violated_properties(rollback, "reassignment_completes")) == is_there
    shrunk = spec_of("completed_below_min_isr")
    replaced = ReplicaSet(**{**shrunk.constants, "awaits": awaits})
    assert bool(native.explore(replaced, Plan(["no_acked_loss"])).violations) == is_there
    for name in ("controller H-6", "controller H-10"):
        assert hazards()[name].exists_in(release, "kraft") == is_there


SUBSETS = [frozenset(members) for size in range(4) for members in itertools.combinations(range(3), size)]


@pytest.mark.parametrize("min_isr", [1, 2, 3])
def test_both_models_of_the_controller_elect_alike(min_isr):
    """With fixed replicas a broker that is fenced leaves the same registration as in the model with messages."""
    fine = Partition(
        **dict(replicas=3, min_insync_replicas=min_isr, eligible_leader_replicas=True, session_timeouts=True),
        **dict(crashes=0, max_leader_epoch=3, max_partition_epoch=4, controller="kraft"),
    )
    coarse = ReplicaSet(brokers=3, replication_factor=3, min_insync_replicas=min_isr, crashes=1)
    compared = 0
    for isr, elr, active in itertools.product(SUBSETS, SUBSETS, SUBSETS):
        if not isr or not isr <= active or isr & elr or (elr and len(isr) >= min_isr):
            continue
        for leader, leaving in itertools.product(isr, isr):
            state = state_with(
                fine,
                quorum=LeaderAndIsr(leader=Replica(leader), isr={Replica(each) for each in isr}),
                eligible={Replica(each) for each in elr},
                fenced={Replica(each) for each in range(3) if each not in active},
            )
            one = fine.step(state, "controller_fence", Replica(leaving))
            state = state_with(
                coarse,
                leader=Broker(leader),
                **{name: {Broker(each) for each in members} for name, members in
                    dict(isr=isr, elr=elr, listed=elr, active=active, complete=isr | elr).items()},
            )  # fmt: skip
            other = coarse.step(state, "broker_crash", Broker(leaving))
            assert names(one.quorum.isr) == names(other.isr)
            assert names(one.eligible) == names(other.elr)
            assert str(one.quorum.leader) == str(other.leader)
            assert str(one.last_known_leader) == str(other.last_known)
            compared += 1
    assert compared > 30


def test_the_rules_of_eligible_replicas():
    assert eligible_replicas({1}, {2, 3}, {3}, 2) == {1, 2}
    assert eligible_replicas({1}, {2, 3}, {2, 3}, 2) == set()
    assert is_clean_choice(1, {1}, set()) and is_clean_choice(1, set(), {1})
    assert not is_clean_choice(1, {2}, {1})
