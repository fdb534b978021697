"""Proofs for any number of members of a Domain: maps are functions, and sets are predicates."""

import pytest

from checker.cli.app import main

LOCK = """
from checker.language import Constant, Domain, Map, Option, SetOf, Spec
from checker.language import action, invariant, lemma, require

class Node(Domain):
    size, prefix = "nodes", "n"

class Lock(Spec):
    nodes = Constant(3, at_least=2)
    has_lock = Map(Node, bool)
    waiting = SetOf(Node)
    granted = Option(Node)

    def init(self):
        self.waiting = {node for node in Node if node != Node[0]}

    @action
    def ask(self, node: Node):
        require(not self.has_lock[node])
        self.waiting = self.waiting | {node}

    @action
    def grant(self, node: Node):
        require(node in self.waiting)
        require(GUARD)
        self.granted = node
        self.has_lock[node] = True
        self.waiting.remove(node)

    @action
    def release(self, node: Node):
        require(self.has_lock[node])
        self.has_lock[node] = False
        self.granted = None

    @lemma
    def holder_is_granted(self):
        return all(self.granted == node for node in Node if self.has_lock[node])

    @invariant
    def one_holds(self):
        return all(one == other for one in Node if self.has_lock[one] for other in Node if self.has_lock[other])

    @invariant
    def no_holder_waits(self):
        return not any(self.has_lock[node] for node in self.waiting)
"""

FREE = "all(not self.has_lock[other] for other in Node)"


@pytest.fixture
def prove(capsys, tmp_path):
    def call(text, *arguments):
        (tmp_path / "lock.py").write_text(text)
        status = main(["prove", f"{tmp_path}/lock.py", "--unbounded", "nodes", "--timeout", "20", *arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out + captured.err

    return call


def test_a_lock_is_proved_for_any_number_of_nodes(prove):
    status, text = prove(LOCK.replace("GUARD", FREE))
    assert status == 0, text
    assert "for every value of nodes" in text


def test_a_lock_without_its_guard_is_not_proved(prove):
    status, text = prove(LOCK.replace("GUARD", "True"))
    assert status == 1
    assert "one_holds" in text


def test_a_guard_that_ignores_a_third_node_is_not_proved_although_two_nodes_satisfy_it(prove):
    # With two nodes, "the other node holds nothing" is the whole guard; with more, it is not.
    guard = "all(not self.has_lock[other] for other in (Node[0], Node[1]))"
    status, text = prove(LOCK.replace("GUARD", guard).replace("Constant(3,", "Constant(2,"))
    assert (status, "proved by induction" in text) == (3, False)


def test_a_property_that_needs_three_members_is_not_proved(prove):
    text = (
        LOCK.replace("GUARD", FREE)
        + """
    @invariant
    def there_is_a_third_node(self):
        return any(node != Node[0] and node != Node[1] for node in Node)
"""
    )
    status, text = prove(text)
    assert (status, "proved by induction" in text) == (3, False)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("len(self.waiting) < 2", "`len` of a set of any number of members"),
        ("sum(1 for n in Node if self.has_lock[n]) < 2", "a sum over something unbounded"),
        ("{n: True for n in Node}[Node[0]]", "the members of Node"),
    ],
)
def test_what_needs_a_known_number_is_rejected(prove, expression, message):
    status, text = prove(LOCK.replace("GUARD", expression))
    assert status == 2
    assert message in text


DECLARATION = "waiting = SetOf(Node)\n"

UNSUPPORTED = {
    # With two nodes, a capacity of two is never exceeded; with three, `ask` exceeds it.
    "waiting = SetOf(Node, 2)\n": "SetOf(Node, 2) has a capacity",
    f"{DECLARATION}    seen = SetOf(Seen, 2)\n": "cannot have items with a sequence, map or set of unbounded size",
    f"{DECLARATION}    seen = Bag(Seen, 2)\n": "cannot have items with a sequence, map or set of unbounded size",
}

SEEN = """
class Seen(Struct):
    nodes: SetOf(Node)

class Lock(Spec):
"""


@pytest.mark.parametrize("declaration", UNSUPPORTED)
def test_a_set_that_would_count_or_order_its_members_is_rejected(prove, declaration):
    text = (
        LOCK.replace("GUARD", FREE)
        .replace("Constant(3,", "Constant(2,")
        .replace("import Constant", "import Bag, Constant, Struct")
    )
    text = text.replace("\nclass Lock(Spec):\n", SEEN).replace(DECLARATION, declaration)
    status, error = prove(text)
    assert status == 2
    assert UNSUPPORTED[declaration] in error


def test_a_cell_of_kip_320_is_proved_for_any_number_of_replicas(capsys):
    open_constants = ("replicas", "log_size", "max_records", "max_leader_epoch")
    options = [word for name in open_constants for word in ("--unbounded", name)]
    target = "replication/kip320/two_replicas"
    assert main(["prove", target, "--explain", "strong_isr/controller_shrink_isr", *options]) == 0
    assert "proved: strong_isr, controller_shrink_isr" in capsys.readouterr().out
