"""Views: which states count as one, what a view may leave out, and agreement of the engines."""

import pytest

from checker.engines import both
from checker.engines.native import engine as native
from checker.engines.native.explore import search
from checker.engines.python import explorer
from checker.frontend import compile_view
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
from tests.support.source_modules import load
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
    with pytest.raises(
        SpecError, match=r"(history|last) is read here, and the view present leaves it out: add self\."
    ) as caught:
        explored(engine, spec())
    assert caught.value.line is not None


class Unchecked(ReadsInGuard):
    @view(unchecked=True)
    def present(self):
        return self.holder, self.count, self.seen


def test_the_engine_both_refuses_an_unchecked_view():
    found = both.explore(Viewed(), Plan(("not_all_are_seen",)))
    assert found.engine.startswith("native + z3")
    with pytest.raises(SpecError, match="present is unchecked and may hide what Z3 finds"):
        both.explore(Unchecked(), Plan(("not_all_are_seen",)))


def test_unchecked_reads_keep_the_first_state():
    results = [explored(native, Unchecked(), workers=workers) for workers in (1, 2)]
    assert outline(results[0]) == outline(results[1])


class ReadsInWritingHelper(Viewed):
    """The helper that computes a value of the history also writes a variable that the view keeps."""

    def taken(self):
        self.holder = self.history[0].node
        return 1

    @action
    def read(self, node: Node):
        self.last[node] = self.taken()


class RequiresInHelper(Viewed):
    def first(self):
        require(len(self.history) > 2)
        return 0

    @action
    def read(self, node: Node):
        self.last[node] = self.first()


@pytest.mark.parametrize("spec", [ReadsInWritingHelper, RequiresInHelper])
def test_a_helper_in_an_assignment_to_a_variable_that_is_left_out_is_checked(spec):
    with pytest.raises(SpecError, match="history is read here"):
        explored(native, spec())


class Computed(Token):
    """The view has expressions: a filtered sequence, a field, a set and a helper."""

    @view
    def shown(self):
        first = {event.node for event in self.history if event.at == 0}
        return self.holder, self.count, self.seen, (self.recent(), first), self.history[0].node

    def recent(self):
        return [event for event in self.history if event.at > 2]


class ReadsOnlyCount(Token):
    """The guards read the history, of which the view has the length only."""

    @action
    def give(self, node: Node):
        require(node != self.holder and len(self.history) < self.steps)
        self.count = len(self.history)
        self.note(node)

    @view
    def shown(self):
        return self.holder, self.count, self.seen, len(self.history)


class ReadsOnlyCountUnchecked(ReadsOnlyCount):
    @view(unchecked=True)
    def shown(self):
        return self.holder, self.count, self.seen, len(self.history)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_has_expressions(engine):
    # The history does not influence the rest, so the verdicts are those without a view.
    found, whole = explored(engine, Computed()), explored(engine, Token())
    assert found.distinct_states < whole.distinct_states
    assert {v.property: v.length for v in found.violations} == {v.property: v.length for v in whole.violations}
    assert found.reached == whole.reached


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variable_that_a_view_has_in_part_must_not_be_read(engine):
    message = "history is read here, and the view shown does not have it as a whole"
    with pytest.raises(SpecError, match=message):
        explored(engine, ReadsOnlyCount())
    assert explored(engine, ReadsOnlyCountUnchecked()).distinct_states > 0


class Fails(Token):
    @view
    def shown(self):
        return self.holder, self.count, self.seen, self.history[2].node if self.count > 0 else self.holder


@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_that_leaves_its_bounds_is_an_error_with_a_trace(engine):
    for result in (engine.explore(Fails(), Plan(())), explored(engine, Fails())):
        (violation,) = (found for found in result.violations if found.kind == "bounds_error")
        assert result.verdict == "error"
        assert (violation.property, violation.length) == ("shown", 2)
        assert "shown cannot be evaluated: index 2 is outside" in violation.explanation
        assert result.distinct_states == explored(explorer, Fails()).distinct_states


class FailsBefore(Token):
    """The value does not depend on the statement that fails."""

    @view
    def shown(self):
        _ = self.history[2].node if self.count > 0 else self.holder
        return self.holder, self.count, self.seen


@pytest.mark.parametrize("engine", ENGINES)
def test_a_statement_of_a_view_that_leaves_its_bounds_is_an_error(engine):
    assert explored(engine, FailsBefore()).verdict == "error"


class Whole(Token):
    @view
    def shown(self):
        return self.holder, self.count, self.history, self.seen, self.last


def test_a_view_of_all_variables_changes_nothing():
    assert outline(explored(native, Whole())) == outline(explored(native, Token()))


class WholeComputed(Token):
    """A view with two returns is computed: no variable is known to be in it as a whole."""

    @view(unchecked=True)
    def shown(self):
        if self.count > 2:
            return self.count, self.holder, self.history, self.seen, self.last
        return self.count, self.holder, self.history, self.seen, self.last


def test_a_computed_view_of_all_variables_changes_nothing():
    assert compile_view(WholeComputed()).kept == ()
    for workers in (1, 3):
        assert outline(explored(native, WholeComputed(), workers=workers)) == outline(explored(native, Token()))


@pytest.mark.parametrize("spec", [Viewed, Computed, Fails, FailsBefore, WholeComputed, Unchecked])
def test_the_compact_store_finds_the_same(spec):
    usual, compact = (explored(native, spec(), store=store, workers=2) for store in ("usual", "compact"))
    assert outline(compact) == outline(usual)
    traces = [[str(violation.trace) for violation in result.violations] for result in (usual, compact)]
    assert traces[0] == traces[1] != []


def test_the_compact_store_calls_the_view_of_optimised_code(monkeypatch):
    monkeypatch.setattr(search, "IMPROVE_SECONDS", -1.0)
    found = explored(native, Computed(), store="compact", quick=True)
    assert outline(found) == outline(explored(native, Computed(), store="usual"))


class SumsUp(Token):
    @view(unchecked=True)
    def shown(self):
        return sum(event.at for event in self.history), self.count


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("self.count += 0", "the view shown must return a value on every path"),
        ("self.count = 0; return self.count", "the view shown must not change the state"),
        ("require(self.count > 0); return self.count", "the view shown must not use `require`"),
        (
            "total = 0\n        for event in self.history: total += event.at\n        return total",
            "the view shown returns an int 0..inf, which has no known bounds: write sum",
        ),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_without_a_value_is_refused(engine, body, message, tmp_path):
    wrong = "from checker.language import require, view\nfrom tests.engines.test_views import Token\n\n"
    wrong += f"class Wrong(Token):\n    @view\n    def shown(self):\n        {body}\n"
    with pytest.raises(SpecError, match=message):
        explored(engine, load(wrong, tmp_path).Wrong())


class Takes(Token):
    @view
    def shown(self, node: Node):
        return self.last[node]


class Two(Viewed):
    @view
    def shown(self):
        return self.holder


@pytest.mark.parametrize(("spec", "message"), [(Takes, r"the view shown takes \(self\)"), (Two, "a spec has one view")])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_with_a_parameter_and_a_second_view_are_refused(engine, spec, message):
    with pytest.raises(SpecError, match=message):
        explored(engine, spec())


def test_a_view_has_a_sum():
    assert explored(native, SumsUp()).distinct_states > 0


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
