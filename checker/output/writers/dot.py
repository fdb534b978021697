"""Counterexamples as sequence drawings in the language of Graphviz."""

from __future__ import annotations

from checker.output.formats import Counterexample
from checker.output.sequence_graph import sequence_graph


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as DOT."""
    return str(sequence_graph(counterexample.spec, counterexample.violation).source)
