"""Sentences of steps: from docstrings, from drawings, and from the differences between states."""

import pytest

from checker.engines.native.engine import explore
from checker.errors import InputError, SpecError
from checker.explain.step_effects import difference_of_logs
from checker.explain.step_sentences import short_story, step_sentences
from checker.language import (
    Domain,
    Drawing,
    Event,
    Lane,
    Log,
    Map,
    Option,
    Range,
    Seq,
    Spec,
    Struct,
    action,
    invariant,
    require,
)
from checker.language.roles import Role
from checker.run.plan import Plan
from checker.run.registry import select
from checker.run.result import TraceStep, Violation
from specs.replication.partition import Partition


class Node(Domain):
    size, prefix = 2, "n"


class Forgetful(Spec):
    """A node forgets its last item when it restarts."""

    log = Map(Node, Seq(Range(0, 3), 2))
    up = Map(Node, bool)

    def init(self):
        """Both nodes run; the logs are empty."""
        for node in Node:
            self.up[node] = True

    @action
    def write(self, node: Node, value: Range(1, 2)):
        """A node that runs writes a value; the value is new."""
        require(self.up[node])
        require(len(self.log[node]) < 1)
        self.log[node].append(value)

    @action
    def stop(self, node: Node):
        """The process of a node ends."""
        require(self.up[node])
        require(len(self.log[node]) > 0)
        self.up[node] = False

    @action
    def restart(self, node: Node):
        """A node runs again."""
        require(not self.up[node])
        self.up[node] = True
        self.log[node].clear()

    @invariant
    def keeps_running(self):
        return all(self.up[node] or node == Node[0] for node in Node)


class Drawn(Forgetful):
    draws = Drawing(
        Lane("node", each=Node, logs=(Log("log"),), alive="up"),
        item_labels={"log": "v{}"},
        events=(Event("stop", "{node} stops with {len(log[node])} item", "end"),),
    )


def texts(spec, name, sentences=step_sentences):
    (violation,) = explore(spec, Plan((name,), workers=1)).violations
    return [found.text for found in sentences(spec, violation)]


def test_sentences_of_a_spec_that_declares_no_drawing_have_arguments_and_every_difference():
    assert texts(Forgetful(), "keeps_running") == [
        "Both nodes run; the logs are empty.",
        "The node n2 that runs writes value 1: n2's log gets 1.",
        "The process of n2 ends: n2's up yes → no.",
    ]


def test_sentences_of_a_drawing_name_the_items_of_logs():
    assert texts(Drawn(), "keeps_running") == [
        "Both nodes run; the logs are empty.",
        "The node n2 that runs writes value 1: n2's log gets v1 at offset 0.",
        "n2 stops with 1 item.",
    ]


def test_truncated_record_is_gone():
    (selection,) = select("replication/partition/r1_truncate_to_high_watermark")
    made = selection.scenario.configured_spec()
    found = texts(made, "no_acked_loss")
    assert found[10] == (
        "b2 learns that b1 leads in epoch 0, and follows it, after it has truncated its log to its high watermark 0: "
        "r0@0 is gone from b2's log."
    )
    story = texts(made, "no_acked_loss", short_story)
    assert found[10] in story and found[2] not in story and story[-1] == found[-1]


def test_short_story_has_the_step_that_sends_a_late_message():
    (selection,) = select("replication/partition/r10_stale_broker_epoch")
    spec = selection.scenario.configured_spec()
    (violation,) = explore(spec, Plan(("no_acked_loss",), workers=1)).violations
    story = {sentence.number: sentence.text for sentence in short_story(spec, violation)}
    assert story[7].endswith("Its message 'ISR {b1, b2}?' to controller arrives only in step 11.")
    # The fetch that step 7 handles was sent in step 6, and nothing happened between these.
    assert 6 not in story and 11 in story


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ([1, 2], [1], (1, [2], [])),
        ([1, 2], [1, 3], (1, [2], [3])),
        ([1], [1, 2], (1, [], [2])),
        ([1, 2, 3], [2, 3], (0, [1], [])),
        ([], [], (0, [], [])),
        ([1, 2], [], (0, [1, 2], [])),
    ],
)
def test_changes_of_logs(before, after, change):
    assert difference_of_logs(before, after) == change


def test_event_with_an_unknown_name_is_an_error():
    class Wrong(Drawn):
        draws = Drawing(Lane("node", each=Node), events=(Event("stop", "{nodes} stops"),))

    with pytest.raises(InputError, match="nodes"):
        texts(Wrong(), "keeps_running")


def test_event_of_an_unknown_action_or_kind_is_refused():
    with pytest.raises(SpecError, match="write one of 'crash'"):
        Event("stop", kind="explosion")
    with pytest.raises(SpecError, match="stopp of an Event"):

        class Wrong(Drawn):
            draws = Drawing(Lane("node", each=Node), events=(Event("stopp"),))


def test_a_variant_adds_and_replaces_events():
    base = Drawing(Lane("node", each=Node), events=(Event("write", "one"), Event("stop", "two")), gains={"log": "gets"})
    variant = base.with_events(Event("stop", "three"))
    assert [variant.event_of(action).says for action in ("write", "stop")] == ["one", "three"]
    assert (variant.lanes, variant.gains) == (base.lanes, base.gains)


@pytest.mark.parametrize(
    ("declared", "is_in_story"),
    [
        (Event("ask", "asks", kind="refusal"), True),
        (Event("ask", "asks", kind="{'refusal' if asked == 0 else ''}"), True),
        (Event("ask", "asks", kind="{'refusal' if asked == 2 else ''}"), False),
        (Event("ask", "asks", "label"), True),
        (Event("ask", "asks"), False),
    ],
)
def test_a_step_with_a_sign_or_a_label_is_in_the_story(declared, is_in_story):
    class Asking(Spec):
        asked = Range(0, 2)
        draws = Drawing(Lane("client", facts={"asked": "asked"}), events=(declared,))

        @action
        def ask(self):
            self.asked += 1

        @invariant
        def asks_once(self):
            return self.asked < 2

    assert len(texts(Asking(), "asks_once", short_story)) == 1 + is_in_story


def test_a_kind_that_an_expression_gives_is_a_known_one():
    class Wrong(Drawn):
        draws = Drawing(Lane("node", each=Node), events=(Event("stop", kind="{node}"),))

    with pytest.raises(SpecError, match="kind of the Event of stop is 'n2': write one of 'crash'"):
        texts(Wrong(), "keeps_running")


def test_every_action_of_the_partition_has_a_sentence_of_its_own():
    declared = {event.action for event in Partition.draws.events}
    # A step without one is described by its docstring, which names variables of the spec.
    assert set(Partition(replicas=2).names_of(Role.ACTION)) <= declared


class Letter(Struct):
    number: Range(0, 3)


class Waiting(Spec):
    """A sentence about a message that is not always there."""

    waiting = Option(Letter)
    queue = Seq(Range(0, 3), 3)
    draws = Drawing(
        Lane("post", facts={"waiting": "waiting"}),
        events=(Event("look", "The clerk looks at {waiting.number}"), Event("take", "The clerk takes {queue[0]}")),
    )

    @action
    def look(self):
        """The clerk looks around."""

    @action
    def take(self):
        """The clerk waits."""


@pytest.mark.parametrize(("action_name", "text"), [("look", "The clerk looks around"), ("take", "The clerk waits")])
def test_a_declared_sentence_that_does_not_fit_the_state_is_replaced_by_the_docstring(action_name, text):
    spec = Waiting()
    (state,) = spec.initial_states()
    trace = (TraceStep(None, (), state), TraceStep(action_name, (), state))
    found = step_sentences(spec, Violation("walk", "walk", trace, ""))
    assert found[1].text.startswith(text)
