"""Graphs: counterexamples as sequence drawings, small state spaces, and the errors if a graph cannot be drawn."""

import re
import shlex
import shutil

import pytest

from checker.engines.python.explorer import explore
from checker.errors import UserError
from checker.output import graphs
from checker.output.sequence_graph import sequence_graph
from checker.run.plan import Plan
from tests.toy import Counter, Log, Overflow

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")


def columns_of(graph):
    """Return the x of the middle of each box by step and column, and its y, as Graphviz lays them out."""
    places = {}
    for line in graph.pipe(format="plain", encoding="utf-8").splitlines():
        kind, name, *rest = shlex.split(line)[:4] + [""] * 2
        if kind == "node":
            number, _, column = name.removeprefix("step").partition("_")
            places[int(number), column] = (float(rest[0]), float(rest[1]))
    return places


@needs_dot
def test_counterexample_has_a_rank_for_each_step_and_a_column_for_each_lane(kip101):
    spec, violation = kip101
    places = columns_of(sequence_graph(spec, violation))
    columns = ["", "0", "1", "2", "3"]
    assert sorted({column for _, column in places}) == columns
    for number in range(len(violation.trace) + 1):
        row = [places[number, column] for column in columns]
        assert len({y for _, y in row}) == 1, number
        assert [x for x, _ in row] == sorted(x for x, _ in row), number
    for column in columns:
        heights = [places[number, column][1] for number in range(len(violation.trace) + 1)]
        assert heights == sorted(heights, reverse=True)
        middles = [x for (_, found), (x, _) in places.items() if found == column]
        assert max(middles) - min(middles) < 0.05


def test_boxes_have_changes_and_the_last_one_has_the_violation(kip101):
    source = sequence_graph(*kip101).source
    (last,) = [line for line in source.splitlines() if line.strip().startswith("step12 [label=")]
    assert "12  leader_expand_isr(b3)" in last and "strong_isr is violated" in last
    assert 'color="#0069a6"' in source


def test_initial_state_has_the_variables_that_change(producer):
    spec, violation = producer
    initial = re.findall(r"(?m)^\s*step1(?:_\d)? \[label=(.*)", sequence_graph(spec, violation).source)
    states = [step.state.values for step in violation.trace]
    changing = {name for name in spec.variables if any(state[name] != states[0][name] for state in states)}
    assert 3 < len(changing) < len(spec.variables)
    shown = {name for name in spec.variables for text in initial if re.search(rf"(\"|\\l){name}\b", text)}
    assert shown == changing


def test_spec_without_lanes_has_one_column():
    spec = Counter(limit=1, resets=True)
    (violation,) = explore(spec, Plan(("below_limit",))).violations
    source = sequence_graph(spec, violation).source
    nodes = [line for line in source.splitlines() if "[label=" in line and "->" not in line]
    assert [line.split()[0] for line in nodes] == [f"step{number}" for number in range(1, len(nodes) + 1)]
    assert "value: 0 -> 1" in source


@needs_dot
def test_graph_as_svg(toy_log):
    svg = graphs.svg(sequence_graph(*toy_log))
    assert svg.lstrip().startswith("<?xml")
    assert "logs_agree is violated" in svg


def test_error_if_dot_is_not_installed(toy_log, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match=r"dot, which is not installed: install Graphviz .*, or use the \.dot file"):
        graphs.svg(sequence_graph(*toy_log))


def test_state_graph_has_every_state_once_and_marks_violations():
    source = graphs.state_graph(Counter(limit=3, resets=True), ("below_limit", "never_falls")).source
    nodes = [line for line in source.splitlines() if "->" not in line and "value" in line]
    assert len(nodes) == 4
    assert sum("✗ below_limit" in line for line in nodes) == 1
    assert sum("peripheries=2" in line for line in nodes) == 1
    (reset,) = [line for line in source.splitlines() if "reset()" in line]
    assert "✗ never_falls" in reset


def test_state_graph_shows_bounds_errors_and_deadlocks():
    source = graphs.state_graph(Overflow(limit=1), ()).source
    assert "value: 2 is not in" in source or "✗ value" in source
    assert "✗ deadlock" in graphs.state_graph(Counter(limit=1), ("deadlock",)).source


def test_state_graph_with_too_many_states_is_refused(monkeypatch):
    monkeypatch.setattr(graphs, "MOST_STATES", 5)
    with pytest.raises(UserError, match=r"log has more than 5 states, too many for a graph: .*--set"):
        graphs.state_graph(Log(), ())


def test_backslashes_and_angle_brackets_are_escaped():
    assert graphs.left_aligned("<b>bold</b>\nback\\n") == "<b>bold</b> \\lback\\\\n\\l"
    assert graphs.centre_lines("one\ntwo") == "one\\ntwo"
