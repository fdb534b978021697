"""Results, traces and state graphs as a script or a notebook uses them."""

import json
import pickle
import re

import numpy as np
import pytest

from checker import CheckFailed, SpecChecks, StateGraph, check, explore
from checker.api.drawn_state import DrawnState
from checker.errors import InputError, SpecError
from checker.language import Disabled, Range, Spec, State, action, require, view
from specs.consumer.consumer import Consumer
from specs.examples.peterson import Peterson, PetersonHasty
from specs.examples.two_phase import TwoPhase, TwoPhaseHasty
from tests.engines.test_views import Node, Projected, Token, Viewed
from tests.output.test_page import EvilSpec
from tests.toy import Counter
from traces.trace_file import read_trace


@pytest.mark.parametrize("spec", [Peterson(), TwoPhase(managers=3), Consumer()], ids=lambda spec: spec.name)
def test_the_graph_has_the_states_and_steps_of_the_interpreter(spec):
    graph = StateGraph(spec)
    states = list(graph.states())
    assert states[: len(graph.initial)] == spec.initial_states()
    assert len(set(states)) == len(states) == explore(spec).distinct_states
    steps = [(states[edge.source], edge.action, edge.arguments, states[edge.target]) for edge in graph.edges()]
    wanted = [
        (state, step.action, step.arguments, step.state)
        for state in states
        if spec.within_constraints(state)
        for step in spec.successors(state)
    ]
    assert steps == wanted
    # Breadth-first: a state's level is one more than the lowest level of a state before it.
    for source, target in zip(graph.sources, graph.targets, strict=True):
        assert graph.levels[target] <= graph.levels[source] + 1


class OneStart(Spec):
    """Three initial states, which the view takes for one."""

    node = Node
    count = Range(0, 3)

    def init(self, first: Node):
        self.node = first

    @action
    def advance(self):
        require(self.count < 3)
        self.count += 1

    @view
    def present(self):
        return self.count


def seen_steps(graph):
    """Return the steps between the values of the view, and the values of the initial states."""
    values = [(state.holder, state.count, state.seen) for state in graph.states()]
    steps = {(values[edge.source], edge.action, edge.arguments, values[edge.target]) for edge in graph.edges()}
    assert len(set(values)) == len(graph) == len(graph.levels)
    assert len(steps) == len(graph.sources)
    return steps, values[: len(graph.initial)]


def test_states_of_the_graph_are_told_apart_by_the_view():
    graph = StateGraph(Viewed())
    assert seen_steps(graph) == seen_steps(StateGraph(Projected()))
    found = SpecChecks(stop="all").explore(Viewed)
    assert len(graph) == found.distinct_states < len(StateGraph(Token())) / 2
    assert np.bincount(graph.levels).tolist() == list(found.levels)


def test_initial_states_of_the_graph_are_told_apart_by_the_view():
    graph = StateGraph(OneStart())
    assert (len(graph.initial), len(graph), len(graph.sources)) == (1, 4, 3)


def test_a_graph_that_is_too_large_is_refused():
    with pytest.raises(SpecError, match="has more than 10 states: raise most_states"):
        StateGraph(Peterson(), most_states=10)


def test_arrow_tables_have_a_row_for_each_state_and_step():
    graph = explore(TwoPhase, managers=1).graph()
    states, steps = graph.states_table(), graph.edges_table()
    assert states.num_rows == len(graph) == 12
    assert steps.num_rows == len(graph.sources)
    assert json.loads(states["at"][0].as_py()) == {"m1": "working"}
    assert states["decision"].type == "string"


def test_a_result_has_the_verdict_of_each_property():
    result = SpecChecks(stop="all").explore(PetersonHasty)
    assert result.verdicts == {
        "mutual_exclusion": "violated",
        "first_process_enters": "holds",
        "second_process_enters": "holds",
    }
    assert explore(PetersonHasty).verdict == "violated"
    limited = SpecChecks(max_states=5).explore(Peterson)
    assert limited.verdicts["mutual_exclusion"] == "undecided"


def test_a_scenario_by_name_has_its_own_constants_and_properties():
    result = explore("examples/peterson/exclusive")
    assert result.name == "examples/peterson/exclusive"
    assert result.verdicts["deadlock"] == "holds"


@pytest.mark.parametrize("target", ["examples", 7, TwoPhase.refines])
def test_what_is_not_one_spec_is_refused(target):
    with pytest.raises(InputError):
        explore(target)


def test_constants_change_a_spec_and_keep_its_fairness():
    spec = TwoPhase(managers=2).with_fairness({"prepare": "weak"})
    changed = explore(spec, managers=1).spec
    assert changed.constants == {"managers": 1}
    assert changed.fairness == spec.fairness


def test_a_trace_is_saved_in_the_format_of_its_ending(tmp_path):
    trace = explore(TwoPhaseHasty, managers=2).trace
    assert read_trace(trace.save(tmp_path / "trace.json")).property == "refines"
    assert trace.save(tmp_path / "trace.html").read_text().startswith("<!DOCTYPE html>")
    assert "receive_decision(manager=m1)" in trace.save(tmp_path / "trace.txt").read_text()
    assert json.loads(trace.save(tmp_path / "trace.itf.json").read_text())["vars"]
    assert json.loads(json.dumps(trace.to_dict())) == trace.to_dict()
    with pytest.raises(InputError, match="unknown ending"):
        trace.save(tmp_path / "trace.pdf")


def test_a_failed_check_has_the_result_and_can_be_sent_to_another_process():
    with pytest.raises(CheckFailed) as failed:
        check(TwoPhaseHasty, managers=2)
    assert failed.value.result.trace.steps()[-1] == "receive_decision(m1)"
    assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


def test_html_escapes_every_text():
    assert "<script>" not in State({"<script>": "<b>"})._repr_html_()
    result = explore(EvilSpec)
    for drawn in (result._repr_html_(), result.trace[-1].state._repr_html_()):
        assert "<script>" not in drawn and "<img" not in drawn and "&lt;script&gt;" in drawn
    assert "srcdoc=" in result._repr_html_()


def test_states_draw_their_lanes():
    result = explore(TwoPhaseHasty, managers=2)
    first, *_, last = result.trace
    assert last.state == result.violations[0].trace[-1].state and hash(last.state) == hash(State(last.state.values))
    assert type(pickle.loads(pickle.dumps(last.state))) is State
    drawn = last.state._repr_html_()
    assert drawn.count('<tr class="lane ') == 2 and '<span class="lane-name">m1</span>' in drawn
    # The state of a step marks what the step changed.
    assert "<del>prepared</del> <ins>committed</ins>" in drawn
    assert "<del>" not in first.state._repr_html_()
    assert all(type(state) is DrawnState for state in (*result.trace.states(), result.trace[1:][0].state))
    assert '<table class="lanes' in next(result.graph().states())._repr_html_()
    assert '<table class="values">' in explore(Counter, limit=1).trace[0].state._repr_html_()


def test_result_draws_its_verdicts():
    drawn = explore(TwoPhaseHasty, managers=2)._repr_html_()
    assert "✗ violated" in drawn and "no step of transaction_commit changes at[m1]" in drawn
    assert "✓ holds" in explore(TwoPhase, managers=1)._repr_html_()
    # The style sheet is in a rule of its own: it concerns nothing else in the notebook.
    style = drawn.partition("<style>")[2].partition("</style>")[0]
    assert style.strip().startswith(".tidemark {") and not re.search(r"(?m)^ *(:root|body) \{", style)


def test_disabled_reports_the_require():
    spec = Peterson()
    (state,) = spec.initial_states()
    with pytest.raises(
        Disabled, match=r"enter\(p1\) is not enabled: require\(self.at\[process\] == At.WAITING\) is false"
    ):
        spec.step(state, "enter", "p1")


def test_a_tuple_of_a_state_is_a_list():
    state = State({"pair": (1, (None, True))})
    assert state.to_dict() == {"pair": [1, [None, True]]}
