"""Digests of graphs: the native engine and the interpreter compute the same, and other graphs have other digests."""

import threading

import pytest

from checker.engines.native.graph_digest import graph_digest
from checker.engines.native.lowering.state_layout import encode, layout_of, state_layout
from checker.engines.python import graph_digest as reference
from checker.language import (
    Constant,
    Domain,
    Map,
    Range,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    choose,
    constraint,
    require,
    view,
)


class Node(Domain):
    size, prefix = "nodes", "n"


class Message(Struct):
    sender: Node
    numbers: Seq(Range(0, 40), 4)


class Network(Spec):
    """Has negative arguments, arguments from collections, states of several words, and a constraint."""

    nodes = Constant(1, at_least=1)
    level = Map(Node, Range(-2, 2))
    network = Seq(Message, 2)
    seen = SetOf(Range(0, 5))

    @action
    def shift(self, node: Node, by: Range(-1, 1)):
        require(-2 <= self.level[node] + by <= 2)
        self.level[node] += by

    @action
    def send(self, node: Node):
        require(len(self.network) < 2 and self.level[node] == 1)
        self.network.append(Message(sender=node, numbers=[self.level[node] + 2]))

    @action
    def forget(self):
        message = choose(self.network)
        self.network = [other for other in self.network if other != message]

    @action
    def look(self):
        number: Range(0, 5) = choose({self.level[node] + 2 for node in Node})
        require(len(self.seen) < 1)
        self.seen.add(number)

    @constraint
    def few(self):
        return self.level[Node[0]] < 2


class Argument(Spec):
    """An action whose argument does not matter: only the labels of its steps differ between the variants below."""

    numbers = SetOf(Range(0, 3))

    @action
    def take(self):
        _number = choose({number for number in self.numbers if self.is_offered(number)})
        self.numbers = set()

    @action
    def fill(self):
        require(len(self.numbers) == 0)
        self.numbers = {0, 1, 2}

    def is_offered(self, number: Range(0, 3)):
        return number < 2


class OtherArgument(Argument):
    def is_offered(self, number: Range(0, 3)):
        return number > 0


class SameArgument(Argument):
    def is_offered(self, number: Range(0, 3)):
        return not number >= 2


class Buffer(Spec):
    """A buffer that is taken once and given back."""

    phase = Range(0, 2)
    free = Range(0, 1)

    def init(self):
        self.free = 1

    @action
    def take(self):
        require(self.phase == 0)
        self.phase, self.free = 1, 0

    @action
    def give_back(self):
        require(self.phase == 1)
        self.phase, self.free = 2, 1


class NothingGivenBack(Buffer):
    @action
    def give_back(self):
        require(self.phase == 1)
        self.phase = 2


class Viewed(Buffer):
    @view
    def shown(self):
        return self.phase


class Leaving(Buffer):
    @action
    def take(self):
        self.phase += 1


def native(spec, max_states=None):
    return graph_digest(spec, max_states=max_states, cancelled=threading.Event())


def interpreted(spec):
    def packed(kind, argument):
        layout = layout_of(kind)
        words = [0] * layout.storage
        encode(layout, argument, words)
        return words

    layout = state_layout(spec.variables)
    return reference.graph_digest(spec, lambda state: layout.encode(state.values), packed)


@pytest.mark.parametrize("spec", [Network(), Argument(), Buffer()], ids=str)
def test_native_digest_is_that_of_the_interpreter(spec):
    found = native(spec)
    assert found == interpreted(spec)
    assert found.states >= 2
    assert len(found.text) == 96


def test_equal_graphs_have_equal_digests():
    assert native(Argument()) == native(SameArgument())


@pytest.mark.parametrize(("spec", "other"), [(Argument, OtherArgument), (Buffer, NothingGivenBack)])
def test_graphs_with_the_same_counts_are_distinguished(spec, other):
    one, two = native(spec()), native(other())
    assert one.sums != two.sums
    assert one.steps == two.steps


@pytest.mark.parametrize("spec", [Viewed(), Leaving()], ids=str)
def test_incomplete_graph_has_no_digest(spec):
    assert native(spec) is None


def test_limited_graph_has_no_digest():
    assert native(Buffer(), max_states=2) is None
