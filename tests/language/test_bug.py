"""The scenarios of a `Bug`."""

import pytest

from checker.language import Bug, SpecError
from tests.toy import Counter


def test_a_bug_becomes_a_violated_and_two_fixed_scenarios():
    bug = Bug(
        "falls",
        Counter,
        violates={"never_falls": 5},
        faulty={"resets": True},
        fixed={"resets": False},
        larger={"limit": 7},
        promises=["never_falls"],
        description="The counter starts again.",
    )
    faulty, fixed, larger = bug.scenarios()
    assert (faulty.name, faulty.constants, faulty.expect) == ("falls", {"resets": True}, {"never_falls": 5})
    assert faulty.properties == ["never_falls"]
    assert (fixed.name, fixed.constants, fixed.expect) == ("falls_fixed", {"resets": False}, "holds")
    assert (larger.name, larger.constants) == ("falls_fixed_larger", {"limit": 7, "resets": False})
    assert fixed.description == "Fixed: The counter starts again."


def test_a_bug_without_a_larger_size_has_two_scenarios():
    assert [found.name for found in Bug("falls", Counter, {"never_falls": 5}).scenarios()] == ["falls", "falls_fixed"]


def test_fixed_name_replaces_the_name_of_the_fixed_scenario():
    bug = Bug("falls", Counter, {"never_falls": 5}, larger={"limit": 7}, fixed_name="fixed_without_reset")
    assert [found.name for found in bug.scenarios()] == [
        "falls",
        "fixed_without_reset",
        "fixed_without_reset_larger",
    ]


def test_only_the_fixed_scenarios_are_checked_for_deadlock():
    bug = Bug("falls", Counter, {"never_falls": 5}, larger={"limit": 7}, deadlock=True)
    assert [found.deadlock for found in bug.scenarios()] == [False, True, True]


def test_bug_that_violates_an_unknown_property_is_refused():
    with pytest.raises(SpecError, match="not a property"):
        Bug("falls", Counter, {"never_rises": 5}).scenarios()
