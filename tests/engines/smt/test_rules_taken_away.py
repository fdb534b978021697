"""KIP-320 without one of its rules: docs/proving.md has the classes, and the table of the cells that fail."""

import json
import re
import runpy
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.engines.smt import induction
from checker.engines.smt.induction_cells import induction_cells
from checker.engines.smt.refutation import refuted
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language.roles import Role

PAGE = (Path(__file__).parents[3] / "docs" / "proving.md").read_text()
FILE = Path(__file__).parents[3] / "examples" / "without_a_rule.py"
CODE = FILE.read_text()
ROWS = re.findall(r"^\| `(\w+)` \| K\S+ \| (.*) \| `(\w+)` (\d+) \|$", PAGE, re.MULTILINE)
OPEN = ("max_leader_epoch", "max_records", "log_size")
CONSTANTS = {"JoinsEarly": dict(replicas=3, log_size=1, max_leader_epoch=1)}

WITH_TWO_REPLICAS = [row[:2] for row in ROWS if row[0] not in CONSTANTS]
"""The classes whose cells take seconds: with three replicas one cell takes a minute."""


def test_the_table_has_every_class():
    assert [name for name, *_ in ROWS] == re.findall(r"^class (\w+)\(Kip320\)", CODE, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cells", "violated", "length"), ROWS, ids=[row[0] for row in ROWS])
def test_exactly_the_cells_of_the_table_fail(name, cells, violated, length):
    kind = runpy.run_path(str(FILE))[name]
    spec = kind(**CONSTANTS.get(name, dict(replicas=2)))
    targets, lemmas = spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT), spec.names_of(Role.LEMMA)
    proof = induction.prove(TransitionSystem(spec, [*targets, *lemmas]), targets, lemmas, QueryLimits(60))
    failing = [cell for cell in proof.cells if cell.outcome != "proved"]
    assert [f"`{cell.conjunct}/{cell.action}`" for cell in failing] == cells.split(", ")
    assert all(cell.outcome == "fails" and cell.counterexample is not None for cell in failing)
    (found,) = refuted(kind(), [violated], workers=1).violations
    assert (found.property, found.length) == (violated, int(length))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "cells"), WITH_TWO_REPLICAS, ids=[name for name, _ in WITH_TWO_REPLICAS])
def test_a_failing_cell_is_not_proved_without_bounds(name, cells):
    """The first cell that fails at one size stays open with any number of epochs, records and log slots."""
    spec = runpy.run_path(str(FILE))[name](replicas=2)
    targets, lemmas = spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT), spec.names_of(Role.LEMMA)
    prover = induction_cells(spec, OPEN, targets, lemmas, QueryLimits(0.5))
    places = {f"`{'/'.join(place)}`": place for place in prover.places}
    assert prover.cell(places[cells.split(", ")[0]]).outcome == "unknown"


def test_a_rule_taken_away_ends_at_a_finite_trace_without_bounds(capsys):
    options = [word for name in OPEN for word in ("--unbounded", name)]
    assert main(["prove", f"{FILE}/asks_once", "--set", "replicas=2", *options]) == 1
    text = capsys.readouterr().out
    assert "violated: weak_isr 13" in text and "proved by" not in text


def test_all_cells_shows_the_trace_and_the_cells(capsys, tmp_path):
    file = tmp_path / "proof.json"
    command = ["prove", "examples/peterson_hasty/swapped_steps", "--property", "mutual_exclusion"]
    assert main([*command, "--all-cells", "--json", str(file)]) == 1
    found = json.loads(file.read_text())
    assert found["verdict"] == "violated"
    assert [violation["property"] for violation in found["violations"]] == ["mutual_exclusion"]
    failing = [query for query in found["queries"] if query["outcome"] != "proved"]
    assert [(query["conjunct"], query["action"]) for query in failing] == [("mutual_exclusion", "enter")]
    text = capsys.readouterr().out
    assert "mutual_exclusion is not preserved by enter" in text and "a lemma that excludes it" not in text
    assert "mutual_exclusion is violated: counterexample of 7 states" in text


@pytest.mark.parametrize("option", ["--find-lemmas", "--explain=weak_isr/init", "--method=pdr"])
def test_all_cells_needs_a_whole_proof_by_induction(option, capsys):
    assert main(["prove", "examples/peterson", "--all-cells", option]) == 2
    assert "--all-cells needs a whole proof by induction" in capsys.readouterr().err
