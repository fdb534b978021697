"""The analysis that finds the symmetric domains of a spec: what it accepts, and what it refuses with which sentence."""

import sys
import textwrap

import pytest

from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.frontend.symmetry import symmetry_of
from checker.language import (
    Bag,
    Constant,
    Domain,
    Enum,
    Map,
    Option,
    PartialMap,
    Range,
    Refinement,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    constraint,
    invariant,
    require,
    step_invariant,
    subsets,
)
from tests.support.source_modules import load


class Node(Domain):
    size, prefix = 3, "n"


class Counted(Domain):
    size, prefix = "nodes", "c"


class Mode(Enum):
    IDLE = "idle"
    BUSY = "busy"


class Message(Struct):
    sender: Node
    number: Range(0, 3)


WEIGHTS = {Node[0]: 2, Node[1]: 1, Node[2]: 1}
EQUAL = {Node[0]: 1, Node[1]: 1, Node[2]: 1}


class Base(Spec, abstract=True):
    weights = Constant(WEIGHTS)
    equal = Constant(EQUAL)

    level = Map(Node, Range(0, 3))
    peers = Map(Node, SetOf(Node))
    log = Map(Node, Seq(Range(0, 3), 3))
    active = SetOf(Node)
    leader = Option(Node)
    mode = Mode
    total = Range(0, 9)
    order = Seq(Node, 3)
    network = Bag(Message, 3)
    owed = PartialMap(Node, Range(0, 3))
    debt = Range(-9, 0)

    @action
    def stay(self):
        pass


class Symmetric(Base):
    """Everything that does not depend on the names of members."""

    @action
    def keyed(self):
        for node in Node:
            self.level[node] = 0
            self.log[node].clear()
            if node in self.active:
                self.peers[node].add(node)

    @action
    def totals(self):
        count, found, most, members = 0, False, 0, set()
        for node in self.active:
            level = self.level[node]
            count += level
            found = found or level > 1
            most = max(most, level)
            members |= self.peers[node]
        require(found and count > 1 and most > 0)
        self.active = members

    @action
    def whole_sets(self):
        for node in Node:
            self.active.add(node)
            self.total += 1
            self.mode = Mode.BUSY

    @action
    def totals_written_the_other_way(self):
        members, most = set(self.active), 0
        for node in Node:
            self.total = self.level[node] + self.total
            self.debt -= 1
            members = self.peers[node] | members
            most = max(self.level[node], most)
            self.network.add(Message(node, 1))
        for node in self.active:
            self.debt += -1
            self.peers[node].remove(node)
        require(most > 1)
        self.active = members

    @action
    def loops_in_loops(self):
        for node in Node:
            for other in Node:
                if other != node and self.level[other] > 0:
                    self.peers[node].add(other)
            for number in range(2):
                if number in self.log[node]:
                    break
                self.log[node].append(number)

    @action
    def conditions(self, node: Node):
        self.total = (1 if node in self.active else 2) + len([n + 1 for n in range(self.total, 9)])
        self.order = (self.order if self.total > 2 else [node]) + self.order

    @action
    def lists_that_are_counted(self):
        found = [self.level[node] for node in Node]
        require(len(found) == 3 and 2 in found and sum(found) > 0 and sorted(found)[0] == 0)

    @action
    def helpers(self, node: Node):
        self.reset(node)
        for other in Node:
            self.reset(other)
        require(self.is_first(node))

    def reset(self, node):
        self.level[node] = 0
        self.owed[node] = 1

    def is_first(self, node):
        for other in Node:
            if self.level[other] > 2:
                return False
        return len(self.order) > 0 and self.order[0] == node

    @action
    def search(self):
        is_busy = False
        for node in Node:
            if self.level[node] == 2:
                is_busy = True
                break
        require(is_busy)

    @action
    def set_of_all_members(self):
        self.active = set(Node)
        self.total = sum(self.equal[node] for node in Node)

    @invariant
    def folds(self):
        return all(self.log[node][0] == 1 for node in Node) or any(len(q) > 1 for q in subsets(Node))

    @invariant
    def slices(self):
        return all(len(self.log[node][self.total :]) < 4 for node in Node) and any(
            len(self.log[node][: self.debt]) < 4 for node in Node
        )

    @step_invariant
    def steps(self, old):
        return all(self.level[node] >= old.level[node] for node in old.active)

    @constraint
    def within(self):
        return max(self.level[node] for node in Node) < 3


def test_everything_symmetric_is_accepted():
    found = symmetry_of(compile_spec(Symmetric()))
    assert [str(domain) for domain in found.domains] == ["Node"]
    assert found.asymmetries == ()
    # Whether an index that does not exist, or is negative, fails before an item decides depends on the order.
    assert [fold.site.text for fold in found.unordered_folds] == [
        "all((self.log[node][0] == 1 for node in Node))",
        "any((len(self.log[node][:self.debt]) < 4 for node in Node))",
    ]


class NamesInProperty(Base):
    @invariant
    def wrong(self):
        return self.leader != Node[1]


class NamesInConstraint(Base):
    @constraint
    def wrong(self):
        return Node[2] not in self.active


class NamesInHelper(Base):
    def first(self):
        return Node[0]

    @action
    def go(self):
        self.leader = self.first()


class NamesByConstant(Base):
    @action
    def go(self, node: Node):
        require(self.weights[node] == 2)


class FirstByReturn(Base):
    def first_active(self):
        for node in Node:
            if node in self.active:
                return node
        return None

    @action
    def go(self):
        self.leader = self.first_active()


class NotTheKey(Base):
    @action
    def go(self, chosen: Node):
        for node in Node:
            self.level[chosen] = self.level[node]


class SharedHelper(Base):
    """A helper takes the first item of an ordered list in one action, and of an unordered list in the other."""

    def first_of(self, items):
        return items[0]

    @action
    def first_in_order(self):
        require(len(self.order) > 0)
        self.leader = self.first_of([node for node in self.order if node in self.active])

    @action
    def first_member(self):
        self.leader = self.first_of([node for node in Node if node in self.active])


class SharedHelperSecondArgument(Base):
    def first_of(self, rounds, items):
        return items[rounds]

    @action
    def first_in_order(self):
        require(len(self.order) > 0)
        self.leader = self.first_of(0, [node for node in self.order if node in self.active])

    @action
    def first_member(self):
        self.leader = self.first_of(0, [node for node in self.active if node in self.active])


class AssignsTheParameter(Base):
    def reset(self, node):
        if self.leader is not None:
            node = self.leader
        self.level[node] = 0

    @action
    def go(self):
        for node in Node:
            self.reset(node)


class LastInHelper(Base):
    def lead(self, member):
        self.leader = member

    @action
    def go(self):
        for node in Node:
            self.lead(node)


class LastValueInHelper(Base):
    def count(self, number):
        self.total = number

    @action
    def go(self):
        for node in Node:
            self.count(self.level[node])


class ReturnedList(Base):
    def members(self):
        return [node for node in Node if node in self.active]

    @action
    def go(self):
        self.leader = self.members()[0]


class EffectInPart(Base):
    """A helper that may disable the action is called deep inside an expression, once for each member."""

    def is_raised(self, node):
        require(self.level[node] < 3)
        return self.level[node] > 0

    @action
    def go(self):
        self.total = sum(1 for node in Node if node in self.active and (self.total > 1 or self.is_raised(node)))


class EffectInMap(EffectInPart):
    @action
    def go(self):
        self.level = {node: 1 if self.total > 1 or self.is_raised(node) else 2 for node in Node}


REFUSED = [
    (AssignsTheParameter, "it assigns node"),
    (LastInHelper, "the last iteration decides the value of self.leader"),
    (LastValueInHelper, "the last iteration decides the value of self.total"),
    (ReturnedList, "is a list in the order of Node"),
    (EffectInPart, "calls a helper that uses `require` in the order of Node"),
    (EffectInMap, "calls a helper that uses `require` in the order of Node"),
    (SharedHelper, "`items` is a list in the order of Node"),
    (SharedHelperSecondArgument, "`items` is a list in the order of Node"),
    (NamesInProperty, "`Node[1]` names members of Node"),
    (NamesInConstraint, "`Node[2]` names members of Node"),
    (NamesInHelper, "`Node[0]` names members of Node"),
    (NamesByConstant, "`self.weights` names members of Node"),
    (FirstByReturn, "the first iteration that ends the loop decides the result"),
    (NotTheKey, "an iteration changes self.level, which another one reads"),
]

STATEMENTS = """
# it assigns node
for node in Node:
    if self.leader is not None:
        node = self.leader
    self.level[node] = 0

# is a list in the order of Node
self.order = self.order if self.total > 1 else [node for node in Node if node in self.active]

# is a list in the order of Node
self.order = self.order + [node for node in Node if node in self.active]

# is a list in the order of Node
levels = [self.level[node] for node in Node]
self.total = sum(n for n in range(levels[0], 3))

# is a list in the order of Node
levels = [self.level[node] for node in Node]
self.total = sum(n for n in range(levels[0]))

# is a list in the order of Node
levels = [self.level[node] for node in Node]
self.total = min((self.level[node] for node in self.active), default=levels[0])

# decides the value of self.leader
for node in Node:
    for other in self.peers[node]:
        self.leader = other

# decides the value of self.total
for node in Node:
    for number, level in enumerate(self.log[node]):
        self.total = number + level

# an iteration changes self.active, which another one reads
for node in Node:
    self.active = {node} - self.active

# an iteration changes self.debt, which another one reads
for node in Node:
    self.debt = self.level[node] - self.debt

# `Node[0]` names members of Node
self.leader = Node[0]

# names the members of Node
self.level = {Node[0]: 1, Node[1]: 1, Node[2]: 1}

# the loop `for node in Node` depends on the order of Node: the first iteration that ends
for node in Node:
    if node in self.active:
        self.leader = node
        break

# the loop `for node in self.active` depends on the order of Node: the last iteration decides
for node in self.active:
    self.leader = node

# depends on the order of Node
self.leader = max(Node, key=lambda node: self.level[node])

# the loop `for node in Node` depends on the order of Node: it appends to self.order
for node in Node:
    self.order.append(node)

# is a list in the order of Node
self.order = [node for node in Node if node in self.active]

# is a list in the order of Node
self.total = 1 if [self.level[node] for node in Node] == [0, 0, 1] else 2

# is a list in the order of Node
found = [self.level[node] for node in Node]
self.total = found[0]

# numbers values in the order of Node
for number, node in enumerate(Node):
    self.level[node] = number

# an iteration changes self.level, which another one reads
for node in Node:
    if all(self.level[other] < 2 for other in Node):
        self.level[node] = 2

# an iteration changes self.total, which another one reads
for node in Node:
    if self.total < 2:
        self.level[node] = 1
    self.total += 1

# the last iteration decides the value of self.total
for node in Node:
    self.total += self.level[node]
    self.total -= self.level[node]

# an iteration changes self.total
for node in Node:
    self.total = self.total + self.level[node] - 1

# may fail in one iteration, and another may come before it
for node in Node:
    require(self.log[node][0] > 0)

# the last iteration decides the value of self.leader
for message in self.network:
    self.leader = message.sender

# the last iteration decides the value of self.leader
for node in self.owed:
    self.leader = node
"""
"""Statements of an action, each below what is wrong with it."""


def check_refused(spec, sentence, file):
    result = symmetry_of(compile_spec(spec))
    assert result.domains == ()
    (asymmetry,) = result.asymmetries
    assert sentence in asymmetry.sentence
    assert asymmetry.file == file and asymmetry.line is not None
    with pytest.raises(SpecError, match="Node is not symmetric: "):
        raise asymmetry.error


@pytest.mark.parametrize(("spec", "sentence"), REFUSED, ids=[spec.__name__ for spec, _ in REFUSED])
def test_each_asymmetric_construct_is_refused_with_its_line(spec, sentence):
    check_refused(spec(), sentence, __file__)


@pytest.fixture
def spec_with(tmp_path):
    """Return a function that returns a spec with one action, which consists of some statements from line 10 on."""

    def spec_with_statements(statements):
        source = (
            "from checker.language import action, replace, require, subsets\n"
            "from tests.frontend.test_symmetric_domains import Base, Message, Node\n\n"
            "class Place(Base):\n    def double(self, x):\n        return x * 2\n\n"
            f"    @action\n    def go(self):\n{textwrap.indent(statements, ' ' * 8)}\n"
        )
        return load(source, tmp_path).Place()

    return spec_with_statements


@pytest.mark.parametrize("case", STATEMENTS.strip().split("\n\n"))
def test_each_asymmetric_statement_is_refused_with_its_line(case, spec_with):
    sentence, statements = case.removeprefix("# ").split("\n", 1)
    spec = spec_with(statements)
    check_refused(spec, sentence, sys.modules[type(spec).__module__].__file__)


FIRST = "[n for n in Node if n in self.active][0]"

PLACES = """
self.leader = FIRST
self.leader = FIRST if self.total > 1 else None
self.leader = None if self.total > 1 else FIRST
self.level[FIRST] = 1
self.level[self.order[0]] = self.level[FIRST]
self.peers[FIRST].add(self.order[0])
self.active.add(FIRST)
self.peers = {n: {FIRST} for n in Node}
self.network.add(Message(FIRST, 1))
self.network.add(replace(Message(self.order[0], 1), sender=FIRST))
require(any(m.number > 0 for m in self.network if m.sender == FIRST))
self.order.insert(self.level[FIRST], self.order[0])
self.total = self.owed.pop(FIRST, 1)
self.total = self.owed.get(FIRST, 0)
self.total = self.owed.get(self.order[0], self.level[FIRST])
self.total = self.level[FIRST] + 1
self.total = 1 + self.level[FIRST]
self.debt = -self.level[FIRST]
self.total = abs(self.level[FIRST])
self.total = min(3, self.level[FIRST])
self.total = self.double(self.level[FIRST])
self.total = sum(self.level[FIRST] for n in Node)
self.total = sum(1 for n in self.peers[FIRST])
self.total = max((1 for n in Node if n == FIRST), default=0)
self.total = len({FIRST})
self.total = len(set(self.peers[FIRST]))
self.total = self.order.count(FIRST)
self.total = self.order.index(FIRST)
self.order = self.order[self.level[FIRST] :]
self.order = self.order[: self.level[FIRST]]
self.order = self.order + [FIRST]
self.order = [FIRST] + self.order
self.active = self.active | self.peers[FIRST]
self.leader = max(self.order, key=lambda n: self.level[FIRST])
del self.order[self.level[FIRST]]
del self.owed[FIRST]
require(FIRST in self.active)
require(self.order[0] in self.peers[FIRST])
require(not FIRST in self.active)
require(FIRST == self.leader)
require(self.leader == FIRST)
require((FIRST, 1) == (self.leader, 1))
require(self.total > 1 or FIRST in self.active)
require(FIRST in self.active and self.total > 1)
require(self.level[FIRST] in range(2))
require(self.total in range(self.level[FIRST], 3))
require(self.active in subsets(Node, size=self.level[FIRST]))
require(any(FIRST == n for n in Node))
require(all(n in self.active for n in Node if n == FIRST))
if FIRST in self.active: self.total = 1
for n in self.peers[FIRST]: self.active.add(n)
for n in Node: self.peers[n].add(FIRST)
pair = (FIRST, 1); self.leader = pair[0]
"""
"""Every place of a value, with the first member of a list in the order of the members."""


@pytest.mark.parametrize("statement", PLACES.strip().split("\n"))
def test_a_value_that_depends_on_the_order_is_refused_everywhere(statement, spec_with):
    (asymmetry,) = symmetry_of(compile_spec(spec_with(statement.replace("FIRST", FIRST)))).asymmetries
    assert "is a list in the order of Node" in asymmetry.sentence and asymmetry.line == 10


class Counter(Spec):
    level = Map(Node, Range(0, 3))

    @action
    def raise_first(self):
        self.level[Node[0]] += 1


class Refines(Base):
    refines = Refinement(Counter)


def test_an_abstract_spec_must_be_symmetric_too():
    (asymmetry,) = symmetry_of(compile_spec(Refines())).asymmetries
    assert "`Node[0]` names members of Node" in asymmetry.sentence


class Sized(Spec):
    nodes = Constant(3)
    held = SetOf(Counted)

    @action
    def stay(self):
        pass


class Smaller(Spec):
    nodes = Constant(3)
    held = SetOf(Counted)
    others = SetOf(Node)

    @action
    def stay(self):
        pass


@pytest.mark.parametrize(("constants", "asymmetries"), [(dict(nodes=3), []), (dict(nodes=2), ["Counted"])])
def test_an_abstract_spec_must_have_the_same_members(constants, asymmetries):
    class Detailed(Smaller):
        refines = Refinement(Sized, constants=constants, held=lambda self: set())

    found = symmetry_of(compile_spec(Detailed()))
    assert [str(each.domain) for each in found.asymmetries] == asymmetries
    assert all("sized has 2 members of Counted" in each.sentence for each in found.asymmetries)
    assert "Node" in map(str, found.domains)
