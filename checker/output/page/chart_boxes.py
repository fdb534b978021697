"""The places of labels, signs and logs in a sequence chart, in pixels, so that no label covers another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checker.output.page.chart_parts import ChartLog, ChartNode, SequenceChart

LABEL_CHARACTER = 6.7
"""Width of a character of a label, in pixels: that of most fonts is smaller."""

LABEL_LINE = 13
"""Height of a line of an arrow's label, in pixels."""

_NODE_LINE, _CELL = 15, 20
"""Pixels: a line of a node's label; the height of a cell of a log."""

_DOT, _SIGN, _MARK = 6, 10, 12
"""Radius in pixels of an event without a sign, of a sign, and of the mark of a violation."""


@dataclass(frozen=True)
class ChartBox:
    """A rectangle in a drawing, in pixels."""

    left: float
    right: float
    top: float
    bottom: float

    def overlaps(self, other: ChartBox) -> bool:
        """Return whether two boxes share a point inside both."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def arrow_label_box(x: float, y: float, lines: Sequence[str], width: float) -> ChartBox:
    """Return the box of an arrow's label at `x` percent of a drawing; `y` is the base line of its first line."""
    return _text_box(x, y, lines, width, LABEL_LINE)


def node_boxes(node: ChartNode, width: float) -> Iterator[ChartBox]:
    """Yield the box of a node's label, if it has one, and of its sign."""
    middle = node.x * width / 100
    if node.lines:
        yield _text_box(node.x, node.y + (23 if node.kind else 20), node.lines, width, _NODE_LINE)
    radius = _MARK if node.is_violated else _SIGN if node.kind else _DOT
    # The label is right below the dot, inside the mark.
    yield ChartBox(middle - radius, middle + radius, node.y - radius, node.y + (radius if node.kind else _DOT))


def log_box(log: ChartLog, width: float) -> ChartBox:
    """Return the box of a log."""
    middle, half = log.x * width / 100, sum(cell.width for cell in log.cells) / 2
    return ChartBox(middle - half, middle + half, log.y, log.y + _CELL)


def boxes_of(chart: SequenceChart) -> list[tuple[str, ChartBox]]:
    """Return every label, sign and log of a chart as text and box."""
    width = chart.width
    nodes = [(" ".join((node.kind, *node.lines)), box) for node in chart.nodes for box in node_boxes(node, width)]
    logs = [(f"log {[cell.text for cell in log.cells]}", log_box(log, width)) for log in chart.logs]
    arrows = [
        (" ".join(arrow.lines), arrow_label_box(arrow.label_x, arrow.label_y, arrow.lines, width))
        for arrow in chart.arrows
    ]
    return [*nodes, *logs, *arrows]


def _text_box(x: float, y: float, lines: Sequence[str], width: float, height: float) -> ChartBox:
    middle, half = x * width / 100, max((len(line) for line in lines), default=2) * LABEL_CHARACTER * 0.5
    return ChartBox(middle - half, middle + half, y - 11, y + height * (len(lines) - 1) + 3)
