"""The charts of the museum can be read: no label covers another one, and a lane is drawn if something happens there."""

import itertools
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from checker.output.page.chart import chart
from checker.output.page.chart_boxes import boxes_of
from checker.output.page.story import story_of
from kafka_tools.pages import readme_picture
from kafka_tools.pages.museum.named_entries import exhibits_of
from tests.kafka_tools.pages.test_museum_stories import violations

DRAWN_AS_A_MESSAGE = {"socket of connection 0", "socket of connection 1"}
"""Lanes of places where requests wait between two other lanes: the chart draws them as messages between those."""


@pytest.mark.slow
def test_no_label_covers_another_label_a_sign_or_a_log():
    for target, spec, violation in violations():
        drawn = chart(spec, violation.trace, violation)
        boxes = boxes_of(drawn)
        for (one, first), (other, second) in itertools.combinations(boxes, 2):
            assert not first.overlaps(second), f"{target}: {one} and {other}"
        for text, box in boxes:
            assert box.left >= 0 and box.right <= drawn.width and box.top >= 0, f"{target}: {text}"


WITHOUT_A_LOG = {"replication/partition/kafka_4_1_learns_isr_twice"}
"""The violation names a member of the ISR to which nothing happened: it does not have the record."""


@pytest.mark.slow
def test_every_lane_shows_something_and_no_lane_where_something_happens_is_left_out():
    left_out = 0
    for target, spec, violation in violations():
        drawn = chart(spec, violation.trace, violation)
        shown = {part.x for part in (*drawn.nodes, *drawn.logs)}
        shown |= {x for arrow in drawn.arrows for x in (arrow.x1, arrow.x2)}
        shown |= {line.x for line in drawn.life_lines if line.style != "runs"}
        empty = [lane.title for lane in drawn.lanes if lane.x not in shown]
        assert empty == [] or target in WITHOUT_A_LOG, target
        steps = [step.view for step in story_of(spec, violation).steps[1:] if step.view is not None]
        changed = {lane.title for view in steps for lane in view.lanes if lane.is_changed or lane.is_violation}
        assert changed.isdisjoint(set(drawn.idle) - DRAWN_AS_A_MESSAGE), target
        left_out += len(drawn.idle)
    assert left_out > 20


def test_the_picture_of_readme_is_well_formed_and_has_only_the_rules_that_it_uses():
    picture = readme_picture.render("R18", 12)
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert ".sign.election circle" in picture and ".matrix" not in picture and ".player" not in picture


@pytest.mark.parametrize("entry", ["R1", "R18", "I7", "C7"])
def test_the_title_of_a_picture_is_that_of_its_entry(entry):
    (exhibit,) = exhibits_of(entry)
    picture = ElementTree.parse(Path(__file__).parents[3] / "docs" / "pictures" / f"{entry.lower()}.svg").getroot()
    assert picture.findtext("{*}title") == f"{entry}: {exhibit.story.title}"
