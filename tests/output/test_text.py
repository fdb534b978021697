"""Counterexamples as text."""

from checker.engines.python.explorer import explore
from checker.explain.differences import changes
from checker.output.styled_lines import plain
from checker.output.text import counterexample
from checker.run.plan import Plan
from tests.toy import Counter, Log, Overflow, Record, Replica, Role


def violation_of(spec, *properties):
    return explore(spec, Plan(properties=properties)).violations[0]


def test_whole_text():
    spec = Log()
    assert plain(counterexample(spec, "toy/log", violation_of(spec, "logs_agree"))) == (
        "toy/log  replicas=2, log_size=1\n"
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
        "  2  elect(b1)\n"
        "     role[b1]     follower  ->  leader\n"
        "     head.leader  none      ->  b1\n"
        "     head.epoch   0         ->  1\n"
        "\n"
        "  3  write(b1)\n"
        "     log[b1]  []  ->  [r0@1]\n"
        "\n"
        "  4  elect(b2)\n"
        "     role[b1]     leader    ->  follower\n"
        "     role[b2]     follower  ->  leader\n"
        "     head.leader  b1        ->  b2\n"
        "     head.epoch   1         ->  2\n"
        "\n"
        "  5  write(b2)\n"
        "     log[b2]  []  ->  [r0@2]\n"
    )


def test_a_step_that_changes_nothing_says_so():
    spec = Counter(resets=True, limit=1)
    violation = violation_of(spec, "never_falls")
    shown = plain(counterexample(spec, "toy/counter", violation))
    assert "never_falls is violated by the last step: counterexample of 3 states" in shown
    assert "nothing changes" not in shown
    assert changes(spec, violation.trace[0].state, violation.trace[2].state) == []


def test_a_failing_action_is_the_last_step():
    spec = Overflow(limit=1)
    shown = plain(counterexample(spec, "toy/overflow", violation_of(spec)))
    assert "increment leaves the bounds of a type: trace of 2 states" in shown
    assert shown.endswith("  3  increment()\n     cannot be executed: see above\n")


def test_unreached_has_no_trace():
    spec = Counter()
    shown = plain(counterexample(spec, "toy/counter", violation_of(spec, "is_over")))
    assert shown.splitlines()[1:] == ["is_over is never reached", "  it is false in all 4 reachable states"]


def test_changes_are_at_the_finest_path():
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
