"""Constructs that unbounded types do not support are rejected with file and line, and exit status 2."""

import pytest

from checker.cli.app import main

HEADER = """
from checker.language import Bag, Constant, Domain, Enum, Map, Option, Range, Seq, SetOf, Spec, Struct
from checker.language import action, invariant, lemma, require

class Number(Range):
    low, high = 0, "most"

class Node(Domain):
    size, prefix = "nodes", "n"

class Wrong(Spec):
    most = Constant(3, at_least=1)
    nodes = Constant(2)
    is_fast = Constant(True)
    mode = Constant("a", one_of=("a", "b"))
    numbers = Seq(Number, "most")
    number = Number

    @invariant
    def is_small(self):
        return self.number <= self.most

"""

DECLARATIONS = {
    "    counts = Map(Number, bool)": "a Map cannot have keys of the unbounded type",
    "    chosen = SetOf(Number)": "SetOf(Number 0..most) has items of an unbounded type",
    '    chosen = SetOf(Number, "most")': "SetOf has the unbounded capacity most",
    '    wire = Bag(Number, "most + 1")': "Bag has the unbounded capacity most + 1",
    '    above = Range("most", "most + 3")': "only the upper bound may be",
    '    half = Range(0, "7 // most")': "with an unbounded constant it must be unbounded",
    '    power = Range(0, "most ** 2")': "with an unbounded constant it must be unbounded",
    '    either = Range(0, "most if most > 2 else 2")': "with an unbounded constant it must be unbounded",
}

STATEMENTS = {
    "for i in range(len(self.numbers)):\n            self.numbers[i] = 0": "a loop over something unbounded cannot",
    "for n in self.numbers:\n            self.number = n": "a loop over something unbounded cannot",
    "for n in Number:\n            self.number = n": "a loop over something unbounded cannot",
    "self.number = sum(n for n in self.numbers)": "a sum over something unbounded is not supported",
    "self.number = sum(1 for n in Number if n in self.numbers)": "a sum over something unbounded is not supported",
    "self.numbers = [n for n in self.numbers if n > 1]": "a list over something unbounded is not supported",
    "require(len({n for n in self.numbers}) > 1)": "a set over something unbounded is not supported",
    "require({1, 2} <= {n for n in self.numbers})": "a set or bag of unbounded size is not supported",
    "self.numbers = sorted(self.numbers)": "cannot be sorted",
    "self.number = self.numbers.count(1)": "`count` on a sequence of unbounded length",
    "self.number = self.numbers.index(1)": "`index` on a sequence of unbounded length",
    "require(all(self.at_least(n) for n in self.numbers))": "a helper with `require` is called for each item",
}

HELPER = """
    def at_least(self, n):
        require(n < self.most)
        return n > 0
"""

CONSTANTS = {
    "nodes": "Node.size is nodes, which is unbounded: it must be a constant with at_least=1 or more",
    "is_fast": "constant is_fast is not an integer",
    "mode": "constant mode is not an integer",
    "missing": "wrong has no constant missing",
}


@pytest.fixture
def prove(capsys, tmp_path):
    def call(text, *arguments):
        (tmp_path / "wrong.py").write_text(text)
        status = main(["prove", f"{tmp_path}/wrong.py", *arguments])
        error = capsys.readouterr().err
        assert "Traceback" not in error
        return status, error

    return call


def action(statements):
    return f"{HEADER}\n    @action\n    def change(self):\n        {statements}\n{HELPER}"


@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_a_declaration_is_rejected(prove, declaration):
    status, error = prove(f"{HEADER}\n{declaration}\n{action('pass')[len(HEADER) :]}", "--unbounded", "most")
    assert status == 2
    assert DECLARATIONS[declaration] in error
    assert "wrong.py:" in error
    # The line is shown above the mark.
    assert error.strip().splitlines()[-2].strip() == declaration.strip()


@pytest.mark.parametrize("statements", STATEMENTS)
def test_a_statement_is_rejected(prove, statements):
    status, error = prove(action(statements), "--unbounded", "most")
    assert status == 2
    assert STATEMENTS[statements] in error
    assert "wrong.py:" in error


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_is_rejected(prove, name):
    extra = "    here = Map(Node, bool)\n"
    status, error = prove(f"{HEADER}{extra}{action('pass')[len(HEADER) :]}", "--unbounded", name)
    assert status == 2
    assert CONSTANTS[name] in error


@pytest.mark.parametrize("method", ["k-induction", "bounded"])
def test_other_methods_are_rejected(prove, method):
    status, error = prove(action("self.number = 0"), "--unbounded", "most", "--method", method)
    assert (status, "--unbounded needs --method induction" in error) == (2, True)


def test_find_lemmas_is_rejected(prove):
    status, error = prove(action("self.number = 0"), "--unbounded", "most", "--find-lemmas")
    assert (status, "--find-lemmas explores all states, and --unbounded has infinitely many" in error) == (2, True)


def test_contradictory_lemmas_are_rejected(prove, monkeypatch):
    monkeypatch.setattr("checker.execution.prove_unbounded.refutation", lambda task: None)
    text = action("self.number = 0") + "\n    @lemma\n    def large(self):\n        return self.number > 1\n"
    text += "\n    @lemma\n    def little(self):\n        return self.number < 1\n"
    status, error = prove(text, "--unbounded", "most")
    assert (status, "contradict each other: no state satisfies the induction hypothesis" in error) == (2, True)


def test_a_spec_without_initial_state_is_rejected(prove):
    text = action("self.number = 0") + "\n    def init(self):\n        require(self.number > 0)\n"
    status, error = prove(text, "--unbounded", "most")
    assert (status, "has no initial state" in error) == (2, True)
