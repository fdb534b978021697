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


@dataclass(frozen=True)
class ItemsChange:
    """The items that a part of a collection lost and got; `path` as in `StateChange`."""

    path: str
    lost: list[Any]
    got: list[Any]

    @property
    def texts(self) -> tuple[str, str]:
        """What was lost and what came, as `- a, b` and `+ c`; empty for nothing."""
        parts = [", ".join(map(show, items)) for items in (self.lost, self.got)]
        lost, got = (f"{sign} {part}" if part else "" for sign, part in zip("-+", parts, strict=True))
        return lost, got


def came_and_went(change: StateChange) -> ItemsChange | None:
    """Return what a set, bag or sequence lost and got; None if the value is none of these.

    A sequence that lost its first items and got others at its end has both; otherwise the path has the position of the
    change.
    """
    before, after, path = change.before, change.after, change.path
    if type(before) is not type(after) or not isinstance(before, (SetValue, BagValue, SeqValue)):
        return None
    old, new = list(before), list(after)
    return _sequence_change(path, old, new) if isinstance(before, SeqValue) else _set_change(path, old, new)


def _set_change(path: str, old: list[Any], new: list[Any]) -> ItemsChange:
    lost, got = list(old), []
    for item in new:
        lost.remove(item) if item in lost else got.append(item)
    return ItemsChange(path, lost, got)


def _sequence_change(path: str, old: list[Any], new: list[Any]) -> ItemsChange:
    """Return the smallest change: at the ends, as of a queue, or at one position."""
    if new == old[: len(new)]:
        return ItemsChange(path, old[len(new) :], [])
    start = next(number for number in range(len(old) + 1) if old[number:] == new[: len(old) - number])
    at_ends = ItemsChange(path, old[:start], new[len(old) - start :])
    first = _common(old, new)
    last = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - first)
    lost, got = old[first : len(old) - last], new[first : len(new) - last]
    place = first if len(lost) < 2 else f"{first}:{first + len(lost)}"
    inside = ItemsChange(f"{path}[{place}]", lost, got)
    return min(at_ends, inside, key=lambda change: len(change.lost) + len(change.got))


def _common(one: list[Any], other: list[Any]) -> int:
    """Return the number of equal items at the start of two lists."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))


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
