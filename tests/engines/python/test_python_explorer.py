"""The Python engine: counts, verdicts and traces that can be calculated by hand."""

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.engines.python.explorer import explore
from checker.language import Range, Spec, SpecError, action, invariant, require
from checker.run.plan import Plan
from checker.run.result import Coverage
from tests.toy import Bounded, Counter, Overflow


def run(spec, *properties, **plan):
    return explore(spec, Plan(properties=properties, **plan))


def test_counts_of_a_complete_exploration():
    result = run(Counter(), "is_two")
    assert (result.verdict, result.ended) == ("holds", "complete")
    assert (result.distinct_states, result.generated_states, result.depth) == (4, 4, 4)
    assert result.levels == (1, 1, 1, 1)


def test_a_step_to_a_known_state_is_generated_and_not_distinct():
    result = run(Counter(resets=True))
    assert result.coverage == {"increment": Coverage(3, 3), "stay": Coverage(1, 0), "reset": Coverage(1, 0)}


def test_shortest_counterexample_of_an_invariant():
    (violation,) = run(Counter(), "below_limit").violations
    assert (violation.property, violation.kind, violation.length) == ("below_limit", "invariant", 4)
    assert [str(step) for step in violation.trace] == ["initial state", "increment()", "increment()", "increment()"]
    assert [step.state.value for step in violation.trace] == [0, 1, 2, 3]


def test_step_invariant_is_checked_on_steps_to_known_states():
    (violation,) = run(Counter(resets=True), "never_falls").violations
    assert (violation.kind, violation.length) == ("step_invariant", 5)
    assert violation.trace[-1].action == "reset"
    assert violation.trace[-1].state.value == 0


def test_a_reachable_is_missing_only_after_a_complete_exploration():
    complete = run(Counter(), "is_over", "is_two")
    assert [(found.property, found.kind, found.trace) for found in complete.violations] == [
        ("is_over", "reachable", ())
    ]
    assert (complete.reached, complete.unreached) == ({"is_two": 3}, ("is_over",))
    stopped = run(Counter(), "is_over", "below_limit")
    assert [found.property for found in stopped.violations] == ["below_limit"]


def test_stop_all_reports_every_violated_property():
    result = run(Counter(resets=True), "below_limit", "never_falls", "is_over", stop="all")
    assert {found.property: found.length for found in result.violations} == {
        "below_limit": 4,
        "never_falls": 5,
        "is_over": 0,
    }
    assert result.ended == "complete"


def test_stop_at_a_set_of_properties():
    result = run(Counter(resets=True), "below_limit", "never_falls", stop=frozenset({"never_falls"}))
    assert {found.property for found in result.violations} == {"below_limit", "never_falls"}
    assert result.ended == "violation"


def test_deadlock_is_a_state_without_enabled_actions():
    (violation,) = run(Counter(), deadlock=True).violations
    assert (violation.property, violation.kind, violation.length) == ("deadlock", "deadlock", 4)
    assert run(Counter(resets=True), deadlock=True).verdict == "holds"
    assert run(Counter()).verdict == "holds"


def test_states_outside_a_constraint_are_checked_and_not_expanded():
    result = run(Bounded(), "is_two")
    assert (result.verdict, result.distinct_states) == ("holds", 3)
    assert result.coverage["increment"] == Coverage(2, 2)


@pytest.mark.parametrize("engine", [explorer, native])
def test_states_within_a_constraint_are_counted_apart(engine):
    result = engine.explore(Bounded(), Plan(()))
    assert (result.levels, result.levels_within) == ((1, 1, 1), (1, 1, 0))
    assert (result.states_within, result.depth_within) == (2, 2)
    assert engine.explore(Counter(), Plan(())).states_within is None


def test_a_bounds_error_ends_with_the_state_before_and_names_the_action_and_the_line():
    result = run(Overflow(), "never_falls")
    (violation,) = result.violations
    assert (result.verdict, violation.kind, violation.length) == ("error", "bounds_error", 4)
    assert str(violation.failed_action) == "increment()"
    assert violation.trace[-1].state.value == 3
    assert "4 is outside" in violation.explanation
    assert "toy.py" in violation.explanation
    assert "self.value += 1" in violation.explanation


def test_a_bounds_error_always_ends_the_run():
    class Straying(Counter):
        @action
        def stray(self):
            require(self.value == 1)
            self.value = 10

    result = run(Straying(limit=9), "never_falls", stop="all")
    assert (result.verdict, result.ended, result.distinct_states) == ("error", "violation", 3)


def test_a_bounds_error_in_a_property_has_a_trace_to_its_state():
    class Divides(Counter):
        @invariant
        def divides(self):
            return 6 // (2 - self.value) > 0

    result = run(Divides(), "divides")
    (violation,) = result.violations
    assert (result.verdict, violation.property, violation.length) == ("error", "divides", 3)
    assert violation.failed_action is None


def test_a_bounds_error_in_init():
    class Wrong(Counter):
        def init(self):
            self.value = 10

    (violation,) = run(Wrong()).violations
    assert (violation.property, violation.trace, str(violation.failed_action)) == ("init", (), "init()")


@pytest.mark.parametrize(("limits", "ended"), [({"max_states": 2}, "max_states"), ({"max_depth": 2}, "max_depth")])
def test_limits(limits, ended):
    result = run(Counter(limit=9), **limits)
    assert (result.verdict, result.ended, result.distinct_states, result.depth) == ("incomplete", ended, 2, 2)


def test_cancelled():
    plan = Plan(properties=())
    plan.cancelled.set()
    result = explore(Counter(), plan)
    assert (result.verdict, result.ended, result.distinct_states) == ("incomplete", "interrupted", 1)


def test_progress_is_reported(monkeypatch):
    monkeypatch.setattr(explorer, "_PROGRESS_INTERVAL", 0.0)
    seen = []
    run(Counter(), on_progress=seen.append)
    assert [(found.level, found.distinct_states, found.generated_states, found.queue) for found in seen] == [
        (1, 2, 2, 1),
        (2, 3, 3, 1),
        (3, 4, 4, 1),
        (4, 4, 4, 0),
    ]


def test_an_exception_of_the_spec_has_its_location():
    class Undefined(Spec):
        x = Range(0, 1)

        @action
        def go(self):
            self.x = undefined_helper(1)  # noqa: F821

    with pytest.raises(SpecError, match=r"test_python_explorer.py:\d+:\d+: undefined_helper is not defined"):
        run(Undefined())


def test_require_in_a_property_is_refused():
    class Requires(Counter):
        @invariant
        def wrong(self):
            require(self.value > 0)
            return True

    with pytest.raises(SpecError, match="is for actions"):
        run(Requires(), "wrong")
