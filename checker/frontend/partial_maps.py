"""Typing of partial maps, which the engines see as total maps to options: None is an absent key."""

from __future__ import annotations

import ast
from typing import Any

from checker.frontend.typers import ExpressionTyper
from checker.ir import nodes
from checker.language.type_joins import NONE, set_of
from checker.language.types import IntType, PartialMapType, SeqType, Type, tuple_type


def _is_present(site: nodes.Site, entry: nodes.Expr) -> nodes.Expr:
    none = nodes.Convert(entry.type, site, nodes.Literal(NONE, site, None))
    return nodes.Comparison(nodes.BOOL, site, "!=", entry, none)


def entry(typer: ExpressionTyper, node: ast.AST, base: nodes.Expr, key: nodes.Expr) -> nodes.Expr:
    """Return the value at a key of the key type, or None."""
    assert isinstance(base.type, PartialMapType)
    return nodes.IndexRead(base.type.value, typer.scope.site(node), base, key)


def value_at(typer: ExpressionTyper, node: ast.Subscript, base: nodes.Expr) -> nodes.Expr:
    """Return `m[key]`, an error if the key is absent."""
    assert isinstance(base.type, PartialMapType)
    stored = entry(typer, node, base, typer.converted(node.slice, base.type.key))
    return nodes.Convert(base.type.item, stored.site, stored)


def keys(typer: ExpressionTyper, node: ast.AST, base: nodes.Expr) -> nodes.Expr:
    """Return the set of the keys."""
    assert isinstance(base.type, PartialMapType)
    return _entries(typer, node, base, "set", set_of(base.type.key, base.type.key.cardinality()))


def values(typer: ExpressionTyper, node: ast.AST, base: nodes.Expr) -> nodes.Expr:
    """Return the sequence of the values, in the order of the keys."""
    assert isinstance(base.type, PartialMapType)
    return _entries(typer, node, base, "values", SeqType(base.type.item, base.type.key.cardinality()))


def items(typer: ExpressionTyper, node: ast.AST, base: nodes.Expr) -> nodes.Expr:
    """Return the sequence of the pairs of a key and its value, in the order of the keys."""
    assert isinstance(base.type, PartialMapType)
    pair = tuple_type((base.type.key, base.type.item))
    return _entries(typer, node, base, "items", SeqType(pair, base.type.key.cardinality()))


def _entries(typer: ExpressionTyper, node: ast.AST, base: nodes.Expr, what: str, kind: Type) -> nodes.Expr:
    assert isinstance(base.type, PartialMapType)
    if typer.compiler.python_collections.holds_parts(base):
        raise typer.scope.error(
            node, "Python orders the keys of a dict as they were added: store it in a variable first"
        )
    site = typer.scope.site(node)
    local = nodes.Local(" key", base.type.key)
    key = nodes.LocalRead(local.type, site, local)
    stored = entry(typer, node, base, key)
    value = nodes.Convert(base.type.item, site, stored)
    element: nodes.Expr = {"set": key, "values": value}.get(what) or nodes.StructNew(kind.item, site, (key, value))  # type: ignore[attr-defined]
    clauses = (nodes.ForClause(local, nodes.Universe(local.type)), nodes.IfClause(_is_present(site, stored)))
    collected = nodes.Fold(kind, site, "set" if what == "set" else "seq", clauses, element)
    typer.compiler.python_collections.add_ordered(collected)
    return collected


def method_call(
    typer: ExpressionTyper, node: ast.Call, arguments: list[ast.expr], base: nodes.Expr, name: str
) -> nodes.Expr | None:
    """Return a call of a method that reads a partial map, or None for another method."""
    assert isinstance(base.type, PartialMapType)
    counts = {"get": (1, 2), "keys": (0,), "values": (0,), "items": (0,)}
    if name not in counts:
        return None
    _require_count(typer, node, arguments, name, counts[name])
    if name != "get":
        return {"keys": keys, "values": values, "items": items}[name](typer, node, base)
    return _value_or_default(typer, node, arguments, base)


def _require_count(
    typer: ExpressionTyper, node: ast.Call, arguments: list[ast.expr], name: str, counts: tuple[int, ...]
) -> None:
    if len(arguments) not in counts:
        wanted = " or ".join(map(str, counts))
        raise typer.scope.error(node, f"{name} takes {wanted} arguments, {len(arguments)} were given")


def popped(typer: ExpressionTyper, node: ast.Call, base: nodes.Expr) -> tuple[nodes.Expr, nodes.Expr]:
    """Return the value of `m.pop(key)` or `m.pop(key, default)`, and the entry of the key."""
    assert isinstance(base.type, PartialMapType)
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise typer.scope.error(node, "pop takes plain arguments, without keywords or *")
    _require_count(typer, node, node.args, "pop", (1, 2))
    stored = entry(typer, node, base, typer.converted(node.args[0], base.type.key))
    if len(node.args) == 1:
        return nodes.Convert(base.type.item, stored.site, stored), stored
    return _value_or_default(typer, node, node.args, base), stored


def _value_or_default(
    typer: ExpressionTyper, node: ast.Call, arguments: list[ast.expr], base: nodes.Expr
) -> nodes.Expr:
    """Return the value at a key; if it is absent, the second argument, or None without one."""
    assert isinstance(base.type, PartialMapType)
    stored = entry(typer, node, base, typer.converted(arguments[0], base.type.key))
    if len(arguments) == 1:
        return stored
    # Python evaluates the default in any case: after the entry, the first item of both is the value.
    site, kind = stored.site, SeqType(base.type.item, 1)
    default = nodes.ItemsOf(kind, site, (typer.converted(arguments[1], base.type.item),))
    local = nodes.Local(" entry", stored.type)
    read = nodes.LocalRead(stored.type, site, local)
    over = nodes.ItemsOf(SeqType(stored.type, 1), site, (stored,))
    clauses = (nodes.ForClause(local, over), nodes.IfClause(_is_present(site, read)))
    present = nodes.Fold(kind, site, "seq", clauses, nodes.Convert(base.type.item, site, read))
    first = nodes.Literal(IntType(0, 0, "int"), site, 0)
    return nodes.IndexRead(base.type.item, site, typer.concatenation(node, present, default), first)


def length(typer: ExpressionTyper, node: ast.AST, base: nodes.Expr) -> nodes.Expr:
    """Return the number of keys."""
    assert isinstance(base.type, PartialMapType)
    size = IntType(0, base.type.key.cardinality(), "int")
    return nodes.Length(size, typer.scope.site(node), keys(typer, node, base))


def entry_if(site: nodes.Site, kind: PartialMapType, value: nodes.Expr, tests: list[nodes.Expr]) -> nodes.Expr:
    """Return a value of the item type as an entry of a map: None unless all tests are true."""
    entry_value: nodes.Expr = nodes.Convert(kind.value, site, value)
    if not tests:
        return entry_value
    test = nodes.Logical(nodes.BOOL, site, "and", tuple(tests)) if len(tests) > 1 else tests[0]
    none = nodes.Convert(kind.value, site, nodes.Literal(NONE, site, None))
    return nodes.Conditional(kind.value, site, test, entry_value, none)


def displayed(typer: ExpressionTyper, node: ast.Dict, wanted: PartialMapType) -> nodes.Expr:
    """Return `{key: value}`, of which the keys are constants."""
    site = typer.scope.site(node)
    entries: dict[Any, nodes.Expr] = {}
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        key = typer.expression(key_node) if key_node is not None else None
        if not isinstance(key, nodes.Literal) or key.value not in list(wanted.key.values()):
            raise typer.scope.error(
                node, f"the keys of this dict must be constants of {wanted.key}: or assign each key"
            )
        value = typer.converted(value_node, wanted.item)
        entries[key.value] = nodes.Convert(wanted.value, site, value)
    none = nodes.Convert(wanted.value, site, nodes.Literal(NONE, site, None))
    return nodes.MapItems(wanted, site, tuple(entries.get(key, none) for key in wanted.key.values()))
