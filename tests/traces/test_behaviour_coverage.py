"""Coverage of a spec by behaviours: actions, and outcomes of conditions."""

import sys

from checker.language import Constant, Range, Spec, action, invariant, require
from checker.run.result import TraceStep
from traces.validate.behaviour_coverage import BehaviourCoverage, coverage_gaps


class Counting(Spec):
    """A counter with two actions, and a condition on a constant."""

    wraps = Constant(False)
    count = Range(0, 3)
    big = bool

    @action
    def add(self, amount: Range(1, 2)):
        """Add an amount."""
        require(self.count + amount <= 3)
        self.count += amount
        if self.wraps:
            self.count = 0
        if (
            self.count
            > 1
        ):  # fmt: skip
            self.big = True

    @action
    def reset(self):
        """Start again."""
        require(self.count > 0)
        self.note(self.count)
        self.count = 0

    def note(self, count):
        """Remember whether the last count was large."""
        if count == 3:
            self.big = True
        else:
            self.big = False

    @invariant
    def is_bounded(self):
        """The count is within its bound."""
        if self.count > 3:
            return not self.big
        return True


class CountingTwice(Counting):
    """The counter with another note, which replaces the branches of the first one."""

    def note(self, count):
        self.big = count == 3


def test_a_method_that_is_replaced_has_no_branches():
    _, missing, total = coverage_gaps(CountingTwice, BehaviourCoverage())
    assert total == 2 and {each.method for each in missing} == {"add"}


def behaviour(*steps):
    """Return the behaviour of some steps from the initial state."""
    spec = Counting()
    (state,) = spec.initial_states()
    found = [TraceStep(None, (), state)]
    for name, *arguments in steps:
        state = spec.step(state, name, *arguments)
        found.append(TraceStep(name, tuple(arguments), state))
    return spec, tuple(found)


def seen(*steps):
    coverage, tracer = BehaviourCoverage(), sys.gettrace()
    coverage.add(*behaviour(*steps))
    assert sys.gettrace() is tracer
    never, missing, total = coverage_gaps(Counting, coverage)
    return coverage.steps, never, {(each.method, each.condition, each.value) for each in missing}, total


def test_nothing_is_covered_without_steps():
    steps, never, missing, total = seen()
    assert not steps and never == ["add", "reset"] and len(missing) == total == 4


def test_outcomes_of_conditions_of_several_lines_and_of_helpers():
    steps, never, missing, total = seen(("add", 1), ("add", 1), ("reset",))
    assert steps == {"add": 2, "reset": 1} and not never and total == 4
    assert missing == {("note", "count == 3", True)}


def test_an_outcome_that_never_occurs():
    _, never, missing, _ = seen(("add", 1))
    assert never == ["reset"]
    assert missing == {("add", "count > 1", True), ("note", "count == 3", True), ("note", "count == 3", False)}
    # The lines of a condition itself are no outcome.
    assert seen(("add", 2))[2] >= {("add", "count > 1", False)}
    assert seen(("add", 1), ("add", 2), ("reset",))[2] == {("note", "count == 3", False)}


class Remembering:
    """A base without variables of a spec."""


class CountingWithBase(Remembering, Counting):
    """A counter whose second base is no spec."""


def test_bases_that_are_no_specs_hide_no_branch():
    assert coverage_gaps(CountingWithBase, BehaviourCoverage()) == coverage_gaps(Counting, BehaviourCoverage())
