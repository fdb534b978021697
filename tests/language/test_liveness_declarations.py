"""Wrong declarations of fairness and liveness are refused with the place, and with what to write instead."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checker.engines.native import engine
from checker.engines.python import explorer
from checker.language import Bug, Fairness, FairUnion, Scenario, SpecError
from checker.run import registry
from checker.run.plan import Plan

HEADER = """from checker.language import *


class Node(Domain):
    size, prefix = 2, "n"


class Mine(Spec):
    at = Range(0, 300)

"""

LEAP = "    @action\n    def leap(self, node: Node):\n        self.at = 300\n\n"
STEP = "    @action\n    def go(self):\n        require(self.at < 300)\n        self.at += 1\n\n"


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], type]:
    """Return a function that loads the spec `Mine` with a body, from a file."""

    def loaded(body: str) -> type:
        path = tmp_path / "mine.py"
        path.write_text(HEADER + body, encoding="utf-8")
        sys.modules.pop("spec_file_mine", None)
        return registry.select_spec(str(path)).spec

    return loaded


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        (
            '    @action(fair="often")\n    def go(self):\n        self.at = 1\n',
            12,
            "@action of go: fairness is 'weak' or 'strong', not 'often'",
        ),
        (
            '    @action(for_each="node")\n    def go(self, node: Node):\n        self.at = 1\n',
            12,
            'for_each needs fair="weak" or fair="strong"',
        ),
        (
            '    @action(fair="weak", for_each="batch")\n    def go(self, node: Node):\n        self.at = 1\n',
            12,
            "for_each names batch, but the parameters of go are: node",
        ),
        (
            '    going = FairUnion("go", fair="weak")\n' + STEP,
            11,
            "a FairUnion needs the names of two or more actions; one action has @action(fair=...)",
        ),
        (
            '    going = FairUnion("go", "stop", fair="weak")\n' + STEP,
            11,
            "the union going names stop, which is not an action of Mine",
        ),
        (
            '    going = FairUnion("go", "leap", fair="weak", for_each="node")\n' + STEP + LEAP,
            11,
            "the union going: for_each names node, but the parameters of go are: none",
        ),
        ('    going = FairUnion("go", "leap", fair="often")\n' + STEP + LEAP, 11, "fairness is 'weak' or 'strong'"),
        ('    fairness = FairUnion("go", "leap", fair="weak")\n' + STEP + LEAP, 11, "the name is reserved"),
        ('    fair_next = "yes"\n' + STEP, 11, "fair_next: it is 'weak', 'strong' or None"),
    ],
)
def test_wrong_fairness_is_refused_with_the_class(load, body, line, says):
    with pytest.raises(SpecError) as caught:
        load(body)
    assert says in caught.value.message
    assert (Path(caught.value.file).name, caught.value.line) == ("mine.py", line)


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        (
            '    @leads_to("is_sent")\n    def is_done(self):\n        return self.at == 3\n',
            17,
            'is_sent in @leads_to("is_sent") of is_done is not a method of Mine: define a helper',
        ),
        (
            '    @leads_to("go")\n    def is_done(self):\n        return self.at == 3\n',
            17,
            'go in @leads_to("go") of is_done is not a method of Mine',
        ),
        (
            '    def is_sent(self, node):\n        return self.at == 1\n\n    @leads_to("is_sent")\n'
            "    def is_done(self):\n        return self.at == 3\n",
            20,
            "the premise is_sent has a parameter node, which is_done does not have",
        ),
        (
            "    @eventually\n    def is_done(self, node):\n        return self.at == 3\n",
            17,
            "parameter node needs a type",
        ),
        (
            "    @eventually\n    def is_done(self, place: Range(0, 300)):\n        return self.at == place\n",
            17,
            "place has 301 values: a property takes a parameter of at most 256 values",
        ),
        (
            "    @eventually\n    def is_done(self, a: Range(0, 99), b: Range(0, 99)):\n        return self.at == a\n",
            17,
            "is_done has 10000 choices of its parameters, over 1024",
        ),
    ],
)
@pytest.mark.parametrize("explore", [explorer.explore, engine.explore], ids=["python", "native"])
def test_wrong_properties_are_refused_before_the_exploration(load, explore, body, line, says):
    spec = load(STEP + body)()
    with pytest.raises(SpecError) as caught:
        explore(spec, Plan(tuple(spec.properties)))
    assert says in caught.value.message
    assert (Path(caught.value.file).name, caught.value.line) == ("mine.py", line)


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        ("        return self.at\n", 17, "is_done must return a bool on every path"),
        ("        self.at = 1\n        return True\n", 17, "the eventually is_done must not change the state"),
        ("        require(self.at == 1)\n        return True\n", 17, "the eventually is_done cannot use `require`"),
        ("        return print(self.at)\n", 18, "print"),
    ],
)
def test_the_native_engine_refuses_goals_outside_the_language(load, body, line, says):
    spec = load(STEP + "    @eventually\n    def is_done(self):\n" + body)()
    with pytest.raises(SpecError) as caught:
        engine.explore(spec, Plan(("is_done",)))
    assert says in caught.value.message
    assert (Path(caught.value.file).name, caught.value.line) == ("mine.py", line)


def test_a_premise_is_a_name():
    from checker.language import leads_to

    with pytest.raises(SpecError, match="needs the name of its premise"):
        leads_to(lambda self: True)


def test_overrides_keep_fairness_and_premise_unless_they_are_decorated_again(load):
    base = load(
        '    @action(fair="strong")\n    def go(self):\n        require(self.at < 1)\n        self.at += 1\n\n'
        "    def begins(self):\n        return self.at == 0\n\n"
        '    @leads_to("begins")\n    def ends(self):\n        return self.at == 1\n'
    )
    kept = type("Kept", (base,), {"go": lambda self: None, "__module__": base.__module__})
    assert kept().fairness == {"go": Fairness("strong")}
    removed = type("Removed", (base,), {"go": None, "__module__": base.__module__})
    assert removed().fairness == {}
    assert not explorer.explore(base(), Plan(("ends",))).violations


def test_a_subclass_removes_or_replaces_a_union(load):
    base = load('    going = FairUnion("go", "leap", fair="weak")\n' + STEP + LEAP)
    assert (base().fairness, base.fair_unions) == ({"going": Fairness("weak")}, {"going": ("go", "leap")})
    module = {"__module__": base.__module__}
    removed = type("Removed", (base,), {"going": None, **module})
    assert (removed().fairness, removed.fair_unions) == ({}, {})
    replaced = type("Replaced", (base,), {"going": FairUnion("leap", "go", fair="strong"), **module})
    assert replaced().fairness == {"going": Fairness("strong")}
    with pytest.raises(SpecError, match="the union going names leap, which is not an action of Still"):
        type("Still", (base,), {"leap": None, **module})


@pytest.mark.parametrize("explore", [explorer.explore, engine.explore])
def test_the_common_parameters_of_a_union_have_one_type(load, explore):
    other = "    @action\n    def rise(self, node: Range(0, 1)):\n        self.at = node\n\n"
    goal = "    @eventually\n    def ends(self):\n        return self.at == 300\n"
    spec = load('    rising = FairUnion("leap", "rise", fair="weak")\n' + LEAP + other + goal)
    with pytest.raises(SpecError) as caught:
        explore(spec(), Plan(("ends",)))
    assert "the actions of rising have a parameter node of different types" in caught.value.message
    assert caught.value.line == 11
    assert not explore(spec().with_fairness({"rising": Fairness("weak", for_each=())}), Plan(())).violations


def test_a_scenario_changes_the_fairness_of_a_union(load):
    spec = load(
        '    leaping = FairUnion("leap", "skip", fair="weak", for_each=())\n'
        + STEP
        + LEAP
        + LEAP.replace("leap", "skip")
    )
    assert spec().with_fairness({"leaping": None}).fairness == {}
    # A changed strength keeps the parameters of the declaration.
    weaker = spec().with_fairness({"leaping": None}).with_fairness({"leaping": "strong"})
    assert weaker.fairness == {"leaping": Fairness("strong", for_each=())}
    assert Scenario(spec, "each", fair={"leaping": Fairness("weak", "node")}).configured_spec().fairness == {
        "leaping": Fairness("weak", ("node",))
    }
    with pytest.raises(SpecError, match="for_each names batch, but the parameters of leap are: node"):
        Scenario(spec, "wrong", fair={"leaping": Fairness("weak", "batch")})


@pytest.mark.parametrize(
    ("fair", "says"),
    [
        ({"stop": None}, "fair names stop, which is not an action of mine"),
        ({"go": "often"}, "fair['go'] is 'often': write 'weak', 'strong', Fairness(...) or None"),
        ({"go": Fairness("weak", for_each="node")}, "for_each names node, but the parameters of go are: none"),
        ({"fair_next": Fairness("weak", for_each="node")}, "fair_next has no parameters"),
    ],
)
def test_a_scenario_with_wrong_fairness_is_refused(load, fair, says):
    spec = load(STEP)
    with pytest.raises(SpecError) as caught:
        Scenario(spec, "small", fair=fair)
    assert says in caught.value.message
    assert caught.value.message.startswith("scenario mine/small: ")


def test_a_scenario_changes_fairness_only_for_itself(load):
    spec = load(STEP)
    assert Scenario(spec, "small", fair={"go": "strong"}).configured_spec().fairness == {"go": Fairness("strong")}
    assert spec().fairness == {}
    faulty, fixed = Bug(
        "stuck", spec, violates={}, fair={"go": "weak"}, fixed_fair={"go": "strong", "fair_next": "weak"}
    ).scenarios()
    assert faulty.configured_spec().fairness == {"go": Fairness("weak")}
    assert fixed.configured_spec().fairness == {"go": Fairness("strong"), "fair_next": Fairness("weak")}
