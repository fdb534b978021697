"""A stored page in Chromium, from a file: steps by clicks and keys, the address that restores them, and its look."""

import pytest

from checker.explorer.address import Address
from checker.explorer.session import ExplorerSession
from checker.explorer.steps import codes_of
from checker.explorer.stored_graph import stored_page
from checker.explorer.variant import variant_of
from checker.explorer.violation_search import SearchLimits, search_violation
from checker.language import Spec, action
from tests.explorer.conftest import session_of
from tests.support.page_checks import problems_of

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Return the file of a page that opens at the end of a counterexample of 11 steps."""
    variant = variant_of("producer/idempotent_producer/i7_restart")
    pane = ExplorerSession((variant,)).place(Address()).panes[0]
    trace = search_violation(pane.spec, pane.state, "no_duplicate", SearchLimits()).trace
    session = ExplorerSession((variant,), Address(codes=codes_of(pane.spec, trace)))
    file = tmp_path_factory.mktemp("stored") / "steps.html"
    file.write_text(stored_page(session, [("other.html", "the counterexample")]).text, encoding="utf-8")
    return file


@pytest.fixture
def open_page(new_page, file):
    """Return a function that opens the page, or another file, with a hash."""

    def open_(fragment="", scripts=True, shown=file):
        page = new_page(java_script_enabled=scripts)
        page.goto(shown.as_uri() + fragment)
        if scripts:
            page.wait_for_url(lambda url: "#" in url)
            page.wait_for_selector("#view:not([aria-busy])")
        return page

    return open_


def at(page, number):
    page.locator(".path li.now .count", has_text=f"{number}").wait_for()
    assert page.inner_text(".path li.now .count") == str(number)


def test_the_page_opens_at_the_violation_and_steps_back_and_forward(open_page):
    page = open_page()
    at(page, 12)
    assert "no_duplicate is false" in page.inner_text("main .failure")
    assert page.inner_text(".sentence .number") == "12" and page.inner_text(".visited small") == "11 steps"
    page.click("text=initial state")
    at(page, 1)
    assert page.locator("main .failure").count() == 0 and page.url.endswith("#i=1")
    assert page.locator(".path li.undone").count() == 11
    assert page.locator("[data-key=undo]").get_attribute("href") is None
    assert page.locator("[data-key=home]").get_attribute("href") == "#i=1"
    assert page.text_content("#announcement").startswith("Step 1, initial state.")
    page.keyboard.press("ArrowRight")
    at(page, 2)
    assert "drain" in page.inner_text(".path li.now")
    page.click("text=end of the trace")
    at(page, 12)
    page.keyboard.press("u")
    at(page, 11)
    page.go_back()
    at(page, 12)
    page.locator(".path a").nth(4).click()
    at(page, 5)
    assert page.locator(".path li.undone").count() == 7


def test_another_step_begins_another_path_that_its_address_restores(open_page):
    page = open_page("#i=1")
    at(page, 1)
    offers = page.locator("a.offer")
    says = offers.first.locator(".says").inner_text()
    offers.first.click()
    at(page, 2)
    assert page.inner_text(".sentence").endswith(says)
    page.keyboard.press("1")
    at(page, 3)
    shown, address = page.inner_text("main"), page.url
    assert address.endswith("#s=drain:p1&s=drain:p1")
    assert page.locator(".path li").count() == 3 and page.title().endswith("step 3")
    page.reload()
    at(page, 3)
    assert page.inner_text("main") == shown
    other = open_page(address.partition(".html")[2])
    at(other, 3)
    assert other.inner_text("main") == shown


def test_a_wrong_address_shows_the_steps_that_apply(open_page):
    page = open_page("#s=drain:p1&s=fly:p1&s=drain:p1")
    at(page, 2)
    assert page.inner_text("[role=alert].note") == "Step 3, fly:p1, does not apply."
    page = open_page("#i=7")
    at(page, 1)
    assert page.inner_text("[role=alert].note") == "This spec has 1 initial state."


def test_an_address_keeps_the_second_initial_state(open_page, tmp_path):
    class Lamp(Spec):
        is_on = bool

        def init(self, is_on: bool):
            self.is_on = is_on

        @action
        def switch(self):
            self.is_on = not self.is_on

    shown = tmp_path / "lamp.html"
    shown.write_text(stored_page(session_of(Lamp), []).text, encoding="utf-8")
    page = open_page("#i=2", shown=shown)
    before = page.inner_text("main")
    page.click("a.offer")
    at(page, 2)
    assert page.url.endswith("#i=2&s=switch") and page.inner_text("main") != before


def test_the_page_fits_every_width_and_is_read_in_every_scheme(open_page):
    assert problems_of(open_page()) == []


def test_without_scripts_the_page_shows_the_counterexample(open_page):
    assert "no_duplicate is false" in open_page(scripts=False).inner_text("main .failure")
