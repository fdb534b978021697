"""Counterexamples leave out what only the model does: normalised states, and changes that an event leaves out."""

import pytest

from checker.engines.native.engine import explore
from checker.errors import SpecError
from checker.explain.step_sentences import step_sentences
from checker.explorer.variant import Variant, configure_variants
from checker.language import (
    Domain,
    Drawing,
    Event,
    Lane,
    Log,
    Map,
    Option,
    Range,
    Seq,
    Spec,
    action,
    invariant,
    require,
)
from checker.run.plan import Plan
from traces.compare import replay_against
from traces.replay import replay


class Node(Domain):
    size, prefix = 2, "n"


class Forgets(Spec):
    """A node that dies keeps its log; the model empties it, as no step reads it."""

    normalises = ("drop_dead_logs",)

    log = Map(Node, Seq(Range(0, 1), 2))
    dead = Option(Node)
    reads = Range(0, 1)

    draws = Drawing(
        Lane("node", each=Node, logs=(Log("log"),)),
        Lane("reader", facts={"reads": "reads"}),
        events=(Event("die", "{node} dies", at="node"), Event("read", "The reader reads", leaves_out=("reads",))),
    )

    def drop_dead_logs(self):
        if self.dead is not None:
            self.log[self.dead].clear()

    @action
    def write(self, node: Node):
        require(self.dead is None and len(self.log[node]) == 0)
        self.log[node].append(1)

    @action
    def die(self, node: Node):
        require(self.dead is None and len(self.log[node]) == 1)
        self.dead = node
        self.drop_dead_logs()

    @action
    def read(self):
        require(self.dead is not None and self.reads == 0)
        self.reads = 1

    @invariant
    def is_unread(self):
        return self.reads == 0


@pytest.fixture
def violation():
    return explore(Forgets(), Plan(("is_unread",), workers=1)).violations[0]


def test_the_states_are_those_without_normalisation(violation):
    last = violation.trace[-1].state
    assert len(last["log"][last["dead"]]) == 1
    assert [sentence.text for sentence in step_sentences(Forgets(), violation)][-2:] == [
        "n1 dies.",
        "The reader reads.",
    ]


def test_the_engine_still_explores_normalised_states():
    whole = Forgets().without_normalisation()
    state = Forgets().initial_states()[0]
    state = Forgets().step(state, "write", "n1")
    assert len(_log(Forgets(), state)) == 0
    assert len(_log(whole, state)) == 1


def _log(spec, state):
    after = spec.step(state, "die", "n1")
    return after["log"][after["dead"]]


def test_a_saved_counterexample_is_replayed(violation):
    assert replay(Forgets(), violation) == violation


def test_a_comparison_shows_the_same_states(violation):
    compared = replay_against(Forgets(), violation, "forgets", Forgets)
    assert compared.first_divergence is None


def test_the_explorer_shows_the_same_states():
    (spec,) = configure_variants((Variant("forgets", "forgets", Forgets, None, {}),), ())
    state = Forgets().step(Forgets().initial_states()[0], "write", "n1")
    assert len(_log(spec, state)) == 1


def test_a_helper_that_changes_more_is_not_left_out():
    class Needed(Forgets):
        @invariant
        def log_is_kept(self):
            return self.dead is None or len(self.log[self.dead]) == 1

    found = explore(Needed(), Plan(("log_is_kept",), workers=1)).violations[0]
    last = found.trace[-1].state
    assert len(last["log"][last["dead"]]) == 0


@pytest.mark.parametrize("name", ["missing", "die", "log"])
def test_only_a_helper_normalises(name):
    with pytest.raises(SpecError, match=f"normalises names {name}, which is not a helper"):
        type("Wrong", (Forgets,), {"normalises": (name,)})


def test_names_to_leave_out_are_a_tuple():
    with pytest.raises(SpecError, match="write a tuple of names"):
        Event("die", leaves_out="log")
