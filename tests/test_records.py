"""`checker.records.dataclass` means the same as that of the standard library."""

import copy
import dataclasses
import functools
import pickle
import re
from pathlib import Path

import pytest

from checker import records

ROOT = Path(__file__).parents[1]


def _pair(frozen, eq, kw_only):
    """Return a class with all kinds of fields and a class that inherits from it, as declared by a decorator."""

    def declared(decorator):
        @decorator(frozen=frozen, eq=eq, kw_only=kw_only)
        class Base:
            values: int
            name: str = "none"
            items: list = dataclasses.field(default_factory=list)
            hidden: int = dataclasses.field(default=0, repr=False, compare=False)
            fixed: int = dataclasses.field(default=7, init=False)

        @decorator(frozen=frozen, eq=eq, kw_only=kw_only)
        class Derived(Base):
            more: tuple = ()

            def __post_init__(self):
                object.__setattr__(self, "name", self.name.upper())

        return Base, Derived

    return declared(records.dataclass), declared(dataclasses.dataclass)


OPTIONS = [(frozen, eq, kw_only) for frozen in (False, True) for eq in (False, True) for kw_only in (False, True)]
CALLS = [
    ((1,), {}),
    ((1, "a", [2]), {}),
    ((), {"values": 3, "items": [4], "hidden": 5}),
    ((), {}),
    ((1, 2, 3, 4, 5, 6), {}),
    ((1,), {"fixed": 8}),
    ((1,), {"values": 2}),
]

CHANGES = [
    lambda record: setattr(record, "values", 2),
    lambda record: setattr(record, "other", 2),
    lambda record: delattr(record, "values"),
    lambda record: hash(record) and None,
]


def _outcome(call):
    """Return the result of a call, or the exception with its text."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(("frozen", "eq", "kw_only"), OPTIONS)
@pytest.mark.parametrize("number", [0, 1], ids=["base", "derived"])
def test_instances_are_as_those_of_the_standard_library(frozen, eq, kw_only, number):
    ours, theirs = (classes[number] for classes in _pair(frozen, eq, kw_only))
    for values, named in CALLS:
        found, expected = (_outcome(functools.partial(cls, *values, **named)) for cls in (ours, theirs))
        if isinstance(expected, tuple):
            assert found == expected
            continue
        assert repr(found) == repr(expected)
        assert dataclasses.asdict(found) == dataclasses.asdict(expected)
        assert dataclasses.replace(found, values=9).values == 9
        assert (found == copy.deepcopy(found)) is (expected == copy.deepcopy(expected)) is eq
        assert found != expected and found != 1
        for change in CHANGES:
            assert _outcome(functools.partial(change, found)) == _outcome(functools.partial(change, expected))
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__dataclass_params__.eq is eq


def test_equal_records_have_equal_hashes_and_unequal_ones_are_distinguished():
    @records.dataclass(frozen=True)
    class Place:
        x: int
        y: int

    @records.dataclass(frozen=True)
    class Single:
        x: int

    assert len({Place(1, 2), Place(1, 2), Place(2, 1), Single(1), Single(1), Single(2)}) == 4


def test_methods_of_the_class_are_kept():
    @records.dataclass(frozen=True)
    class Named:
        x: int

        def __repr__(self):
            return "named"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 5

    assert (repr(Named(1)), Named(1) == Named(2), hash(Named(1))) == ("named", True, 5)


def test_a_subclass_without_the_decorator_may_have_further_attributes():
    @records.dataclass(frozen=True)
    class Frozen:
        x: int

    class Open(Frozen):
        pass

    record = Open(1)
    record.more = 2
    assert record.more == 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        record.x = 3


def test_a_record_is_pickled():
    from checker.ir.nodes import Site

    assert pickle.loads(pickle.dumps(Site("a.py", 1, "x"))) == Site("a.py", 1, "x")


def test_the_packages_of_the_checker_use_it():
    exempt = {"records.py"}
    found = [
        path
        for path in (ROOT / "checker").rglob("*.py")
        if re.search(r"^from dataclasses import .*\bdataclass\b", text := path.read_text(), re.MULTILINE)
        and path.name not in exempt
        and "slots=True" not in text
    ]
    assert found == []


@pytest.mark.parametrize("frozen", [False, True])
def test_all_instances_of_a_class_are_alike_before_and_after_its_init_is_compiled(frozen):
    @records.dataclass(frozen=frozen)
    class Point:
        x: int
        y: int = 2
        parts: list = dataclasses.field(default_factory=list)

        def __post_init__(self):
            object.__setattr__(self, "x", self.x + 1)

    @records.dataclass(frozen=frozen)
    class Derived(Point):
        z: int = 4

    first = vars(Point)["__init__"]
    points = [Point(number, 5, []) for number in range(30)]
    assert vars(Point)["__init__"] is not first
    assert [(point.x, point.y, point.parts) for point in points] == [(number + 1, 5, []) for number in range(30)]
    assert Derived(1, 2, [3], 4) == Derived(1, 2, [3]) == Derived(x=1, parts=[3]) != Derived(2)
    with pytest.raises(TypeError, match="positional argument"):
        Derived()
