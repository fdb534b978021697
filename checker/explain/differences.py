"""Differences between two states, each with the longest path that describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import (
    MapType,
    SeqType,
    StructType,
    TupleType,
    Type,
    UnionType,
)
from checker.language.values import BagValue, SeqValue, SetValue, show


@dataclass(frozen=True)
class StateChange:
    """A changed part of the state: its path (`log[b1]`, `head.epoch`) and its values before and after."""

    path: str
    before: Any
    after: Any


def came_and_went(change: StateChange) -> tuple[list[Any], list[Any]] | None:
    """Return the items that a set, bag or sequence lost and got, or None if its values do not show the change so.

    Of a sequence, only items at its ends count: one that lost its first items and got others at its end.
    """
    before, after = change.before, change.after
    if type(before) is not type(after):
        return None
    if isinstance(before, (SetValue, BagValue)):
        lost, got = list(before), []
        for item in after:
            lost.remove(item) if item in lost else got.append(item)
        return lost, got
    if not isinstance(before, SeqValue):
        return None
    old, new = list(before), list(after)
    for start in range(len(old) + 1):
        kept = old[start:]
        if kept == new[: len(kept)]:
            return old[:start], new[len(kept) :]
        if new == kept[: len(new)] and start == 0:
            return kept[len(new) :], []
    return None


def changes(spec: Spec, before: State, after: State) -> list[StateChange]:
    """Return the differences between two states, in the order of the variables' declarations."""
    return [
        change
        for name, kind in spec.variables.items()
        for change in changes_within(name, kind, before.values[name], after.values[name])
    ]


def changes_within(path: str, kind: Type, before: Any, after: Any) -> Iterator[StateChange]:
    """Iterate over the differences between two values of a type; their paths begin with `path`."""
    if before == after:
        return
    parts = _parts(path, kind, before, after)
    if parts is None:
        yield StateChange(path, before, after)
        return
    for inner_path, inner_kind, old, new in parts:
        yield from changes_within(inner_path, inner_kind, old, new)


def _parts(path: str, kind: Type, before: Any, after: Any) -> list[tuple[str, Type, Any, Any]] | None:
    """Return the corresponding parts of two values (path, type, before, after), or None to show both values whole.

    Values are shown whole if they have no corresponding parts, for example sets and sequences of different lengths,
    and if every field of a struct with its own notation (`shows`) has changed.
    """
    if isinstance(kind, MapType):
        keys = [f"{path}[{show(key)}]" for key in kind.key.values()]
        entries = zip(keys, before.items_in_order(), after.items_in_order(), strict=True)
        return [(key, kind.value, old, new) for key, old, new in entries]
    if isinstance(kind, UnionType) and type(before) is type(after):
        kind = kind.alternative_of(after)
    if isinstance(kind, StructType) and not isinstance(kind, TupleType):
        fields = [(f"{path}.{name}", part, before.field(name), after.field(name)) for name, part in kind.fields]
        is_all_new = all(old != new for _, _, old, new in fields)
        return None if is_all_new and kind.declared.shows else fields
    if not (isinstance(kind, SeqType) and isinstance(kind.item, StructType) and len(before) == len(after)):
        return None
    if len(before) == 1 and show(before) != show(after):
        # A sequence of one item is shown whole, unless `shows` leaves out the changed field.
        return None
    items = enumerate(zip(before, after, strict=True))
    return [(f"{path}[{index}]", kind.item, old, new) for index, (old, new) in items]
