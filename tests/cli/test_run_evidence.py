"""`run --coverage` and `--strict`: unused parts as text, JSON and JUnit, and the exit status."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import TOY

IDLE = str(Path(__file__).parent.parent / "evidence" / "toys.py")


@pytest.mark.parametrize("engine", ["native", "python"])
def test_coverage_shows_unused_parts(checker, engine):
    outcome = checker("run", f"{IDLE}/guarded", "--coverage", "--engine", engine)
    assert outcome.status == 0
    assert "toys/guarded  unused:\n" in outcome.out
    assert "  note     log[] is always 1  " in outcome.out
    assert "toys.py:" in outcome.out
    assert "unused" not in checker("run", f"{IDLE}/guarded", "--engine", engine).out


def test_strict_fails_on_warnings_and_not_on_notes(checker):
    assert checker("run", f"{IDLE}/guarded", "--strict").status == 0
    outcome = checker("run", f"{IDLE}/implications", "--strict")
    assert outcome.status == 1
    assert "warning  log never changes: it is {n1: [], n2: []} in every reachable state" in outcome.out
    assert "warning  seldom_or is vacuous for `self.x > 5`: no reachable state satisfies this premise" in outcome.out
    assert "note" not in outcome.out
    assert checker("run", f"{IDLE}/implications").status == 0


def test_a_finding_counts_only_if_all_runs_share_it(checker, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from checker.language import Constant, Range, Scenario, Spec, action, require\n\n\n"
        'class Parts(Spec):\n    """Two parts, each switched on by its scenario."""\n\n'
        "    first = Constant(True)\n    x = Range(0, 1)\n\n"
        "    @action\n    def one(self):\n        require(self.first)\n        self.x = 1 - self.x\n\n"
        "    @action\n    def other(self):\n        require(not self.first)\n        self.x = 1 - self.x\n\n"
        "    @action\n    def never(self):\n        require(self.x > 1)\n        self.x = 0\n\n\n"
        'scenarios = [Scenario(Parts, "a"), Scenario(Parts, "b", {"first": False})]\n'
    )
    outcome = checker("run", path, "--strict")
    assert outcome.status == 1
    assert "mine/parts  unused in all 2 complete runs:" in outcome.out
    assert outcome.out.count("is never enabled") == 1
    assert checker("run", f"{path}/parts/a", "--strict").out.count("is never enabled") == 2


def test_json(checker):
    found = json.loads(checker("run", f"{IDLE}/guarded", "--coverage", "--json", "-").out)
    (note,) = found["findings"]
    assert (note["kind"], note["severity"], note["subject"]) == ("never_taken", "note", "log[]")
    assert (note["message"], note["line"] > 1) == ("log[] is always 1", True)
    assert note["file"].endswith("toys.py")
    assert json.loads(checker("run", f"{IDLE}/guarded", "--json", "-").out)["findings"] is None


@pytest.mark.parametrize(("strict", "failures"), [([], 0), (["--strict"], 2)])
def test_junit(checker, tmp_path, strict, failures):
    path = tmp_path / "junit.xml"
    options = ["--property", "seldom_or", "--property", "often_or", "--coverage", *strict]
    checker("run", f"{IDLE}/implications", "--junit", path, *options)
    suites = {suite.get("name"): suite for suite in ElementTree.parse(path).getroot()}
    cases = {case.get("name"): case for case in suites["toys/implications evidence"]}
    assert {"premise_never_true seldom_or", "never_changes log", "never_taken x"} <= set(cases)
    assert sum(case.find("failure") is not None for case in cases.values()) == failures
    assert "is never above 2" in cases["never_taken x"].find("system-out").text


def test_a_run_that_ends_at_a_violation_has_no_findings(checker):
    outcome = checker("run", f"{TOY}/log", "--coverage", "--strict")
    assert outcome.status == 0
    assert "unused" not in outcome.out


def test_a_part_that_a_violating_run_used_is_not_a_finding(checker, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from checker.language import Constant, Range, Scenario, Spec, action, invariant, require\n\n\n"
        'class Parts(Spec):\n    """One scenario holds, the other is violated by what the first never does."""\n\n'
        "    breaks = Constant(False)\n    x = Range(0, 2)\n\n"
        "    @action\n    def one(self):\n        self.x = 1\n\n"
        "    @action\n    def other(self):\n        require(self.breaks)\n        self.x = 2\n\n"
        "    @invariant\n    def small(self):\n        return self.x < 2\n\n\n"
        'scenarios = [Scenario(Parts, "a"), Scenario(Parts, "b", {"breaks": True}, expect={"small": 2})]\n'
    )
    assert checker("run", path, "--strict").status == 0
    assert checker("run", f"{path}/parts/a", "--strict").status == 1
