"""The check that nothing depends on a variable that a view leaves out."""

from __future__ import annotations

import dataclasses
from typing import Any

from checker.errors import SpecError
from checker.ir import nodes
from checker.language.views import View


def check_view(program: nodes.Program, view: View) -> None:
    """Raise SpecError if an action, a property or a constraint reads a variable that the view leaves out.

    Only an assignment to such a variable may read one. Then states that differ only in these variables have the same
    enabled actions, the same properties, and successors that differ only in these variables.
    """
    if not view.is_checked:
        return
    found = _first_read((program.actions, program.properties, program.constraints), frozenset(view.left_out))
    if found is not None:
        message = (
            f"{found.variable} is read here, and the view {view.name} leaves it out: add it to the view, "
            "or accept that a violation may be missed and write @view(unchecked=True)"
        )
        raise SpecError(message, file=found.site.file, line=found.site.line)


def _first_read(parts: Any, left_out: frozenset[str]) -> nodes.StateRead | None:
    waiting, seen = [parts], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, nodes.StateRead) and node.variable in left_out:
            return node
        if isinstance(node, nodes.AssignPlace) and _root(node.place) in left_out:
            continue
        if isinstance(node, (list, tuple)):
            # The last one is handled first, so the text's first read is found first.
            waiting.extend(reversed(node))
        elif dataclasses.is_dataclass(node) and type(node).__module__ == nodes.__name__:
            waiting.extend(getattr(node, field.name) for field in reversed(dataclasses.fields(node)))
    return None


def _root(place: nodes.Expr) -> str:
    """Return the variable of a place."""
    while isinstance(place, (nodes.FieldRead, nodes.IndexRead, nodes.Convert)):
        place = place.base
    return place.variable if isinstance(place, nodes.StateRead) else ""
