"""Probabilities of rare violations by splitting, compared with exact ones."""

import math

import numpy as np
import pytest

from checker.language import Constant, Range, Spec, action, invariant, require, step_invariant
from spark_analysis.walks.exact_probability import exact_probabilities
from spark_analysis.walks.importance_splitting import SplittingEstimator, _log_error
from spark_analysis.walks.violation_distances import UNKNOWN, ViolationDistances, _distances

DEPTH = 14


class Coins(Spec):
    """Tosses of a coin that shows heads once in three times."""

    length = Constant(10)
    heads = Range(0, 30)

    @action
    def head(self):
        self.heads += 1

    @action
    def tail(self):
        self.heads = 0

    @action
    def edge(self):
        self.heads = 0

    @invariant
    def no_long_run(self):
        return self.heads < self.length

    @step_invariant
    def no_late_tail(self, old):
        return old.heads < self.length - 1 or self.heads > 0

    @invariant
    def few(self):
        return self.heads <= 30


class TwoWays(Coins):
    """A violation that most walks reach without the shortest way."""

    @action
    def leap(self):
        require(self.heads == 1)
        self.heads = 9


def exact(spec, name, weights=None):
    found = exact_probabilities(spec, [name], DEPTH, weights or {}, 1000)
    assert found is not None
    return found[name, False]


@pytest.mark.parametrize(
    ("spec", "name", "weights"),
    [
        pytest.param(Coins(), "no_long_run", {}, marks=pytest.mark.slow),
        (Coins(), "no_late_tail", {}),
        pytest.param(Coins(), "no_long_run", {"head": 3}, marks=pytest.mark.slow),
        (TwoWays(), "no_long_run", {}),
    ],
    ids=["state", "step", "weighted", "two_ways"],
)
def test_mean_of_estimates_is_the_exact_probability(spec, name, weights):
    truth = exact(spec, name, weights)
    estimator = SplittingEstimator(spec, name, DEPTH, weights)
    found = [estimator.estimate(960, seed) for seed in range(3)]
    assert sum(estimate.rate for estimate in found) / 3 == pytest.approx(truth, rel=0.3)
    assert all(estimate.low < estimate.rate < estimate.high for estimate in found)
    assert estimator.estimate(960, 0) == found[0] != found[1]


@pytest.mark.slow
def test_intervals_contain_the_exact_probability():
    """Those of 95 of 100 seeds do, although the estimates are skewed: each is one of few walks."""
    truth = exact(Coins(), "no_long_run")
    assert truth < 1e-4
    estimator = SplittingEstimator(Coins(), "no_long_run", DEPTH)
    found = [estimator.estimate(480, seed) for seed in range(100)]
    assert sum(estimate.low <= truth <= estimate.high for estimate in found) >= 95
    assert max(estimate.high / estimate.low for estimate in found if estimate.low) < 25


def test_a_violation_of_probability_below_1e_6_is_estimated():
    spec = Coins(length=14)
    truth = exact(spec, "no_long_run")
    assert truth < 1e-6
    estimate = SplittingEstimator(spec, "no_long_run", DEPTH).estimate(2400, 1)
    assert estimate.low <= truth <= estimate.high < 10 * estimate.low


def test_without_a_violation_within_the_limits_nothing_is_claimed():
    assert not SplittingEstimator(Coins(), "few", DEPTH, most_states=20).is_possible
    assert not SplittingEstimator(Coins(), "no_long_run", DEPTH, most_states=4).is_possible
    # Too few steps: the estimate is 0, and its interval has an upper end.
    never = SplittingEstimator(Coins(length=20), "no_long_run", 5).estimate(240, 1)
    assert never.rate == never.low == 0 < never.high < 1


def test_distances_are_those_of_the_nearest_violation():
    """From 0, a way of three steps leads to the state 3, and one of two to a step that violates the property."""
    sources, targets = np.array([0, 1, 2, 0, 4, 3]), np.array([1, 2, 3, 4, -1, 0])
    is_bad = np.array([False, False, False, True, False, False])
    assert _distances(6, sources, targets, is_bad).tolist() == [2, 2, 1, 0, 1, UNKNOWN]
    found = ViolationDistances(Coins(), "no_long_run", 100)
    assert found.is_known and sorted(found._distances.tolist()) == list(range(11))
    assert found.of_hashes(np.array([0, 2**64 - 1], np.uint64)).tolist() == [UNKNOWN, UNKNOWN]


def test_the_error_of_a_logarithm_by_the_jackknife():
    assert _log_error(np.array([2.0, 2.0, 2.0])) == 0
    # Without one of two estimates, the other one is the mean: half of the difference of the logarithms.
    assert _log_error(np.array([1.0, math.e])) == pytest.approx(0.5)
    assert _log_error(np.array([1.0, 1.0, 3.0])) == pytest.approx(math.log(2) * 2 / 3)


def test_a_single_estimate_above_zero_shows_no_spread(monkeypatch):
    estimator = SplittingEstimator(Coins(), "no_long_run", DEPTH)
    rates = iter([0.24, *[0.0] * 23])
    monkeypatch.setattr(estimator, "_replication", lambda size, chance: (next(rates), 5))
    found = estimator.estimate(240, 1)
    assert found.rate == pytest.approx(0.01) and found.low == 0
    # Of 240 walks, 120 came one step nearer, and only these can violate the property.
    assert 0.5 < found.high < 0.6
