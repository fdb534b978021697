"""Conditions of invariants as Python expressions: every value of a constant is accepted by exactly the right text."""

import pytest

from checker.engines.smt.invariant_source import MEMBERSHIP, ConstantExpression, UnsupportedInvariantError, _python_text
from checker.engines.smt.lemmas.vocabulary import texts_of
from checker.language import Domain, Enum, Option, Range, SetOf, Spec, Struct


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Name(Domain):
    size, prefix = 2, "n"


class Pair(Struct):
    number: Range(0, 1)
    name: Option(Name)


NUMBER = ConstantExpression("self.x", {0: "0", 1: "1", 2: "2", 3: "3"})
FLAG = ConstantExpression("self.on", {0: "not ", 1: ""})
MEMBER = ConstantExpression(f"n {MEMBERSHIP} self.s", {0: "not in", 1: "in"})
PRESENT = ConstantExpression("self.leader", {0: "is None", 1: "is not None"})
INSIDE = ConstantExpression("self.y", {0: "5", 1: "6"}, (("self.y is None", "self.y is not None"),))


@pytest.mark.parametrize(
    ("expression", "patterns", "text"),
    [
        (NUMBER, {1}, "self.x == 1"),
        (NUMBER, {0, 1, 3}, "self.x != 2"),
        (NUMBER, {0, 3}, "self.x in (0, 3)"),
        (NUMBER, set(), "False"),
        (NUMBER, {0, 1, 2, 3}, "True"),
        (FLAG, {0}, "not self.on"),
        (FLAG, {1}, "self.on"),
        (MEMBER, {0}, "n not in self.s"),
        (MEMBER, {1}, "n in self.s"),
        (PRESENT, {0}, "self.leader is None"),
        (PRESENT, {1}, "self.leader is not None"),
        # The blank pattern is that of a constant that has no value.
        (INSIDE, {0}, "(self.y is None or self.y == 5)"),
        (INSIDE, {1}, "(self.y is not None and self.y == 6)"),
        (INSIDE, {0, 1}, "True"),
        (INSIDE, set(), "False"),
    ],
)
def test_the_condition_of_some_bit_patterns(expression, patterns, text):
    assert expression.among(frozenset(patterns)) == text


def test_a_constant_that_no_expression_reads_is_refused():
    with pytest.raises(UnsupportedInvariantError):
        ConstantExpression("self.s", {0: "0"}, is_readable=False).among(frozenset({0}))


class Typed(Spec):
    colour = Colour
    node = Name
    maybe = Option(Name)
    pair = Pair
    names = SetOf(Name)


@pytest.mark.parametrize(
    ("variable", "texts"),
    [
        ("colour", ["Colour.RED", "Colour.GREEN"]),
        ("node", ["Name[0]", "Name[1]"]),
        ("maybe", ["None", "Name[0]", "Name[1]"]),
        ("names", ["set()", "{Name[0]}", "{Name[1]}", "{Name[0], Name[1]}"]),
        (
            "pair",
            [f"Pair(number={number}, name={name})" for number in (0, 1) for name in ("None", "Name[0]", "Name[1]")],
        ),
    ],
)
def test_values_are_written_as_python_reads_them(variable, texts):
    kind = Typed().variables[variable]
    assert sorted(_python_text(kind, value) for value in kind.values()) == sorted(texts)
    assert sorted(texts_of(kind)) == sorted(texts)
