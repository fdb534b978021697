"""Facts that exclude a state: true in every reachable state, and false in the given one."""

import random

import pytest

from checker.engines.smt.lemmas import samples
from checker.engines.smt.lemmas.excluding_facts import ExcludingFacts
from checker.engines.smt.lemmas.lemma_source import with_methods
from checker.language import action
from specs.examples.peterson import At, Peterson, Process


class Bare(Peterson):
    flags_are_up = None
    other_process_has_the_turn = None


class Anything(Bare):
    """Every state that the types allow is reachable."""

    @action
    def become(self, process: Process, at: At, is_up: bool):
        self.at[process] = at
        self.wants_in[process] = is_up
        self.turn = process


class Overflow(Bare):
    """An action leaves the bounds of a type, so that nothing is known of all reachable states."""

    @action
    def leave(self):
        self.turn = [Process[0]][1]


def states_of(spec):
    """Return all reachable states, by the interpreter."""
    found = dict.fromkeys(spec.initial_states())
    waiting = list(found)
    while waiting:
        for step in spec.expand(waiting.pop())[0]:
            if step.state not in found:
                found[step.state] = None
                waiting.append(step.state)
    return list(found)


@pytest.mark.parametrize("sampled", [samples.MAX_SAMPLED, 2], ids=["all", "two"])
def test_a_fact_is_true_in_every_reachable_state_and_false_in_the_given_one(monkeypatch, sampled):
    """With a small sample, candidates are false in states that the sample lacks."""
    monkeypatch.setattr(samples, "MAX_SAMPLED", sampled)
    reachable = states_of(Bare())
    unreachable = [state for state in states_of(Anything()) if state not in reachable]
    assert (len(reachable), len(unreachable)) == (20, 108)
    facts = ExcludingFacts(Bare(), 1)
    found = {}
    for state in random.Random(1).sample(unreachable, 12):
        found[state] = facts.fact_against(state)
    assert all(found.values())
    for state, fact in found.items():
        spec = with_methods(Bare(), f"@invariant\ndef fact(self):\n    return {fact}")
        assert not spec.holds("fact", state)
        assert all(spec.holds("fact", other) for other in reachable)


def test_no_fact_excludes_a_reachable_state():
    facts = ExcludingFacts(Bare(), 1)
    assert [facts.fact_against(state) for state in states_of(Bare())] == [""] * 20


def test_nothing_is_known_of_a_spec_that_leaves_its_bounds():
    (initial,) = Overflow().initial_states()
    assert ExcludingFacts(Overflow(), 1).fact_against(initial) == ""
