"""The overview of a story: lanes from left to right, a column a step, messages as arrows between them."""

from __future__ import annotations

from dataclasses import dataclass

from checker.output.page.messages import MessageFlight
from checker.output.page.story import Story

_COLUMN, _ROW, _TOP = 46, 30, 26


@dataclass(frozen=True)
class Point:
    """A step that changed a lane."""

    x: float
    y: float
    step: int


@dataclass(frozen=True)
class ArrowLine:
    """A message from where it was sent to where it arrived; a stub where it did not."""

    x1: float
    y1: float
    x2: float
    y2: float
    text: str
    style: str


@dataclass(frozen=True)
class Timeline:
    """Everything that is drawn, in pixels; the names of the lanes stand in a part of their own, `names_width` wide."""

    width: float
    height: float
    names_width: float
    column: float
    lanes: tuple[tuple[str, float], ...]
    columns: tuple[tuple[int, float, str, bool], ...]
    points: tuple[Point, ...]
    arrows: tuple[ArrowLine, ...]


def timeline(story: Story) -> Timeline:
    """Return the overview of a story."""
    across = {moment.number: _COLUMN * (moment.number - 0.5) for moment in story.moments}
    down = {lane: _TOP + _ROW * (index + 0.5) for index, lane in enumerate(story.lanes)}
    points = tuple(
        Point(across[moment.number], down[lane.title], moment.number)
        for moment in story.moments
        if moment.view is not None and moment.action is not None
        for lane in moment.view.lanes
        if lane.is_changed and lane.title in down
    )
    violated = {moment.number for moment in story.moments if any(found.is_violated for found in moment.properties)}
    return Timeline(
        width=_COLUMN * len(story.moments) + 8,
        height=_TOP + _ROW * len(story.lanes) + 6,
        names_width=20 + 7.5 * max((len(lane) for lane in story.lanes), default=0),
        column=_COLUMN,
        lanes=tuple(down.items()),
        columns=tuple(
            (moment.number, across[moment.number], moment.call, moment.is_failed or moment.number in violated)
            for moment in story.moments
        ),
        points=points,
        arrows=tuple(
            _arrow(flight, across, down) for flight in story.flights if flight.source in down and flight.target in down
        ),
    )


def _arrow(flight: MessageFlight, across: dict[int, float], down: dict[str, float]) -> ArrowLine:
    start_x, start_y = across[flight.sent], down[flight.source]
    if flight.arrived is None:
        end_x, end_y = start_x + _COLUMN * 0.6, start_y + (down[flight.target] - start_y) * 0.35
        return ArrowLine(start_x, start_y, end_x, end_y, f"{flight.text}: still in flight", "open")
    end_x, end_y = across[flight.arrived], down[flight.target]
    if flight.is_lost:
        end_y = start_y + (end_y - start_y) * 0.6
        return ArrowLine(start_x, start_y, end_x, end_y, f"{flight.text}: lost in step {flight.arrived}", "lost")
    # The head stops short of the dot that it points at.
    length = ((end_x - start_x) ** 2 + (end_y - start_y) ** 2) ** 0.5
    short = 1 - 7 / length if length else 1
    text = f"{flight.source} to {flight.target}: {flight.text}"
    return ArrowLine(
        start_x, start_y, start_x + (end_x - start_x) * short, start_y + (end_y - start_y) * short, text, ""
    )
