"""Constants and names of a module that are members, tuples, sets and dicts."""

import pytest

from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.language import Constant, Domain, Enum, Range, Scenario, SetOf, Spec, Struct, action, assume, invariant
from checker.run.request import settings_of
from checker.testing import SpecChecks


class Node(Domain):
    size, prefix = "nodes", "n"


class Phase(Enum):
    IDLE = "idle"
    BUSY = "busy"


class Limits(Struct):
    first: Range(0, 9)
    phase: Phase


START = (Phase.IDLE, Phase.BUSY)
STEPS = {Phase.IDLE: (1, True), Phase.BUSY: (2, False)}
LINE = {Node[0]: {Node[1]}, Node[1]: {Node[0], Node[2]}, Node[2]: {Node[1]}}


class Walk(Spec):
    """Visits the neighbours of visited nodes."""

    nodes = Constant(3)
    hops = Constant(2, at_least="nodes - 1", at_most="2 * nodes")
    graph = Constant(LINE)
    phase = Constant(Phase.BUSY)
    quorums = Constant(frozenset({frozenset({0, 1}), frozenset({1, 2})}))
    limits = Constant(Limits(first=1, phase=Phase.IDLE))
    weights = Constant((2, 0, 1))

    visited = SetOf(Node)
    votes = SetOf(Range(0, 2))
    last = tuple[Node, Range(0, 9)]

    @assume
    def quorums_intersect(self):
        """Every two quorums have a common member."""
        return all(len(one & other) > 0 for one in self.quorums for other in self.quorums)

    def init(self):
        self.visited = {Node[0]}

    @action
    def visit(self, node: Node):
        if node in self.visited:
            for neighbour in self.graph[node]:
                self.visited.add(neighbour)
                self.last = (neighbour, self.hops)

    @action
    def vote(self, voter: Range(0, 2)):
        step, is_first = STEPS[self.phase]
        if self.phase in START and self.weights[voter] < step and not is_first:
            self.votes.add(voter)

    @invariant
    def some_quorum_is_incomplete(self):
        return not all(quorum <= self.votes for quorum in self.quorums)

    @invariant
    def limits_are_constant(self):
        return self.limits.first == 1 and self.limits.phase == Phase.IDLE


@pytest.mark.parametrize("engine", ["native", "python", "both"])
def test_engines_read_the_same_values(engine):
    assert SpecChecks(engine=engine).check(Walk).distinct_states == 16


@pytest.mark.parametrize(
    ("setting", "plain"),
    [
        ("graph={n1: {n2}, n2: set(), n3: {n1, n3}}", "{n1: {n2}, n2: set(), n3: {n1, n3}}"),
        ("graph={n3: {n3, n1}, n2: set(), n1: {n2}}", "{n1: {n2}, n2: set(), n3: {n1, n3}}"),
        ("phase=idle", "Phase.IDLE"),
        ("phase=Phase.IDLE", "Phase.IDLE"),
        ("quorums={{0, 1, 2}}", "{{0, 1, 2}}"),
        ("limits=Limits(first=1, phase=busy)", "Limits(first=1, phase=Phase.BUSY)"),
        ("weights=(10, 9, -1)", "(10, 9, -1)"),
    ],
)
def test_a_setting_gives_a_value_that_its_text_gives_again(setting, plain):
    settings = settings_of(Walk, (setting,))
    name = setting.partition("=")[0]
    assert settings == {name: plain}
    spec = Walk(**settings)
    assert spec.constants[name] == plain
    assert type(spec)(**spec.constants).constant_values == spec.constant_values


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("graph={n1: {n2}}", "a dict needs a value for each key of a Domain"),
        ("graph={n1: set(), n2: set(), n3: {n4}}", "n4 is not a value of Node"),
        ("graph=7", "must be a value like {n1: {n2}, n2: {n1, n3}, n3: {n2}}, not 7"),
        ("graph={n1: ", "must be a value like"),
        ("phase=gone", "gone is not the name of a member"),
        ("phase=Phase.GONE", "Phase has no member GONE; its members are IDLE, BUSY"),
        ("limits=Limits(first=1)", "Limits takes the fields first, phase: phase is missing"),
        ("limits=Limits(first=11, phase=idle)", "11 is outside Range 0..9"),
        ("weights={1, 2}", "must be a value like (2, 0, 1), not {1, 2}"),
        ("weights=print()", "print() is not a value"),
        ("quorums={{0}, {1}}", "contradicts the assumption quorums_intersect: Every two quorums have a common member."),
        ("hops=1", "constant hops must be at least nodes - 1, which is 2, not 1"),
        ("hops=7", "constant hops must be at most 2 * nodes, which is 6, not 7"),
    ],
)
def test_a_wrong_setting_is_refused(setting, message):
    with pytest.raises(SpecError) as caught:
        Walk(**settings_of(Walk, (setting,)))
    assert message in str(caught.value)


def test_scenarios_and_keywords_take_values():
    scenario = Scenario(Walk, "idle", dict(phase=Phase.IDLE, quorums={frozenset({1})}))
    assert scenario.constants == {"phase": "Phase.IDLE", "quorums": "{{1}}"}
    assert scenario.configured_spec().constants == Walk(phase=Phase.IDLE, quorums={frozenset({1})}).constants


@pytest.mark.parametrize(
    ("default", "message"),
    [
        (1.5, "a constant cannot be 1.5"),
        ([1], "a constant cannot be [1]"),
        ((1, "a"), "'a' cannot be in a constant"),
        ("x", "needs one_of"),
    ],
)
def test_a_wrong_default_is_refused(default, message):
    with pytest.raises(SpecError) as caught:
        Constant(default)
    assert message in str(caught.value)


def test_bounds_belong_to_integers():
    with pytest.raises(SpecError, match="at_least and at_most bound an integer, and the default is True"):
        Constant(True, at_least=0)


def test_a_bound_names_constants():
    class Wrong(Spec):
        size = Constant(1, at_least="missing + 1")

    with pytest.raises(SpecError, match="at_least of constant size names missing, which is not a constant"):
        Wrong()


def test_an_assumption_reads_constants_only():
    class Wrong(Walk):
        @assume
        def reads_state(self):
            return len(self.visited) == 0

    with pytest.raises(SpecError, match="visited is a state variable"):
        Wrong()


def test_related_constants_cannot_be_left_unbounded():
    class Related(Walk):
        other = Constant(1)

        @assume(says="other is positive")
        def is_positive(self):
            return self.other > 0

    with pytest.raises(SpecError, match="hops cannot be left unbounded: hops has the bound nodes - 1"):
        Walk().unbounded(["hops"])
    with pytest.raises(SpecError, match="nodes cannot be left unbounded: hops has the bound nodes - 1"):
        Walk().unbounded(["nodes"])
    with pytest.raises(SpecError, match="other cannot be left unbounded: is_positive may restrict it"):
        Related().unbounded(["other"])


class Unordered(Walk):
    @action
    def visit_some(self):
        for node in frozenset({Node[0]}) | LINE[Node[0]]:
            self.visited.add(node)


def test_the_order_of_a_set_of_the_module_is_not_defined():
    with pytest.raises(SpecError, match="Python does not order a set"):
        compile_spec(Unordered())


class Begun(Spec):
    at = Range(0, 3)

    def init(self, start: Range(0, 2), is_late: bool):
        self.at = start + 1 if is_late else start


def test_init_has_an_instance_for_each_choice_of_its_parameters():
    found = compile_spec(Begun()).init
    assert (found.name, found.instances, found.first_instance) == ("init", 6, 0)
    assert [parameter.choices for parameter in found.parameters] == [3, 2]
