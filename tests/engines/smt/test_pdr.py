"""PDR: verdicts match the explorer, invariants are inductive as Python lemmas, traces can be replayed."""

import re

import pytest

from checker.engines.native.engine import explore
from checker.engines.smt import induction, pdr
from checker.engines.smt.invariant_source import UnsupportedInvariantError, constant_expressions, python_conjuncts
from checker.engines.smt.lemmas.lemma_source import with_methods
from checker.engines.smt.pdr import solve
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import Range, SetOf, Spec, SpecError, action, invariant, require, step_invariant
from checker.language.roles import Role
from checker.run.plan import Plan
from specs.examples.die_hard import DieHard
from specs.examples.peterson import Peterson, PetersonHasty
from specs.replication.async_isr import AsyncIsr, VersionedIsr
from specs.replication.kip320 import Kip320
from traces.replay import replay


class Bare(Peterson):
    flags_are_up = None
    other_process_has_the_turn = None


class SmallAsyncIsr(AsyncIsr):
    """AsyncIsr with sets of bits: Spacer takes a second instead of 46."""

    requests = SetOf(VersionedIsr)
    updates = SetOf(VersionedIsr)


class Countdown(Spec):
    """Counts down from seven to zero."""

    number = Range(-1, 7)

    def init(self):
        self.number = 7

    @action
    def count(self):
        require(self.number > 0)
        self.number -= 1

    @invariant
    def is_not_negative(self):
        return self.number >= 0

    @step_invariant
    def falls(self, old):
        return self.number < old.number


class Rising(Countdown):
    @action
    def begin_again(self):
        require(self.number == 3)
        self.number = 7


class Overflow(Countdown):
    @action
    def count(self):
        self.number -= 2


def names_of(spec):
    return spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT)


def solved(spec, seconds=60):
    return solve(TransitionSystem(spec, names_of(spec)), names_of(spec), QueryLimits(seconds))


@pytest.mark.parametrize("spec", [Bare(), Countdown(), SmallAsyncIsr(replicas=2, max_offset=1, max_version=2)])
def test_an_invariant_translated_to_python_is_inductive(spec):
    system = TransitionSystem(spec, names_of(spec))
    outcome = solve(system, names_of(spec), QueryLimits(60))
    assert outcome.verdict == "holds"
    text = "\n        and ".join(python_conjuncts(system, outcome)) or "True"
    again = with_methods(spec, f"@lemma\ndef found(self):\n    return (\n        {text}\n    )")
    proof = induction.prove(
        TransitionSystem(again, [*names_of(spec), "found"]), names_of(spec), ["found"], QueryLimits(60)
    )
    assert proof.verdict == "proved"


@pytest.mark.parametrize("spec", [PetersonHasty(), DieHard(), Rising(), Overflow()])
def test_a_violation_matches_the_explorer_and_can_be_replayed(spec):
    violation = solved(spec).violation
    expected = explore(spec, Plan(properties=tuple(names_of(spec)))).violations
    assert (violation.property, violation.kind, violation.length) in {(v.property, v.kind, v.length) for v in expected}
    replay(spec, violation)


def test_a_timeout_is_reported_as_unknown():
    outcome = solved(Kip320(replicas=2), seconds=0.5)
    assert outcome.verdict == "unknown"
    assert re.fullmatch(
        r"timeout: no answer within 0.5 s; Spacer excluded violations by traces of up to \d states?", outcome.reason
    )


@pytest.mark.parametrize(
    ("spec", "name", "length"),
    [
        (Overflow(), "is_not_negative", 5),
        (DieHard(), "big_jug_never_holds_four", 7),
        (PetersonHasty(), "mutual_exclusion", 7),
        # A level of a step invariant has one state more.
        (Rising(), "falls", 6),
    ],
)
def test_the_levels_of_spacer_exclude_traces_without_a_violation(spec, name, length):
    spacer = pdr._Spacer(TransitionSystem(spec, [name]), [name], QueryLimits())
    found = spacer.solve()
    assert found.violation.length == length
    assert length - 2 <= spacer._depth_without_violation() < length


def test_a_state_with_too_many_bits_is_rejected():
    with pytest.raises(SpecError, match="pdr supports states of up to 300 bits"):
        solved(Kip320(replicas=5, log_size=16, max_records=16))


def test_a_number_with_too_many_values_is_not_translated():
    class Large(Countdown):
        number = Range(-1, 1000)

    system = TransitionSystem(Large(), ["is_not_negative"])
    (expression,) = constant_expressions(system)
    with pytest.raises(UnsupportedInvariantError, match=r"self\.number"):
        expression.among(frozenset({0}))
