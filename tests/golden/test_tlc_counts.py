"""Counts of published TLA+ specifications, compared with those of TLC."""

import ast
import inspect
import json
from pathlib import Path

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.run.plan import Plan
from specs.examples import bakery, echo, paxos
from tests.golden import counted_specs, message_paxos, spanning_tree, synchronous_termination, termination_on_ring

ROWS = json.loads((Path(__file__).parent / "tlc_counts.json").read_text())["rows"]
MODULES = (
    counted_specs,
    bakery,
    echo,
    paxos,
    message_paxos,
    spanning_tree,
    synchronous_termination,
    termination_on_ring,
)
INTERPRETED = 600
"""Specs with at most this many states are explored by the interpreter too."""


def spec_of(row):
    return next(vars(module)[row["spec"]] for module in MODULES if row["spec"] in vars(module))(**row["constants"])


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['module']} {row['constants']}" for row in ROWS])
def test_the_counts_are_those_of_tlc(row):
    engines = (native, explorer) if row["distinct_states"] <= INTERPRETED else (native,)
    for engine in engines:
        spec = spec_of(row)
        result = engine.explore(spec, Plan(properties=tuple(spec.safety_properties)))
        assert result.verdict == "holds"
        if "constraint" in row:
            assert result.states_within < result.distinct_states
            assert (result.states_within, result.depth_within) == (row["distinct_states"], row["depth"])
        else:
            assert (result.distinct_states, result.depth) == (row["distinct_states"], row["depth"])


def code_lines(module):
    """Return the number of lines of a module without docstrings, comments, blank lines and scenarios."""
    source = inspect.getsource(module)
    left_out = set()
    for node in ast.walk(ast.parse(source)):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_scenarios = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "scenarios"
        if is_docstring or is_scenarios:
            left_out |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(1 for number, text in lines if number not in left_out and text.strip() and text.strip()[0] != "#")


@pytest.mark.parametrize("row", [row for row in ROWS if "tla_lines" in row], ids=lambda row: row["module"])
def test_the_spec_is_as_short_as_the_tla_text(row):
    module = next(module for module in MODULES if row["spec"] in vars(module))
    assert code_lines(module) <= row["tla_lines"]
