"""Counterexamples as chains of states in the language of Graphviz."""

from __future__ import annotations

from checker.output.formats import Counterexample
from checker.output.graphs import trace_graph


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as DOT."""
    return str(trace_graph(counterexample.spec, counterexample.violation).source)
