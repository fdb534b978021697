"""`show` on counterexamples to liveness properties: replay, comparison with other specs, and damaged files."""

import shutil
from pathlib import Path

import pytest

from checker.cli.app import main

TOY = Path(__file__).parent.parent / "lasso_toy.py"
STEM = "lasso_toy-sending-starved-is_done"
FORMATS = {"text": ".txt", "json": ".json", "itf": ".itf.json", "dot": ".dot", "html": ".html"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lassos")
    words = ["--engine", "python", "--keep-going", "--out", str(folder)]
    assert main(["run", f"{TOY}/sending/starved", *words]) == 0
    return folder


@pytest.fixture
def trace(written, tmp_path):
    return shutil.copytree(written, tmp_path, dirs_exist_ok=True) / f"{STEM}.json"


def test_every_format_shows_what_run_wrote(checker, trace):
    for format, ending in FORMATS.items():
        outcome = checker("show", trace, "--spec", TOY, "--format", format)
        assert (outcome.status, outcome.err) == (0, "")
        assert outcome.out == trace.with_name(STEM + ending).read_text()
        assert '"loop_start": 2' in outcome.out or format != "json"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content.update(loop_start=99), "loop_start and owed_since must be indices of its 7 steps"),
        (lambda content: content.update(loop_start=-1), "loop_start must be at least 0"),
        (lambda content: content.update(loop_start=True), "loop_start must be an integer"),
        (lambda content: content.update(loop_start="2"), "loop_start must be an integer"),
        (lambda content: content.update(loop_start=3), "the loop does not return to its first state"),
        (lambda content: content.update(loop_start=6), "it is not weakly fair to deliver(p1)"),
        (lambda content: content["steps"].pop(), "the loop does not return to its first state"),
        (lambda content: content["steps"].pop(2), "step 3, lose(p1), cannot be replayed"),
        (lambda content: content["steps"][3].update(action=None), "step 4 has no action"),
        (lambda content: content.update(owed_since=2), "owed_since is 2, and the obligation is open from 1 on"),
        (lambda content: content["bindings"].update(batch="p9"), "the bindings of is_done cannot be read"),
        (lambda content: content.pop("bindings"), "bindings is missing"),
        (lambda content: content.update(bindings=[]), "bindings must be an object"),
        (lambda content: content.update(property="lose"), "lose is not a liveness property of"),
        (lambda content: content.update(fairness=7), "fairness must be an array"),
        (lambda content: content.update(fairness=[7]), "fairness[0] must be a string"),
        (lambda content: content["fair"]["deliver"].update(strength="strong"), "it is not strongly fair to deliver"),
        (lambda content: content["fair"]["deliver"].update(strength="very"), "fair.deliver.strength must be one of"),
        (lambda content: content["fair"].update(jump={"strength": "weak"}), "fair names jump, which is not an action"),
        (lambda content: content.update(fair=[]), "fair must be an object"),
        (lambda content: content["fair"].update(send="weak"), "fair.send must be an object"),
        (lambda content: content.update(kind="invariant"), "loop_start is for lassos only"),
    ],
)
def test_a_damaged_lasso_is_refused_in_one_sentence(refuse_damaged, change, sentence):
    refuse_damaged(change, TOY, sentence)


@pytest.mark.parametrize(
    ("other", "conclusion", "notes"),
    [
        (
            "patient",
            "has the same lasso; takes every step and reaches the same states",
            ["keeps the fairness of the trace for deliver"],
        ),
        ("sending/starved", "has the same lasso; takes every step and reaches the same states", []),
        (
            "sending/delivered",
            "takes the steps of this lasso, but the lasso is no counterexample to is_done: it is not strongly fair to "
            "deliver(p1); takes every step and reaches the same states",
            ["only a run decides whether another lasso violates is_done here"],
        ),
        (
            "restless",
            "takes the steps of this lasso, but the loop does not return to its first state; takes every step",
            ["only a run decides whether another lasso violates is_done here"],
        ),
        (
            "lossless",
            "does not have this lasso: it cannot take step 4; diverges at step 4, lose(p1): not enabled here",
            ["only a run decides whether another lasso violates is_done here"],
        ),
        ("unrelated", "has no property is_done of this kind, so the lasso is not compared", []),
    ],
)
def test_against_reports_whether_another_spec_has_the_same_lasso(checker, trace, other, conclusion, notes):
    outcome = checker("show", trace, "--spec", TOY, "--against", f"{TOY}/{other}")
    assert (outcome.status, outcome.err) == (0, "")
    name = f"lasso_toy/{other}"
    assert f"  {name} {conclusion}" in outcome.out
    for note in notes:
        assert f"    {note}\n" in outcome.out
    assert ("only a run" in outcome.out) == any("only a run" in note for note in notes)


def test_against_a_spec_with_fewer_members(checker, trace):
    outcome = checker("show", trace, "--spec", TOY, "--against", f"{TOY}/sending/single")
    assert (outcome.status, outcome.err) == (0, "")
    assert "does not have this lasso: it cannot take step 3; diverges at step 1" in outcome.out
    assert "progress is {p1: new} instead of {p1: new, p2: new}" in outcome.out


def test_against_as_a_page(checker, trace):
    page = checker("show", trace, "--spec", TOY, "--against", f"{TOY}/lossless", "--format", "html").out
    assert 'data-loop="3"' in page
    assert page.count("the loop repeats for ever") == 1
    assert page.count("owed since state 2: is_done(p1)") == 6
    assert "does not have this lasso: it cannot take step 4" in page
