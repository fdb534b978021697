"""Geometry of charts, and the exhaustive result of a configuration."""

import pytest

from spark_analysis.report.chart_geometry import (
    Series,
    count_text,
    difference_text,
    growth_chart,
    share_chart,
    share_text,
    share_texts,
    split_text,
    sweep_heat_maps,
    walks_text,
)
from spark_analysis.report.exhaustive_baseline import baseline_of
from spark_analysis.walks.records import spec_of
from spark_analysis.walks.walk_request import WalkRequest, run_of_request


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0"),
        (1, "100%"),
        (0.12345, "12.3%"),
        (0.0094, "0.94%"),
        (0.000025, "0.0025%"),
        (2.0**-40, "9.09e-11%"),
        (1 - 4e-6, "99.9996%"),
        (0.98456, "98.5%"),
    ],
)
def test_share_text_has_three_significant_digits(share, text):
    assert share_text(share) == text
    assert share_text(share) not in ("0", "100%") or share in (0, 1)
    assert difference_text(share) == (f"+{text}" if share else "0") and difference_text(-share).lstrip("-") == text


def test_the_ends_of_an_interval_differ_from_the_rate():
    assert share_texts({"rate": 0.75, "low": 0.7498, "high": 0.7502}) == ("75%", "74.98%", "75.02%")
    assert share_texts({"rate": 0.0, "low": 0.0, "high": 1e-7}) == ("0", "0", "1.00e-05%")
    assert split_text({"rate": 2e-9, "low": 1e-9, "high": 3e-9}) == "2.00e-07% (1.00e-07% to 3.00e-07%)"
    assert split_text({"rate": 0.0, "low": 0.0, "high": 3e-9}) == "below 3.00e-07%"


def test_count_text():
    walks = [{"walks": 1, "low": 1, "high": 1}, {"walks": 2000, "low": 2000, "high": 2000}]
    assert list(map(walks_text, walks)) == ["1 walk", "2,000 walks"]
    assert walks_text({"walks": 1, "low": 0, "high": 2000}) == "about 1 walk (0 to 2,000)"
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


@pytest.mark.parametrize(
    ("most", "middle", "top"),
    [(0, "50%", "100%"), (0.25, "12.5%", "25%"), (0.07, "4%", "8%"), (0.0101, "0.75%", "1.5%")],
)
def test_an_axis_ends_at_a_round_number_that_is_not_below_the_data(most, middle, top):
    chart = share_chart([Series("one", [(1, most)])], 9, "shares")
    assert [chart.up[at].text for at in (0, 2, 4)] == ["0", middle, top] and len(chart.up) == 5
    assert (chart.up[0].at, chart.up[4].at) == (chart.bottom, chart.top)


@pytest.mark.parametrize(
    ("last", "steps"),
    [(1, [1]), (3, [1, 2, 3]), (11, [1, 4, 6, 8, 10]), (101, [1, 20, 40, 60, 80, 100]), (20_000, [1, 2000, 4000])],
)
def test_steps_on_an_axis_are_round_numbers(last, steps):
    texts = [tick.text for tick in share_chart([], last, "").across]
    assert texts[: len(steps)] == [f"{step:,}" for step in steps] and len(texts) == (
        11 if last == 20_000 else len(steps)
    )


def test_names_of_lines_do_not_overlap():
    shares = {"a": 0.01, "b": 0.01, "c": 1.0}
    chart = share_chart([Series(name, [(5, share)], f"style {name}") for name, share in shares.items()], 9, "")
    low, above, top = (line.label_y for line in chart.lines)
    assert (low, low - above, top) == (chart.lines[0].end[1] - 5, 15, chart.top)
    assert [(line.name, line.style, line.colour) for line in chart.lines] == [
        (name, f"style {name}", colour) for colour, name in enumerate(shares)
    ]
    many = share_chart([Series(str(at), [(5, 0.0)]) for at in range(9)], 9, "")
    assert many.has_legend and not chart.has_legend and [line.colour for line in many.lines].count(0) == 2
    assert max(line.label_y for line in many.lines) == many.bottom - 5


def test_growth_chart_has_a_logarithmic_axis():
    chart = growth_chart([Series("visited", [(1, 10), (100, 20), (10_000, 30)], steps=False)], 10_000, "states")
    first, middle, last = points_of(chart.lines[0])
    assert (first[0], last[0]) == (chart.left, chart.right) and middle[0] == (first[0] + last[0]) / 2
    assert chart.has_legend and [tick.text for tick in chart.across] == ["1", "10", "100", "1,000", "10 k"]
    assert [tick.text for tick in growth_chart([], 1, "").across] == ["1"]


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
        # Of the colours, the depth is the root of the share: small shares differ more.
        assert [cell.depth for cell in found.rows[0][1]] == [0.577, 0.816, 1]
    assert sweep_heat_maps({}, points) == []
    (line,) = sweep_heat_maps({"acks": [0, 1]}, [({"acks": 1}, 0.0, "none", 1)])
    assert (line.rows_name, line.columns_name, line.facet) == ("", "acks", "")
    ((name, (missing, cell)),) = line.rows
    assert (name, missing, cell.text, cell.depth, cell.title, cell.configuration) == ("", None, "0", 0, "none", 1)


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
