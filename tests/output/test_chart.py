"""The sequence chart: lanes, events, messages, logs with lost records, and markup in names."""

import itertools
import re
import xml.etree.ElementTree as ElementTree

import pytest

from checker.engines.native.engine import explore
from checker.explain.lane_owners import FailureBindings
from checker.language.drawing import Log
from checker.output.page.chart import chart
from checker.output.page.chart_boxes import boxes_of
from checker.output.page.render import PageContext, counterexample_page
from checker.run.plan import Plan
from checker.run.registry import select
from checker.run.result import TraceStep
from specs.replication.state import Record
from specs.transactions.state import Batch
from specs.transactions.transactional_producer import Transactions
from tests.output.test_page import EvilSpec


@pytest.fixture(scope="module")
def found():
    """Return a function that returns the spec and the violation of a scenario."""
    known = {}

    def find(name):
        if name not in known:
            (selection,) = select(name)
            scenario = selection.scenario
            spec = scenario.configured_spec()
            plan = Plan(tuple(scenario.expect), workers=1)
            known[name] = spec, explore(spec, plan).violations[0]
        return known[name]

    return find


@pytest.fixture(scope="module")
def r1(found):
    spec, violation = found("replication/partition/r1_truncate_to_high_watermark")
    return chart(spec, violation.trace, violation)


def x_of(drawn, title):
    return next(lane.x for lane in drawn.lanes if lane.title == title)


def events(drawn, row):
    """Return the events of a row: the title of the lane, and the kind."""
    titles = {lane.x: lane.title for lane in drawn.lanes}
    y = drawn.rows[row - 1].y
    return [(titles[node.x], node.kind) for node in drawn.nodes if node.y == y and node.is_event]


def test_events_have_signs_on_their_lanes(r1):
    assert [lane.title for lane in r1.lanes] == ["producer", "controller", "b1", "b2"]
    signs = {row.number: events(r1, row.number) for row in r1.rows if any(kind for _, kind in events(r1, row.number))}
    assert signs == {
        8: [("b2", "crash")],
        9: [("b2", "restart")],
        10: [("b1", "crash")],
        11: [("b2", "truncation")],
        12: [("controller", "election")],
    }
    assert [text for _, text in r1.signs] == ["crash", "restart", "truncation", "election"]


def test_a_lane_is_grey_from_its_crash_to_its_restart(r1):
    rows = {row.number: row.y for row in r1.rows}
    assert [(line.x, line.y1, line.y2) for line in r1.stopped] == [
        (x_of(r1, "b1"), rows[10], r1.height),
        (x_of(r1, "b2"), rows[8], rows[9]),
    ]


def test_a_lost_record_stays_as_a_missing_cell(r1):
    logs = [(log.x, [(cell.text, cell.style) for cell in log.cells]) for log in r1.logs]
    b1, b2 = x_of(r1, "b1"), x_of(r1, "b2")
    assert logs == [
        (b1, [("r0@0", "added")]),
        (b2, [("r0@0", "added")]),
        (b2, [("r0@0", "removed")]),
        (b1, [("r0@0", "kept")]),
        (b2, [("r0@0", "missing")]),
    ]


def test_messages_end_where_they_arrive_or_are_lost(r1):
    rows = {row.number: row.y for row in r1.rows}
    shown = {" ".join(arrow.lines): arrow for arrow in r1.arrows}
    answer = shown["record r0@0, HW 0"]
    assert (answer.x1, answer.y1, answer.x2, answer.y2) == (x_of(r1, "b1"), rows[4], x_of(r1, "b2"), rows[5])
    lost = shown["HW 1 (lost)"]
    assert (lost.style, lost.y1, lost.y2) == ("lost", rows[7], rows[8])
    acknowledged = shown["acknowledges r0"]
    assert (acknowledged.style, acknowledged.x2) == ("change", x_of(r1, "producer"))


def test_the_violating_step_is_marked_on_its_lane(r1, found):
    (marked,) = [node for node in r1.nodes if node.is_violated]
    assert (marked.x, marked.y) == (x_of(r1, "b2"), r1.rows[-1].y)
    assert r1.rows[-1].finding == "no_acked_loss: record r0 was acknowledged, and the leader b2 has []"
    spec, violation = found("replication/partition/r9_high_watermark_before_truncation")
    drawn = chart(spec, violation.trace, violation)
    (marked,) = [node for node in drawn.nodes if node.is_violated]
    assert (marked.x, marked.lines) == (x_of(drawn, "b1"), ("consumer reads r0",))


def test_a_request_that_is_kept_until_its_answer_is_not_lost_when_it_was_handled(found):
    spec, violation = found("replication/partition/r10_stale_broker_epoch")
    drawn = chart(spec, violation.trace, violation)
    (request,) = [arrow for arrow in drawn.arrows if "?" in " ".join(arrow.lines)]
    # With one replica in the ISR the record is acknowledged in the step that appends it: an arrow below that of the
    # record.
    record, *_, acknowledged = [arrow for arrow in drawn.arrows if "r0" in arrow.lines[-1] and arrow.y1 == arrow.y2]
    assert (record.x1, record.x2, acknowledged.lines) == (acknowledged.x2, acknowledged.x1, ("acknowledges r0",))
    assert acknowledged.y1 > record.y1
    assert (request.style, request.x2) == ("", x_of(drawn, "controller"))
    assert [(title, kind) for title, kind in events(drawn, 8)] == [("b2", "power loss")]


def test_a_lost_connection_and_a_restart_differ(found):
    spec, violation = found("broker/leader_state/i7_restart")
    drawn = chart(spec, violation.trace, violation)
    assert events(drawn, 4) == [("p1", "restart")]
    assert [cell.text for cell in drawn.logs[-1].cells if cell.is_violation] == ["s0"]


def test_labels_that_meet_at_one_place_are_apart(found):
    """Two answers are lost where one connection is: their labels are above each other."""
    spec, violation = found("producer/idempotent_producer/i7_restart")
    drawn = chart(spec, violation.trace, violation)
    lost = [arrow for arrow in drawn.arrows if arrow.style == "lost"]
    assert len({(arrow.x2, arrow.y2) for arrow in lost}) == 1 < len(lost)
    boxes = [box for _, box in boxes_of(drawn)]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_a_lane_without_events_is_named_instead_of_drawn(found):
    spec, violation = found("producer/idempotent_producer/i13_expiry")
    drawn = chart(spec, violation.trace, violation)
    assert [lane.title for lane in drawn.lanes] == ["client of p1", "leader of p1"]
    assert drawn.idle == ("producer",)
    page = counterexample_page(spec, violation, PageContext("x", "run"))
    assert "not drawn, because nothing happens there: producer" in page


def test_a_lane_whose_values_only_change_has_labels_for_them(found):
    spec, violation = found("consumer/consumer_protocol/c8_partition_epoch_lost")
    drawn = chart(spec, violation.trace, violation)
    x = x_of(drawn, "partition 0")
    labels = [" ".join(node.lines) for node in drawn.nodes if node.x == x]
    assert labels[0] == "owned at epoch none → 1 assigned to none → c1"
    assert labels[-1].startswith("owned at epoch 1 → none")


def test_a_label_of_several_lines_is_not_repeated(found):
    spec, violation = found("replication/replica_set/removed_disk")
    drawn = chart(spec, violation.trace, violation)
    x = x_of(drawn, "controller")
    assert ("ISR {b1, b2, b3} →", "{b1, b3}") in [node.lines for node in drawn.nodes if node.x == x]


def test_rows_do_not_overlap(r1):
    ends = [row.top + row.height for row in r1.rows]
    assert [row.top for row in r1.rows] == [0, *ends[:-1]]
    assert r1.height == ends[-1]
    assert all(row.top < row.y < row.top + row.height for row in r1.rows)


@pytest.mark.parametrize(
    ("scenario", "step", "lines"),
    [
        # The sentence, and three bold lines of the violation.
        ("producer/split_append/flush_misses_parts", 10, 4),
        ("replication/replica_set/stale_eligible_with_feature_off", 8, 6),
        # A narrow column: the mark does not fit beside the sentence, and four lines follow.
        ("transactions/exactly_once_loop/t8_recovered_mapping", 19, 6),
        # A word of capitals.
        ("pipeline/pipeline/i2_reorder", 9, 3),
    ],
)
def test_a_row_has_the_height_of_its_sentences(found, scenario, step, lines):
    spec, violation = found(scenario)
    drawn = chart(spec, violation.trace, violation)
    assert drawn.rows[step - 1].height >= 18 * lines + 10


def test_the_drawing_is_well_formed_with_hostile_names():
    spec = EvilSpec()
    (violation,) = explore(spec, Plan(("is_empty",))).violations
    page = counterexample_page(spec, violation, PageContext("mine/spec", "python -m checker run"))
    drawings = re.findall(r"<svg class=.chart-drawing.*\n</svg>", page, re.DOTALL)
    assert len(drawings) == 1
    root = ElementTree.fromstring(drawings[0])
    assert {element.tag for element in root.iter()} <= {
        *("svg", "defs", "marker", "path", "a", "rect", "line", "title", "text", "tspan", "circle", "g")
    }


def test_properties_outside_the_scenario_are_no_failures(found):
    spec, violation = found("replication/partition/r1_truncate_to_high_watermark")
    page = counterexample_page(spec, violation, PageContext("x", "run", checked=("no_acked_loss",)))
    last = page.split('<section class="step"')[-1]
    assert re.findall(r'<li class="false">.*?</span> (\w+)', last) == ["no_acked_loss"]
    assert "not part of this scenario:" in last and "✓ strong_isr" in last
    assert "✗ high_watermark_is_one_fetch_late (false here)" in last


def test_the_record_of_a_violation_has_a_sign_of_its_own(found):
    spec, violation = found("replication/partition/r5_zombie_follower")
    drawn = chart(spec, violation.trace, violation)
    present = [cell for log in drawn.logs for cell in log.cells if cell.is_violation and cell.style == "kept"]
    assert [cell.text for cell in present] == ["r1@2", "r0@0"]
    assert drawn.has("violating") and not chart(spec, violation.trace).has("violating")


def test_the_label_of_an_arrow_avoids_the_label_of_an_event(found):
    spec, violation = found("replication/partition/r6_same_leader_id")
    drawn = chart(spec, violation.trace, violation)
    (truncation,) = [node for node in drawn.nodes if node.kind == "truncation"]

    def distance(y):
        return abs(y - (truncation.y + 20))

    arrows = [arrow for arrow in drawn.arrows if arrow.lines == ("leader epoch 2",)]
    # At two thirds of the arrow, where labels usually are, its label would cover that of the truncation.
    usual = {arrow: arrow.y1 + (arrow.y2 - arrow.y1) * 0.66 - 5 for arrow in arrows}
    (covering,) = [arrow for arrow in arrows if distance(usual[arrow]) < 12]
    assert distance(covering.label_y) > 11


def test_a_lost_record_of_the_violation_is_framed(r1):
    cells = [cell for log in r1.logs[-2:] for cell in log.cells]
    assert [(cell.style, cell.is_violation) for cell in cells] == [("kept", True), ("missing", True)]
    assert r1.has("violating")


def test_a_variable_of_a_property_refers_to_a_field_of_an_item():
    log = Log("log", called=("record=id",))
    bindings = FailureBindings({"record": 1})
    assert [bindings.is_about(log, Record(id=number, epoch=1)) for number in (0, 1)] == [False, True]
    # An item of another struct of the log may have no such field.
    assert not bindings.is_about(log, Batch(producer_id=1, epoch=1, sequence=1, transaction=1))
    assert not FailureBindings({"offset": 1}).is_about(log, Record(id=1, epoch=1))


def test_a_message_that_a_lane_sends_in_the_step_of_another_one_begins_at_a_dot(found):
    spec, violation = found("broker/broker_network/n1_no_mute")
    drawn = chart(spec, violation.trace, violation)
    x = x_of(drawn, "network")
    answers = [arrow for arrow in drawn.arrows if arrow.style == "open"]
    dots = {(node.x, node.y) for node in drawn.nodes if not node.is_event and not node.kind}
    assert dots == {(x, arrow.y1) for arrow in answers} and len(dots) == 2 and drawn.has("effect")
    taken = [arrow for arrow in drawn.arrows if arrow.lines == ("record 1",)]
    assert [(arrow.y1, arrow.x2) for arrow in taken] == [(drawn.rows[6].y, x_of(drawn, "h1"))]
    assert "in a step of another lane" in counterexample_page(spec, violation, PageContext("x", "run"))


def test_a_step_that_changes_lanes_of_a_kind_shows_it_in_each(found):
    spec, violation = found("producer/bumps_every_partition/i9_bump_of_every_partition")
    drawn = chart(spec, violation.trace, violation)
    y = drawn.rows[8].y
    shown = {node.x: " ".join(node.lines) for node in drawn.nodes if node.y == y}
    for partition in ("p1", "p2"):
        assert shown[x_of(drawn, f"client of {partition}")].startswith("epoch 0 → 1 next sequence")


def test_an_election_names_its_leader_once(found):
    spec, violation = found("replication/partition/r4_no_epoch_on_election")
    drawn = chart(spec, violation.trace, violation)
    elections = {node.lines for node in drawn.nodes if node.kind == "election"}
    assert elections == {("elect b1",), ("elect b2",)}
    sentence = drawn.rows[7].sentence
    assert sentence == "The controller elects b2 from the ISR {b1, b2}, in place of b1, which runs."


def test_a_leader_that_the_sentence_does_not_name_is_said(r1):
    assert "leader in the metadata: b2" in " ".join(row.sentence for row in r1.rows)


def test_the_legend_has_the_form_of_each_struct_of_a_union():
    spec = Transactions()
    (initial, *_) = spec.initial_states()
    assert chart(spec, (TraceStep(None, (), initial),)).notations == (
        "t<transaction>(id<producer_id> e<epoch> s<sequence>)",
        "<decision>(id<producer_id> e<epoch> c<coordinator_epoch>)",
    )
