"""The rules of a release, with clients and brokers of that release, as constants of the transaction specs.

`specs.kafka_versions` has the releases and their evidence.
"""

from specs.kafka_versions import (
    COMPLETION_WAITS_FOR_LOCK,
    DELAYED_FETCH_HAS_ABORTED_LIST,
    END_NEEDS_EQUAL_EPOCH,
    END_RETURNS_NEXT_IDENTITY,
    EPOCH_PER_TRANSACTION,
    FENCE_RAISES_EPOCH_ONCE,
    FENCE_ROTATES_EXHAUSTED_ID,
    LOST_ID_IS_FATAL,
    MARKER_ENTRY_HAS_OWNER,
    MARKER_MAY_BE_REPEATED,
    MARKER_NEEDS_HIGHER_EPOCH,
    OPEN_TRANSACTION_HAS_EPOCH,
    PRODUCER_CONTINUES_WITH_NEW_EPOCH,
    STATE_KEEPS_TIME_OF_MARKER,
    TIMEOUT_RAISES_EPOCH,
    VERIFIES_TRANSACTIONS,
)


def transaction_version(release):
    """Return the transaction version of new clusters and clients: 2 from 4.0 on."""
    return 2 if EPOCH_PER_TRANSACTION.applies_to(release) else 1


def coordinator_rules(release):
    """Return the constants of `CoordinatorRules`."""
    return dict(
        transaction_version=transaction_version(release),
        end_epoch="equal" if END_NEEDS_EQUAL_EPOCH.applies_to(release) else "not_lower",
        timeout_raises_epoch=TIMEOUT_RAISES_EPOCH.applies_to(release),
        fence_raises_epoch_twice=not FENCE_RAISES_EPOCH_ONCE.applies_to(release),
        fence_rotates_id=FENCE_ROTATES_EXHAUSTED_ID.applies_to(release),
        aborts_at_largest_epoch=FENCE_ROTATES_EXHAUSTED_ID.applies_to(release),
    )


def election_rules(release):
    """Return the constants of `Coordinator`."""
    return coordinator_rules(release) | dict(
        lost_completion=not COMPLETION_WAITS_FOR_LOCK.applies_to(release),
        stale_answer_removes="own" if MARKER_ENTRY_HAS_OWNER.applies_to(release) else "any",
        returned_identity="next" if END_RETURNS_NEXT_IDENTITY.applies_to(release) else "prepared",
    )


def transaction_rules(release):
    """Return the constants of `Transactions`."""
    return coordinator_rules(release) | dict(
        verification=VERIFIES_TRANSACTIONS.applies_to(release),
        ongoing_has_epoch=OPEN_TRANSACTION_HAS_EPOCH.applies_to(release),
        markers=marker_rule(release),
        raises_epoch_after_error=PRODUCER_CONTINUES_WITH_NEW_EPOCH.applies_to(release),
        producers_expire=not STATE_KEEPS_TIME_OF_MARKER.applies_to(release),
    )


def two_phase_rules(release):
    """Return the constants of `TwoPhaseCommit`. No release up to 4.4 keeps a prepared transaction (KIP-939).

    Clients of 4.1 to 4.4 have transaction.two.phase.commit.enable, but send InitProducerId without Enable2Pc and
    KeepPreparedTxn (`TransactionManager.initializeTransactions`). Their transactions time out.
    """
    return coordinator_rules(release) | dict(keeps_prepared=False, times_out=True)


def marker_rule(release):
    """Return which epochs of a marker a leader accepts with transaction version 2."""
    if not MARKER_NEEDS_HIGHER_EPOCH.applies_to(release):
        return "not_lower"
    return "retry_accepted" if MARKER_MAY_BE_REPEATED.applies_to(release) else "higher"


def loop_rules(release):
    """Return the constants of `ExactlyOnceLoop`."""
    return dict(
        transaction_version=transaction_version(release),
        lost_mapping="fatal" if LOST_ID_IS_FATAL.applies_to(release) else "recover",
    )


def reader_rules(release):
    """Return the constants of `TransactionalReader`."""
    return dict(delayed_fetch_returns_aborted=DELAYED_FETCH_HAS_ABORTED_LIST.applies_to(release))
