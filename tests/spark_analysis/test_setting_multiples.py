"""Small charts of a sweep: their figures are those of the report, and a click leads to the causes of a setting."""

import re

import pytest

from spark_analysis.report.chart_geometry import SMALL_HEIGHT, SMALL_WIDTH, small_chart, walks_text
from spark_analysis.report.make_report import report_on
from spark_analysis.report.report_page import walk_report_page
from spark_analysis.report.setting_multiples import setting_multiples
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.test_report import TWO_CAUSES
from tests.spark_analysis.walks.walked import request, simulated, spec_file
from tests.support.page_checks import problems_of

pytestmark = pytest.mark.usefixtures("one_process")


def data_of(folder, **options):
    file = spec_file(folder, TWO_CAUSES)
    run = run_of_request(request(file, scenario=None, walks=400, **options))
    return report_on(simulated(folder / "walks", run), spec=file).data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return data_of(tmp_path_factory.mktemp("multiples"), sweep=("size=1,2,3", "careful=true,false"))


@pytest.fixture(scope="module")
def page(data, tmp_path_factory):
    """The file of the page of the report."""
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(walk_report_page(data, [None] * len(data["clusters"]), {}, "report"), encoding="utf-8")
    return file


def test_each_setting_has_the_figures_of_the_report(data):
    charts = setting_multiples(data)
    failures = [number for number, found in enumerate(data["failures"]) if found["walks"]]
    assert [group.name for group in charts] == [data["failures"][number]["property"] for number in failures]
    for group, number in zip(charts, failures, strict=True):
        assert len(group.settings) == len(data["configurations"]) == 6 and group.left_out == 0
        for cell, configuration in zip(group.settings, data["configurations"], strict=True):
            failure = configuration["failures"][number]
            assert cell.share == failure and cell.walks == configuration["walks"]
            # The line ends at the share, at the scale of the group.
            end = float(cell.chart.points.split(",")[-1])
            assert end == pytest.approx(SMALL_HEIGHT * (1 - failure["rate"] / group.top), abs=0.1)
            assert cell.chart.high <= end <= cell.chart.low
            expected = [
                (at, cluster["sentence"], walks_text(cluster["by_configuration"][str(configuration["number"])]))
                for at, cluster in enumerate(data["clusters"], 1)
                if cluster["property"] == failure["property"]
                and str(configuration["number"]) in cluster["by_configuration"]
            ]
            assert list(cell.causes) == expected and bool(expected) == bool(failure["walks"])
            assert ("violated" in cell.explored) == (failure["property"] in configuration["known"]["violations"])


def test_a_line_has_the_shape_of_the_curve():
    chart = small_chart([(3.0, 0.25), (5.0, 0.5)], 9.0, (0.4, 0.6), 1.0)
    corners = [tuple(map(float, point.split(","))) for point in chart.points.split()]
    assert corners[0] == (0, SMALL_HEIGHT) and corners[-1] == (SMALL_WIDTH, SMALL_HEIGHT / 2)
    assert (SMALL_WIDTH / 4, SMALL_HEIGHT * 0.75) in corners and (SMALL_WIDTH / 2, SMALL_HEIGHT / 2) in corners
    assert chart.low == pytest.approx(SMALL_HEIGHT * 0.6) and chart.high == pytest.approx(SMALL_HEIGHT * 0.4)


def test_rare_settings_are_left_out_and_counted(data, monkeypatch):
    monkeypatch.setattr("spark_analysis.report.setting_multiples.MOST_SETTINGS", 2)
    (first, *_) = setting_multiples(data)
    rates = sorted((found["failures"][0]["rate"] for found in data["configurations"]), reverse=True)
    assert first.left_out == 4 and sorted((cell.share["rate"] for cell in first.settings), reverse=True) == rates[:2]


def test_exploration_of_a_value_that_leaves_its_bounds_is_shown(data):
    """Such a violation has the name of the action."""
    most = max((found["failures"][0] for found in data["configurations"]), key=lambda found: found["walks"])
    failure = {**most, "property": "send", "is_error": True}
    for states, violations, text in (
        (None, {"send": 4}, "exploration: violated, shortest trace 4 states"),
        (70, {"in_order": 4}, "exploration: holds in all 70 states"),
        (None, {"in_order": 4}, "exploration: not decided"),
    ):
        known = {"states": states, "violations": violations}
        own = [{**found, "failures": [failure], "known": known} for found in data["configurations"]]
        (group,) = setting_multiples({**data, "failures": [failure], "configurations": own})
        assert group.name == "send (bounds)" and {cell.explored for cell in group.settings} == {text}


def test_a_single_setting_has_no_small_charts(tmp_path):
    data = data_of(tmp_path)
    assert setting_multiples(data) == []
    text = walk_report_page(data, [None] * len(data["clusters"]), {}, "report")
    assert '<details class="multiples"' not in text


def test_links_lead_to_settings_and_causes_without_a_script(page):
    text = page.read_text()
    anchors, ids = set(re.findall(r'href="#([^"]+)"', text)), re.findall(r'id="([^"]+)"', text)
    assert anchors <= set(ids) and len(ids) == len(set(ids)) and "<script" not in text
    assert len([name for name in anchors if name.startswith("setting-")]) >= 6


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_shows_its_numbers_and_leads_to_its_causes(page, data, browser, scheme):
    shown = browser.new_page(color_scheme=scheme)
    shown.goto(page.as_uri())
    group = setting_multiples(data)[0]
    at = next(number for number, cell in enumerate(group.settings) if cell.causes)
    link = shown.locator(".multiples[open] .cells a").nth(at)
    tip = link.locator(".tip")
    assert not tip.is_visible()
    link.hover()
    assert tip.is_visible() and f"{group.settings[at].share['walks']:,} of 400 walks; 95% interval" in tip.inner_text()
    causes = shown.locator(f"#{group.settings[at].anchor}")
    assert not causes.is_visible()
    # By the keyboard.
    link.focus()
    shown.keyboard.press("Enter")
    causes.wait_for(state="visible")
    assert causes.locator("li").count() == len(group.settings[at].causes)
    shown.locator(".multiples").nth(1).locator("summary").focus()
    shown.keyboard.press("Enter")
    assert shown.locator(".multiples").nth(1).locator(".cells").is_visible()
    assert problems_of(shown) == []
    shown.close()
