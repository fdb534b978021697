"""A schedule replayed on related specs: divergences, postponed steps, missing actions."""

import pytest

from checker.engines.python.explorer import explore
from checker.errors import UserError
from checker.language import Constant, Range, Spec, action, invariant, require
from checker.output.comparison_text import comparison_as_page, comparison_lines
from checker.output.formats import Counterexample
from checker.output.styled_lines import plain
from checker.run.plan import Plan
from checker.run.result import ActionCall, TraceStep, Violation
from tests.toy import Log
from traces.compare import replay_against
from traces.trace_file import origin_of


class Two(Spec):
    """Two counters."""

    limit = Constant(3, at_least=1, at_most=5)
    first = Range(0, "limit")
    second = Range(0, "limit")

    @action
    def up(self, by: Range(1, 2)):
        """Raise the first counter."""
        require(self.first + by <= self.limit)
        self.first += by

    @action
    def follow(self):
        """Raise the second counter."""
        self.second += 1

    @invariant
    def second_is_small(self):
        return self.second < 2


class Ordered(Two):
    """The second counter never passes the first."""

    @action
    def follow(self):
        """Raise the second counter."""
        require(self.second < self.first)
        self.second += 1


class Double(Two):
    """The first counter is raised by two."""

    @action
    def up(self, by: Range(1, 2)):
        """Raise the first counter."""
        self.first += 2 * by


class Other(Two):
    """A spec without `follow`, with an additional constant and a different `up`."""

    limit = Constant(5, at_most=5)
    extra = Constant(7)
    follow = None

    @action
    def up(self):
        """Raise the first counter."""
        self.first += 1


def trace_of(*calls, spec=None):
    spec = spec or Two()
    (state,) = spec.initial_states()
    steps = [TraceStep(None, (), state)]
    for name, *arguments in calls:
        steps.append(TraceStep(name, tuple(arguments), spec.step(steps[-1].state, name, *arguments)))
    return Violation("second_is_small", "invariant", tuple(steps), "it is not")


def outcomes(side):
    return [step.outcome for step in side.steps]


def test_spec_with_the_same_behaviour():
    side = replay_against(Two(), trace_of(("up", 1), ("follow",)), "ordered", Ordered)
    assert outcomes(side) == ["same", "same", "same"]
    assert (side.first_divergence, side.final_divergence) == (None, None)
    assert side.conclusion == "takes every step and reaches the same states"


def test_disabled_step_is_postponed_until_it_is_enabled():
    side = replay_against(Two(), trace_of(("follow",), ("up", 2), ("follow",)), "ordered", Ordered)
    assert outcomes(side) == ["same", "disabled", "same", "same"]
    assert (side.first_divergence, side.final_divergence) == (2, None)
    assert "require(self.second < self.first) is false (test_compare.py:" in side.steps[1].details
    assert side.steps[2].details == "then the postponed follow()"
    assert side.conclusion.endswith("at the end the states are equal again")


def test_differences_of_states_are_listed():
    side = replay_against(Two(), trace_of(("up", 1), ("follow",)), "double", Double)
    assert outcomes(side) == ["same", "differs", "differs"]
    assert (side.first_divergence, side.final_divergence) == (2, 2)
    assert side.steps[1].details == "first is 2 instead of 1"


def test_step_out_of_bounds_on_the_other_spec():
    side = replay_against(Two(), trace_of(("up", 2)), "double", Double)
    assert outcomes(side) == ["same", "error"]
    assert side.steps[1].details.startswith("cannot be executed: first: 4")


def test_missing_action_or_different_arguments():
    side = replay_against(Two(), trace_of(("up", 1), ("follow",)), "other", Other)
    assert outcomes(side) == ["same", "missing", "missing"]
    assert side.steps[1].details == "other's up takes nothing"
    assert side.steps[2].details == "other has no action follow"
    assert side.notes == ("runs with extra=7",)


def test_property_is_checked_on_the_other_spec():
    (violation,) = explore(Two(), Plan(("second_is_small",))).violations
    side = replay_against(Two(), violation, "double", Double)
    assert [step.is_property_false for step in side.steps] == [False, False, True]
    side = replay_against(Two(), violation, "ordered", Ordered)
    assert not any(step.is_property_false for step in side.steps)


def test_failed_action_is_replayed_too():
    violation = trace_of(("follow",), ("follow",), ("follow",))
    failed = Violation("follow", "bounds_error", violation.trace, "over the limit", ActionCall("follow", ()))
    side = replay_against(Two(), failed, "ordered", Ordered)
    assert outcomes(side) == ["same", "disabled", "disabled", "disabled", "disabled"]


def test_wrong_constants_are_refused():
    class Small(Two):
        limit = Constant(1, at_most=2)

    with pytest.raises(UserError, match="at most 2"):
        replay_against(Two(), trace_of(("up", 1)), "small", Small)


class Relabelled(Log):
    """Has one more variable."""

    extra = Range(0, 1)


def disagreement(spec):
    return explore(spec, Plan(properties=("logs_agree",))).violations[0]


@pytest.mark.parametrize("replicas", [1, 3])
def test_members_without_a_counterpart_are_shown(replicas):
    spec = Log()
    violation = disagreement(spec)
    side = replay_against(spec, violation, "other", Log, {"replicas": replicas})
    assert side.first_divergence == 1
    found = Counterexample(spec, violation, origin_of(spec, "log", None, "log", "explore()"))
    assert "other: log is {b1: []" in plain(comparison_lines(found, [side]))
    assert "<!DOCTYPE html>" in comparison_as_page(found, [side])


def test_variables_without_a_counterpart_are_reported():
    more = replay_against(Log(), disagreement(Log()), "other", Relabelled)
    assert more.notes == ("the trace has no counterpart of extra, not compared",)
    assert more.first_divergence is None
    fewer = replay_against(Relabelled(), disagreement(Relabelled()), "other", Log)
    assert fewer.notes == ("has no counterpart of extra, not compared",)
