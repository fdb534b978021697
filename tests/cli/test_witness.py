"""`run --witness` and `witness_check.py`: a true witness is verified, and a wrong one is refuted."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import checker.language.spec
import witness_check
from checker.engines.native import engine
from checker.frontend import symmetry
from checker.output.witness import write_witness
from checker.run import registry
from checker.run.plan import Plan
from checker.run.request import Request, runs_for

ROOT = Path(__file__).parents[2]
HANDFUL = {
    "examples/peterson/exclusive": "specs/examples/peterson.py",
    "examples/die_hard": "specs/examples/die_hard.py",
    "replication/kip279/two_replicas": "specs/replication/kip279.py",
}
MOST_STATES = 20_000

CYCLE = '''"""A counter."""

from checker.language import Range, Spec, action, invariant, reachable, require, step_invariant


class Cycle(Spec):
    x = Range(0, 3)

    @action
    def up(self):
        require(self.x < 3)
        self.x += 1

    @action
    def again(self):
        require(self.x == 3)
        self.x = 0

    @invariant
    def small(self):
        return self.x < 3

    @step_invariant
    def moves(self, old):
        return self.x != old.x

    @reachable
    def at_two(self):
        return self.x == 2
'''

MEMBERS = '''"""A helper takes the first of an ordered list, and then of members in no order."""

from checker.language import Domain, Option, Seq, SetOf, Spec, action, invariant, require


class Member(Domain):
    size, prefix = 2, "m"


class Members(Spec):
    order = Seq(Member, 2)
    active = SetOf(Member)
    last = Option(Member)
    chosen = Option(Member)

    def first_of(self, items):
        return items[0]

    @action
    def add(self, member: Member):
        require(member not in self.active)
        self.active.add(member)
        self.last = member

    @action
    def pick_in_order(self):
        require(len(self.order) > 0)
        self.chosen = self.first_of([member for member in self.order if member in self.active])

    @action
    def pick(self):
        require(len(self.active) == 2 and self.chosen is None)
        self.chosen = self.first_of([member for member in Member if member in self.active])

    @invariant
    def is_not_last(self):
        return self.chosen is None or self.chosen != self.last
'''


@pytest.fixture
def written(checker, tmp_path):
    """Write a spec and its witness, and return the folder and the file."""

    def write(text, name, *options):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        outcome = checker("run", path, "--witness", tmp_path / "witness", *options)
        assert outcome.status in (0, 1), outcome.err
        return tmp_path / "witness", path

    return write


def checked(capsys, *arguments):
    answers = []
    for memo in ([], ["--memo"]):
        status = witness_check.main([*map(str, arguments), "--seed", "1", *memo])
        answers.append((status, capsys.readouterr().out))
    assert answers[0] == answers[1], "with --memo the answer is another one"
    return answers[0]


def edit(folder, change):
    path = folder / "witness.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def refuted(capsys, folder, path, *options):
    status, out = checked(capsys, folder, path, *options)
    assert status == 1, out
    return out


@pytest.mark.parametrize("target", HANDFUL)
def test_witnesses_of_specs_of_this_distribution_are_verified(checker, capsys, tmp_path, target):
    assert checker("run", target, "--witness", tmp_path / "w").status in (0, 1)
    status, out = checked(capsys, tmp_path / "w", ROOT / HANDFUL[target])
    assert status == 0 and out.endswith("verified\n"), out


def test_the_checker_is_one_file(tmp_path, written):
    """A copy in an empty folder verifies a witness."""
    copy = tmp_path / "alone" / "witness_check.py"
    copy.parent.mkdir()
    shutil.copy(ROOT / copy.name, copy)
    command = [sys.executable, copy, *written(CYCLE, "cycle")]
    run = subprocess.run(command, cwd=copy.parent, capture_output=True, text=True, check=False)
    assert run.stdout.endswith("verified\n"), run


def test_a_witness_names_the_violations(capsys, written):
    status, out = checked(capsys, *written(CYCLE, "cycle"))
    assert status == 0
    assert "violated, as the witness says: small\n" in out
    assert "true everywhere or reached: moves, at_two\n" in out


def test_a_sample_states_its_bound(capsys, written):
    status, out = checked(capsys, *written(CYCLE, "cycle"), "--complete-up-to", 1, "--sample", 3)
    assert status == 0 and "sample of 3 states" in out and "95 %" in out


def test_a_dropped_state_is_refuted(capsys, written):
    folder, path = written(CYCLE, "cycle")

    def drop(content):
        (chunk,) = content["chunks"]
        states = (folder / chunk["file"]).read_bytes()
        states = states[: -len(states) // chunk["states"]]
        (folder / chunk["file"]).write_bytes(states)
        chunk |= {"states": chunk["states"] - 1, "sha256": hashlib.sha256(states).hexdigest()}
        content["states"] -= 1

    edit(folder, drop)
    assert "not in the set" in refuted(capsys, folder, path)


def test_a_changed_file_is_refuted(capsys, written):
    folder, path = written(CYCLE, "cycle")
    (folder / "states-00000.bin").write_bytes(b"\0\1\2\2")
    assert "another digest" in refuted(capsys, folder, path)


def test_a_dropped_successor_is_refuted(capsys, written, tmp_path):
    path = tmp_path / "cycle.py"
    path.write_text(CYCLE)
    (run,) = runs_for(Request((str(path),), keep_going=True))
    # An engine that forgets one action explores the spec without it.
    plan, folder = Plan(run.properties, stop="all"), tmp_path / "forgotten"
    forgetful = CYCLE.replace("require(self.x < 3)", "require(self.x < 2)")
    other = tmp_path / "forgetful.py"
    other.write_text(forgetful)
    found = registry.select(str(other))[0].entry.spec()
    engine.explore(found, plan, on_states=lambda result, states: write_witness(folder, run, result, states))
    assert "leads from" in refuted(capsys, folder, path)


@pytest.mark.parametrize("name", ["small", "moves", "at_two"])
def test_a_property_that_is_left_out_is_refuted(capsys, written, name):
    folder, path = written(CYCLE, "cycle")
    edit(folder, lambda content: content["checked"].remove(name))
    assert f"not checked by the run: {name}" in refuted(capsys, folder, path)


def test_a_violation_that_is_left_out_is_refuted(capsys, written):
    folder, path = written(CYCLE, "cycle")
    edit(folder, lambda content: content.update(violated=[]))
    assert "violated: small; the" in refuted(capsys, folder, path)


@pytest.mark.parametrize("is_claimed", [False, True])
def test_a_property_with_the_name_of_the_built_in_one_is_refuted(monkeypatch, capsys, written, is_claimed):
    folder, path = written(CYCLE, "cycle")
    monkeypatch.setattr(checker.language.spec, "DEADLOCK", "")
    path.write_text(CYCLE.replace("def small", "def deadlock"))

    def rename(content):
        content["violated"] = []
        content["checked"].remove("small")
        if is_claimed:
            content["checked"].append("deadlock")

    edit(folder, rename)
    assert "deadlock" in refuted(capsys, folder, path)


def test_a_symmetry_that_is_none_is_refuted(monkeypatch, capsys, written):
    """The front end remembers the check of a helper for other arguments, and takes the spec for a symmetric one."""
    check, known = symmetry._SymmetryCheck._call, {}

    def forgetful(self, node):
        key = node.function.name, len(node.arguments)
        return known[key] if key in known else known.setdefault(key, check(self, node))

    monkeypatch.setattr(symmetry._SymmetryCheck, "_call", forgetful)
    folder, path = written(MEMBERS, "members", "--symmetry")
    assert len(json.loads((folder / "witness.json").read_text())["tables"]) == 2
    refuted(capsys, folder, path)


def test_a_symmetric_witness_is_verified(checker, capsys, tmp_path):
    target = ("replication/kip101/two_replicas", "--symmetry")
    assert checker("run", *target, "--witness", tmp_path / "w").status == 0
    status, out = checked(capsys, tmp_path / "w", ROOT / "specs/replication/kip101.py")
    assert status == 0, out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["examples/peterson", "examples/die_hard"], "--witness belongs to one exploration"),
        (["examples/die_hard", "--engine", "python"], "--witness needs the native engine alone"),
        (["examples/die_hard", "--max-states", "3"], "no witness, because the exploration is not complete"),
    ],
)
def test_a_run_without_a_witness_says_so(checker, tmp_path, options, message):
    outcome = checker("run", *options, "--witness", tmp_path / "w")
    assert outcome.status in (2, 3) and message in outcome.err


def test_a_folder_with_files_is_refused(checker, tmp_path):
    (tmp_path / "mine").write_text("")
    outcome = checker("run", "examples/die_hard", "--witness", tmp_path)
    assert outcome.status == 2 and "is not an empty folder" in outcome.err


def without(name):
    return lambda folder: (folder / name).unlink()


def with_text(text):
    return lambda folder: (folder / "witness.json").write_text(text)


def with_pipe(folder):
    (folder / "states-00000.bin").unlink()
    os.mkfifo(folder / "states-00000.bin")


def with_name(folder):
    edit(folder, lambda content: content.update({"class": "\x1b[31mX"}))


FORM = "have another form than those of a run"


@pytest.mark.parametrize(
    ("damage", "spec", "options", "says"),
    [
        (without("witness.json"), "cycle", (), "holds no witness"),
        (without("states-00000.bin"), "cycle", (), "has no file states-00000.bin, which the witness names"),
        (with_pipe, "cycle", (), "has no file states-00000.bin, which the witness names"),
        (with_text("{"), "cycle", (), FORM),
        (with_text("[]"), "cycle", (), FORM),
        (with_text("{}"), "cycle", (), FORM),
        (with_text('{"format": 3}'), "cycle", (), FORM),
        (with_text('{"format": 2}'), "cycle", (), "another format"),
        (with_name, "cycle", (), "cycle.py has no spec ?[31mX"),
        (None, "nothing", (), "nothing.py cannot be imported: No such file or directory"),
        (None, "empty", (), "empty.py has no spec Cycle"),
        (None, "cycle", ("--scenario", "two"), "cycle.py has no scenario two of Cycle"),
        (None, "cycle", ("--properties", "large"), "--properties names large; the declared ones are: small, moves"),
    ],
)
def test_a_wrong_input_of_the_checker_is_one_sentence(capsys, written, damage, spec, options, says):
    """A verdict has the status 1, and nothing else. The sentence has no name of Python's."""
    folder, path = written(CYCLE, "cycle")
    path.with_name("empty.py").write_text("")
    if damage is not None:
        damage(folder)
    assert witness_check.main([str(folder), str(path.with_name(f"{spec}.py")), *options]) == 2
    shown = capsys.readouterr()
    assert not shown.out and shown.err.startswith("error: ") and shown.err.count("\n") == 1
    assert says in shown.err and "Error" not in shown.err, shown.err


def test_a_method_that_fails_is_refuted_with_its_state(capsys, written):
    folder, path = written(CYCLE, "cycle")
    path.write_text(CYCLE.replace("return self.x == 2", "return 1 // self.x == 2"))
    assert "; in the state x=0\n" in refuted(capsys, folder, path)


STEPS = '''"""Steps to a bound."""

from checker.language import Constant, Range, Scenario, Spec, action, invariant, require


class Steps(Spec):
    most = Constant(2)
    x = Range(0, 3)

    @action
    def up(self):
        require(self.x < 3)
        self.x += 1

    @invariant
    def small(self):
        return self.x < 4


scenarios = [Scenario(Steps, "two", deadlock=True, expect={"deadlock": 4}), Scenario(Steps, "three", dict(most=3))]
'''


@pytest.fixture
def two_steps(checker, tmp_path):
    path = tmp_path / "steps.py"
    path.write_text(STEPS)
    assert checker("run", f"{path}/steps/two", "--witness", tmp_path / "w").status == 0
    return tmp_path / "w", path


def test_a_witness_of_another_scenario_is_refuted(capsys, two_steps):
    assert checked(capsys, *two_steps, "--scenario", "two")[0] == 0
    assert "the spec has other constants" in refuted(capsys, *two_steps, "--scenario", "three")


@pytest.mark.parametrize("most", [0, 1, 3, 2.5, "two", None])
def test_another_constant_is_refuted_or_shown(capsys, two_steps, most):
    """Without a scenario the witness says which constants the states have, so the report shows them."""
    edit(two_steps[0], lambda content: content["constants"].update(most=most))
    assert "the spec has other constants" in refuted(capsys, *two_steps, "--scenario", "two")
    status, out = checked(capsys, *two_steps)
    assert status == 2 if type(most) is not int else out.startswith(f"Steps(most={most}): 4 states"), out


def test_the_deadlock_that_a_scenario_asks_for_is_not_left_out(capsys, two_steps):
    edit(two_steps[0], lambda content: content["checked"].remove("deadlock"))
    assert "not checked by the run: deadlock" in refuted(capsys, *two_steps, "--scenario", "two")
