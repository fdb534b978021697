"""The parts that two drawings show differently."""

from checker.explain.lane_owners import FailureBindings
from checker.language.default_drawing import drawing_of
from checker.output.page.lanes import StateRenderer
from checker.output.page.state_tables import tables
from checker.output.page.view_differences import differing_parts
from specs.replication.kip101 import Kip101
from specs.replication.kip320 import Kip320
from traces.compare import replay_against


def views_of(kip101, number):
    """Return the drawings of a step in the counterexample of KIP-101, and in the same schedule of KIP-320."""
    spec, violation = kip101
    side = replay_against(spec, violation, "kip320", Kip320)
    states = [(spec, violation.trace[number - 1].state), (side.spec, side.steps[number - 1].state)]
    return [
        StateRenderer(found, drawing_of(found), FailureBindings(), state).draw(None, state) for found, state in states
    ]


def test_equal_states_do_not_differ(kip101):
    one, other = views_of(kip101, 1)
    assert one.lanes and differing_parts(one, other) == frozenset()


def test_every_kind_of_part_is_compared(kip101):
    spec, violation = kip101
    renderer = StateRenderer(spec, drawing_of(spec), FailureBindings(), violation.trace[-1].state)
    first, last = (renderer.draw(None, violation.trace[number].state) for number in (0, -1))
    found = differing_parts(first, last)
    assert {key[0] for key in found} == {"fact", "cell", "marker", "box", "leader", "member"}
    assert ("cell", "b1", 0, 0) in found and ("cell", "b3", 0, 0) not in found
    assert ("marker", "b1", 0, "LEO") in found and ("marker", "b3", 0, "LEO") not in found


def test_a_removed_cell_is_no_cell():
    spec = Kip101(replicas=2, log_size=1, max_records=1, max_leader_epoch=1)
    (empty,) = spec.initial_states()
    renderer = StateRenderer(spec, drawing_of(spec), FailureBindings(), empty)
    state = empty
    for call in (("controller_elect_leader", "b1"), ("become_leader", 0), ("leader_write", "b1")):
        state = spec.step(state, *call)
    assert ("cell", "b1", 0, 0) in differing_parts(renderer.draw(None, empty), renderer.draw(None, state))
    removed = renderer.draw(state, empty)
    assert any(cell.change == "removed" for lane in removed.lanes for log in lane.logs for cell in log.cells)
    assert differing_parts(renderer.draw(None, empty), removed) == frozenset()


def test_tables_differ_by_value(kip101):
    spec, violation = kip101
    one, other = (tables(spec, None, violation.trace[number].state) for number in (0, -1))
    assert differing_parts(one, one) == frozenset()
    assert ("value", "log", 0) in differing_parts(one, other) and ("value", "log", 2) not in differing_parts(one, other)
