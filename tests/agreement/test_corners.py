"""Corner cases of Python's semantics: a small spec for each, on which the native engine and the interpreter agree."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from checker.engines.native.kernels.single_state import SingleStateEngine
from checker.run.plan import Plan
from tests.agreement.engines import compare_runs, compare_states
from tests.agreement.spec_source import HEADER
from tests.support.source_modules import load

TYPES = """
class Node(Domain):
    size, prefix = 3, "n"

class Role(Enum):
    A = 5
    B = 1
    C = 3

class Small(Range):
    low, high = 0, 5

class Signed(Range):
    low, high = -4, 3

class Message(Struct):
    sender: Node
    number: Range(-20, 400)

class Pair(Struct):
    left: Small
    right: Option(Node)

class Outer(Struct):
    pair: Option(Pair)
    line: Seq(Small, 2)
    group: SetOf(Node)

class Sparse(Struct):
    a: Range(0, 4)
    b: Range(0, 2)
    c: Range(0, 2)

class Random(Spec):
    small = Small
    signed = Signed
    node = Node
    flag = bool
    maybe = Option(Small)
    leader = Option(Node)
    pair = Option(Pair)
    outer = Outer
    line = Seq(Small, 3)
    other = Seq(Small, 3)
    options = Seq(Option(Small), 3)
    deep = Seq(Seq(Small, 2), 2)
    wide = Map(Node, Seq(Message, 4))
    nodes = SetOf(Node)
    smalls = SetOf(Small)
    maybes = SetOf(Option(Small))
    sparse = SetOf(Sparse, 3)
    net = Bag(Message, 3)
    seen = SetOf(Message, 2)
    ranks = Map(Role, Option(Pair))
    flags = Map(bool, Small)
"""

CORNERS = {
    "a slice bound that is None is the end of the sequence": """
    def init(self, m: Option(Small)):
        self.maybe = m
        self.line = [1, 2, 3]

    @action
    def head(self):
        self.line = self.line[: self.maybe]

    @action
    def tail(self):
        self.line = self.line[self.maybe :]

    @action
    def whole(self):
        self.line = self.line[None:None]

    @action
    def cut(self):
        del self.line[self.maybe :]
""",
    "a comprehension's variable hides a local": """
    @action
    def hides(self, r: Node):
        x = self.small
        if any(r == self.leader for r in Node) and all(x >= 0 for x in self.line):
            self.node = r
            self.small = x
            self.nodes = {r for r in Node if r != self.node} | {r}
""",
    "the first iterable of a comprehension is evaluated outside it": """
    @invariant
    def total(self):
        x = self.line
        return sum(x for x in x) >= max((x for x in self.other), default=len(x))
""",
    "implies evaluates both arguments": """
    @invariant
    def first(self):
        return implies(self.line[2] > 0, True)

    @invariant
    def second(self):
        return implies(False, self.line[2] > 0)
""",
    "membership in a range evaluates both bounds": """
    @invariant
    def below(self):
        return self.small in range(3, self.line[1])

    @invariant
    def above(self):
        return self.small not in range(self.line[1], 0)
""",
    "None is not in a range or a class": """
    @invariant
    def classes(self):
        return (self.leader in Node) == (self.leader is not None) and (self.maybe in Small) == (self.maybe is not None)

    @invariant
    def ranges(self):
        return self.maybe not in range(0, 3)

    @invariant
    def errors(self):
        return self.wide[self.node][1].sender in Node
""",
    "all([...]) evaluates the whole list": """
    @invariant
    def every(self):
        return all([self.line[i] > 0 for i in range(3)])

    @invariant
    def some(self):
        return any({self.line[i] == 0 for i in range(3)})
""",
    "a false require of a constant ends an action": """
    switch = Constant(False)

    @action
    def before(self, n: Small):
        self.small = self.line[2]
        require(n > 0 and self.switch)
        self.small = self.line[0]

    @action
    def within(self, n: Small):
        self.small = n
        if n > 2:
            self.only_if_switched()
            self.small = 5
        self.signed = 1

    def only_if_switched(self):
        require(self.switch)
        self.signed = 3
""",
    "membership of items of other types": """
    @action
    def discards(self, n: Small):
        self.smalls.discard(n - 3)
        self.smalls.discard(self.maybe)
        self.maybes.discard(self.signed)
        self.nodes.discard(self.leader)
        self.small = self.line.count(self.maybe) + self.line.count(self.signed) + self.options.count(None)

    @invariant
    def compares(self):
        return self.smalls <= {1, 2, -3} or self.smalls | {9} != self.maybes and self.smalls ^ {self.maybe} == {2}

    @invariant
    def contains(self):
        return self.maybe in self.line or self.signed in self.options or self.signed - 4 in self.smalls
""",
    "equality of maps and displays": """
    @invariant
    def built(self):
        return self.ranks != {r: self.pair for r in Role}

    @action
    def write(self):
        self.flags = {False: self.small, True: self.flags[False]}
        self.ranks = {r: None if r == Role.A else Pair(self.small, self.leader) for r in Role}
""",
    "a struct checks its fields when it is created": """
    @invariant
    def overflows(self):
        return Pair(left=self.small + 1, right=None).left > 0

    @invariant
    def replaces(self):
        return replace(Pair(0, self.node), left=self.signed).right == self.node

    @action
    def unhashed(self):
        require(Outer(None, [self.small], {self.node}) in {self.outer})
""",
    "a change in place through an option": """
    @action
    def left(self):
        self.pair.left = self.small

    @action
    def below(self, n: Small):
        self.outer.pair.left += n

    @action
    def deeper(self, r: Role):
        self.ranks[r].right = self.leader

    @action
    def line_of(self):
        self.outer.line.append(self.outer.pair.left)
        self.outer.group.add(self.outer.pair.right)
""",
    "a loop iterates over a snapshot": """
    @action
    def moves(self):
        for x in self.line:
            self.line.pop(0)
            self.other.append(x)
            if len(self.other) == 2:
                break

    @action
    def grows(self):
        for m in self.net:
            self.net.remove(m)
            self.net.add(Message(self.node, m.number - 1))

    @action
    def empties(self):
        for i, x in enumerate(self.line):
            if i == 1:
                continue
            self.line.clear()
            self.smalls.add(x)

    @action
    def halves(self):
        for n in self.nodes:
            for k in Node:
                if k == n:
                    break
                self.nodes.discard(k)
""",
    "returns inside loops": """
    def first_above(self, n):
        for x in self.line:
            for y in self.other:
                if x + y > n:
                    return x
                if y > x:
                    break
        return None

    def number_of(self, n: Node):
        if n == self.leader:
            return 1
        for m in self.wide[n]:
            if m.sender != n:
                return m.number

    @action
    def uses(self, n: Node):
        self.maybe = self.first_above(self.signed)
        self.small = self.number_of(n)
""",
    "division": """
    @invariant
    def quotients(self):
        return self.signed // self.small == self.small // 2

    @invariant
    def remainders(self):
        return self.signed % (self.small - 2) == self.small % -3 and 7 // -2 == -4 and -7 % 3 == 2

    @invariant
    def zero(self):
        return 7 // 0 == 1
""",
    "slices past the end": """
    @action
    def cuts(self, a: Small, b: Small):
        del self.line[a:b]
        self.other = self.other[a:] + self.other[b:a]

    @action
    def cuts_wide(self, n: Node, a: Small):
        del self.wide[n][a:]
        self.wide[n] = self.wide[n][a:5] + self.wide[self.node][:a]

    @action
    def negative(self):
        self.line = self.line[self.signed :]

    @action
    def far(self):
        del self.line[4]

    @action
    def inserts(self, a: Small):
        self.line.insert(a, 1)
""",
    "sets of structs with unused bit patterns": """
    @action
    def adds(self, s: Sparse):
        self.sparse.add(s)

    @action
    def unites(self):
        self.sparse = self.sparse | {Sparse(0, 1, 2)} - {Sparse(4, 2, 2)}

    @invariant
    def counts(self):
        return len({Sparse(s.a, s.b, 0) for s in self.sparse}) < 3
""",
    "parameters of every type": """
    @action
    def take_option(self, o: Option(Pair), b: bool):
        self.pair = o
        self.flag = b

    @action
    def sets(self, s: SetOf(Node), r: Role, x: Signed):
        require(r == Role.C or x > 0)
        self.nodes = s
        self.signed = x

    @action
    def lines(self, line: Seq(Node, 2), m: Map(bool, Role)):
        require(m[True] == Role.B)
        self.leader = line[0]

    @action
    def takes(self, m: Message, n: Node):
        require(m in self.net)
        self.net.remove(m)
        self.node = n

    @action
    def both(self, m: Message, k: Message):
        require(k in self.seen)
        require(m in self.net)
        self.seen.remove(k)
        self.net.add(k)
""",
    "parameters bound to expressions, and choices": """
    inbox = Map(Node, Bag(Message, 2))

    @action
    def sends(self, n: Node, m: Message):
        require(m in self.inbox[n])
        require(m.number > 0)
        self.inbox[n].remove(m)
        self.seen.discard(m)

    @action
    def from_line(self, n: Node, m: Message):
        require(m in self.wide[n])
        self.wide[n] = [k for k in self.wide[n] if k != m]

    @action
    def from_both(self, flag: bool):
        m = choose({k for k in self.inbox[Node[1]] if k.number < 9} | (self.seen if flag else self.seen - self.seen))
        self.inbox[Node[0]].add(m)

    @action
    def from_some(self):
        require(self.flag)
        n = choose(self.nodes)
        m = choose(self.inbox[n])
        self.node = n
        self.inbox[n].remove(m)

    @action
    def choices_after_changes(self, n: Node):
        self.nodes = {n}
        quorum = choose(subsets(Node, size=2))
        require(n in quorum)
        self.nodes = quorum
        member = choose(self.nodes - {n})
        x: Small = choose(range(len(self.nodes), 1 + self.small))
        self.node = member
        self.small = x - 1

    @action
    def subsets_in_order(self):
        part = choose(subsets(self.nodes))
        sizes = 0
        for other in subsets(part, size=1):
            for node in Node:
                sizes += 1 if node in other else 2
        self.small = sizes
        self.nodes = part

    @invariant
    def of_subsets(self):
        return all(len(s) == 2 and s != self.nodes for s in subsets(Node, size=2) if s in subsets(self.nodes))

    @reachable
    def of_pairs(self):
        return sum(len(s) for s in subsets(self.nodes, size=self.small)) == 2
""",
    "errors beside short-circuit evaluation": """
    @invariant
    def guarded(self):
        return len(self.line) > 2 and self.line[2] > 0 or self.flag or self.maybe > 1

    @invariant
    def conditional(self):
        return (self.line[1] if self.flag else self.signed) > 0

    @reachable
    def reached(self):
        return any(self.line[i] > 1 for i in range(3))

    @step_invariant
    def stepped(self, old):
        return old.flag or old.line[0] <= self.line[0] or self.outer.pair.left > 0

    @constraint
    def bounded(self):
        return self.flag or self.maybe < 4

    @action
    def flips(self):
        self.flag = not self.flag
        self.line = [self.small, self.small + 1]
""",
    "pop into the local that is its index": """
    def init(self):
        self.line = [2, 1, 3]

    @action
    def pops(self):
        require(len(self.line) > 2)
        at = self.small
        at = self.line.pop(at)
        self.small = at
""",
    "a guard of a case sees the parts of its pattern": """
    def init(self, left: Small):
        self.pair = Pair(left, Node[0])

    @action
    def matches(self):
        match self.pair:
            case Pair(left=left, right=right) if left > 1 and right is not None:
                self.small = left
            case Pair(left=found) if any(found == item for item in range(2)):
                self.flag = not self.flag
            case None:
                self.small = 0
            case other if self.flag:
                self.pair = None

    @action
    def nests(self):
        match self.outer:
            case Outer(pair=Pair(left=1)):
                self.small = 5
            case Outer(pair=Pair(left=left), line=line) if len(line) == left:
                self.small = 4
            case Outer(pair=None):
                self.outer.pair = self.pair
""",
    "pop of a partial map": """
    sparse_map = PartialMap(Small, Pair)

    def init(self):
        self.sparse_map[1] = Pair(2, None)

    @action
    def pops(self, key: Small):
        popped = self.sparse_map.pop(key)
        self.small = popped.left

    @action
    def pops_or_not(self, key: Small):
        self.pair = self.sparse_map.pop(key, Pair(key, Node[1]))

    @action
    def removes(self, key: Small):
        self.sparse_map.pop(key)
        self.sparse_map.pop(self.small, Pair(0, None))
""",
    "a set of subsets": """
    chosen = SetOf(SetOf(Small), 3)

    def halves(self):
        return {found for found in subsets(Small, size=1) if len(found) > 0}

    @action
    def rises(self):
        require(self.small < 4)
        self.small += 1

    @action
    def chooses(self):
        self.chosen = self.halves() if self.small > 1 else {frozenset({self.small})}

    @invariant
    def few(self):
        return len(self.chosen) < 3
""",
    "a super call on the old state": """
    def is_same(self):
        return self.small == 2

    @action
    def rises(self):
        self.small += 1

    @step_invariant
    def was(self, old):
        return not old.is_same() or self.is_same()

class Base(Random, abstract=True):
    pass

class Random(Random):
    def is_same(self):
        return super().is_same() and self.flag == False
""",
    "helpers that write": """
    def take(self):
        self.small -= 1
        return self.small > 2

    def drop(self, n):
        x = self.line.pop()
        self.other.insert(0, x + n)
        return x

    @action
    def takes(self):
        require(self.flag or self.take())
        if not self.take() and self.take():
            self.small = self.drop(1)
        x = self.drop(self.small)
        self.maybe = x
""",
    "locals that grow": """
    @action
    def sums(self):
        total = 0
        for x in self.line:
            for y in self.other:
                total += x
                total = total + y - 1
        self.small = min(max(total, 0), 5)
        self.signed = total % 7 - 4

    @action
    def changes(self):
        found = None
        for x in self.options:
            if x is None:
                found = x
            elif found is None or found < x:
                found = x
        self.maybe = found
""",
    "displays as arguments": """
    def size(self, m: Map(Node, Small), line: Seq(Small, 2), group: SetOf(Small)):
        return m[self.node] + len(line) + len(group)

    @invariant
    def sizes(self):
        return self.size({n: 9 for n in Node}, [self.signed, 7, 8], {self.small + 1, -5}) < 14
""",
    "equal sets of sets": """
    @invariant
    def compared(self):
        return {self.smalls, self.smalls & {1}} != {self.smalls} or self.deep == [self.line, self.other]
""",
    "a property that leaves its bounds in one step and is false in another": """
    @action
    def choose_small(self, small: Range(1, 2)):
        self.small = small

    @step_invariant
    def divided(self, old):
        return 4 // (self.small - 1) < 2

    @invariant
    def remainder(self):
        return self.small == 0 or 4 % (self.small - 1) == 7
""",
    "a property that was false before, and leaves its bounds in a step in which another one does": """
    @action
    def choose_small(self):
        self.small = 2 - self.small

    @invariant
    def fails_first(self):
        return 4 // (2 - self.small) < 2

    @step_invariant
    def divided(self, old):
        return 4 // (2 - self.small) < 2
""",
}


@pytest.mark.parametrize("corner", CORNERS)
def test_corner(corner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load(HEADER + TYPES + CORNERS[corner], tmp_path).Random()
    # Both probes are compared with the interpreter in the same states.
    monkeypatch.setattr(spec, "expand", functools.cache(spec.expand))
    monkeypatch.setattr(spec, "holds", functools.cache(spec.holds))
    for with_lanes in (False, True):
        probe = SingleStateEngine(spec, with_lanes=with_lanes)
        compare_states(spec, probe, seed=1, reached=8, invented=40)
    names = tuple(spec.properties)
    compare_runs(spec, [Plan(names, "all", workers, max_depth=2, deadlock=True) for workers in (1, 2)])


REPLACED = """
class Holder(Struct):
    record: Range(0, 5)
    struct: Range(0, 5)

class Random(Spec):
    holder = Holder

    @action
    def change(self):
        self.holder = replace(self.holder, record=(self.holder.record + 2) % 6, struct=1)
"""


def test_a_field_may_have_the_name_of_a_parameter_of_replace(tmp_path: Path) -> None:
    spec = load(HEADER + REPLACED, tmp_path).Random()
    compare_states(spec, SingleStateEngine(spec), seed=1, reached=8, invented=40)
