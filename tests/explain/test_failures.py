"""Explanations of false properties: the false part and its values."""

import pytest

from checker.explain.failures import explain
from checker.language import (
    Bag,
    Domain,
    Map,
    Option,
    Range,
    Seq,
    SetOf,
    Spec,
    implies,
    invariant,
    step_invariant,
)


class Node(Domain):
    size, prefix = 2, "n"


def is_low(value):
    return value < 1


class Base(Spec):
    """Helpers that a subclass overrides."""

    a = Range(0, 9)
    b = Range(0, 9)
    flag = bool
    owner = Option(Node)
    up = SetOf(Node)
    log = Map(Node, Seq(Range(0, 9), 3))
    bag = Bag(Range(0, 9), 3)

    def is_ordered(self, low: int, high: int):
        return low <= high


class Shapes(Base):
    """One property for each shape of expression."""

    def is_long(self, low: int):
        return len(self.log[Node[0]]) > low and not self.is_short(low)

    def is_short(self, low: int):
        return self.is_ordered(len(self.log[Node[0]]), low)

    @invariant
    def helpers_of_helpers(self):
        return self.is_long(1) and self.is_long(2)

    def agree(self, one: Node, other: Node, at: int):
        return self.log[one][at] == self.log[other][at]

    def is_ordered(self, low: int, high: int):
        return super().is_ordered(low, high)

    def sum_is(self, total: int):
        return self.a + self.b == total

    @invariant
    def compares(self):
        return self.a == self.b

    @invariant
    def chain(self):
        return 0 <= self.a < self.b <= 9

    @invariant
    def conjunction(self):
        return self.a == 4 and self.b > self.a and self.flag

    @invariant
    def disjunction(self):
        return self.a < self.b or self.flag

    @invariant
    def implication(self):
        return not self.a > 3 or self.b > 3

    @invariant
    def implies_call(self):
        return implies(self.a > 3, self.b > 3)

    @invariant
    def negation(self):
        return not (self.flag or self.a == 4)

    @invariant
    def negated_conjunction(self):
        return not (self.a == 4 and not self.flag)

    @invariant
    def all_items(self):
        return all(self.log[n][i] < 7 for n in Node for i in range(len(self.log[n])))

    @invariant
    def any_item(self):
        return any(len(self.log[n]) > 2 for n in Node)

    @invariant
    def none_to_choose(self):
        return any(n == self.owner for n in self.up)

    @invariant
    def no_item(self):
        return not any(self.log[n][0] == 5 for n in Node)

    @invariant
    def conditional(self):
        return self.flag if self.owner is None else self.a < self.b

    @invariant
    def helper(self):
        return all(self.agree(n, m, i) for n in Node for m in Node for i in range(1))

    @invariant
    def helper_with_expression(self):
        return self.sum_is(self.a + 1)

    @invariant
    def inherited_helper(self):
        return self.is_ordered(self.a, self.b)

    @invariant
    def plain_function(self):
        return is_low(self.a)

    @invariant
    def local(self):
        enough = len(self.up) >= 1
        return enough

    @invariant
    def branches(self):
        for n in Node:  # noqa: SIM110
            if len(self.log[n]) == 2:
                return False
        return True

    @invariant
    def nested_branches(self):
        for n in Node:
            if self.a > 3:  # noqa: SIM102
                if len(self.log[n]) == 1:
                    return False
        return True

    @invariant
    def membership(self):
        return self.owner in self.up

    @invariant
    def is_none(self):
        return self.owner is None

    @invariant
    def forgets_to_return(self):
        self.a == self.b  # noqa: B015

    @step_invariant
    def steps(self, old):
        return old.is_ordered(old.a, self.a)

    @invariant(says="{n} holds {self.log[n]} and {self.owner}, flag {self.flag}")
    def says(self):
        return all(len(self.log[n]) < 2 for n in Node)

    @invariant(says="{nonsense.more}")
    def says_wrongly(self):
        return self.flag


STATE = {"a": 4, "b": 2, "flag": False, "owner": 0, "up": set(), "log": ((5, 8), (6,)), "bag": ()}


@pytest.fixture
def spec():
    return Shapes()


def state_of(spec, **changed):
    with spec.bound():
        nodes = list(Node)
        log = dict(zip(nodes, STATE["log"], strict=True))
        return spec.state_of(STATE | {"owner": nodes[0], "log": log} | changed)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("compares", "self.a == self.b is false: 4 is not 2"),
        ("chain", "self.a < self.b is false: 4 is not < 2"),
        ("conjunction", "self.b > self.a is false: 2 is not > 4"),
        ("disjunction", "self.a < self.b is false: 4 is not < 2, and self.flag is false"),
        ("implication", "self.b > 3 is false: 2 is not > 3 (although self.a > 3)"),
        ("implies_call", "self.b > 3 is false: 2 is not > 3 (although self.a > 3)"),
        ("negation", "self.a == 4 is true: 4 is 4"),
        ("negated_conjunction", "self.a == 4 is true: 4 is 4, and self.flag is false"),
        ("all_items", "n = n1, i = 1: self.log[n][i] < 7 is false: 8 is not < 7"),
        ("any_item", "len(self.log[n]) > 2 is false for n in Node: tried n = n1; n = n2"),
        ("none_to_choose", "no n exists for n in self.up"),
        ("no_item", "n = n1: self.log[n][0] == 5 is true: 5 is 5"),
        ("conditional", "self.a < self.b is false: 4 is not < 2"),
        (
            "helper",
            (
                "n = n1, m = n2, i = 0: self.agree(n, m, i) is false: "
                "self.log[n][i] == self.log[m][i] is false: 5 is not 6"
            ),
        ),
        (
            "helper_with_expression",
            "total = 5: self.sum_is(self.a + 1) is false: self.a + self.b == total is false: 6 is not 5",
        ),
        (
            "inherited_helper",
            (
                "self.is_ordered(self.a, self.b) is false: super().is_ordered(self.a, self.b) is false: "
                "self.a <= self.b is false: 4 is not <= 2"
            ),
        ),
        (
            "helpers_of_helpers",
            "self.is_long(2) is false: len(self.log[Node[0]]) > 2 is false: 2 is not > 2",
        ),
        ("plain_function", "is_low(self.a) is false: self.a < 1 is false: 4 is not < 1"),
        ("local", "len(self.up) >= 1 is false: 0 is not >= 1"),
        ("branches", "n = n1: len(self.log[n]) == 2 is true: 2 is 2"),
        ("nested_branches", "n = n2: len(self.log[n]) == 1 is true: 1 is 1"),
        ("membership", "self.owner in self.up is false: n1 is not in {}"),
        ("is_none", "self.owner is None is false: n1 is not none"),
        ("forgets_to_return", "the method ends without returning a truth value"),
    ],
)
def test_explanation_of_an_expression(spec, name, expected):
    state = state_of(spec)
    assert not spec.holds(name, state)
    assert explain(spec, name, state) == expected


def test_explanation_of_a_step_invariant_names_old_and_self(spec):
    old, new = state_of(spec), state_of(spec, a=3)
    assert explain(spec, "steps", new, old).endswith("old.a <= self.a is false: 4 is not <= 3")


def test_says_text_comes_first_and_prints_values_as_traces_do(spec):
    own, generic = explain(spec, "says", state_of(spec)).split("\n")
    assert own == "n1 holds [5, 8] and n1, flag no"
    assert generic == "n = n1: len(self.log[n]) < 2 is false: 2 is not < 2"


def test_error_in_says_is_noted_after_the_generic_explanation(spec):
    text = explain(spec, "says_wrongly", state_of(spec))
    assert text.startswith("self.flag is false (says= cannot be evaluated: NameError")
