"""The pipeline step by step, deliberately broken variants of it, and the availability that settings cost.

Facts: Partition.appendRecordsToLeader and maybeIncrementLeaderHW, PartitionChangeBuilder.electAnyLeader,
RecordAccumulator.reenqueue; UnifiedLogTest.testDuplicateAppends of Apache Kafka.
"""

import pytest

from checker.engines.native.engine import explore
from checker.language import action, require
from checker.run.plan import Plan
from checker.testing import is_enabled, play
from specs.pipeline import guarantees
from specs.pipeline.partition import Broker
from specs.pipeline.pipeline import Pipeline

LONELY = dict(replication_factor=1, min_insync_replicas=1, slow_followers=0)
APPENDED = ["producer_write", "leader_append"]


def violated(spec, *properties):
    result = explore(spec, Plan(properties, stop="all", quick=True))
    assert result.ended == "complete"
    return {violation.property: violation.length for violation in result.violations}


def test_the_high_watermark_waits_for_the_whole_isr():
    spec = Pipeline(records=1)
    state = play(spec, *APPENDED, "follower_fetch n2")
    assert state.high_watermark == 0
    assert play(spec, "follower_fetch n3", state=state).high_watermark == 1


def test_acks_all_is_refused_below_min_insync_replicas():
    spec = Pipeline(records=1, broker_crashes=2)
    state = play(spec, "broker_crash n2", "broker_crash n3", "producer_write")
    assert not is_enabled(spec, state, "leader_append")
    assert play(spec, "leader_refuse", state=state).queue == (1,)


def test_the_last_member_of_the_isr_stays_in_it():
    state = play(Pipeline(broker_crashes=2, **LONELY), "broker_crash n1")
    assert len(state.isr) == 1


def test_acks_0_reports_success_when_the_request_is_written():
    """NetworkClient.handleCompletedSends; InFlightRequests.canSendMore: the next request waits for that."""
    spec = Pipeline(acks="0", idempotent=False, producer_restarts=1, **LONELY)
    writing = play(spec, "producer_write")
    assert not is_enabled(spec, writing, "leader_append") and not is_enabled(spec, writing, "producer_write")
    written = play(spec, "producer_finish_write", state=writing)
    assert len(written.acked) == 0 and is_enabled(spec, written, "leader_append")
    assert len(play(spec, "producer_report_success", state=written).acked) == 1
    # Before the callback, a successor sends the record again, and the leader has it twice.
    again = play(spec, "leader_append", "producer_restart", "producer_write", "producer_finish_write", state=written)
    assert not spec.holds("no_duplicate", play(spec, "leader_append", state=again))


@pytest.mark.parametrize("retries", [True, False])
def test_an_unfinished_write_is_retried_or_fails(retries):
    """Sender.handleProduceResponse after a disconnect; the leader does not handle a part of a request."""
    spec = Pipeline(acks="0", idempotent=False, retries=retries, lost_responses=1, **LONELY)
    unfinished = play(spec, "producer_write", "connection_close")
    assert (unfinished.queue, len(unfinished.failed)) == (((1,), 0) if retries else ((), 1))
    finished = play(spec, "producer_write", "producer_finish_write", "connection_close")
    assert len(finished.requests) == len(finished.queue) == 0
    assert len(play(spec, "producer_report_success", state=finished).acked) == 1


def test_a_refusal_closes_a_connection_with_acks_0():
    """KafkaApis.handleProduceRequest: an error without a response closes the connection, which loses later requests."""
    spec = Pipeline(acks="0", idempotent=False, leader_moves=1, slow_followers=0)
    write = ["producer_write", "producer_finish_write", "producer_report_success"]
    state = play(spec, "controller_move_leader n2", *write, *write, "leader_refuse_too_early")
    assert len(state.requests) == 0 and not spec.holds("no_acked_loss", state)


def test_a_planned_leader_change_truncates_the_former_leader():
    spec = Pipeline(acks="1", idempotent=False, leader_moves=1, slow_followers=0)
    state = play(spec, *APPENDED, "leader_acknowledge", "controller_move_leader n2")
    with spec.bound():
        assert (len(state.alive), len(state.isr), len(state.log[Broker[0]])) == (3, 3, 0)
    assert not spec.holds("no_acked_loss", state)


def test_a_former_leader_refuses_what_it_has_not_answered():
    """DelayedProduce.tryComplete: NOT_LEADER_OR_FOLLOWER; the new leader recognises an idempotent producer's retry."""
    spec = Pipeline(records=1, leader_moves=1, slow_followers=0)
    state = play(spec, *APPENDED, "follower_fetch n2", "controller_move_leader n2")
    assert not is_enabled(spec, state, "leader_append") and not is_enabled(spec, state, "leader_acknowledge")
    state = play(spec, "former_leader_refuse", "producer_write", "leader_append", state=state)
    with spec.bound():
        assert [len(state.log[broker]) for broker in Broker] == [1, 1, 0]
    assert is_enabled(spec, play(spec, "follower_fetch n3", state=state), "leader_acknowledge")


@pytest.mark.parametrize(("in_flight", "may_overtake"), [(1, False), (2, True)])
def test_a_record_overtakes_those_at_the_former_leader(in_flight, may_overtake):
    """max.in.flight limits a connection; with 1 the client mutes the partition (Sender, guaranteeMessageOrder)."""
    spec = Pipeline(leader_moves=1, slow_followers=0, max_in_flight=in_flight)
    state = play(spec, "producer_write", "controller_move_leader n2")
    assert is_enabled(spec, state, "producer_write") == may_overtake


def test_a_leader_change_to_a_broker_outside_the_isr_loses_records():
    class MovesAnywhere(Pipeline):
        @action
        def controller_move_leader(self, broker: Broker):
            require(self.leader_moves_left > 0 and self.leader is not None and broker != self.leader)
            self.leader_moves_left -= 1
            self.step_down()
            self.isr.add(broker)
            self.become_leader(broker)

    constants = dict(records=1, leader_moves=1, slow_followers=1, replication_factor=2, min_insync_replicas=1)
    assert violated(Pipeline(**constants), "no_acked_loss") == {}
    assert "no_acked_loss" in violated(MovesAnywhere(**constants), "no_acked_loss")


def test_a_transactional_producer_aborts_instead_of_raising_its_epoch():
    """TransactionManager.canRetry; handleFailedBatch, maybeTransitionToErrorState."""
    calls = [
        "producer_write",
        "producer_write",
        "leader_append",
        "leader_append",
        "broker_crash n1",
        "broker_restart n1",
    ]
    calls += ["controller_elect n1", "producer_write", "leader_refuse"]
    idempotent = play(Pipeline(broker_crashes=1, **LONELY), *calls)
    spec = Pipeline(broker_crashes=1, transactional=True, **LONELY)
    transactional = play(spec, *calls)
    assert (idempotent.bump_due, idempotent.is_aborted) == (True, False)
    assert (transactional.bump_due, transactional.is_aborted) == (False, True)
    assert not is_enabled(spec, transactional, "producer_write")
    again = Pipeline(broker_crashes=1, transactional=True, repeats_aborted=True, **LONELY)
    repeated = play(again, *calls)
    assert (repeated.is_aborted, repeated.epoch, list(repeated.queue)) == (False, 1, [1, 2])


def test_an_idempotent_producers_duplicate_is_acknowledged_and_not_appended():
    spec = Pipeline(records=1, lost_responses=1, **LONELY)
    state = play(spec, *APPENDED, "connection_close", "producer_write", "leader_append")
    with spec.bound():
        assert len(state.log[Broker[0]]) == 1
    assert len(play(spec, "leader_acknowledge", state=state).acked) == 1


def test_failed_requests_are_requeued_in_reverse_order_without_idempotence():
    calls = ["producer_write", "producer_write", "connection_close"]
    plain = play(Pipeline(idempotent=False, lost_responses=1, **LONELY), *calls)
    idempotent = play(Pipeline(lost_responses=1, **LONELY), *calls)
    assert (plain.queue, idempotent.queue) == ((2, 1), (1, 2))


def test_with_eligible_leader_replicas_the_isr_empties_and_an_eligible_broker_is_elected():
    spec = Pipeline(broker_crashes=1, replication_factor=2, eligible_leader_replicas=True, slow_followers=1)
    state = play(spec, *APPENDED, "leader_shrink_isr n2", "broker_crash n1")
    assert len(state.isr) == 0
    assert len(state.eligible) == 2
    elected = play(spec, "controller_elect n2", state=state)
    assert (len(elected.isr), len(elected.eligible)) == (1, 1)


def test_a_broker_that_has_died_is_no_longer_eligible():
    """ReplicationControlManager.handleUncleanBrokerShutdown: no clean shutdown, no place in the ELR."""
    spec = Pipeline(broker_crashes=2, replication_factor=2, eligible_leader_replicas=True, slow_followers=0)
    state = play(spec, "broker_crash n2", "broker_crash n1", "broker_restart n2")
    assert len(state.eligible) == 1
    assert not is_enabled(spec, state, "controller_elect n2")
    assert len(play(spec, "broker_restart n1", "controller_elect n1", state=state).isr) == 1


@pytest.mark.parametrize("strict", [True, False])
def test_min_isr_above_the_number_of_replicas_refuses_every_write_before_3_7(strict):
    """Partition.effectiveMinIsr came with KAFKA-15583."""
    spec = Pipeline(records=1, replication_factor=1, min_insync_replicas=2, slow_followers=0, strict_min_isr=strict)
    found = explore(spec, Plan(("every_record_acknowledged",)))
    assert ("every_record_acknowledged" in found.reached) == strict


def test_a_commit_in_the_background_skips_and_repeats():
    constants = dict(consumer="background", consumer_crashes=1, auto_offset_reset="earliest", **LONELY)
    assert set(violated(Pipeline(**constants), "no_gap", "no_reprocessing")) == {"no_gap", "no_reprocessing"}
    assert set(violated(Pipeline(**{**constants, "consumer": "auto_commit"}), "no_gap")) == set()


def test_without_deduplication_a_record_is_written_twice():
    class Forgets(Pipeline):
        def is_known(self, entry):
            return False

    constants = dict(records=1, lost_responses=1, **LONELY)
    assert violated(Pipeline(**constants), "no_duplicate") == {}
    assert violated(Forgets(**constants), "no_duplicate") == {"no_duplicate": 9}


def test_a_high_watermark_at_the_log_end_makes_reads_unstable():
    class CommitsEarly(Pipeline):
        def advance_high_watermark(self):
            if self.leader is not None:
                self.high_watermark = len(self.log[self.leader])

    constants = dict(records=1, broker_crashes=1, consumer="commits_last")
    assert violated(Pipeline(**constants), "reads_are_stable") == {}
    assert "reads_are_stable" in violated(CommitsEarly(**constants), "reads_are_stable")


@pytest.mark.parametrize(("acks", "min_isr"), [("1", 2), ("all", 1), ("all", 2), ("all", 3)])
def test_writes_succeed_with_as_many_brokers_down_as_the_table_states(acks, min_isr):
    """Source: Partition.appendRecordsToLeader."""
    spec = Pipeline(records=1, acks=acks, idempotent=acks == "all", min_insync_replicas=min_isr, broker_crashes=2)
    names = ("writes_with_one_broker_down", "writes_with_two_brokers_down")
    reached = explore(spec, Plan(names, stop="all", quick=True)).reached
    number = guarantees.brokers_that_may_be_down({"acks": acks, "min_insync_replicas": min_isr})
    assert [name in reached for name in names] == [number >= 1, number >= 2]
