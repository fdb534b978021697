"""Samples of violating walks: their sizes, the counts of causes with them, and properties that few walks violate."""

import numpy as np
import pytest

from checker.language import Range, Spec, action, invariant, require
from checker.run.result import TraceStep, Violation
from spark_analysis.report import causes, local_source, shrunk_walks
from spark_analysis.report.make_report import report_on
from spark_analysis.report.shrunk_walks import Stratum, first_walks, spacings_of
from spark_analysis.report.violation_causes import ViolationCause, cause_of
from spark_analysis.report.walk_counts import ViolationPattern, WalkFailure
from spark_analysis.walks.records import part_paths, read_parts
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.test_report import TWO_CAUSES
from tests.spark_analysis.walks.walked import request, simulated, spec_file, spec_of_walks

IN_ORDER = WalkFailure("in_order", False)
RARE = WalkFailure("rare", False)


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    run = run_of_request(request(spec_file(folder, TWO_CAUSES), walks=4000, seed=5))
    return simulated(folder / "walks", run)


def counts(report):
    names = ("property", "false_parts", "last_steps", "breaker")
    return {str([found[name] for name in names]): found for found in report.data["clusters"]}


@pytest.mark.slow
def test_estimates_of_samples_contain_the_exact_counts(walks, monkeypatch):
    monkeypatch.setattr(shrunk_walks, "SAMPLED_WALKS", 10_000)
    exact = counts(report_on(walks, spec=spec_of_walks(walks)))
    assert all(found["low"] == found["walks"] == found["high"] for found in exact.values())
    monkeypatch.setattr(shrunk_walks, "SAMPLED_WALKS", 60)
    report = report_on(walks, spec=spec_of_walks(walks))
    estimated = counts(report)
    assert set(estimated) <= set(exact) and len(estimated) > 2
    assert any(found["low"] < found["high"] for found in estimated.values())
    assert sum(found["low"] <= exact[cause]["walks"] <= found["high"] for cause, found in estimated.items()) >= (
        len(estimated) - 1
    )
    for sample in report.data["samples"]:
        # The size of a sample of every fourth walk is random.
        assert 30 < sample["sampled"] < 200 < sample["walks"]


PLANTED = """
from checker.language import Range, Seq, Spec, action, invariant, require


class Queue(Spec):
    copy = Seq(Range(0, 1), 1)
    plan = Range(0, 8)
    is_rested = bool
    is_done = bool

    @action
    def choose(self, plan: Range(1, 8)):
        require(self.plan == 0)
        self.plan = plan

    @action
    def rest(self):
        require(self.plan > 0 and not self.is_rested and not self.is_done)
        self.is_rested = True

    @action
    def work(self):
        require(self.plan > 0 and not self.is_done and (self.plan != 5 or self.is_rested))
        self.is_done = True
        if self.plan not in {1, 5}:
            self.copy.append(0 if self.plan in {2, 3, 4} else 1)

    @invariant(says="the copy is wrong")
    def copied(self):
        return not self.is_done or self.agrees(0)

    def agrees(self, at: int):
        return at < len(self.copy) and self.copy[at] == 1
"""
MECHANISMS = {
    ("0 < len(self.copy)", "choose"): {1},
    ("self.copy[0] == 1", "choose"): {2, 3, 4},
    ("0 < len(self.copy)", "rest"): {5},
}
"""The plans of each mechanism: a missing copy, a differing one, and one that is missing after a rest."""


def test_planted_mechanisms_have_their_shares(tmp_path):
    """Two of them have the same actions. The plan of a walk, in its row, says which one it has."""
    run = run_of_request(request(spec_file(tmp_path, PLANTED), scenario=None, walks=8000, depth=6, seed=3))
    walks = simulated(tmp_path / "walks", run)
    rows = [row for table in read_parts(part_paths(walks, run)) for row in table.to_pylist()]
    plans = [np.frombuffer(row["actions"], "<u2")[0] + 1 for row in rows if row["verdict"] == "violated"]
    report = report_on(walks, spec=spec_of_walks(walks))
    (sample,) = report.data["samples"]
    assert sample["sampled"] < sample["walks"] / 5
    found = {(*cluster["false_parts"], *cluster["last_steps"]): cluster for cluster in report.data["clusters"]}
    assert found.keys() == MECHANISMS.keys()
    for mechanism, planted in MECHANISMS.items():
        walks_with = sum(plan in planted for plan in plans)
        assert walks_with / len(plans) == pytest.approx(len(planted) / 5, abs=0.02)
        assert found[mechanism]["low"] <= walks_with <= found[mechanism]["high"]
        # The trace that is shown is of a walk with this mechanism.
        assert plans_of(report, mechanism) in planted


def plans_of(report, mechanism):
    (cluster,) = [each for _, each in report.clusters if (*each.cause.false_parts, *each.cause.last_steps) == mechanism]
    return cluster.reduced.trace[1].arguments[0]


def test_the_order_of_independent_steps_is_no_other_cause():
    """`left` and `right` do not depend on each other; `join` needs both, and `first` comes before them."""
    spec = Joining()
    orders = [("first", "left", "right", "join"), ("first", "right", "left", "join")]
    found = set()
    for names in orders:
        trace = [TraceStep(None, (), spec.initial_states()[0])]
        for name in names:
            trace.append(TraceStep(name, (), spec.step(trace[-1].state, name)))
        found.add(cause_of(spec, Violation("apart", "invariant", tuple(trace), "")))
    assert found == {ViolationCause("apart", "invariant", ("self.steps < 4",), ("left", "right"), "join")}


class Joining(Spec):
    steps = Range(0, 4)
    has_left = bool
    has_right = bool

    @action
    def first(self):
        require(self.steps == 0)
        self.steps += 1

    @action
    def left(self):
        require(self.steps > 0 and not self.has_left)
        self.has_left = True
        self.steps += 1

    @action
    def right(self):
        require(self.steps > 0 and not self.has_right)
        self.has_right = True
        self.steps += 1

    @action
    def join(self):
        require(self.has_left and self.has_right)
        self.steps += 1

    @invariant
    def apart(self):
        return self.steps < 4


def test_every_violated_property_has_a_counterexample(walks, monkeypatch):
    monkeypatch.setattr(local_source, "default_workers", lambda: 2)
    monkeypatch.setattr(shrunk_walks, "_WALKS_IN_TASK", 1)
    for module, name in ((shrunk_walks, "MOST_PATTERNS"), (causes, "MOST_SEARCHED"), (causes, "MOST_CAUSES")):
        monkeypatch.setattr(module, name, 1)
    monkeypatch.setattr(shrunk_walks, "SAMPLED_WALKS", 1)
    report = report_on(walks, spec=spec_of_walks(walks))
    monkeypatch.setattr(local_source, "default_workers", lambda: 1)
    assert report_on(walks, spec=spec_of_walks(walks)).data == report.data
    violated = {failure["property"] for failure in report.data["failures"] if failure["walks"]}
    assert len(violated) == 2
    assert {cluster["property"] for cluster in report.data["clusters"]} == violated
    assert all(cluster["limit"] != "no search was made" for cluster in report.data["clusters"])


def test_spacings_give_samples_of_the_wanted_size():
    population = {Stratum(IN_ORDER, number): walks for number, walks in enumerate((1, 399, 400, 801, 10**6))}
    # Five configurations share the sample of a property: 80 walks each.
    assert list(spacings_of(population).values()) == [1, 4, 4, 8, 8192]
    for stratum, spacing in spacings_of(population).items():
        assert spacing == 1 or 80 <= population[stratum] / spacing < 160


def test_first_walks_include_the_pattern_of_a_rare_property(monkeypatch):
    monkeypatch.setattr(shrunk_walks, "MOST_PATTERNS", 3)
    patterns = [
        ViolationPattern(0, "violated", "in_order", 1, None, number, None, 1000 - number, 4, number)
        for number in range(10)
    ]
    patterns.append(ViolationPattern(0, "violated", "rare", 2, None, 99, None, 1, 4, 77))
    assert first_walks(patterns, ["in_order", "rare"]) == {0, 1, 77}


@pytest.mark.parametrize(
    ("most", "chosen"), [(0, ["a1", "b1", "c1"]), (3, ["a1", "b1", "c1"]), (4, ["a1", "a2", "b1", "c1"]), (9, None)]
)
def test_the_first_of_each_failure_and_the_most_frequent_are_chosen(most, chosen):
    ordered = ["a1", "a2", "b1", "a3", "b2", "c1"]
    assert causes.first_and_frequent(ordered, lambda name: name[0], most) == (chosen or ordered)
