"""Whose lanes a drawing has, and what the names of the drawing stand for in each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from checker.errors import BoundsError
from checker.language.drawing import Drawing, Lane, Log
from checker.language.spec import Spec
from checker.language.types import DomainType, EnumType, MapType, Type
from checker.language.values import show


@dataclass(frozen=True)
class LaneOwner:
    """A lane of the drawing: what declares it, and whose it is (`member` is None in a single lane)."""

    lane: Lane
    kind: Type | None
    member: Any
    title: str

    def is_called(self, name: str) -> bool:
        """Return whether a variable of this name may stand for the lane: a number could be anything otherwise."""
        return not isinstance(self.member, int) or self.lane.title.startswith(name)


@dataclass
class Witness:
    """The values that the failing property bound: members have their lanes marked, and offsets their cells."""

    bindings: Mapping[str, Any] = field(default_factory=dict)

    def names(self, place: LaneOwner) -> bool:
        """Return whether a lane is one of those that fail."""
        return any(is_of(place, value) and place.is_called(name) for name, value in self.bindings.items())

    def is_about(self, log: Log, item: Any) -> bool:
        """Return whether an item of a log is one that the property names by its identity."""
        return any(name in self.bindings and identity(item, log) == self.bindings[name] for name in log.called)

    def is_at(self, place: LaneOwner, log: Log, offset: int) -> bool:
        """Return whether a cell is where the property fails."""
        return self.names(place) and any(self.bindings.get(name) == offset for name in log.at)


def places_of(spec: Spec, drawing: Drawing) -> list[LaneOwner]:
    """Return the lanes of a drawing, one for each member of the types that have several.

    A lane is called by its member alone where that cannot be mistaken for another one.
    """
    types = [lane.each for lane in drawing.lanes]
    places = []
    with spec.bound():
        for lane in drawing.lanes:
            if lane.each is None:
                places.append(LaneOwner(lane, None, None, lane.title))
                continue
            kind = spec.resolved_type(lane.each)
            is_own_name = isinstance(kind, (DomainType, EnumType)) and types.count(lane.each) == 1
            for member in kind.values():
                title = show(member) if is_own_name else f"{lane.title} {show(member)}"
                places.append(LaneOwner(lane, kind, member, title))
    return places


def value_of(working: Any, place: LaneOwner, name: str) -> Any:
    """Return what a name of a drawing stands for in a lane; None where a part on the way is None or has no value."""
    first, *rest = name.split(".")
    kind = working.variables.get(first)
    try:
        value = getattr(working, first)
        if kind is None:
            value = value() if place.member is None else value(place.member)
        elif isinstance(kind, MapType) and place.kind is not None and kind.key == place.kind:
            value = value[place.member]
        for part in rest:
            value = getattr(value, part) if value is not None else None
    except BoundsError:
        return None
    return value


def type_of(spec: Spec, place: LaneOwner, name: str) -> Type | None:
    """Return the type of what a name stands for in a lane; None for a helper."""
    first, *rest = name.split(".")
    kind: Any = spec.variables.get(first)
    if isinstance(kind, MapType) and kind.key == place.kind:
        kind = kind.value
    for part in rest:
        kind = kind.type_of(part) if hasattr(kind, "type_of") else None
    return kind  # type: ignore[no-any-return]


def is_of(place: LaneOwner, value: Any) -> bool:
    """Return whether a lane is the one of a value."""
    return place.member is not None and type(value) is type(place.member) and value == place.member


def identity(item: Any, log: Log) -> Any:
    """Return the value of what a log is coloured by, which tells its items apart."""
    if item is None or not log.colour:
        return None
    return item if log.colour == "." else item.field(log.colour)
