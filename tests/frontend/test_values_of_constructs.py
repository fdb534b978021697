"""What the front end makes of a construct has the value that Python gives it: the same steps in both engines."""

import pytest

from checker.frontend import compile_spec
from checker.frontend.program import compile_shared
from checker.language import (
    Bag,
    Constant,
    Domain,
    Map,
    OneOf,
    Option,
    PartialMap,
    Range,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    choose,
    implies,
    replace,
    require,
    subsets,
)
from traces.validate.moves import moves_of


class Node(Domain):
    size, prefix = 2, "n"


class Small(Range):
    low, high = 0, 2


class Signed(Range):
    low, high = -2, 2


class Read(Struct):
    at: Small


class Write(Struct):
    at: Small
    is_last: bool


class Stop(Struct):
    pass


ODD = frozenset((1, 3))
LARGE_MODES = ("large", "huge")
ONLY = (1,)


class Values(Spec):
    """Each action writes what it computes into some of the variables."""

    limit = Constant(2, at_least=1)
    mode = Constant("large", one_of=("small", "large", "huge"))
    sets = Constant((frozenset({1, 2}), 2))
    flags = Seq(bool, 8)
    number = Range(-9, 99)
    line = Seq(Small, 4)
    bag = Bag(Small, 4)
    maybe = Option(Small)
    chosen = SetOf(Small)
    wide = SetOf(Range(1, 5))
    stock = PartialMap(Node, Small)
    level = Map(Node, Small)
    message = OneOf(Read, Write, Stop)
    spare = Option(Bag(Small, 2))
    family = SetOf(SetOf(Small))

    def init(self, line: Seq(Small, 2), maybe: Option(Small)):
        self.line = line
        self.maybe = maybe
        self.stock = {Node[0]: 1}
        self.chosen = {0, 2}
        self.message = Write(2, False)

    @action
    def tuples_have_an_order(self, a: Small, b: Small, c: Small):
        one, other = (a, b), (b, c)
        self.flags = [one < other, one <= other, one > other, one >= other, (a, b, c) < (b, c, a), (a,) <= (c,)]

    @action
    def sets_have_a_partial_order(self, s: SetOf(Small)):
        kept = self.chosen
        self.flags = [s < kept, s <= kept, s > kept, s >= kept, s in subsets(kept), s in subsets(Small, size=2)]
        self.flags.append(s in subsets(kept, size=1))
        self.wide = {1, 5} if self.chosen <= self.wide else {x + 1 for x in s}

    @action
    def slices_may_end_at_none(self, end: Option(Small)):
        self.line = (self.line[end:] + self.line[:end])[:4]
        self.flags = [self.line[None:] == self.line, self.line[:None] == self.line]

    @action
    def numbers(self, x: Signed):
        self.number = abs(x) + 10 * len(Node) + 20 * len((x, x, x)) + max(x, self.limit)

    @action
    def conditions(self, p: bool, q: bool):
        self.flags = [implies(p, q), not (p and q), p or q, p != q]

    @action
    def members(self, x: Signed, n: Node):
        self.flags = [
            x in Small,
            x in range(x),
            x in ODD,
            x in ONLY,
            self.maybe in Small,
            None in range(2),
            n in Node,
        ]

    @action
    def members_of_range(self):
        self.flags = [self.maybe in range(1, 3), self.maybe in ONLY, self.maybe in self.line, self.maybe in Small]
        require(self.mode in LARGE_MODES)

    @action
    def tuples_are_lists(self, x: Small):
        self.line = (x, 1)
        self.bag = (2, x, 1)

    @action
    def options_hold_bags(self, x: Small):
        self.spare = [x, 1]

    @action
    def sets_hold_sets(self, x: Small):
        self.family = {self.chosen | {x}, frozenset({x}), frozenset({1}) | frozenset({x})}

    @action
    def parts_of_a_constant(self):
        for x in self.sets[0]:
            self.number = x
        self.family = {self.sets[0]}

    @action
    def lists_change(self, x: Small):
        self.line.insert(0, x)
        self.line += [x]
        self.line.extend(self.line[:1])

    @action
    def items_are_taken(self, n: Node):
        self.maybe = self.line.pop()
        self.level[n] = self.line.pop(0)

    @action
    def the_first_item_is_taken(self):
        first = self.line.pop(0)
        self.number = first

    @action
    def entries_are_taken(self, n: Node):
        taken = self.stock.pop(n, 2)
        self.number = taken + 10 * len(self.stock)

    @action
    def a_present_entry_is_taken(self, n: Node):
        self.level[n] = self.stock.pop(n)

    @action
    def an_entry_is_dropped(self, n: Node):
        self.stock.pop(n)
        self.line.pop(0)

    @action
    def sets_change(self, x: Small):
        self.chosen.remove(x)
        self.chosen |= {2}
        self.chosen ^= {1}

    @action
    def parts_are_assigned(self, n: Node, x: Small):
        self.level[n], (self.maybe, self.number) = x, (x, 3)

    @action
    def a_choice(self):
        part = choose(subsets(Small))
        x = choose(self.line)
        require(x in part)
        self.chosen = part

    @action
    def any_choice(self):
        x = choose(Small)
        self.number = x

    @action
    def sends(self, m: OneOf(Read, Write, Stop)):
        self.message = m

    @action
    def patterns(self):
        match self.message:
            case Write(at=0 | 1, is_last=True):
                self.number = 1
            case Read() | Stop():
                self.number = 2
            case Write(at=2 | _):
                self.number = 3

    @action
    def patterns_of_values(self):
        match self.maybe:
            case None:
                self.number = 4
            case 0 | 2:
                self.number = 5
            case _:
                self.number = 6

    @action
    def sums_may_leave_a_range(self, n: Node):
        self.level[n] = sum(self.line)

    @action
    def counts_may_leave_a_range(self, n: Node):
        self.level[n] = len(self.stock) - 1

    @action
    def tests_narrow(self):
        message = self.message
        require(self.maybe is not None)
        require(isinstance(message, Write))
        self.number = self.maybe + message.at

    @action
    def replaces(self, x: Signed):
        self.message = replace(Write(1, True), at=x)

    def halved(self, x: Small, by: Signed = 2):
        return x // by

    @action
    def annotations(self, x: Signed, y: Signed):
        least: Small = x
        self.number = least + self.halved(y)

    @action
    def numbers_that_fall_in_a_loop(self):
        rest, last = 9, 2
        for x in self.line:
            rest -= x + 1
            last = min(last, x)
        self.number = rest + last

    @action
    def lists_in_loops(self):
        self.number = sum(x * y for x in self.line for y in self.line if x != y)
        self.chosen = {x for x in self.line if x > 0}
        self.flags = [x > 0 for x in sorted(self.line)]


def steps(engine, most=150):
    """Return the steps of the first states, by state: action, arguments and state, and the steps that fail."""
    moves = moves_of(Values(), engine, ())
    waiting, seen = moves.initial(), {}
    for key in waiting:
        state = moves.state(key)
        if state in seen or len(seen) == most:
            continue
        expanded = moves.expand(key)
        seen[state] = (
            {(name, *one): moves.state(to) for name, each in expanded.moves.items() for one, to in each},
            {(name, one) for name, each in expanded.failures.items() for one, _ in each},
        )
        waiting.extend(to for each in expanded.moves.values() for _, to in each)
    return seen


def test_both_engines_take_the_same_steps():
    native, interpreted = steps("native"), steps("python")
    both = native.keys() & interpreted.keys()
    assert len(both) > 80
    for state in both:
        assert native[state] == interpreted[state], state
    assert {name for taken, _ in native.values() for name, *_ in taken} == {shape.name for shape in Values().shapes()}


class Sized(Spec):
    """Constants of each kind: two are read when the spec runs, the others while it is compiled."""

    most = Constant(2, at_least=1)
    size = Constant(2)
    weights = Constant({Node[0]: 1, Node[1]: 2})
    count = Range(0, 9)
    line = Seq(Small, "size")

    @action
    def grow(self):
        require(self.count < self.most)
        self.count += 1


class Named(Sized):
    mode = Constant("b", one_of=("a", "b", "c"))
    is_fast = Constant(False)

    @action
    def shrink(self):
        require(self.count > 0 and self.mode in ("b", "c") and not self.is_fast)
        self.count -= 1


class Indexed(Named):
    first = Constant(0)
    leader = Option(Node)

    @action
    def lead(self):
        self.leader = Node[self.first]


@pytest.mark.parametrize(("spec", "names"), [(Sized, ("most",)), (Named, ("is_fast", "mode", "most")), (Indexed, ())])
def test_the_constants_that_one_program_leaves_open(spec, names):
    asked = spec()
    program, left = compile_shared(asked, [])
    assert left == names
    assert asked.constant_values.keys() >= set(names), "the spec keeps its values"
    known = compile_spec(asked, [])
    assert [one.name for one in program.actions] == [one.name for one in known.actions]
    assert ("ConstantRead(" in repr(program)) == bool(names)
