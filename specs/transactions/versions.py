"""The rules of releases, of the brokers and of the clients, as constants of the transaction specs.

`specs.kafka_versions` has the releases and their evidence. Each function takes the release of the brokers and that of
the clients, which is the same by default.
"""

from specs import kafka_versions as kafka


def transaction_version(brokers, clients=None):
    """Return the transaction version of clients in a new cluster: 2 if both are of 4.0 or later."""
    releases = (brokers, clients or brokers)
    return 2 if all(kafka.EPOCH_PER_TRANSACTION.applies_to(release) for release in releases) else 1


def coordinator_rules(brokers, clients=None):
    """Return the constants of `CoordinatorRules`."""
    version = transaction_version(brokers, clients)
    return dict(
        transaction_version=version,
        old_clients=version != transaction_version(brokers),
        end_epoch="equal" if kafka.END_NEEDS_EQUAL_EPOCH.applies_to(brokers) else "not_lower",
        timeout_raises_epoch=kafka.TIMEOUT_RAISES_EPOCH.applies_to(brokers),
        fence_raises_epoch_twice=not kafka.FENCE_RAISES_EPOCH_ONCE.applies_to(brokers),
        fence_rotates_id=kafka.FENCE_ROTATES_EXHAUSTED_ID.applies_to(brokers),
        aborts_at_largest_epoch=kafka.FENCE_ROTATES_EXHAUSTED_ID.applies_to(brokers),
    )


def election_rules(brokers, clients=None):
    """Return the constants of `Coordinator`."""
    return coordinator_rules(brokers, clients) | dict(
        lost_completion=not kafka.COMPLETION_WAITS_FOR_LOCK.applies_to(brokers),
        stale_answer_removes="own" if kafka.MARKER_ENTRY_HAS_OWNER.applies_to(brokers) else "any",
        returned_identity="next" if kafka.END_RETURNS_NEXT_IDENTITY.applies_to(brokers) else "prepared",
    )


def transaction_rules(brokers, clients=None):
    """Return the constants of `Transactions`."""
    return coordinator_rules(brokers, clients) | dict(
        verification=kafka.VERIFIES_TRANSACTIONS.applies_to(brokers),
        ongoing_has_epoch=kafka.OPEN_TRANSACTION_HAS_EPOCH.applies_to(brokers),
        markers=marker_rule(brokers),
        raises_epoch_after_error=all(
            kafka.PRODUCER_CONTINUES_WITH_NEW_EPOCH.applies_to(release) for release in (brokers, clients or brokers)
        ),
        producers_expire=not kafka.STATE_KEEPS_TIME_OF_MARKER.applies_to(brokers),
    )


def two_phase_rules(brokers, clients=None):
    """Return the constants of `TwoPhaseCommit`. No release up to 4.4 keeps a prepared transaction (KIP-939).

    Clients of 4.1 to 4.4 have transaction.two.phase.commit.enable, but send InitProducerId without Enable2Pc and
    KeepPreparedTxn (`TransactionManager.initializeTransactions`). Their transactions time out.
    """
    return coordinator_rules(brokers, clients) | dict(keeps_prepared=False, times_out=True)


def marker_rule(brokers):
    """Return which epochs of a marker a leader accepts with transaction version 2."""
    if not kafka.MARKER_NEEDS_HIGHER_EPOCH.applies_to(brokers):
        return "not_lower"
    if kafka.FENCE_ROTATES_EXHAUSTED_ID.applies_to(brokers):
        return "largest_accepted"
    return "retry_accepted" if kafka.MARKER_MAY_BE_REPEATED.applies_to(brokers) else "higher"


def loop_rules(brokers, clients=None):
    """Return the constants of `ExactlyOnceLoop`."""
    return dict(
        transaction_version=transaction_version(brokers, clients),
        lost_mapping="fatal" if kafka.LOST_ID_IS_FATAL.applies_to(clients or brokers) else "recover",
    )


def reader_rules(brokers, clients=None):
    """Return the constants of `TransactionalReader`: the rules of the brokers."""
    return dict(delayed_fetch_returns_aborted=kafka.DELAYED_FETCH_HAS_ABORTED_LIST.applies_to(brokers))


def order_rules(brokers, clients=None):
    """Return the constants of `VerifiedOrder`: the rules of the brokers."""
    return dict(
        verification=kafka.VERIFIES_TRANSACTIONS.applies_to(brokers),
        remembers_lowest=kafka.VERIFICATION_KEEPS_LOWEST_SEQUENCE.applies_to(brokers),
    )


def buffer_rules(brokers, clients=None):
    """Return the constants of `VerificationBuffers`: the rules of the brokers."""
    return dict(
        verification=kafka.VERIFIES_TRANSACTIONS.applies_to(brokers),
        buffer="own" if kafka.VERIFICATION_KEEPS_BUFFER.applies_to(brokers) else "receiver",
    )
