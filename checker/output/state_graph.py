"""The state space of one run as a DOT or SVG file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checker.errors import InputError
from checker.output.output_files import open_for_writing
from checker.run.request import Run


def check_graph(path: Path, runs: Sequence[Run]) -> None:
    """Raise InputError if the name does not end with .dot or .svg, or the command has several runs."""
    if path.suffix not in (".dot", ".svg"):
        raise InputError(f"{path}: name a file that ends with .dot or .svg")
    if len(runs) != 1:
        raise InputError(f"graph draws one run, not {len(runs)}: name one scenario, as in examples/peterson/exclusive")
    if runs[0].symmetry:
        raise InputError("graph draws every state: use --no-symmetry")


def write_graph(path: Path, run: Run) -> None:
    """Write the state space of a run; raise UserError if it has too many states or the file cannot be written."""
    from checker.output.graphs import state_graph, svg

    graph = state_graph(run.spec, run.properties)
    content = svg(graph) if path.suffix == ".svg" else str(graph.source)
    with open_for_writing(path) as stream:
        stream.write(content)
