"""What `witness_check.py --memo` keeps of a method's results is what the method gives in each state."""

import itertools

import pytest

import witness_memo
from checker.language import BoundsError, State
from checker.run import registry
from checker.run.request import Request, runs_for
from witness_memo import Memo

KINDS = '''"""Actions with a set, a choice, and a variable that is written before it is read; two have one effect."""

from checker.language import Domain, Range, SetOf, Spec, action, choose, require, step_invariant


class Member(Domain):
    size, prefix = 3, "m"


class Kinds(Spec):
    members = SetOf(Member)
    last = Range(0, 3)
    copied = Range(0, 3)

    @action
    def join(self, member: Member):
        require(member not in self.members)
        self.members.add(member)

    @action(fair="weak")
    def sit(self):
        require(self.last < 3)
        self.last = 3

    @action(fair="strong")
    def rest(self):
        require(self.last < 3)
        self.last = 3

    @action
    def leave(self):
        member = choose(self.members)
        self.members.remove(member)
        self.last = len(self.members)
        self.copied = self.last

    @action
    def copy(self):
        require(self.copied != self.last or self.last > 1)
        self.copied = self.last
        self.last = 0

    @step_invariant
    def moves(self, old):
        return self.copied == old.last or self.members != old.members
'''


@pytest.fixture
def kinds(tmp_path):
    path = tmp_path / "kinds.py"
    path.write_text(KINDS)
    return registry.select(str(path))[0].entry.spec()


def states_of(spec):
    """Return the reachable states. As in the tables of a witness, each value is one object."""
    states = dict.fromkeys(waiting := spec.initial_states())
    while waiting:
        new = [step.state for step in spec.successors(waiting.pop()) if step.state not in states]
        states |= dict.fromkeys(new)
        waiting += dict.fromkeys(new)
    values = {}
    return [State({name: values.setdefault((name, state[name]), state[name]) for name in state}) for state in states]


def require_same(spec, states, names=()):
    """Compare the steps from states, and properties of the steps, with those of the interpreter."""
    memo = Memo(spec)
    for state in states:
        steps = spec.successors(state)
        assert memo.successors(state) == steps, state
        for name, step in itertools.product(names, steps):
            assert memo.holds(name, step.state, state) == spec.holds(name, step.state, state)
    return memo


@pytest.mark.parametrize(
    "target",
    ["examples/die_hard", "replication/kip320_liveness/leader_alone", "consumer/group_liveness/fair_members"],
)
def test_the_steps_are_those_of_the_interpreter(target):
    (run,) = runs_for(Request((target,)))
    states = states_of(run.spec)
    memo = require_same(run.spec, states)
    assert 0 < memo.kept < 6 * len(states)


def test_values_that_are_written_first_and_choices_are_no_exception(kinds):
    assert require_same(kinds, states_of(kinds), ["moves"]).kept < 300


def test_results_beyond_the_limit_are_computed_each_time(monkeypatch, kinds):
    monkeypatch.setattr(witness_memo, "MOST_RESULTS", 5)
    assert require_same(kinds, states_of(kinds), ["moves"]).kept == 5


def test_an_action_that_leaves_its_bounds_raises_the_error_of_the_interpreter(tmp_path):
    path = tmp_path / "wide.py"
    path.write_text(KINDS.replace("self.last = 3", "self.last = 4"))
    spec = registry.select(str(path))[0].entry.spec()
    memo = Memo(spec)
    for _ in range(2):
        with pytest.raises(BoundsError) as error:
            memo.successors(spec.initial_states()[0])
        assert str(error.value) == "sit(): last: 4 is outside Range 0..3"


def test_a_method_that_reads_other_variables_the_second_time_is_refuted(kinds):
    counts = itertools.count()
    results = witness_memo.Results(Memo(kinds), lambda state: state["last"] if next(counts) % 2 else state["copied"])
    values = [state.values for state in states_of(kinds)]
    with pytest.raises(BoundsError, match="other variables the second time"):
        list(map(results, values))
