"""`check` and `SpecChecks`."""

import pytest

from checker.language import Scenario, SpecError
from checker.testing import CheckFailed, SpecChecks, check
from tests.toy import Bounded, Counter, Log, Overflow

ENGINES = pytest.mark.parametrize("engine", ["native", "python"])


@ENGINES
def test_result_of_a_spec_that_holds(engine):
    result = SpecChecks(engine=engine).check(Bounded, limit=4)
    assert (result.verdict, result.distinct_states) == ("holds", 3)


@ENGINES
def test_violation_fails_with_the_counterexample(engine):
    with pytest.raises(CheckFailed, match="counterexample of 4 states") as failed:
        SpecChecks(engine=engine).check(Counter)
    assert "value  2  ->  3" in str(failed.value)


@ENGINES
def test_leaving_the_bounds_fails(engine):
    with pytest.raises(CheckFailed, match=r"increment\(\) cannot be executed"):
        SpecChecks(engine=engine).check(Overflow)


def test_an_instance_keeps_its_constants():
    with pytest.raises(CheckFailed, match="counter  limit=2, resets=true"):
        check(Counter(limit=2), resets=True)


def test_incomplete_exploration_fails():
    with pytest.raises(CheckFailed, match="log was not explored completely: the limit on states was reached"):
        SpecChecks(engine="python", max_states=2).check(Log, replicas=1)


def test_properties_and_deadlock():
    assert SpecChecks(properties=("is_two",)).check(Counter).reached == {"is_two": 3}
    with pytest.raises(CheckFailed, match="deadlock: trace of 4 states"):
        SpecChecks(properties=("is_two",), deadlock=True).check(Counter)
    with pytest.raises(SpecError, match="counter has no property is_tow; its properties: below_limit"):
        SpecChecks(properties=("is_tow",)).check(Counter)


def test_wrong_constant():
    with pytest.raises(SpecError, match="limit must be at most 9"):
        check(Counter, limit=10)


def test_scenario_is_compared_with_its_expected_result():
    assert SpecChecks().check_scenario(Scenario(Log, "agree", {}, expect={"logs_agree": 5})).verdict == "violated"
    with pytest.raises(CheckFailed, match="expected a counterexample to logs_agree of 4 states, but it has 5"):
        SpecChecks().check_scenario(Scenario(Log, "agree", {}, expect={"logs_agree": 4}))
