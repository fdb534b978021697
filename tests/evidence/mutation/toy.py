"""A small spec with mutants of known verdicts; it uses super(), a module function and a helper of a property."""

from checker.language import (
    Constant,
    Domain,
    Map,
    Range,
    Scenario,
    SetOf,
    Spec,
    action,
    invariant,
    reachable,
    require,
)


class Node(Domain):
    size, prefix = "nodes", "n"


def successor(number):
    return number + 1


class Counting(Spec, abstract=True):
    """Counts."""

    nodes = Constant(1, at_least=1)
    limit = Constant(3, at_least=1)
    count = Map(Node, Range(0, 8))

    def may_count(self, node: Node):
        return self.count[node] < self.limit

    @action
    def increment(self, node: Node):
        """Count one up."""
        require(self.may_count(node))
        self.count[node] = successor(self.count[node])


class Even(Counting):
    """Counts up to two."""

    def may_count(self, node: Node):
        return super().may_count(node) and self.count[node] != 2

    def is_small(self, node: Node):
        return self.count[node] <= 2

    @invariant
    def at_most_two(self):
        return all(self.is_small(node) for node in Node)

    @invariant
    def never_negative(self):
        return all(self.count[node] >= 0 for node in Node)

    @reachable
    def is_two(self):
        return any(self.count[node] == 2 for node in Node)


class Buffer(Spec):
    """A buffer that is taken once and given back; nothing reads `free`."""

    phase = Range(0, 2)
    free = Range(0, 1)

    def init(self):
        self.free = 1

    @action
    def take(self):
        require(self.phase < 1)
        self.phase, self.free = 1, 0

    @action
    def give_back(self):
        require(self.phase == 1)
        self.phase = 2
        self.free = 1

    @invariant
    def in_bounds(self):
        return self.free <= 1


class Typed(Spec):
    """Changes of its operands and numbers have no type, and a local is read by one condition only."""

    nodes = Constant(1, at_least=1)
    all = SetOf(Node)
    some = SetOf(Node)

    @action
    def add(self, node: Node):
        first = Node[0]
        require(first not in self.all)
        require(self.some <= self.all)
        self.all.add(node)

    @invariant
    def fine(self):
        return len(self.some) == 0


scenarios = [
    Scenario(Even, "violated", dict(limit=1), expect={"is_two": None}),
    Scenario(Even, "small"),
    Scenario(Even, "two", dict(nodes=2)),
]
