"""Counterexamples as chains of states in the language of Graphviz."""

from __future__ import annotations

from checker.output.dot import trace_graph
from checker.output.formats import Counterexample


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as DOT."""
    return str(trace_graph(counterexample.spec, counterexample.violation).source)
