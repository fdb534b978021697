"""Conversion of states to plain JSON and back."""

import json

import pytest

from checker.language import Bag, BoundsError, Domain, Enum, Map, Option, Range, Seq, SetOf, Spec, Struct
from checker.language.json_values import from_plain_json, to_plain_json


class Node(Domain):
    size, prefix = 2, "n"


class Role(Enum):
    FOLLOWER = 1
    LEADER = 2


class Record(Struct):
    id: Range(0, 9)
    by: Option(Node)


class Everything(Spec):
    """A spec with a variable of each type."""

    flag = bool
    number = Range(-3, 3)
    role = Role
    owner = Option(Node)
    log = Map(Node, Seq(Record, 2))
    marked = Map(bool, Range(0, 3))
    up = SetOf(Node)
    messages = Bag(Record, 3)


@pytest.fixture
def spec():
    return Everything()


def filled(spec):
    with spec.bound():
        first, second = Node
        record = Record(id=7, by=second)
        return spec.state_of(
            {
                "flag": True,
                "number": -2,
                "role": Role.LEADER,
                "owner": None,
                "log": {first: [record, Record(id=0, by=None)], second: []},
                "marked": {False: 1, True: 3},
                "up": {second},
                "messages": [record, record],
            }
        )


def test_plain_form(spec):
    with spec.bound():
        plain = {name: to_plain_json(kind, filled(spec).values[name]) for name, kind in spec.variables.items()}
    assert plain == {
        "flag": True,
        "number": -2,
        "role": "leader",
        "owner": None,
        "log": {"n1": [{"id": 7, "by": "n2"}, {"id": 0, "by": None}], "n2": []},
        "marked": {"no": 1, "yes": 3},
        "up": ["n2"],
        "messages": [{"id": 7, "by": "n2"}] * 2,
    }


def test_round_trip(spec):
    state = filled(spec)
    with spec.bound():
        plain = json.loads(
            json.dumps({name: to_plain_json(kind, state.values[name]) for name, kind in spec.variables.items()})
        )
        again = spec.state_of({name: from_plain_json(kind, plain[name]) for name, kind in spec.variables.items()})
    assert again == state


@pytest.mark.parametrize(
    ("variable", "plain"),
    [
        ("flag", 1),
        ("number", 4),
        ("number", True),
        ("role", "observer"),
        ("owner", "n3"),
        ("log", {"n1": []}),
        ("log", []),
        ("up", {}),
        ("messages", [{"id": 1}]),
    ],
)
def test_wrong_values_are_refused(spec, variable, plain):
    with spec.bound(), pytest.raises(BoundsError):
        from_plain_json(spec.variables[variable], plain)
