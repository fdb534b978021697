"""Shrinking keeps the violated property, removes every unneeded step, and finds a shortest trace within its limit."""

import random

import pytest

from checker.engines.python.explorer import explore
from checker.errors import UserError
from checker.explain import violations
from checker.language import Range, Spec, action, constraint, invariant, require, step_invariant
from checker.run.plan import DEADLOCK, Plan
from checker.run.result import ActionCall, TraceStep, Violation
from tests.toy import Log, Overflow
from traces.replay import replay
from traces.schedule import Executor, Target, calls_of
from traces.shrink import ShorteningSearch, reduce, search_shorter, shrink


class Two(Spec):
    """Two counters that can be raised, lowered and swapped; walks have many detours."""

    first = Range(0, 6)
    second = Range(0, 6)
    noise = Range(0, 3)

    @action
    def up(self, by: Range(1, 2)):
        require(self.first + by <= 6)
        self.first += by

    @action
    def follow(self):
        require(self.second < self.first)
        self.second += 1

    @action
    def down(self):
        require(self.first > 0)
        self.first -= 1

    @action
    def stir(self):
        self.noise = (self.noise + 1) % 4

    @action
    def jump(self):
        require(self.first == 6)
        self.second += 3

    @invariant
    def second_is_small(self):
        return self.second < 3

    @step_invariant
    def second_rises_slowly(self, old):
        return self.second <= old.second + 1

    @invariant
    def can_be_evaluated(self):
        return 6 // (4 - self.second) > 0


class Walled(Two):
    """A spec with a constraint, which behaviours cannot pass."""

    @constraint
    def first_is_small(self):
        return self.first < 4


class Stuck(Spec):
    """A spec with a deadlock where both are down."""

    left = Range(0, 2)
    right = Range(0, 2)

    def init(self):
        self.left = 2
        self.right = 2

    @action
    def lower_left(self):
        require(self.left > 0)
        self.left -= 1

    @action
    def lower_right(self):
        require(self.right > 0)
        self.right -= 1

    @action
    def raise_left(self):
        require(0 < self.left < 2 and self.right > 0)
        self.left += 1


def walk(spec, target, seed, most=400):
    """Return the first violation of the target in random walks."""
    chance = random.Random(seed)
    while True:
        (state,) = spec.initial_states()
        executor = Executor(spec, target, state)
        calls = []
        for _ in range(most):
            if not spec.within_constraints(state):
                break
            steps, failures = spec.expand(state)
            if failures and target == Target(failures[0].action, "bounds_error"):
                calls.append(ActionCall(failures[0].action, failures[0].arguments))
                break
            if not steps:
                break
            step = chance.choice(steps)
            calls.append(ActionCall(step.action, step.arguments))
            state = step.state
        found = executor.violated_by(calls)
        if found is not None:
            return found


TARGETS = [
    (Two, Target("second_is_small", "invariant")),
    (Two, Target("second_rises_slowly", "step_invariant")),
    (Two, Target("can_be_evaluated", "bounds_error")),
    (Two, Target("jump", "bounds_error")),
    (Walled, Target("second_is_small", "invariant")),
    (Overflow, Target("increment", "bounds_error")),
    (Stuck, Target(DEADLOCK, "deadlock")),
    (Log, Target("logs_agree", "invariant")),
]


@pytest.mark.parametrize(("spec", "target"), TARGETS, ids=lambda value: getattr(value, "__name__", None))
def test_shrunk_trace_has_the_explorers_length_and_violation(spec, target):
    spec = spec()
    shortest = _shortest(spec, target)
    for seed in range(3):
        found = walk(spec, target, seed)
        shrunk = shrink(spec, found)
        assert Target.of(shrunk.violation) == target
        replay(spec, shrunk.violation)
        assert shrunk.is_shortest
        assert shrunk.violation.length == shortest <= shrunk.reduced_length <= shrunk.found_length == found.length
        assert str(shortest) in shrunk.sentence and "no trace is shorter" in shrunk.sentence


@pytest.mark.parametrize(("spec", "target"), TARGETS, ids=lambda value: getattr(value, "__name__", None))
def test_search_finds_no_shorter_trace_than_the_shortest(spec, target):
    spec = spec()
    shortest = _shortest_violation(spec, target)
    assert search_shorter(spec, shortest, 100_000) == ShorteningSearch(None)
    found = search_shorter(spec, shortest, 100_000, or_as_short=True).found
    assert found is not None and (found.length, Target.of(found)) == (shortest.length, target)


def _shortest(spec, target):
    return _shortest_violation(spec, target).length


def _shortest_violation(spec, target):
    is_property = target.kind in ("invariant", "step_invariant") or target.property.startswith("can_")
    names = (target.property,) if is_property else ()
    result = explore(spec, Plan(names, deadlock=target.property == DEADLOCK))
    return next(found for found in result.violations if Target.of(found) == target)


def test_every_step_of_a_reduced_schedule_is_needed():
    spec, target = Two(), Target("second_is_small", "invariant")
    for seed in range(20):
        reduced = reduce(spec, walk(spec, target, seed))
        executor = Executor(spec, target, reduced.trace[0].state)
        calls = calls_of(reduced)
        for number in range(len(calls)):
            shorter = executor.violated_by(calls[:number] + calls[number + 1 :])
            assert shorter is None or shorter.length >= reduced.length
        assert "stir" not in {call.action for call in calls}


def test_search_limit_is_reported_and_keeps_the_reduced_trace():
    spec = Two()
    found = walk(spec, Target("second_is_small", "invariant"), 1)
    shrunk = shrink(spec, found, max_states=3)
    assert not shrunk.is_shortest and "limit of 3 states" in shrunk.sentence
    replay(spec, shrunk.violation)
    assert not shrink(spec, found, max_states=0).is_shortest


def test_search_is_limited_to_the_given_actions():
    spec = Two()
    found = walk(spec, Target("second_is_small", "invariant"), 2)
    long = Violation(found.property, found.kind, (*found.trace[:1] * 30, *found.trace[1:]), found.explanation)
    short = search_shorter(spec, long, 10_000, {"up", "follow"}).found
    assert short is not None and {step.action for step in short.trace} == {None, "up", "follow"}
    jumped = search_shorter(spec, long, 10_000, {"up", "jump"}).found
    assert jumped is not None and jumped.trace[-1].action == "jump"


def test_schedule_ends_outside_the_constraints():
    spec = Walled()
    (state,) = spec.initial_states()
    up, follow = ActionCall("up", (2,)), ActionCall("follow", ())
    executor = Executor(spec, Target("second_is_small", "invariant"), state)
    assert executor.violated_by([up, up, follow, follow, follow]) is None
    assert executor.violated_by([up, ActionCall("up", (1,)), follow, follow, follow]) is not None


def test_trace_of_another_spec_is_refused():
    spec = Two()
    (state,) = spec.initial_states()
    trace = (TraceStep(None, (), state), TraceStep("follow", (), state))
    with pytest.raises(UserError, match="cannot be replayed"):
        shrink(spec, violations.false_property(spec, "second_is_small", trace))
