"""The pipeline: its stories step by step, what breaks it on purpose, and what settings cost.

Facts: Partition.appendRecordsToLeader and maybeIncrementLeaderHW, PartitionChangeBuilder.electAnyLeader,
RecordAccumulator.reenqueue; UnifiedLogTest.testDuplicateAppends of Apache Kafka.
"""

import pytest

from checker.check.plan import Plan
from checker.language.interpreter import Disabled
from checker.native.engine import explore
from specs.pipeline import guarantees
from specs.pipeline.partition import Broker
from specs.pipeline.pipeline import Pipeline

LONELY = dict(replication_factor=1, min_insync_replicas=1, slow_followers=0)


def violated(spec, *properties):
    result = explore(spec, Plan(properties, stop="all", quick=True))
    assert result.ended == "complete"
    return {violation.property: violation.length for violation in result.violations}


def driven(spec, *steps):
    """Return the state after some steps from the initial state."""
    (state,) = spec.initial_states()
    for name, *arguments in steps:
        state = spec.step(state, name, *arguments)
    return state


def test_the_high_watermark_waits_for_everybody_in_sync():
    spec = Pipeline(records=1)
    appended = driven(spec, ("application_sends",), ("producer_writes",), ("leader_appends",))
    appended = spec.step(appended, "follower_fetches", "n2")
    assert appended.high_watermark == 0
    assert spec.step(appended, "follower_fetches", "n3").high_watermark == 1


def test_acks_all_is_refused_below_min_insync_replicas():
    spec = Pipeline(records=1, broker_crashes=2)
    state = driven(spec, ("broker_dies", "n2"), ("broker_dies", "n3"), ("application_sends",), ("producer_writes",))
    with pytest.raises(Disabled):
        spec.step(state, "leader_appends")
    assert spec.step(state, "leader_refuses").queue == (1,)


def test_the_last_member_of_the_isr_stays_in_it():
    state = driven(Pipeline(broker_crashes=2, **LONELY), ("broker_dies", "n1"))
    assert len(state.isr) == 1


def test_an_idempotent_producers_copy_is_answered_and_not_appended():
    spec = Pipeline(records=1, lost_responses=1, **LONELY)
    sent = [("application_sends",), ("producer_writes",), ("leader_appends",), ("connection_closes",)]
    state = driven(spec, *sent, ("producer_writes",), ("leader_appends",))
    with spec.bound():
        assert len(state.log[Broker[0]]) == 1
    assert len(spec.step(state, "leader_acknowledges").acked) == 1


def test_failed_requests_go_back_the_wrong_way_round_without_idempotence():
    steps = [("application_sends",), ("application_sends",), ("producer_writes",), ("producer_writes",)]
    plain = driven(Pipeline(idempotent=False, lost_responses=1, **LONELY), *steps, ("connection_closes",))
    idempotent = driven(Pipeline(lost_responses=1, **LONELY), *steps, ("connection_closes",))
    assert (plain.queue, idempotent.queue) == ((2, 1), (1, 2))


def test_with_eligible_leader_replicas_the_isr_empties_and_who_left_it_is_elected():
    spec = Pipeline(broker_crashes=1, replication_factor=2, eligible_leader_replicas=True, slow_followers=1)
    written = [("application_sends",), ("producer_writes",), ("leader_appends",)]
    state = driven(spec, *written, ("leader_shrinks_isr", "n2"), ("broker_dies", "n1"))
    assert len(state.isr) == 0
    assert len(state.elr) == 2
    elected = spec.step(state, "controller_elects", "n2")
    assert (len(elected.isr), len(elected.elr)) == (1, 1)


def test_who_has_died_is_no_longer_eligible():
    """ReplicationControlManager.handleUncleanBrokerShutdown: no clean shutdown, no place in the ELR."""
    spec = Pipeline(broker_crashes=2, replication_factor=2, eligible_leader_replicas=True, slow_followers=0)
    state = driven(spec, ("broker_dies", "n2"), ("broker_dies", "n1"), ("broker_restarts", "n2"))
    assert len(state.elr) == 1
    with pytest.raises(Disabled):
        spec.step(state, "controller_elects", "n2")
    back = spec.step(state, "broker_restarts", "n1")
    assert len(spec.step(back, "controller_elects", "n1").isr) == 1


@pytest.mark.parametrize("strict", [True, False])
def test_more_in_sync_than_there_are_is_refused_for_ever_before_3_7(strict):
    """Partition.effectiveMinIsr came with KAFKA-15583."""
    spec = Pipeline(records=1, replication_factor=1, min_insync_replicas=2, slow_followers=0, strict_min_isr=strict)
    found = explore(spec, Plan(("every_record_acknowledged",)))
    assert ("every_record_acknowledged" in found.reached) == strict


def test_a_commit_in_the_background_skips_and_repeats():
    constants = dict(consumer="background", consumer_crashes=1, auto_offset_reset="earliest", **LONELY)
    assert set(violated(Pipeline(**constants), "no_gap", "no_reprocessing")) == {"no_gap", "no_reprocessing"}
    assert set(violated(Pipeline(**{**constants, "consumer": "auto_commit"}), "no_gap")) == set()


def test_deduplication_is_what_keeps_records_single():
    class Forgets(Pipeline):
        def is_known(self, entry):
            return False

    constants = dict(records=1, lost_responses=1, **LONELY)
    assert violated(Pipeline(**constants), "no_duplicate") == {}
    assert violated(Forgets(**constants), "no_duplicate") == {"no_duplicate": 7}


def test_truncation_to_what_is_shared_is_what_keeps_reads_stable():
    class CommitsEarly(Pipeline):
        def advance_high_watermark(self):
            if self.leader is not None:
                self.high_watermark = len(self.log[self.leader])

    constants = dict(records=1, broker_crashes=1, consumer="commits_last")
    assert violated(Pipeline(**constants), "reads_are_stable") == {}
    assert "reads_are_stable" in violated(CommitsEarly(**constants), "reads_are_stable")


@pytest.mark.parametrize(("acks", "min_isr"), [("1", 2), ("all", 1), ("all", 2), ("all", 3)])
def test_with_how_many_brokers_down_writes_go_on(acks, min_isr):
    """What the table of guarantees says, explored. Source: Partition.appendRecordsToLeader."""
    spec = Pipeline(records=1, acks=acks, idempotent=acks == "all", min_insync_replicas=min_isr, broker_crashes=2)
    names = ("writes_with_one_broker_down", "writes_with_two_brokers_down")
    reached = explore(spec, Plan(names, stop="all", quick=True)).reached
    number = guarantees.writes_go_on({"acks": acks, "min_insync_replicas": min_isr})
    assert [name in reached for name in names] == [number >= 1, number >= 2]
