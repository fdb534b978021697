"""A step has one number in every output: step 1 is the initial state."""

import re

import pytest

from checker.explain.step_sentences import step_sentences
from checker.output.comparison_text import comparison_as_page, comparison_lines
from checker.output.formats import FORMATS, Counterexample
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
