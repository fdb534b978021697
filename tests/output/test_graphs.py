"""Graphs: counterexamples as chains, small state spaces, and the errors if a graph cannot be drawn."""

import shutil

import pytest

from checker.errors import UserError
from checker.output import graphs
from tests.toy import Counter, Log, Overflow

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")


def test_trace_is_a_chain_with_the_violation_at_its_end(toy_log):
    source = graphs.trace_graph(*toy_log).source
    assert "1 -> 2 [label=" in source
    assert "logs_agree is violated" in source
    assert source.count(" -> ") >= 4


@needs_dot
def test_graph_as_svg(toy_log):
    svg = graphs.svg(graphs.trace_graph(*toy_log))
    assert svg.lstrip().startswith("<?xml")
    assert "logs_agree is violated" in svg


def test_error_if_dot_is_not_installed(toy_log, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match=r"dot, which is not installed: install Graphviz .*, or use the \.dot file"):
        graphs.svg(graphs.trace_graph(*toy_log))


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
    assert graphs._left("<b>bold</b>\nback\\n") == "<b>bold</b> \\lback\\\\n\\l"
    assert graphs._escaped("one\ntwo") == "one\\ntwo"
