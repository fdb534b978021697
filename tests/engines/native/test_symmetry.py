"""Explorations that store one representative for all states that differ only in the names of a domain's members."""

import numpy as np
import pytest

from checker.api import SpecChecks
from checker.engines.native.engine import compile_native, compile_program, explore, explore_compiled
from checker.engines.native.lowering import permuted_states
from checker.errors import SpecError
from checker.frontend import compile_spec
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
from checker.run.symmetry import require_symmetry
from specs.pipeline.partition import Broker
from specs.pipeline.pipeline import Pipeline
from traces.replay import replay

PROPERTIES = ["no_acked_loss", "no_duplicate", "no_reorder", "reads_are_stable"]


def compiled_with(spec, properties, domain):
    """Return a spec as machine code that stores one state for all that differ in the names of a domain's members."""
    program = compile_spec(spec, properties)
    symmetry = require_symmetry(program, spec.resolved_type(domain))
    return compile_program(spec, program, properties, quick=True, symmetry=symmetry)


def both(spec, properties, domain):
    """Explore with and without symmetry; return both results, and the representatives that each exploration found."""
    plan = Plan(tuple(properties), stop="all", quick=True)
    whole, reduced = compile_native(spec, properties, quick=True), compiled_with(spec, properties, domain)
    results, representatives = [], []
    for compiled in (whole, reduced):
        result, found = explore_compiled(compiled, plan, spec.initial_states(), 0.0)
        results.append(result)
        states = np.ascontiguousarray(found.all_states())
        for state in states:
            reduced.kernels.represent(state.ctypes.data)
        representatives.append({tuple(state) for state in states.tolist()})
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


def test_a_stored_state_is_its_own_representative():
    compiled = compiled_with(Votes(), ["a_winner_has_voted"], Node)
    _, found = explore_compiled(compiled, Plan(("a_winner_has_voted",)), Votes().initial_states(), 0.0)
    for state in found.all_states():
        assert compiled.words_of(compiled.state_of(state)) == [int(word) for word in state]


class Listed(Votes):
    """The order of the votes is a sequence of members: no slices, so all permutations are tried."""

    order = Seq(Node, 4)

    @action
    def vote(self, node: Node, value: Range(0, 1)):
        super().vote(node, value)
        self.order.append(node)

    @step_invariant
    def votes_stay(self, old):
        return len(self.voted) >= len(old.voted)

    @step_invariant
    def the_winner_voted_before(self, old):
        return self.winner is None or old.winner is not None or self.order.index(self.winner) > 0


@pytest.mark.parametrize("workers", [1, 2])
def test_sequences_of_members_and_steps(workers):
    spec, names = Listed(nodes=3), ["votes_stay", "the_winner_voted_before", "nobody_wins_last"]
    (whole, reduced), (expected, found) = both(spec, names, Node)
    assert found == expected
    assert reduced.distinct_states < whole.distinct_states / 5
    assert {(v.property, v.length) for v in reduced.violations} == {(v.property, v.length) for v in whole.violations}
    assert {violation.property for violation in reduced.violations} == {"the_winner_voted_before", "nobody_wins_last"}
    for violation in reduced.violations:
        replay(spec, violation)


class Started(Listed):
    def init(self, first: Node):
        self.latest = first


def test_a_walk_without_one_order_stores_too_many_states(monkeypatch):
    def count():
        return explore(Started(nodes=3), Plan((), symmetry=True)).distinct_states

    exact, whole_walk = count(), permuted_states._walk
    monkeypatch.setattr(permuted_states, "_walk", lambda sizes: whole_walk(sizes)[:-1])
    assert count() > exact


def test_an_exchange_that_leaves_out_a_sequence_stores_other_states(monkeypatch):
    def count():
        return explore(Started(nodes=3), Plan((), symmetry=True)).distinct_states

    exact = count()
    monkeypatch.setattr(permuted_states._Exchange, "_change_items", lambda *given: None)
    assert count() != exact


class Shelf(Domain):
    size, prefix = 3, "s"


class Library(Spec):
    """Maps from the members of one domain to those of another, in each kind of value, and maps of other keys."""

    nodes = Constant(2)
    first = Map(Node, Option(Shelf))
    copies = Map(Node, SetOf(Shelf))
    holder = Map(Shelf, Option(Node))
    newest = Map(bool, Option(Shelf))
    line = Seq(Shelf, 1)

    @action
    def put(self, node: Node, shelf: Shelf):
        require(self.first[node] is None and self.holder[shelf] is None)
        self.first[node] = shelf
        self.holder[shelf] = node
        self.newest[len(self.line) > 0] = shelf

    @action
    def copy(self, node: Node, other: Node):
        require(self.first[other] is not None and len(self.copies[node]) < 1)
        self.copies[node].add(self.first[other])

    @action
    def wait(self, shelf: Shelf):
        require(len(self.line) < 1 and shelf not in self.line)
        self.line.append(shelf)

    @invariant
    def one_copy(self):
        return all(len(self.copies[node]) < 2 for node in Node)


def test_two_domains_and_maps_between_them():
    native, python = (SpecChecks(engine=engine, symmetry=True).explore(Library) for engine in ("native", "python"))
    assert native.levels == python.levels and native.generated_states == python.generated_states


class Crowd(Domain):
    size, prefix = 9, "c"


class Meeting(Spec):
    arrived = SetOf(Crowd)
    line = Seq(Crowd, 1)

    @action
    def arrive(self, member: Crowd):
        self.arrived.add(member)


def test_many_members_are_sorted_but_not_permuted():
    assert explore(MeetingWithoutLine(), Plan((), symmetry=True)).distinct_states == 10
    with pytest.raises(SpecError, match="Crowd has 9 members: symmetry tries all orders of at most 8"):
        explore(Meeting(), Plan((), symmetry=True))


class MeetingWithoutLine(Spec):
    arrived = SetOf(Crowd)

    @action
    def arrive(self, member: Crowd):
        self.arrived.add(member)
