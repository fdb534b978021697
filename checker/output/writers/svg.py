"""Counterexamples as chains of states, drawn by Graphviz."""

from __future__ import annotations

from checker.output.formats import Counterexample
from checker.output.graphs import svg, trace_graph


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as SVG; raise UserError if the program `dot` is missing."""
    return svg(trace_graph(counterexample.spec, counterexample.violation))
