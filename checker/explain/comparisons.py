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
    values = [scope.evaluate(operand) for operand in (node.left, *node.comparators)]
    operands = [node.left, *node.comparators]
    links = []
    for position, operator in enumerate(node.ops):
        link = ast.Compare(operands[position], [operator], [operands[position + 1]])
        is_true = bool(scope.evaluate(link))
        links.append((link, is_true, position))
        if not is_true:
            break
    shown = links if truth else links[-1:]
    texts = []
    for link, is_true, position in shown:
        sides = _sides_text(link, is_true, values[position], values[position + 1])
        texts.append(f"{scope.text(link)} is {str(is_true).lower()}{sides}")
    return " and ".join(texts)


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
