"""What a test says about the alternative of a union that a local has."""

from __future__ import annotations

import ast
import builtins

from checker.frontend.scope import TypingScope
from checker.language.declared_types import Struct
from checker.language.type_joins import without_option
from checker.language.types import StructType, Type, UnionType


def structs_in(scope: TypingScope, node: ast.expr) -> list[type[Struct]]:
    """Return the structs that the second argument of `isinstance` names; raise SpecError for anything else."""
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    kinds = [scope.object_of(name) for name in names]
    for name, kind in zip(names, kinds, strict=True):
        if not isinstance(kind, type) or not issubclass(kind, Struct):
            raise scope.error(
                name, f"{ast.unparse(name)} is not a struct: isinstance tests the alternatives of a OneOf"
            )
    return [kind for kind in kinds if isinstance(kind, type)]


def alternatives_among(kind: Type, structs: list[type[Struct]]) -> list[StructType]:
    """Return the alternatives of a union, or the struct itself, that are of one of these classes."""
    kind = without_option(kind)
    parts = kind.alternatives if isinstance(kind, UnionType) else (kind,) if isinstance(kind, StructType) else ()
    return [part for part in parts if issubclass(part.declared, tuple(structs))]


def narrow(scope: TypingScope, test: ast.expr, *, is_true: bool) -> None:
    """Note which alternatives the locals have where a test is true, or where it is false."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        narrow(scope, test.operand, is_true=not is_true)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if is_true else ast.Or):
        for operand in test.values:
            narrow(scope, operand, is_true=is_true)
    elif isinstance(test, ast.Call) and len(test.args) == 2 and isinstance(test.args[0], ast.Name):
        local = scope.locals.get(test.args[0].id)
        if local is not None and scope.object_of(test.func) is builtins.isinstance:
            known = scope.alternatives.get(local, alternatives_among(local.type, [Struct]))
            chosen = alternatives_among(local.type, structs_in(scope, test.args[1]))
            if is_true:
                scope.alternatives[local] = [part for part in known if part in chosen]
            elif isinstance(local.type, UnionType) or local in scope.alternatives:
                # Of an option, the test is also false for None, unless an earlier test was true.
                scope.alternatives[local] = [part for part in known if part not in chosen]


def forget_assigned(scope: TypingScope, body: list[ast.stmt]) -> None:
    """Forget the alternatives of the locals that a loop assigns: a later iteration may begin with another value."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in scope.locals:
                scope.alternatives.pop(scope.locals[node.id], None)
