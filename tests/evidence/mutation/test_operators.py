"""Mutation operators: the changed text and the line of each mutation."""

import ast

import pytest

from checker.evidence.mutation.operators import mutations


def mutants(body):
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    (tree,) = ast.parse(f"def step(self, node: Node, n: Range(0, 3) = 1):\n{lines}").body
    return {(found.operator, found.before, found.after) for found in mutations(tree)}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "require(self.free)",
            {
                ("drop require", "require(self.free)", ""),
                ("negate a condition", "self.free", "not self.free"),
            },
        ),
        ("self.x[node] = value", {("drop assignment", "self.x[node] = value", "")}),
        ("self.x.field += value", {("drop assignment", "self.x.field += value", "")}),
        ("self.log.append(value)", {("drop call", "self.log.append(value)", "")}),
        ("del self.log[n:]", {("drop deletion", "del self.log[n:]", "")}),
        ("value = self.x", set()),
        ("'''Docstring with 1.'''", set()),
        (
            "return a < b",
            {
                ("swap < and <=", "a < b", "a <= b"),
                ("negate a condition", "a < b", "not a < b"),
                ("shift a bound", "a < b", "a < b - 1"),
            },
        ),
        (
            "return a >= b",
            {
                ("swap < and <=", "a >= b", "a > b"),
                ("negate a condition", "a >= b", "not a >= b"),
                ("shift a bound", "a >= b", "a >= b - 1"),
            },
        ),
        ("return a is None", {("negate a condition", "a is None", "a is not None")}),
        ("return a not in b", {("negate a condition", "a not in b", "a in b")}),
        ("return 0", {("shift a literal", "0", "1")}),
        ("return True", {("flip a literal", "True", "False")}),
        (
            "return a and not b",
            {
                ("swap and and or", "a and (not b)", "a or not b"),
                ("drop an operand", "a and (not b)", "a"),
                ("drop an operand", "a and (not b)", "not b"),
                ("drop a negation", "not b", "b"),
            },
        ),
    ],
)
def test_mutations(body, expected):
    assert mutants(body) == expected


def test_annotations_defaults_and_the_original_tree_are_unchanged():
    (tree,) = ast.parse("def step(self, n: Range(0, 3)):\n    value: Range(0, 3) = 2\n    self.x = value\n").body
    before = ast.dump(tree)
    found = list(mutations(tree))
    assert [mutation.operator for mutation in found] == ["shift a literal", "shift a literal", "drop assignment"]
    assert [mutation.line for mutation in found] == [2, 2, 3]
    assert ast.dump(tree) == before
    assert all(ast.dump(mutation.tree) != before for mutation in found)
