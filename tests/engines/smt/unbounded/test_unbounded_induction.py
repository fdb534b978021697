"""Proofs for every value of some constants, and counterexamples at one size to queries without a proof."""

import json
import os

import pytest

from checker.cli.app import main
from checker.engines.smt.refutation import refuted
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.unbounded.instances import examine
from checker.engines.smt.unbounded.lowering import collections
from checker.engines.smt.unbounded.unbounded_induction import prove
from checker.engines.smt.unbounded.unbounded_system import UnboundedSystem
from checker.language import Constant, Range, Seq, Spec, action, invariant, lemma, require, step_invariant
from checker.language.roles import Role
from checker.language.symbols import OpenNumber, open_extreme, upper_bound
from specs.producer.idempotent.log import (
    AnySequenceTaken,
    CacheOfOne,
    IdempotentLog,
    NoSequenceCheck,
    OldTakenForLast,
    StateLost,
    scenarios,
)
from specs.replication.fenced_logs import FencedLogs
from specs.replication.kip320 import Kip320

THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"
SIZES = ["batches", "log_size", "max_sequence", "max_batch_records"]


class Counted(Spec):
    """A log of the numbers 0, 1, 2 ..."""

    size = Constant(3, at_least=1)
    most = Constant(4, at_least=1)
    log = Seq(Range(0, "most"), "size")
    next = Range(0, "most")

    @action
    def append(self):
        require(self.next < self.most)
        require(len(self.log) < self.size)
        self.log.append(self.next)
        self.next += 1

    @action
    def cut(self, end: Range(0, "size")):
        require(end < len(self.log))
        del self.log[end:]
        self.next = end

    @invariant
    def ascending(self):
        return all(self.log[i] < self.log[i + 1] for i in range(len(self.log) - 1))

    @step_invariant
    def keeps_the_beginning(self, old):
        return all(self.log[i] == old.log[i] for i in range(min(len(self.log), len(old.log))))


class CountedProved(Counted):
    @lemma
    def counted(self):
        return self.next == len(self.log) and all(self.log[i] == i for i in range(len(self.log)))


class Overflowing(CountedProved):
    @action
    def append(self):
        require(self.next < self.most)
        self.log.append(self.next)
        self.next += 1


class WrongForLargeConstants(Spec):
    """Its invariant is false if `most` is at least 8."""

    most = Constant(3, at_least=1)
    number = Range(0, "most")

    @action
    def increment(self):
        require(self.number < self.most)
        self.number += 1

    @invariant
    def is_small(self):
        return self.number < 8


class DividesByZero(Spec):
    """Its action always divides by zero: the remainder of a division by 1 is 0."""

    most = Constant(3, at_least=1)
    number = Range(0, "most")
    bit = Range(0, 1)

    @action
    def divide(self):
        self.number = self.number // (5 % self.bit)

    @invariant
    def is_a_number(self):
        return self.number >= 0


def proof_of(spec, names, limits=None, targets=None):
    targets = targets or spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT)
    lemmas = spec.names_of(Role.LEMMA)
    return prove(UnboundedSystem(spec, names, [*targets, *lemmas]), targets, lemmas, limits or QueryLimits(2))


def open_cells(proof):
    return {(cell.conjunct, cell.action) for cell in proof.cells if cell.outcome != "proved"}


def test_a_spec_is_proved_for_every_size():
    assert proof_of(CountedProved(), ["size", "most"]).verdict == "proved"


def test_an_invariant_true_only_for_small_constants_is_not_proved():
    proof = proof_of(WrongForLargeConstants(), ["most"])
    assert open_cells(proof) == {("is_small", "increment")}
    assert examine(WrongForLargeConstants(), proof, QueryLimits(5), 1).proof.verdict == "unknown"
    found = examine(WrongForLargeConstants(most=9), proof, QueryLimits(5), 1)
    assert found.proof.verdict == "fails"
    assert found.reachability["is_small", "increment"].trace[-1].state.number == 7


def test_a_missing_lemma_has_an_unreachable_counterexample_at_one_size():
    proof = proof_of(Counted(), ["size", "most"])
    assert open_cells(proof) == {("ascending", "append"), ("bounds", "cut")}
    found = examine(Counted(), proof, QueryLimits(5), 1)
    assert found.proof.verdict == "fails"
    before = found.reachability["ascending", "append"]
    assert (before.trace, before.is_certain) == (None, True)


def test_an_append_over_an_open_capacity_leaves_the_bounds():
    proof = proof_of(Overflowing(), ["size", "most"])
    assert open_cells(proof) == {("bounds", "append")}
    found = examine(Overflowing(), proof, QueryLimits(5), 1)
    assert found.reachability["bounds", "append"].trace[-1].state.next == 3


def test_a_divisor_that_is_always_zero_leaves_the_bounds():
    assert open_cells(proof_of(DividesByZero(), ["most"])) == {("bounds", "divide")}


def test_a_finite_instance_refutes_an_unsound_proof(monkeypatch):
    monkeypatch.setattr(collections, "fits", lambda length, kind: True)
    proof = proof_of(Overflowing(), ["size", "most"])
    assert proof.verdict == "proved"
    with pytest.raises(AssertionError, match="engines disagree: bounds, append"):
        examine(Overflowing(), proof, QueryLimits(5), 1)


def test_a_timeout_is_unknown():
    proof = proof_of(CountedProved(), ["size", "most"], QueryLimits(1e-9))
    assert proof.verdict == "unknown"
    assert {cell.reason for cell in proof.cells if cell.outcome == "unknown"} == {"timeout: no answer within 1e-09 s"}


@pytest.mark.slow
def test_the_idempotent_log_is_proved_for_every_size():
    constants = dict(cache_size=5, max_in_flight=5) if THOROUGH else dict(max_responses=1)
    assert proof_of(IdempotentLog(**constants), SIZES, QueryLimits(60)).verdict == "proved"


@pytest.mark.slow
def test_fenced_logs_are_proved_for_any_number_of_leader_epochs_and_records():
    spec = FencedLogs(replicas=3 if THOROUGH else 2)
    assert proof_of(spec, ["log_size", "max_records", "max_leader_epoch"], QueryLimits(300)).verdict == "proved"


@pytest.mark.skipif(not THOROUGH, reason="takes minutes")
def test_kip320_is_proved_for_any_number_of_leader_epochs_and_records():
    spec = Kip320(replicas=2)
    assert proof_of(spec, ["log_size", "max_records", "max_leader_epoch"], QueryLimits(600)).verdict == "proved"


FAULTY = {
    CacheOfOne: "retries_recognised",
    OldTakenForLast: "responses_are_true",
    NoSequenceCheck: "log_has_every_batch_once_in_order",
    StateLost: "log_has_every_batch_once_in_order",
    AnySequenceTaken: "log_is_contiguous",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTY if THOROUGH else [NoSequenceCheck])
def test_a_faulty_broker_breaks_the_induction_and_a_reachable_state(kind):
    (scenario,) = [found for found in scenarios if found.spec is kind]
    spec = kind(**scenario.constants)
    proof = proof_of(spec, SIZES, QueryLimits(3 if THOROUGH else 1), list(scenario.expect))
    found = examine(spec, proof, QueryLimits(10), 1)
    assert found.proof.verdict == "fails"
    assert (FAULTY[kind], "handle") in found.reachability
    violated = {violation.property for violation in refuted(spec, [*proof.targets, *proof.lemmas], 1).violations}
    assert {*scenario.expect, FAULTY[kind]} <= violated


SPEC = """
from checker.language import Constant, Range, Spec, action, invariant, require

class Counter(Spec):
    most = Constant(3, at_least=1)
    number = Range(0, "most")

    @action
    def increment(self):
        require(self.number + 1 < self.most)
        self.number += 1

    @invariant
    def is_less(self):
        return self.number < self.most
"""


def test_the_command_reports_proofs_for_every_value(capsys, tmp_path):
    (tmp_path / "counter.py").write_text(SPEC)
    assert main(["prove", f"{tmp_path}/counter.py", "--unbounded", "most"]) == 0
    printed = capsys.readouterr().out
    assert "most=any" in printed
    assert "proved by induction: is_less" in printed
    assert "for every value of most" in printed
    (tmp_path / "wrong.py").write_text(SPEC.replace("self.number + 1 < self.most", "self.number < self.most"))
    assert main(["prove", f"{tmp_path}/wrong.py", "--unbounded", "most", "--json", "-"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert (content["verdict"], content["unbounded"]) == ("violated", ["most"])
    assert [(found["property"], len(found["trace"])) for found in content["violations"]] == [("is_less", 4)]


def test_arithmetic_of_open_numbers():
    most = OpenNumber.constant("most", 0, None)
    assert str(most * 2 + 1) == "(most * 2) + 1"
    assert (most + 1 == most + 1, most + 1 == most, most > 10**18, 0 * most) == (True, False, True, 0)
    assert isinstance(most - 10**9, OpenNumber)
    assert (5 // most, -5 // most) == (0, -1)
    assert upper_bound(most, 3).expression is None
    assert upper_bound(most, most) == most
    assert str(open_extreme("min")(most, 3)) == "min(most, 3)"
