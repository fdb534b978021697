"""`run`: exit status, JSON, JUnit, counterexamples and wrong input."""

import json
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest

from checker.engines.python import explorer
from checker.output.formats import FORMATS
from tests.cli.conftest import TOY


@pytest.mark.parametrize(
    ("name", "options", "status"),
    [
        ("", [], 0),
        ("counter/reaches_limit", [], 0),
        ("overflow", [], 0),
        ("log", ["--set", "replicas=1"], 0),
        ("log", ["--set", "replicas=2"], 1),
        ("overflow", ["--set", "limit=1"], 1),
        ("counter/reaches_limit", ["--set", "limit=3"], 1),
        ("counter/reaches_limit", ["--property", "is_over"], 1),
        ("counter/reaches_limit", ["--deadlock", "--keep-going"], 1),
        ("counter/reaches_limit", ["--max-states", "2"], 3),
        ("log", ["--set", "log_size=2", "--property", "logs_agree", "--max-depth", "2"], 3),
        ("log", ["--engine", "native", "--max-memory", "10KB"], 3),
        ("log", ["--engine", "native", "--max-memory", "1MB"], 0),
        ("log", ["--max-memory", "many"], 2),
    ],
)
def test_exit_status(run, name, options, status):
    assert run(name, *options).status == status


def test_an_expected_counterexample_is_printed_for_a_single_spec(run):
    assert "counterexample of 5 states" in run("log").out
    everything = run("")
    assert "counterexample" not in everything.out
    assert "4 runs" in everything.out
    assert "all as expected" in everything.out


def test_set_runs_a_spec_once_with_its_default_constants(run):
    outcome = run("counter", "--set", "resets=true", "--json", "-")
    (found,) = [json.loads(line) for line in outcome.out.splitlines()]
    assert (found["scenario"], found["expected"]) == (None, None)
    assert found["constants"] == {"limit": 3, "resets": True}


def test_set_on_a_scenario_changes_its_constants(run):
    outcome = run("counter/reaches_limit", "--set", "resets=true", "--json", "-")
    found = json.loads(outcome.out)
    assert (found["scenario"], found["expected"]) == ("reaches_limit", None)
    assert found["constants"] == {"limit": 2, "resets": True}


def test_a_difference_is_reported_with_its_counterexample(checker, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(Path(TOY).read_text().replace('"logs_agree": 5', '"logs_agree": 4'))
    outcome = checker("run", path, "--engine", "python")
    assert outcome.status == 1
    assert "expected a counterexample to logs_agree of 4 states, but it has 5" in outcome.out
    assert outcome.out.count("counterexample of") == 1
    assert "1 not as expected" in outcome.out


def test_json_is_alone_on_standard_output(run):
    outcome = run("", "--json", "-")
    found = [json.loads(line) for line in outcome.out.splitlines()]
    assert [row["verdict"] for row in found] == ["violated", "error", "holds", "violated"]
    counter = found[0]
    assert counter["spec"] == "toy/counter"
    assert (counter["scenario"], counter["constants"]) == ("reaches_limit", {"limit": 2, "resets": False})
    assert (counter["engine"], counter["workers"], counter["expected"]) == ("python", 1, {"below_limit": 3})
    assert (counter["distinct_states"], counter["generated_states"], counter["depth"]) == (3, 3, 3)
    assert counter["coverage"]["increment"] == {"generated": 2, "distinct": 2}
    (violation,) = counter["violations"]
    assert (violation["property"], violation["kind"], violation["length"]) == ("below_limit", "invariant", 3)
    assert [step["state"]["value"] for step in violation["trace"]] == [0, 1, 2]
    assert found[1]["violations"][0]["failed_action"] == "increment()"


def test_states_outside_the_constraint_are_reported(checker):
    outcome = checker("run", "examples/bakery", "--json", "-")
    found = json.loads(outcome.out)
    assert (found["distinct_states"], found["depth"]) == (3246, 39)
    assert (found["states_within_constraint"], found["depth_within_constraint"]) == (2303, 39)
    assert found["states_outside_constraint"] == 943
    within = "  2,303 distinct states within the constraint, depth 39; 943 outside the constraint\n"
    assert within in checker("run", "examples/bakery").out


def test_coverage(run):
    out = run("counter/reaches_limit", "--coverage").out
    assert "  reset                   0             0  never enabled\n" in out


def test_out_writes_trace_and_text_and_the_trace_can_be_shown(run, checker, tmp_path):
    outcome = run("log", "--out", tmp_path / "new" / "folder")
    written = sorted((tmp_path / "new" / "folder").iterdir())
    stem = "toy-log-two_leaders-logs_agree"
    endings = sorted(format.ending for format in FORMATS.values())
    assert [path.name for path in written if path.suffix != ".svg"] == [
        f"{stem}{ending}" for ending in endings if ending != ".svg"
    ]
    text = (tmp_path / "new" / "folder" / f"{stem}.txt").read_text()
    head, steps = text.partition("\n  found by")[0].split("\n\n", 1)
    assert steps in outcome.out and head.splitlines()[1].replace(":", ", as expected:") in outcome.out
    shown = checker("show", tmp_path / "new" / "folder" / f"{stem}.json", "--spec", TOY)
    assert (shown.status, shown.err) == (0, "")
    assert shown.out == text
    assert f"found by  python -m checker run {TOY}/log/two_leaders --property logs_agree" in shown.out


def test_show_names_the_step_that_a_changed_spec_does_not_take(checker, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(Path(TOY).read_text())
    checker("run", f"{path}/log", "--engine", "python", "--out", tmp_path)
    path.write_text(Path(TOY).read_text().replace("self.head.epoch < 2", "self.head.epoch < 1"))
    outcome = checker("show", tmp_path / "mine-log-two_leaders-logs_agree.json", "--spec", path)
    assert outcome.status == 2
    assert "step 4, elect(b2), cannot be replayed: it is not enabled" in outcome.err
    assert "mine/log has changed since the trace was written" in outcome.err


def test_junit(run, tmp_path):
    run("", "--junit", tmp_path / "junit.xml")
    suites = ElementTree.parse(tmp_path / "junit.xml").getroot()
    cases = {(case.get("classname"), case.get("name")): case for case in suites.iter("testcase")}
    assert ("toy/counter/reaches_limit", "below_limit") in cases
    assert ("toy/overflow/overflows", "bounds") in cases
    assert list(suites.iter("failure")) == []


def test_a_junit_failure_contains_the_counterexample(run, tmp_path):
    run("log", "--set", "log_size=1", "--junit", tmp_path / "junit.xml")
    (failure,) = ElementTree.parse(tmp_path / "junit.xml").getroot().iter("failure")
    assert failure.get("message").startswith("logs_agree is violated: offset 0: b1 has r0@1, b2 has r0@2")
    assert "log[b2]  + r0@2" in failure.text


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("conter", [], "toy has no spec conter: did you mean counter?"),
        ("log/two_leader", [], "toy/log has no scenario two_leader: did you mean two_leaders?"),
        ("log", ["--set", "replica=2"], "log has no constant replica: did you mean replicas?"),
        ("log", ["--set", "replicas=0"], "constant replicas must be at least 1, not 0"),
        ("counter", ["--set", "limit=10"], "constant limit must be at most 9, not 10"),
        ("log", ["--set", "replicas=two"], "constant replicas must be an integer"),
        ("log", ["--set", "replicas"], "write NAME=VALUE"),
        ("log", ["--property", "log_agree"], "unknown property log_agree: did you mean logs_agree?"),
        ("log", ["--json", "/dev/null/x.json"], "the file /dev/null/x.json cannot be written"),
        ("log", ["--junit", "/dev/null/x.xml"], "the file /dev/null/x.xml cannot be written"),
        ("log", ["--out", "/dev/null/x"], "the folder /dev/null/x cannot be written"),
        ("log", ["--engine", "steam"], "--engine"),
        ("log", ["--workers", "0"], "--workers"),
        ("log", ["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_input_is_reported_in_one_sentence(run, name, options, says):
    outcome = run(name, *options)
    assert outcome.status == 2
    assert says in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("class A(Spec:\n", "mine.py:2:13: "),
        ("x = 1 / 0\n", "mine.py:2:5: ZeroDivisionError"),
        ("x = Seq(int, 2)\n", "name 'Seq' is not defined: write `from checker.language import Seq` at the top of the"),
        ("x = seq\n", "name 'seq' is not defined\n"),
        ("x = 1\n", "mine.py defines no spec"),
        ("class A(Spec):\n    x = Range(0, 'k')\n    @action\n    def go(self): pass\n", "Range.high names k"),
        (
            "class A(Spec):\n    x = Range(0, 3)\n\n    @action\n    def go(self):\n        self.y = 1\n",
            "mine.py:7:9: y is neither",
        ),
        ("class A(Spec):\n    x = Range(0, 3)\n\nscenarios = [1]\n", "scenarios must be a list of Scenario"),
        ("class A(Spec):\n    x = Range(0, 3)\n\nscenarios = [Scenario(A, 's', expect={'p': 1})]\n", "mine.py:5:14: "),
    ],
)
def test_a_wrong_spec_file(checker, tmp_path, source, says):
    path = tmp_path / "mine.py"
    path.write_text("from checker.language import Range, Scenario, Spec, action\n" + source)
    outcome = checker("run", path, "--engine", "python")
    assert outcome.status == 2
    assert says in outcome.err
    assert "Traceback" not in outcome.err


def test_a_spec_file_may_import_its_neighbour(checker, tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text(Path(TOY).read_text())
    path = tmp_path / "mine.py"
    path.write_text(
        "from neighbour_of_mine import Counter\n\n\n"
        'class Faster(Counter):\n    """Inherits."""\n\n    below_limit = is_over = None\n'
    )
    outcome = checker("run", path, "--engine", "python", "--coverage")
    assert (outcome.status, outcome.err) == (0, "")
    assert "mine/faster  holds" in outcome.out


def test_unknown_family_and_missing_file(checker):
    assert "unknown spec family nowhere" in checker("run", "nowhere/kip").err
    assert "the file nowhere.py does not exist" in checker("run", "nowhere.py").err


def test_an_interrupt_reports_the_explored_states(checker, tmp_path, monkeypatch):
    path = tmp_path / "counting.py"
    path.write_text(
        "from checker.language import Range, Spec, action\n\n\n"
        "class Counting(Spec):\n"
        '    """Counts."""\n\n'
        "    x = Range(0, 5_000)\n\n"
        "    @action\n    def go(self):\n        self.x += 1\n"
    )
    expand = explorer._Exploration._expand

    def interrupted(self, number):
        if number == 50:
            signal.raise_signal(signal.SIGINT)
        expand(self, number)

    monkeypatch.setattr(explorer._Exploration, "_expand", interrupted)
    outcome = checker("run", path, "--engine", "python")
    assert outcome.status == 3
    row = outcome.out.splitlines()[1].split()
    assert row[:4] == ["counting/counting", "incomplete", "52", "52"] and row[5] == "interrupted"
