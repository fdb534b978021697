"""The lanes of a state, as a spec's `Drawing` has them: logs on a ruler, boxes, facts, brackets over in-sync sets."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from checker.ir.types import BagType, BoundsError, DomainType, EnumType, MapType, SeqType, SetType, Type, show
from checker.language.drawing import Drawing, Lane, Log
from checker.language.interpreter import State
from checker.language.spec import Spec

Fate = Literal["kept", "added", "gone", "changed"]
"""What a step did to a part of the drawing; `gone` is shown struck through for this one step."""


@dataclass(frozen=True)
class Cell:
    """A cell of a log. `colour` numbers a colour (None: none); an empty text is a free place on the ruler.

    `is_witness`: the property fails here; `is_watched`: this is the item that it fails for, wherever it stands.
    """

    text: str
    fate: Fate = "kept"
    colour: int | None = None
    is_committed: bool = False
    is_witness: bool = False
    is_watched: bool = False


@dataclass(frozen=True)
class Marker:
    """An offset on the ruler, and the one before the step where that was another."""

    label: str
    offset: int
    before: int | None = None


@dataclass(frozen=True)
class Ruler:
    """A log: its cells, each at its offset, and the markers on them, the log end offset the last."""

    title: str
    cells: tuple[Cell, ...]
    markers: tuple[Marker, ...]

    @property
    def ticks(self) -> list[tuple[int, list[Marker]]]:
        """The offsets that have markers, each with its markers."""
        offsets = sorted({marker.offset for marker in self.markers})
        return [(offset, [marker for marker in self.markers if marker.offset == offset]) for offset in offsets]


@dataclass(frozen=True)
class Box:
    """An item of a collection, with its index where it stands in a sequence, or its key in a map."""

    text: str
    fate: Fate = "kept"
    index: int | str | None = None


@dataclass(frozen=True)
class Fact:
    """A value, and the one before the step where that was another."""

    title: str
    text: str
    before: str | None = None


@dataclass(frozen=True)
class Bracket:
    """Whom somebody counts as a member, before and after the step."""

    viewer: str
    title: str
    members: frozenset[str]
    before: frozenset[str]

    @property
    def span(self) -> frozenset[str]:
        """Everybody who is or was a member."""
        return self.members | self.before


@dataclass(frozen=True)
class LaneView:
    """A lane of one state. `crowns` say in what respect it leads."""

    title: str
    crowns: tuple[str, ...] = ()
    rulers: tuple[Ruler, ...] = ()
    boxes: tuple[tuple[str, tuple[Box, ...]], ...] = ()
    facts: tuple[Fact, ...] = ()
    is_single: bool = False
    is_changed: bool = False
    is_witness: bool = False


@dataclass(frozen=True)
class StateView:
    """All lanes of one state, and the brackets over some of them."""

    lanes: tuple[LaneView, ...]
    brackets: tuple[Bracket, ...]
    bracketed: frozenset[str] = frozenset()

    @property
    def groups(self) -> list[list[LaneView]]:
        """The lanes in their order, those of single lanes and those of types in groups of their own."""
        return [list(lanes) for _, lanes in itertools.groupby(self.lanes, key=lambda lane: lane.is_single)]


@dataclass(frozen=True)
class Place:
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

    def names(self, place: Place) -> bool:
        """Return whether a lane is one of those that fail."""
        return any(is_of(place, value) and place.is_called(name) for name, value in self.bindings.items())

    def is_at(self, place: Place, log: Log, offset: int) -> bool:
        """Return whether a cell is where the property fails."""
        return self.names(place) and any(self.bindings.get(name) == offset for name in log.at)


def places_of(spec: Spec, drawing: Drawing) -> list[Place]:
    """Return the lanes of a drawing, one for each member of the types that have several.

    A lane is called by its member alone where that cannot be mistaken for another one.
    """
    types = [lane.each for lane in drawing.lanes]
    places = []
    with spec.bound():
        for lane in drawing.lanes:
            if lane.each is None:
                places.append(Place(lane, None, None, lane.title))
                continue
            kind = spec._binding.resolve(lane.each)
            is_own_name = isinstance(kind, (DomainType, EnumType)) and types.count(lane.each) == 1
            for member in kind.values():
                title = show(member) if is_own_name else f"{lane.title} {show(member)}"
                places.append(Place(lane, kind, member, title))
    return places


class Artist:
    """Draws the states of a spec one after the other, each as what its step made of the one before."""

    def __init__(self, spec: Spec, drawing: Drawing, witness: Witness, last: State):
        self._spec, self._witness = spec, witness
        self.places = places_of(spec, drawing)
        with spec.bound():
            self._watched = list(self._items_at_witness(spec.in_state(last)))

    def _items_at_witness(self, working: Any) -> Iterator[Any]:
        """Iterate over the items that the witness's offsets hold in the state where the property fails."""
        for place in self.places:
            for log in place.lane.logs:
                for offset, item in enumerate(value_of(working, place, log.name)):
                    if self._witness.is_at(place, log, offset):
                        yield item

    def draw(self, before: State | None, after: State, *, is_last: bool = False) -> StateView:
        """Return the lanes of the state `after`; the witness is marked in the last state."""
        with self._spec.bound():
            old = self._spec.in_state(before if before is not None else after)
            new = self._spec.in_state(after)
            crowns = self._crowns(new)
            brackets = tuple(found for place in self.places for found in self._brackets(place, old, new))
            lanes = tuple(self._lane(place, old, new, crowns.get(place.title, ()), is_last) for place in self.places)
        bracketed = frozenset(place.title for place in self.places if any(self._is_viewed(place, b) for b in brackets))
        return StateView(lanes, brackets, bracketed)

    def _is_viewed(self, place: Place, bracket: Bracket) -> bool:
        viewer = next(found for found in self.places if found.title == bracket.viewer)
        return place.kind is not None and any(
            isinstance(kind, SetType) and kind.item == place.kind
            for kind in (type_of(self._spec, viewer, name) for name in viewer.lane.members)
        )

    def _lane(self, place: Place, old: Any, new: Any, crowns: tuple[str, ...], is_last: bool) -> LaneView:
        lane = place.lane
        witness = self._witness if is_last else Witness()
        rulers = tuple(self._ruler(place, log, old, new, witness) for log in lane.logs)
        boxes = tuple(
            row
            for name, title in lane.boxes.items()
            for row in rows_of_boxes(title, value_of(old, place, name), value_of(new, place, name))
        )
        facts = tuple(
            _fact(title, value_of(old, place, name), value_of(new, place, name)) for name, title in lane.facts.items()
        )
        is_changed = (
            any(fact.before is not None for fact in facts)
            or any(box.fate != "kept" for _, row in boxes for box in row)
            or any(cell.fate != "kept" for ruler in rulers for cell in ruler.cells)
            or any(marker.before is not None for ruler in rulers for marker in ruler.markers)
            or any(found.members != found.before for found in self._brackets(place, old, new))
        )
        return LaneView(
            place.title, crowns, rulers, boxes, facts, place.member is None, is_changed, witness.names(place)
        )

    def _ruler(self, place: Place, log: Log, old: Any, new: Any, witness: Witness) -> Ruler:
        before, after = list(value_of(old, place, log.name)), list(value_of(new, place, log.name))
        offsets = [
            (label, value_of(old, place, name), value_of(new, place, name)) for name, label in log.markers.items()
        ]
        committed = offsets[0][2] if offsets and isinstance(offsets[0][2], int) else len(after)
        kept = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b), min(len(before), len(after)))
        cells = []
        for offset in range(self._width(place, log, before, after)):
            is_new = offset < len(after)
            item = after[offset] if is_new else before[offset] if offset < len(before) else None
            fate: Fate = "kept" if offset < kept or item is None else "added" if is_new else "gone"
            cells.append(
                Cell(
                    show(item) if item is not None else "",
                    fate,
                    _colour(item, log),
                    is_committed=is_new and offset < committed,
                    is_witness=witness.is_at(place, log, offset),
                    is_watched=item is not None and item in self._watched,
                )
            )
        markers = [_marker(label, was, now) for label, was, now in offsets if isinstance(now, int)]
        return Ruler(log.title, tuple(cells), (*markers, _marker(log.end, len(before), len(after))))

    def _width(self, place: Place, log: Log, before: list[Any], after: list[Any]) -> int:
        """Return how many places the ruler has: a short log shows all that fit into it, a long one what is used."""
        kind = type_of(self._spec, place, log.name)
        capacity = kind.capacity if isinstance(kind, SeqType) else 0
        return capacity if capacity <= 6 else max(len(before), len(after), 6)

    def _crowns(self, new: Any) -> dict[str, tuple[str, ...]]:
        """Return for each lane the words in which it is called the leader."""
        crowns: dict[str, tuple[str, ...]] = {}
        for place in self.places:
            for name, words in place.lane.crowned.items():
                value = value_of(new, place, name)
                for found in self.places:
                    if is_of(found, value) or (found is place and value is True):
                        crowns[found.title] = (*crowns.get(found.title, ()), words)
        return crowns

    def _brackets(self, place: Place, old: Any, new: Any) -> Iterator[Bracket]:
        for name, title in place.lane.members.items():
            before, after = value_of(old, place, name), value_of(new, place, name)
            yield Bracket(place.title, title, self._titles(after), self._titles(before))

    def _titles(self, members: Any) -> frozenset[str]:
        return frozenset(place.title for place in self.places for member in members if is_of(place, member))


def value_of(working: Any, place: Place, name: str) -> Any:
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


def type_of(spec: Spec, place: Place, name: str) -> Type | None:
    """Return the type of what a name stands for in a lane; None for a helper."""
    first, *rest = name.split(".")
    kind: Any = spec.variables.get(first)
    if isinstance(kind, MapType) and kind.key == place.kind:
        kind = kind.value
    for part in rest:
        kind = kind.type_of(part) if hasattr(kind, "type_of") else None
    return kind  # type: ignore[no-any-return]


def rows_of_boxes(title: str, before: Any, after: Any) -> Iterator[tuple[str, tuple[Box, ...]]]:
    """Iterate over the titles and boxes of a collection; a map of collections has a row for each key."""
    kind = getattr(after, "type", None)
    if not isinstance(kind, MapType):
        yield title, boxes_of(before, after)
        return
    keys = [show(key) for key in kind.key.values()]
    values = list(zip(keys, before.items_in_order(), after.items_in_order(), strict=True))
    if isinstance(kind.value, (SeqType, SetType, BagType)):
        for key, old, new in values:
            yield (f"{title} {key}" if len(keys) > 1 else title), boxes_of(old, new)
        return
    yield title, tuple(box for key, old, new in values for box in _entry_boxes(key, old, new))


def _entry_boxes(key: str, old: Any, new: Any) -> Iterator[Box]:
    """Iterate over the box of a map's entry; where it changed, over the old one and the new one."""
    if old != new:
        yield Box(show(old), "gone", key)
    yield Box(show(new), "kept" if old == new else "added", key)


def boxes_of(before: Any, after: Any) -> tuple[Box, ...]:
    """Return the items of a collection, those that a step took out of it among them."""
    old, new = [show(item) for item in _items(before)], [show(item) for item in _items(after)]
    is_sequence = isinstance(getattr(after, "type", None), SeqType)
    boxes: list[Box] = []
    for what, old_start, old_end, new_start, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if what != "equal":
            boxes += [Box(text, "gone") for text in old[old_start:old_end]]
        fate: Fate = "kept" if what == "equal" else "added"
        boxes += [
            Box(text, fate, new_start + position if is_sequence else None)
            for position, text in enumerate(new[new_start:new_end])
        ]
    return tuple(boxes)


def _items(value: Any) -> list[Any]:
    return [] if value is None else list(value) if hasattr(value, "__iter__") else [value]


def is_of(place: Place, value: Any) -> bool:
    """Return whether a lane is the one of a value."""
    return place.member is not None and type(value) is type(place.member) and value == place.member


def _fact(title: str, before: Any, after: Any) -> Fact:
    return Fact(title, show(after), show(before) if before != after else None)


def _marker(label: str, before: Any, after: int) -> Marker:
    return Marker(label, after, before if before != after and isinstance(before, int) else None)


def _colour(item: Any, log: Log) -> int | None:
    """Return the number of a cell's colour: the value of the field that the log is coloured by."""
    if item is None or not log.colour:
        return None
    value = item if log.colour == "." else item.field(log.colour)
    return value if isinstance(value, int) else getattr(value, "index", None)
