"""What the second checker keeps of a method's results is what the method gives in each state."""

import json
from pathlib import Path

import pytest

import witness_check
import witness_files
import witness_memo
from witness_memo import Methods

ROOT = Path(__file__).parents[2]

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
def stored(checker, tmp_path):
    """Write the witness of a spec, and return the spec and its stored states."""

    def write(target, path=None):
        assert checker("run", target, "--witness", tmp_path / "w").status in (0, 1)
        manifest = json.loads((tmp_path / "w" / "witness.json").read_text())
        spec, _ = witness_check.load_spec(path or target, manifest, None)
        return spec, witness_files.StoredStates(tmp_path / "w", manifest, spec)

    return write


def require_same(spec, stored, names=()):
    """Compare the steps from each state, and properties, with those of the interpreter."""
    fair = witness_check.FairClasses(spec)
    methods = Methods(spec, stored, 0, fair.of_call)
    for at in range(stored.count):
        packed = stored.packed(at)
        state = stored.state(packed)
        steps, failures = spec.expand(state)
        assert not failures
        expected = {}
        for step in steps:
            found = expected.setdefault(step.state, (set(), stored.find(step.state)))
            found[0].update(fair.of_call(step.action, step.arguments))
        reached = methods.steps(packed)
        assert {stored.state(after): step for after, step in reached.items()} == expected, state
        for name in names:
            for after in reached:
                assert methods.holds_after(name, packed, after) == spec.holds(name, stored.state(after), state)
    return methods


@pytest.mark.parametrize(
    ("target", "file"),
    [
        ("examples/die_hard", "examples/die_hard.py"),
        ("replication/kip320_liveness/leader_alone", "replication/kip320_liveness.py"),
        ("consumer/group_liveness/fair_members", "consumer/liveness.py"),
    ],
)
def test_the_steps_are_those_of_the_interpreter(stored, target, file):
    methods = require_same(*stored(target, ROOT / "specs" / file))
    assert methods.kept > 0


def test_values_that_are_written_first_and_choices_are_no_exception(stored, tmp_path):
    path = tmp_path / "kinds.py"
    path.write_text(KINDS)
    methods = require_same(*stored(path), names=["moves"])
    assert methods.kept < 300


def test_results_beyond_the_limit_are_computed_each_time(monkeypatch, stored, tmp_path):
    monkeypatch.setattr(witness_memo, "MOST_RESULTS", 5)
    path = tmp_path / "kinds.py"
    path.write_text(KINDS)
    assert require_same(*stored(path), names=["moves"]).kept == 5


def test_a_method_that_reads_other_variables_the_second_time_is_refuted(stored, tmp_path):
    path = tmp_path / "kinds.py"
    path.write_text(KINDS)
    spec, states = stored(path)
    methods, counts = Methods(spec, states, 0, lambda *_: set()), iter(range(100))
    memo = witness_memo.Memo(methods, lambda state: state.last if next(counts) % 2 else len(state.members))
    with pytest.raises(witness_files.RefutedError, match="other variables the second time"):
        list(map(memo, map(states.packed, range(states.count))))
