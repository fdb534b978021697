"""The charts of a report: which configurations have a line, a cell and an estimate."""

import pytest

from spark_analysis.report.report_charts import heat_maps, saturation, time_charts


def configuration(number, rate=0.5, **states):
    walks = round(100 * rate)
    failure = {"property": "safe", "is_error": False, "walks": walks, "rate": rate, "low": 0.0, "high": 1.0}
    saturated = {"sampled": 30, "scale": 2, "growth": [(1, 1), (100, 40)], "distinct": 40, "unseen": 2} | states
    return {
        "number": number,
        "swept": {"size": number},
        "walks": 100,
        "failures": [failure | {"curve": [(1, walks, rate)] if walks else []}],
        "saturation": saturated,
        "known": {"states": 50, "reason": ""},
    }


def data(configurations):
    failure = {"property": "safe", "is_error": False, "walks": 9}
    sweep = {"size": [each["number"] for each in configurations]}
    return {"configurations": configurations, "failures": [failure], "depth": 5, "sweep": sweep}


@pytest.mark.parametrize(("number", "left_out"), [(8, 0), (9, 1), (10, 2)])
def test_the_eight_configurations_with_the_most_violations_have_lines(number, left_out):
    ((name, chart, omitted),) = time_charts(data([configuration(each, each / 20) for each in range(1, number + 1)]))
    assert (name, omitted) == ("safe", left_out)
    names = {line.name for line in chart.lines}
    assert names == {f"size={each}" for each in range(number - 7, number + 1)}


def test_equal_curves_are_one_line_and_a_configuration_without_violations_has_none():
    ((_, chart, omitted),) = time_charts(data([configuration(1), configuration(2), configuration(3, 0.0)]))
    assert ([line.name for line in chart.lines], omitted) == (["size=1 and size=2"], 0)


def test_a_failure_of_walks_has_a_map_with_a_cell_for_each_configuration():
    made = data([configuration(1), configuration(2, 0.25)])
    ((name, (grid,)),) = heat_maps(made)
    assert (name, grid.columns) == ("safe", ("1", "2"))
    ((_, cells),) = grid.rows
    assert [(cell.text, cell.configuration) for cell in cells] == [("50%", 1), ("25%", 2)]
    assert cells[1].title == "25 of 100 walks; 95% interval 0 to 100%"
    made["failures"][0]["walks"] = 0
    assert heat_maps(made) == []


@pytest.mark.parametrize(
    ("number", "states", "has_chart"),
    [(5, {}, True), (6, {}, False), (0, {"sampled": 29}, False), (0, {"sampled": 29, "scale": 1}, True)],
)
def test_a_chart_of_states_needs_enough_sampled_ones(number, states, has_chart):
    found = saturation(data([*(configuration(each) for each in range(number)), configuration(number, **states)]))
    assert (found[number]["chart"] is not None) == has_chart
    assert found[number]["known"] == 50
    assert saturation(data([configuration(0, sampled=0)])) == []
