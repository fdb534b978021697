"""The pipeline's producer and the detailed producers have the same behaviours, as the log and the application see them.

One broker has the partition, so that only the rules of the producer and of the leader's producer state count. Both
directions are checked. A behaviour of the detailed spec that the pipeline misses would make a "never" of the pipeline
wrong; one that the pipeline adds would make a counterexample wrong.
"""

import pytest

from checker.engines.native.engine import explore
from checker.run.plan import Plan
from checker.testing import refine
from specs.broker.producer_state import Error, Partition
from specs.pipeline.partition import Broker, RecordId
from specs.pipeline.pipeline import Pipeline
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.idempotent.transaction_manager import Outcome
from specs.producer.plain.application import Future
from specs.producer.plain.producer import PlainProducer

ALONE = dict(replication_factor=1, min_insync_replicas=1, slow_followers=0)
TWO = dict(batches=2, max_in_flight=2, log_size=4, max_epoch=2, max_sequence=5, no_state="any")
LATE = dict(lost_responses=1, late_requests=True)

# Faults of the detailed producer, and the same failures of the pipeline.
CLOSE = (dict(max_disconnects=1, max_abandoned=1), LATE)
RESTART = (dict(max_restarts=1), dict(broker_crashes=1))
REJECT = (dict(max_rejections=1), dict(rejections=1))
TIMEOUT = (dict(max_disconnects=1, max_timeouts=1), dict(LATE, delivery_timeouts=1))
BETWEEN = 2
"""A restart of the broker is one step there, and three here: crash, restart, election."""


def is_same_idempotent(one, other):
    """Return whether both have the same log with epochs and sequences, the same results, and the same epoch.

    An error reaches the pipeline's producer at once: a record may have failed there while its response is in transit.
    """
    outcomes = [batch.outcome for batch in one.batch[Partition(0)].items_in_order()]
    failed = {number + 1 for number, outcome in enumerate(outcomes) if outcome == Outcome.FAILED}
    rejected = {request.batch.id + 1 for request in one.requests[Partition(0)] if request.error == Error.INVALID_RECORD}
    return (
        [(batch.id + 1, batch.epoch, batch.sequence) for batch in one.log[Partition(0)]]
        == [(entry.record, entry.epoch, entry.sequence) for entry in other.log[Broker(0)]]
        and {number + 1 for number, outcome in enumerate(outcomes) if outcome == Outcome.ACKED} == set(other.acked)
        and failed <= set(other.failed) <= failed | rejected
        and one.epoch == other.epoch
    )


def of_idempotent(faults, failures, pipeline=Pipeline, *, is_reverse=False):
    """Check that the pipeline does what the idempotent producer does, or the reverse."""
    detailed, coarse = IdempotentProducer(**TWO, **faults), pipeline(**ALONE, **failures)
    if is_reverse:
        return refine(coarse, detailed, lambda one, other: is_same_idempotent(other, one), between=BETWEEN)
    return refine(detailed, coarse, is_same_idempotent, between=BETWEEN)


@pytest.mark.slow
@pytest.mark.parametrize("is_reverse", [False, True], ids=["detailed", "pipeline"])
@pytest.mark.parametrize(("faults", "failures"), [CLOSE, RESTART, REJECT, TIMEOUT], ids=lambda found: " ".join(found))
def test_the_idempotent_producers_have_the_same_behaviours(faults, failures, is_reverse):
    if is_reverse and failures == RESTART[1]:
        faults = faults | dict(max_refusals=3)  # the pipeline's new leader refuses until it knows that it leads
    if is_reverse and failures == TIMEOUT[1]:
        faults = faults | dict(max_abandoned=1)  # the pipeline's leader may handle the requests of a closed connection
    found = of_idempotent(faults, failures, is_reverse=is_reverse)
    assert found.holds, [str(step) for step in found.trace]
    assert found.concrete_states > 20


class KnowsNoDuplicates(Pipeline):
    """A leader that does not recognise a retry."""

    def is_known(self, batch):
        return False


class RetriesNewestFirst(Pipeline):
    """An idempotent client that puts each retry at the head of its queue."""

    def is_before(self, one, other):
        return False


class MarksNothing(Pipeline):
    """A client that forgets that an expired batch was sent before."""

    def send_again(self, batch):
        super().send_again(batch)
        self.retried = set()


@pytest.mark.parametrize(
    ("case", "wrong", "is_reverse"),
    [
        (CLOSE, KnowsNoDuplicates, True),
        (CLOSE, RetriesNewestFirst, True),
        (TIMEOUT, MarksNothing, False),
        ((RESTART[0], dict(RESTART[1], snapshot_batches=5)), Pipeline, False),
        ((REJECT[0], dict(REJECT[1], no_state="never_held")), Pipeline, False),
    ],
    ids=["duplicates", "order", "unresolved", "snapshot", "no_state"],
)
def test_a_wrong_rule_separates_the_idempotent_producers(case, wrong, is_reverse):
    assert not of_idempotent(*case, wrong, is_reverse=is_reverse).holds


# Without idempotence.


def is_same_plain(one, other):
    """Return whether both have the same log and the same results."""
    futures = list(one.future.items_in_order())
    return (
        list(one.log[0]) == [entry.record for entry in other.log[Broker(0)]]
        and {number + 1 for number, future in enumerate(futures) if future == Future.SUCCEEDED} == set(other.acked)
        and {number + 1 for number, future in enumerate(futures) if future == Future.FAILED} == set(other.failed)
    )


class ReadsAhead(Pipeline):
    """A leader that reads a request as soon as it has sent the response to the one before, also without idempotence.

    The pipeline waits until the response has arrived: two lost responses duplicate no other kind of record than one.
    """

    def has_answered_all(self):
        return len(self.handled) == 0 or self.may_answer(self.handled[len(self.handled) - 1])


def of_plain(settings, pipeline=ReadsAhead):
    """Check that the pipeline does what the producer without idempotence does when its connection closes."""
    faults = dict(disconnects=1, retries=2) | settings
    failures = LATE | settings | dict(idempotent=False, retries=faults["retries"] > 0)
    return refine(PlainProducer(**faults), pipeline(**ALONE, **failures), is_same_plain, between=BETWEEN)


@pytest.mark.parametrize(
    "settings",
    [
        dict(acks="1", max_in_flight=2),
        dict(acks="all", max_in_flight=1),
        dict(acks="1", max_in_flight=2, retries=0),
        dict(acks="0", max_in_flight=2),
    ],
    ids=str,
)
def test_the_pipeline_does_what_a_producer_without_idempotence_does(settings):
    found = of_plain(settings)
    assert found.holds, [str(step) for step in found.trace]
    assert found.concrete_states > 20


def test_the_pipeline_reads_no_request_before_the_last_response_arrived():
    assert not of_plain(dict(acks="1", max_in_flight=2), Pipeline).holds


ANSWERS = ("no_acked_loss", "no_duplicate", "no_reorder", "no_missing_earlier", "no_endless_retry", "reads_are_stable")


def answers(pipeline, constants):
    """Return the properties that a pipeline without idempotence violates."""
    spec = pipeline(**constants, idempotent=False, replication_factor=2, slow_followers=1, consumer="auto_commit")
    result = explore(spec, Plan(ANSWERS, stop="all", quick=True))
    assert result.ended == "complete"
    return {violation.property for violation in result.violations}


@pytest.mark.slow
@pytest.mark.parametrize("settings", [dict(acks="1"), dict(acks="all"), dict(acks="all", retries=False)], ids=str)
@pytest.mark.parametrize(
    "failures",
    [dict(leader_moves=1), dict(broker_crashes=1), dict(power_failures=1), LATE, dict(delivery_timeouts=1)],
    ids=str,
)
def test_waiting_for_a_response_changes_no_answer(settings, failures):
    assert answers(Pipeline, settings | failures) == answers(ReadsAhead, settings | failures)


class RetriesInOrder(ReadsAhead):
    """A client without idempotence that keeps the order of its retries."""

    def send_again(self, batch):
        self.queue = [record for record in RecordId if record in self.queue or record == batch.record]


def test_a_wrong_order_of_retries_separates_the_producers():
    assert not of_plain(dict(acks="1", max_in_flight=2), RetriesInOrder).holds
