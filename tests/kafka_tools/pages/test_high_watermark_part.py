"""The tables of docs/replication.md follow a trace of the specification."""

from pathlib import Path

import pytest

from kafka_tools.pages import high_watermark_part
from kafka_tools.pages.high_watermark_part import WALK, _Walk
from kafka_tools.pages.scenario_runs import run_scenario

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def steps():
    return run_scenario(WALK).steps


def test_the_follower_learns_two_fetches_after_the_one_that_brought_the_record(steps):
    first, last = _Walk(steps).ways
    assert (first.copied.split()[-1], first.committed.split()[-1], first.known.split()[-1]) == ("1", "2", "3")
    assert (last.copied.split()[-1], last.committed.split()[-1], last.known.split()[-1]) == ("2", "3", "3")


def test_the_numbers_of_a_row_are_those_of_the_state(steps):
    walk = _Walk(steps)
    assert len(walk.rows) == len(steps)
    for row, step in zip(walk.rows, steps, strict=True):
        leader_end, remote_end, high_watermark, follower_end, known = map(int, row[2:])
        assert leader_end == len(step.state.log[walk.leader])
        assert follower_end == len(step.state.log[walk.follower])
        assert known <= min(high_watermark, follower_end)
        assert remote_end <= follower_end
        assert high_watermark <= leader_end


def test_the_sentences_name_the_answers(steps):
    sentences = [row[1] for row in _Walk(steps).rows]
    assert "b1 handles fetch 2. The answer has r1 and HW 0. Then b1 notes that b2 has r0, and commits r0." in sentences
    assert sentences[-1] == "b2 learns that r0 and r1 are committed."


def test_the_page_has_the_walk():
    text = high_watermark_part.render()
    assert text == (DOCS / "replication.md").read_text(), "run python -m checker pages"
    assert "| 12 | b2 learns that r0 and r1 are committed. | 2 | 2 | 2 | 2 | 2 |" in text
