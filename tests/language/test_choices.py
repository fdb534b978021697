"""Choices of actions: their steps, their names in traces, and replay."""

import json

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.engines.smt.bounded import search
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import (
    Bag,
    Constant,
    Disabled,
    Domain,
    Map,
    Range,
    SetOf,
    Spec,
    SpecError,
    Struct,
    action,
    choose,
    invariant,
    require,
    subsets,
)
from checker.run.plan import Plan
from checker.testing import play
from traces import trace_file


class Node(Domain):
    size, prefix = 3, "n"


class Number(Range):
    low, high = 0, "top"


class Message(Struct):
    sender: Node
    number: Number


class Voting(Spec):
    """A quorum is chosen, and then a member of it."""

    top = Constant(400)

    votes = SetOf(Node)
    leader = Node
    inbox = Map(Node, Bag(Message, 2))

    @action
    def elect(self, candidate: Node):
        quorum = choose(subsets(Node, size=2))
        require(candidate in quorum)
        self.votes = quorum
        leader = choose(self.votes)
        self.leader = leader

    @action
    def send(self, to: Node, number: Number):
        require(number < 2 and all(len(self.inbox[node]) == 0 for node in Node))
        self.inbox[to].add(Message(sender=self.leader, number=number))

    @action
    def receive(self, to: Node):
        message = choose(self.inbox[to])
        self.inbox[to].remove(message)
        self.leader = message.sender

    @invariant
    def first_leads(self):
        return self.leader != Node[2] or Node[1] not in self.votes


@pytest.fixture
def spec():
    return Voting()


def test_a_choice_gives_one_step_for_each_member(spec):
    (state,) = spec.initial_states()
    elected = [step for step in spec.successors(state) if step.action == "elect"]
    # Two of the three quorums have the candidate, and each has two members.
    assert len(elected) == 3 * 2 * 2
    assert str(elected[0]) == "elect(n1, quorum={n1, n2}, leader=n1)"


def test_a_choice_without_a_member_disables_the_action(spec):
    (state,) = spec.initial_states()
    assert not [step for step in spec.successors(state) if step.action == "receive"]
    with spec.bound():
        message = Message(sender=Node[0], number=0)
    with pytest.raises(Disabled):
        spec.step(state, "receive", "n1", message=message)
    sent = spec.step(state, "send", "n1", 0)
    assert spec.step(sent, "receive", "n1", message=message) == state


def test_a_disabled_step_reports_the_choice(spec):
    (state,) = spec.initial_states()
    with pytest.raises(
        Disabled, match=r"elect\(n1, quorum=\{n1\}, .*: subsets\(Node, size=2\) does not have the chosen"
    ):
        spec.step(state, "elect", "n1", quorum="{n1}", leader="n1")


def test_a_step_is_named_by_its_choices(spec):
    (state,) = spec.initial_states()
    step = next(step for step in spec.successors(state) if str(step) == "elect(n2, quorum={n1, n2}, leader=n1)")
    assert spec.step(state, "elect", "n2", "{n1, n2}", "n1") == step.state
    assert spec.step(state, "elect", "n2", leader="n1", quorum="{n1, n2}") == step.state
    with pytest.raises(
        SpecError, match=r"elect takes 3 arguments \(candidate, quorum, leader\), not candidate, quorum"
    ):
        spec.step(state, "elect", "n2", quorum="{n1, n2}")


@pytest.mark.parametrize("explore", [native.explore, explorer.explore])
def test_a_trace_names_the_choices(spec, explore):
    result = explore(spec, Plan(("first_leads",)))
    (violation,) = result.violations
    step = violation.trace[1]
    assert (step.action, str(step)[:10]) == ("elect", "elect(n2, ")
    assert str(step).endswith("quorum={n2, n3}, leader=n3)")


def test_a_schedule_names_the_choices(spec):
    (state,) = spec.initial_states()
    elected = spec.step(state, "elect", "n2", leader="n1", quorum="{n1, n2}")
    assert play(spec, "elect n2 quorum={n1, n2} leader=n1") == elected == play(spec, "elect n2 {n1, n2} n1")


def test_a_trace_file_keeps_the_choices(spec, tmp_path):
    (violation,) = native.explore(spec, Plan(("first_leads",))).violations
    (_, step) = trace_file.steps_to_json(spec, violation.trace)
    assert step["arguments"] == {"candidate": "n2", "quorum": ["n2", "n3"], "leader": "n3"}
    path = tmp_path / "trace.json"
    origin = trace_file.origin_of(spec, "voting", None, "voting", "explore()")
    path.write_text(json.dumps(trace_file.trace_to_json(spec, violation, origin)))
    read = trace_file.rebuild_violation(trace_file.read_trace(path), spec)
    assert [str(step) for step in read.trace] == [str(step) for step in violation.trace]


def test_the_prover_finds_the_choices(spec):
    spec = Voting(top=1)
    found = search(TransitionSystem(spec, ["first_leads"]), ["first_leads"], 2, QueryLimits())
    (violation,) = found.violations
    assert str(violation.trace[1]).endswith("quorum={n2, n3}, leader=n3)")


@pytest.mark.parametrize("engine", [native, explorer])
def test_thousands_of_initial_states(engine):
    class Many(Spec):
        number = Range(0, 9999)

        def init(self, number: Range(0, 9999), is_small: bool):
            require(number % 4 == 0 and not is_small)
            self.number = number

        @action
        def stop(self, other: Range(0, 999)):
            require(other == self.number)
            self.number = 1

    result = engine.explore(Many(), Plan((), max_depth=1))
    assert result.distinct_states == 2500
