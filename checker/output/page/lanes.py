"""The lanes of a state, as a spec's `Drawing` has them: logs on a ruler, boxes, facts, brackets over in-sync sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.language.drawing import Drawing, Log
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import SeqType, SetType
from checker.language.values import show
from checker.output.page.boxes import Box, Fate, rows_of_boxes
from checker.output.page.lane_owners import LaneOwner, Witness, identity, is_of, places_of, type_of, value_of


@dataclass(frozen=True)
class LogCell:
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
    cells: tuple[LogCell, ...]
    markers: tuple[Marker, ...]

    @property
    def ticks(self) -> list[tuple[int, list[Marker]]]:
        """The offsets that have markers, each with its markers."""
        offsets = sorted({marker.offset for marker in self.markers})
        return [(offset, [marker for marker in self.markers if marker.offset == offset]) for offset in offsets]


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

    def _is_watched(self, log: Log, item: Any) -> bool:
        return item is not None and (item in self._watched or self._witness.is_about(log, item))

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

    def _is_viewed(self, place: LaneOwner, bracket: Bracket) -> bool:
        viewer = next(found for found in self.places if found.title == bracket.viewer)
        return place.kind is not None and any(
            isinstance(kind, SetType) and kind.item == place.kind
            for kind in (type_of(self._spec, viewer, name) for name in viewer.lane.members)
        )

    def _lane(self, place: LaneOwner, old: Any, new: Any, crowns: tuple[str, ...], is_last: bool) -> LaneView:
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

    def _ruler(self, place: LaneOwner, log: Log, old: Any, new: Any, witness: Witness) -> Ruler:
        before, after = list(value_of(old, place, log.name)), list(value_of(new, place, log.name))
        offsets = [
            (label, value_of(old, place, name), value_of(new, place, name)) for name, label in log.markers.items()
        ]
        committed = offsets[0][2] if offsets and isinstance(offsets[0][2], int) else len(after)
        kept = _common(before, after)
        cells = []
        for offset in range(self._width(place, log, before, after)):
            is_new = offset < len(after)
            item = after[offset] if is_new else before[offset] if offset < len(before) else None
            fate: Fate = "kept" if offset < kept or item is None else "added" if is_new else "gone"
            cells.append(
                LogCell(
                    show(item) if item is not None else "",
                    fate,
                    _colour(item, log),
                    is_committed=is_new and offset < committed,
                    is_witness=witness.is_at(place, log, offset),
                    is_watched=self._is_watched(log, item),
                )
            )
        markers = [_marker(label, was, now) for label, was, now in offsets if isinstance(now, int)]
        return Ruler(log.title, tuple(cells), (*markers, _marker(log.end, len(before), len(after))))

    def _width(self, place: LaneOwner, log: Log, before: list[Any], after: list[Any]) -> int:
        """Return how many places the ruler has: a short log shows all that fit into it, others what is used."""
        kind, used = type_of(self._spec, place, log.name), max(len(before), len(after))
        if not isinstance(kind, SeqType):
            return used
        return kind.capacity if kind.capacity <= 6 else max(used, 6)

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

    def _brackets(self, place: LaneOwner, old: Any, new: Any) -> Iterator[Bracket]:
        for name, title in place.lane.members.items():
            before, after = value_of(old, place, name), value_of(new, place, name)
            yield Bracket(place.title, title, self._titles(after), self._titles(before))

    def _titles(self, members: Any) -> frozenset[str]:
        return frozenset(place.title for place in self.places for member in members if is_of(place, member))


def _fact(title: str, before: Any, after: Any) -> Fact:
    return Fact(title, show(after), show(before) if before != after else None)


def _marker(label: str, before: Any, after: int) -> Marker:
    return Marker(label, after, before if before != after and isinstance(before, int) else None)


def _colour(item: Any, log: Log) -> int | None:
    """Return the number of a cell's colour: the value of what the log is coloured by."""
    value = identity(item, log)
    return value if isinstance(value, int) else getattr(value, "index", None)


def _common(one: list[Any], other: list[Any]) -> int:
    """Return how many items two sequences begin with alike."""
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
