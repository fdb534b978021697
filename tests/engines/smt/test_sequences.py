"""Kafka's whole circle of sequences, as bit-vectors: the broker's check, and the same without the wrap-around."""

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


def test_the_next_sequence_alone_is_taken_on_the_whole_circle():
    assert proved(SequenceCheck(**WHOLE)).verdict == "proved"


def test_without_the_wrap_the_check_is_wrong():
    (cell,) = [cell for cell in proved(PlainCheck(**WHOLE)).cells if cell.outcome == "fails"]
    _, last, records, ahead, _ = cell.counterexample.arguments
    assert (cell.action, ahead) == ("ask", 0)
    assert last + records > 2**31 - 1


@pytest.mark.parametrize("constants", [{}, dict(log_size=3, max_records=3)] if THOROUGH else [dict(max_leader_epoch=1)])
def test_leader_epochs_and_logs_of_three_replicas(constants):
    proof = proved(FencedLogs(**constants))
    assert proof.verdict == "proved"
    assert {"leader_epochs_never_decrease", "high_watermark_is_in_log", "same_epoch_means_same_log"} <= set(
        proof.targets
    )
