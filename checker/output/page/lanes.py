"""The lanes of a state, as a spec's `Drawing` declares them: logs, boxes, facts and columns of members."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.explain.drawn_expressions import item_text
from checker.explain.lane_owners import FailureBindings, LaneOwner, identity, is_of, lane_owners, type_of, value_of
from checker.language.drawing import Drawing, Log
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import SeqType, SetType
from checker.language.values import show
from checker.output.page.boxes import Box, ItemChange, rows_of_boxes


@dataclass(frozen=True)
class LogCell:
    """A cell of a log; a cell without text is free. `colour` is the number of a colour (None: not coloured).

    `is_violation`: the property is violated at this cell. `is_violating_item`: the cell holds the item that the
    violation is about, in any log and at any offset.
    """

    text: str
    change: ItemChange = "kept"
    colour: int | None = None
    is_committed: bool = False
    is_violation: bool = False
    is_violating_item: bool = False


@dataclass(frozen=True)
class Marker:
    """A labelled offset below a log; `before` is the offset before the step if the step changed it."""

    label: str
    offset: int
    before: int | None = None


@dataclass(frozen=True)
class LogView:
    """A log: its cells by offset, and its markers. The log end offset is the last marker."""

    title: str
    cells: tuple[LogCell, ...]
    markers: tuple[Marker, ...]

    @property
    def ticks(self) -> list[tuple[int, list[Marker]]]:
        """The marked offsets in ascending order, each with its markers."""
        offsets = sorted({marker.offset for marker in self.markers})
        return [(offset, [marker for marker in self.markers if marker.offset == offset]) for offset in offsets]

    @property
    def tick_lines(self) -> int:
        """The most lines of text at an offset: one for each marker, and one for its offset before the step."""
        return max(sum(1 + (marker.before is not None) for marker in markers) for _, markers in self.ticks)


@dataclass(frozen=True)
class Fact:
    """A titled value; `before` is the value before the step if the step changed it."""

    title: str
    text: str
    before: str | None = None


@dataclass(frozen=True)
class MemberColumn:
    """The members of a set according to one observer, before and after the step, by the titles of their lanes."""

    observer: str
    title: str
    members: frozenset[str]
    before: frozenset[str]


@dataclass(frozen=True)
class LaneView:
    """A lane of one state. `leader_marks` are the texts next to its crown: according to whom it leads."""

    title: str
    leader_marks: tuple[str, ...] = ()
    logs: tuple[LogView, ...] = ()
    boxes: tuple[tuple[str, tuple[Box, ...]], ...] = ()
    facts: tuple[Fact, ...] = ()
    is_single: bool = False
    is_changed: bool = False
    is_violation: bool = False


@dataclass(frozen=True)
class StateView:
    """All lanes of one state, and the columns of members. `possible_members` are titles of lanes."""

    lanes: tuple[LaneView, ...]
    member_columns: tuple[MemberColumn, ...]
    possible_members: frozenset[str] = frozenset()

    @property
    def groups(self) -> list[list[LaneView]]:
        """The lanes in their order, split into runs of single lanes and runs of lanes with owners."""
        return [list(lanes) for _, lanes in itertools.groupby(self.lanes, key=lambda lane: lane.is_single)]

    def columns_of(self, group: list[LaneView]) -> tuple[MemberColumn, ...]:
        """Return the columns of members beside a group of lanes: none if no lane of it can be a member."""
        return self.member_columns if any(lane.title in self.possible_members for lane in group) else ()


class StateRenderer:
    """Renders the states of a spec, each with its differences from the state before.

    `last` is the state in which the property is violated: the items to mark are looked up there.
    """

    def __init__(self, spec: Spec, drawing: Drawing, bindings: FailureBindings, last: State):
        self._spec, self._drawing, self._bindings = spec, drawing, bindings
        self.owners = lane_owners(spec, drawing)
        with spec.bound():
            self._violating_items = list(self._items_at_failure(spec.in_state(last)))

    def _items_at_failure(self, working: Any) -> Iterator[Any]:
        """Iterate over the items at the offsets that the violated property bound, in the last state."""
        for owner in self.owners:
            for log in owner.lane.logs:
                for offset, item in enumerate(value_of(working, owner, log.name)):
                    if self._bindings.is_at(owner, log, offset):
                        yield item

    def _is_violating_item(self, log: Log, item: Any) -> bool:
        return item is not None and (item in self._violating_items or self._bindings.is_about(log, item))

    def draw(self, before: State | None, after: State, *, is_violated: bool = False) -> StateView:
        """Return the lanes of the state `after`; cells and lanes are marked as violations if `is_violated`."""
        with self._spec.bound():
            old = self._spec.in_state(before if before is not None else after)
            new = self._spec.in_state(after)
            leader_marks = self._leader_marks(new)
            member_columns = tuple(column for owner in self.owners for column in self._member_columns(owner, old, new))
            lanes = tuple(
                self._lane(owner, old, new, leader_marks.get(owner.title, ()), is_violated) for owner in self.owners
            )
        possible_members = frozenset(
            owner.title for owner in self.owners if any(self._may_be_member(owner, b) for b in member_columns)
        )
        return StateView(lanes, member_columns, possible_members)

    def _may_be_member(self, owner: LaneOwner, column: MemberColumn) -> bool:
        observer = next(each for each in self.owners if each.title == column.observer)
        return owner.kind is not None and any(
            isinstance(kind, SetType) and kind.item == owner.kind
            for kind in (type_of(self._spec, observer, name) for name in observer.lane.members)
        )

    def _lane(self, owner: LaneOwner, old: Any, new: Any, leader_marks: tuple[str, ...], is_violated: bool) -> LaneView:
        lane = owner.lane
        bindings = self._bindings if is_violated else FailureBindings()
        logs = tuple(self._log_view(owner, log, old, new, bindings) for log in lane.logs)
        boxes = tuple(
            row
            for name, title in lane.boxes.items()
            for row in rows_of_boxes(
                title,
                value_of(old, owner, name),
                value_of(new, owner, name),
                functools.partial(item_text, self._drawing, name),
            )
        )
        facts = tuple(
            _fact(title, value_of(old, owner, name), value_of(new, owner, name)) for name, title in lane.facts.items()
        )
        is_changed = (
            any(fact.before is not None for fact in facts)
            or any(box.change != "kept" for _, row in boxes for box in row)
            or any(cell.change != "kept" for ruler in logs for cell in ruler.cells)
            or any(marker.before is not None for ruler in logs for marker in ruler.markers)
            or any(column.members != column.before for column in self._member_columns(owner, old, new))
        )
        return LaneView(
            owner.title, leader_marks, logs, boxes, facts, owner.member is None, is_changed, bindings.names(owner)
        )

    def _log_view(self, owner: LaneOwner, log: Log, old: Any, new: Any, bindings: FailureBindings) -> LogView:
        before, after = list(value_of(old, owner, log.name)), list(value_of(new, owner, log.name))
        offsets = [
            (label, value_of(old, owner, name), value_of(new, owner, name)) for name, label in log.markers.items()
        ]
        committed = offsets[0][2] if offsets and isinstance(offsets[0][2], int) else len(after)
        kept = _common(before, after)
        cells = []
        for offset in range(self._width(owner, log, before, after)):
            is_new = offset < len(after)
            item = after[offset] if is_new else before[offset] if offset < len(before) else None
            change: ItemChange = "kept" if offset < kept or item is None else "added" if is_new else "removed"
            cells.append(
                LogCell(
                    item_text(self._drawing, log.name, item) if item is not None else "",
                    change,
                    _colour(item, log),
                    is_committed=is_new and offset < committed,
                    is_violation=bindings.is_at(owner, log, offset),
                    is_violating_item=self._is_violating_item(log, item),
                )
            )
        markers = [_marker(label, was, now) for label, was, now in offsets if isinstance(now, int)]
        return LogView(log.title, tuple(cells), (*markers, _marker(log.end, len(before), len(after))))

    def _width(self, owner: LaneOwner, log: Log, before: list[Any], after: list[Any]) -> int:
        """Return the number of cells: the capacity of a short log, otherwise at least 6 and the used length."""
        kind, used = type_of(self._spec, owner, log.name), max(len(before), len(after))
        if not isinstance(kind, SeqType):
            return used
        return kind.capacity if kind.capacity <= 6 else max(used, 6)

    def _leader_marks(self, new: Any) -> dict[str, tuple[str, ...]]:
        """Return the leader marks of each lane, by its title."""
        leader_marks: dict[str, tuple[str, ...]] = {}
        for owner in self.owners:
            for name, words in owner.lane.crowned.items():
                value = value_of(new, owner, name)
                for each in self.owners:
                    if is_of(each, value) or (each is owner and value is True):
                        leader_marks[each.title] = (*leader_marks.get(each.title, ()), words)
        return leader_marks

    def _member_columns(self, owner: LaneOwner, old: Any, new: Any) -> Iterator[MemberColumn]:
        for name, title in owner.lane.members.items():
            before, after = value_of(old, owner, name), value_of(new, owner, name)
            yield MemberColumn(owner.title, title, self._titles(after), self._titles(before))

    def _titles(self, members: Any) -> frozenset[str]:
        return frozenset(owner.title for owner in self.owners for member in members if is_of(owner, member))


def _fact(title: str, before: Any, after: Any) -> Fact:
    return Fact(title, show(after), show(before) if before != after else None)


def _marker(label: str, before: Any, after: int) -> Marker:
    return Marker(label, after, before if before != after and isinstance(before, int) else None)


def _colour(item: Any, log: Log) -> int | None:
    """Return the number of a cell's colour; None if the cell is not coloured."""
    value = identity(item, log)
    return value if isinstance(value, int) else getattr(value, "index", None)


def _common(one: list[Any], other: list[Any]) -> int:
    """Return the length of the common prefix of two sequences."""
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
