"""Geometry of charts, and the exhaustive result of a configuration."""

import pytest

from spark_analysis.report.chart_geometry import (
    Series,
    count_text,
    growth_chart,
    share_chart,
    share_text,
    sweep_heat_maps,
)
from spark_analysis.report.exhaustive_baseline import baseline_of
from spark_analysis.walks.records import spec_of
from spark_analysis.walks.walk_request import WalkRequest, run_of_request


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0"), (1, "100%"), (0.12345, "12.3%"), (0.0094, "0.94%"), (0.000025, "0.0025%"), (3e-8, "3.0e-06%")],
)
def test_share_text_has_three_significant_digits(share, text):
    assert share_text(share) == text


def test_count_text():
    assert [count_text(count) for count in (950, 3750, 12_300, 3_400_000, 2e9)] == [
        "950",
        "3,750",
        "12.3 k",
        "3.4 M",
        "2 G",
    ]


def points_of(line):
    return [tuple(map(float, point.split(","))) for point in line.points.split()]


def test_share_chart_draws_a_step_function_up_to_the_last_step():
    chart = share_chart([Series("one", [(10, 0.25), (20, 0.5)])], 40, "shares")
    points = points_of(chart.lines[0])
    assert points[-1][0] == chart.right and points[-1][1] == points[-2][1] == chart.top
    assert points[0][1] == chart.bottom and len(points) == 6
    assert all(chart.left <= x <= chart.right and chart.top <= y <= chart.bottom for x, y in points)
    assert chart.across[0].at == chart.left and chart.across[-1].text == "40" and not chart.has_legend


def test_growth_chart_has_a_logarithmic_axis():
    chart = growth_chart([Series("visited", [(1, 10), (100, 20), (10_000, 30)], steps=False)], 10_000, "states")
    first, middle, last = points_of(chart.lines[0])
    assert (first[0], last[0]) == (chart.left, chart.right) and middle[0] == (first[0] + last[0]) / 2
    assert chart.has_legend


def test_heat_maps_have_a_cell_for_every_configuration():
    sweep = {"acks": ["1", "all"], "in_flight": [1, 2, 3], "idempotent": [False, True]}
    points = [
        ({"acks": acks, "in_flight": many, "idempotent": flag}, many / 10, "words", many)
        for acks in ("1", "all")
        for many in (1, 2, 3)
        for flag in (False, True)
        if (acks, many) != ("all", 2)
    ]
    maps = sweep_heat_maps(sweep, points)
    assert [found.facet for found in maps] == ["idempotent = false", "idempotent = true"]
    for found in maps:
        assert (found.columns_name, found.rows_name, found.columns) == ("in_flight", "acks", ("1", "2", "3"))
        texts = [[cell and cell.text for cell in cells] for _, cells in found.rows]
        assert texts == [["10%", "20%", "30%"], ["10%", None, "30%"]]
        depths = [cell.depth for cell in found.rows[0][1]]
        assert depths == sorted(depths) and depths[-1] == 1
    assert sweep_heat_maps({}, points) == []


def test_baseline_comes_from_the_ledger_without_exploration():
    run = run_of_request(WalkRequest("replication/kip320/two_replicas", 10, 5, 1))
    spec = spec_of(run, 0)
    recorded, explored = baseline_of(spec, run, 0, 0), baseline_of(spec, run, 0, 100_000)
    assert recorded.source == "ledger" and explored.source == "exhaustive exploration"
    assert recorded.states == explored.states and not explored.violations
    run = run_of_request(
        WalkRequest("replication/kip320", 10, 5, 1, settings=("replicas=2", "max_leader_epoch=1", "log_size=1"))
    )
    assert baseline_of(spec_of(run, 0), run, 0, 0).states is None
