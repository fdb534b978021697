"""Counterexamples as sequence drawings, laid out by Graphviz."""

from __future__ import annotations

from checker.output.formats import Counterexample
from checker.output.graphs import svg
from checker.output.sequence_graph import sequence_graph


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as SVG; raise UserError if the program `dot` is missing."""
    return svg(sequence_graph(counterexample.spec, counterexample.violation))
