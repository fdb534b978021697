"""Witnesses of the published TLA+ specifications of liveness: ranks show what TLC finds to hold, lassos the rest."""

from types import SimpleNamespace

import pytest

import witness_check
from checker.engines.native import engine
from checker.output.witness import write_witness
from checker.run.plan import Plan
from tests.golden.test_liveness_verdicts import ROWS, spec_of

FILE = """from checker.language import Fairness, Scenario
from tests.golden.liveness_specs import {spec}

scenarios = [Scenario({spec}, "row", {constants}, properties=["{property}"], fair={fair})]
"""
MOST_STATES = 1_500


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_the_witness_of_a_published_spec_is_verified(capsys, tmp_path, row):
    spec = spec_of(row)
    path = tmp_path / "row.py"
    fair = dict.fromkeys(type(spec).declared_fairness) | dict(spec.fairness)
    path.write_text(FILE.format(**{**row, "constants": spec.constants, "fair": fair}))
    run, sizes = SimpleNamespace(spec=spec, properties=(row["property"],)), []

    def write(result, states):
        sizes.append(result.distinct_states)
        if result.distinct_states <= MOST_STATES:
            write_witness(tmp_path / "w", run, result, states)

    engine.explore(spec, Plan(run.properties, stop="all", workers=1), on_states=write)
    if sizes[0] > MOST_STATES:
        pytest.skip("the interpreter takes long")
    status = witness_check.main([str(tmp_path / "w"), str(path), "--scenario", "row"])
    out = capsys.readouterr().out
    assert status == 0, out
    assert ("by ranks: " in out) == (row["verdict"] == "holds")
