"""The steps that decide a counterexample: the last one, and the one without which the rest does no harm."""

import pytest

from checker.engines.native.engine import explore
from checker.language import Domain, Drawing, Event, Lane, Log, Map, Range, Seq, Spec, action, invariant, require
from checker.run.plan import Plan
from checker.run.registry import select
from checker.run.result import TraceStep, Violation
from traces.turning_points import faults_of, turning_points


class Node(Domain):
    size, prefix = 2, "n"


class Cluster(Spec):
    """Nodes write, stop and lose their logs; a clock counts."""

    log = Map(Node, Seq(Range(0, 3), 2))
    up = Map(Node, bool)
    clock = Range(0, 3)
    counted = Range(0, 3)
    is_finished = bool

    def init(self):
        for node in Node:
            self.up[node] = True

    @action
    def write(self, node: Node):
        require(self.up[node] and len(self.log[node]) < 2 and self.counted < 3 and self.clock == 0)
        self.log[node].append(1)
        self.counted += 1

    @action
    def stop(self, node: Node):
        require(self.up[node] and not self.is_finished)
        self.up[node] = False
        self.log[node].clear()

    @action
    def tick(self):
        require(self.clock < 3)
        self.clock += 1

    @action
    def finish(self):
        """The run ends, two ticks after a record."""
        require(self.clock == 2 and self.counted > 0)
        self.is_finished = True

    @invariant
    def unfinished(self):
        return not self.is_finished

    @invariant
    def no_late_record(self):
        return self.counted == 0 or not self.is_finished

    def written(self):
        return sum(len(self.log[node]) for node in Node)

    @invariant
    def nothing_is_lost(self):
        return self.written() == self.counted or not self.is_finished

    @invariant
    def few_records(self):
        return self.counted < 2

    @invariant
    def early(self):
        return self.clock < 1


class Drawn(Cluster):
    draws = Drawing(
        Lane("node", each=Node, logs=(Log("log"),), alive="up"), Lane("clock", facts={"clock": "time"}), events=()
    )


def points(spec, name):
    (violation,) = explore(spec, Plan((name,), workers=1)).violations
    return violation, turning_points(spec, violation)


def test_the_loss_of_data_made_the_violation_possible():
    violation, found = points(Drawn(), "nothing_is_lost")
    losses = [number for number, step in enumerate(violation.trace, 1) if step.action == "stop"]
    assert found.enabling.number == losses[-1]
    assert found.violating.number == violation.length


def test_without_a_failure_it_is_the_step_without_which_most_of_the_rest_happens():
    violation, found = points(Cluster(), "no_late_record")
    assert [step.action for step in violation.trace[1:]] == ["write", "tick", "tick", "finish"]
    # `finish` needs every step before it, so the last one is shown.
    assert found.enabling.number == 4
    violation, found = points(Cluster(), "few_records")
    assert [step.action for step in violation.trace] == [None, "write", "write"]
    assert (found.enabling.number, found.violating.number) == (2, 3)


class Refusing(Spec):
    """Two records; the broker may refuse one, which loses nothing by itself."""

    log = Seq(Range(0, 1), 2)
    sent = Range(0, 2)
    refused = bool
    draws = Drawing(Lane("broker", logs=(Log("log"),)), events=(Event("refuse", kind="refusal"),))

    @action
    def refuse(self):
        require(not self.refused and self.sent == 0)
        self.refused = True

    @action
    def append(self):
        require(self.sent < 2)
        if not self.refused or self.sent == 1:
            self.log.append(self.sent)
        self.sent += 1

    @invariant
    def no_gap(self):
        return len(self.log) == 0 or self.log[0] == 0


def test_a_fault_that_loses_nothing_made_the_violation_possible():
    violation, found = points(Refusing(), "no_gap")
    assert [step.action for step in violation.trace[1:]] == ["refuse", "append", "append"]
    assert (found.enabling.number, found.fault) == (2, "refusal")
    assert faults_of(Refusing(), violation) == {2: "refusal"}


def test_a_fault_without_which_the_violation_happens_too_is_not_decisive():
    spec = Drawn()
    trace = [TraceStep(None, (), spec.initial_states()[0])]
    for name, node in (("write", Node[0]), ("stop", Node[1]), ("write", Node[0])):
        trace.append(TraceStep(name, (node,), spec.step(trace[-1].state, name, node)))
    violation = Violation("few_records", "invariant", tuple(trace), "")
    assert set(faults_of(spec, violation)) == {3}
    found = turning_points(spec, violation)
    assert (found.enabling.number, found.fault) == (2, "")


def test_the_first_step_alone_has_no_step_before_it():
    violation, found = points(Cluster(), "early")
    assert violation.length == 2
    assert found.enabling is None and found.violating.call == "tick()"


@pytest.mark.parametrize(
    ("target", "call"),
    [
        ("replication/partition/r1_truncate_to_high_watermark", "become_follower(b2, 0)"),
        ("producer/acks/p7_acks_1_loss_on_failover", "broker_crash(n1)"),
    ],
)
def test_real_counterexamples(target, call):
    (selection,) = select(target)
    spec = selection.scenario.configured_spec()
    (violation,) = explore(spec, Plan(tuple(selection.scenario.expect), workers=1)).violations
    assert turning_points(spec, violation).enabling.call == call
