"""Counts of published TLA+ specifications, compared with those of TLC."""

import json
from pathlib import Path

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.run.plan import Plan
from specs.examples import bakery
from tests.golden import counted_specs

ROWS = json.loads((Path(__file__).parent / "tlc_counts.json").read_text())["rows"]
MODULES = (counted_specs, bakery)
INTERPRETED = 600
"""Specs with at most this many states are explored by the interpreter too."""


def spec_of(row):
    return next(vars(module)[row["spec"]] for module in MODULES if row["spec"] in vars(module))(**row["constants"])


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['module']} {' '.join(row['tla_constants'])}" for row in ROWS])
def test_the_counts_are_those_of_tlc(row):
    engines = (native, explorer) if row["distinct_states"] <= INTERPRETED else (native,)
    for engine in engines:
        spec = spec_of(row)
        result = engine.explore(spec, Plan(properties=tuple(spec.properties)))
        assert result.verdict == "holds"
        if "constraint" in row:
            assert result.states_within < result.distinct_states
            assert (result.states_within, result.depth_within) == (row["distinct_states"], row["depth"])
        else:
            assert (result.distinct_states, result.depth) == (row["distinct_states"], row["depth"])
