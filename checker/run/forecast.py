"""How many states are to come, from the growth of the levels of a breadth-first exploration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

LEAST_LEVELS = 8
"""The levels before which the growth shows no trend."""

_MOST_LEVELS = 10_000
_MOST_STATES = 1e15


def states_to_come(levels: Sequence[int]) -> int | None:
    """Return about how many states follow the levels (complete ones, from the initial states on).

    None if the levels show no trend yet. The logarithm of the growth from level n to n + 1 is fitted by a + b * sqrt(n)
    over the second half of the levels, the later ones with more weight, and continued until a level is empty. On the
    replication specs the total is within a third of the result once a tenth of the states is found.
    """
    if len(levels) < LEAST_LEVELS or min(levels) < 1:
        return None
    growth = [math.log(after / before) for before, after in pairwise(levels)]
    half = max(LEAST_LEVELS // 2, len(growth) // 2)
    start, slope = _fit([(math.sqrt(number), growth[number]) for number in range(len(growth))][-half:])
    if slope >= 0:
        return None
    total, size = 0.0, float(levels[-1])
    for number in range(len(growth), len(growth) + _MOST_LEVELS):
        size *= math.exp(min(start + slope * math.sqrt(number), 1.0))
        total += size
        if size < 1:
            return round(total)
        if total > _MOST_STATES:
            break
    return None


def _fit(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return start and slope of the line through weighted points: the weights increase from 0.1 to 1."""
    weights = [0.1 + 0.9 * number / max(1, len(points) - 1) for number in range(len(points))]
    total = sum(weights)
    x_mean = sum(weight * x for weight, (x, _) in zip(weights, points, strict=True)) / total
    y_mean = sum(weight * y for weight, (_, y) in zip(weights, points, strict=True)) / total
    spread = sum(weight * (x - x_mean) ** 2 for weight, (x, _) in zip(weights, points, strict=True))
    common = sum(weight * (x - x_mean) * (y - y_mean) for weight, (x, y) in zip(weights, points, strict=True))
    slope = common / spread
    return y_mean - slope * x_mean, slope
