"""`min` and `max` with a key, defaults of parameters, and annotated locals."""

import pytest

from checker.frontend import compile_spec
from checker.frontend.symmetry import symmetry_of
from checker.language import Domain, Map, Option, Range, Seq, SetOf, Spec, action, invariant, require
from checker.testing import CheckFailed, SpecChecks


class Node(Domain):
    size, prefix = 3, "n"


class Small(Range):
    low, high = 0, 2


class Election(Spec):
    """Elects the voter with the greatest epoch, then the longest log."""

    voters = SetOf(Node)
    epoch = Map(Node, Small)
    end = Map(Node, Small)
    sizes = Seq(Small, 2)
    leader = Option(Node)

    def rank(self, node, weight=3, offset: int = 0):
        return weight * self.epoch[node] + self.end[node] + offset

    @action
    def write(self, node: Node):
        used: int = 0
        for other in Node:
            used += self.end[other]
        require(used < 2)
        self.end[node] += 1
        if len(self.sizes) < 2:
            self.sizes.append(self.end[node])

    @action
    def vote(self, node: Node):
        require(sum(self.epoch[other] for other in Node) < 2)
        self.voters.add(node)
        self.epoch[node] += 1

    @action
    def elect(self):
        require(len(self.voters) > 0)
        self.leader = max(self.voters, key=lambda node: (self.epoch[node], self.end[node]))

    @action
    def resign(self):
        self.leader = min((node for node in self.voters if self.end[node] > 0), key=self.rank, default=None)

    @invariant
    def both_keys_choose_the_same(self):
        return len(self.voters) == 0 or max(self.voters, key=self.rank) == max(
            self.voters, key=lambda node: self.rank(node, offset=1) + self.rank(node, 0) * 0
        )

    @invariant
    def the_first_of_equal_items_is_chosen(self):
        return min(Node, key=lambda node: 0) == Node[0] and max(self.sizes, key=lambda size: -size, default=0) <= 2


class Careless(Election):
    @action
    def elect(self):
        self.leader = max(self.voters, key=self.rank)


@pytest.mark.parametrize("engine", ["native", "python"])
def test_engines_choose_the_same_item(engine):
    assert SpecChecks(engine=engine).check(Election).distinct_states == 220


@pytest.mark.parametrize("engine", ["native", "python"])
def test_an_empty_collection_without_a_default_is_an_error(engine):
    with pytest.raises(CheckFailed, match="elect leaves the bounds of a type"):
        SpecChecks(engine=engine).check(Careless)


def test_a_choice_by_number_is_not_symmetric():
    (asymmetry,) = symmetry_of(compile_spec(Election())).asymmetries
    assert asymmetry.sentence.startswith("`max(self.voters, key=")
    assert asymmetry.sentence.endswith("` depends on the order of Node")
