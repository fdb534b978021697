"""A state as tables: one table per key type of maps, with a column per key, and one table for other variables."""

from __future__ import annotations

from dataclasses import dataclass

from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import MapType, StructType, TupleType, Type
from checker.language.values import show

_MOST_COLUMNS = 8
"""A map with more keys than this has one row per key."""


@dataclass(frozen=True)
class StateTableEntry:
    """A value of a table; `before` is the value before the step if the step changed it."""

    text: str
    before: str | None = None


@dataclass(frozen=True)
class StateTableRow:
    """A variable, or a part of a variable, and its values by column."""

    name: str
    entries: tuple[StateTableEntry, ...]

    @property
    def is_changed(self) -> bool:
        """Whether the step changed a value of this row."""
        return any(entry.before is not None for entry in self.entries)


@dataclass(frozen=True)
class StateTable:
    """Rows of values; `columns` are the keys of maps, empty if each row has one value."""

    columns: tuple[str, ...]
    rows: tuple[StateTableRow, ...]


def tables(
    spec: Spec, before: State | None, after: State, drawn: frozenset[str] = frozenset()
) -> tuple[StateTable, ...]:
    """Return the state `after` as tables with its differences from `before`; omit the variables `drawn` elsewhere."""
    by_key: dict[tuple[str, ...], list[StateTableRow]] = {(): []}
    for name, kind in spec.variables.items():
        if name in drawn:
            continue
        new = after.values[name]
        old = before.values[name] if before is not None else new
        for columns, row in _rows(name, kind, old, new):
            by_key.setdefault(columns, []).append(row)
    return tuple(StateTable(columns, tuple(rows)) for columns, rows in sorted(by_key.items(), key=_order) if rows)


def _order(item: tuple[tuple[str, ...], list[StateTableRow]]) -> bool:
    return not item[0]


def _rows(name: str, kind: Type, old: object, new: object) -> list[tuple[tuple[str, ...], StateTableRow]]:
    if isinstance(kind, MapType):
        keys = [show(key) for key in kind.key.values()]
        pairs = list(zip(old.items_in_order(), new.items_in_order(), strict=True))  # type: ignore[attr-defined]
        if isinstance(kind.value, MapType) or len(keys) > _MOST_COLUMNS:
            return [
                row
                for key, (was, now) in zip(keys, pairs, strict=True)
                for row in _rows(f"{name}[{key}]", kind.value, was, now)
            ]
        return [(tuple(keys), StateTableRow(name, tuple(_entry(was, now) for was, now in pairs)))]
    if isinstance(kind, StructType) and not (kind.declared.shows or isinstance(kind, TupleType)):
        return [
            row
            for field, part in kind.fields
            for row in _rows(f"{name}.{field}", part, old.field(field), new.field(field))  # type: ignore[attr-defined]
        ]
    return [((), StateTableRow(name, (_entry(old, new),)))]


def _entry(old: object, new: object) -> StateTableEntry:
    return StateTableEntry(show(new), show(old) if old != new else None)
