"""Samples of violating walks: their sizes, the counts of causes with them, and properties that few walks violate."""

import pytest

from spark_analysis.report import causes, local_source, shrunk_walks
from spark_analysis.report.make_report import report_on
from spark_analysis.report.shrunk_walks import Stratum, first_walks, spacings_of
from spark_analysis.report.walk_counts import ViolationPattern, WalkFailure
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
    return {(found["property"], tuple(found["actions"])): found for found in report.data["clusters"]}


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
    assert all(cluster["is_shortest"] for cluster in report.data["clusters"])


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
