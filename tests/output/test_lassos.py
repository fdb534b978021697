"""Counterexamples to liveness properties in graphs, ITF, and the reports of continuous integration."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from checker.cli.app import main
from checker.engines.python.explorer import explore
from checker.language import Spec
from checker.output import graphs
from checker.output.lasso_text import loop_text, owed_text
from checker.output.writers.itf import to_itf
from checker.run.plan import Plan
from checker.run.result import Violation
from tests.lasso_toy import WEAK, Sending
from traces.trace_file import origin_of

TOY = Path(__file__).parent.parent / "lasso_toy.py"
SCHEMA = json.loads((Path(__file__).parent / "itf.schema.json").read_text())


@functools.cache
def lasso(name: str, *, stutters: bool = False) -> tuple[Spec, Violation]:
    """Return the spec and the lasso of a property: a loop of several states, or one state for ever."""
    spec = Sending(batches=1).with_fairness({"retry": None} if stutters else WEAK)
    (violation,) = explore(spec, Plan((name,))).violations
    return spec, violation


def test_the_lassos_of_these_tests():
    _, looping = lasso("is_done")
    assert [str(step) for step in looping.trace] == ["initial state", "send(p1)", "lose(p1)", "retry(p1)"]
    assert (looping.loop_start, looping.owed_since) == (1, 1)
    _, staying = lasso("is_done", stutters=True)
    assert [str(step) for step in staying.trace] == ["initial state", "send(p1)", "lose(p1)"]
    assert (staying.loop_start, staying.closing_step) == (2, None)


def test_the_loop_as_text():
    assert loop_text(lasso("is_done")[1]) == "then for ever: 2 -> 3 -> 2"
    assert loop_text(lasso("is_done", stutters=True)[1]) == "then for ever: the system stays in state 3"


@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        ("is_done", ["", "owed since state 2: is_done(p1)", "owed since state 2: is_done(p1)"]),
        ("all_done", ["owed since state 1: all_done"] * 3),
        (
            "stays_sent",
            [
                "",
                "owed: stays_sent(p1) is true here, and does not stay true",
                "owed: stays_sent(p1) is false here, again and again",
            ],
        ),
    ],
)
def test_the_obligation_is_named_from_its_first_state_on(name, sentences):
    spec, violation = lasso(name)
    assert [owed_text(spec, violation, index) for index in range(3)] == sentences


def edges_of(source: str) -> list[tuple[int, int, str]]:
    found = re.findall(r'^\s*(\d+) -> (\d+) \[label="([^"]*)"', source, re.MULTILINE)
    return [(int(before), int(after), label) for before, after, label in found]


def test_graph_has_an_edge_back_to_the_first_state_of_the_loop():
    source = graphs.trace_graph(*lasso("is_done")).source
    assert edges_of(source) == [(1, 2, " send(p1)"), (2, 3, " lose(p1)"), (3, 2, r" retry(p1)\n for ever")]
    assert source.count("owed since state 2: is_done(p1)") == 2
    assert "is violated" not in source


def test_graph_of_a_system_that_stays_has_an_edge_from_its_last_state_to_itself():
    source = graphs.trace_graph(*lasso("is_done", stutters=True)).source
    assert edges_of(source)[-1] == (3, 3, " stays for ever")
    assert source.count("owed since") == 1


@pytest.mark.parametrize("stutters", [False, True])
def test_itf_has_the_index_of_the_first_state_of_the_loop(stutters):
    spec, violation = lasso("is_done", stutters=stutters)
    content = to_itf(spec, violation, origin_of(spec, "mine/spec", None, "mine.py/spec", "python -m checker run mine"))
    jsonschema.validate(content, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert content["loop"] == (2 if stutters else 1)
    assert len(content["states"]) == 3
    closing = content["#meta"]["closing_step"]
    assert closing == (None if stutters else {"action": "retry", "arguments": {"batch": "p1"}})
    assert content["#meta"]["fairness"] == list(violation.fairness)
    # From the last state, the closing step leads to the state at `loop`.
    last = violation.trace[len(content["states"]) - 1].state
    after = last if closing is None else spec.step(last, "retry", dict(violation.bindings)["batch"])
    assert after == violation.trace[content["loop"]].state


@pytest.fixture
def run_strictly(tmp_path, capsys):
    """Run the toy, whose lassos are not expected with `--set`, and return standard error."""

    def run(*arguments: str) -> str:
        words = [f"{TOY}/patient", "--property", "is_done", "--engine", "python", "--set", "batches=1", *arguments]
        assert main(["run", *words]) == 1
        return capsys.readouterr().err

    return run


def test_reports_of_continuous_integration_have_the_loop(run_strictly, tmp_path):
    sentence = "is_done is violated: p1 is sent for ever; then for ever: 2 -> 3 -> 2"
    run_strictly("--junit", str(tmp_path / "junit.xml"), "--sarif", str(tmp_path / "run.sarif"))
    (failure,) = ElementTree.parse(tmp_path / "junit.xml").iter("failure")
    assert failure.get("message") == sentence
    assert "this is state 2 again" in failure.text
    assert "deliver(p1) is disabled in state 3" in failure.text
    (result,) = json.loads((tmp_path / "run.sarif").read_text())["runs"][0]["results"]
    assert result["message"]["text"].endswith(sentence)
    (related,) = result["relatedLocations"]
    assert related["message"]["text"] == "the action that closes the loop: retry(p1)"
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert flow[-1]["location"]["message"]["text"].startswith("then for ever: 2 -> 3 -> 2\n")


def test_annotations_have_the_loop(run_strictly, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "is_done is violated: p1 is sent for ever; then for ever: 2 -> 3 -> 2" in run_strictly()
