"""The forecast of the states to come, on the levels of explorations of KIP-320."""

import pytest

from checker.run.forecast import LEAST_LEVELS, states_to_come

SMALL, LARGE = (
    [int(size) for size in text.split()]
    for text in (
        "1 6 30 138 366 1170 2715 5673 10836 18648 28818 40629 53691 66432 77400 84072 85404 78909 66447 49422 32916 "
        "19542 9939 3660 834 96",
        "1 6 30 138 594 2388 7755 23265 59934 141780 307872 605823 1073304 1749108 2656941 3784326 5114364 6595527 "
        "8141340 9539397 10599702 11108754 10974498 10191594 8863434 7204089 5448480 3813012 2431554 1407192 727191 "
        "325284 120888 36240 7998 1188 132",
    )
)
"""The levels of (3, 2, 2, 2), with 737,794 states, and of (3, 2, 2, 4), with 113,065,123 states."""


@pytest.mark.parametrize("levels", [SMALL, LARGE], ids=["small", "large"])
def test_the_total_is_about_right_after_a_tenth_of_the_states(levels):
    total = sum(levels)
    for number in range(LEAST_LEVELS, len(levels) + 1):
        found = sum(levels[:number])
        to_come = states_to_come(levels[:number])
        if found >= total / 10:
            assert 0.65 < (found + to_come) / total < 1.35
        if found >= total * 3 / 4:
            assert 0.95 < (found + to_come) / total < 1.15


def test_the_last_level_leaves_little():
    assert states_to_come(SMALL) < 100


@pytest.mark.parametrize(
    "levels", [[], [1], SMALL[: LEAST_LEVELS - 1], [2**number for number in range(20)], [5] * 20, [1] * 7 + [0]]
)
def test_growth_without_a_trend_has_no_forecast(levels):
    assert states_to_come(levels) is None
