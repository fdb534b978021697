"""Views: which states count as one, what a view may leave out, and agreement of the engines."""

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.language import (
    Constant,
    Domain,
    Map,
    Range,
    Seq,
    SetOf,
    Spec,
    SpecError,
    Struct,
    action,
    constraint,
    eventually,
    invariant,
    reachable,
    require,
    step_invariant,
    view,
)
from checker.run.plan import Plan
from tests.agreement.engines import outline
from traces.replay import replay

ENGINES = [native, explorer]


class Node(Domain):
    size, prefix = 3, "n"


class Event(Struct):
    node: Node
    at: Range(0, 9)


class Token(Spec):
    """A token goes round. The history has every step, and the last event is of the wide kind."""

    steps = Constant(4)

    holder = Node
    count = Range(0, 9)
    history = Seq(Event, 9)
    seen = SetOf(Node)
    last = Map(Node, Range(0, 9))

    def init(self, first: Node):
        self.history.append(Event(first, 0))

    def note(self, node):
        self.history.append(Event(node, self.count))
        self.last[node] = self.count

    @action
    def give(self, node: Node):
        require(node != self.holder and self.count < self.steps)
        self.count += 1
        self.holder = node
        self.note(node)

    @action
    def see(self, node: Node):
        require(node == self.holder)
        self.seen.add(node)

    @invariant
    def not_all_are_seen(self):
        return len(self.seen) < 3

    @reachable
    def all_steps_are_taken(self):
        return self.count == self.steps

    @step_invariant
    def count_grows(self, old):
        return old.count <= self.count

    @constraint
    def few(self):
        return self.count < 4


class Viewed(Token):
    @view
    def present(self):
        return self.holder, self.count, self.seen


class Projected(Spec):
    """The same without the variables that the view leaves out."""

    steps = Constant(4)
    holder = Node
    count = Range(0, 9)
    seen = SetOf(Node)
    give, see = Token.give, Token.see
    not_all_are_seen, few = Token.not_all_are_seen, Token.few
    all_steps_are_taken, count_grows = Token.all_steps_are_taken, Token.count_grows

    def note(self, node):
        pass


def explored(engine, spec, **plan):
    return engine.explore(spec, Plan(tuple(spec.safety_properties), stop="all", **plan))


@pytest.mark.parametrize("engine", ENGINES)
def test_states_are_told_apart_by_the_view(engine):
    found = explored(engine, Viewed())
    assert outline(found) == outline(explored(engine, Projected()))
    assert found.levels_within is not None
    assert found.distinct_states < explored(engine, Token()).distinct_states / 2


def test_the_engines_agree_for_every_number_of_workers():
    expected = outline(explored(explorer, Viewed()))
    found = [explored(native, Viewed(), workers=workers) for workers in (1, 2, 3)]
    assert [outline(result) for result in found] == [expected] * 3
    traces = [[str(step) for step in result.violations[0].trace] for result in found]
    assert traces[0] == traces[1] == traces[2]


def test_a_trace_has_the_variables_that_are_left_out():
    (violation,) = explored(native, Viewed()).violations
    replay(Viewed(), violation)
    assert len(violation.trace[-1].state.history) == 1 + sum(step.action == "give" for step in violation.trace)


class ReadsInGuard(Viewed):
    @action
    def read(self):
        require(len(self.history) < 3)
        self.count = 0


class ReadsInProperty(Viewed):
    @invariant
    def short(self):
        return len(self.history) < 9


class ReadsInAssignment(Viewed):
    @action
    def read(self, node: Node):
        self.count = self.last[node]


class ReadsInHelper(Viewed):
    def noted(self):
        return self.history[0].node

    @action
    def read(self):
        self.holder = self.noted()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("spec", [ReadsInGuard, ReadsInProperty, ReadsInAssignment, ReadsInHelper])
def test_a_read_of_a_variable_that_is_left_out_is_refused(engine, spec):
    with pytest.raises(SpecError, match=r"(history|last) is read here, and the view present leaves it out") as caught:
        explored(engine, spec())
    assert caught.value.line is not None


class Unchecked(ReadsInGuard):
    @view(unchecked=True)
    def present(self):
        return self.holder, self.count, self.seen


def test_unchecked_reads_keep_the_first_state():
    results = [explored(native, Unchecked(), workers=workers) for workers in (1, 2)]
    assert outline(results[0]) == outline(results[1])


class Computed(Token):
    @view
    def shown(self):
        return len(self.history)


class Unknown(Token):
    @view
    def shown(self):
        return self.holder, self.steps


@pytest.mark.parametrize(
    ("spec", "message"),
    [(Computed, "a view names the state variables that it keeps"), (Unknown, "steps is not a state variable")],
)
def test_a_view_that_is_not_of_variables_is_refused(spec, message):
    with pytest.raises(SpecError, match=message):
        explored(native, spec())


class Live(Viewed):
    @eventually
    def ends(self):
        return self.count == 4


@pytest.mark.parametrize("engine", ENGINES)
def test_liveness_is_undecided(engine):
    result = engine.explore(Live(), Plan(("ends",)))
    assert "liveness is not decided with a view" in result.undecided["ends"]


class Grid(Spec):
    x = Range(0, 150)
    y = Range(0, 150)
    moved = Seq(Range(0, 1000), 30)

    @action
    def right(self):
        require(self.x < 150)
        self.x += 1
        self.moved = [self.x * 3]

    @action
    def up(self):
        require(self.y < 150)
        self.y += 1
        self.moved = [self.y * 5, 1]

    @view
    def place(self):
        return self.x, self.y


def test_tables_grow_with_a_view():
    assert explored(native, Grid(), workers=2).distinct_states == 151 * 151
