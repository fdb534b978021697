"""The statistics of a report: plain functions of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_ROUNDING = 1e-12
"""By how much a share may miss a round figure, for it is a product of others."""

Z_95 = 1.959963984540054
"""The quantile of the normal distribution for an interval of 95%."""


@dataclass(frozen=True)
class Share:
    """A share of walks, with the interval in which the true probability lies with 95% confidence."""

    count: int
    total: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The share itself."""
        return self.count / self.total if self.total else 0.0


def wilson(count: int, total: int) -> Share:
    """Return `count` of `total` with Wilson's score interval, which is right for rare events and for none at all.

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
    """
    if not total:
        return Share(0, 0, 0.0, 1.0)
    rate, square = count / total, Z_95 * Z_95
    centre = (rate + square / (2 * total)) / (1 + square / total)
    half = Z_95 * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total)) / (1 + square / total)
    # At the ends the interval reaches exactly as far as the share can; rounding would leave a speck.
    low = 0.0 if count == 0 else max(0.0, centre - half)
    high = 1.0 if count == total else min(1.0, centre + half)
    return Share(count, total, low, high)


@dataclass(frozen=True)
class CurvePoint:
    """The share of walks that have violated a property within `step` steps, and how many were at risk there."""

    step: int
    at_risk: int
    violated: int
    share: float


def violated_by_step(total: int, violated: Mapping[int, int], censored: Mapping[int, int]) -> list[CurvePoint]:
    """Return how the share of walks that violate a property grows with their steps (Kaplan and Meier, 1958).

    `violated` counts the walks by the step that violated the property, `censored` those that stopped after a step for
    another reason than that they could not go on (another property was violated): what they would have done later is
    not known, and they count only as long as they walked. A walk in which no action is enabled any more stays: it will
    never violate the property.
    """
    points, surviving, at_risk = [], 1.0, total
    for step in sorted({*violated, *censored}):
        failures = violated.get(step, 0)
        if failures:
            surviving *= 1 - failures / at_risk
            points.append(CurvePoint(step, at_risk, failures, 1 - surviving))
        at_risk -= failures + censored.get(step, 0)
    return points


def step_by_which(points: Iterable[CurvePoint], share: float) -> int | None:
    """Return the first step by which a share of walks has violated the property, or None if so many never did."""
    return next((point.step for point in points if point.share >= share - _ROUNDING), None)


@dataclass(frozen=True)
class Saturation:
    """What the sampled states say about all of them.

    `sampled` distinct states were met in the sampled part of the hash space (1 in `scale`), `once` of them by a single
    walk, `twice` by two, in `visits` meetings of a walk and a state.
    """

    scale: int
    sampled: int
    visits: int
    once: int
    twice: int

    @property
    def distinct(self) -> int:
        """The distinct states met by all walks: exact where everything was sampled, else an estimate."""
        return self.sampled * self.scale

    @property
    def distinct_error(self) -> int:
        """Half of the 95% interval of `distinct`: each state is in the sample with the same probability."""
        return round(Z_95 * self.scale * math.sqrt(self.sampled * (1 - 1 / self.scale)))

    @property
    def unseen_mass(self) -> float:
        """The probability that the next state a walk meets was met by none before: Good and Turing's estimate."""
        return self.once / self.visits if self.visits else 1.0

    @property
    def unseen(self) -> int:
        """At least how many states walks can meet and none has: the bias-corrected estimate of Chao (1987)."""
        return round(self.scale * self.once * (self.once - 1) / (2 * (self.twice + 1)))
