"""Proofs by induction and k-induction: verdicts, counterexamples to induction, and rejected specs."""

import os

import pytest

from checker.engines.smt import induction, k_induction
from checker.engines.smt.reachability import ReachableStates
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import Range, Spec, SpecError, action, invariant, lemma, require, step_invariant
from checker.language.roles import Role
from specs.broker.leader_state import LeaderState
from specs.examples.peterson import Peterson
from specs.producer.idempotent.sequence_order import PlainOrder, SequenceOrder
from specs.replication.fenced_lemmas import FencedLemmas
from specs.replication.kip279 import Kip279
from specs.replication.kip320 import Kip320

THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"


class EvenSteps(Spec):
    """Counts to eight in steps of two, so the number is never five."""

    number = Range(0, 9)

    @action
    def add_two(self):
        require(self.number < 8)
        self.number += 2

    @action
    def begin_again(self):
        self.number = 0

    @invariant
    def is_not_five(self):
        return self.number != 5

    @step_invariant
    def moves_by_two(self, old):
        return self.number in (0, old.number + 2)


class EvenStepsProved(EvenSteps):
    @lemma
    def is_even(self):
        return self.number % 2 == 0


class Contradiction(EvenSteps):
    @lemma
    def is_large(self):
        return self.number > 5

    @lemma
    def is_low(self):
        return self.number < 3


class K279WithLemmas(FencedLemmas, Kip279):
    pass


def proved(spec, limits=None):
    targets, lemmas = spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT), spec.names_of(Role.LEMMA)
    return induction.prove(TransitionSystem(spec, [*targets, *lemmas]), targets, lemmas, limits or QueryLimits())


def failing(proof):
    return {(cell.conjunct, cell.action) for cell in proof.cells if cell.outcome == "fails"}


def test_a_failed_proof_names_action_and_conjunct():
    proof = proved(EvenSteps())
    assert proof.verdict == "fails"
    assert failing(proof) == {("is_not_five", "add_two")}
    (cell,) = [cell for cell in proof.cells if cell.outcome == "fails"]
    assert (cell.counterexample.before.number, cell.counterexample.after.number) == (3, 5)


class LateBounds(Spec):
    """The action `late` leaves the bounds of y, from a state that many steps reach."""

    x = Range(0, 10_000_000)
    y = Range(0, 3)

    @action
    def advance(self):
        require(self.x < 9_999_999)
        self.x += 1

    @action
    def late(self):
        require(self.x > 5_000_000)
        self.y += 1

    @action
    def lower(self, amount: Range(1, 2)):
        require(self.x > 5_000_000)
        self.y -= amount

    @invariant
    def positive(self):
        return self.x >= 0


def test_an_action_that_leaves_its_bounds_is_not_inductive():
    """An action that leaves its bounds has no successor, so it is not among the steps that are taken."""
    proof = proved(LateBounds())
    assert failing(proof) == {("bounds", "late"), ("bounds", "lower")}
    assert all(cell.counterexample.after is None for cell in proof.cells if cell.outcome == "fails")


def test_a_lemma_completes_the_proof():
    proof = proved(EvenStepsProved())
    assert proof.verdict == "proved"
    assert {"is_even", "is_not_five", "moves_by_two", "bounds"} == set(proof.conjuncts)


def test_a_counterexample_to_induction_is_looked_up_in_the_reachable_states():
    (cell,) = [cell for cell in proved(EvenSteps()).cells if cell.outcome == "fails"]
    unreachable = ReachableStates(EvenSteps(), workers=1).look_up(cell.counterexample.before)
    assert (unreachable.trace, unreachable.is_certain, unreachable.explored) == (None, True, 5)
    reached = ReachableStates(EvenSteps(), workers=1).look_up(EvenSteps().state_of({"number": 4}))
    assert [step.state.number for step in reached.trace] == [0, 2, 4]


def test_contradictory_lemmas_are_rejected():
    with pytest.raises(SpecError, match="is_large and is_low contradict each other"):
        proved(Contradiction())


def test_a_timeout_is_unknown_with_its_reason():
    proof = proved(Kip320(replicas=2), QueryLimits(0.001))
    assert proof.verdict == "unknown"
    reasons = {cell.reason for cell in proof.cells if cell.outcome == "unknown"}
    assert reasons == {"timeout: no answer within 0.001 s"}


def test_peterson_is_proved_with_its_lemmas():
    assert proved(Peterson()).verdict == "proved"


def test_k_induction_proves_with_longer_paths_instead_of_a_lemma():
    system = TransitionSystem(EvenSteps(), ["is_not_five"])
    proof = k_induction.prove(system, ["is_not_five"], 4, QueryLimits())
    assert (proof.verdict, proof.k) == ("proved", 3)


def test_k_induction_searches_the_first_k_states():
    class Wrong(EvenSteps):
        @invariant
        def is_not_four(self):
            return self.number != 4

    proof = k_induction.prove(TransitionSystem(Wrong(), ["is_not_four"]), ["is_not_four"], 4, QueryLimits())
    assert proof.verdict == "fails"
    assert [violation.length for violation in proof.base.violations] == [3]


SIZES = [dict(replicas=2, max_leader_epoch=1)]
if THOROUGH:
    SIZES += [{}, dict(log_size=3, max_records=3), dict(log_size=1, max_leader_epoch=3)]


@pytest.mark.parametrize("constants", SIZES)
def test_kip320_is_proved(constants):
    assert proved(Kip320(**constants)).verdict == "proved"


INTEGER_MAX = 2**31 - 1


def test_the_broker_accepts_exactly_the_next_sequence_in_the_whole_range():
    sizes = dict(max_sequence=INTEGER_MAX, max_batch_records=INTEGER_MAX, max_epoch=2**15 - 1, log_size=2, cache_size=2)
    assert proved(LeaderState(**sizes)).verdict == "proved"
    assert ("sequences_contiguous", "produce") in failing(proved(LeaderState(**sizes, no_state="any")))


@pytest.mark.parametrize(
    ("constants", "left_out"),
    [
        (dict(restarts=True), {"retries_recognised"}),
        (dict(truncations=True), {"retries_recognised"}),
        (dict(restarts=True, truncations=True, snapshot_batches=2), set()),
        (dict(markers=True, verification=True), {"retries_recognised"}),
    ],
)
def test_the_broker_keeps_its_guarantees_over_restarts_truncations_and_markers(constants, left_out):
    spec = LeaderState(**constants)
    targets = [name for name in spec.names_of(Role.INVARIANT) if name not in left_out]
    lemmas = spec.names_of(Role.LEMMA)
    proof = induction.prove(TransitionSystem(spec, [*targets, *lemmas]), targets, lemmas, QueryLimits())
    assert (proof.verdict, len(targets)) == ("proved", 4 - len(left_out))


def test_sequences_are_compared_modulo_their_range():
    assert proved(SequenceOrder(max_sequence=INTEGER_MAX)).verdict == "proved"
    assert failing(proved(PlainOrder(max_sequence=INTEGER_MAX))) == {("order_is_that_of_sending", "send")}


def test_the_lemmas_of_kip320_are_not_inductive_for_kip279():
    assert ("strong_isr", "leader_expand_isr") in failing(proved(K279WithLemmas(replicas=2, max_leader_epoch=1)))
