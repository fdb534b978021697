"""The coordinator of the exactly-once loop does only what `Coordinator` allows.

A step of the loop is a request with its answer, and adds both partitions at once: it corresponds to up to four steps of
`Coordinator`, which writes each change to its log. So the states are related by a predicate, not by a mapping.
"""

import pytest

from checker.language import Spec
from checker.testing import refine
from specs.transactions.coordinator import Coordinator
from specs.transactions.exactly_once import ExactlyOnceLoop, Instance, Target
from specs.transactions.state import Partition, TransactionState

WRITES_BETWEEN = 3
SIZE = dict(instances=1, records=1, rebalances=0, crashes=1)


OPEN = (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def is_same(loop, coordinator) -> bool:
    """Return whether the coordinators have the same transaction of the id of the one instance.

    The loop does not distinguish the states without a transaction: InitProducerId leaves the last outcome.
    """
    producer_id = loop.registered[Instance[0]]
    if coordinator.pending is not None:
        return False
    if producer_id is None:
        return coordinator.metadata.epoch is None
    transaction, metadata = loop.transactions[producer_id], coordinator.metadata
    if transaction.epoch != metadata.epoch:
        return False
    if transaction.state not in OPEN:
        return metadata.state not in OPEN
    waiting = metadata.partitions if transaction.state == TransactionState.ONGOING else coordinator.unmarked
    return transaction.state == metadata.state and set(transaction.unmarked) == set(map(target_of, waiting))


def target_of(partition: Partition) -> Target:
    """Return the target of the loop that a partition stands for."""
    return Target.OUTPUT if str(partition) == "p1" else Target.OFFSETS


def coordinator(version: int) -> Spec:
    """Return a coordinator with two partitions and room for the epochs of the loop."""
    return Coordinator(partitions=2, max_producer_id=0, max_epoch=9, transaction_version=version)


class KeepsEpochAtTimeout(ExactlyOnceLoop):
    """A timeout aborts the transaction and does not fence its producer (as before KAFKA-6119)."""

    def abort_and_fence(self, producer_id):
        """Abort a transaction with its epoch."""
        self.transactions[producer_id].state = TransactionState.PREPARE_ABORT


class TimesOutDecided(ExactlyOnceLoop):
    """A timeout aborts a transaction whose commit is already decided."""

    def is_ongoing(self, producer_id):
        """Return whether the coordinator aborts the transaction after its timeout."""
        return self.transactions[producer_id].state in (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT)


@pytest.mark.parametrize(
    ("version", "crashes", "slow_transactions"),
    [(1, 1, 0), (2, 1, 0), (2, 0, 1), pytest.param(2, 1, 1, marks=pytest.mark.slow)],
)
def test_the_coordinator_of_the_loop_is_allowed(version, crashes, slow_transactions):
    faults = dict(lost_answers=1, crashes=crashes, slow_transactions=slow_transactions)
    loop = ExactlyOnceLoop(**SIZE | faults, transaction_version=version)
    assert refine(loop, coordinator(version), is_same, between=WRITES_BETWEEN).holds


@pytest.mark.parametrize("faulty", [KeepsEpochAtTimeout, TimesOutDecided])
def test_a_wrong_timeout_of_the_loop_is_not_allowed(faulty):
    found = refine(faulty(**SIZE), coordinator(2), is_same, between=WRITES_BETWEEN)
    assert found.trace[-1].action == "time_out"
