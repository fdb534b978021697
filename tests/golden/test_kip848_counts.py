"""State counts, depths and verdicts of Vanlightly's TLA+ specification of KIP-848, compared with those of TLC."""

import json
from pathlib import Path

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.explain.lassos import check_lasso
from checker.run.plan import Plan
from tests.golden.kip848_draft import Kip848Draft

ROWS = json.loads((Path(__file__).parent / "kip848-draft.json").read_text())["rows"]
CONSTANTS = ("clients", "topics", "partitions_per_topic", "perturbations", "bookkeeping")
USUAL = {388, 7673, 38563}
"""The rows of the usual suite, by their number of states. The others are slow."""
INTERPRETED = 600
"""Rows with at most this many states are explored by the interpreter too."""


def constants_of(row):
    return {name: row[name] for name in CONSTANTS if name in row}


def cases():
    """Yield each row with each engine that is to explore it."""
    for row in ROWS:
        label = "-".join(str(value) for value in constants_of(row).values())
        marks = () if row["distinct_states"] in USUAL else (pytest.mark.slow,)
        yield pytest.param(native, row, id=f"native-{label}", marks=marks)
        if row["distinct_states"] <= INTERPRETED:
            yield pytest.param(explorer, row, id=f"python-{label}", marks=marks)


@pytest.mark.parametrize(("engine", "row"), list(cases()))
def test_states_depth_and_lengths_are_those_of_tlc(engine, row):
    spec = Kip848Draft(**constants_of(row))
    properties = spec.properties if "eventually_converges" in row else spec.safety_properties
    result = engine.explore(spec, Plan(properties=tuple(properties), stop="all"))
    assert (result.ended, result.distinct_states, result.depth) == ("complete", row["distinct_states"], row["depth"])
    lengths = {found.property: found.length for found in result.violations if found.kind != "liveness"}
    assert lengths == {name: row[name] for name in spec.safety_properties if name in row}
    lassos = [found for found in result.violations if found.kind == "liveness"]
    assert row.get("eventually_converges", "holds") == ("violated" if lassos else "holds")
    for lasso in lassos:
        check_lasso(spec, lasso)
