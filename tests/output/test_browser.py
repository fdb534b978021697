"""Pages in a browser: slider, keys, deep links and the compare view, without errors and without network requests."""

import pytest

from checker.engines.native.engine import explore
from checker.language import Domain, Drawing, Lane, Log, Map, Range, Seq, Spec, action, invariant
from checker.output.comparison_text import comparison_as_page
from checker.output.formats import Counterexample
from checker.output.page.chart_parts import USUAL_WIDTH
from checker.output.page.render import PageContext, counterexample_page
from checker.run.plan import Plan
from specs.replication.kip279 import Kip279
from specs.replication.kip320 import Kip320
from tests.output.test_lassos import page_of as lasso_page
from tests.output.test_page import evil_page
from tests.support.page_checks import STEP_IN_ITS_BOX
from traces.compare import replay_against
from traces.trace_file import origin_of

pytestmark = pytest.mark.browser


class Node(Domain):
    size, prefix = 2, "n"


@pytest.fixture
def open_page(new_page, tmp_path):
    """Return a function that opens a page with a content."""

    def open_(content, address="", width=1280):
        file = tmp_path / "page.html"
        file.write_text(content, encoding="utf-8")
        page = new_page(width)
        page.goto(file.as_uri() + address)
        return page

    return open_


def wait_until(page, selector, value="", text=""):
    # The policy of the page blocks Playwright's wait_for_function, because it evaluates a string.
    expect = pytest.importorskip("playwright.sync_api").expect
    if value:
        expect(page.locator(selector)).to_have_value(value)
    if text:
        expect(page.locator(selector)).to_contain_text(text)


def position(page):
    shown = page.locator(".step:visible")
    assert shown.count() == 1
    number = shown.first.get_attribute("data-step")
    assert page.locator("#position").text_content().split(" /")[0] == number
    assert page.locator("#slider").input_value() == number
    return int(number)


def test_page_opens_at_its_first_step(open_page, kip101_page):
    page = open_page(kip101_page)
    assert position(page) == 1
    assert page.locator("#back").is_disabled()
    page.keyboard.press("End")
    assert position(page) == 12
    assert page.locator("#forward").is_disabled()
    assert page.locator(".step.now .failure").is_visible()


def test_deep_link_opens_its_step(open_page, kip101_page):
    page = open_page(kip101_page, "#step=7")
    assert position(page) == 7
    page.evaluate("location.hash = '#step=3'")
    wait_until(page, "#slider", value="3")
    assert position(page) == 3
    assert position(open_page(kip101_page, "#step=99")) == 12
    assert position(open_page(kip101_page, "#step=<script>")) == 1


def test_keys_move_through_the_steps_and_change_the_address(open_page, kip101_page):
    page = open_page(kip101_page, "#step=5")
    for key, number in [
        ("ArrowRight", 6),
        ("j", 7),
        ("ArrowLeft", 6),
        ("k", 5),
        ("l", 6),
        ("h", 5),
        ("Home", 1),
        ("ArrowLeft", 1),
        ("End", 12),
    ]:
        page.keyboard.press(key)
        assert position(page) == number
        assert page.evaluate("location.hash") == f"#step={number}"
    page.keyboard.press("c")
    assert page.locator("#only-changes").is_checked()
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**#main")
    assert position(page) == 12
    # A button that has the focus takes the key of the page.
    page.locator("#back").focus()
    page.keyboard.press("Space")
    assert position(page) == 11


def test_slider_buttons_list_and_overview_move_through_the_steps(open_page, kip101_page):
    page = open_page(kip101_page, "#step=1")
    page.locator("#slider").fill("4")
    assert position(page) == 4
    page.locator("#forward").click()
    assert position(page) == 5
    page.locator("#back").click()
    assert position(page) == 4
    page.locator(".column-link").nth(8).click()
    assert position(page) == 9
    page.locator(".chart-row").nth(1).click()
    assert position(page) == 2
    assert page.locator(".chart-drawing .now").count() == 1


def test_the_chart_opens_at_its_first_step(open_page, kip101_page):
    page = open_page(kip101_page)
    assert page.locator(".chart").evaluate("box => box.scrollTop") == 0
    assert page.locator(".step-list, .short-story:visible, details[open]").count() == 0


def test_every_lane_is_inside_the_box_of_the_chart(open_page):
    class Wide(Spec):
        logs = Map(Node, Seq(Range(100_000_000, 100_000_009), 4))
        draws = Drawing(
            Lane("node", each=Node, logs=(Log("logs"),)),
            *(Lane(title, facts={"count": "count"}) for title in "abcd"),
        )
        count = Range(0, 4)

        @action
        def write(self):
            for node in Node:
                self.logs[node].append(100_000_000 + len(self.logs[node]))
            self.count = len(self.logs[Node[0]])

        @invariant
        def is_short(self):
            return len(self.logs[Node[0]]) < 4

    spec = Wide()
    (violation,) = explore(spec, Plan(("is_short",), workers=1)).violations
    page = open_page(counterexample_page(spec, violation, PageContext("wide", "")))
    assert page.locator(".chart-lanes b").count() == 6
    box = page.locator(".chart").evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert box[0] <= box[1]


def test_play_stops_at_the_last_step(open_page, kip101_page):
    page = open_page(kip101_page, "#step=11")
    page.locator("#play").click()
    wait_until(page, "#slider", value="12")
    wait_until(page, "#play", text="play")
    assert position(page) == 12
    page.keyboard.press("Space")
    assert position(page) == 1
    wait_until(page, "#play", text="stop")
    page.keyboard.press("Space")
    wait_until(page, "#play", text="play")


def test_steps_go_round_the_loop_of_a_lasso(open_page):
    page = open_page(lasso_page("is_done"), "#step=2")
    assert position(page) == 2
    assert page.locator("#position").text_content() == "2 / 4 ↻"
    for key, number in [("ArrowRight", 3), ("j", 4), ("ArrowRight", 3), ("ArrowRight", 4), ("ArrowLeft", 3)]:
        page.keyboard.press(key)
        assert position(page) == number
    page.keyboard.press("End")
    page.locator("#forward").click()
    assert position(page) == 3
    page.locator("#slider").fill("4")
    page.locator("#play").click()
    wait_until(page, "#slider", value="3")
    wait_until(page, "#play", text="stop")
    page.keyboard.press("Home")
    assert page.locator("#position").text_content() == "1 / 4"
    page.locator(".fairness a").first.click()
    assert position(page) == 3
    assert page.locator(".chart-loop").is_visible()


def test_a_system_that_stays_ends_with_its_last_step(open_page):
    page = open_page(lasso_page("is_done", stutters=True))
    page.keyboard.press("End")
    assert position(page) == 3
    assert page.locator("#forward").is_disabled()


@pytest.mark.parametrize("width", [1280, 375])
def test_a_page_without_a_drawing_has_room_for_the_sentences(open_page, width):
    class Counter(Spec):
        count = Range(0, 2)

        @action
        def add(self):
            self.count += 1

        @invariant
        def is_small(self):
            return self.count < 2

    (violation,) = explore(Counter(), Plan(("is_small",), workers=1)).violations
    page = open_page(counterexample_page(Counter(), violation, PageContext("counter", "")), "", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".chart-steps span").first.bounding_box()["width"] > 50


@pytest.mark.parametrize("width", [1280, 375])
def test_the_page_of_a_lasso_fits_its_window(open_page, width):
    page = open_page(lasso_page("is_done"), "", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_only_changes_hides_unchanged_lanes(open_page, kip101_page):
    page = open_page(kip101_page, "#step=5")
    lanes = page.locator(".step.now .lane")
    assert lanes.filter(visible=True).count() == 4
    page.locator("#only-changes").check()
    assert lanes.filter(visible=True).count() == 1
    assert "b1" in lanes.filter(visible=True).first.text_content()


def test_a_narrow_window_shows_the_lane_of_each_step_with_its_number_and_name(open_page, kip101_page):
    page = open_page(kip101_page, "", 390)
    # Labels are placed for this width: in a smaller drawing they would cover each other.
    assert page.locator(".chart-drawing").bounding_box()["width"] >= USUAL_WIDTH
    assert page.locator(".chart-hint").is_visible()
    assert page.locator(".chart").evaluate("box => box.scrollLeft") == 0
    for _ in range(11):
        page.keyboard.press("ArrowRight")
        assert page.evaluate(STEP_IN_ITS_BOX) == {"sign": True, "number": True, "name": True}
    wide = open_page(kip101_page)
    assert wide.locator(".chart-hint").is_hidden()


@pytest.mark.parametrize("width", [1280, 375])
def test_page_fits_its_window(open_page, kip101_page, width):
    page = open_page(kip101_page, "#step=8", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_step_is_printed(open_page, kip101_page):
    page = open_page(kip101_page)
    page.emulate_media(media="print")
    assert page.locator(".step:visible").count() == 12


def test_the_compare_view(open_page, kip101):
    spec, violation = kip101
    sides = [
        replay_against(spec, violation, name, sibling)
        for name, sibling in (("replication/kip279", Kip279), ("replication/kip320", Kip320))
    ]
    origin = origin_of(spec, "replication/kip101", None, "replication/kip101", "python -m checker run")
    page = open_page(comparison_as_page(Counterexample(spec, violation, origin), sides))
    # The page opens where the first of the two parts from the original.
    assert position(page) == 3
    # A chart for each spec, with rows of the same height: KIP-320 does not take steps 3 and 12.
    charts = page.locator(".chart-drawing")
    assert charts.count() == 3
    page.set_viewport_size({"width": 1600, "height": 900})
    boxes = [charts.nth(number).bounding_box() for number in range(3)]
    assert len({(box["y"], box["height"]) for box in boxes}) == 1
    assert [charts.nth(number).locator(".not-taken").count() for number in range(3)] == [0, 0, 2]
    assert charts.nth(0).locator(".violated").count() > 0
    assert page.locator(".chart-steps .diverges").count() == 2
    columns = page.locator(".step.now .side")
    assert columns.count() == 3
    page.keyboard.press("End")
    assert position(page) == 12
    assert "diverges here" not in columns.nth(1).text_content()
    assert "diverges here" in columns.nth(2).text_content()
    assert "require(self.may_join_isr(leader, follower)) is false" in columns.nth(2).text_content()
    # The parts that differ are marked on both sides: b3 joins two in-sync replica sets on one side only.
    assert columns.nth(0).locator(".member.unlike").count() == columns.nth(2).locator(".member.unlike").count() == 2
    page.locator(".conclusions a").first.click()
    assert position(page) == 3
    page.keyboard.press("ArrowLeft")
    assert position(page) == 2
    assert columns.locator(".unlike").count() == 0


def test_markup_in_names_is_not_executed(open_page):
    page = open_page(evil_page())
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert "<script>window.hacked = 1</script>" in page.locator("h1 ~ .failure").first.text_content()
