"""Risk factors: ratios worked out by hand, and exposed walks counted one by one."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from checker.language.roles import Role
from checker.run.registry import load_file
from spark_analysis.report.local_source import LocalWalkSource
from spark_analysis.report.risk_factors import (
    comparison_text,
    is_absolute,
    is_shown,
    removal_text,
    risk_factors,
    risk_text,
)
from spark_analysis.report.risk_factors import settings_without_cause as without_cause
from spark_analysis.report.walk_counts import WalkFailure, count_walks
from spark_analysis.walks.records import part_paths, read_parts
from spark_analysis.walks.statistics import ExposureStratum, risk_ratio
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.walks.walked import request, simulated, spec_file, walks_in


def test_ratio_of_one_stratum_is_that_of_the_shares():
    found = risk_ratio([ExposureStratum(100, 30, 300, 30)])
    # The variance of the logarithm of a ratio of shares: 1/30 - 1/100 + 1/30 - 1/300.
    factor = np.exp(1.959964 * np.sqrt(2 / 30 - 1 / 100 - 1 / 300))
    assert found.ratio == pytest.approx(3)
    assert (found.low, found.high) == (pytest.approx(3 / factor), pytest.approx(3 * factor))
    # A stratum without members to compare with shows nothing; its cases are counted.
    alone = [ExposureStratum(10, 5, 0, 0), ExposureStratum(0, 0, 9, 2), ExposureStratum(100, 30, 300, 30)]
    assert risk_ratio(alone) == replace(found, exposed_cases=35, other_cases=32)


def test_strata_remove_the_influence_of_what_they_hold_equal():
    """In each stratum the exposure has no influence, but most exposed members are in the risky one."""
    strata = [ExposureStratum(900, 450, 100, 50), ExposureStratum(100, 1, 900, 9)]
    # The variances of the two strata are those of 450 and 50, and of 1 and 9 cases.
    found = risk_ratio(strata)
    assert found.ratio == pytest.approx(1)
    variance = (500 * 900 * 100 - 450 * 50 * 1000 + 10 * 100 * 900 - 9 * 1000) / 1000**2
    assert found.high == pytest.approx(np.exp(1.959964 * np.sqrt(variance) / (45 + 0.9)))
    pooled = ExposureStratum(*(sum(column) for column in zip(*strata, strict=True)))
    assert risk_ratio([pooled]).ratio > 7


def test_missing_cases_have_no_interval():
    assert risk_ratio([ExposureStratum(10, 5, 10, 0)]).ratio is None
    never = risk_ratio([ExposureStratum(10, 0, 10, 5)])
    assert never.ratio == 0 and never.low is never.high is None
    assert risk_ratio([ExposureStratum(10, 5, 0, 0)]).ratio is None and risk_ratio([]).ratio is None


@pytest.mark.parametrize(
    ("with_it", "without", "interval", "text", "has_difference"),
    [
        (3, 0, (None, None), "only with it", False),
        (0, 3, (None, None), "never with it", False),
        (3, 4, (None, None), "not comparable", False),
        (3, 4, (1.0, 2.5), "1.5 times as often (1 to 2.5)", False),
        (3, 4, (0.5, 1.0), "1.5 times as often (0.5 to 1)", False),
        (3, 4, (1.01, 2.5), "1.5 times as often (1.01 to 2.5)", True),
        (3, 4, (0.5, 0.99), "1.5 times as often (0.5 to 0.99)", True),
    ],
)
def test_what_a_comparison_shows(with_it, without, interval, text, has_difference):
    low, high = interval
    row = {"kind": "action", "walks": None, "reference": None, "ratio": 1.5, "low": low, "high": high}
    row |= {"walks_with": with_it, "walks_without": without}
    assert (comparison_text(row), is_shown(row)) == (text, has_difference)


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("risks")
    sweep = ("size=1,2,3", "careful=true,false")
    run, walks = walks_in(folder, scenario=None, sweep=sweep, walks=500)
    rows = [row for table in read_parts(part_paths(walks, run)) for row in table.to_pylist()]
    return run, rows, count_walks(LocalWalkSource(walks, run, range(run.parts)))


def test_exposed_walks_are_counted_by_step(counted):
    run, rows, counts = counted
    expected, failing = Counter(), Counter()
    for row in rows:
        actions = run.configurations[row["configuration"]].actions
        numbers = np.repeat(np.arange(len(actions)), [action.instances for action in actions])
        taken = set()
        for step, instance in enumerate(np.frombuffer(row["actions"], "<u2").tolist(), 1):
            taken.add(int(numbers[instance]))
            for action in taken:
                expected[row["configuration"], action, step] += 1
                if row["verdict"] != "holds" and step == row["length"]:
                    failing[row["configuration"], action, step] += 1
    assert expected == {tuple(found[:3]): found.walks for found in counts.exposed if found.verdict is None}
    assert failing == {tuple(found[:3]): found.walks for found in counts.exposed if found.verdict is not None}


def test_risks_of_actions_and_settings(counted):
    run, rows, counts = counted
    found = {(row["name"], row["value"]): row for row in risk_factors(run, counts, [WalkFailure("in_order", False)])}
    assert set(found) == {
        *((name, None) for name in ("send", "take", "overtake")),
        # Walks violate it with two sizes, of which the first is the reference, and only if they are not careful.
        *(("size", size) for size in (1, 3)),
        ("careful", False),
    }
    for row in found.values():
        kind = "action" if row["value"] is None else "setting"
        assert (row["property"], row["is_error"], row["kind"]) == ("in_order", False, kind)
    # Only `overtake` puts a number in front, and a queue of one number is always in order.
    assert comparison_text(found["overtake", None]) == "only with it"
    assert risk_text(found["careful", False]) == "only with careful=false"
    made = {
        size: [row for row in rows if run.configurations[row["configuration"]].constants["size"] == size]
        for size in (1, 2, 3)
    }
    assert risk_text(found["size", 1]) == f"never with size=1 (in {len(made[1]):,} walks)"
    assert [is_absolute(found[key]) for key in (("size", 1), ("size", 3), ("overtake", None))] == [True, False, False]
    larger = found["size", 3]
    bad = {size: sum(row["verdict"] == "violated" for row in own) for size, own in made.items()}
    assert (larger["walks_with"], larger["walks_without"], larger["reference"]) == (bad[3], bad[2], 2)
    assert larger["ratio"] == pytest.approx(bad[3] / bad[2])
    assert larger["low"] < larger["ratio"] < larger["high"]
    assert f"{larger['ratio']:.3g} times as often as with size=2 (" in comparison_text(larger)


TOSSES = """
from checker.language import Range, Spec, action, invariant, require, step_invariant


class Queue(Spec):
    heads = Range(0, 4)
    tails = Range(0, 6)

    @action
    def head(self):
        require(self.heads < 4)
        self.heads += 1

    @action
    def tail(self):
        require(self.tails < 4)
        self.heads = 0
        self.tails += 1

    @action
    def fall(self):
        require(self.heads >= 1)
        self.tails += 2

    @invariant
    def few(self):
        return self.heads < 2

    @invariant
    def tails_late(self):
        return self.tails < 4 and (self.heads < 3 or self.tails != 1)

    @step_invariant
    def no_leap(self, old):
        return self.heads + 1 >= old.heads

    @invariant
    def nothing(self):
        return self.heads >= 0
"""
PROPERTIES = ("few", "tails_late", "no_leap")
DEPTH = 7


def risks_of(folder, *, walks, properties=(), beyond=False):
    """Return the risk factors of walks of the tosses, by property and action."""
    folder.mkdir()
    given = dict(scenario=None, walks=walks, depth=DEPTH, properties=properties, beyond=beyond)
    run = run_of_request(request(spec_file(folder, TOSSES), **given))
    source = LocalWalkSource(simulated(folder / "walks", run), run, range(run.parts))
    failures = [*(WalkFailure(name, False) for name in run.properties), WalkFailure("fall", True)]
    return {(row["property"], row["name"]): row for row in risk_factors(run, count_walks(source), failures)}


def test_risks_beyond_a_violation_are_those_of_the_property_alone(tmp_path):
    """A walk counts up to its first violation: its further steps, and other properties, change nothing."""
    beyond = risks_of(tmp_path / "beyond", walks=1500, beyond=True)
    for name in PROPERTIES:
        alone = risks_of(tmp_path / name, walks=1500, properties=(name,))
        found = {key: row for key, row in beyond.items() if key[0] == name}
        assert found == {key: row for key, row in alone.items() if key[0] == name}
        assert len(found) == 3
    # Walks that no property ends.
    errors = risks_of(tmp_path / "nothing", walks=1500, properties=("nothing",))
    assert errors == {key: row for key, row in beyond.items() if key[0] == "fall"} != {}


def exact_strata(spec, name):
    """Return for each action the strata of its risk, one for each step, as probabilities over all walks."""
    strata = defaultdict(lambda: [Fraction(0)] * 4)

    def follow(state, taken, share, step):
        if step > DEPTH:
            return
        steps, failures = spec.expand(state)
        # A walk ends in a state in which some action leaves its bounds.
        for found in steps if not failures else ():
            part, actions = share / len(steps), taken | {found.action}
            old = state if spec.roles[name] is Role.STEP_INVARIANT else None
            is_bad = not spec.holds(name, found.state, old)
            for action in ("head", "tail", "fall"):
                place = strata[action, step]
                place[0 if action in actions else 2] += part
                place[1 if action in actions else 3] += part * is_bad
            if not is_bad:
                follow(found.state, actions, part, step + 1)

    [initial] = spec.initial_states()
    follow(initial, frozenset(), Fraction(1), 1)
    found = defaultdict(list)
    for (action, _), stratum in strata.items():
        found[action].append(ExposureStratum(*map(float, stratum)))
    return found


@pytest.mark.parametrize("name", PROPERTIES)
def test_risks_beyond_a_violation_contain_the_exact_ones(tmp_path, name):
    found = risks_of(tmp_path / "walks", walks=4000, beyond=True)
    [entry] = load_file(spec_file(tmp_path, TOSSES)).entries
    compared = 0
    for action, strata in exact_strata(entry.spec(), name).items():
        exact, estimated = risk_ratio(strata), found.get((name, action))
        if estimated is None or estimated["low"] is None:
            continue
        assert estimated["low"] <= exact.ratio <= estimated["high"]
        compared += 1
    assert compared


@pytest.mark.parametrize(
    ("violating", "states", "text"),
    [
        (0, None, "acks=0 (in none of 50 walks)"),
        (9, None, "acks=0 (in no sampled one of 9 walks that violate the property)"),
        (0, 7, "acks=0 (exploration excludes it)"),
    ],
)
def test_settings_without_a_cause_have_their_evidence(violating, states, text):
    failure = {"property": "safe", "is_error": False, "walks": violating}
    known = {"states": states, "violations": {}}
    data = {
        "sweep": {"acks": [0, 1]},
        "configurations": [
            {"number": number, "swept": {"acks": number}, "walks": 50, "failures": [failure], "known": known}
            for number in (0, 1)
        ],
    }
    cluster = {"property": "safe", "kind": "invariant", "by_configuration": {"1": {"walks": 3}}}
    [found] = without_cause(data, cluster)
    assert removal_text(found) == text
