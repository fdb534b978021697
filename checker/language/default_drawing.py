"""The drawing of a spec that declares none: a lane for each member of the types by which its variables are indexed."""

from __future__ import annotations

from checker.language.drawing import Drawing, Lane
from checker.language.spec import Spec
from checker.language.types import BagType, DomainType, EnumType, MapType, OptionType, SeqType, SetType, Type

MOST_LANES = 16
"""Largest number of members of a type that has lanes: with more, a table shows the variables better."""

SHARED = "shared"
"""The title of the lane of the variables that belong to no member."""


def drawing_of(spec: Spec) -> Drawing | None:
    """Return the drawing that a spec declares, or else the default drawing; None if no variable has lanes.

    The default drawing has lanes for the members of each `Domain` and enum that is the key of a map. A lane shows the
    values of these maps: collections as boxes, others as text. One more lane shows the other variables.
    """
    if spec.draws is not None:
        return spec.draws
    by_owner: dict[type | None, dict[str, Type]] = {}
    for name, kind in spec.variables.items():
        owner = _owner(kind)
        value = kind.value if isinstance(kind, MapType) and owner is not None else kind
        by_owner.setdefault(owner, {})[name] = value
    shared = by_owner.pop(None, None)
    if not by_owner:
        return None
    lanes = [_lane(owner.__name__.lower(), owner, kinds) for owner, kinds in by_owner.items() if owner is not None]
    return Drawing(*lanes, *([_lane(SHARED, None, shared)] if shared else []))


def _owner(kind: Type) -> type | None:
    """Return the class of the members that each have a value of a variable; None if it belongs to no member."""
    if isinstance(kind, MapType) and isinstance(kind.key, DomainType | EnumType):
        return kind.key.declared if kind.key.cardinality() <= MOST_LANES else None
    return None


def _lane(title: str, each: type | None, kinds: dict[str, Type]) -> Lane:
    boxes = [name for name, kind in kinds.items() if _is_collection(kind)]
    facts = [name for name in kinds if name not in boxes]
    return Lane(title, each, boxes={name: name for name in boxes}, facts={name: name for name in facts})


def _is_collection(kind: Type) -> bool:
    item = kind.item if isinstance(kind, OptionType) else kind
    return isinstance(item, MapType | SeqType | SetType | BagType)
