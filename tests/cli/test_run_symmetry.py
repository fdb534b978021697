"""The options --symmetry and --no-symmetry of `run`."""

import json

import pytest

from checker.language.spec import Scenario
from checker.run import ledger
from checker.run.request import Request, runs_for
from checker.run.result import Result
from specs.examples.paxos import Paxos

SPEC = '''"""Nodes vote."""

from checker.language import Domain, Map, Option, Range, Scenario, SetOf, Spec, action, eventually, invariant, require


class Node(Domain):
    size, prefix = 3, "n"


class Color(Domain):
    size, prefix = 2, "c"


class Votes(Spec):
    voted = SetOf(Node)
    color = Map(Node, Option(Color))
    last = Option(Node)

    @action(fair="weak")
    def vote(self, node: Node, color: Color):
        require(node not in self.voted)
        self.voted.add(node)
        self.color[node] = color
        self.last = node

    @invariant
    def two_agree(self):
        return len(self.voted) < 3 or all(self.color[one] == self.color[other] for one in Node for other in Node)

    @eventually
    def all_vote(self):
        return len(self.voted) == 3


class Biased(Votes):
    @invariant
    def the_first_never_votes_last(self):
        return len(self.voted) < 3 or self.last != Node[0]


class OneColor(Votes):
    @invariant
    def first_color(self):
        return all(self.color[node] is None or self.color[node] == Color[0] for node in Node)


scenarios = [Scenario(Votes, "small", expect={"two_agree": 4}, properties=["two_agree"], symmetry=True)]
'''


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "votes.py"
    path.write_text(SPEC)
    return str(path)


@pytest.fixture
def run(checker):
    def call(*arguments):
        found = checker("run", *arguments)
        return found.status, found.out + found.err

    return call


@pytest.mark.parametrize("engine", ["native", "python"])
def test_a_scenario_with_symmetry_counts_orbits(checker, spec, engine):
    def result_of(*options):
        found = checker("run", f"{spec}/votes/small", "--engine", engine, *options, "--json", "-")
        return found.status, json.loads(found.out.splitlines()[0])

    status, reduced = result_of()
    assert (status, reduced["symmetry"], reduced["asymmetries"]) == (0, ["Node", "Color"], [])
    _, whole = result_of("--no-symmetry")
    assert whole["symmetry"] == []
    assert reduced["distinct_states"] < whole["distinct_states"] / 3
    assert [found["length"] for found in reduced["violations"]] == [4] == [whole["violations"][0]["length"]]


def test_the_counts_are_named(run, spec):
    status, output = run(f"{spec}/votes/small", "--coverage")
    assert status == 0
    assert "orbits of states (symmetric: Node, Color)" in output
    assert "generated counts the steps from one state of each orbit" in output
    assert "unused parts of the spec are found only without symmetry" in output


def test_a_spec_without_symmetry_is_refused_with_the_line(run, spec):
    status, output = run(f"{spec}/one_color", "--symmetry", "--property", "first_color")
    assert status == 1 and "orbits of states (symmetric: Node)" in output
    assert "Color is not symmetric: `Color[0]` names members of Color" in output
    status, output = run(f"{spec}/biased", "--symmetry", "--property", "the_first_never_votes_last")
    assert status == 1 and "orbits of states (symmetric: Color)" in output
    status, output = run("examples/peterson", "--symmetry")
    assert status == 2 and "Process is not symmetric: `Process[0]` names members of Process" in output


def test_liveness_is_undecided(run, spec):
    status, output = run(f"{spec}/votes", "--symmetry", "--property", "all_vote")
    assert status == 3 and "liveness is not decided with symmetry" in output


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--symmetry", "--no-symmetry"], "--symmetry and --no-symmetry contradict each other"),
        (["--symmetry", "--strict"], "--strict looks at every state"),
        (["--symmetry", "--update-ledger"], "--update-ledger is for complete runs of scenarios"),
    ],
)
def test_options_that_need_every_state_refuse_symmetry(run, options, says):
    status, output = run("examples/paxos/two_ballots", *options)
    assert status == 2 and says in output


def test_an_initial_state_that_names_a_member_is_refused(run, tmp_path):
    def written(name, parameters, value):
        start = f"\n    def init(self{parameters}):\n        self.last = {value}\n\n    @action(fair"
        path = tmp_path / name
        path.write_text(SPEC.replace("\n    @action(fair", start, 1))
        return run(f"{path}/votes/small")[1]

    output = written("fixed_start.py", "", "Node[1]")
    assert "symmetric: Color" in output and "Node is not symmetric: with n1 and n2 exchanged" in output
    assert "symmetric: Node, Color" in written("any_start.py", ", first: Node", "first")


def test_the_ledger_keeps_orbits_apart_from_states():
    counts = dict(engine="native", workers=1, generated_states=9, levels=(3,), seconds=0.0, ended="complete")
    states = ledger.record_of(Result(distinct_states=7, **counts))
    orbits = ledger.record_of(Result(distinct_states=3, symmetry=("Node",), **counts))
    assert ledger.differences({"x": states}, {"x": orbits}, is_everything=True) == [
        "x: symmetry none is now Node",
    ]
    assert ledger.differences({"x": orbits}, {"x": orbits}, is_everything=True) == []


def test_a_ledger_with_orbits_can_be_read_again(tmp_path):
    record = ledger.LedgerRecord("holds", 3, 9, 1, symmetry=("Node", "Color"))
    ledger.write(tmp_path / "ledger.toml", {"x": record})
    assert ledger.read(tmp_path / "ledger.toml") == {"x": record}


def test_the_option_overrides_the_scenario():
    assert [run.symmetry for run in runs_for(Request(("examples/paxos/two_ballots",), symmetry=True))] == [True]
    assert not Scenario(Paxos, "unchanged").symmetry
