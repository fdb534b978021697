"""A step has one number in every output: step 1 is the initial state."""

import re

import pytest

from checker.explain.step_sentences import step_sentences
from checker.output.comparison_text import comparison_as_page, comparison_lines
from checker.output.formats import FORMATS, Counterexample
from checker.output.page import comparison
from checker.output.page.comparison import ComparedView
from checker.output.page.lanes import LaneView, MemberColumn, StateView
from checker.output.styled_lines import plain
from specs.replication.kip320 import Kip320
from traces.compare import replay_against
from traces.trace_file import origin_of


@pytest.fixture(scope="module")
def numbered(kip101):
    """Return the counterexample, and the text of each step by its number."""
    spec, violation = kip101
    origin = origin_of(spec, "replication/kip101", None, "replication/kip101", "python -m checker run")
    steps = dict(enumerate(map(str, violation.trace), 1))
    assert len(steps) == 12 and steps[1] == "initial state"
    return Counterexample(spec, violation, origin), steps


def numbers_in(text):
    """Return the steps of a text by their numbers, with arguments without names."""
    found = re.findall(r"(?m)^ +(\d+)  (\S.*)$", text)
    return {int(number): re.sub(r"\w+=", "", call.strip()) for number, call in found}


def test_text(numbered):
    found, steps = numbered
    text = FORMATS["text"].write(found)
    assert numbers_in(text) == steps
    assert "counterexample of 12 states" in text


def test_page(numbered):
    found, steps = numbered
    page = FORMATS["html"].write(found)
    sections = re.findall(r'<section class="step" id="step=(\d+)" data-step="(\d+)">', page)
    assert sections == [(str(number), str(number)) for number in steps]
    assert re.findall(r'<span class="number">(\d+)</span>', page) == [str(number) for number in steps]
    assert "at step 12</h1>" in page


def test_sentences(numbered):
    found, steps = numbered
    sentences = step_sentences(found.spec, found.violation)
    assert {sentence.number: sentence.call for sentence in sentences} == steps


def test_drawing(numbered):
    found, steps = numbered
    labels = re.findall(r'step(\d+) \[label="(\d+)  ([^"\\]*)', FORMATS["dot"].write(found))
    assert labels == [(str(number), str(number), call) for number, call in steps.items()]


def test_comparison(numbered):
    found, steps = numbered
    sides = [replay_against(found.spec, found.violation, "replication/kip320", Kip320)]
    assert numbers_in(plain(comparison_lines(found, sides))) == steps
    page = comparison_as_page(found, sides)
    headings = re.findall(r'<h2><span class="number">(\d+)</span> <code>(.*?)</code>', page)
    assert {int(number): call for number, call in headings} == steps


def test_a_long_comparison_leaves_out_lanes_that_are_unchanged_and_equal(numbered, monkeypatch):
    found, _ = numbered
    sides = [replay_against(found.spec, found.violation, "replication/kip320", Kip320)]
    whole = comparison_as_page(found, sides)
    monkeypatch.setattr(comparison, "MOST_BYTES", len(whole.encode()))
    assert comparison_as_page(found, sides) == whole and "is left out" not in whole
    monkeypatch.setattr(comparison, "MOST_BYTES", len(whole.encode()) - 1)
    short = comparison_as_page(found, sides)
    assert "between the first and the last step, a lane that the step changes in no column" in short
    before, after = (page.split('<section class="step"')[1:] for page in (whole, short))
    assert before[0] == after[0] and before[-1] == after[-1]
    # What a step changes or shows differently stays, and something is left out.
    marks = re.compile(r'class="[^"]*\b(?:changed|added|removed|unlike)\b')
    assert [len(marks.findall(each)) for each in before] == [len(marks.findall(each)) for each in after]
    assert sum(each.count("lane-name") for each in after) < sum(each.count("lane-name") for each in before)


def test_a_lane_stays_in_every_column_if_one_shows_it_differently_or_a_member_changes():
    def column(differs, members=()):
        observer = MemberColumn("c", "ISR", frozenset(members), frozenset())
        lanes = tuple(LaneView(name, is_changed=name == "b4") for name in ("b1", "b2", "b3", "b4", "b5"))
        return ComparedView(None, None, False, StateView(lanes, (observer,)), (), frozenset(differs))

    views = [column([("fact", "b1", "epoch"), ("member", "c", "ISR", "b2")]), column([], members=["b3"])]
    for view in comparison._with_fewer_lanes(views):
        assert [lane.title for lane in view.view.lanes] == ["b1", "b2", "b3", "b4"]
