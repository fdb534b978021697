"""The search for lemmas: found lemmas are true, sufficient and minimal, and can be added to the spec."""

import numpy as np
import pytest

from checker.engines.smt import induction
from checker.engines.smt.lemmas.candidates import LemmaClause, candidates
from checker.engines.smt.lemmas.houdini import Houdini
from checker.engines.smt.lemmas.lemma_search import find_lemmas
from checker.engines.smt.lemmas.lemma_source import with_methods
from checker.engines.smt.lemmas.samples import sample
from checker.engines.smt.lemmas.vocabulary import atoms_of
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import Map, Option, Range, Seq, SetOf, Spec, SpecError, Struct, action, invariant, require
from checker.language.roles import Role
from specs.examples.peterson import Peterson, Process
from specs.replication.kip320 import Kip320


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


@pytest.mark.parametrize("spec", [Bare(), WithoutOne(**TINY)], ids=lambda spec: spec.name)
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

    found = find_lemmas(Unprovable(), ["process_0_has_the_turn"], 1, QueryLimits(20), stages=((80, 2),))
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
    samples = sample(spec, atoms, 1)
    stated = samples.spec
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


def test_candidates_are_true_in_all_reachable_states():
    spec = Queue()
    with spec.bound():
        samples = sample(spec, atoms_of(spec)[:60], 1)
    clauses = candidates(samples, 3)
    assert {len(clause.literals) for clause in clauses} == {1, 2, 3}
    chosen = clauses[:40] + clauses[-40:]
    methods = (f"@invariant\ndef c{n}(self):\n    return {clause.source()}" for n, clause in enumerate(chosen))
    stated = with_methods(spec, "\n\n".join(methods))
    frontier, seen = spec.initial_states(), set()
    while frontier:
        state = frontier.pop()
        if state not in seen:
            seen.add(state)
            assert all(stated.holds(f"c{n}", state, None) for n in range(len(chosen)))
            frontier += [step.state for step in spec.successors(state)]
    assert len(seen) == samples.explored


def test_houdini_keeps_the_largest_inductive_set():
    spec = Queue()
    with spec.bound():
        samples = sample(spec, atoms_of(spec)[:30], 1)
        clauses = candidates(samples, 2)
        system = TransitionSystem(samples.spec, [*spec.properties, *samples.bits])
        kept = Houdini(system, samples, clauses, spec.properties, QueryLimits(20)).largest()
        left = [clause for clause in clauses if clause not in kept]
        text = "\n\n".join(
            f"@lemma\ndef c{n}(self):\n    return {clause.source()}"
            for n, clause in enumerate(member for member in kept if isinstance(member, LemmaClause))
        )
        alone = with_methods(spec, text)
        names = [*spec.properties, *alone.names_of(Role.LEMMA)]
        proof = induction.prove(TransitionSystem(alone, names), names, [], QueryLimits())
        assert {proof.outcome(name) for name in names} == {"proved"}
        assert left
        for clause in left[:5]:
            more = with_methods(alone, f"@lemma\ndef more(self):\n    return {clause.source()}")
            found = induction.prove(TransitionSystem(more, [*names, "more"]), ["more"], names, QueryLimits())
            assert found.outcome("more") == "fails"


def test_a_spec_that_leaves_the_bounds_of_a_type_is_rejected():
    with pytest.raises(SpecError, match="leaves a type's bounds"):
        find_lemmas(Overflow(), ["is_small"], 1, QueryLimits(20))
