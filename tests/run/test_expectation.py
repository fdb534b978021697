"""Comparison of results with the expected verdicts of scenarios."""

import pytest

from checker.engines.python.explorer import explore
from checker.language import Scenario
from checker.run.expectation import compare_with_expectation, expectation_for, properties_to_check, stop_for
from checker.run.plan import Plan
from tests.toy import Counter, Overflow


def result(*properties, spec=None, **plan):
    return explore(spec or Counter(resets=True), Plan(properties=properties, **plan))


def test_expected_holds_matches():
    assert compare_with_expectation(result("is_two"), "holds").matches


def test_a_violation_differs_from_holds():
    comparison = compare_with_expectation(result("below_limit"), "holds")
    assert comparison.sentences == ("expected every property to hold, but below_limit is violated (4 states)",)


def test_expected_violations_with_and_without_lengths():
    found = result("below_limit", "never_falls", stop="all")
    assert compare_with_expectation(found, {"below_limit": 4, "never_falls": None}).matches
    assert compare_with_expectation(found, {"below_limit": 5, "never_falls": 5}).sentences == (
        "expected a counterexample to below_limit of 5 states, but it has 4",
    )


def test_missing_violation_is_reported():
    comparison = compare_with_expectation(result("never_falls", spec=Counter()), {"never_falls": None})
    assert comparison.sentences == ("expected never_falls to be violated, but it is not",)
    assert not comparison.is_open


def test_unexpected_violation_counts_only_if_found_before_the_expected_ones():
    found = result("below_limit", "never_falls", stop="all")
    assert compare_with_expectation(found, {"below_limit": 4}).matches
    assert compare_with_expectation(found, {"never_falls": 5}).sentences == (
        "below_limit is violated (4 states), which is not expected",
    )


def test_expected_error_matches_a_bounds_error():
    found = result(spec=Overflow())
    assert compare_with_expectation(found, "error").matches
    assert not compare_with_expectation(found, "holds").matches
    assert not compare_with_expectation(found, {"never_falls": None}).matches
    assert not compare_with_expectation(result(), "error").matches


@pytest.mark.parametrize("expected", ["holds", "error", {"below_limit": 4}])
def test_stopped_early_is_open_and_neither_matches_nor_differs(expected):
    comparison = compare_with_expectation(result("below_limit", max_states=2), expected)
    assert comparison.is_open
    assert not comparison.matches


def test_difference_found_before_the_stop_is_not_open():
    comparison = compare_with_expectation(result("below_limit", max_depth=4, stop="all"), {"never_falls": 5})
    assert not comparison.is_open


def test_expectation_of_a_subset_of_the_properties():
    scenario = Scenario(Counter, "s", expect={"below_limit": 4, "never_falls": 5})
    assert expectation_for(scenario, ("never_falls",)) == {"never_falls": 5}
    assert expectation_for(scenario, ("is_two",)) == "holds"
    assert stop_for({"never_falls": 5}) == {"never_falls"}
    assert stop_for("holds") == "first"


def test_deadlock_is_checked_if_requested_or_expected():
    usual = ("below_limit", "never_falls", "is_two", "is_over")
    assert properties_to_check(Scenario(Counter, "s")) == usual
    assert properties_to_check(Scenario(Counter, "s", deadlock=True)) == (*usual, "deadlock")
    assert properties_to_check(Scenario(Counter, "s", expect={"deadlock": 4}, properties=["is_two"])) == (
        "is_two",
        "deadlock",
    )
