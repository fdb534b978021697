"""Geometry of charts in pixels: lines over steps or walks, and heat maps. The page's template draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from checker.language.constant_values import constant_text
from checker.printable import quantity

WIDTH, HEIGHT = 640.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 82.0, 12.0, 12.0, 40.0
_LABEL_HEIGHT = 15.0
_MOST_NAMES = 3

COLOURS = 8
"""Number of line colours in the page's style; further lines reuse them."""


@dataclass(frozen=True)
class AxisTick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class ChartLine:
    """A line of a chart: its points in SVG syntax, its name, the position of the name, and the number of the colour."""

    points: str
    name: str
    end: tuple[float, float]
    label_y: float
    colour: int
    style: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart with its axes; `says` describes it as text. Without a legend, each line has its name at its end."""

    lines: tuple[ChartLine, ...]
    across: tuple[AxisTick, ...]
    up: tuple[AxisTick, ...]
    across_title: str
    says: str
    has_legend: bool
    width: float = WIDTH
    height: float = HEIGHT
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM


@dataclass(frozen=True)
class Series:
    """The data of a line: (x, y) ascending in x; with `steps`, y is constant between the points."""

    name: str
    points: Sequence[tuple[float, float]]
    style: str = ""
    steps: bool = True


def share_chart(series: Sequence[Series], last_step: int, says: str) -> Chart:
    """Return the chart of shares of walks over steps, of which the first is the initial state."""
    most = max((y for line in series for _, y in line.points), default=0.0)
    top = _above(most)
    up = _linear_ticks(top, share_text)
    across = [(float(step), f"{step:,}") for step in _round_steps(last_step)]
    return _chart(series, across, up, (1.0, float(last_step)), top, "step", says, is_log=False)


def growth_chart(series: Sequence[Series], walks: int, says: str) -> Chart:
    """Return the chart of numbers of states over walks, with a logarithmic horizontal axis."""
    most = max((y for line in series for _, y in line.points), default=1.0)
    top = _above(most)
    up = _linear_ticks(top, count_text)
    across = [(10.0**power, count_text(10.0**power)) for power in range(int(math.log10(max(walks, 1))) + 1)]
    return _chart(series, across, up, (1.0, float(max(walks, 2))), top, "walks", says, is_log=True)


def _chart(
    series: Sequence[Series],
    across: Sequence[tuple[float, str]],
    up: Sequence[tuple[float, str]],
    span: tuple[float, float],
    top: float,
    title: str,
    says: str,
    *,
    is_log: bool,
) -> Chart:
    def x_of(value: float) -> float:
        low, high = (math.log(span[0]), math.log(span[1])) if is_log else span
        at = math.log(max(value, span[0])) if is_log else value
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (at - low) / ((high - low) or 1.0), 1)

    def y_of(value: float) -> float:
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top, 1)

    lines = []
    for number, line in enumerate(series):
        drawn = _as_steps(line.points, span[1]) if line.steps else list(line.points)
        pixels = [(x_of(x), y_of(y)) for x, y in drawn]
        end = pixels[-1] if pixels else (_LEFT, y_of(0.0))
        text = " ".join(f"{x},{y}" for x, y in pixels)
        lines.append(ChartLine(text, line.name, end, end[1] - 5, number % COLOURS, line.style))
    return Chart(
        _spread(lines),
        tuple(AxisTick(x_of(value), text) for value, text in across),
        tuple(AxisTick(y_of(value), text) for value, text in up),
        title,
        says,
        has_legend=is_log or len(lines) > _MOST_NAMES,
    )


def _as_steps(points: Sequence[tuple[float, float]], last: float) -> list[tuple[float, float]]:
    """Return the corners of a step function up to the last x."""
    corners: list[tuple[float, float]] = []
    height = 0.0
    for x, y in [*points, (last, points[-1][1] if points else 0.0)]:
        corners += [(x, height), (x, y)]
        height = y
    return corners


def _spread(lines: Sequence[ChartLine]) -> tuple[ChartLine, ...]:
    """Return the lines with their names moved apart, so that they do not overlap."""
    placed: list[ChartLine] = []
    floor = HEIGHT - _BOTTOM - 4
    for unplaced in sorted(lines, key=lambda line: -line.end[1]):
        y = min(unplaced.label_y, floor)
        floor = y - _LABEL_HEIGHT
        placed.append(
            ChartLine(
                unplaced.points, unplaced.name, unplaced.end, round(max(y, _TOP), 1), unplaced.colour, unplaced.style
            )
        )
    return tuple(sorted(placed, key=lambda line: line.colour))


def _above(most: float) -> float:
    """Return a round number that is not below `most`."""
    if most <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(most))
    return next(step * unit for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * unit >= most * 0.999999)


def _linear_ticks(top: float, text: Any) -> list[tuple[float, str]]:
    return [(top * part / 4, text(top * part / 4)) for part in range(5)]


def _round_steps(last: int) -> list[int]:
    step = next((size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if last / size <= 10), max(1, last // 10))
    return [1, *(number for number in range(step, last + 1, step) if 2 * number > step + 2)]


def share_text(share: float, digits: int = 3) -> str:
    """Return a share as `12%`, `0.94%` or `9.10e-11%`, with significant digits: only 0 is `0`, only 1 `100%`."""
    if share == 0:
        return "0"
    if share < 1e-6:
        return f"{share * 100:.{digits - 1}e}%"
    if 0.9 < share < 1:
        # The digits of what is missing to 100%.
        return f"{100 - Decimal(f'{(1 - share) * 100:.{digits - 1}g}'):f}%"
    return f"{float(f'{share * 100:.{digits}g}'):.9f}".rstrip("0").rstrip(".") + "%"


def share_texts(share: Mapping[str, float]) -> tuple[str, str, str]:
    """Return the rate of a share and the ends of its interval, with as many digits as tell them apart."""
    figures = [share[name] for name in ("rate", "low", "high")]
    for digits in range(3, 9):
        rate, low, high = (share_text(figure, digits) for figure in figures)
        if len({rate, low, high}) == len(set(figures)):
            break
    return rate, low, high


def split_text(split: Mapping[str, float]) -> str:
    """Return an estimate by splitting; of a possible violation that no restart reached, the upper end alone."""
    rate, low, high = share_texts(split)
    return f"{rate} ({low} to {high})" if split["rate"] else f"below {high}"


def difference_text(difference: float) -> str:
    """Return a difference of shares as `+12%` or `-0.94%`."""
    return ("-" if difference < 0 else "+" if difference > 0 else "") + share_text(abs(difference))


def count_text(count: float) -> str:
    """Return a count as `950`, `12 k` or `3.4 M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if count >= size:
            scale = 1e3 if unit == "k" else size
            return f"{float(f'{count / scale:.3g}'):g} {unit}"
    return f"{float(f'{count:.4g}'):,g}"


@dataclass(frozen=True)
class HeatMapCell:
    """A cell of a heat map: its text, and the depth of its colour (0 to 1)."""

    text: str
    depth: float
    title: str
    configuration: int


@dataclass(frozen=True)
class HeatMap:
    """A grid over two constants (or one, in a single row); `facet` gives the values of the others."""

    facet: str
    rows_name: str
    columns_name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatMapCell | None, ...]], ...]


def sweep_heat_maps(
    sweep: dict[str, list[Any]], cells: Sequence[tuple[dict[str, Any], float, str, int]]
) -> list[HeatMap]:
    """Return the maps of a sweep.

    A cell is given by the swept constants, a share, a title and the configuration's number. The two constants with the
    most values are the axes. Each choice of the other constants has a separate map.
    """
    if not sweep:
        return []
    names = sorted(sweep, key=lambda name: -len(sweep[name]))
    across, down, rest = names[0], names[1] if len(names) > 1 else "", names[2:]
    most = max((share for _, share, _, _ in cells), default=0.0) or 1.0
    facets: dict[str, dict[tuple[str, str], HeatMapCell]] = {}
    for swept, share, title, number in cells:
        facet = ", ".join(f"{name} = {constant_text(swept[name])}" for name in sorted(rest))
        place = (constant_text(swept[down]) if down else "", constant_text(swept[across]))
        facets.setdefault(facet, {})[place] = HeatMapCell(
            share_text(share), round(math.sqrt(share / most), 3), title, number
        )
    columns = tuple(constant_text(value) for value in sweep[across])
    row_names = [constant_text(value) for value in sweep[down]] if down else [""]
    return [
        HeatMap(
            facet,
            down,
            across,
            columns,
            tuple((row, tuple(values_of.get((row, c)) for c in columns)) for row in row_names),
        )
        for facet, values_of in facets.items()
    ]


def walks_text(share: Mapping[str, Any]) -> str:
    """Return a number of walks as text, with its interval if it is an estimate."""
    walks, low, high = share["walks"], share["low"], share["high"]
    if low == high:
        return quantity(walks, "walk")
    return f"about {quantity(walks, 'walk')} ({low:,} to {high:,})"
