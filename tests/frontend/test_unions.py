"""Unions of structs: `isinstance`, `match`, and fields after a test."""

import pytest

from checker.engines import both
from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.errors import SpecError
from checker.language import (
    Bag,
    Domain,
    Map,
    OneOf,
    Option,
    Range,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    invariant,
    require,
)
from checker.language.json_values import from_plain_json, to_plain_json
from checker.run.plan import Plan


class Node(Domain):
    size, prefix = 2, "n"


class Offset(Range):
    low, high = 0, 2


class Fetch(Struct):
    replica: Node
    offset: Offset


class Append(Struct):
    value: Offset


class Stop(Struct):
    pass


class Archive(Struct):
    log: Seq(Range(0, 2**40), 3)


Message = OneOf(Fetch, Append, Stop)


class Network(Spec):
    """Messages of several kinds in one bag, and a union that takes several words."""

    net = Bag(Message, 2)
    last = Option(Message)
    answers = Map(Node, Message)
    seen = SetOf(Message)
    store = OneOf(Archive, Append)

    @action
    def send(self, message: Message):
        require(len(self.net) < 2 and (not isinstance(message, Fetch) or message.offset < 2))
        self.net.add(message)

    @action
    def receive(self, message: Message):
        require(message in self.net)
        match message:
            case Fetch(replica=replica, offset=0):
                self.answers[replica] = message
            case Fetch(replica=replica):
                self.answers[replica] = Append(message.offset)
            case Append(value=value) as append:
                self.last = append
                require(value == 1)
            case _:
                self.last = message
        self.seen.add(message)
        self.net.remove(message)

    @action
    def archive(self):
        store = self.store
        if not isinstance(store, Archive):
            require(store.value < 1)
            self.store = Archive([2 * store.value])
            return
        require(len(store.log) < 2)
        self.store = Archive([1099511627775]) if len(store.log) == 0 else Append(len(store.log))

    @invariant
    def last_is_known(self):
        return self.last is None or self.last in self.seen

    @invariant
    def alternatives_are_told_apart(self):
        last = self.last
        return not isinstance(last, (Append, Stop)) or isinstance(last, Stop) or last.value == 1


def test_engines_have_the_same_states():
    plan = Plan(tuple(Network().properties), max_depth=4)
    results = [engine.explore(Network(), plan) for engine in (native, explorer, both)]
    assert len({(result.distinct_states, result.generated_states) for result in results}) == 1
    assert results[0].distinct_states == 159
    assert all(not result.violations for result in results)


def test_values_are_ordered_by_alternative_and_then_by_fields():
    kind = Network().resolved_type(Message)
    values = list(kind.values())
    assert len(values) == kind.cardinality() == 6 + 3 + 1
    assert sorted(values, key=kind.sort_key) == values
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("value", [Fetch(replica=Node(1), offset=2), Append(value=1), Stop()])
def test_json_names_the_alternative(value):
    kind = Network().resolved_type(Message)
    plain = to_plain_json(kind, kind.coerce(value))
    assert list(plain) == [type(value).__name__]
    assert from_plain_json(kind, plain) == value


def test_a_union_needs_several_structs():
    for wrong in ((Fetch,), (Fetch, Fetch), (Fetch, Node), ()):
        with pytest.raises(SpecError, match="OneOf takes"):
            OneOf(*wrong)
