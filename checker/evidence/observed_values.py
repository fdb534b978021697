"""Observed values of the parts of a state, and the values of their types that never occur.

A part is named by a path without concrete keys and positions: `log[Replica][].epoch` is the epoch of every record in
the log of every replica.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from checker.language.types import (
    BagType,
    BoolType,
    DomainType,
    EnumType,
    IntType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)
from checker.language.values import show
from checker.printable import quantity

MOST_LISTED = 64
"""For an integer type with more values than this, only the lowest and the highest observed value are kept."""


@dataclass
class ObservedPart:
    """The observations of one part.

    `seen` are numbers of values (for scalars), numbers of items (for bit sets) or lengths (for other collections).
    """

    kind: Type
    seen: set[int] = field(default_factory=set)


Observations = dict[str, ObservedPart]


@dataclass(frozen=True)
class UnusedValues:
    """Values that a part never has: `predicate` follows the path in a sentence, `key` is independent of constants."""

    path: str
    predicate: str
    key: str


def is_scalar(kind: Type) -> bool:
    """Return whether the values of a type are single numbers: bools, integers, members, and options of these."""
    return isinstance(kind.item if isinstance(kind, OptionType) else kind, (BoolType, IntType, DomainType, EnumType))


def path_key(kind: MapType) -> str:
    """Return the text between the brackets of a map in a path."""
    return kind.key.name or "key" if isinstance(kind.key, IntType) else str(kind.key)


def field_path(path: str, kind: StructType, name: str) -> str:
    """Return the path of a field of a struct, or of an item of a tuple."""
    return f"{path}[{name}]" if isinstance(kind, TupleType) else f"{path}.{name}"


def observe(observations: Observations, path: str, kind: Type, value: Any) -> None:
    """Record a value in the interpreter's form, and its parts."""
    if is_scalar(kind):
        _indices(observations, path, kind).add(kind.position(value))
    elif isinstance(kind, OptionType):
        _indices(observations, path, kind).add(int(value is not None))
        if value is not None:
            observe(observations, path, kind.item, value)
    elif isinstance(kind, UnionType):
        alternative = kind.alternative_of(value)
        observe(observations, f"{path}.{alternative}", alternative, value)
    elif isinstance(kind, StructType):
        for name, part in kind.fields:
            observe(observations, field_path(path, kind, name), part, value.field(name))
    elif isinstance(kind, MapType):
        for item in value.items_in_order():
            observe(observations, f"{path}[{path_key(kind)}]", kind.value, item)
    elif isinstance(kind, SetType) and kind.capacity is None:
        universe = list(kind.item.values())
        _indices(observations, path, kind).update(universe.index(item) for item in value)
    elif isinstance(kind, (SetType, SeqType, BagType)):
        _indices(observations, path, kind).add(len(value))
        for item in value:
            observe(observations, f"{path}[]", kind.item, item)


def _indices(observations: Observations, path: str, kind: Type) -> set[int]:
    # An option of a struct has the same path as the struct. The suffix "?" distinguishes them.
    return observations.setdefault(f"{path}?" if _is_presence(kind) else path, ObservedPart(kind)).seen


def _is_presence(kind: Type) -> bool:
    return isinstance(kind, OptionType) and not is_scalar(kind)


def observe_numbers(observations: Observations, path: str, kind: Type, numbers: set[int]) -> None:
    """Record the numbers of observed values of a part, with the numbering of `observe`."""
    _indices(observations, path, kind).update(numbers)


def values_never_seen(observations: Observations) -> Iterator[UnusedValues]:
    """Iterate over the values that each part never has."""
    for path, observed in observations.items():
        for predicate, key in _missing(observed.kind, observed.seen):
            yield UnusedValues(path.rstrip("?"), predicate, key)


def _missing(kind: Type, seen: set[int]) -> Iterator[tuple[str, str]]:
    if isinstance(kind, OptionType):
        yield from _missing_option(kind, seen)
    elif isinstance(kind, SetType) and kind.capacity is None:
        yield from _missing_items(kind, seen)
    elif isinstance(kind, (SetType, SeqType, BagType)):
        assert kind.capacity is not None
        if seen <= {0}:
            yield "is always empty", "empty"
        elif kind.capacity not in seen:
            yield f"has at most {_items(max(seen))}: its capacity is {kind.capacity}", "capacity"
    else:
        yield from _missing_scalars(kind, seen)


def _items(count: int) -> str:
    return quantity(count, "item")


def _missing_option(kind: OptionType, seen: set[int]) -> Iterator[tuple[str, str]]:
    if seen <= {0}:
        yield "is always None", "always none"
        return
    if 0 not in seen:
        yield "is never None", "never none"
    if is_scalar(kind.item):
        yield from _missing_scalars(kind.item, {number - 1 for number in seen if number})


def _missing_scalars(kind: Type, seen: set[int]) -> Iterator[tuple[str, str]]:
    if isinstance(kind, IntType):
        yield from _missing_integers(kind, seen)
        return
    missing = [value for number, value in enumerate(kind.values()) if number not in seen]
    if isinstance(kind, DomainType):
        if missing:
            yield f"is never {', '.join(map(show, missing))}", "members"
        return
    for value in missing:
        text = str(value) if isinstance(value, bool) else show(value)
        yield f"is never {text}", text


def _missing_integers(kind: IntType, seen: set[int]) -> Iterator[tuple[str, str]]:
    assert kind.low is not None and kind.high is not None
    highest = kind.high - kind.low
    if len(seen) == 1 and highest:
        yield f"is always {min(seen) + kind.low}", "always"
        return
    if 0 not in seen:
        yield f"is never below {min(seen) + kind.low}: its type begins at {kind.low}", "lowest"
    if highest not in seen:
        yield f"is never above {max(seen) + kind.low}: its type ends at {kind.high}", "highest"
    if highest < MOST_LISTED:
        gaps = [str(number + kind.low) for number in range(min(seen), max(seen)) if number not in seen]
        if gaps:
            yield f"is never {', '.join(gaps)}", "between"


def _missing_items(kind: SetType, seen: set[int]) -> Iterator[tuple[str, str]]:
    if not seen:
        yield "is always empty", "empty"
        return
    missing = [show(value) for number, value in enumerate(kind.item.values()) if number not in seen]
    if missing:
        yield f"never contains {', '.join(missing)}", "items"
