"""Liveness in witnesses: the ranks and lassos of an exploration are verified, and wrong ones are refuted."""

import hashlib
import itertools
import json
import random
import struct
from pathlib import Path

import pytest

import witness_check

ROOT = Path(__file__).parents[2]
RANK = struct.Struct(">I")

SENDING = '''"""Sending."""

from checker.language import (
    Domain, Enum, Fairness, FairUnion, Map, Scenario, Spec, action, always_eventually, eventually, eventually_always,
    leads_to, require,
)


class Batch(Domain):
    size, prefix = 2, "p"


class Progress(Enum):
    NEW = "new"
    SENT = "sent"
    LOST = "lost"
    DONE = "done"


class Sending(Spec):
    progress = Map(Batch, Progress)
    sending = FairUnion("send", "retry", fair="weak")

    @action
    def send(self, batch: Batch):
        require(self.progress[batch] == Progress.NEW)
        self.progress[batch] = Progress.SENT

    @action
    def retry(self, batch: Batch):
        require(self.progress[batch] == Progress.LOST)
        self.progress[batch] = Progress.SENT

    @action(fair="strong")
    def deliver(self, batch: Batch):
        require(self.progress[batch] == Progress.SENT)
        self.progress[batch] = Progress.DONE

    @action
    def lose(self, batch: Batch):
        require(self.progress[batch] == Progress.SENT)
        self.progress[batch] = Progress.LOST

    def is_sent(self, batch):
        return self.progress[batch] == Progress.SENT

    @leads_to("is_sent")
    def is_done(self, batch: Batch):
        return self.progress[batch] == Progress.DONE

    @eventually
    def all_sent(self):
        return all(self.progress[batch] != Progress.NEW for batch in Batch)

    @always_eventually
    def none_lost(self):
        return all(self.progress[batch] != Progress.LOST for batch in Batch)

    @eventually_always
    def stays_done(self):
        return all(self.progress[batch] == Progress.DONE for batch in Batch)


WEAK = {"deliver": "weak"}
scenarios = [
    Scenario(Sending, "strong"),
    Scenario(Sending, "as_one", fair={"deliver": Fairness("strong", for_each=())}),
    Scenario(Sending, "weak", fair=WEAK),
    Scenario(Sending, "unfair", fair={"sending": None, **WEAK}),
    Scenario(Sending, "next", fair={"fair_next": "weak", **WEAK}),
    Scenario(Sending, "next_alone", fair={"fair_next": "weak", "sending": None, "deliver": None}),
]
'''


@pytest.fixture
def written(checker, tmp_path):
    """Write the spec and the witness of one of its scenarios, and return the folder and the file."""

    def write(scenario):
        path, folder = tmp_path / "sending.py", tmp_path / scenario
        path.write_text(SENDING)
        outcome = checker("run", f"{path}/sending/{scenario}", "--witness", folder)
        assert outcome.status in (0, 1), outcome.err
        return folder, path

    return write


def stored_states(folder, path):
    """Return the spec of the scenario "strong", and the states of its witness."""
    manifest = json.loads((folder / "witness.json").read_text())
    spec, _ = witness_check.load_spec(path, manifest["class"], manifest["constants"], "strong")
    return spec, witness_check.StoredStates(folder, manifest, spec)


def checked(capsys, folder, path, scenario, *options):
    answers = []
    for memo in ([], ["--memo"]):
        arguments = [folder, path, "--scenario", scenario, "--seed", 1, *options, *memo]
        status = witness_check.main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        answers.append((status, shown.out + shown.err))
    assert answers[0] == answers[1], "with --memo the answer is another one"
    return answers[0]


def edited(folder, change):
    path = folder / "witness.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def rewritten(folder, entry, ranks):
    """Replace the ranks of a choice of parameters by others, with their digest."""
    content = b"".join(RANK.pack(number) for number in ranks)
    (folder / entry["file"]).write_bytes(content)
    entry["sha256"] = hashlib.sha256(content).hexdigest()


def numbers_of(folder, entry):
    return [number for (number,) in RANK.iter_unpack((folder / entry["file"]).read_bytes())]


@pytest.mark.parametrize(
    ("scenario", "holding"),
    [
        ("strong", "is_done, all_sent, none_lost, stays_done"),
        ("as_one", "is_done, all_sent, none_lost, stays_done"),
        ("weak", "all_sent"),
        ("unfair", ""),
        ("next", "all_sent"),
        # The steps for one batch are enough, for ever: it has no promise for each batch.
        ("next_alone", ""),
    ],
)
def test_ranks_and_lassos_are_verified(capsys, written, scenario, holding):
    status, out = checked(capsys, *written(scenario), scenario)
    assert status == 0, out
    assert f"true of every fair behaviour, by ranks: {holding}\n" in out or not holding


def test_a_sample_covers_the_ranks(capsys, written):
    status, out = checked(capsys, *written("strong"), "strong", "--complete-up-to", 3, "--sample", 8)
    assert status == 0 and "sample of 8 states" in out and "by ranks: is_done" in out


@pytest.mark.parametrize("name", ["is_done", "all_sent", "none_lost", "stays_done"])
def test_each_wrong_rank_is_refuted(capsys, written, name):
    """A state without its rank has none, and a state with a node that does not exist has none either."""
    folder, path = written("strong")
    (entry, *_) = json.loads((folder / "witness.json").read_text())["liveness"][name]["ranks"]
    ranks = numbers_of(folder, entry)
    for at in (at for at, number in enumerate(ranks) if number):
        for number in (0, len(entry["nodes"]) + 1):
            changed = [*ranks[:at], number, *ranks[at + 1 :]]
            edited(
                folder, lambda content, ranks=changed: rewritten(folder, content["liveness"][name]["ranks"][0], ranks)
            )
            status, out = checked(capsys, folder, path, "strong")
            assert status == 1 and f"refuted: {name}: " in out, (at, number, out)


def test_a_step_that_climbs_is_refuted(capsys, written):
    folder, path = written("strong")

    def reverse(content):
        entry = content["liveness"]["all_sent"]["ranks"][0]
        assert all(parent == 0 for parent, _ in entry["nodes"])
        entry["nodes"].reverse()
        rewritten(folder, entry, [n and len(entry["nodes"]) + 1 - n for n in numbers_of(folder, entry)])

    edited(folder, reverse)
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and "a step climbs" in out, out


@pytest.mark.parametrize("parent", [1, 100, -1])
def test_a_node_below_a_later_one_is_refuted(capsys, written, parent):
    folder, path = written("strong")
    edited(folder, lambda content: content["liveness"]["all_sent"]["ranks"][0]["nodes"][0].__setitem__(0, parent))
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and "a node is below a later one" in out, out


def test_a_node_below_a_weak_one_is_refuted(capsys, written):
    folder, path = written("strong")
    weaker = SENDING.replace('Scenario(Sending, "strong")', 'Scenario(Sending, "strong", fair=WEAK)')
    path.write_text(weaker)
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and "the reason of a node" in out, out


@pytest.mark.parametrize("promise", ["deliver", "sending"])
def test_a_promise_that_the_spec_does_not_make_is_refuted(capsys, written, promise):
    folder, path = written("strong")
    path.write_text(SENDING.replace('(Sending, "strong")', f'(Sending, "strong", fair={{"{promise}": None}})'))
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and f"{promise} is not fair" in out, out


def test_a_lasso_that_a_left_out_promise_would_exclude_is_refuted(capsys, written):
    folder, path = written("weak")
    path.write_text(SENDING.replace("fair=WEAK)", "fair={})"))
    status, out = checked(capsys, folder, path, "weak")
    assert status == 1 and "the loop is unfair" in out, out


@pytest.mark.parametrize("name", ["is_done", "all_sent", "none_lost", "stays_done"])
@pytest.mark.parametrize("place", ["checked", "liveness"])
def test_a_property_that_is_left_out_is_refuted(capsys, written, name, place):
    folder, path = written("strong")

    def leave_out(content):
        if place == "checked":
            content["checked"].remove(name)
        else:
            del content["liveness"][name]

    edited(folder, leave_out)
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and name in out, out


def test_ranks_for_fewer_choices_of_the_parameters_are_refuted(capsys, written):
    folder, path = written("strong")
    edited(folder, lambda content: content["liveness"]["is_done"]["ranks"].pop())
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and "of every choice of parameters" in out, out


def test_a_changed_lasso_is_refuted(capsys, written):
    """Every other path of the same length through the states, and every other start of the loop, is none."""
    folder, path = written("unfair")
    claims = json.loads((folder / "witness.json").read_text())
    for name in ("all_sent", "is_done", "stays_done"):
        lasso = claims["liveness"][name]["lasso"]
        others = [{**lasso, "loop_start": len(lasso["path"])}, {**lasso, "path": lasso["path"][1:] or [15]}]
        others += [{**lasso, "path": [*lasso["path"][:-1], at]} for at in range(claims["states"])]
        verdicts = []
        for other in others:
            edited(folder, lambda content, name=name, other=other: content["liveness"].update({name: {"lasso": other}}))
            verdicts.append(checked(capsys, folder, path, "unfair")[0])
        assert verdicts[:2] == [1, 1] and 0 in verdicts and verdicts.count(1) > len(verdicts) // 2, (name, verdicts)
        edited(folder, lambda content: content.update(claims))


@pytest.mark.parametrize("name", ["is_done", "all_sent", "none_lost", "stays_done"])
def test_a_fair_lasso_that_violates_nothing_is_refuted(capsys, written, name):
    folder, path = written("strong")
    manifest = json.loads((folder / "witness.json").read_text())
    spec, stored = stored_states(folder, path)
    states = [spec.initial_states()[0]]
    for action, batch in (("send", "p1"), ("send", "p2"), ("deliver", "p1"), ("deliver", "p2")):
        states.append(spec.step(states[-1], action, batch))
    lasso = {"choice": 0, "path": [stored.find(state)[0] for state in states], "loop_start": 4}
    manifest["liveness"][name], manifest["violated"] = {"lasso": lasso}, [name]
    (folder / "witness.json").write_text(json.dumps(manifest))
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and f"{name}: the lasso does not violate it" in out, out


@pytest.mark.parametrize("name", ["is_done", "none_lost", "stays_done"])
@pytest.mark.parametrize("place", ["stem", "loop"])
def test_a_lasso_with_a_step_that_is_none_is_refuted(capsys, written, name, place):
    """No step leads from a state to itself."""
    folder, path = written("weak")

    def repeat(content):
        lasso = content["liveness"][name]["lasso"]
        at = 0 if place == "stem" else len(lasso["path"]) - 1
        lasso["path"].insert(at, lasso["path"][at])
        lasso["loop_start"] += place == "stem"

    edited(folder, repeat)
    status, out = checked(capsys, folder, path, "weak")
    assert status == 1 and f"{name}: the lasso has a step that is none" in out, out


@pytest.mark.parametrize("entry", ["p3", None, 0, [], {"p1": 1}])
def test_a_class_of_a_member_that_does_not_exist_is_refuted(capsys, written, entry):
    folder, path = written("strong")
    edited(folder, lambda content: content["liveness"]["is_done"]["ranks"][0]["sets"][0].__setitem__(1, [entry]))
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and "is not a value of Batch" in out, out


def test_no_ranks_of_a_violated_property_are_verified(capsys, written):
    """Neither those of the spec with more promises, nor any of 300 random ones."""
    folder, path = written("weak")
    strong, _ = written("strong")
    draw = random.Random(1)
    fair = json.loads((strong / "witness.json").read_text())["liveness"]["stays_done"]["ranks"][0]
    count = json.loads((folder / "witness.json").read_text())["states"]
    sets = [*fair["sets"], *(["sending", [batch]] for batch in ("p1", "p2"))]
    forged = [(fair["nodes"], numbers_of(strong, fair))]
    for _ in range(300):
        size = draw.randrange(1, 8)
        nodes = [[draw.randrange(number + 1), draw.choice([None, *range(len(sets))])] for number in range(size)]
        forged.append((nodes, [draw.randrange(size + 1) for _ in range(count)]))
    for nodes, ranks in forged:
        entry = {**fair, "sets": sets, "nodes": nodes}
        rewritten(folder, entry, ranks)

        def forge(content, entry=entry):
            content["violated"] = ["is_done"]
            content["liveness"]["stays_done"] = {"ranks": [entry]}

        edited(folder, forge)
        status, out = checked(capsys, folder, path, "weak")
        assert status == 1 and "stays_done: " in out, out


def test_a_state_outside_a_constraint_excludes_ranks(capsys, written):
    folder, path = written("strong")
    method = "    @constraint\n    def few(self):\n        return self.progress[Batch[0]] == Progress.NEW\n"
    constrained = SENDING.replace("class Sending(Spec):\n", f"class Sending(Spec):\n{method}\n")
    path = path.with_name("constrained.py")
    path.write_text(constrained.replace("Spec, action", "Spec, action, constraint"))
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and "outside a constraint" in out, out


def test_symmetry_leaves_liveness_undecided(capsys, written):
    folder, path = written("strong")
    edited(folder, lambda content: content["tables"].append(content["tables"][0]))
    status, out = checked(capsys, folder, path, "strong")
    assert status == 1 and "symmetry leaves liveness undecided" in out, out


@pytest.mark.parametrize("seed", range(5))
def test_each_sample_has_the_initial_states(capsys, written, seed):
    """A wrong rank of the one initial state is wrong for every behaviour."""
    folder, path = written("strong")
    spec, stored = stored_states(folder, path)
    first, _ = stored.find(spec.initial_states()[0])

    def forget(content):
        entry = content["liveness"]["all_sent"]["ranks"][0]
        ranks = numbers_of(folder, entry)
        rewritten(folder, entry, [*ranks[:first], 0, *ranks[first + 1 :]])

    edited(folder, forget)
    status, out = checked(capsys, folder, path, "strong", "--complete-up-to", 1, "--sample", 1, "--seed", seed)
    assert status == 1 and "all_sent: " in out, out


CHOOSING = '''"""A fair action that may change nothing: only the steps that change the state are fair."""

from checker.language import Fairness, FairUnion, Range, Scenario, Spec, action, eventually, require


class Choosing(Spec):
    x = Range(0, 1)
    either = FairUnion("set", "turn", fair="weak")

    @action(fair="weak")
    def set(self, value: Range(0, 1)):
        require(self.x == 0)
        self.x = value

    @action
    def turn(self):
        self.x = 1

    @eventually
    def is_set(self):
        return self.x == 1


scenarios = [
    Scenario(Choosing, "as_one", fair={"set": Fairness("weak", for_each=()), "either": None}),
    Scenario(Choosing, "union", fair={"set": None}),
]
'''


@pytest.mark.parametrize("scenario", ["as_one", "union"])
def test_a_step_that_changes_nothing_takes_no_class(checker, capsys, tmp_path, scenario):
    """The union fixes the parameters that each of its actions has: none."""
    path = tmp_path / "choosing.py"
    path.write_text(CHOOSING)
    assert checker("run", f"{path}/choosing/{scenario}", "--witness", tmp_path / "w").status == 0
    status, out = checked(capsys, tmp_path / "w", path, scenario)
    assert status == 0, out


SMALL = '''"""A spec of few states."""

from checker.language import Range, Spec, action, always_eventually, eventually, eventually_always, leads_to, require


class Small(Spec):
    x = Range(0, 2)

    @action(fair="weak")
    def up(self):
        require({guard})
        self.x = (self.x + 1) % 3

    @action
    def back(self):
        require(self.x == 1)
        self.x = 0

    def is_high(self):
        return self.x > 0

    {decorator}
    def goal(self):
        return {goal}
'''


@pytest.mark.parametrize(
    ("guard", "decorator", "goal", "why"),
    [
        ("True", "@eventually_always", "self.x == 0", "every step takes the class"),
        ("self.x == 0", "@eventually", "self.x == 2", "the class is enabled in every second state"),
        ("self.x < 2", "@always_eventually", "self.x == 0", "no class is enabled in the last state"),
        ("self.x < 2", '@leads_to("is_high")', "self.x == 0", "the obligation begins later"),
        ("self.x < 2", "@eventually_always", "self.x == 1", "the goal is false in the last state"),
    ],
)
def test_no_ranks_of_a_violated_property_exist(checker, capsys, tmp_path, guard, decorator, goal, why):
    """All forests of up to two nodes, and all ranks, are refuted: each rule is needed by one of the specs."""
    folder, path = tmp_path / "w", tmp_path / "small.py"
    path.write_text(SMALL.format(guard=guard, decorator=decorator, goal=goal))
    assert checker("run", path, "--witness", folder).status == 1
    content = json.loads((folder / "witness.json").read_text())
    states = content["states"]
    roots = [[[0, first]] for first in (0, None)]
    pairs = [[root, [parent, second]] for (root,) in roots for parent in (0, 1) for second in (0, None)]
    for nodes in roots + pairs:
        for ranks in itertools.product(range(len(nodes) + 1), repeat=states):
            entry = {"arguments": [], "sets": [["up", []]], "nodes": nodes, "file": "ranks.bin", "states": states}
            rewritten(folder, entry, ranks)
            claim = {"violated": [], "liveness": {"goal": {"ranks": [entry]}}}
            (folder / "witness.json").write_text(json.dumps(content | claim))
            status = witness_check.main([str(folder), str(path)])
            assert status == 1 and "goal: " in capsys.readouterr().out, (why, nodes, ranks)


def test_an_eventuality_begins_in_the_initial_states_alone(checker, capsys, tmp_path):
    """It is true at once, and never again: no state needs a rank, and no lasso violates it."""
    folder, path = tmp_path / "w", tmp_path / "small.py"
    path.write_text(SMALL.format(guard="self.x < 2", decorator="@eventually", goal="self.x == 0"))
    assert checker("run", path, "--witness", folder).status == 0
    assert witness_check.main([str(folder), str(path)]) == 0, capsys.readouterr()
    values = json.loads((folder / "witness.json").read_text())["tables"][0]["x"]
    path_of_all = [values.index(x) for x in (0, 1, 2)]
    # No step leads from the last state to another.
    for start, message in ((1, "the lasso has a step that is none"), (2, "the lasso does not violate it")):
        lasso = {"choice": 0, "path": path_of_all, "loop_start": start}
        claims = {"violated": ["goal"], "liveness": {"goal": {"lasso": lasso}}}
        edited(folder, lambda content, claims=claims: content.update(claims))
        capsys.readouterr()
        assert witness_check.main([str(folder), str(path)]) == 1
        assert f"goal: {message}" in capsys.readouterr().out


def test_a_loop_that_enables_a_weakly_fair_class_in_each_state_is_refuted(checker, capsys, tmp_path):
    folder, path = tmp_path / "w", tmp_path / "small.py"
    path.write_text(SMALL.format(guard="True", decorator="@eventually_always", goal="self.x < 3"))
    assert checker("run", path, "--witness", folder).status == 0
    first = json.loads((folder / "witness.json").read_text())["tables"][0]["x"].index(0)
    lasso = {"choice": 0, "path": [first], "loop_start": 0}
    edited(folder, lambda content: content.update(liveness={"goal": {"lasso": lasso}}))
    capsys.readouterr()
    assert witness_check.main([str(folder), str(path)]) == 1
    assert "goal: the loop is unfair" in capsys.readouterr().out
