"""Explorations that store one representative for all states that differ only in the names of a domain's members."""

import pytest

from checker.engines.native.engine import compile_native, explore_compiled
from checker.errors import SpecError
from checker.language import (
    Constant,
    Domain,
    Map,
    Option,
    Range,
    Seq,
    SetOf,
    Spec,
    action,
    invariant,
    require,
    step_invariant,
)
from checker.run.plan import Plan
from specs.pipeline.partition import Broker
from specs.pipeline.pipeline import Pipeline
from traces.replay import replay

PROPERTIES = ["no_acked_loss", "no_duplicate", "no_reorder", "reads_are_stable"]


def both(spec, properties, domain):
    """Explore with and without symmetry; return both results, and the representatives that each exploration found."""
    plan = Plan(tuple(properties), stop="all", quick=True)
    whole = compile_native(spec, properties, quick=True)
    reduced = compile_native(spec, properties, quick=True, symmetric=domain)
    results, representatives = [], []
    for compiled in (whole, reduced):
        result, found = explore_compiled(compiled, plan, spec.initial_states(), 0.0)
        results.append(result)
        words = ([int(word) for word in state] for state in found.all_states())
        representatives.append({tuple(reduced.symmetry.representative(state)) for state in words})
    return results, representatives


@pytest.mark.parametrize(
    "settings",
    [
        {"acks": "1", "idempotent": False, "lost_responses": 1},
        {"eligible_leader_replicas": True, "replication_factor": 4, "records": 1, "blackouts": 1},
        {"unclean_elections": True, "strict_min_isr": False, "min_insync_replicas": 1, "broker_crashes": 2},
        {"eligible_leader_replicas": True, "power_failures": 1, "broker_crashes": 1, "records": 1},
    ],
)
def test_every_state_of_the_pipeline_has_its_representative(settings):
    spec = Pipeline(**settings, late_requests=True)
    (whole, reduced), (expected, found) = both(spec, PROPERTIES, Broker)
    assert found == expected
    assert reduced.distinct_states == len(expected) < whole.distinct_states
    assert {(v.property, v.length) for v in reduced.violations} == {(v.property, v.length) for v in whole.violations}
    for violation in reduced.violations:
        replay(spec, violation)


class Node(Domain):
    size, prefix = "nodes", "n"


class Votes(Spec):
    """Nodes vote and may win; `values` are wide, `kinds` are packed."""

    nodes = Constant(4, at_least=1)

    values = Map(Node, Seq(Range(0, 2**20), 3))
    kinds = Map(Node, Range(0, 2))
    voted = SetOf(Node)
    winner = Option(Node)
    latest = Node

    @action
    def vote(self, node: Node, value: Range(0, 1)):
        require(node not in self.voted)
        self.voted.add(node)
        self.values[node].append(value)
        self.kinds[node] = value + 1
        self.latest = node

    @action
    def win(self, node: Node):
        require(self.winner is None and self.kinds[node] == 2)
        self.winner = node

    @invariant
    def a_winner_has_voted(self):
        return self.winner is None or self.winner in self.voted

    @invariant
    def nobody_wins_last(self):
        return self.winner is None or self.winner != self.latest or len(self.voted) < self.nodes


def test_maps_sets_options_and_scalars_of_members():
    (whole, reduced), (expected, found) = both(Votes(), ["a_winner_has_voted", "nobody_wins_last"], Node)
    assert found == expected
    assert reduced.distinct_states < whole.distinct_states / 5
    (violation,) = reduced.violations
    assert violation.property == "nobody_wins_last"
    assert violation.length == whole.violations[0].length
    replay(Votes(), violation)


def test_the_order_of_representatives_is_the_same_in_python_and_in_machine_code():
    compiled = compile_native(Votes(), ["a_winner_has_voted"], quick=True, symmetric=Node)
    _, found = explore_compiled(compiled, Plan(("a_winner_has_voted",)), Votes().initial_states(), 0.0)
    for state in found.all_states():
        words = [int(word) for word in state]
        assert compiled.symmetry.representative(words) == words


class Named(Votes):
    @invariant
    def the_first_loses(self):
        return self.winner != Node[0]


class Listed(Votes):
    order = Seq(Node, 4)


class Stepping(Votes):
    @step_invariant
    def votes_stay(self, old):
        return len(self.voted) >= len(old.voted)


class Ordered(Votes):
    """After the first vote all nodes vote, and the last node in the order of the loop is the latest."""

    @action
    def all_vote(self):
        require(len(self.voted) == 1)
        for node in Node:
            self.voted.add(node)
            self.latest = node

    @invariant
    def the_first_is_not_the_latest(self):
        return len(self.values[self.latest]) == 0 or len(self.voted) <= 1


@pytest.mark.parametrize(
    ("spec", "name", "says"),
    [
        (Named, "the_first_loses", "the_first_loses names n1, so Node is not symmetric"),
        (Listed, "a_winner_has_voted", "order: symmetry needs sets, maps and scalars of Node"),
        (Stepping, "votes_stay", "step invariants cannot be checked with symmetry"),
    ],
)
def test_specs_without_symmetry_are_refused(spec, name, says):
    with pytest.raises(SpecError, match=says):
        compile_native(spec(), [name], quick=True, symmetric=Node)


def test_a_trace_that_depends_on_the_order_of_members_is_an_error():
    spec, name = Ordered(), "the_first_is_not_the_latest"
    compiled = compile_native(spec, [name], quick=True, symmetric=Node)
    with pytest.raises(SpecError, match="all_vote depends on the order of Node"):
        explore_compiled(compiled, Plan((name,)), spec.initial_states(), 0.0)
