"""The expressions of a mapping over the state of a spec: a part of Python that reads values and nothing else.

A mapping may put a value of a recorded event into an expression, as in `future[{found["record"]}]`. A log must not
choose the code that runs, so an expression that could reach anything but values is refused.
"""

from __future__ import annotations

import ast
import functools
from types import CodeType

from checker.errors import InputError

_ALLOWED = (
    ast.Expression | ast.Constant | ast.Name | ast.Attribute | ast.Subscript | ast.Slice | ast.Call | ast.keyword
    | ast.Compare | ast.cmpop | ast.BoolOp | ast.boolop | ast.UnaryOp | ast.unaryop | ast.BinOp | ast.IfExp
    | ast.List | ast.Tuple | ast.Set | ast.Dict | ast.Starred | ast.expr_context
    | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.comprehension
    | ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Mod | ast.BitOr | ast.BitAnd | ast.BitXor
)  # fmt: skip
"""The nodes of an expression. Powers and shifts are left out: a short one can take hours."""

_METHODS = frozenset(("count", "index", "get", "keys", "values", "items"))
"""The methods of collections that read them."""


@functools.cache
def compiled(expression: str) -> tuple[CodeType, frozenset[str]]:
    """Return the code of an expression and the attributes that it reads; raise InputError if it is not allowed."""
    try:
        tree = ast.parse(expression.strip(), "<expectation>", "eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise InputError(f"the mapping's {_text(expression)} is not an expression: {what}") from None
    attributes = set()
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED) or (isinstance(node, ast.Name) and node.id.startswith("__")):
            what = node.id if isinstance(node, ast.Name) else type(node).__name__
            raise InputError(f"the mapping's {_text(expression)} may not contain {what}: it reads values only")
        if isinstance(node, ast.comprehension) and node.is_async:
            raise InputError(f"the mapping's {_text(expression)} may not contain async: it reads values only")
        if isinstance(node, ast.Attribute):
            attributes.add(node.attr)
    try:
        return compile(tree, "<expectation>", "eval"), frozenset(attributes)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InputError(f"the mapping's {_text(expression)} cannot be compiled: {what}") from None


def require_attributes(expression: str, attributes: frozenset[str], fields: frozenset[str]) -> None:
    """Raise InputError if an attribute is neither a field of the spec's values nor a method of its collections."""
    for name in sorted(attributes - fields - _METHODS):
        raise InputError(f"the mapping's {_text(expression)} reads {name}, which is not a field of a value")


def _text(expression: str) -> str:
    return expression if len(expression) <= 200 else f"{expression[:200]}..."
