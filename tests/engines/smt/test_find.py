"""The search for lemmas: found lemmas are true, sufficient and minimal, and can be added to the spec."""

import numpy as np
import pytest

from checker.engines.smt import induction
from checker.engines.smt.lemmas import samples as sampling
from checker.engines.smt.lemmas.helper_terms import helper_terms
from checker.engines.smt.lemmas.lemma_search import find_lemmas
from checker.engines.smt.lemmas.lemma_source import with_methods
from checker.engines.smt.lemmas.samples import sample
from checker.engines.smt.lemmas.separation import Separator
from checker.engines.smt.lemmas.vocabulary import atoms_of
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import Map, Option, Range, Seq, SetOf, Spec, SpecError, Struct, action, invariant, require
from checker.language.interpreter import State
from checker.language.roles import Role
from specs.examples.bakery import Bakery
from specs.examples.peterson import Peterson, Process
from specs.examples.two_phase import At, Manager, TwoPhase
from specs.replication.async_isr import AsyncIsr
from specs.replication.kip320 import Kip320
from tests.golden.termination_on_ring import TerminationOnRing


class Bare(Peterson):
    flags_are_up = None
    other_process_has_the_turn = None


class Ticket(Struct):
    owner: Process
    number: Range(0, 3)


class Queue(Spec):
    """Tickets are drawn in order and served in order; a waiting process has a ticket."""

    drawn = Range(0, 3)
    served = Range(0, 3)
    waiting = Seq(Ticket, 3)
    ticket_of = Map(Process, Option(Range(0, 3)))
    present = SetOf(Process)

    @action
    def draw(self, process: Process):
        require(self.ticket_of[process] is None and self.drawn < 3)
        self.waiting.append(Ticket(owner=process, number=self.drawn))
        self.ticket_of[process] = self.drawn
        self.present.add(process)
        self.drawn += 1

    @action
    def serve(self):
        require(len(self.waiting) > 0)
        ticket = self.waiting.pop(0)
        self.ticket_of[ticket.owner] = None
        self.present.remove(ticket.owner)
        self.served += 1

    @invariant
    def nothing_is_served_before_it_is_drawn(self):
        return self.served <= self.drawn


class WithoutOne(Kip320):
    leaders_are_in_sync = None


TINY = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1)


class Overflow(Spec):
    number = Range(0, 3)

    @action
    def increment(self):
        self.number += 1

    @invariant
    def is_small(self):
        return self.number < 4


def goals_of(spec):
    return spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT, Role.LEMMA)


def verdict_of(spec):
    targets, lemmas = spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT), spec.names_of(Role.LEMMA)
    return induction.prove(TransitionSystem(spec, [*targets, *lemmas]), targets, lemmas, QueryLimits(60)).verdict


@pytest.mark.parametrize(
    "spec", [Bare(), pytest.param(WithoutOne(**TINY), marks=pytest.mark.slow)], ids=lambda spec: spec.name
)
def test_found_lemmas_are_sufficient_and_minimal(spec):
    assert verdict_of(spec) == "fails"
    found = find_lemmas(spec, goals_of(spec), 1, QueryLimits(20))
    assert found.is_enough and found.is_complete and found.lemmas
    assert verdict_of(with_methods(spec, found.methods)) == "proved"
    for left_out in found.lemmas:
        rest = "\n\n".join(lemma.source for lemma in found.lemmas if lemma is not left_out)
        assert verdict_of(with_methods(spec, rest)) == "fails"


def test_a_proof_without_missing_lemmas_finds_none():
    found = find_lemmas(Peterson(), goals_of(Peterson()), 1, QueryLimits(20))
    assert (found.is_enough, found.lemmas) == (True, ())


def test_lemmas_found_without_a_proof_are_inductive():
    class Unprovable(Bare):
        @invariant
        def process_0_has_the_turn(self):
            return self.at[Process[0]] == self.at[Process[0]] and self.turn == Process[0]

    found = find_lemmas(Unprovable(), ["process_0_has_the_turn"], 1, QueryLimits(20))
    assert not found.is_enough and found.lemmas
    alone = with_methods(Bare(), found.methods)
    lemmas = [lemma.name for lemma in found.lemmas]
    assert induction.prove(TransitionSystem(alone, lemmas), lemmas, [], QueryLimits()).verdict == "proved"


def test_atoms_agree_with_the_interpreter_and_their_negations():
    spec = Queue()
    with spec.bound():
        atoms = atoms_of(spec)
    assert {"self.ticket_of[{a}] is None", "self.drawn <= self.served", "{a} in self.present"} <= {
        a.text for a in atoms
    }
    assert any("for item in self.waiting" in atom.text for atom in atoms)
    samples = sample(spec, atoms[::3], 1)
    stated = with_methods(
        spec,
        "\n\n".join(
            f"@invariant\ndef {ground.name}(self):\n    return {ground.atom.text_with(ground.values)}"
            for ground in samples.ground.values()
        ),
    )
    states = [spec.initial_states()[0]]
    for _ in range(3):
        states.append(spec.successors(states[-1])[-1].state)
    seen = {tuple(bits[0] for bits in samples.bits.values())}
    expected = tuple(np.bool_(stated.holds(name, states[0], None)) for name in samples.bits)
    assert seen == {expected}
    negated = "\n\n".join(
        f"@invariant\ndef not_{ground.name}(self):\n    return {ground.atom.text_with(ground.values, is_true=False)}"
        for ground in samples.ground.values()
    )
    opposite = with_methods(stated, negated)
    for state in states:
        for name in samples.bits:
            assert stated.holds(name, state, None) is not opposite.holds(f"not_{name}", state, None)


@pytest.fixture(scope="module")
def queue_samples():
    spec = Queue()
    with spec.bound():
        yield sample(spec, atoms_of(spec)[:80], 1)


def test_a_separating_clause_is_false_in_the_state_and_true_in_all_reachable_ones(queue_samples):
    spec, samples = Queue(), queue_samples
    reachable, frontier = set(), spec.initial_states()
    while frontier:
        state = frontier.pop()
        if state not in reachable:
            reachable.add(state)
            frontier += [step.state for step in spec.successors(state)]
    with spec.bound():
        assert samples.explored == len(reachable)
        separator = Separator(samples)
        assert separator.clause(samples.truths_in(next(iter(reachable))), ()) is None
        unreachable = [
            State(first.values | {name: second.values[name]})
            for first in sorted(reachable, key=str)[::3]
            for second in sorted(reachable, key=str)[::3]
            for name in ("served", "waiting", "present")
        ]
        unreachable = [state for state in dict.fromkeys(unreachable) if state not in reachable]
        assert len(unreachable) > 12
        for state in unreachable[:12]:
            assert not samples.is_reachable(state)
            clause = separator.clause(samples.truths_in(state), ())
            stated = with_methods(spec, f"@invariant\ndef claim(self):\n    return {clause.source()}")
            assert not stated.holds("claim", state, None), clause.source()
            assert all(stated.holds("claim", found, None) for found in reachable), clause.source()
            other = separator.clause(samples.truths_in(state), {clause})
            assert other is not None and other != clause


def test_a_state_that_is_added_is_not_separated(queue_samples):
    spec, samples = Queue(), queue_samples
    with spec.bound():
        state = State(spec.initial_states()[0].values | {"served": 2})
        separator = Separator(samples)
        assert separator.clause(samples.truths_in(state), ()) is not None
        separator.add(samples.truths_in(state))
        assert separator.clause(samples.truths_in(state), ()) is None


class AtMostOne(Spec):
    """Of any two processes, one is not chosen."""

    chosen = SetOf(Process)

    @action
    def exchange(self, process: Process):
        self.chosen = {process}


def test_a_clause_has_two_variables_even_if_each_atom_has_one():
    spec = AtMostOne()
    with spec.bound():
        atoms = [atom for atom in atoms_of(spec) if atom.slots and "in self.chosen" in atom.text]
        samples = sample(spec, atoms, 1)
        clause = Separator(samples).clause(samples.truths_in(State({"chosen": frozenset(Process)})), ())
    assert clause is not None
    assert "for process in Process for other in Process if process != other" in clause.source()


def test_a_sample_without_most_states_finds_lemmas(monkeypatch):
    monkeypatch.setattr(sampling, "MAX_SAMPLED", 2)
    found = find_lemmas(Bare(), goals_of(Bare()), 1, QueryLimits(20))
    assert found.is_enough and found.dropped
    assert verdict_of(with_methods(Bare(), found.methods)) == "proved"


def test_helpers_that_read_the_state_are_terms():
    spec = AsyncIsr(replicas=2)
    with spec.bound():
        assert [term.text for term in helper_terms(spec)] == ["self.high_watermark()", "self.leader()"]
    with Bare().bound():
        assert [term.text for term in helper_terms(Bare())] == ["self.may_enter({a})", "self.other({a})"]


# The classics, from their property alone.


class TwoPhaseAlone(TwoPhase):
    refines = None

    @invariant
    def consistent(self):
        return not any(
            self.at[one] == At.ABORTED and self.at[other] == At.COMMITTED for one in Manager for other in Manager
        )


class RingAlone(TerminationOnRing):
    refines = None
    dijkstra = None


KIP_320_ALONE = type(
    "Kip320Alone",
    (Kip320,),
    {"__module__": __name__, **dict.fromkeys(Kip320(**TINY).names_of(Role.LEMMA))},
)


@pytest.mark.parametrize(
    "spec",
    [
        Bare(),
        TwoPhaseAlone(),
        RingAlone(),
        pytest.param(Bakery(), marks=pytest.mark.slow),
        pytest.param(AsyncIsr(replicas=2), marks=pytest.mark.slow),
        pytest.param(KIP_320_ALONE(replicas=2, max_leader_epoch=1), marks=pytest.mark.slow),
    ],
    ids=lambda spec: spec.name,
)
def test_a_classic_is_proved_from_its_property_alone(spec):
    assert not spec.names_of(Role.LEMMA)
    assert verdict_of(spec) == "fails"
    found = find_lemmas(spec, goals_of(spec), 1, QueryLimits(60))
    assert found.is_enough and found.is_complete
    assert verdict_of(with_methods(spec, found.methods)) == "proved"


def test_a_spec_that_leaves_the_bounds_of_a_type_is_rejected():
    with pytest.raises(SpecError, match="leaves a type's bounds"):
        find_lemmas(Overflow(), ["is_small"], 1, QueryLimits(20))
