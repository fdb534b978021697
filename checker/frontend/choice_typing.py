"""Typing of the collections of which an action takes one item: those of `choose`, and those that bind parameters."""

from __future__ import annotations

import ast

from checker.frontend import call_typing
from checker.frontend.totality import failing_part
from checker.frontend.typers import ExpressionTyper
from checker.ir import nodes
from checker.language.type_joins import join
from checker.language.types import SeqType, Type


def is_member_of_choice(typer: ExpressionTyper, call: ast.Call, chosen: nodes.LocalRead) -> nodes.Expr:
    """Return the test that a value is a member of the collection in a call of `choose`."""
    (argument,) = call.args
    subsets = call_typing.call_of_subsets(typer, argument)
    if subsets is not None:
        kind: Type = call_typing.SubsetsCall.of_call(typer, subsets).type
        is_everything = False
    else:
        over = call_typing.iterable(typer, argument)
        kind, is_everything = call_typing.item_type(over), isinstance(over, nodes.Universe)
    _require_within(typer, argument, kind, chosen.local)
    if is_everything and kind == chosen.type:
        return nodes.Literal(nodes.BOOL, chosen.site, True)
    return call_typing.membership(typer, call, chosen, argument)


def _require_within(typer: ExpressionTyper, node: ast.expr, kind: Type, local: nodes.Local) -> None:
    """Raise SpecError if an item of a collection may not be a value of a local's type."""
    if join(kind, local.type) != local.type:
        text = ast.unparse(node)
        raise typer.scope.error(
            node, f"an item of {text} is {kind:a}, and {local.name} is {local.type:a}: use a type that has all items"
        )


def collection_of_choice(typer: ExpressionTyper, node: ast.expr, local: nodes.Local) -> nodes.Expr:
    """Return the set or bag over which a parameter of an action ranges; raise SpecError if it may fail.

    The declaration of the parameter has compared the type of its items.
    """
    over = call_typing.iterable(typer, node)
    assert isinstance(over, nodes.Expr)
    if (part := failing_part(over)) is not None:
        raise typer.scope.error(
            node,
            f"{part.site.text or ast.unparse(node)} may have no value, and {local.name} is bound to it in every state: "
            f"bind {local.name} to a collection that always has a value",
        )
    if not isinstance(over.type, SeqType):
        return over
    # A set has each item once: equal items are one choice.
    return call_typing.items_of(typer, node, node, "set")
