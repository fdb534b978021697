"""Refinement: stuttering, hidden variables, late choices and forbidden steps."""

from checker.language import Range, Spec, action, require
from checker.testing import refine


class Counter(Spec):
    """Counts to three in steps of one."""

    count = Range(0, 3)

    @action
    def up(self):
        require(self.count < 3)
        self.count += 1


class Halves(Spec):
    """Counts to three; every increment takes two steps, prepare and go."""

    count = Range(0, 3)
    ready = bool

    @action
    def prepare(self):
        require(not self.ready)
        self.ready = True

    @action
    def go(self):
        require(self.ready and self.count < 3)
        self.ready = False
        self.count += 1


class Leaps(Halves):
    """Can also increment by two in one step."""

    @action
    def leap(self):
        require(self.count < 2)
        self.count += 2


class BackAndForth(Halves):
    @action
    def back(self):
        require(self.count == 2)
        self.count = 1


class Chooses(Spec):
    """Chooses in the first step and shows the choice in the second step."""

    choice = Range(0, 1)
    shown = Range(0, 2)
    stage = Range(0, 2)

    @action
    def choose(self, choice: Range(0, 1)):
        require(self.stage == 0)
        self.stage = 1
        self.choice = choice

    @action
    def show(self):
        require(self.stage == 1)
        self.stage = 2
        self.shown = self.choice + 1


class ChoosesLate(Spec):
    shown = Range(0, 2)
    stage = Range(0, 2)

    @action
    def wait(self):
        require(self.stage == 0)
        self.stage = 1

    @action
    def show(self, shown: Range(1, 2)):
        require(self.stage == 1)
        self.stage = 2
        self.shown = shown


def same_count(one, other):
    return one.count == other.count


def test_steps_that_change_only_hidden_variables_are_stuttering():
    found = refine(Halves(), Counter(), same_count)
    assert found.holds
    assert (found.concrete_states, found.abstract_states, found.pairs) == (8, 4, 8)
    assert refine(Counter(), Halves(), same_count).holds


def test_forbidden_step_ends_a_shortest_trace():
    found = refine(BackAndForth(), Counter(), same_count)
    assert [str(step) for step in found.trace] == ["initial state", "prepare()", "go()", "prepare()", "go()", "back()"]
    assert found.trace[-1].state.count == 1
    found = refine(Leaps(), Counter(), same_count)
    assert [str(step) for step in found.trace] == ["initial state", "leap()"]


def test_one_step_may_correspond_to_several_abstract_steps():
    assert refine(Leaps(), Counter(), lambda one, other: one.count - 1 <= other.count <= one.count + 1).holds
    assert refine(Leaps(), Counter(), same_count, between=1).holds
    assert not refine(BackAndForth(), Counter(), same_count, between=3).holds


def test_all_choices_of_the_abstract_spec_are_kept_until_one_is_shown():
    """A refinement mapping from states to states cannot express this, because the choice is not known yet."""

    def shown(one, other):
        return one.shown == other.shown and one.stage == other.stage

    found = refine(ChoosesLate(), Chooses(), shown)
    assert found.holds
    assert found.abstract_states == 5
    assert refine(Chooses(), ChoosesLate(), shown).holds


def test_unrelated_initial_states_give_a_trace_of_one_state():
    found = refine(Counter(), Counter(), lambda one, other: other.count == one.count + 1 and other.count > 1)
    assert [str(step) for step in found.trace] == ["initial state"]
