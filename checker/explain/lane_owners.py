"""The lanes of a drawing with their owners, and the values of the drawing's names in each lane."""

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
    """A lane of the drawing: its declaration `lane`, and the member of the type `kind` that owns it.

    A single lane (declared without `each`) has no owner: `kind` and `member` are None.
    """

    lane: Lane
    kind: Type | None
    member: Any
    title: str

    def is_called(self, name: str) -> bool:
        """Return whether a property's variable of this name can refer to the owner.

        Members of domains and enums are unambiguous. A number is the owner only if the name agrees with the lane's
        title: otherwise it could be an offset or an epoch.
        """
        return not isinstance(self.member, int) or self.lane.title.startswith(name)


@dataclass
class FailureBindings:
    """The variables that a violated property bound at its violation: they select the lanes and cells to mark."""

    bindings: Mapping[str, Any] = field(default_factory=dict)

    def names(self, owner: LaneOwner) -> bool:
        """Return whether a binding refers to the owner of a lane."""
        return any(is_of(owner, value) and owner.is_called(name) for name, value in self.bindings.items())

    def is_about(self, log: Log, item: Any) -> bool:
        """Return whether a binding refers to an item of a log, by its identity or by the declared field."""
        return any(self._is_called(called, item, log) for called in log.called)

    def _is_called(self, called: str, item: Any, log: Log) -> bool:
        name, _, part = called.partition("=")
        # Of several structs in a log, only some have the field.
        value = getattr(item, part, None) if part else identity(item, log)
        return name in self.bindings and value is not None and bool(value == self.bindings[name])

    def is_at(self, owner: LaneOwner, log: Log, offset: int) -> bool:
        """Return whether the bindings refer to the cell at an offset of a lane's log."""
        return self.names(owner) and any(self.bindings.get(name) == offset for name in log.at)


def lane_owners(spec: Spec, drawing: Drawing) -> list[LaneOwner]:
    """Return the lanes of a drawing: one per single lane, and one per member of the types of the others.

    The title of a lane is the member's name if that is unambiguous; otherwise it starts with the declared title.
    """
    types = [lane.each for lane in drawing.lanes]
    owners = []
    with spec.bound():
        for lane in drawing.lanes:
            if lane.each is None:
                owners.append(LaneOwner(lane, None, None, lane.title))
                continue
            kind = spec.resolved_type(lane.each)
            is_own_name = isinstance(kind, (DomainType, EnumType)) and types.count(lane.each) == 1
            for member in kind.values():
                title = show(member) if is_own_name else f"{lane.title} {show(member)}"
                owners.append(LaneOwner(lane, kind, member, title))
    return owners


def value_of(working: Any, owner: LaneOwner, name: str) -> Any:
    """Return the value of a drawing's name in a lane.

    A name is a path (`quorum.leader`) that begins with a variable or a helper of the spec. A map over the lane's type
    is indexed by the owner, and a helper is called with the owner. Returns None if a part of the path is None or its
    evaluation leaves the bounds of a type.
    """
    first, *rest = name.split(".")
    kind = working.variables.get(first)
    try:
        value = getattr(working, first)
        if kind is None:
            value = value() if owner.member is None else value(owner.member)
        elif isinstance(kind, MapType) and owner.kind is not None and kind.key == owner.kind:
            value = value[owner.member]
        for part in rest:
            value = getattr(value, part) if value is not None else None
    except BoundsError:
        return None
    return value


def type_of(spec: Spec, owner: LaneOwner, name: str) -> Type | None:
    """Return the type of a drawing's name in a lane (see `value_of`); None for a helper."""
    first, *rest = name.split(".")
    kind: Any = spec.variables.get(first)
    if isinstance(kind, MapType) and kind.key == owner.kind:
        kind = kind.value
    for part in rest:
        kind = kind.type_of(part) if hasattr(kind, "type_of") else None
    return kind  # type: ignore[no-any-return]


def is_of(owner: LaneOwner, value: Any) -> bool:
    """Return whether a value is the owner of a lane."""
    return owner.member is not None and type(value) is type(owner.member) and value == owner.member


def identity(item: Any, log: Log) -> Any:
    """Return the part of an item that a log is coloured by, or None if the log has no colours."""
    if item is None or not log.colour:
        return None
    return item if log.colour == "." else item.field(log.colour)
