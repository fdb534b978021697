"""Liveness on the command line: the lasso in every report, replay, and runs that cannot decide."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from checker.engines.native.liveness import memory_budget
from checker.errors import InputError
from spark_analysis.walks.walk_request import WalkRequest, run_of_request

TOYS = str(Path(__file__).parent.parent / "liveness_toys.py")

LOSES = f"""import sys
sys.path.insert(0, {str(Path(TOYS).parent)!r})
from checker.language import Scenario
from liveness_toys import Retry as Base


class Retry(Base):
    pass


scenarios = [
    Scenario(Retry, "strong", dict(batches=1)),
    Scenario(Retry, "weak", dict(batches=1), {{"is_done": 2}}, ["is_done"], fair={{"deliver": "weak"}}),
]
"""

TEXT = """\
  p1 is sent for ever
  batch = p1: is_sent is true in state 2, and is_done is false from there on

  1  initial state
     progress  {p1: new}

  2  send(batch=p1)
     progress[p1]  new  ->  sent

  3  lose(batch=p1)
     progress[p1]  sent  ->  lost

  4  retry(batch=p1)
     progress[p1]  lost  ->  sent
     this is state 2 again

  then for ever: 2 -> 3 -> 2
    deliver(p1) is disabled in state 3
    retry(p1) is taken in the loop, from state 3 to state 2
    send is disabled in every state of the loop
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "losing.py"
    path.write_text(LOSES, encoding="utf-8")
    return path


@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_lasso_is_shown_as_text(checker, spec, engine):
    outcome = checker("run", f"{spec}/retry/weak", "--engine", engine)
    assert outcome.status == 0
    assert f"is_done is violated, as expected: 2 states, then a loop\n{TEXT}" in outcome.out
    assert outcome.out.splitlines()[-1].startswith("losing/retry/weak: is_done is violated, as expected (")
    assert "is_done: 1 region, 2 states, 2 steps, 1 component" in outcome.out


def test_a_violated_liveness_property_fails_the_command(checker, spec):
    outcome = checker("run", f"{spec}/retry", "--set", "batches=1")
    assert outcome.status == 0
    outcome = checker("run", f"{TOYS}/dead_end")
    assert outcome.status == 1
    assert "then for ever: the system stays in state 2" in outcome.out


def test_reports_contain_the_lasso(checker, spec, tmp_path):
    files = {name: tmp_path / name for name in ("run.json", "junit.xml", "run.sarif")}
    outcome = checker(
        "run",
        f"{spec}/retry/weak",
        "--json",
        files["run.json"],
        "--junit",
        files["junit.xml"],
        "--sarif",
        files["run.sarif"],
    )
    assert outcome.status == 0
    run = json.loads(files["run.json"].read_text())
    (violation,) = run["violations"]
    assert (violation["kind"], violation["loop_start"], violation["length"]) == ("liveness", 1, 2)
    assert violation["bindings"] == {"batch": "p1"}
    assert len(violation["trace"]) == 4
    assert violation["trace"][3]["state"] == violation["trace"][1]["state"]
    assert run["liveness"][0]["property"] == "is_done"
    assert run["undecided"] == {}
    suite = ElementTree.parse(files["junit.xml"]).getroot()
    assert suite.get("failures") == "0"
    (result,) = json.loads(files["run.sarif"].read_text())["runs"][0]["results"]
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert flow[-1]["location"]["message"]["text"].startswith("then for ever: 2 -> 3 -> 2")


def test_a_trace_file_is_replayed_under_its_fairness(checker, spec, tmp_path):
    checker("run", f"{spec}/retry/weak", "--out", tmp_path / "out")
    trace = tmp_path / "out" / "losing-retry-weak-is_done.json"
    outcome = checker("show", trace, "--spec", spec)
    assert outcome.status == 0
    assert f"is_done is violated: 2 states, then a loop\n{TEXT}" in outcome.out
    content = json.loads(trace.read_text())
    # With strong fairness the same lasso is not a behaviour of the spec.
    content["fair"]["deliver"]["strength"] = "strong"
    trace.write_text(json.dumps(content))
    outcome = checker("show", trace, "--spec", spec)
    assert outcome.status == 2
    assert "is no counterexample to is_done: it is not strongly fair to deliver(p1)" in outcome.err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"loop_start": 2}, "the loop does not return to its first state"),
        ({"loop_start": 9}, "loop_start and owed_since must be indices of its 4 steps"),
        ({"bindings": {}}, "the bindings of is_done cannot be read"),
        ({"property": "none_lost"}, "the bindings|it is true in the loop"),
    ],
)
def test_a_changed_trace_file_is_refused(checker, spec, tmp_path, change, says):
    checker("run", f"{spec}/retry/weak", "--out", tmp_path / "out")
    trace = tmp_path / "out" / "losing-retry-weak-is_done.json"
    trace.write_text(json.dumps(json.loads(trace.read_text()) | change))
    outcome = checker("show", trace, "--spec", spec)
    assert outcome.status == 2
    assert any(sentence in outcome.err for sentence in says.split("|")), outcome.err


@pytest.mark.parametrize("option", ["--max-states", "--max-depth"])
def test_a_limit_leaves_liveness_undecided(checker, option):
    outcome = checker("run", f"{TOYS}/retry", option, "2")
    assert outcome.status == 3
    assert "is_done is undecided: no explored state violates it, but the exploration stopped at a limit" in outcome.out


def test_a_constraint_leaves_liveness_undecided(checker, tmp_path):
    outcome = checker("run", f"{TOYS}/bounded", "--junit", tmp_path / "junit.xml")
    assert outcome.status == 3
    assert "ends is undecided: no explored state violates it, but the successors of 1 state outside" in outcome.out
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    skipped = {case.get("name") for case in suite.iter("testcase") if case.find("skipped") is not None}
    assert skipped == {"ends", "passes_three"}


def test_a_region_that_does_not_fit_into_memory_is_reported_with_its_numbers(checker, monkeypatch):
    monkeypatch.setattr(memory_budget, "available_memory", lambda: 1000)
    monkeypatch.setattr(memory_budget, "_ALWAYS_BYTES", 1000)
    outcome = checker("run", f"{TOYS}/retry", "--property", "is_done")
    assert outcome.status == 3
    # Half of the 16 states are reached with the obligation open. The first states are refused before they are expanded.
    sentence = "4 states of a region and their 12 steps (64 bytes a state and 64 a step) take about 1,024 bytes"
    assert f"is_done is undecided: {sentence}; 1,000 bytes are available" in outcome.out


@pytest.mark.parametrize("engine", ["native", "python"])
def test_fairness_on_the_command_line(checker, spec, tmp_path, engine):
    options = ["--property", "is_done", "--engine", engine, "--fair", "send=none", "--fair", "deliver=weak"]
    outcome = checker(
        "run", f"{spec}/retry/strong", *options, "--out", tmp_path / "out", "--html", tmp_path / "all.html"
    )
    assert outcome.status == 1
    assert outcome.out.startswith(
        "fairness changed with --fair: send not fair, deliver weak\nfairness of this run: retry weak, deliver weak\n\n"
    )
    # The scenario expects that the property holds, but not under another fairness.
    assert "differs" not in outcome.out
    assert "deliver(p1) is disabled in state 3" in outcome.out
    assert "--fair send=none --fair deliver=weak" in (tmp_path / "all.html").read_text()
    trace = tmp_path / "out" / "losing-retry-strong-is_done.json"
    shown = checker("show", trace, "--spec", spec)
    assert shown.status == 0
    assert "deliver(p1) is disabled in state 3" in shown.out
    assert f"run {spec}/retry/strong --fair send=none --fair deliver=weak --property is_done" in shown.out
    content = json.loads(trace.read_text())
    content["fair"]["deliver"]["strength"] = "strong"
    trace.write_text(json.dumps(content))
    outcome = checker("show", trace, "--spec", spec)
    assert (outcome.status, outcome.out) == (2, "")
    assert "it is not strongly fair to deliver(p1)" in outcome.err


def test_the_fairness_of_a_scenario_is_changed_on_top(checker, spec):
    outcome = checker("run", f"{spec}/retry/weak", "--fair", "retry=none", "--fair", "fair_next=weak", "--json", "-")
    assert outcome.status == 1
    fair = {"send": "weak", "deliver": "weak", "fair_next": "weak"}
    result = json.loads(outcome.out)
    assert result["fairness"] == {name: {"strength": strength, "for_each": None} for name, strength in fair.items()}
    assert (result["scenario"], result["expected"]) == ("weak", None)


def test_a_spec_runs_once_with_another_fairness(checker):
    outcome = checker("run", f"{TOYS}/service", "--fair", "serving=none")
    assert outcome.status == 1
    assert "serving not fair\nfairness of this run: no action is fair\n" in outcome.out
    assert "attempt is enabled in state 1, but it is not fair: it need not happen" in outcome.out
    assert checker("run", f"{TOYS}/service", "--fair", "complete=strong").status == 0


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        ("retry", ["retr=none"], "has no action retr: did you mean retry? Choose from send, "),
        ("retry", ["is_done=weak"], "has no action is_done"),
        ("retry", ["retry"], "--fair retry: write NAME=weak, NAME=strong or NAME=none"),
        ("retry", ["retry=None"], "--fair retry=None: write NAME=weak, NAME=strong or NAME=none"),
        ("", ["serving=weak"], "has no action serving"),
        ("bounded", ["increment=weak", "--property", "is_counted"], "bounded checks no liveness property, so --fair"),
        ("retry", ["retry=none", "--engine", "spark"], "--engine spark decides no liveness property: omit --fair"),
    ],
)
def test_wrong_fairness_on_the_command_line(checker, target, options, says):
    outcome = checker("run", f"{TOYS}/{target}".rstrip("/"), "--fair", *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert says in outcome.err and outcome.err.count("\n") == 1


def test_fairness_on_the_command_line_needs_a_spec(checker):
    outcome = checker("run", "--fair", "send=weak")
    assert (outcome.status, outcome.out) == (2, "")
    assert "--fair needs a spec: python -m checker run SPEC --fair ACTION=weak" in outcome.err


def test_the_ledger_has_no_other_fairness(checker, spec, tmp_path):
    ledger = tmp_path / "ledger.toml"
    outcome = checker("run", f"{spec}/retry/weak", "--fair", "retry=none", "--ledger", ledger, "--update-ledger")
    assert (outcome.status, outcome.out) == (2, "")
    assert "--update-ledger is for complete runs of scenarios: omit --set, --fair" in outcome.err
    assert not ledger.exists()


def test_a_random_walk_decides_no_liveness_property():
    with pytest.raises(InputError, match="is_done is a liveness property, which no finite walk decides"):
        run_of_request(WalkRequest(target=f"{TOYS}/retry", walks=1, depth=5, seed=0, properties=("is_done",)))
