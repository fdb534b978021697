"""Statistics of random walks, as plain functions of counts: intervals, shares by step, estimates of unseen states."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

Z_95 = 1.959963984540054
"""The quantile of the normal distribution for a 95% interval."""


def significant(number: float) -> float:
    """Return a number with nine significant digits: further digits may differ between machines."""
    return float(f"{number:.9g}")


@dataclass(frozen=True)
class Share:
    """A share of walks, with the 95% confidence interval of the true probability."""

    count: int
    total: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The share itself."""
        return self.count / self.total if self.total else 0.0


def wilson(count: int, total: int) -> Share:
    """Return `count` of `total` with Wilson's score interval, which is valid for rare events and for a count of 0.

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
    """
    if not total:
        return Share(0, 0, 0.0, 1.0)
    rate, square = count / total, Z_95 * Z_95
    centre = (rate + square / (2 * total)) / (1 + square / total)
    half = Z_95 * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total)) / (1 + square / total)
    # For a share of 0 or 1, the interval ends exactly there; the formula would leave a rounding error.
    low = 0.0 if count == 0 else max(0.0, centre - half)
    high = 1.0 if count == total else min(1.0, centre + half)
    return Share(count, total, low, high)


def share_difference(first: Share, second: Share) -> tuple[float, float]:
    """Return a 95% interval of the difference of two independent shares, `second` minus `first`, from their intervals.

    Source: Newcombe, "Interval Estimation for the Difference Between Independent Proportions", 1998, method 10.
    """
    difference = second.rate - first.rate
    low = math.hypot(second.rate - second.low, first.high - first.rate)
    high = math.hypot(second.high - second.rate, first.rate - first.low)
    return difference - low, difference + high


class ExposureStratum(NamedTuple):
    """Comparable members of a population: those with and without an exposure, and the cases among each."""

    exposed: int
    exposed_cases: int
    others: int
    other_cases: int


@dataclass(frozen=True)
class RiskRatio:
    """How many times as often cases occur with an exposure as without it, with the 95% interval.

    The ratio is None if no case is without the exposure, or no member of a stratum with cases. `low` is None if there
    is no interval: of cases with and without the exposure, one kind is missing.
    """

    exposed_cases: int
    other_cases: int
    ratio: float | None
    low: float | None
    high: float | None


def risk_ratio(strata: Iterable[ExposureStratum]) -> RiskRatio:
    """Return the risk ratio of an exposure, adjusted for the strata.

    Source: Mantel and Haenszel, 1959; the variance of Greenland and Robins, "Estimation of a Common Effect Parameter
    from Sparse Follow-Up Data", 1985.
    """
    with_it = without = variance = 0.0
    cases = other_cases = 0
    for exposed, exposed_cases, others, others_cases in strata:
        total = exposed + others
        cases, other_cases = cases + exposed_cases, other_cases + others_cases
        if not exposed or not others:
            # Without members to compare with, a stratum shows nothing.
            continue
        with_it += exposed_cases * others / total
        without += others_cases * exposed / total
        variance += (
            (exposed_cases + others_cases) * exposed * others - exposed_cases * others_cases * total
        ) / total**2
    if not without:
        return RiskRatio(cases, other_cases, None, None, None)
    ratio = with_it / without
    if not ratio:
        return RiskRatio(cases, other_cases, 0.0, None, None)
    factor = math.exp(Z_95 * math.sqrt(variance / (with_it * without)))
    return RiskRatio(cases, other_cases, ratio, ratio / factor, ratio * factor)


class SampledStratum(NamedTuple):
    """A part of a population: its size, the size of its random sample, and the hits in that sample."""

    population: int
    sampled: int
    hits: int


@dataclass(frozen=True)
class EstimatedCount:
    """A number of walks, with a 95% interval; the interval has one value if the number was counted."""

    count: int
    low: int
    high: int


def estimate_count(strata: Iterable[SampledStratum]) -> EstimatedCount:
    """Return how many members of a population are hits, estimated from a random sample of each of its strata.

    A single sampled stratum has Wilson's interval. Several have the normal one, with the variances of Agresti and Coull
    ("Approximate Is Better than Exact", 1998) and the correction for finite populations. A stratum without a sample may
    consist of hits.
    """
    counted_strata = list(strata)
    counted = [stratum for stratum in counted_strata if stratum.sampled == stratum.population]
    sampled = [stratum for stratum in counted_strata if 0 < stratum.sampled < stratum.population]
    unknown = sum(stratum.population for stratum in counted_strata if stratum.population and not stratum.sampled)
    exact = sum(stratum.hits for stratum in counted)
    # What the samples themselves prove: their hits, and the members that are none.
    least = exact + sum(stratum.hits for stratum in sampled)
    most = sum(stratum.population - (stratum.sampled - stratum.hits) for stratum in counted_strata)
    estimate = exact + sum(stratum.population * stratum.hits / stratum.sampled for stratum in sampled)
    if len(sampled) == 1:
        (only,) = sampled
        share = wilson(only.hits, only.sampled)
        low, high = exact + share.low * only.population, exact + share.high * only.population
    else:
        half = Z_95 * math.sqrt(sum(map(_variance, sampled)))
        low, high = estimate - half, estimate + half
    count = max(least, min(round(estimate), most))
    return EstimatedCount(count, min(count, max(least, round(low))), max(count, min(most, round(high) + unknown)))


def _variance(stratum: SampledStratum) -> float:
    """Return the variance of the estimated number of hits of a stratum."""
    members = stratum.sampled + 4
    share = (stratum.hits + 2) / members
    finite = (stratum.population - stratum.sampled) / max(1, stratum.population - 1)
    return stratum.population**2 * share * (1 - share) / members * finite


class CurvePoint(NamedTuple):
    """The number of walks that violate a property first with step `step`, and the share that has by then."""

    step: int
    violated: int
    share: float


def cumulative_incidence(total: int, violated: Mapping[int, int]) -> list[CurvePoint]:
    """Return the share of all walks that have violated a property, by number of steps.

    `violated` counts the walks by the step that violated the property first. A walk that a competing violation ends can
    no longer violate the property, and stays in the `total`. Every walk is followed to its end, so none is censored,
    and this is the estimate of Aalen and Johansen ("An Empirical Transition Matrix for Non-Homogeneous Markov Chains
    Based on Censored Observations", 1978).
    """
    steps = sorted(violated)
    return [
        CurvePoint(step, violated[step], so_far / total)
        for step, so_far in zip(steps, accumulate(violated[step] for step in steps), strict=True)
    ]


def step_by_which(points: Iterable[CurvePoint], share: float) -> int | None:
    """Return the first step by which a share of walks has violated the property; None if the share is never reached."""
    return next((point.step for point in points if point.share >= share), None)


@dataclass(frozen=True)
class Saturation:
    """Estimates of the number of states from a sample.

    Walks visited `sampled` distinct states in the sampled part of the hash space (1 in `scale`): `once` of them in one
    walk only, `twice` in two walks. `visits` counts the pairs of a walk and a sampled state that it visited.
    """

    scale: int
    sampled: int
    visits: int
    once: int
    twice: int

    @property
    def distinct(self) -> int:
        """The number of distinct states visited by all walks: exact if everything was sampled, else an estimate."""
        return self.sampled * self.scale

    @property
    def distinct_error(self) -> int:
        """Half the width of the 95% interval of `distinct`; each state is sampled with the same probability."""
        # A binomial count: its variance is n * p * (1 - p) with p = 1 / scale, scaled up by `scale`.
        return round(Z_95 * self.scale * math.sqrt(self.sampled * (1 - 1 / self.scale)))

    @property
    def unseen_mass(self) -> float:
        """The probability that the next visited state is new: the estimate of Good and Turing."""
        return self.once / self.visits if self.visits else 1.0

    @property
    def unseen(self) -> int:
        """A lower bound for the number of reachable states not visited: the bias-corrected estimate of Chao (1987)."""
        return round(self.scale * self.once * (self.once - 1) / (2 * (self.twice + 1)))
