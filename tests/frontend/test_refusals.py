"""The front end refuses what is outside the language, with the file, the line and what to write instead."""

from pathlib import Path
from types import ModuleType

import pytest

from checker.frontend import compile_spec
from checker.language import SpecError
from checker.run import registry
from tests.support.source_modules import load

HEADER = """
from checker.language import (
    Bag, Constant, Domain, Enum, Map, OneOf, Option, Range, Refinement, Seq, SetOf, Spec, Struct,
    action, choose, constraint, implies, invariant, reachable, replace, require, step_invariant, subsets,
)

class Node(Domain):
    size, prefix = "nodes", "n"

class Peer(Domain):
    size, prefix = 2, "p"

class Role(Enum):
    LEADER = 1
    FOLLOWER = 2

class Small(Range):
    low, high = 0, 5

class Wide(Range):
    low, high = 0, 20

class Record(Struct):
    id: Small
    owner: Node

class Message(Struct):
    sender: Node
    number: Range(0, 999)

NO_VALUES = (object(),)
SETS = (frozenset({1, 3}), 2)

def plain(x):
    return x + 1

class Note(Struct):
    text: Small

Letter = OneOf(Record, Note)

class Odd(Spec):
    nodes = Constant(3)
    acks = Constant("all", one_of=("0", "1", "all"))
    small = Small
    flag = bool
    maybe = Option(Small)
    unsure = Option(bool)
    node = Node
    role = Role
    head = Record
    line = Seq(Small, 3)
    names = SetOf(Node)
    net = Bag(Message, 2)
    nets = Map(Small, Bag(Message, 2))
    table = Map(Node, Small)
    pair = tuple[Small, Node]
    letter = Letter
    fifty = 50

    @action
    def stay(self):
        require(self.flag)

    def helper(self, a, b):
        return a == b

    def writes(self):
        self.small = 1
        return True

    def requires(self):
        require(self.flag)
        return True

    def loops(self, n):
        return self.loops(n)

    def kept(self):
        return self.line

    def copied(self):
        return [x for x in self.line]

    def half(self, n=0.5):
        return n
"""

LINES_OF_THE_STATE = ("self.line", "self.kept()", "self.line[0:2]", "(self.line if self.flag else self.line[0:1])")
"""Sequences that the interpreter controls: a negative index is an error of the run."""

LISTS_OF_PYTHON = (
    *("[x for x in self.line]", "self.copied()", "self.copied()[0:2]", "(self.line + [1])", "sorted(self.line)"),
    *("(self.line if self.flag else self.copied())", "(self.copied() if self.flag else self.line)"),
)

STATEMENTS = {
    "while self.flag:\n    self.small = 1": "a while loop is not part of the language: use `for x in range(...)`",
    "try:\n    self.small = 1\nexcept ValueError:\n    pass": "`try` is not part of the language",
    "with self.flag:\n    pass": "`with` is not part of the language",
    "assert self.flag": "`assert` is not part of the language: state the condition as an @invariant",
    "def inner():\n    pass": "a function inside a method is not part of the language: make it a method",
    "class Inner:\n    pass": "a class inside a method is not part of the language: move it to the top of the module",
    "global x": "`global` is not part of the language",
    "import os": "an import inside a method is not part of the language",
    "raise ValueError": "`raise` is not part of the language: disable the action with `require`",
    "self.flag = lambda: 1": "a lambda is not part of the language",
    "x = (n for n in Node)": "a generator is allowed only inside",
    "self.small = 1.5": "1.5 is not a value of the language",
    "self.small = 'x'": "expected Small 0..5, found one of x",
    "x = 'all'": "a local cannot hold a name: compare the constant directly",
    "x = f'{self.small}'": "an f-string is not part of the language",
    "self.small = (x := 3)": "`:=` is not part of the language",
    "self.small = ~self.small": "is not part of the language",
    "self.small = self.small ** 2": "does not take",
    "self.small = self.small / 2": "does not take",
    "self.small = print(1)": "print cannot be called in a spec",
    "print(1)": "print cannot be called in a spec",
    "self.small = self.missing": "missing is neither a state variable nor a constant of Odd",
    "self.missing = 1": "missing is neither a state variable nor a constant of Odd",
    "self.small = missing": "missing is not defined",
    "self.small = self.helper": "helper is a method: call it",
    "self.nothing()": "Odd has no method nothing",
    "self.expand(1)": "expand is not a method of the spec",
    "self.nodes = 3": "nodes is a constant: it cannot be assigned",
    "self = 3": "self cannot be assigned",
    "x = self": "self is not a value: read its variables",
    "self.small = True": "expected Small 0..5, found bool",
    "self.flag = 1": "expected bool, found int 1..1",
    "self.node = Peer[0]": "expected Node, found Peer",
    "self.node = Node[3]": "Node has 3 members, numbered from 0",
    "self.node = Node[self.small]": "the index of Node must be a constant",
    "x = Node": "Node cannot be used here: to iterate over its members, write `for x in Node`",
    "self.small = self.head": "expected Small 0..5, found Record",
    "self.small = self.head.missing": "Record has no field missing; its fields are id, owner",
    "self.small = self.small.id": "a Small 0..5 has no field id",
    "self.head = Record(1)": "Record takes the fields id, owner",
    "self.head = Record(id=1, owner=Node[0], more=1)": "Record takes the fields id, owner",
    "self.head = replace(self.head, more=1)": "Record has no field more",
    "self.head = replace(self.small, id=1)": "replace changes fields of a struct",
    "require(self.small)": "a condition must be a bool: write self.small != 0",
    "require(self.line)": "a condition must be a bool: write len(self.line) > 0",
    "require(self.maybe)": "a condition must be a bool: write self.maybe is not None",
    "require(self.unsure)": "a condition must be a bool: write self.unsure == True",
    "require(self.flag, self.flag)": "require takes 1 argument, 2 were given",
    "require(Node[0] < self.node)": "the members of Node have no order: compare with == and !=",
    "require(self.role > Role.LEADER)": "the members of Role have no order",
    "require(self.flag < True)": "expected an integer, found bool",
    "require(self.node == Peer[0])": "a Node is never equal to a Peer",
    "require(self.role == self.small)": "is never equal to",
    "require(self.node in self.line)": "a Node is never in self.line",
    "require(self.node is Node[0])": "`is` compares with None only",
    "require(self.acks == self.small)": "is never equal to",
    "require(self.small in self.table)": "iterate over the keys of a Map: for key in Node",
    "for x in self.small:\n    pass": "a Small 0..5 cannot be iterated over",
    "for x, y in self.line:\n    pass": "a Small 0..5 cannot be unpacked into 2 names",
    "for x in enumerate(self.line):\n    pass": "enumerate needs two names",
    "for x in self.line:\n    pass\nelse:\n    self.small = 1": "`else` on a loop is not part of the language",
    "for x in range(0, 9, 2):\n    pass": "range takes one or two arguments in this language",
    "for x in self.line:\n    y = x\nself.small = y": "y may have no value here",
    "if self.flag:\n    y = 1\nself.small = y": "y may have no value here: give it one before the branch or loop",
    "self.small = y\ny = 1": "y is not defined",
    "y += 1": "y has no value yet: assign one first",
    "y = 1\ny = True": "y is an int 1..1 elsewhere and a bool here: use two names",
    "self.node = max(self.names, key=lambda a, b: 0)": "a key takes one item: key=lambda x: ...",
    "self.node = max(self.names, key=lambda n: n)": "expected an integer, found Node",
    "self.node = max({Node[0], Node[1]}, key=lambda n: 0)": "Python does not order a set",
    "self.node = max(self.names, self.names, key=plain)": "takes one collection",
    "self.flag = self.helper(1)": "self.helper takes 2 arguments, 1 were given",
    "self.small = min(self.maybe for n in Node)": "an item of min may be None: test it first, or add 0",
    "self.small = max([self.maybe])": "an item of max may be None",
    "self.small = max(self.maybe for n in Node if self.maybe is None)": "an item of max may be None",
    "self.small = max(self.maybe for n in Node if self.maybe is not None for m in Node)": "an item of max may be None",
    "self.small = min(self.line, default=self.maybe)": "the default may be None: test it first",
    "self.small = min(self.line, key=lambda x: self.maybe)": "a key may be None: test it first",
    "x, y = 1, 2, 3": "3 values are unpacked into 2 names",
    "x, y = self.head": "a Record cannot be unpacked: only a tuple can",
    "x, *y = 1, 2": "*y cannot be assigned",
    "self.small = self.small @ 2": "the operator in `self.small @ 2` does not take",
    "x, y, z = self.pair": "a tuple[Small 0..5, Node] cannot be unpacked into 3 names",
    "self.small = self.letter.id": "self.letter is Record or Note: name it with a local, before you read .id",
    "letter = self.letter\nself.small = letter.id": "test it with isinstance, or use match, before you read .id",
    "letter = self.letter\nif isinstance(letter, Note):\n    self.small = letter.id": "Note has no field id",
    "x = self.letter\nrequire(isinstance(x, Note) or x.text == 1)": "Record has no field text",
    # What a test shows ends with its construct.
    **{
        f"x = self.letter\n{test}\nself.flag = x.text == 1": "test it with isinstance, or use match"
        for test in (
            "self.flag = all(n == 1 for n in self.line if isinstance(x, Note))",
            "self.flag = isinstance(x, Note) and x.text == 1",
            "self.flag = not isinstance(x, Note) or x.text == 1",
            "self.flag = x.text == 1 if isinstance(x, Note) else False",
            "if isinstance(x, Note):\n    self.flag = x.text == 1",
            "if not isinstance(x, Note):\n    x = Note(1)\nx = self.letter",
            "for n in range(2):\n    require(isinstance(x, Note))\n    x = self.letter",
        )
    },
    "self.flag = isinstance(self.letter, Message)": "a OneOf(Record, Note) is never Message",
    "self.flag = isinstance(self.letter, Node)": "Node is not a struct",
    "self.flag = isinstance(self.small, Note)": "a Small 0..5 is never Note",
    "self.letter = Message(Node[0], 1)": "expected OneOf(Record, Note), found Message",
    "self.letter.text = 1": "self.letter.text cannot be assigned",
    "match self.letter:\n    case Note(1):\n        pass": "a pattern names the fields: case Fetch(replica=r)",
    "x = 1\nmatch self.letter:\n    case Note(text=x) if x > 1:\n        self.small = x": "x has a value already",
    "match self.letter:\n    case Note(text=x) if any(x > 1 for x in self.line):\n        self.small = x": (
        "x is a part of the pattern: use another name in the comprehension"
    ),
    "match self.letter:\n    case Note(text=x) if x > 1:\n        pass\n    case _:\n        self.small = x": (
        "x may have no value here"
    ),
    "match self.letter:\n    case [x]:\n        self.small = x": "this pattern is not part of the language",
    "match self.letter:\n    case Note(text=x) | Record(id=x):\n        self.small = x": "write a case for each",
    "self.pair[0] = 1": "a part of a tuple cannot be changed: assign a new tuple",
    "x = self.pair[2]": "a tuple[Small 0..5, Node] has 2 items, numbered from 0",
    "x = self.pair[self.small]": "have no common type: write [0] for the first item",
    "x = self.pair.first": "write [0] for its first item",
    "self.flag = self.pair < self.pair": "only tuples of integers, of one length, have an order",
    "self.pair = (1, 2)": "expected tuple[Small 0..5, Node], found tuple[int 0..5, int 2..2]",
    "x = (self.acks, 1)": "items of type one of 0, 1, all cannot be stored",
    "x = {(1, [2])}": "Python cannot put a tuple[int 1..1, Seq(int 2..2, 1)] into a set: write frozenset(...)",
    "for q in subsets(Node):\n    x = {q}": "Python cannot put a SetOf(Node) into a set: write frozenset(...)",
    "x = [n for n, in self.names]": "a Node cannot be unpacked into 1 names",
    "x = y = 1": "assign to one target at a time",
    "x: Small": "the local needs a value: x: Small = ...",
    "x: missing = 1": "missing is not a type",
    "x = self.line\nx.append(1)": "x is a value, not a part of the state",
    "x = self.head\nx.id = 1": "x is a value, not a part of the state",
    "x = self.table\nx[self.node] = 1": "x is a value, not a part of the state",
    "x = self.line\nx.pop()": "x is a value, not a part of the state",
    "x = self.line.append(1)": "append changes a collection: use it as a statement on a part of self",
    "self.line.sort()": "has no method sort in this language",
    "self.names.pop()": "has no method pop",
    "self.net.discard(Message(Node[0], 1))": "a bag has no discard",
    "self.line.insert(1)": "insert takes 2 arguments, 1 were given",
    "self.line.extend(self.names)": "extend takes a sequence",
    "self.line[0:1] = [1]": "assign the whole sequence",
    "require(self.acks == 'some')": "one of 0, 1, all is never equal to one of some: write one of its names",
    "require(1 == True)": "an int 1..1 is never equal to a bool",
    "self.line = self.line[::2]": "a slice has no step in this language",
    "self.small = self.line[-1]": "an index is never negative",
    **{f"self.small = {base}[self.small - 1]": "write max(self.small - 1, 0)" for base in LISTS_OF_PYTHON},
    **{f"x = {base}\nself.small = x[self.small - 1]": "may be negative" for base in LISTS_OF_PYTHON},
    "self.small = self.names[0]": "a SetOf(Node) cannot be indexed",
    "del self.table[self.node]": "del removes items of a sequence, not of a Map",
    "self.flag = self.small": "write a comparison",
    "self.small = sum(self.line, default=1)": "sum does not take default= in this language",
    "self.flag = any((x == 1 for x in self.line), default=True)": "any does not take default= in this language",
    "self.small = min(self.line, reverse=True)": "min does not take reverse= in this language",
    "self.small = self.flag": "write `1 if ... else 0`",
    "self.names = self.node": "expected SetOf(Node), found Node: write {...} around the item",
    "self.line = self.small": "found Small 0..5: write [...] around the item",
    "self.net = Message(Node[0], 1)": "found Message: write [...] around the item",
    "for x in SETS[0]:\n    self.small = x": "Python does not order a set that is not in the state",
    "x = {{self.small} | {1}}": "into a set: write frozenset(...)",
    "x = {{self.small} | frozenset({1})}": "into a set: write frozenset(...)",
    "require(self.acks == 'all')\nself.small = missing": "missing is not defined",
    "require(self.flag)\nself.small = missing": "missing is not defined",
    "del self.small": "del removes an item or a slice of a sequence",
    "self.small": "this has no effect",
    "self.flag = self.half() == 1": "the default of n is not a value of the language",
    "self.helper(1)": "helper takes 2 arguments, 1 were given",
    "self.helper(1, 2, 3)": "helper takes 2 arguments, 3 were given",
    "self.helper(a=1, c=2)": "helper takes a, b",
    "self.small = plain(True)": "does not take bool and int",
    "self.flag = self.loops(1)": "loops calls itself: recursion is not part of the language",
    "self.flag = self.writes() == True": "writes changes the state: assign its result to a local first",
    "self.names = {n for n in Node if self.writes()}": "writes changes the state",
    "self.table = {n: 1 for n in Peer}": "expected Map(Node, Small 0..5), found Map(Peer",
    "self.table = {Node[0]: 1}": "needs exactly one value for each key",
    "x = {Node[0]: 1}": "a dict is allowed only where a Map is assigned",
    "x = {n: 1 for n in self.names}": "a Map is built with one value for each key",
    "self.line = [1, True]": "one display has an int 1..1 and a bool: use items of one type",
    "self.small = 1 if self.flag else True": "one branch is an int 1..1, the other a bool",
    "self.small = len(self.small)": "len takes a set, sequence or bag",
    "self.small = min(self.line, key=1)": "1 cannot be called in a spec",
    "self.small = sum(self.names)": "expected an integer, found Node",
    "self.line = sorted(self.names)": "sorted takes integers",
    "self.small = 10 ** 30": "does not take",
    "self.flag = self.small < 10000000000000000000000": "is beyond 62 bits: use smaller numbers",
    "t = 1\nfor x in self.line:\n    t = t + t\nself.small = t * 2": "the result has no known bounds",
    "t = 1\nfor x in self.line:\n    t = t - 1\nself.small = t * 2": "the result has no known bounds",
    "for n in self.names | {self.node}:\n    self.node = n": "Python does not order a set that is not in the state",
    "x = set(n for n in Node)\nfor n in x:\n    self.node = n": "Python does not order a set that is not in the state",
    "for x in subsets({self.node}):\n    self.names = x": "Python does not order a set that is not in the state",
    # Each pass over the body shows one more local that may hold the set.
    "x = self.names\ny = self.names\nz = self.names\nfor n in Node:\n"
    "    for m in z:\n        self.node = m\n    z = y\n    y = x\n    x = {n}": "Python does not order a set",
    "self.line = [x for x in {1, self.small}]": "iterate over range(0, 6) and test with `in`",
    "x = self.line + self.line\nself.small = x[self.small - 1]": "write max(self.small - 1, 0)",
    "self.line = (self.line + [1])[self.small - 1 :]": "write max(self.small - 1, 0)",
    "small = self.small + 1": "the local small is assigned and never read: to change the state, write self.small",
    "spare = self.small\nspare += 1": "the local spare is assigned and never read: remove it",
    "spare: Small = self.small": "the local spare is assigned and never read: remove it",
    "self.line.clear(1)": "clear takes 0 arguments, 1 were given",
    "self.names.clear(1)": "clear takes 0 arguments, 1 were given",
    "self.net.clear(1)": "clear takes 0 arguments, 1 were given",
    "for x in range(3, 1):\n    self.small = x": "range(3, 1) is empty",
    "x = int\nself.small = x": "int cannot be used here: it is a type",
    "for x in self.table.values():\n    pass": "iterate over the keys: for key in Node, and write self.map[key]",
    "self.names = self.names.union({self.node})": "a SetOf(Node) has no method union in this language: write a | b",
    "require(self.names.issubset({self.node}))": "has no method issubset in this language: write a <= b",
    "self.node = next(n for n in Node)": "next cannot be called in a spec: give the action a parameter",
    "self.small = int(self.flag)": "a bool becomes one with `1 if flag else 0`",
    "self.small = sum(n in self.names for n in Node)": "count with sum(1 for ... if n in self.names)",
    "self.role = Role.MISSING": "Role has no member MISSING: the members are LEADER, FOLLOWER",
    "self.role = Role.LEADR": "did you mean LEADER? The members are LEADER, FOLLOWER",
    "self.role = Role(1)": "Role cannot be called: write a member, as in Role.LEADER",
    "self.node = Node(1)": "Node cannot be called: write a member, as in Node[0]",
    "self.role = 'LEADER'": "expected Role, found one of LEADER: write a member, as in Role.LEADER",
    "self.small = small": "small is not defined: write self.small",
    "self.smal = 1": "smal is neither a state variable nor a constant of Odd: did you mean small?",
    "self.line.appendleft(1)": "write self.queue.insert(0, x)",
    "async def inner():\n    pass": "a function inside a method is not part of the language",
    "return 3": "advance must not return a value",
    "yield 3": "yield is not part of the language",
}


def compiled(text: str, folder: Path) -> ModuleType:
    module = load(text, folder)
    compile_spec(module.Odd())
    return module


def refusal(text: str, folder: Path) -> SpecError:
    with pytest.raises(SpecError) as caught:
        compiled(text, folder)
    return caught.value


def method(head: str, body: str, decorator: str) -> str:
    lines = [
        *([f"    @{decorator}"] if decorator else []),
        f"    def {head}:",
        *("        " + line for line in body.split("\n")),
    ]
    return HEADER + "\n" + "\n".join(lines) + "\n"


def test_the_unchanged_spec_is_accepted(tmp_path: Path) -> None:
    compiled(method("advance(self)", "self.small = 1", "action"), tmp_path)
    for base in LINES_OF_THE_STATE:
        for body in (f"self.small = {base}[self.small - 1]", f"x = {base}\nself.small = x[self.small - 1]"):
            compiled(method("advance(self)", body, "action"), tmp_path)
    # What follows a requirement that a constant excludes is not compiled.
    compiled(method("advance(self)", "require(self.acks == '0')\nself.small = missing", "action"), tmp_path)


@pytest.mark.parametrize("body", STATEMENTS)
def test_refused_statement(body: str, tmp_path: Path) -> None:
    text = method("advance(self)", body, "action")
    error = refusal(text, tmp_path)
    assert STATEMENTS[body] in error.message
    assert Path(error.file).parent == tmp_path
    assert error.line is not None
    inside = HEADER.count("\n") + 3 <= error.line <= text.count("\n")
    assert inside or any(name in body for name in ("plain", "loops", "half", "return 3"))
    assert error.text and error.text.strip() == text.split("\n")[error.line - 1].strip()


METHODS = {
    ("invariant", "changes(self)", "self.small = 1\nreturn True"): "changes must not change the state",
    ("invariant", "changes(self)", "return self.writes()"): "changes must not change the state",
    ("invariant", "changes(self)", "self.line.append(1)\nreturn True"): "changes must not change the state",
    ("invariant", "needs(self)", "return self.requires()"): "cannot use `require`, which is for actions",
    ("invariant", "numbers(self)", "return self.small"): "numbers must return a bool on every path",
    ("invariant", "known(self)", "return self.small in NO_VALUES"): "NO_VALUES",
    ("invariant", "nothing(self)", "pass"): "nothing has no `return`: return a bool on every path",
    ("invariant", "silent(self)", "'''Says nothing.'''"): "silent has no `return`: return a bool on every path",
    ("invariant", "small_one(self)", "self.small < 3"): "small_one has no `return`: write `return self.small < 3`",
    ("reachable", "calls(self)", "all(n > 0 for n in self.line)"): "write `return all((n > 0 for n in self.line))`",
    ("invariant", "falls(self)", "if self.flag:\n    return True"): "falls must return a bool on every path",
    ("invariant", "two(self, old)", "return True"): "the invariant two takes (self)",
    ("step_invariant", "one(self)", "return True"): "the step invariant one takes (self, old)",
    ("step_invariant", "past(self, old)", "old.small = 1\nreturn True"): "the old state cannot be changed",
    ("step_invariant", "past(self, old)", "old.line.append(1)\nreturn True"): "the old state cannot be changed",
    ("constraint", "changes(self)", "self.small = 1\nreturn True"): "changes must not change the state",
    ("reachable", "members(self)", "return self.names"): "members must return a bool on every path",
    ("action", "many(self, n: Range(0, 9999))", "pass"): "begin the action with require(n in collection)",
    ("action", "late(self, n: Range(0, 9999))", "self.small = 1\nrequire(n in self.line)"): "n has 10,000 values",
    ("action", "many(self, m: Message)", "require(m in self.line)"): "an item of self.line is a Small 0..5, and m is",
    ("action", "many(self, m: Message)", "require(m in self.among(1))"): "does not show how many values m has",
    ("action", "many(self, m: Message, n: Node)", "require(m in {k for k in self.net if n == n})"): (
        "depends on n, which has no value before m: exchange the parameters"
    ),
    ("", "init(self, x: Range(0, 999), y: Range(0, 1000))", "pass"): "init has 1,001,000 choices",
    ("", "init(self)", "x = choose(Node)"): "make x a parameter of init",
    (
        "invariant",
        "chooses(self)",
        "x = choose(Node)\nreturn True",
    ): "a helper takes the value as a parameter, a property uses any(...)",
    ("action", "inside(self)", "if self.flag:\n    x = choose(Node)"): "make the branch an action of its own",
    ("action", "inside(self)", "for n in Node:\n    x = choose(Node)"): "a loop takes all items in one step",
    ("action", "nested(self)", "self.small = len(choose(subsets(Node)))"): "value = choose(...)",
    (
        "invariant",
        "nested(self)",
        "return len(choose(subsets(Node))) > 0",
    ): "a statement of its own in an action",
    ("action", "late(self)", "if self.flag:\n    return\nx = choose(Node)"): "put the choice before the `return`",
    ("action", "again(self, n: Node)", "n = choose(Node)"): "n has a value already: choose into a new name",
    ("action", "untyped(self)", "x = choose(range(2))"): "annotate it, x: TYPE = choose(range(2))",
    ("action", "wider(self)", "x: Range(0, 2) = choose(self.line)"): "an item of self.line is a Small 0..5, and x is",
    ("action", "two(self)", "x = choose(Node, Small)"): "choose takes one collection",
    ("action", "many(self)", "x = choose(Range(0, 9999))"): "annotate it",
    ("action", "many(self)", "x: Range(0, 9999) = choose(range(9))"): "does not show how many values x has",
    (
        "action",
        "late(self)",
        "self.small = 1\nx: Range(0, 9999) = choose(range(9))",
    ): "put x = choose(...) at the start",
    ("action", "fails(self, m: Message)", "require(m in self.nets[self.maybe])"): "self.maybe may have no value",
    **{
        (
            "action",
            "fails(self, m: Message)",
            f"require(m in {{k for k in self.net if {part} == 1}})",
        ): "may have no value"
        for part in (
            "9 // self.small",
            "9 % self.small",
            "self.line[0]",
            "self.line.index(1)",
            "min(self.line)",
            "max(self.line)",
            "len(self.line[self.small - 1 :])",
            "len(self.line[: self.small - 1])",
        )
    },
    ("invariant", "free(self)", "return len(subsets(Node)) > 1"): "name the subset",
    ("invariant", "listed(self)", "return any(n in s for s in subsets(self.line) for n in Node)"): "a type or a set",
    ("invariant", "large(self)", "return all(len(s) == 0 for s in subsets(Wide))"): "of at most 16 values",
    ("action", "untyped(self, n)", "pass"): "parameter n needs a type: n: Replica",
    ("action", "wrong(self, n: 3)", "pass"): "is not a type",
    ("action", "defaults(self, n: Node = 1)", "pass"): "takes plain parameters only",
    ("action", "positional(self, n: Node, /)", "pass"): "takes plain parameters only: no *, ** or /",
    ("action", "alone()", "pass"): "alone has no parameter for the state: write def alone(self)",
    ("invariant", "alone()", "return True"): "alone has no parameter for the state: write def alone(self)",
}


@pytest.mark.parametrize("case", METHODS, ids=lambda case: f"{case[1]}: {case[2]}")
def test_refused_method(case: tuple[str, str, str], tmp_path: Path) -> None:
    decorator, head, body = case
    error = refusal(method(head, body, decorator), tmp_path)
    assert METHODS[case] in error.message
    assert Path(error.file).parent == tmp_path and error.line is not None


MESSAGES = {
    "{smal} of {self.small}": "says= of wrong uses smal, which has no value there: use self",
    "{self.smal}": "says= of wrong uses self.smal, which the spec does not have",
    "{self.small": "says= of wrong is not the text of an f-string",
    "{n} and {old.small}": "says= of wrong uses old, which has no value there",
}


@pytest.mark.parametrize("text", MESSAGES)
def test_a_message_is_checked_before_it_is_needed(text: str, tmp_path: Path) -> None:
    body = "return all(n in self.names for n in Node)"
    error = refusal(HEADER + method("wrong(self)", body, f"invariant(says={text!r})"), tmp_path)
    assert MESSAGES[text] in error.message
    assert "says=" in (error.text or "")


NO_OPTIONS = ("3", "object()", "Refinement(First)", "property(len)", "[3]", "{}", "b'x'", "'a/b'", "''", "'a b\\n'")
"""Values that no attribute of a class of a spec has that sets an option."""

DECLARATIONS = {
    "class Wrong(Struct):\n    a: bool\n    b: Small\n    a: Small": "Wrong.a is declared twice: a struct",
    "class Odd(Spec):\n    x = Range(3, 2)": "Range has no values: its bounds are 3 and 2",
    "class Odd(Spec):\n    x = Range(0, 'missing')": "names missing, which is not a constant",
    "class Odd(Spec):\n    x = Range(0, '1 +')": "is not an integer expression over constants",
    "class Odd(Spec):\n    x = Option(Option(bool))": "would have two kinds of None",
    "class Odd(Spec):\n    x = Map(SetOf(bool), bool)": "a Map's key must be a bool, Range, Domain or Enum",
    "class Odd(Spec):\n    x = SetOf(Range(0, 99))": "has at most 64: choose a smaller constant, or write SetOf(",
    "class Odd(Spec):\n    x = Seq(bool, -1)": "it must be at least 0",
    "class Odd(Spec):\n    x = Seq(int, 2)": "is not a type",
    "class Odd(Spec):\n    x = Constant('name')": "needs one_of",
    "class Odd(Spec):\n    x = bool\n    x = Small": "Odd.x is declared twice, first in line 89: use two names",
    "class Odd(Spec):\n    x = bool\n    @invariant\n    def x(self):\n        return True": "Odd.x is declared twice",
    "class Odd(Spec):\n    x = bool\n    @action\n    def go(self): pass\n    @action\n    def go(self): pass": "twice",
    "class Odd(First):\n    def small(self):\n        return 1": "small is a state variable of First",
    **{
        f"class Mixed:\n    {part}\nclass Odd(Mixed, First): pass": "so that its y would be left out: write class Mix"
        for part in (
            *("y = bool", "y = Small", "y = Constant(2)", "y = Refinement(First)"),
            *(f"@{role}\n    def y(self): return True" for role in ("action", "invariant", "reachable", "constraint")),
        )
    },
    "class Odd(Spec):\n    x = bool\nOdd.y = bool": "Odd.y is declared after its class: write it in the body",
    "class Odd(Spec):\n    x = bool\nOdd.y = invariant(lambda self: True)": "Odd.y is declared after its class",
    "class Odd(First):\n    small = None": "only a method can be removed with `small = None`",
    "class Odd(First):\n    nodes = 2": "to change its default, write nodes = Constant(2)",
    "class Odd(First):\n    stay = bool": "stay is a method of First: choose another name",
    "class Odd(Spec):\n    x = bool\n    @action\n    @invariant\n    def both(self): pass": "both is decorated with",
    "class Odd(Spec):\n    x = bool\n    @action\n    @action\n    def go(self): pass": "go is decorated twice",
    "class Odd(Spec):\n    x = bool\n    @action\n    @staticmethod\n    def go(): pass": "@action is for methods",
    "class Odd(Spec):\n    x = bool\n    @staticmethod\n    @action\n    def go(): pass": "remove the decorator",
    "class Odd(Spec):\n    x = bool\n    def __init__(self): pass": "a spec has no constructor",
    "class Odd(Spec):\n    x = bool\n    @action\n    async def go(self): pass": "write `def go`",
    "class Odd(Spec):\n    x = bool\n    @action\n    def init(self): pass": "write `def init(self)`, without",
    "class Odd(Spec):\n    abstract = True": "write it as an argument: class Odd(Spec, abstract=True)",
    "class Odd(Spec):\n    x = bool\n    scenarios = []": "scenarios belong to the module",
    "class Odd(Spec):\n    constants = bool": "the name is reserved by the language",
    "class Odd(Spec):\n    variables = bool": "the name is reserved by the language",
    "class Small(Range):\n    lo, hi = 0, 3\nclass Odd(Spec):\n    x = Small": "Small has no upper bound",
    "class Node(Domain):\n    pass\nclass Odd(Spec):\n    x = Node": "Node has no size: write `size = 3`",
    "class Role(Enum):\n    pass\nclass Odd(Spec):\n    x = Role": "Role has no members",
    "import enum\nclass Role(enum.IntEnum):\n    A = 1\nclass Odd(Spec):\n    x = Role": "write class Role(Enum)",
    "class Wrong(Struct):\n    a: bool\n    shows = 'p{b}'": "'p{b}', a format string over the fields {a}",
    "class Wrong(Struct):\n    a: bool\n    shows = 'p{a'": "Wrong.shows is 'p{a'",
    "from checker.language import Drawing, Lane\nLane('x', facts=('y',))": "write a mapping",
    "class Odd(Spec):\n    holds = bool": "the name is reserved by the language",
    "class Odd(Spec):\n    x = bool\n    def step(self):\n        pass": "the name is reserved by the language",
    "class Odd(Spec):\n    x = bool\n    def _put(self):\n        pass": "the name is reserved by the language",
    "class Odd(Spec):\n    bound = Constant(1)": "the name is reserved by the language",
    **{
        f"class Odd(Spec):\n    x = bool\n    name = {value}": "letters, digits and underscores" for value in NO_OPTIONS
    },
    **{f"class Odd(Spec):\n    x = bool\n    draws = {value}": "it is a Drawing(...), or None" for value in NO_OPTIONS},
    **{f"class Odd(Spec):\n    x = bool\n    normalises = {value}": "names of helpers" for value in NO_OPTIONS},
    **{f"class Odd(Spec):\n    x = bool\n    fair_next = {value}": "'weak', 'strong' or None" for value in NO_OPTIONS},
    "class Wrong(Struct):\n    field: bool": "Wrong.field: the name is reserved by the language",
}


@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_refused_declaration(declaration: str, tmp_path: Path) -> None:
    error = refusal(HEADER.replace("class Odd(Spec):", "class First(Spec):") + "\n" + declaration + "\n", tmp_path)
    assert DECLARATIONS[declaration] in error.message


def test_syntax_error_is_located(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("from checker.language import Spec\n\nclass Odd(Spec:\n    pass\n")
    with pytest.raises(SpecError) as caught:
        registry.load_file(path)
    assert caught.value.line == 3 and caught.value.file == str(path) and "this is not Python" in caught.value.message


def test_all_errors_of_a_spec_are_reported_with_their_lines_and_columns(tmp_path: Path) -> None:
    text = method("advance(self)", "self.small = print(1)", "action") + "\n    @invariant\n    def two(self):\n"
    error = refusal(text + "        return self.smal > 1\n", tmp_path)
    first, second = error.parts
    assert (first.line, first.columns) == (HEADER.count("\n") + 4, (22, 30))
    assert str(second) == (
        f"{second.file}:{second.line}:16: smal is neither a state variable nor a constant of Odd: "
        "did you mean small?\n    return self.smal > 1\n           ^^^^^^^^^"
    )
    assert str(error) == f"{first}\n{second}"


def test_a_parameter_has_room_for_every_item_that_binds_it(tmp_path: Path) -> None:
    def of_type(most: int) -> str:
        text = method(f"go(self, n: Range(0, {most}))", "require(n in self.big)", "action")
        return text.replace("unsure = Option(bool)", "unsure = Option(bool); big = SetOf(Range(0, 9000), 2)")

    compiled(of_type(9000), tmp_path)
    assert (
        "an item of self.big is a Range 0..9000, and n is a Range 0..8999" in refusal(of_type(8999), tmp_path).message
    )


def test_a_wrong_return_ends_its_block_too(tmp_path: Path) -> None:
    body = "if self.flag:\n    return self.smal > 1\nelse:\n    return missing\nself.line.sort()"
    first, second = refusal(method("two(self)", body, "invariant"), tmp_path).parts
    assert "smal is neither" in first.message and "missing" in second.message


def test_errors_of_several_declarations_are_reported_together(tmp_path: Path) -> None:
    text = HEADER.replace("fifty = 50", "one = Range(3, 2)\n    two = Seq(int, 2)")
    first, second = refusal(text, tmp_path).parts
    assert "Odd.one: Range has no values" in first.message and "Odd.two: " in second.message
    assert second.line == first.line + 1 and first.columns == (5, 8)


def test_super_calls_a_helper_named_like_a_method_of_collections(tmp_path: Path) -> None:
    text = HEADER + "\n    def remove(self, x):\n        self.names.discard(x)\n\nclass Derived(Odd):\n"
    text += "    @action\n    def go(self, n: Node):\n        super().remove(n)\n"
    compile_spec(compiled(text, tmp_path).Derived())
