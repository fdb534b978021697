"""Statistics of walks, compared with published figures, worked examples and simulation."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_analysis.walks.statistics import (
    EstimatedCount,
    SampledStratum,
    Saturation,
    Share,
    cumulative_incidence,
    estimate_count,
    significant,
    step_by_which,
    wilson,
)


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        # Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_interval_equals_published_values(count, total, low, high):
    found = wilson(count, total)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(st.integers(0, 300), st.integers(1, 300))
def test_interval_contains_the_share(count, total):
    count = min(count, total)
    found = wilson(count, total)
    assert 0 <= found.low <= found.rate <= found.high <= 1
    mirrored = wilson(total - count, total)
    assert mirrored.low == pytest.approx(1 - found.high) and mirrored.high == pytest.approx(1 - found.low)
    assert (wilson(0, total).low, wilson(total, total).high) == (0, 1)


def test_without_walks_nothing_is_known():
    assert wilson(0, 0) == Share(0, 0, 0.0, 1.0) and wilson(0, 0).rate == 0


def test_a_small_probability_keeps_its_digits():
    assert significant(2.0**-40) == 9.09494702e-13 and significant(1 / 3) == 0.333333333 and significant(0) == 0


def test_a_competing_violation_leaves_its_walks_in_the_total():
    """Of 100 walks 60 end with another violation at step 1: none of them can violate this property at step 2."""
    points = cumulative_incidence(100, {5: 30, 3: 10})
    assert points == [(3, 10, 0.1), (5, 30, 0.4)]
    assert [step_by_which(points, share) for share in (0.01, 0.1, 0.4, 0.5)] == [3, 3, 5, None]
    assert step_by_which(cumulative_incidence(700, {2: 6, 3: 1}), 0.01) == 3


def test_estimate_of_unseen_states_is_a_lower_bound():
    """Walks that each visit five of 2,000 states; later states are less likely."""
    chance = random.Random(5)
    weights = [1 / (number + 10) for number in range(2000)]
    visited: dict[int, int] = {}
    walks = 600
    for _ in range(walks):
        for state in set(chance.choices(range(2000), weights, k=5)):
            visited[state] = visited.get(state, 0) + 1
    counts = list(visited.values())
    found = Saturation(1, len(visited), sum(counts), counts.count(1), counts.count(2))
    assert found.distinct == len(visited) and found.distinct_error == 0
    missing = 2000 - len(visited)
    assert 0.5 * missing < found.unseen < 1.1 * missing
    mass = sum(weight for number, weight in enumerate(weights) if number not in visited) / sum(weights)
    assert found.unseen_mass == pytest.approx(mass, rel=0.15)


def test_sample_is_scaled():
    found = Saturation(16, 100, 400, 10, 5)
    assert (found.distinct, found.unseen) == (1600, 16 * 10 * 9 // 12)
    assert found.distinct_error == round(1.96 * 16 * (100 * 15 / 16) ** 0.5)
    assert Saturation(1, 0, 0, 0, 0).unseen_mass == 1.0


@pytest.mark.parametrize(
    ("strata", "estimate"),
    [
        # Counted strata have no interval; one without a sample may consist of hits.
        ([(7, 7, 3), (5, 5, 5)], (8, 8, 8)),
        ([(7, 7, 3), (5, 0, 0)], (3, 3, 8)),
        # Ten times Wilson's interval of 10 of 100; then 1.96 times the root of the variances 884 and 1008.
        ([(1000, 100, 10)], (100, 55, 174)),
        ([(1000, 100, 10), (500, 50, 20)], (300, 215, 385)),
        ([(1000, 100, 10), (500, 50, 20), (7, 7, 3), (5, 0, 0)], (303, 218, 393)),
        # The sample itself has 98 hits, and two members that are none.
        ([(102, 100, 98)], (100, 98, 100)),
        ([(102, 100, 2)], (2, 2, 4)),
    ],
)
def test_estimates_of_strata(strata, estimate):
    assert estimate_count(SampledStratum(*stratum) for stratum in strata) == EstimatedCount(*estimate)


@pytest.mark.parametrize("strata", [[(4000, 0.1)], [(4000, 0.1), (700, 0.6), (30, 0.5)]])
def test_intervals_of_estimated_counts_cover_the_truth(strata):
    """Of 400 random samples, 95% should cover the truth. Fewer than 92% would have a probability of 0.01."""
    choose = random.Random(11)
    members = [[choose.random() < share for _ in range(size)] for size, share in strata]
    truth = sum(map(sum, members))
    covered = 0
    for _ in range(400):
        samples = [(population, choose.sample(population, min(100, len(population)))) for population in members]
        found = estimate_count(SampledStratum(len(all), len(sample), sum(sample)) for all, sample in samples)
        assert found.low <= found.count <= found.high
        covered += found.low <= truth <= found.high
    assert covered >= 368
