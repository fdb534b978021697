"""Exact probabilities of failures, compared with probabilities worked out by hand and with walks of the kernel."""

import math

import numpy as np
import pytest

from checker.engines.native.walk.walker import Walker, walk_seeds
from checker.language import Constant, Range, Spec, action, constraint, invariant, require, step_invariant
from checker.run import registry
from spark_analysis.walks.exact_probability import exact_probabilities
from spark_analysis.walks.statistics import wilson


class Coin(Spec):
    """Tosses of a coin; three heads in a row violate a property."""

    heads = Range(0, 3)

    @action
    def head(self):
        self.heads += 1

    @action
    def tail(self):
        self.heads = 0

    @invariant
    def no_three(self):
        return self.heads < 3


class Overflowing(Coin):
    no_three = None

    @constraint
    def within(self):
        return 6 // (self.heads - 2) < 7


class Dividing(Coin):
    no_three = None

    @invariant
    def steady(self):
        return 6 // (self.heads - 2) < 7


class Leaping(Coin):
    no_three = None

    @step_invariant
    def no_leap(self, old):
        return self.heads + 1 >= old.heads


class Ending(Coin):
    no_three = None
    limit = Constant(2)

    @action
    def head(self):
        require(self.heads < self.limit)
        self.heads += 1

    tail = None


def exact(spec, *properties, depth, weights=None):
    return exact_probabilities(spec, properties, depth, weights or {}, 1000)


def test_three_heads_in_a_row():
    # Of 16 sequences of four tosses, HHHx and THHH have three heads in a row.
    assert exact(Coin(), "no_three", depth=4) == {("no_three", False): pytest.approx(3 / 16)}
    assert exact(Coin(), "no_three", depth=2) == {("no_three", False): 0}
    # Far below the smallest float, and not 0.
    assert exact(Coin(), "no_three", depth=3, weights={"tail": 10**150})["no_three", False] > 0
    weighted = exact(Coin(), "no_three", depth=3, weights={"head": 3})
    assert weighted == {("no_three", False): pytest.approx(27 / 64)}


def test_errors_have_the_name_of_what_left_its_bounds():
    assert exact(Overflowing(), depth=2) == {("within", True): pytest.approx(1 / 4)}
    assert exact(Dividing(), "steady", depth=2) == {("steady", True): pytest.approx(1 / 4)}
    assert exact(Ending(limit=9), depth=9) == {("head", True): pytest.approx(1)}


def test_steps_that_violate_a_property():
    # Two heads and a tail.
    assert exact(Leaping(), "no_leap", depth=3)["no_leap", False] == pytest.approx(1 / 8)


@pytest.mark.parametrize(("depth", "probability"), [(2, 0), (3, 1)])
def test_a_deadlock_is_found_by_a_further_step_only(depth, probability):
    found = exact(Ending(), "deadlock", depth=depth)
    assert found.get(("deadlock", False), 0) == probability


def test_a_large_spec_has_no_result():
    """Walks go on in three of its states: with no, one and two heads."""
    assert exact_probabilities(Coin(), ["no_three"], 4, {}, 2) is None
    assert exact_probabilities(Coin(), ["no_three"], 4, {}, 3) is not None


def coverage(truth, total):
    """Return the probability that the interval of `total` walks contains the probability of a violation.

    It is the sum of the binomial probabilities of all counts of which the interval contains it.
    """
    found = 0.0
    for count in range(total + 1):
        share = wilson(count, total)
        if share.low <= truth <= share.high:
            choices = math.lgamma(total + 1) - math.lgamma(count + 1) - math.lgamma(total - count + 1)
            found += math.exp(choices + count * math.log(truth) + (total - count) * math.log1p(-truth))
    return found


@pytest.mark.parametrize(
    ("total", "low", "high"),
    [(100, 0.92, 0.967), (1000, 0.946, 0.9645), (4000, 0.948, 0.955)],
)
def test_intervals_contain_the_probability_in_95_percent_of_runs(total, low, high):
    """Exactly computed. For some probabilities it is a little less, since counts are whole numbers."""
    shares = [coverage(truth, total) for truth in (0.01, 0.05, 0.1, 0.25, 0.5, 0.75)]
    assert low <= min(shares) and max(shares) <= high


@pytest.mark.parametrize("weights", [{}, {"broker_append": 5}], ids=["uniform", "weighted"])
def test_walks_violate_a_property_with_the_exact_probability(weights):
    """The numbers of violating walks of 400 seeds have the binomial distribution of the exact probability.

    Their mean shows a bias of the walks, and their spread a dependence between the walks of a seed. The intervals of
    about 380 seeds contain the probability. Each bound fails by chance with a probability of about 0.001.
    """
    (selection,) = registry.select("producer/plain_producer/p1_reorder_by_retry")
    assert selection.scenario is not None
    spec = selection.scenario.spec(**selection.scenario.constants)
    properties = [name for name in spec.properties if name == "no_reorder"]
    truth = exact_probabilities(spec, properties, 30, weights, 20_000)["no_reorder", False]
    walker, seeds, total = Walker(spec, properties), 400, 1000
    counts = []
    for seed in range(seeds):
        walks = walker.walk(walk_seeds(seed, 0, total), 30, weights=walker.weights_of(weights))
        counts.append(int(np.count_nonzero(walks.violated)))
    scores = (np.array(counts) - total * truth) / math.sqrt(total * truth * (1 - truth))
    assert abs(scores.sum()) / math.sqrt(seeds) < 3.3
    # The sum of squares has the mean `seeds` and the variance 2 * seeds.
    assert abs((scores**2).sum() - seeds) / math.sqrt(2 * seeds) < 3.3
    shares = [wilson(count, total) for count in counts]
    expected = coverage(truth, total)
    covered = sum(share.low <= truth <= share.high for share in shares)
    assert abs(covered - seeds * expected) / math.sqrt(seeds * expected * (1 - expected)) < 3.3
