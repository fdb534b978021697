"""Differences between two states, each at the finest path that describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import MapType, SeqType, StructType, Type
from checker.language.values import show


@dataclass(frozen=True)
class StateChange:
    """A part of the state that a step changed: its path (`log[b1]`, `head.epoch`) and its values."""

    path: str
    before: Any
    after: Any


def changes(spec: Spec, before: State, after: State) -> list[StateChange]:
    """Return what differs between two states, each at the finest path that says it."""
    return [
        change
        for name, kind in spec.variables.items()
        for change in changes_within(name, kind, before.values[name], after.values[name])
    ]


def changes_within(path: str, kind: Type, before: Any, after: Any) -> Iterator[StateChange]:
    """Iterate over what differs between two values of a type, each at the finest path below `path` that says it."""
    if before == after:
        return
    parts = _parts(path, kind, before, after)
    if parts is None:
        yield StateChange(path, before, after)
        return
    for inner_path, inner_kind, old, new in parts:
        yield from changes_within(inner_path, inner_kind, old, new)


def _parts(path: str, kind: Type, before: Any, after: Any) -> list[tuple[str, Type, Any, Any]] | None:
    """Return the parts of two values that can be compared one by one, or None where the whole says more."""
    if isinstance(kind, MapType):
        keys = [f"{path}[{show(key)}]" for key in kind.key.values()]
        entries = zip(keys, before.items_in_order(), after.items_in_order(), strict=True)
        return [(key, kind.value, old, new) for key, old, new in entries]
    if isinstance(kind, StructType):
        fields = [(f"{path}.{name}", part, before.field(name), after.field(name)) for name, part in kind.fields]
        is_all_new = all(old != new for _, _, old, new in fields)
        return None if is_all_new and kind.declared.shows else fields
    # A struct's own `shows` may leave out just what changed.
    is_telling = len(before) > 1 or show(before) == show(after) if isinstance(kind, SeqType) else False
    if isinstance(kind, SeqType) and isinstance(kind.item, StructType) and len(before) == len(after) and is_telling:
        items = enumerate(zip(before, after, strict=True))
        return [(f"{path}[{index}]", kind.item, old, new) for index, (old, new) in items]
    return None
