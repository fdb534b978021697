"""What a story tells: executed lines, alternatives, messages, and the parts of a drawing."""

import pytest

from checker.errors import UserError
from checker.explain.executed_lines import executed
from checker.language import Arrow, Channel, Drawing, Lane, Log, Map, Range, Seq, Spec, action
from checker.output.page.story import first_sentence, tell
from specs.replication.kip101 import Kip101
from tests.toy import Replica


def listing(listings, name):
    return next(found for found in listings if found.title.endswith(name))


def test_the_lines_of_an_action_and_its_helpers_are_marked_as_far_as_they_ran():
    spec = Kip101(replicas=2)
    (state,) = spec.initial_states()
    state = spec.step(state, "controller_elect_leader", "b1")
    found = executed(spec, state, "become_follower", spec.arguments_of(0, state)[1] and (_member(spec, 1), 0))
    assert found[0].title == "Replication.become_follower"
    assert all(line.is_executed for line in found[0].lines)
    rule = listing(found, "truncation_offset")
    assert [line.text.strip() for line in rule.lines if not line.is_executed] == [
        "return self.end_offset_for_epoch(leader, follower, self.log[follower][end_offset - 1].epoch)"
    ]
    assert not any('"""' in line.text for found_listing in found for line in found_listing.lines)


def test_a_disabled_action_is_listed_up_to_the_require_that_is_false():
    spec = Kip101(replicas=2)
    (state,) = spec.initial_states()
    (found,) = executed(spec, state, "become_leader", (0,))
    assert [line.text.strip() for line in found.lines if line.is_executed][-1] == "require(epoch < len(self.requests))"


def _member(spec, index):
    with spec.bound():
        return list(spec.variables["leader"].key.values())[index]


def test_the_choices_of_a_step_are_the_enabled_actions(kip101):
    story = tell(*kip101)
    assert story.moments[0].choices == ()
    first = story.moments[1]
    assert [choice.action for choice in first.choices] == ["controller_elect_leader", "controller_shrink_isr"]
    assert [choice.is_taken for choice in first.choices] == [True, False]
    assert first.words == "The controller elects another member of the ISR, for any reason."


def test_messages_have_the_step_in_which_they_were_sent(kip101):
    story = tell(*kip101)
    sent = [(found.text, found.source, found.target, found.sent, found.arrived) for found in story.flights]
    assert ("LeaderAndIsr 1", "controller", "b3", 9, 11) in sent
    assert ("fetch", "b1", "b2", 6, 6) in sent


def test_channels_are_followed_through_sending_receiving_and_what_stays_under_way(producer):
    spec, violation = producer
    story = tell(spec, violation)
    on_wire = [
        (found.sent, found.arrived) for found in story.flights if (found.source, found.target) == ("producer", "n1")
    ]
    assert on_wire == [(4, 6), (5, 9), (8, 10)]
    back = [
        (found.sent, found.arrived) for found in story.flights if (found.source, found.target) == ("n1", "producer")
    ]
    assert back == [(6, 7), (9, None), (10, None)]


def test_cells_say_what_the_step_did_to_them(kip101):
    story = tell(*kip101)
    write = story.moments[4].view
    b1 = next(lane for lane in write.lanes if lane.title == "b1")
    assert b1.is_changed
    assert [(cell.text, cell.fate, cell.is_committed) for cell in b1.rulers[0].cells] == [
        ("r0@0", "added", False),
        ("", "kept", False),
    ]
    assert [(marker.label, marker.before, marker.offset) for marker in b1.rulers[0].markers] == [
        ("HW", None, 0),
        ("LEO", 0, 1),
    ]


def test_truncated_cells_stay_for_one_step():
    spec = Kip101(replicas=2)
    draw = _draw_pair(spec, ["r0@0", "r1@1"], ["r0@0"])
    assert [(cell.text, cell.fate) for cell in draw] == [("r0@0", "kept"), ("r1@1", "gone")]
    draw = _draw_pair(spec, ["r0@0", "r1@1"], ["r1@0"])
    assert [(cell.text, cell.fate) for cell in draw] == [("r1@0", "added"), ("r1@1", "gone")]


def _draw_pair(spec, before, after):
    from checker.output.page.lane_owners import Witness
    from checker.output.page.lanes import Artist
    from specs.replication.state import Record

    (state,) = spec.initial_states()

    def with_log(texts):
        records = [Record(id=int(text[1]), epoch=int(text[3])) for text in texts]
        return spec.state_of(state.values | {"log": {_member(spec, 0): records, _member(spec, 1): []}})

    view = Artist(spec, spec.draws, Witness(), with_log(after)).draw(with_log(before), with_log(after))
    return next(lane for lane in view.lanes if lane.title == "b1").rulers[0].cells


def test_a_log_that_a_helper_makes_has_its_cells():
    from checker.output.page.lane_owners import Witness
    from checker.output.page.lanes import Artist
    from specs.consumer.commits import PollLoop

    spec = PollLoop(records=3)
    (state,) = spec.initial_states()
    view = Artist(spec, spec.draws, Witness(), state).draw(None, state)
    (ruler,) = next(lane for lane in view.lanes if lane.title == "partition").rulers
    assert [cell.text for cell in ruler.cells] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("A leader\nwrites. It does.", "A leader writes."),
        ("No end", "No end"),
        ("Kafka 2.1 fences. Then not.", "Kafka 2.1 fences."),
        ("", ""),
    ],
)
def test_the_first_sentence_of_a_docstring(text, sentence):
    assert first_sentence(text) == sentence


def test_a_drawing_that_names_what_there_is_not_is_refused():
    with pytest.raises(UserError, match=r"Wrong\.draws names wire: wire is no variable or helper; there are log"):

        class Wrong(Spec):
            replicas = 1
            log = Map(Replica, Seq(Range(0, 1), 1))
            draws = Drawing(Lane("a", logs=(Log("log"),)), channels=(Channel("wire", "a", "a"),))

    with pytest.raises(UserError, match="channel log: there is no lane nobody"):

        class WrongToo(Spec):
            log = Seq(Range(0, 1), 1)
            draws = Drawing(Lane("a"), channels=(Channel("log", "a", "nobody"),))


def test_an_arrow_that_cannot_be_evaluated_is_the_specs_mistake():
    from checker.run.result import TraceStep, Violation

    class Mistaken(Spec):
        log = Seq(Range(0, 1), 1)
        draws = Drawing(Lane("a"), arrows=(Arrow("grow", "nowhere", "'a'"),))

        @action
        def grow(self):
            self.log.append(1)

    spec = Mistaken()
    (state,) = spec.initial_states()
    trace = (TraceStep(None, (), state), TraceStep("grow", (), spec.step(state, "grow")))
    with pytest.raises(UserError, match=r"mistaken\.draws: nowhere cannot be evaluated"):
        tell(spec, Violation("deadlock", "deadlock", trace, ""))


def test_every_drawing_of_the_specs_can_be_drawn():
    from checker.output.page.lane_owners import Witness
    from checker.output.page.lanes import Artist
    from checker.run import registry

    drawn = 0
    for entry in (entry for family in registry.families() for entry in family.entries):
        spec = entry.spec()
        if spec.draws is None:
            continue
        state = spec.initial_states()[0]
        steps, _ = spec.expand(state)
        for step in steps[:1]:
            view = Artist(spec, spec.draws, Witness(), step.state).draw(state, step.state)
            assert view.lanes
            drawn += 1
    assert drawn >= 20
