"""Exact probabilities of failures, compared with probabilities worked out by hand and with walks of the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from checker.engines.native.walk.walker import Walker, walk_seeds
from checker.language import Constant, Range, Spec, action, constraint, invariant, require, step_invariant
from checker.run import registry
from traces.walks.exact_probability import exact_probabilities
from traces.walks.statistics import wilson


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
    weighted = exact(Coin(), "no_three", depth=3, weights={"head": 3})
    assert weighted == {("no_three", False): pytest.approx(27 / 64)}


def test_errors_have_the_name_of_what_left_its_bounds():
    assert exact(Overflowing(), depth=2) == {("within", True): pytest.approx(1 / 4)}
    assert exact(Ending(limit=9), depth=9) == {("head", True): pytest.approx(1)}


def test_steps_that_violate_a_property():
    # Two heads and a tail.
    assert exact(Leaping(), "no_leap", depth=3)["no_leap", False] == pytest.approx(1 / 8)


@pytest.mark.parametrize(("depth", "probability"), [(2, 0), (3, 1)])
def test_a_deadlock_is_found_by_a_further_step_only(depth, probability):
    found = exact(Ending(), "deadlock", depth=depth)
    assert found.get(("deadlock", False), 0) == probability


def test_a_large_spec_has_no_result():
    assert exact_probabilities(Coin(), ["no_three"], 4, {}, 2) is None


@pytest.mark.parametrize("weights", [{}, {"broker_append": 5}], ids=["uniform", "weighted"])
def test_intervals_of_walks_contain_the_exact_probability(weights):
    """Of 100 seeds, 95 should. Fewer than 89 would have a probability of 0.01."""
    (selection,) = registry.select("producer/plain_producer/p1_reorder_by_retry")
    assert selection.scenario is not None
    spec = selection.scenario.spec(**selection.scenario.constants)
    properties = [name for name in spec.properties if name == "no_reorder"]
    weights = {name: weight for name, weight in weights.items() if name in {shape.name for shape in spec.shapes()}}
    truth = exact_probabilities(spec, properties, 30, weights, 20_000)
    assert truth is not None
    walker = Walker(spec, properties)
    covered = 0
    for seed in range(100):
        walks = walker.walk(walk_seeds(seed, 0, 1000), 30, weights=walker.weights_of(weights))
        share = wilson(int(np.count_nonzero(walks.violated)), 1000)
        covered += share.low <= truth["no_reorder", False] <= share.high
    assert covered >= 89
