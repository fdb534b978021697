"""The search for reachable violations: what was cut off is printed, and the second pass evaluates properties too."""

import json
import time

import pytest

from checker.cli.app import main
from checker.engines.smt import refutation
from checker.engines.smt.refutation import ProcessorTime
from checker.engines.smt.unbounded.existence import values_text
from checker.language import Constant, Range, Seq, Spec, action, assume, invariant
from checker.run.plan import Plan

FALSE = '''"""A property that is false in the seventh state."""

from checker.language import Constant, Range, Spec, action, invariant, require


class Late(Spec):
    top = Constant(9, at_least=9)
    x = Range(0, "top")

    @action
    def up(self):
        require(self.x < self.top)
        self.x += 1

    @invariant
    def small(self):
        return self.x < 6
'''

STEPS_OF_TWO = "require(self.x in (0, 2, 5))\n        self.x += 2"
TRUE = FALSE.replace("self.x < 6", "self.x != 7").replace(
    "require(self.x < self.top)\n        self.x += 1", STEPS_OF_TWO
)


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "late.py"
        path.write_text(text)
        return str(path)

    return write


def prove(capsys, *arguments):
    status = main(["prove", *arguments])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("options", [(), ("--unbounded", "top")])
def test_a_false_property_is_violated_although_the_first_search_was_cut_off(monkeypatch, capsys, written, options):
    monkeypatch.setattr(refutation, "MAX_STATES", 3)
    status, out = prove(capsys, written(FALSE), *options)
    assert status == 1
    assert "violated: small 7" in out
    assert "a lemma that excludes it is missing" not in out and "cut off" not in out


def test_a_search_that_was_cut_off_is_printed(monkeypatch, capsys, written, tmp_path):
    monkeypatch.setattr(refutation, "MAX_STATES", 1)
    found = tmp_path / "proof.json"
    status, out = prove(capsys, written(TRUE), "--json", str(found))
    note = "the search for reachable violations was cut off after 1 state, and found none"
    assert status == 1 and note in " ".join(out.split())
    assert json.loads(found.read_text())["notes"] == [note]


def test_a_complete_search_has_no_note(capsys, written):
    _, out = prove(capsys, written(TRUE))
    assert "search" not in out


def test_a_proof_needs_no_search(monkeypatch, capsys, written):
    monkeypatch.setattr(refutation, "MAX_STATES", 1)
    status, out = prove(capsys, written(TRUE.replace("self.x != 7", "self.x < 8")))
    assert status == 0 and "search" not in out


def test_the_limit_counts_the_time_of_the_processor(monkeypatch):
    plan, now = Plan(()), [0.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])
    limit = ProcessorTime(plan, 10.0)
    # Compilation before the first look does not count.
    for seconds, is_over in [(100.0, False), (105.0, False), (110.5, True)]:
        now[0] = seconds
        limit.look(None)
        assert plan.cancelled.is_set() is is_over


class Sized(Spec):
    n = Constant(3, at_least=0)
    even = Constant(4, at_least=0)
    free = Constant(2, at_least=0)
    log = Seq(Range(1, "n"), "n")

    @action
    def stay(self):
        pass

    @assume
    def is_even(self):
        return self.even % 2 == 0

    @invariant
    def fine(self):
        return len(self.log) >= 0


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n"], "n at which the spec exists (n >= 1)"),
        (["free"], "free"),
        (["n", "free"], "n, free at which the spec exists (n >= 1)"),
        (["even"], "even at which the spec exists"),
    ],
)
def test_a_proof_names_the_values_at_which_the_spec_exists(names, text):
    assert values_text(Sized(), names) == text
