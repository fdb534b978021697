"""Two-phase commit and the expiry of transactional ids: the coordinator's answers, and rules that are wrong on purpose.

KIP-939 has examples of the identities that a coordinator keeps; the tests have those identities.
"""

import pytest

from checker.language import replace
from checker.testing import SpecChecks, is_enabled, play, state_with
from specs.transactions.coordinator import Coordinator
from specs.transactions.state import Error, TransactionState
from specs.transactions.two_phase_commit import TwoPhaseCommit
from tests.specs.transactions.coordinator_requests import CoordinatorRequests

PREPARED_AND_STORED = ["start i1", "initialize i1", "read_store i1", "write i1", "prepare i1", "store_data i1"]
SUCCESSOR = ["start i2", "initialize i2", "read_store i2"]


def test_a_kept_transaction_keeps_its_identity_and_its_producer_gets_a_newer_one():
    spec = CoordinatorRequests(keeps_prepared=True, max_epoch=8)
    state = play(spec, "initialize none", "add 0 0 p1", "keep_prepared none", "keep_prepared none")
    kept = state.metadata
    assert state.answer == Error.NONE and kept.state == TransactionState.ONGOING
    assert (kept.epoch, kept.next_producer_id, kept.next_epoch) == (0, 0, 2)
    assert play(spec, "end 0 0 commit", state=state).answer == Error.PRODUCER_FENCED
    assert play(spec, "end 0 1 commit", state=state).answer == Error.PRODUCER_FENCED
    decided = play(spec, "end 0 2 commit", state=state)
    assert (decided.metadata.epoch, decided.metadata.next_epoch) == (1, 3)
    complete = play(spec, "mark_all", state=decided).metadata
    assert (complete.producer_id, complete.epoch, complete.next_epoch) == (0, 3, None)
    assert play(spec, "mark_all", "end 0 2 commit", state=decided).answer == Error.NONE


def test_a_kept_transaction_with_an_exhausted_epoch_gets_another_id():
    spec = CoordinatorRequests(keeps_prepared=True, max_epoch=2, max_producer_id=2)
    state = play(spec, "initialize none", "add 0 0 p1", "keep_prepared none", "keep_prepared none")
    assert (state.metadata.producer_id, state.metadata.next_producer_id, state.metadata.next_epoch) == (0, 1, 0)
    complete = play(spec, "end 1 0 abort", "mark_all", state=state).metadata
    assert (complete.producer_id, complete.epoch) == (1, 1)


def test_initialization_without_keep_aborts_a_kept_transaction_once():
    spec = CoordinatorRequests(keeps_prepared=True, max_epoch=8)
    state = play(spec, "initialize none", "add 0 0 p1", "keep_prepared none", "initialize none")
    assert state.answer == Error.CONCURRENT_TRANSACTIONS
    assert (state.metadata.state, state.metadata.epoch, state.metadata.next_epoch) == (
        TransactionState.PREPARE_ABORT,
        1,
        2,
    )


@pytest.mark.parametrize("decision", ["commit", "abort"])
def test_a_transaction_with_the_largest_epoch_can_only_be_aborted(decision):
    """TransactionMetadata.prepareAbortOrCommit (4.3.1): the epoch stays, and the producer id is replaced."""
    for aborts in (True, False):
        spec = CoordinatorRequests(max_epoch=2, aborts_at_largest_epoch=aborts)
        (initial,) = spec.initial_states()
        broken = replace(initial.metadata, state=TransactionState.ONGOING, epoch=2)
        state = play(spec, f"end 0 2 {decision}", state=state_with(spec, metadata=broken))
        if aborts and decision == "abort":
            assert (state.metadata.epoch, state.metadata.next_producer_id) == (2, 1)
        else:
            assert state.answer == Error.UNKNOWN_SERVER_ERROR


def test_a_successor_commits_what_the_store_has():
    spec = TwoPhaseCommit()
    state = play(spec, *PREPARED_AND_STORED, *SUCCESSOR)
    assert str(state.phase) == "{i1: committing, i2: committing}"
    state = play(spec, "end i1", "end i2", state=state)
    assert str(state.phase) == "{i1: stopped, i2: ready}" and str(state.outcome) == "{0: commit, 1: none}"


def test_a_successor_aborts_what_the_store_lacks():
    spec = TwoPhaseCommit()
    state = play(spec, *PREPARED_AND_STORED[:-1], *SUCCESSOR, "store_data i1")
    assert str(state.phase) == "{i1: stopped, i2: aborting}"


class ExpiresInTransaction(Coordinator):
    """A transactional id expires although a transaction is open."""

    def may_expire(self):
        """Return whether the id was initialized."""
        return True


def test_the_properties_find_an_expiry_in_a_transaction():
    """The scenario `expired_id` has the right rule, with which every property holds."""
    sizes = dict(max_epoch=2, max_producer_id=1, expirations=1)
    checks = SpecChecks(engine="python", properties=("forgets_no_transaction",))
    assert not checks.explore(ExpiresInTransaction, **sizes).holds


def test_an_expired_id_gets_a_new_producer_id():
    spec = Coordinator(expirations=1, max_producer_id=2)
    state = play(spec, "initialize none", "write", "expire", "write")
    assert not is_enabled(spec, state, "add 0 0 p1")
    state = play(spec, "initialize none", "write", state=state)
    assert (state.metadata.producer_id, state.metadata.epoch) == (1, 0)
