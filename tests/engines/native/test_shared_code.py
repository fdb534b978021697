"""Machine code that serves several values of constants, compared with code that has the values in it."""

import dataclasses
import pickle

import pytest

from checker.engines.native.engine import CompiledSpec, compile_native, explore, explore_compiled
from checker.engines.native.explore import search
from checker.engines.native.shared_code import compile_shared_code
from checker.engines.python import explorer
from checker.errors import SpecError
from checker.language import (
    Constant,
    Domain,
    Map,
    Option,
    Range,
    Seq,
    Spec,
    action,
    invariant,
    reachable,
    require,
    step_invariant,
)
from checker.run.plan import Plan


class Cell(Domain):
    size, prefix = "cells", "c"


class Counting(Spec):
    """Counters that rise by `jump` up to a limit."""

    cells = Constant(2, at_least=1)
    highest = Constant(4)
    limit = Constant(3, at_least=0)
    jump = Constant(1, at_least=1, at_most=2)
    wraps = Constant(False)
    order = Constant("any", one_of=("any", "first", "none"))

    count = Map(Cell, Range(0, "highest"))

    @action
    def rise(self, cell: Cell):
        require(self.order != "none")
        require(self.order == "any" or all(self.count[cell] <= self.count[other] for other in Cell))
        if self.count[cell] >= self.limit:
            require(self.wraps)
            self.count[cell] = 0
        else:
            self.count[cell] += self.jump

    @invariant
    def below_limit(self):
        return all(self.count[cell] <= self.limit for cell in Cell)

    @reachable
    def all_at_limit(self):
        return all(self.count[cell] == self.limit for cell in Cell)


NAMES = ["below_limit", "all_at_limit"]
VALUES = [
    {},
    {"limit": 4},
    {"limit": 0, "wraps": True},
    {"jump": 2},
    {"wraps": True, "order": "first"},
    {"jump": 2, "limit": 4, "order": "first"},
    {"order": "none"},
    # The counters leave their range.
    {"jump": 2, "highest": 4, "limit": 4, "order": "any"},
    {"limit": 7},
]


def run(compiled, plan):
    return explore_compiled(compiled, plan, compiled.spec.initial_states(), 0.0)[0]


def outline(result):
    violations = [(violation.property, violation.kind, violation.length) for violation in result.violations]
    return (result.ended, result.levels, result.generated_states, result.reached, sorted(violations, key=str))


def traces(result):
    return [violation.trace for violation in result.violations]


@pytest.fixture(scope="module", params=[True, False], ids=["quick", "optimised"])
def code(request):
    return compile_shared_code(Counting(), NAMES, quick=request.param)


def test_a_constant_is_fixed_if_a_type_depends_on_it(code):
    assert code.fixed == {"cells": 2, "highest": 4}
    assert code.lowered.runtime == ("jump", "limit", "order", "wraps")
    assert code.serves(Counting(limit=1, order="none", wraps=True))
    assert not code.serves(Counting(highest=5))
    assert not code.serves(Counting(), ["no_such_property"])


@pytest.mark.parametrize("constants", VALUES, ids=str)
def test_shared_code_explores_as_compiled_code_and_the_interpreter(code, constants):
    spec, plan = Counting(**constants), Plan(tuple(NAMES), "all", quick=True)
    found, compiled = run(code.loaded(spec), plan), explore(spec, plan)
    assert traces(found) == traces(compiled)
    assert outline(found) == outline(compiled) == outline(explorer.explore(spec, plan))


def test_loaded_copies_have_their_own_constants_and_the_code_can_be_sent_to_another_process(code):
    copy = pickle.loads(pickle.dumps(code))
    plan = Plan(tuple(NAMES), "all", quick=True)
    specs = [Counting(order="none"), Counting(limit=4), Counting()]
    loaded = [each.loaded(spec) for spec in specs for each in (copy, code)]
    assert [run(compiled, plan).distinct_states for compiled in loaded] == [1, 1, 25, 25, 16, 16]


def test_a_long_exploration_gets_optimised_code_with_the_same_constants(code, monkeypatch):
    monkeypatch.setattr(search, "IMPROVE_SECONDS", 0.0)
    spec = Counting(limit=2, wraps=True)
    plan = Plan(tuple(NAMES), "all", quick=True)
    assert outline(run(code.loaded(spec), plan)) == outline(explore(spec, dataclasses.replace(plan, quick=False)))
    assert code.optimised


def test_a_plan_may_check_some_of_the_compiled_properties(code):
    result = run(code.loaded(Counting(jump=2)), Plan(("all_at_limit",), "all", quick=True))
    assert [violation.property for violation in result.violations] == ["all_at_limit"]
    result = run(code.loaded(Counting(jump=2)), Plan(("below_limit",), "all", quick=True))
    assert [(violation.property, violation.length) for violation in result.violations] == [("below_limit", 3)]


class First(Counting):
    """The language needs the value of `first`: the index of a domain is known when the spec is compiled."""

    first = Constant(0, at_least=0)

    @invariant
    def first_below_limit(self):
        return self.count[Cell[self.first]] <= self.limit


def test_a_constant_that_the_language_needs_has_its_value_in_the_code():
    code = compile_shared_code(First(), ["first_below_limit"])
    assert code.lowered.runtime == () and code.fixed["first"] == 0
    assert not code.serves(First(first=1))
    assert isinstance(code.loaded(First()), CompiledSpec)


class Queueing(Spec):
    """A queue of bits with a number of places."""

    places = Constant(2, at_least=1)
    longest = Constant(2, at_least=1)

    queue = Seq(Range(0, 1), "places")
    total = Range(0, "places + longest")
    last = Option(Range(1, "places"))

    @action
    def send(self, bit: Range(0, 1)):
        require(len(self.queue) < self.places)
        self.queue.append(bit)
        self.total = sum(self.queue)
        self.last = len(self.queue)

    @action
    def receive(self, number: Range(1, "places")):
        require(number <= len(self.queue))
        for _ in range(number):
            self.queue.pop(0)

    @action
    def clear(self):
        require(len(self.queue) == self.places and self.last == self.places)
        self.queue.clear()

    @step_invariant
    def never_loses_all(self, old):
        return len(old.queue) < self.places or len(self.queue) > 0


def test_code_serves_a_spec_that_needs_less_room():
    code = compile_shared_code(Queueing(places=3), ["never_loses_all"], room=["places"])
    assert code.fixed == {"longest": 2} and code.room == {"places": 3}
    assert not code.serves(Queueing(places=4))
    plan = Plan(("never_loses_all",), "all", quick=True)
    for places in (1, 2, 3):
        found, alone = (run(each, plan) for each in (code.loaded(Queueing(places=places)), compiled_alone(places)))
        assert outline(found) == outline(alone)
        assert found.violations[0].length == places + 2
    assert compile_shared_code(Queueing(), ["never_loses_all"]).room == {}


def compiled_alone(places):
    return compile_native(Queueing(places=places), ["never_loses_all"], quick=True)


def test_a_number_that_is_too_large_is_refused(code):
    with pytest.raises(SpecError, match="beyond 62 bits"):
        code.loaded(Counting(limit=2**62 + 1))
