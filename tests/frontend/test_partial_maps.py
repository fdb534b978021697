"""Partial maps: keys that may be absent."""

import pytest

from checker.engines import both
from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.language import Domain, Map, Option, PartialMap, Range, Seq, Spec, Struct, action, invariant, require
from checker.language.json_values import from_plain_json, to_plain_json
from checker.run.plan import Plan


class Node(Domain):
    size, prefix = 2, "n"


class Small(Range):
    low, high = 0, 2


class Session(Struct):
    epoch: Small
    log: Seq(Small, 2)


class Cache(Spec):
    """A cache with entries that are added, changed and removed."""

    entries = PartialMap(Node, Small)
    sessions = PartialMap(Small, Session)
    total = Range(0, 4)
    last = Option(Small)

    @action
    def put(self, node: Node, value: Small):
        self.entries[node] = value

    @action
    def add(self, node: Node):
        require(node in self.entries and self.entries[node] < 2)
        self.entries[node] += 1

    @action
    def remove(self, node: Node):
        require(node in self.entries)
        del self.entries[node]
        require(node not in self.entries)

    @action
    def drain(self):
        self.total = sum(value for _, value in self.entries.items())
        for node, value in self.entries.items():
            del self.entries[node]
            self.last = value

    @action
    def open(self, epoch: Small):
        if epoch in self.sessions:
            require(len(self.sessions[epoch].log) < 1)
            self.sessions[epoch].log.append(epoch)
        else:
            self.sessions[epoch] = Session(epoch=epoch, log=[])

    @action
    def reset(self):
        require(len(self.sessions) == 3)
        self.sessions = {0: Session(epoch=1, log=[])}
        self.entries = {n: self.entries.get(n, 1) for n in self.entries if self.entries[n] > 0}
        self.last = self.entries.get(Node[0])

    @invariant
    def readers_agree(self):
        return (
            len(self.entries) == len(self.entries.keys()) == len(self.entries.values())
            and all(self.entries[node] == value for node, value in self.entries.items())
            and sum(self.entries.values()) <= 4
            and 7 not in self.sessions
        )


class Careless(Cache):
    @action
    def remove(self, node: Node):
        del self.entries[node]


class Reader(Cache):
    @action
    def remove(self, node: Node):
        self.last = self.entries[node]


class NoneStored(Cache):
    @action
    def remove(self, node: Node):
        self.entries[node] = None


def test_engines_have_the_same_states():
    plan = Plan(tuple(Cache().properties), max_depth=4)
    results = [engine.explore(Cache(), plan) for engine in (native, explorer, both)]
    assert len({(result.distinct_states, result.generated_states) for result in results}) == 1
    assert results[0].distinct_states == 151
    assert all(not result.violations for result in results)


@pytest.mark.parametrize("spec", [Careless, Reader, NoneStored])
@pytest.mark.parametrize("engine", [native, explorer])
def test_an_absent_key_or_value_is_an_error(spec, engine):
    result = engine.explore(spec(), Plan(tuple(spec().properties)))
    assert result.verdict == "error"


def test_values_are_numbered_in_their_order():
    kind = Cache().resolved_type(PartialMap(Node, Small))
    values = list(kind.values())
    assert len(values) == kind.cardinality() == 4**2
    assert sorted(values, key=kind.sort_key) == values
    for value in values:
        assert from_plain_json(kind, to_plain_json(kind, value)) == value


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (PartialMap(Node, Option(Small)), "a value of a PartialMap cannot be None"),
        (PartialMap(Session, Small), "a Map's key must be"),
    ],
)
def test_a_wrong_declaration_is_refused(declaration, message):
    with pytest.raises(SpecError, match=message):
        Cache().resolved_type(declaration)


class TotalStored(Cache):
    total_map = Map(Node, Small)

    @action
    def remove(self, node: Node):
        self.entries = self.total_map


def test_a_total_map_is_no_partial_map():
    with pytest.raises(SpecError, match="expected"):
        compile_spec(TotalStored())


def test_a_plain_state_has_only_the_keys_that_are_present():
    spec = Cache()
    (state,) = spec.initial_states()
    assert state.to_dict()["entries"] == {}
    assert spec.step(state, "put", "n2", 1).to_dict()["entries"] == {"n2": 1}
