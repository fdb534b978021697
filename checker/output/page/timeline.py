"""The overview of a story: horizontal lanes, one column per step, and messages as arrows between lanes."""

from __future__ import annotations

from dataclasses import dataclass

from checker.output.page.lasso import LassoView
from checker.output.page.messages import MessageTransfer
from checker.output.page.story import Story

_COLUMN, _ROW, _TOP, _LOOP = 46, 30, 26, 36
"""Width of a column, and the heights of a row, the line of step numbers, and the arrow of a loop, in pixels."""

_LABEL = 190
"""The largest width of the label of a loop, in pixels."""


@dataclass(frozen=True)
class Point:
    """A step that changed a lane."""

    x: float
    y: float
    step: int


@dataclass(frozen=True)
class ArrowLine:
    """A message from the step that sent it to the step that received it; a shorter line if none received it.

    `style` is a CSS class: "" (received), "lost" or "open" (still in flight).
    """

    x1: float
    y1: float
    x2: float
    y2: float
    text: str
    style: str


@dataclass(frozen=True)
class LoopArrow:
    """The loop of a lasso: a band of `width` from `x` on behind its columns, and an arrow below the lanes.

    The arrow leads from the last column back to the first one. `path` is an SVG path, `text` its label at `text_x`.
    """

    x: float
    width: float
    path: str
    text: str
    text_x: float


@dataclass(frozen=True)
class Timeline:
    """The drawing, in pixels. The names of the lanes are in a separate drawing, which is `names_width` wide.

    `lanes` are titles with their y, `columns` are (step number, x, call, whether the step shows a violation).
    """

    width: float
    height: float
    names_width: float
    column: float
    lanes: tuple[tuple[str, float], ...]
    columns: tuple[tuple[int, float, str, bool], ...]
    points: tuple[Point, ...]
    arrows: tuple[ArrowLine, ...]
    loop: LoopArrow | None


def timeline(story: Story) -> Timeline:
    """Return the overview of a story."""
    across = {step.number: _COLUMN * (step.number - 0.5) for step in story.steps}
    down = {lane: _TOP + _ROW * (index + 0.5) for index, lane in enumerate(story.lanes)}
    points = tuple(
        Point(across[step.number], down[lane.title], step.number)
        for step in story.steps
        if step.view is not None and step.action is not None
        for lane in step.view.lanes
        if lane.is_changed and lane.title in down
    )
    violated = {step.number for step in story.steps if any(found.is_violated for found in step.properties)}
    loop = _loop(story.lasso, across, _bottom(story)) if story.lasso is not None else None
    width = _COLUMN * len(story.steps) + 8
    return Timeline(
        width=width if loop is None else max(width, loop.text_x + _LABEL / 2),
        height=_bottom(story) + 6 + (_LOOP if story.lasso is not None else 0),
        names_width=20 + 7.5 * max((len(lane) for lane in story.lanes), default=0),
        column=_COLUMN,
        lanes=tuple(down.items()),
        columns=tuple(
            (step.number, across[step.number], step.call, step.is_failed or step.number in violated)
            for step in story.steps
        ),
        points=points,
        arrows=tuple(
            _arrow(transfer, across, down)
            for transfer in story.transfers
            if transfer.source in down and transfer.target in down
        ),
        loop=loop,
    )


def _bottom(story: Story) -> float:
    """Return the lower end of the lanes."""
    return _TOP + _ROW * len(story.lanes)


def _loop(lasso: LassoView, across: dict[int, float], bottom: float) -> LoopArrow:
    first, last = across[lasso.first], across[lasso.last]
    x, width = first - _COLUMN / 2, last - first + _COLUMN
    if lasso.stays:
        path = f"M{last + 8},{bottom} v10 q0,8 -8,8 q-8,0 -8,-8 v-5"
        return LoopArrow(x, width, path, f"stays in state {lasso.last} for ever", max(last, _LABEL / 2))
    path = f"M{last},{bottom} v10 q0,8 -8,8 H{first + 8} q-8,0 -8,-8 v-5"
    return LoopArrow(
        x, width, path, f"state {lasso.last} is state {lasso.first} again", max((first + last) / 2, _LABEL / 2)
    )


def _arrow(transfer: MessageTransfer, across: dict[int, float], down: dict[str, float]) -> ArrowLine:
    start_x, start_y = across[transfer.sent], down[transfer.source]
    if transfer.arrived is None:
        end_x, end_y = start_x + _COLUMN * 0.6, start_y + (down[transfer.target] - start_y) * 0.35
        return ArrowLine(start_x, start_y, end_x, end_y, f"{transfer.text}: still in transfer", "open")
    end_x, end_y = across[transfer.arrived], down[transfer.target]
    if transfer.is_lost:
        end_y = start_y + (end_y - start_y) * 0.6
        return ArrowLine(start_x, start_y, end_x, end_y, f"{transfer.text}: lost in step {transfer.arrived}", "lost")
    # The arrowhead ends 7 pixels before the dot that it points at.
    length = ((end_x - start_x) ** 2 + (end_y - start_y) ** 2) ** 0.5
    short = 1 - 7 / length if length else 1
    text = f"{transfer.source} to {transfer.target}: {transfer.text}"
    return ArrowLine(
        start_x, start_y, start_x + (end_x - start_x) * short, start_y + (end_y - start_y) * short, text, ""
    )
