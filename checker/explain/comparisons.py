"""Comparisons as text: the expression, its truth value, and the values of both sides."""

from __future__ import annotations

import ast
from typing import Any

from checker.explain.returned_calls import EvaluationScope
from checker.language.values import show


def comparison_text(node: ast.Compare, scope: EvaluationScope, truth: bool) -> str:
    """Return a comparison with the values of its sides, as in `a < b is false: 4 is not < 2`.

    `truth` is the value of the comparison. For a false chain such as `0 <= a < b`, only the false link is returned.
    """
    texts = []
    for link in _deciding(node, scope, truth):
        left, right = (scope.evaluate(side) for side in (link.left, *link.comparators))
        is_true = bool(scope.evaluate(link))
        texts.append(f"{scope.text(link)} is {str(is_true).lower()}{_sides_text(link, is_true, left, right)}")
    return " and ".join(texts)


def deciding_links(node: ast.Compare, scope: EvaluationScope, truth: bool) -> tuple[str, ...]:
    """Return the source texts of the links of a comparison that decide it: the false one, or all of a true one."""
    return tuple(scope.text(link) for link in _deciding(node, scope, truth))


def _deciding(node: ast.Compare, scope: EvaluationScope, truth: bool) -> list[ast.Compare]:
    operands = [node.left, *node.comparators]
    links = [
        ast.Compare(operands[position], [operator], [operands[position + 1]])
        for position, operator in enumerate(node.ops)
    ]
    return links if truth else [next(link for link in links if not scope.evaluate(link))]


_RELATIONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("is", "is not"),
    ast.NotEq: ("is not", "is"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("is in", "is not in"),
    ast.NotIn: ("is not in", "is in"),
    ast.Lt: ("<", "is not <"),
    ast.LtE: ("<=", "is not <="),
    ast.Gt: (">", "is not >"),
    ast.GtE: (">=", "is not >="),
}


def _sides_text(link: ast.Compare, is_true: bool, left: Any, right: Any) -> str:
    if all(isinstance(side, ast.Constant) for side in (link.left, *link.comparators)):
        return ""
    relation = _RELATIONS[type(link.ops[0])][0 if is_true else 1]
    return f": {show(left)} {relation} {show(right)}"
