"""The command `simulate` without Spark: its output, its files, and the notes about the choice of steps."""

from __future__ import annotations

import json
import sys

import pytest

from tests.spark_analysis.walks.walked import spec_file


@pytest.fixture
def target(tmp_path, monkeypatch):
    # Walks of this machine need no Spark, and must not import it.
    monkeypatch.setitem(sys.modules, "pyspark", None)
    return f"{spec_file(tmp_path)}/queue/hasty"


def test_walks_are_made_and_resumed(checker, target, tmp_path):
    command = ["simulate", target, "--traces", "1000", "--out", str(tmp_path / "walks")]
    outcome = checker(*command, "--json", str(tmp_path / "found.json"))
    assert outcome.status == 0
    assert "in_order violated" in outcome.out and "1,000 walks made" in outcome.out
    assert "Spark" not in outcome.out and "The choices" not in outcome.out
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["walks"] == 1000 and found["violated"]["in_order"] > 100
    again = checker(*command)
    assert again.status == 0 and "all walks were made before" in again.out


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (["--bias", "rare"], "The choices are biased (rare): the rates are those of biased walks"),
        (["--weight", "send=3"], "The choices are weighted (send=3): the rates are those of weighted walks"),
    ],
)
def test_a_choice_that_is_not_uniform_is_named(checker, target, tmp_path, options, note):
    outcome = checker("simulate", target, "--traces", "200", "--out", str(tmp_path / "walks"), *options)
    assert outcome.status == 0 and note in outcome.out


def test_walks_and_their_report_by_one_command(checker, target, tmp_path):
    """The report is the one of the command `report`, without Spark."""
    walks, spec = tmp_path / "walks", target.removesuffix("/queue/hasty")
    outcome = checker("simulate", target, "--traces", "200", "--out", str(walks), "--report")
    assert outcome.status == 0
    assert "in_order violated" in outcome.out and "report/report.html" in outcome.out
    alone = checker("report", str(walks), "--spec", spec, "--out", str(tmp_path / "alone"))
    assert alone.status == 0
    assert (walks / "report/report.json").read_bytes() == (tmp_path / "alone/report.json").read_bytes()
    refused = checker("simulate", target, "--out", str(walks), "--report", "--json", "-")
    assert refused.status == 2 and "both write to the standard output" in refused.err
