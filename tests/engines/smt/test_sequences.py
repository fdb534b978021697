"""Proofs over the whole range of Kafka's sequence numbers: the broker's check, with and without the wrap-around."""

import os

import pytest

from checker.engines.smt.induction import prove
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language.roles import Role
from specs.broker.sequence_check import PlainCheck, SequenceCheck
from specs.replication.fenced_logs import FencedLogs

THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"
WHOLE = dict(max_sequence=2**31 - 1, max_batch_records=2**31 - 1)


def proved(spec):
    targets, lemmas = spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT), spec.names_of(Role.LEMMA)
    return prove(TransitionSystem(spec, [*targets, *lemmas]), targets, lemmas, QueryLimits())


def test_the_broker_accepts_only_the_next_sequence_in_the_whole_range():
    assert proved(SequenceCheck(**WHOLE)).verdict == "proved"


def test_a_check_without_wrap_around_is_wrong():
    (cell,) = [cell for cell in proved(PlainCheck(**WHOLE)).cells if cell.outcome == "fails"]
    _, last, records, ahead, _ = cell.counterexample.arguments
    assert (cell.action, ahead) == ("ask", 0)
    assert last + records > 2**31 - 1


@pytest.mark.parametrize("constants", [{}, dict(log_size=3, max_records=3)] if THOROUGH else [dict(max_leader_epoch=1)])
def test_logs_of_three_replicas_are_proved(constants):
    proof = proved(FencedLogs(**constants))
    assert proof.verdict == "proved"
    assert {"leader_epochs_never_decrease", "high_watermark_is_in_log", "same_epoch_means_same_log"} <= set(
        proof.targets
    )
