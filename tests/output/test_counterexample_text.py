"""Counterexamples as text."""

import pytest

from checker.engines.python.explorer import explore
from checker.explain.differences import changes
from checker.language import Bag, Range, Seq, SetOf, Spec, action, require
from checker.output.counterexample_text import change_lines, counterexample_lines, trace_lines
from checker.output.styled_lines import plain
from checker.run.plan import Plan
from tests.toy import Counter, Log, Overflow, Record, Replica, Role


def violation_of(spec, *properties):
    return explore(spec, Plan(properties=properties)).violations[0]


def test_text_of_a_counterexample():
    spec = Log()
    assert plain(counterexample_lines(spec, "toy/log", violation_of(spec, "logs_agree"))) == (
        "toy/log\n"
        "logs_agree is violated: counterexample of 5 states\n"
        "  offset 0: b1 has r0@1, b2 has r0@2, follower\n"
        "  a = b1, b = b2, offset = 0: self.is_same(a, b, offset) is false: "
        "self.log[a][offset] == self.log[b][offset] is false: r0@1 is not r0@2\n"
        "\n"
        "  1  initial state\n"
        "     log   {b1: [], b2: []}\n"
        "     role  {b1: follower, b2: follower}\n"
        "     head  Head(leader=none, epoch=0)\n"
        "     isr   {b1, b2}\n"
        "\n"
        "  2  elect(replica=b1)\n"
        "     role[b1]     follower  ->  leader\n"
        "     head.leader  none      ->  b1\n"
        "     head.epoch   0         ->  1\n"
        "\n"
        "  3  write(leader=b1)\n"
        "     log[b1]  + r0@1\n"
        "\n"
        "  4  elect(replica=b2)\n"
        "     role[b1]     leader    ->  follower\n"
        "     role[b2]     follower  ->  leader\n"
        "     head.leader  b1        ->  b2\n"
        "     head.epoch   1         ->  2\n"
        "\n"
        "  5  write(leader=b2)\n"
        "     log[b2]  + r0@2\n"
    )


def test_step_invariant_is_violated_by_the_last_step():
    spec = Counter(resets=True, limit=1)
    violation = violation_of(spec, "never_falls")
    shown = plain(counterexample_lines(spec, "toy/counter", violation))
    assert "never_falls is violated by the last step: counterexample of 3 states" in shown
    assert "no variable changes" not in shown


def test_step_without_changes():
    spec = Counter(resets=True, limit=1)
    trace = violation_of(spec, "never_falls").trace
    assert changes(spec, trace[0].state, trace[2].state) == []
    assert plain(trace_lines(spec, (trace[0], trace[2]))).endswith("  2  reset()\n     no variable changes\n")


def test_failed_action_is_the_last_step():
    spec = Overflow(limit=1)
    shown = plain(counterexample_lines(spec, "toy/overflow", violation_of(spec)))
    assert "increment leaves the bounds of a type: trace of 2 states" in shown
    assert shown.endswith("  3  increment()\n     cannot be executed: the reason is above\n")


def test_reachable_property_that_is_never_reached_has_no_trace():
    spec = Counter()
    shown = plain(counterexample_lines(spec, "toy/counter", violation_of(spec, "is_over")))
    assert shown.splitlines()[1:] == ["is_over is never reached", "  it is false in all 4 reachable states"]


def test_changes_have_the_finest_path():
    spec = Log(log_size=2)
    (before,) = spec.initial_states()
    with spec.bound():
        first, second = Replica
        log = {first: [], second: [Record(0, 1)]}
        role = {first: Role.FOLLOWER, second: Role.LEADER}
        after = spec.state_of(before.values | {"log": log, "role": role, "isr": {second}})
        same_length = spec.state_of(after.values | {"log": {first: [], second: [Record(0, 2)]}})
    assert [change.path for change in changes(spec, before, after)] == ["log[b2]", "role[b2]", "isr"]
    assert [change.path for change in changes(spec, after, same_length)] == ["log[b2]"]


class Item(Range):
    low, high = 100_000_000, 100_000_099


class Collections(Spec):
    """Large collections, of which a change shows the items that came and went."""

    items = SetOf(Item, 20)
    log = Seq(Item, 20)
    bag = Bag(Item, 20)

    @action
    def stay(self):
        require(len(self.items) == 0)


class Short(Spec):
    log = Seq(Range(0, 9), 5)
    names = SetOf(Range(0, 9))

    @action
    def stay(self):
        require(self.log == [])


def changed_lines(**values):
    """Return the lines of a change of the collections from ten items to other values."""
    spec = Collections()
    ten = [Item.low + number for number in range(10)]
    before = spec.state_of({"items": set(ten), "log": ten, "bag": ten})
    after = spec.state_of({name: values.get(name, getattr(before, name)) for name in ("items", "log", "bag")})
    return [plain([shown]).strip() for shown in change_lines(changes(spec, before, after))]


def test_a_collection_shows_what_came_and_went():
    ten = [Item.low + number for number in range(10)]
    assert changed_lines(items={*ten[1:], 100_000_050}) == ["items  - 100000000  + 100000050"]
    assert changed_lines(log=[*ten[2:], 100_000_003]) == ["log  - 100000000, 100000001  + 100000003"]
    assert changed_lines(log=ten[:8]) == ["log  - 100000008, 100000009"]
    assert changed_lines(bag=[*ten, ten[0]]) == ["bag  + 100000000"]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ([], [3], "log  + 3"),
        ([3], [], "log  - 3"),
        ([3], [3, 3], "log  + 3"),
        ([1, 2, 3], [2, 3, 4], "log  - 1  + 4"),
        ([1, 2, 3], [1, 3], "log[1]  - 2"),
        ([1, 3], [1, 2, 3], "log[1]  + 2"),
        ([0, 1, 0], [0, 2, 0], "log[1]  - 1  + 2"),
        ([0, 1, 2, 5], [0, 4, 3, 5], "log[1:3]  - 1, 2  + 4, 3"),
        ([1, 2], [3, 4], "log  - 1, 2  + 3, 4"),
    ],
)
def test_a_short_sequence_shows_what_came_and_went(before, after, shown):
    spec = Short()
    states = [spec.state_of({"log": log, "names": set()}) for log in (before, after)]
    assert [plain([row]).strip() for row in change_lines(changes(spec, *states))] == [shown]


def test_a_short_set_shows_what_came_and_went():
    spec = Short()
    states = [spec.state_of({"log": [], "names": names}) for names in ({1, 2}, {2, 3})]
    assert [plain([row]).strip() for row in change_lines(changes(spec, *states))] == ["names  - 1  + 3"]


def test_a_collection_that_keeps_nothing_shows_all_that_it_lost():
    (shown,) = changed_lines(items={100_000_050})
    assert shown.startswith("items  - 100000000, 100000001,") and shown.endswith("100000009  + 100000050")
