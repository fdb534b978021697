"""Views: the values that distinguish states, and the check that nothing depends on what a view leaves out."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from checker.frontend.scope import TypingScope
from checker.ir import nodes
from checker.language.roles import is_unchecked
from checker.language.source import name_error
from checker.language.type_joins import NONE, is_bounded
from checker.language.types import NameType, TupleType, tuple_type

Node = TypeVar("Node", nodes.Return, nodes.HelperCall)


def make_view(scope: TypingScope, function: nodes.Function) -> nodes.View:
    """Return the view that a typed method describes; raise SpecError if its values do not distinguish states."""
    tree, name = scope.source.tree, function.name
    if function.result is None:
        raise scope.error(tree, f"the view {name} must return a value on every path: return self.one, len(self.other)")
    if function.writes or function.requires:
        what = "change the state" if function.writes else "use `require`"
        raise scope.error(tree, f"the view {name} must not {what}")
    if not is_bounded(function.result) or isinstance(function.result, NameType):
        hint = "write sum(...) in place of a loop, or keep the number in a state variable"
        raise scope.error(tree, f"the view {name} returns {function.result:a}, which has no known bounds: {hint}")
    kept, computed = _divide(function)
    variables = tuple(scope.spec.variables)
    return nodes.View(
        name,
        function,
        _text(tree, name),
        tuple(variable for variable in variables if variable in kept),
        None if computed is None else nodes.HelperCall(computed.result or NONE, scope.site(tree), computed, ()),
        tuple(variable for variable in variables if variable not in kept),
        not is_unchecked(scope.function),
    )


def _divide(function: nodes.Function) -> tuple[set[str], nodes.Function | None]:
    """Return the variables that the value of a view has as a whole, and a function that computes the other parts."""
    *before, last = function.body
    if not isinstance(last, nodes.Return) or last.value is None or any(_nodes_in(before, nodes.Return)):
        return set(), function
    parts = list(_items(last.value))
    kept = {part.variable for part in parts if isinstance(part, nodes.StateRead)}
    rest = tuple(part for part in parts if not isinstance(part, (nodes.StateRead, nodes.Literal)))
    if not rest and not before:
        return kept, None
    # The statements before may leave a type's bounds, even if the returned value does not depend on them.
    value: nodes.Expr = nodes.Literal(nodes.BOOL, last.site, True)
    if rest:
        value = nodes.StructNew(tuple_type(part.type for part in rest), last.site, rest)
    body = (*before, nodes.Return(last.site, value))
    return kept, nodes.Function(function.name, (), body, value.type, writes=False, requires=False)


def _items(value: nodes.Expr) -> Iterator[nodes.Expr]:
    """Iterate over the items of tuple displays, also of nested ones."""
    if isinstance(value, nodes.StructNew) and isinstance(value.type, TupleType):
        for item in value.values:
            yield from _items(item)
    else:
        yield value


def _text(tree: ast.FunctionDef, name: str) -> str:
    """Return the source of the value of a view: the returned expression, or else a call of the method."""
    returned = tree.body[-1]
    is_text = isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant)
    if len(tree.body) - is_text == 1 and isinstance(returned, ast.Return) and returned.value is not None:
        parts = returned.value.elts if isinstance(returned.value, ast.Tuple) else [returned.value]
        return ", ".join(map(ast.unparse, parts))
    return f"{name}()"


def check_view(program: nodes.Program, view: nodes.View) -> None:
    """Raise SpecError if an action, a property or a constraint reads a variable that the view leaves out.

    Only an assignment to such a variable may read one. Then states that differ only in these variables have the same
    enabled actions, the same properties, and successors that differ only in these variables.
    """
    if not view.is_checked:
        return
    read = _first_read((program.actions, program.properties, program.constraints), frozenset(view.left_out))
    if read is not None:
        is_partial = _first_read(view.computed, frozenset({read.variable})) is not None
        what = "does not have it as a whole" if is_partial else "leaves it out"
        message = (
            f"{read.variable} is read here, and the view {view.name} {what}: add self.{read.variable} to the view, "
            "or accept that a violation may be missed and write @view(unchecked=True)"
        )
        raise name_error(read.site.file, read.site.line, read.variable, message)


def _first_read(parts: Any, left_out: frozenset[str]) -> nodes.StateRead | None:
    """Return the first read of a variable in `left_out`, except those that only assign such variables."""
    waiting, seen = [parts], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, nodes.StateRead) and node.variable in left_out:
            return node
        if isinstance(node, nodes.AssignPlace) and _root(node.place) in left_out:
            # A helper in the value may assign other variables, or disable the action.
            called = [call.function for call in _nodes_in(node, nodes.HelperCall)]
            waiting.extend(function.body for function in called if function.writes or function.requires)
        elif isinstance(node, nodes.Refines):
            # The variables of the abstract program are others, although they may have the same names.
            waiting.extend((node.after, node.before))
        else:
            # The last one is handled first, so the text's first read is found first.
            waiting.extend(reversed(list(_children(node))))
    return None


def _nodes_in(node: Any, kind: type[Node]) -> Iterator[Node]:
    """Iterate over the nodes of a class in a node, without those inside the helpers that it calls."""
    if isinstance(node, kind):
        yield node
    for child in _children(node):
        if not isinstance(child, nodes.Function):
            yield from _nodes_in(child, kind)


def _children(node: Any) -> Iterable[Any]:
    if isinstance(node, (list, tuple)):
        return node
    if dataclasses.is_dataclass(node) and type(node).__module__ == nodes.__name__:
        return [getattr(node, field.name) for field in dataclasses.fields(node)]
    return ()


def _root(place: nodes.Expr) -> str:
    """Return the variable of a place."""
    while isinstance(place, (nodes.FieldRead, nodes.IndexRead, nodes.Convert)):
        place = place.base
    return place.variable if isinstance(place, nodes.StateRead) else ""
