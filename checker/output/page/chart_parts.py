"""The parts of a sequence chart: what its builder places and a page draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from checker.language.drawing import EventKind

USUAL_WIDTH, MOST_WIDTH = 850, 995
"""Pixels of the usual and of the largest width of the drawing on a page of 1,280 pixels."""

_LONG = 15
"""A chart with more steps scrolls in a box of its own."""

CellStyle = Literal["kept", "added", "removed", "missing"]


@dataclass(frozen=True)
class ChartLane:
    """A column: its title, and its middle and width in percent."""

    title: str
    x: float
    width: float


@dataclass(frozen=True)
class ChartRow:
    """A step: its sentence, and its place in pixels. `y` is the height at which its events are drawn.

    `finding` is a sentence about what the violated property finds. `x` is the middle of the lane of the step in
    percent (None: it has no lane).
    """

    number: int
    call: str
    sentence: str
    top: float
    height: float
    y: float
    is_violated: bool
    is_in_loop: bool
    finding: str = ""
    x: float | None = None


@dataclass(frozen=True)
class ChartNode:
    """An event in a lane at pixel `y`, or a change that a step elsewhere makes ("" as `kind`)."""

    x: float
    y: float
    kind: EventKind
    lines: tuple[str, ...]
    is_event: bool
    is_violated: bool


@dataclass(frozen=True)
class ChartCell:
    """A cell of a log: its left edge from the middle of the lane and its width, in pixels."""

    dx: float
    width: float
    text: str
    style: CellStyle
    colour: int | None
    is_open: bool
    is_violation: bool = False


@dataclass(frozen=True)
class ChartLog:
    """A log after a step, at the upper edge `y`. A record that was lost stays as a missing cell."""

    x: float
    y: float
    cells: tuple[ChartCell, ...]


@dataclass(frozen=True)
class LifeLine:
    """A part of a lane's line, between two heights. `width` is that of its lane, in percent."""

    x: float
    width: float
    y1: float
    y2: float
    style: Literal["runs", "leads", "stopped"]


@dataclass(frozen=True)
class ChartArrow:
    """A message. `style` is "", "lost", "open" (in flight at the end) or "change" (the effect on another lane)."""

    x1: float
    y1: float
    x2: float
    y2: float
    style: Literal["", "lost", "open", "change"]
    lines: tuple[str, ...]
    label_x: float
    label_y: float
    title: str


@dataclass(frozen=True)
class ChartLoop:
    """The loop of a lasso, from its first to its last row, with a sentence."""

    top: float
    bottom: float
    text: str


@dataclass(frozen=True)
class SequenceChart:
    """The chart as plain data.

    `signs` are the kinds of events in it with their meanings, and `notations` the forms of the items of its logs, such
    as r<id>@<epoch>; `crowns` are the meanings of the line of a leading lane, and `idle` the lanes in
    which nothing happens, which are not drawn. All are for the legend.
    """

    lanes: tuple[ChartLane, ...]
    rows: tuple[ChartRow, ...]
    life_lines: tuple[LifeLine, ...]
    stopped: tuple[LifeLine, ...]
    nodes: tuple[ChartNode, ...]
    logs: tuple[ChartLog, ...]
    arrows: tuple[ChartArrow, ...]
    signs: tuple[tuple[EventKind, str], ...]
    notations: tuple[str, ...]
    crowns: tuple[str, ...]
    idle: tuple[str, ...]
    loop: ChartLoop | None
    height: float
    least_width: float

    @property
    def is_long(self) -> bool:
        """Whether the chart scrolls in a box of its own."""
        return len(self.rows) > _LONG

    @property
    def is_wide(self) -> bool:
        """Whether the lanes need more than their usual width: the sentences beside them are then narrower."""
        return self.least_width > USUAL_WIDTH

    @property
    def width(self) -> float:
        """Width of the drawing on a page of 1,280 pixels."""
        return drawn_width(self.least_width)

    def has(self, sign: str) -> bool:
        """Return whether the legend must explain a sign that is no kind of event."""
        cells = [cell for log in self.logs for cell in log.cells]
        return sign in {
            *(arrow.style for arrow in self.arrows),
            *(line.style for line in self.life_lines),
            *(cell.style for cell in cells),
            *("effect" for node in self.nodes if not node.kind and not node.is_event),
            *("open cell" for cell in cells if cell.is_open and cell.text and not cell.is_violation),
            *("violating" for cell in cells if cell.is_violation),
        }


def drawn_width(least_width: float) -> float:
    """Return the width of a drawing in pixels whose lanes need some width."""
    return MOST_WIDTH if least_width > USUAL_WIDTH else USUAL_WIDTH
