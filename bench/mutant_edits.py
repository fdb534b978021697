"""The small changes that `code_mutants` makes to a source: each is one edit of its text.

Left out is what no test should nail: texts of messages, docstrings, annotations, decorators and assertions, which only
narrow types.
"""

import ast
import difflib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type, tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}

OPERATORS: dict[type, str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.Div: "*",
    ast.Mod: "//",
    ast.BitOr: "&",
    ast.BitAnd: "|",
    ast.LShift: ">>",
    ast.RShift: "<<",
}

CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}

KEY_CALLS = {"add", "get", "setdefault", "append"}
"""Calls whose argument may be a key: a tuple there loses its parts one at a time."""

_CHECKS = ("strict",)
"""Keyword arguments that only check a program: `zip(strict=True)`."""

_TYPES = ("dict", "tuple", "Callable", "Mapping", "Literal", "Annotated")
"""Their subscripts are names of types, not keys."""

_LEFT_OUT = (ast.JoinedStr, ast.Assert, ast.Raise)

_LOOSE = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Starred)


@dataclass(frozen=True)
class Edit:
    """One change: `text` replaces the bytes from `start` to `end` of the file, which are on `line` to `last_line`."""

    path: str
    start: int
    end: int
    text: str
    kind: str
    line: int
    last_line: int

    def applied_to(self, source: str) -> str:
        """Return the changed source."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()

    def difference(self, source: str) -> str:
        """Return the change as a unified diff without context."""
        before, after = source.splitlines(), self.applied_to(source).splitlines()
        lines = difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}", lineterm="", n=0)
        return "\n".join(lines)


def edits_of(path: str, source: str) -> list[Edit]:
    """Return every change of a source that the rules below make, in order; a few of them do not compile."""
    return sorted(set(_Edits(path, source)), key=lambda edit: (edit.start, edit.end, edit.text, edit.kind))


def function_lines(source: str, line: int) -> range:
    """Return the lines of the innermost function with a line; outside functions, the line alone."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    spans = [range(node.lineno, node.end_lineno + 1) for node in functions]
    return min((span for span in spans if line in span), key=len, default=range(line, line + 1))


def compiles(source: str) -> bool:
    """Return whether Python accepts a source."""
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


class _Edits:
    """The edits of one source, by a walk over its syntax tree."""

    def __init__(self, path: str, source: str):
        self._path = path
        self._tree = ast.parse(source)
        self._source = source.encode()
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def __iter__(self) -> Iterator[Edit]:
        yield from self._of(self._tree)

    def _of(self, node: ast.AST) -> Iterator[Edit]:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        rule = getattr(self, f"_of_{type(node).__name__}", None)
        if rule is not None:
            yield from rule(node)
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.keyword) and node.arg in _CHECKS:
                continue
            if name in ("annotation", "returns", "decorator_list", "keys" if isinstance(node, ast.Dict) else ""):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, _LEFT_OUT):
                    yield from self._of(child)

    def _text(self, node: ast.AST, is_operand: bool = True) -> str:
        start, end = self._span(node)
        text = self._source[start:end].decode()
        return f"({text})" if is_operand and isinstance(node, _LOOSE) else text

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _edit(self, node: ast.AST, text: str, kind: str) -> Edit:
        return Edit(self._path, *self._span(node), text, kind, node.lineno, node.end_lineno)

    def _between(self, left: ast.AST, right: ast.AST, old: str, new: str, kind: str) -> Iterator[Edit]:
        """Replace the operator between two operands."""
        start, end = self._span(left)[1], self._span(right)[0]
        place = self._source[start:end].decode().find(old)
        if place >= 0:
            first = start + len(self._source[start:end].decode()[:place].encode())
            yield Edit(self._path, first, first + len(old), new, kind, left.lineno, right.end_lineno)

    def _of_Compare(self, node: ast.Compare) -> Iterator[Edit]:
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            for new in COMPARISONS[type(operator)]:
                yield from self._between(left, right, _symbol(operator), new, "comparison")

    def _of_BoolOp(self, node: ast.BoolOp) -> Iterator[Edit]:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in itertools.pairwise(node.values):
            yield from self._between(left, right, old, new, "connective")
        for value in node.values:
            rest = [self._text(other) for other in node.values if other is not value]
            yield self._edit(node, f"({f' {old} '.join(rest)})", "operand dropped")

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Iterator[Edit]:
        if isinstance(node.op, ast.Not):
            yield self._edit(node, f"({self._text(node.operand)})", "not dropped")
        elif isinstance(node.op, ast.USub):
            yield self._edit(node, self._text(node.operand), "sign dropped")

    def _of_BinOp(self, node: ast.BinOp) -> Iterator[Edit]:
        is_text = any(
            isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
            for part in ast.walk(node)
        )
        if type(node.op) in OPERATORS and not is_text:
            yield from self._between(node.left, node.right, _symbol(node.op), OPERATORS[type(node.op)], "arithmetic")

    def _of_Constant(self, node: ast.Constant) -> Iterator[Edit]:
        if isinstance(node.value, bool):
            yield self._edit(node, str(not node.value), "constant")
        elif isinstance(node.value, int):
            yield self._edit(node, str(node.value + 1), "constant")

    def _of_If(self, node: ast.If) -> Iterator[Edit]:
        if not node.orelse and isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break):
            yield self._edit(node.test, "False", "guard dropped")
        elif not isinstance(node.test, ast.Compare | ast.BoolOp):
            yield self._edit(node.test, f"not {self._text(node.test)}", "condition negated")

    def _of_IfExp(self, node: ast.IfExp) -> Iterator[Edit]:
        yield self._edit(node, f"({self._text(node.body)})", "branch")
        yield self._edit(node, f"({self._text(node.orelse)})", "branch")

    def _of_comprehension(self, node: ast.comprehension) -> Iterator[Edit]:
        for test in node.ifs:
            yield self._edit(test, "True", "filter dropped")

    def _of_Return(self, node: ast.Return) -> Iterator[Edit]:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            yield self._edit(node.value, "None", "return value")

    def _of_Continue(self, node: ast.Continue) -> Iterator[Edit]:
        yield self._edit(node, "break", "jump")

    def _of_Break(self, node: ast.Break) -> Iterator[Edit]:
        yield self._edit(node, "continue", "jump")

    def _of_Expr(self, node: ast.Expr) -> Iterator[Edit]:
        if isinstance(node.value, ast.Call):
            yield self._edit(node, "pass", "statement dropped")

    def _of_AugAssign(self, node: ast.AugAssign) -> Iterator[Edit]:
        yield self._edit(node, "pass", "statement dropped")

    def _of_Assign(self, node: ast.Assign) -> Iterator[Edit]:
        target = node.targets[0]
        if isinstance(target, ast.Attribute | ast.Subscript):
            yield self._edit(node, "pass", "statement dropped")
        elif isinstance(target, ast.Name) and any(word in target.id for word in ("key", "identity", "signature")):
            yield from self._parts_dropped(node.value)

    def _of_Subscript(self, node: ast.Subscript) -> Iterator[Edit]:
        if not (isinstance(node.value, ast.Name) and node.value.id in _TYPES):
            yield from self._parts_dropped(node.slice)

    def _of_Call(self, node: ast.Call) -> Iterator[Edit]:
        if isinstance(node.func, ast.Name) and node.func.id in CALLS:
            yield self._edit(node.func, CALLS[node.func.id], "call")
        if isinstance(node.func, ast.Attribute) and node.func.attr in KEY_CALLS:
            for argument in node.args:
                yield from self._parts_dropped(argument)
        plain = [argument for argument in node.args if isinstance(argument, ast.Name | ast.Attribute)]
        if len(plain) == len(node.args):
            for left, right in itertools.pairwise(plain):
                (start, end), (first, last) = self._span(left), self._span(right)
                between = self._source[end:first].decode()
                text = self._text(right) + between + self._text(left)
                yield Edit(self._path, start, last, text, "arguments swapped", left.lineno, right.end_lineno)

    def _parts_dropped(self, node: ast.AST) -> Iterator[Edit]:
        if (
            isinstance(node, ast.Tuple)
            and len(node.elts) > 1
            and not any(isinstance(part, ast.Starred | ast.Slice) for part in node.elts)
        ):
            for part in node.elts:
                rest = ", ".join(self._text(other) for other in node.elts if other is not part)
                yield self._edit(node, f"({rest},)", "part of a key dropped")

    def _of_FunctionDef(self, node: ast.FunctionDef) -> Iterator[Edit]:
        """Read another parameter of the same type in the place of one."""
        parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        typed = {one.arg: ast.dump(one.annotation) for one in parameters if one.annotation is not None}
        for use in (part for statement in node.body for part in _mutable(statement)):
            if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load) and use.id in typed:
                for other, annotation in typed.items():
                    if other != use.id and annotation == typed[use.id]:
                        yield self._edit(use, other, "parameter")


def _mutable(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the nodes inside it, without those that are left out."""
    if not isinstance(node, _LEFT_OUT):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _mutable(child)


def _symbol(operator: ast.AST) -> str:
    """Return the text of an operator."""
    if isinstance(operator, ast.cmpop):
        text = ast.unparse(ast.Compare(ast.Name("a"), [operator], [ast.Name("b")]))
    else:
        text = ast.unparse(ast.BinOp(ast.Name("a"), operator, ast.Name("b")))
    return text[2:-2]
