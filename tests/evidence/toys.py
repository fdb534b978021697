"""Specs with unused parts and unmet premises, which are known by construction."""

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
    implies,
    invariant,
    reachable,
    require,
    step_invariant,
)


class Node(Domain):
    size, prefix = "nodes", "n"


class Phase(Enum):
    IDLE = "idle"
    BUSY = "busy"
    DONE = "done"


class Item(Struct):
    owner: Option(Node)
    weight: Range(0, 3)


class PartlyUnused(Spec):
    """Counts from 0 to 2 and does not use most of its declarations."""

    nodes = Constant(2, at_least=1)
    may_finish = Constant(False)

    count = Range(0, 5)
    phase = Map(Node, Phase)
    never_touched = Range(0, 3)
    flag = bool
    queue = Seq(Item, 3)
    seen = SetOf(Range(0, 3))
    head = Option(Item)
    leader = Option(Node)
    letters = Bag(Range(0, 1), 2)

    @action
    def increment(self, node: Node):
        require(self.count < 2)
        self.count += 1
        self.phase[node] = Phase.BUSY
        self.seen.add(self.count)

    @action
    def enqueue(self):
        require(len(self.queue) < 2)
        self.queue.append(Item(owner=None, weight=1))

    @action
    def finish(self, node: Node):
        require(self.may_finish)
        require(self.phase[node] == Phase.BUSY)
        self.phase[node] = Phase.DONE

    @action
    def rewrite(self):
        require(self.count == 2)
        self.count = 2

    @action
    def stay(self):
        require(self.count == 1)

    @reachable
    def is_three(self):
        return self.count == 3


class Implications(Spec):
    """The variable x takes the values 0, 1 and 2. Premises of `seldom_...` are never true, those of `often_...` are."""

    nodes = Constant(2, at_least=1)
    x = Range(0, 9)
    log = Map(Node, Seq(Range(0, 3), 2))

    @action
    def go(self):
        require(self.x < 2)
        self.x += 1

    @invariant
    def seldom_or(self):
        return not self.x > 5 or self.x == 7

    @invariant
    def often_or(self):
        return not self.x > 1 or self.x == 2

    @invariant
    def seldom_conditional(self):
        return self.x < 9 if self.x == 4 else True

    @invariant
    def often_conditional(self):
        return self.x < 9 if self.x == 1 else True

    @invariant
    def seldom_implies(self):
        return implies(self.x == 6, self.x < 7)

    @invariant
    def often_implies(self):
        return implies(self.x == 2, self.x < 7)

    @invariant
    def seldom_early_return(self):
        if self.x < 5:
            return True
        return self.x == 8

    @invariant
    def often_early_return(self):
        if self.x < 2:
            return True
        return self.x == 2

    @invariant
    def seldom_all(self):
        return all(entry < 3 for node in Node for entry in self.log[node])

    @invariant
    def seldom_filter(self):
        return all(self.x < 9 for node in Node if self.x == 3)

    @invariant
    def often_filter(self):
        return all(self.x < 9 for node in Node if self.x == 2)

    @invariant
    def seldom_inside(self):
        return all(not (self.x == 1 and len(self.log[node]) > 0) or self.x < 9 for node in Node if self.x > 0)

    @invariant
    def seldom_never_both(self):
        return not (self.x == 5 and self.log[Node[0]] == self.log[Node[1]])

    @invariant
    def seldom_in_helper(self):
        return all(self.fits(node) for node in Node)

    def fits(self, node: Node):
        return not len(self.log[node]) > 1 or self.x > 0

    @invariant
    def seldom_loop(self):
        for node in Node:
            for entry in self.log[node]:
                if entry > self.x:
                    return False
        return True

    @invariant
    def seldom_branch(self):
        if self.x == 7:
            return self.x > 6
        return self.x < 5

    @invariant
    def one_of_two_ways(self):
        return self.fits(Node[0]) or self.x > 3

    @step_invariant
    def seldom_step(self, old):
        return not old.x > 4 or self.x > 4

    @step_invariant
    def often_step(self, old):
        return old.x != 1 or self.x == 2


class Guarded(Spec):
    """A premise that leaves its bounds in states in which the property does not evaluate it."""

    log = Seq(Range(0, 3), 2)

    @action
    def append(self):
        require(len(self.log) < 2)
        self.log.append(1)

    @invariant
    def first_is_small(self):
        return len(self.log) == 0 or not self.log[0] > 2
