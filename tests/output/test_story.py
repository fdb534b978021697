"""Stories of counterexamples: executed lines, enabled actions, messages, and the parts of a drawing."""

import pytest

from checker.errors import UserError
from checker.explain.executed_lines import executed
from checker.explain.step_sentences import first_sentence
from checker.language import Arrow, Channel, Drawing, Lane, Log, Map, Range, Seq, Spec, action
from checker.output.page.story import story_of
from checker.testing import play, state_with
from specs.replication.kip101 import Kip101
from tests.toy import Replica


def listing(listings, name):
    return next(found for found in listings if found.title.endswith(name))


def test_executed_lines_of_an_action_and_its_helpers_are_marked():
    spec = Kip101(replicas=2)
    state = play(spec, "controller_elect_leader b1")
    found = executed(spec, state, "become_follower", ("b2", 0))
    assert found[0].title == "Replication.become_follower"
    assert all(line.is_executed for line in found[0].lines)
    rule = listing(found, "truncation_offset")
    assert [line.text.strip() for line in rule.lines if not line.is_executed] == [
        "return self.end_offset_for_epoch(leader, follower, self.log[follower][end_offset - 1].epoch)"
    ]
    assert not any('"""' in line.text for found_listing in found for line in found_listing.lines)


def test_disabled_action_is_executed_up_to_the_false_require():
    spec = Kip101(replicas=2)
    (found,) = executed(spec, play(spec), "become_leader", (0,))
    assert [line.text.strip() for line in found.lines if line.is_executed][-1] == "require(epoch < len(self.requests))"


def test_enabled_actions_of_a_step(kip101):
    story = story_of(*kip101)
    assert story.steps[0].enabled == ()
    first = story.steps[1]
    assert [enabled.action for enabled in first.enabled] == ["controller_elect_leader", "controller_shrink_isr"]
    assert [enabled.is_taken for enabled in first.enabled] == [True, False]
    assert first.summary == "The controller elects another member of the ISR, for any reason."


def test_messages_have_their_sending_step(kip101):
    story = story_of(*kip101)
    sent = [(found.text, found.source, found.target, found.sent, found.arrived) for found in story.transfers]
    assert ("LeaderAndIsr 1", "controller", "b3", 9, 11) in sent
    assert ("fetch", "b1", "b2", 6, 6) in sent


def test_messages_of_channels_are_followed_until_received_or_the_end_of_the_trace(producer):
    spec, violation = producer
    story = story_of(spec, violation)
    on_wire = [
        (found.sent, found.arrived) for found in story.transfers if (found.source, found.target) == ("producer", "n1")
    ]
    assert on_wire == [(4, 6), (5, 9), (8, 10)]
    back = [
        (found.sent, found.arrived) for found in story.transfers if (found.source, found.target) == ("n1", "producer")
    ]
    assert back == [(6, 7), (9, None), (10, None)]


def test_cells_have_the_change_of_their_step(kip101):
    story = story_of(*kip101)
    write = story.steps[4].view
    b1 = next(lane for lane in write.lanes if lane.title == "b1")
    assert b1.is_changed
    assert [(cell.text, cell.change, cell.is_committed) for cell in b1.logs[0].cells] == [
        ("r0@0", "added", False),
        ("", "kept", False),
    ]
    assert [(marker.label, marker.before, marker.offset) for marker in b1.logs[0].markers] == [
        ("HW", None, 0),
        ("LEO", 0, 1),
    ]


def test_truncated_cells_are_shown_for_one_step():
    spec = Kip101(replicas=2)
    draw = _draw_pair(spec, ["r0@0", "r1@1"], ["r0@0"])
    assert [(cell.text, cell.change) for cell in draw] == [("r0@0", "kept"), ("r1@1", "removed")]
    draw = _draw_pair(spec, ["r0@0", "r1@1"], ["r1@0"])
    assert [(cell.text, cell.change) for cell in draw] == [("r1@0", "added"), ("r1@1", "removed")]


def _draw_pair(spec, before, after):
    from checker.explain.lane_owners import FailureBindings
    from checker.output.page.lanes import StateRenderer
    from specs.replication.state import Record

    def with_log(texts):
        records = [Record(id=int(text[1]), epoch=int(text[3])) for text in texts]
        with spec.bound():
            first = next(iter(spec.variables["log"].key.values()))
        return state_with(spec, log={first: records})

    view = StateRenderer(spec, spec.draws, FailureBindings(), with_log(after)).draw(with_log(before), with_log(after))
    return next(lane for lane in view.lanes if lane.title == "b1").logs[0].cells


def test_log_computed_by_a_helper_has_cells():
    from checker.explain.lane_owners import FailureBindings
    from checker.output.page.lanes import StateRenderer
    from specs.consumer.commits import PollLoop

    spec = PollLoop(records=3)
    state = play(spec)
    view = StateRenderer(spec, spec.draws, FailureBindings(), state).draw(None, state)
    (ruler,) = next(lane for lane in view.lanes if lane.title == "partition").logs
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
def test_first_sentence_of_a_docstring(text, sentence):
    assert first_sentence(text) == sentence


def test_drawing_with_unknown_names_is_refused():
    with pytest.raises(UserError, match=r"Wrong\.draws names wire: wire is neither a variable nor a helper"):

        class Wrong(Spec):
            replicas = 1
            log = Map(Replica, Seq(Range(0, 1), 1))
            draws = Drawing(Lane("a", logs=(Log("log"),)), channels=(Channel("wire", "a", "a"),))

    with pytest.raises(UserError, match="channel log names an unknown lane nobody"):

        class WrongToo(Spec):
            log = Seq(Range(0, 1), 1)
            draws = Drawing(Lane("a"), channels=(Channel("log", "a", "nobody"),))


def test_arrow_that_cannot_be_evaluated_is_an_error_of_the_spec():
    from checker.run.result import TraceStep, Violation

    class Mistaken(Spec):
        log = Seq(Range(0, 1), 1)
        draws = Drawing(Lane("a"), arrows=(Arrow("grow", "nowhere", "'a'"),))

        @action
        def grow(self):
            self.log.append(1)

    spec = Mistaken()
    trace = (TraceStep(None, (), play(spec)), TraceStep("grow", (), play(spec, "grow")))
    with pytest.raises(UserError, match=r"mistaken\.draws: nowhere cannot be evaluated"):
        story_of(spec, Violation("deadlock", "deadlock", trace, ""))


def test_every_spec_with_a_drawing_can_be_drawn():
    from checker.explain.lane_owners import FailureBindings
    from checker.output.page.lanes import StateRenderer
    from checker.run import registry

    drawn = 0
    for entry in (entry for family in registry.families() for entry in family.entries):
        spec = entry.spec()
        if spec.draws is None:
            continue
        state = spec.initial_states()[0]
        steps, _ = spec.expand(state)
        for step in steps[:1]:
            view = StateRenderer(spec, spec.draws, FailureBindings(), step.state).draw(state, step.state)
            assert view.lanes
            drawn += 1
    assert drawn >= 20
