"""Refinement: stuttering, hidden variables, choices that are made late, and what is forbidden."""

from checker.language import Range, Spec, action, require
from checker.testing.refinement import refine


class Counter(Spec):
    """Counts to three, one by one."""

    count = Range(0, 3)

    @action
    def up(self):
        require(self.count < 3)
        self.count += 1


class Halves(Spec):
    """Counts in two steps each: ready, go."""

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
    """Sometimes takes two at once."""

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
    """Makes up its mind at once, and shows it one step later."""

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


def test_steps_that_show_nothing_are_stuttering():
    found = refine(Halves(), Counter(), same_count)
    assert found.holds
    assert (found.concrete_states, found.abstract_states, found.pairs) == (8, 4, 8)
    assert refine(Counter(), Halves(), same_count).holds


def test_what_the_other_cannot_do_ends_a_shortest_trace():
    found = refine(BackAndForth(), Counter(), same_count)
    assert [str(step) for step in found.trace] == ["initial state", "prepare()", "go()", "prepare()", "go()", "back()"]
    assert found.trace[-1].state.count == 1
    found = refine(Leaps(), Counter(), same_count)
    assert [str(step) for step in found.trace] == ["initial state", "leap()"]


def test_several_steps_of_the_other_for_one_go_through_related_states_or_as_many_as_are_allowed():
    assert refine(Leaps(), Counter(), lambda one, other: one.count - 1 <= other.count <= one.count + 1).holds
    assert refine(Leaps(), Counter(), same_count, between=1).holds
    assert not refine(BackAndForth(), Counter(), same_count, between=3).holds


def test_a_choice_that_the_other_has_made_already_is_kept_open():
    """No function from states to states does this: what is chosen is not known yet."""

    def shown(one, other):
        return one.shown == other.shown and one.stage == other.stage

    found = refine(ChoosesLate(), Chooses(), shown)
    assert found.holds
    assert found.abstract_states == 5
    assert refine(Chooses(), ChoosesLate(), shown).holds


def test_specs_that_do_not_begin_alike_are_told_apart_at_once():
    found = refine(Counter(), Counter(), lambda one, other: other.count == one.count + 1 and other.count > 1)
    assert [str(step) for step in found.trace] == ["initial state"]
