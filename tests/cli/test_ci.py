"""Reports of `run` for continuous integration: JUnit, SARIF, annotations and the HTML index."""

import json
import os
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema

from tests.cli.conftest import TOY

SCHEMAS = Path(__file__).parent / "schemas"
TOY_TEXT = Path(TOY).read_text()

WRONG = '''

class Wrong(Counter):
    """Writes outside the state."""

    below_limit = is_over = None

    @action
    def increment(self):
        self.nothing = 1
'''


@pytest.fixture
def reported(checker, tmp_path):
    """Run specs and return the outcome with the validated JUnit and SARIF documents."""

    def call(*arguments):
        junit, sarif = tmp_path / "junit.xml", tmp_path / "results.sarif"
        outcome = checker("run", *arguments, "--junit", junit, "--sarif", sarif)
        xmlschema.XMLSchema(SCHEMAS / "junit.xsd").validate(junit)
        log = json.loads(sarif.read_text())
        schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
        jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(log)
        return outcome, ElementTree.parse(junit).getroot(), log["runs"][0]

    return call


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Write a spec file into a new folder, which becomes the working folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def write(text):
        (folder / "mine.py").write_text(text)
        return "mine.py"

    return write


def line_of(text, wanted):
    return text[: text.index(wanted)].count("\n") + 1


ENGINES = pytest.mark.parametrize("engine", ["native", "python"])


@ENGINES
def test_expected_results_fail_nothing(reported, engine):
    outcome, junit, sarif = reported(TOY, "--engine", engine)
    assert outcome.status == 0
    assert (junit.get("failures"), junit.get("errors")) == ("0", "0")
    assert {result["level"] for result in sarif["results"]} == {"note"}
    assert all(result["suppressions"] for result in sarif["results"])


@ENGINES
def test_junit_has_a_case_for_each_scenario_and_property(reported, engine):
    _, junit, _ = reported(TOY, "--engine", engine)
    cases = {f"{case.get('classname')}:{case.get('name')}" for case in junit.iter("testcase")}
    assert cases == {
        "toy/counter/reaches_limit:below_limit",
        "toy/overflow/overflows:never_falls",
        "toy/overflow/overflows:is_two",
        "toy/overflow/overflows:bounds",
        "toy/bounded/bounded:never_falls",
        "toy/bounded/bounded:is_two",
        "toy/log/two_leaders:logs_agree",
    }


@ENGINES
def test_a_violation_fails_its_case_with_the_counterexample(reported, engine):
    _, junit, _ = reported(f"{TOY}/log", "--set", "log_size=1", "--engine", engine)
    (failure,) = junit.iter("failure")
    assert failure.get("message").startswith("logs_agree is violated: offset 0: b1 has r0@")
    assert "+ r0@2" in failure.text


def test_a_violation_beyond_the_expected_ones_fails_nothing(reported):
    outcome, junit, sarif = reported(f"{TOY}/counter/reaches_limit", "--deadlock", "--keep-going")
    assert outcome.status == 1, "deadlock is found by the states that the expected violation takes"
    assert [failure.get("message").partition(":")[0] for failure in junit.iter("failure")] == ["deadlock is violated"]
    assert [result["level"] for result in sarif["results"]] == ["note", "error"]


def test_a_missing_violation_and_a_wrong_length_are_failures(reported, mine):
    text = TOY_TEXT.replace('{"below_limit": 3}', '{"below_limit": 4}').replace(
        'Scenario(Bounded, "bounded", expect="holds")', 'Scenario(Bounded, "bounded", expect={"never_falls": None})'
    )
    outcome, junit, sarif = reported(mine(text))
    assert outcome.status == 1
    assert [failure.get("message") for failure in junit.iter("failure")] == [
        "expected a counterexample to below_limit of 4 states, but it has 3",
        "expected never_falls to be violated, but it is not",
    ]
    errors = [result["message"]["text"] for result in sarif["results"] if result["level"] == "error"]
    assert errors == [
        "mine/counter/reaches_limit: expected a counterexample to below_limit of 4 states, but it has 3",
        "mine/bounded/bounded: expected never_falls to be violated, but it is not",
    ]


def test_a_limit_leaves_cases_undecided(reported):
    outcome, junit, _ = reported(f"{TOY}/log", "--set", "log_size=2", "--max-depth", "2")
    assert outcome.status == 3
    (skipped,) = junit.iter("skipped")
    assert skipped.get("message") == "not decided: the limit on depth was reached"


def skipped_cases(junit):
    """Return why each skipped case is not decided, by the name of its property."""
    cases = {case.get("name"): case.find("skipped") for case in junit.iter("testcase")}
    return {name: found.get("message") for name, found in cases.items() if found is not None}


@ENGINES
def test_a_violation_leaves_the_other_properties_undecided(reported, engine):
    words = (f"{TOY}/counter", "--set", "limit=3", "--engine", engine)
    outcome, junit, _ = reported(*words)
    assert outcome.status == 1
    names = {case.get("name") for case in junit.iter("testcase")}
    why = "not decided: the run stopped at the violation of below_limit; --keep-going decides the other properties"
    # `is_two` was reached before the violation, so it is decided.
    assert skipped_cases(junit) == dict.fromkeys(names - {"below_limit", "is_two"}, why)
    assert "is_two" in names and len(names) > 3
    _, junit, _ = reported(*words, "--keep-going")
    assert skipped_cases(junit) == {}


@ENGINES
def test_a_value_outside_its_bounds_leaves_properties_undecided(reported, engine):
    _, junit, _ = reported(f"{TOY}/overflow", "--engine", engine)
    why = "not decided: the run stopped where a value leaves the bounds of its type"
    assert skipped_cases(junit) == {"never_falls": why}


@ENGINES
def test_sarif_points_at_the_property_and_at_the_last_action(reported, mine, engine):
    _, _, sarif = reported(mine(TOY_TEXT) + "/log", "--set", "log_size=1", "--engine", engine)
    (result,) = sarif["results"]
    rule = sarif["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == "mine/log/logs_agree"
    (location,) = result["locations"]
    where = location["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "mine.py", "uriBaseId": "%SRCROOT%"}
    first = line_of(TOY_TEXT, "def logs_agree")
    assert where["region"] == {"startLine": first, "endLine": first + 6}
    (related,) = result["relatedLocations"]
    assert related["physicalLocation"]["region"]["startLine"] == line_of(TOY_TEXT, "def write")
    assert related["message"]["text"].startswith("the last action: write(b")
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(flow) == 5
    assert "+ r0@2" in flow[-1]["location"]["message"]["text"]


@ENGINES
def test_sarif_points_at_the_action_that_leaves_the_bounds(reported, mine, engine):
    outcome, junit, sarif = reported(mine(TOY_TEXT) + "/overflow", "--set", "limit=1", "--engine", engine)
    assert outcome.status == 1
    (result,) = sarif["results"]
    assert result["ruleId"] == "mine/overflow/bounds"
    place = result["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert place == line_of(TOY_TEXT, "class Overflow") + 7
    (failure,) = junit.iter("failure")
    assert failure.get("message").startswith("increment() cannot be executed: value: 2 is outside")


def test_paths_are_relative_inside_the_checkout_and_absolute_outside(reported, mine, monkeypatch, tmp_path):
    mine(TOY_TEXT)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    _, junit, sarif = reported("mine.py/log", "--set", "log_size=1")
    line = line_of(TOY_TEXT, "def logs_agree")
    assert next(junit.iter("failure")).text.startswith(f"project/mine.py:{line}\n")
    assert sarif["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "project/mine.py"
    (tmp_path / "else where").mkdir()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "else where"))
    _, _, sarif = reported("mine.py/log", "--set", "log_size=1")
    uri = sarif["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert Path(unquote(uri.removeprefix("file://"))) == (tmp_path / "project" / "mine.py").resolve()


@ENGINES
def test_a_wrong_spec_does_not_hide_the_results_of_others(reported, mine, engine):
    path = mine(TOY_TEXT + WRONG)
    outcome, junit, sarif = reported(path, "--engine", engine)
    assert outcome.status == 2
    assert outcome.err.count("error: ") == 1
    (error,) = junit.iter("error")
    suites = [suite.get("name") for suite in junit]
    assert "mine/wrong" in suites and "mine/log/two_leaders" in suites
    assert "mine.py" in error.text
    wrong = [result for result in sarif["results"] if result["ruleId"] == "wrong-spec"]
    line = wrong[0]["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert line == line_of(TOY_TEXT + WRONG, "self.nothing")
    assert sarif["invocations"][0]["executionSuccessful"] is False


def test_a_file_that_is_not_python_is_in_the_reports(reported, mine):
    outcome, junit, sarif = reported(mine("class A(Spec:\n"))
    assert outcome.status == 2
    assert [case.get("classname") for case in junit.iter("testcase")] == ["mine.py"]
    assert sarif["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 1


def test_characters_that_xml_cannot_represent(reported, mine):
    text = TOY_TEXT.replace('@invariant(says="offset', '@invariant(says="\\x1b[31m & <b> offset')
    _, junit, _ = reported(mine(text) + "/log", "--set", "log_size=1")
    (failure,) = junit.iter("failure")
    assert r"\x1b[31m & <b> offset 0" in failure.text


def test_annotations_in_a_github_workflow(checker, mine, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", os.getcwd())
    outcome = checker("run", mine(TOY_TEXT) + "/log", "--set", "log_size=1", "--json", "-")
    (command,) = [line for line in outcome.err.splitlines() if line.startswith("::")]
    line = line_of(TOY_TEXT, "def logs_agree")
    assert command.startswith(f"::error file=mine.py,line={line},endLine={line + 6},title=mine/log%3A logs_agree::")
    assert "%0A" in command and "write(leader=b" in command
    json.loads(outcome.out)


def test_a_wrong_spec_is_annotated_only_in_a_github_workflow(checker, mine, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    path = mine("class A(Spec:\n")
    assert "::error file=mine.py,line=1,endLine=1,title=mine.py cannot be run::" in checker("run", path).err
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert "::error" not in checker("run", path).err


def test_expected_results_are_not_annotated(checker, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::error" not in checker("run", TOY).err


def test_the_index_replaces_no_file_of_the_user(checker, mine, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("mine")
    outcome = checker("run", mine(TOY_TEXT), "--html", site)
    assert outcome.status == 2
    assert f"{site / 'index.html'} was not written by Tidemark: name another folder" in outcome.err
    # A file that the command names is meant, and so is an index of an earlier run.
    for path in (site / "index.html", site):
        checker("run", mine(TOY_TEXT), "--html", path)
        assert "results" in (site / "index.html").read_text()


def test_the_index_links_to_the_counterexamples(checker, mine, tmp_path):
    path = mine(TOY_TEXT + WRONG)
    pages = tmp_path / "site" / "pages"
    checker("run", path, "--html", tmp_path / "site", "--out", pages)
    index = (tmp_path / "site" / "index.html").read_text()
    link = next(found for found in re.findall(r'href="([^"]*)"', index) if found.endswith(".html"))
    assert (tmp_path / "site" / link).is_file()
    assert "5 results" in index
    assert "1 cannot be run" in index
    assert "(expected)" in index
    assert not re.search("https?:", index)


def test_the_index_as_a_file_escapes_html(checker, mine, tmp_path):
    text = TOY_TEXT.replace('@invariant(says="offset', '@invariant(says="<script>alert(1)</script> offset')
    checker("run", mine(text) + "/log", "--set", "log_size=1", "--html", tmp_path / "all.html")
    index = (tmp_path / "all.html").read_text()
    assert "&lt;script&gt;alert(1)" in index
    assert "<script" not in index
    assert "1 violated or not as expected" in index


def test_findings_are_in_the_reports(reported, mine, monkeypatch):
    path = mine(TOY_TEXT) + "/bounded"
    _, junit, sarif = reported(path, "--coverage")
    assert junit.get("failures") == "0"
    found = {result["ruleId"]: result for result in sarif["results"]}
    assert found["evidence/never_enabled"]["level"] == "warning"
    line = found["evidence/never_enabled"]["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert line == line_of(TOY_TEXT, "def reset")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    outcome, junit, sarif = reported(path, "--strict")
    assert outcome.status == 1
    assert "is never enabled" in next(junit.iter("failure")).get("message")
    assert "error" in {result["level"] for result in sarif["results"]}
    assert f"::error file=mine.py,line={line}," in outcome.err


def test_differences_from_the_ledger_are_in_the_reports(reported, mine, tmp_path, monkeypatch):
    path = mine(TOY_TEXT)
    assert reported(path, "--ledger", "ledger.toml", "--update-ledger")[0].status == 0
    ledger = Path("ledger.toml")
    ledger.write_text(ledger.read_text().replace("logs_agree = 5", "logs_agree = 6"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    outcome, junit, sarif = reported(path, "--ledger", ledger, "--html", tmp_path / "all.html")
    assert outcome.status == 1
    (failure,) = junit.iter("failure")
    assert "mine/log/two_leaders" in failure.text
    (drift,) = [result for result in sarif["results"] if result["ruleId"] == "ledger"]
    assert drift["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "ledger.toml"
    assert "::error file=ledger.toml," in outcome.err
    assert "not as recorded" in (tmp_path / "all.html").read_text()


def test_missing_folders_of_reports_are_created(checker, tmp_path):
    folder = tmp_path / "new" / "folder"
    checker("run", TOY, "--junit", folder / "junit.xml", "--sarif", folder / "results.sarif")
    assert sorted(path.name for path in folder.iterdir()) == ["junit.xml", "results.sarif"]


@pytest.mark.parametrize("option", ["--sarif", "--html", "--junit"])
def test_a_report_that_cannot_be_written(checker, option):
    outcome = checker("run", TOY, option, "/dev/null/x")
    assert outcome.status == 2
    assert "/dev/null/x cannot be written" in outcome.err
    assert outcome.out == ""
