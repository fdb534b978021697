"""Forged witnesses whose digests and counts are right: each is refuted, or is true all the same."""

import hashlib
import itertools
import json

import pytest

import witness_check
from checker.engines.native import engine
from checker.output.witness import write_witness
from checker.run import registry
from checker.run.plan import Plan
from checker.run.request import Request, runs_for

PAIR = '''"""Two numbers."""

from checker.language import Range, Spec, action, invariant, reachable, require, step_invariant


class Pair(Spec):
    x = Range(0, 5)
    y = Range(0, 5)

    def init(self):
        self.x, self.y = 1, 1

    @action
    def up(self):
        require(self.x < 3)
        self.x += 1

    @action
    def back(self):
        require(self.x == 3 and self.y < 3)
        self.x, self.y = 1, self.y + 1

    @action
    def rest(self):
        require(self.x == 3 and self.y == 3)
        self.x = 3

    @invariant
    def small(self):
        return self.x * self.y < 9

    @step_invariant
    def grows(self, old):
        return self.x >= old.x or self.y > old.y

    @reachable
    def at_four(self):
        return self.x == 2 and self.y == 2
'''


@pytest.fixture
def forge(capsys, tmp_path):
    """Write the witness of one text of a spec, change it, and check it for another text, also with `--memo`."""

    def check(text, *, explored=None, change=None, options=()):
        folder, path = tmp_path / "w", tmp_path / "checked.py"
        if not folder.exists():
            path.write_text(text)
            other = tmp_path / "explored.py"
            other.write_text(explored or text)
            (run,) = runs_for(Request((str(path),), keep_going=True))
            spec = registry.select(str(other))[0].entry.spec()
            plan = Plan(run.properties, stop="all", workers=1)
            engine.explore(spec, plan, on_states=lambda result, states: write_witness(folder, run, result, states))
        whole = {file: file.read_bytes() for file in folder.iterdir()}
        manifest = json.loads((folder / "witness.json").read_text())
        if change is not None:
            change(folder, manifest)
        (folder / "witness.json").write_text(json.dumps(manifest))
        answers = []
        for memo in ([], ["--memo"]):
            status = witness_check.main([str(folder), str(path), "--seed", "1", *map(str, options), *memo])
            shown = capsys.readouterr()
            answers.append((status, shown.out + shown.err))
        for file, content in whole.items():
            file.write_bytes(content)
        assert answers[0] == answers[1], "with --memo the answer is another one"
        return answers[0]

    return check


def rows_of(folder, manifest):
    (chunk,) = manifest["chunks"]
    content = (folder / chunk["file"]).read_bytes()
    width = len(content) // chunk["states"]
    return [content[at : at + width] for at in range(0, len(content), width)]


def store(folder, manifest, rows):
    """Replace the states, with the right count and digest."""
    content = b"".join(rows)
    (folder / manifest["chunks"][0]["file"]).write_bytes(content)
    entry = {"states": len(rows), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["chunks"][0] |= entry
    manifest["states"] = len(rows)


def test_the_witness_itself_is_verified(forge):
    status, out = forge(PAIR)
    assert status == 0 and out.startswith("Pair(): 9 states") and "says: small\n" in out, out


def test_each_dropped_state_is_refuted(forge):
    for dropped in range(9):
        status, out = forge(
            PAIR,
            change=lambda folder, manifest, at=dropped: store(
                folder, manifest, [row for number, row in enumerate(rows_of(folder, manifest)) if number != at]
            ),
        )
        assert status == 1 and "not in the set" in out, (dropped, out)


def test_each_changed_state_is_refuted(forge):
    """With another bit of a state, and all states in order again."""
    for at, bit in itertools.product(range(9), range(8)):

        def flip(folder, manifest, at=at, bit=bit):
            rows = rows_of(folder, manifest)
            rows[at] = bytes([*rows[at][:-1], rows[at][-1] ^ 1 << bit])
            store(folder, manifest, sorted(rows))

        status, out = forge(PAIR, change=flip)
        assert status == 1, (at, bit, out)


def test_an_added_state_is_refuted(forge):
    """A state that no action reaches, and that would excuse a violation."""

    def add(folder, manifest):
        manifest["tables"][0]["x"].append(5)
        rows = sorted([*rows_of(folder, manifest), bytes([3, 0])])
        store(folder, manifest, rows)

    status, out = forge(PAIR, change=add)
    assert status == 1 and "1 state is not reachable" in out, out


@pytest.mark.parametrize("options", [(), ("--complete-up-to", 1, "--sample", 200, "--seed", 1)])
def test_an_initial_state_that_is_dropped_is_refuted(forge, options):
    two = PAIR.replace(
        "def init(self):\n        self.x, self.y = 1, 1",
        "def init(self, x: Range(0, 1)):\n        self.x, self.y = x, 1",
    )
    status, out = forge(two, explored=PAIR, options=options)
    assert status == 1 and "an initial state is not in the set" in out, out


def test_counts_and_chunks_are_compared(forge):
    def count(_, manifest):
        manifest["states"] += 1

    def long(_, manifest):
        manifest["chunks"][0]["states"] += 1

    def short(folder, manifest):
        path = folder / manifest["chunks"][0]["file"]
        path.write_bytes(path.read_bytes()[:-1])

    def twice(_, manifest):
        manifest["chunks"] *= 2
        manifest["states"] *= 2

    def none(_, manifest):
        manifest["chunks"], manifest["states"] = [], 0

    messages = ["9 states are stored, not 10", "another length", "another length", "not sorted", "initial state"]
    for change, message in zip((count, long, short, twice, none), messages, strict=True):
        status, out = forge(PAIR, change=change)
        assert status == 1 and message in out, out


def test_a_state_has_one_description(forge):
    """Neither a value twice in a table, nor a value that no table has, nor bytes of no variable, nor other codes."""

    def repeat(_, manifest):
        manifest["tables"][0]["x"].append(manifest["tables"][0]["x"][0])

    def shorten(_, manifest):
        manifest["tables"][0]["x"].pop()

    def widen(folder, manifest):
        manifest["variables"]["x"] = "xB"
        store(folder, manifest, [bytes([number, *row]) for number, row in enumerate(rows_of(folder, manifest))])

    def recode(_, manifest):
        manifest["variables"]["x"] = "?"

    changes = {
        repeat: "twice",
        shorten: "a value that no table has",
        widen: "1, 2 or 4 bytes",
        recode: "1, 2 or 4 bytes",
    }
    for change, message in changes.items():
        # With this seed the state without a value is drawn before those that lead to it.
        status, out = forge(PAIR, change=change, options=("--complete-up-to", 1, "--sample", 100, "--seed", 5))
        assert status == 1 and message in out, out


@pytest.mark.parametrize("options", [(), ("--complete-up-to", 1, "--sample", 200)])
def test_a_value_beyond_its_bounds_is_not_hidden(forge, options):
    action = PAIR.replace("        self.x = 3\n", "        self.x = 6\n")
    status, out = forge(action, explored=PAIR, options=options)
    assert status == 1 and "is outside Range 0..5" in out, out


@pytest.mark.parametrize("expression", ["1 // (self.y - 3) < 1", "[1, 2][self.x - 1] > 0"])
@pytest.mark.parametrize("before", ["self.x * self.y < 9", "self.x >= old.x or self.y > old.y"])
def test_a_property_without_a_value_is_not_hidden(forge, expression, before):
    status, out = forge(PAIR.replace(before, expression), explored=PAIR)
    assert status == 1 and "Error" in out, out


def test_a_reachable_that_is_not_reached_is_refuted(forge):
    far = PAIR.replace("self.x == 2 and self.y == 2", "self.x == 4")
    status, out = forge(far, explored=PAIR)
    assert status == 1 and "violated: at_four, small; the" in out, out


@pytest.mark.parametrize(
    "claimed", [[], ["grows"], ["small", "grows"], ["small", "at_four"], ["at_four"], ["deadlock"]]
)
def test_other_violations_than_those_of_the_spec_are_refuted(forge, claimed):
    status, out = forge(PAIR, change=lambda _, manifest: manifest.update(violated=claimed))
    assert status == 1 and "violated: small; the" in out, out


def test_a_sample_says_what_it_does_not_show(forge):
    """A claimed violation and a claimed `@reachable` need a state that the sample may lack."""
    status, out = forge(
        PAIR,
        change=lambda _, manifest: manifest.update(violated=["grows", "small"]),
        options=("--complete-up-to", 1, "--sample", 9),
    )
    assert status == 0 and "violated, as the witness says: small\n" in out, out
    assert "neither shown nor refuted by the sample: grows\n" in out and "true everywhere" not in out, out


@pytest.mark.parametrize("name", ["smal", "", "small,Grows"])
def test_a_selected_property_that_is_none_is_wrong_input(forge, name):
    status, out = forge(PAIR, options=("--properties", name))
    assert status == 2 and out.count("\n") == 1 and "the declared ones are: small, grows, at_four" in out, out


ABSTRACT = '''"""A counter that refines another one."""

from checker.language import Range, Refinement, Spec, action, require


class Once(Spec):
    z = Range(0, 3)

    def init(self):
        self.z = {first}

    @action
    def next(self):
        require(self.z < {most})
        self.z += 1


class Counter(Spec):
    x = Range(0, 3)

    @action
    def up(self):
        require(self.x < 2)
        self.x += 1

    refines = Refinement(Once, z=lambda self: self.x)


scenarios = []
'''


@pytest.mark.parametrize(("first", "most"), [(1, 3), (0, 1)])
@pytest.mark.parametrize("options", [(), ("--complete-up-to", 1, "--sample", 100)])
def test_a_refinement_is_one_of_initial_states_and_of_steps(checker, capsys, tmp_path, first, most, options):
    path, folder = tmp_path / "counter.py", tmp_path / "w"
    path.write_text(ABSTRACT.format(first=0, most=3))
    assert checker("run", f"{path}/counter", "--witness", folder).status == 0
    arguments = [str(folder), str(path), *map(str, options)]
    assert witness_check.main(arguments) == 0, capsys.readouterr()
    forged = tmp_path / "forged.py"
    forged.write_text(ABSTRACT.format(first=first, most=most))
    arguments[1] = str(forged)
    assert witness_check.main(arguments) == 1 and "refines" in capsys.readouterr().out


@pytest.mark.parametrize("value", [None, -1, 0, 10**6, "x", [], {}, True, 1.5])
def test_no_value_of_the_manifest_ends_the_check_with_a_traceback(forge, value):
    """Each part of the description in turn: the witness is refuted, or no witness, or as true as before."""
    places = [
        ("class",), ("constants",), ("states",), ("violated",), ("checked",), ("checked", 0), ("variables",),
        ("variables", "x"), ("tables",), ("tables", 0), ("tables", 0, "x"), ("tables", 0, "x", 0), ("chunks",),
        ("chunks", 0), ("chunks", 0, "file"), ("chunks", 0, "states"), ("chunks", 0, "sha256"), ("liveness",),
        ("format",),
    ]  # fmt: skip
    whole = forge(PAIR)
    for *outer, last in places:

        def change(_, manifest, outer=tuple(outer), last=last):
            for key in outer:
                manifest = manifest[key]
            manifest[last] = value

        status, out = forge(PAIR, change=change)
        assert status in (1, 2) or (status, out) == whole, (outer, last, out)
