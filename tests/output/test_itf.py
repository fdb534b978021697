"""ITF files: valid according to the published description of the format, for every type of value."""

import json
from pathlib import Path

import jsonschema
import pytest

from checker.engines.python.explorer import explore
from checker.language import (
    Bag,
    Constant,
    Domain,
    Enum,
    Map,
    Option,
    Range,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    invariant,
)
from checker.output.writers.itf import to_itf
from checker.run.plan import Plan
from tests.toy import Log
from traces.trace_file import origin_of

SCHEMA = json.loads((Path(__file__).parent / "itf.schema.json").read_text())


class Node(Domain):
    size, prefix = 2, "n"


class Color(Enum):
    RED = "red"
    GREEN = "green"


class Pair(Struct):
    node: Node
    color: Color


class Everything(Spec):
    """A variable of each type there is."""

    start = Constant(2**53)
    small = Range(0, 3)
    large = Range("start", "start + 1")
    flag = bool
    color = Color
    node = Node
    perhaps = Option(Node)
    pair = Pair
    pairs = Map(Node, Pair)
    some = SetOf(Color)
    items = Seq(Range(0, 3), 3)
    network = Bag(Pair, 3)

    @action
    def fill(self, node: Node):
        """Put something everywhere."""
        self.small = 2
        self.flag = True
        self.perhaps = node
        self.some.add(Color.GREEN)
        self.items = [3, 1]
        self.network.add(self.pair)
        self.network.add(self.pair)

    @invariant
    def is_empty(self):
        return not self.flag


def itf_of(spec, name):
    (violation,) = explore(spec, Plan((name,))).violations
    return to_itf(spec, violation, origin_of(spec, "mine/spec", None, "mine.py/spec", "python -m checker run mine.py"))


def check(content):
    jsonschema.validate(content, SCHEMA, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize(("spec", "name"), [(Log(), "logs_agree"), (Everything(), "is_empty")])
def test_trace_is_valid_and_every_state_has_every_variable(spec, name):
    content = itf_of(spec, name)
    check(content)
    assert content["vars"] == list(spec.variables)
    for index, state in enumerate(content["states"]):
        assert state.keys() == {"#meta", *content["vars"]}
        assert state["#meta"]["index"] == index
    assert "action" not in content["states"][0]["#meta"]
    assert json.loads(json.dumps(content)) == content


def test_values_of_every_type():
    last = itf_of(Everything(), "is_empty")["states"][-1]
    pair = {"node": "n1", "color": "red"}
    assert last["#meta"] == {"index": 1, "action": "fill", "arguments": {"node": "n1"}}
    assert {name: last[name] for name in last if name != "#meta"} == {
        "small": 2,
        "large": {"#bigint": str(2**53)},
        "flag": True,
        "color": "red",
        "node": "n1",
        "perhaps": {"tag": "Some", "value": "n1"},
        "pair": pair,
        "pairs": {"#map": [["n1", pair], ["n2", pair]]},
        "some": {"#set": ["green"]},
        "items": [3, 1],
        "network": {"#map": [[pair, 2]]},
    }


def test_schema_accepts_the_published_example_and_rejects_invalid_values():
    first = {"#meta": {"index": 0}, "bank": "E", "who": {"#map": [["E", {"#set": ["c1"]}], ["W", {"#set": []}]]}}
    check({"#meta": {"source": "MC.tla"}, "vars": ["bank", "who"], "states": [first]})
    for wrong in ({"x": 2**53}, {"x": {"#map": [["a"]]}}, {"x": {"#bigint": 1}}, {"x": 1.5}, {"x": None}):
        with pytest.raises(jsonschema.ValidationError):
            check({"vars": ["x"], "states": [wrong]})
