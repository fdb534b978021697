"""The parts of a state that two drawings, or two tables, show differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from checker.output.page.lanes import LaneView, StateView
from checker.output.page.state_tables import StateTable

PartKey = tuple[str | int, ...]
"""A part of a drawing or a table: its kind, and the titles and positions that identify it.

The kinds are `fact`, `cell`, `marker`, `box`, `leader`, `member` and `value`.
"""


def differing_parts(
    one: StateView | Sequence[StateTable] | None, other: StateView | Sequence[StateTable] | None
) -> frozenset[PartKey]:
    """Return the parts that are different in two drawings or tables; a part that only one of them has is different."""
    left, right = dict(_parts(one)), dict(_parts(other))
    # A free cell, an absent member and a part that is not there are the same: nothing.
    return frozenset(key for key in {*left, *right} if (left.get(key) or None) != (right.get(key) or None))


def _parts(view: StateView | Sequence[StateTable] | None) -> Iterator[tuple[PartKey, object]]:
    if not isinstance(view, StateView):
        yield from _table_parts(view or ())
        return
    for lane in view.lanes:
        yield from _lane_parts(lane)
    for column in view.member_columns:
        for title in column.members:
            yield ("member", column.observer, column.title, title), True


def _lane_parts(lane: LaneView) -> Iterator[tuple[PartKey, object]]:
    for mark in lane.leader_marks:
        yield ("leader", lane.title, mark), True
    for fact in lane.facts:
        yield ("fact", lane.title, fact.title), fact.text
    for number, log in enumerate(lane.logs):
        for offset, cell in enumerate(log.cells):
            yield ("cell", lane.title, number, offset), cell.text if cell.change != "removed" else ""
        for marker in log.markers:
            yield ("marker", lane.title, number, marker.label), f"{marker.offset}"
    for title, row in lane.boxes:
        for text, count in Counter(box.text for box in row if box.change != "removed").items():
            yield ("box", lane.title, title, text), count


def _table_parts(tables: Sequence[StateTable]) -> Iterator[tuple[PartKey, object]]:
    for table in tables:
        for row in table.rows:
            for number, entry in enumerate(row.entries):
                yield ("value", row.name, number), entry.text
