"""The playground in Chromium, served as `python -m http.server` does: runs, errors, stop, steps and addresses."""

import functools
import http.server
import re
import threading
from pathlib import Path

import pytest

from checker.errors import MissingExtraError
from checker.playground.pyodide_package import pyodide_files
from checker.playground.site_files import PAGE, write_playground
from kafka_tools.advise.answer_cache import default_folder
from tests.support.page_checks import problems_of

pytestmark = [pytest.mark.slow, pytest.mark.browser]

ROOT = Path(__file__).parents[2]
EXAMPLES = [ROOT / "examples" / "retry.py", *(ROOT / "specs" / name for name in ("examples/peterson.py",))]

ENDLESS = """
from checker.language import Range, Spec, action, invariant


class Counters(Spec):
    one = Range(0, 9_999)
    other = Range(0, 9_999)

    @action
    def count(self):
        self.one = (self.one + 1) % 10_000

    @action
    def carry(self):
        self.other = (self.other + 1) % 10_000

    @invariant
    def is_small(self):
        return self.one + self.other < 19_998
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    requests = []

    def log_message(self, *arguments):
        self.requests.append(self.path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the playground."""
    try:
        pyodide = pyodide_files(default_folder().with_name("pyodide"))
    except MissingExtraError as error:
        pytest.skip(error.message)
    folder = tmp_path_factory.mktemp("site")
    write_playground(folder, pyodide, EXAMPLES)
    return folder


@pytest.fixture(scope="module")
def address(folder):
    """Serve the folder, and return the address of the page."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{PAGE}"
        server.shutdown()


@pytest.fixture(scope="module")
def open_page(browser):
    """Return a function that opens an address; at the end, fail on messages of the pages."""
    problems = []

    def open_(address, **options):
        page = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options}).new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(address)
        return page

    yield open_
    assert problems == []


@pytest.fixture(scope="module")
def page(open_page, address):
    """Return the page, in which Python has started."""
    page = open_page(address)
    page.wait_for_selector("#start:not([disabled])")
    return page


def verdict_of(page):
    page.click("#start")
    page.wait_for_selector("#start:not([disabled])")
    return page.inner_text(".verdict")


def test_the_example_of_the_readme_shows_its_counterexample_and_its_steps(page):
    page.select_option("#example", "retry")
    assert verdict_of(page) == "retry/retry: no_duplicate is violated"
    assert "distinct states" in page.inner_text("#result") and "It started in" in page.inner_text("#started")
    explored = re.search(r"([\d,]+) distinct states", page.inner_text("#result"))[1]
    rate = re.fullmatch(r"The last run explored ([\d,]+) states, ([\d,]+) states a second\.", page.inner_text("#rate"))
    assert rate[1] == explored and int(rate[2].replace(",", "")) > 0
    counterexample = page.frame_locator("#page")
    assert "The initial state." in counterexample.locator(".chart").inner_text()
    counterexample.locator("#forward").click()
    assert counterexample.locator("#position").inner_text() == "2 / 3"
    page.wait_for_url(lambda url: url.endswith("view=no_duplicate&step=2"))
    page.click("text=Steps by hand")
    steps = page.frame_locator("#steps")
    steps.locator("a.offer", has_text="acknowledge").click()
    page.wait_for_url(lambda url: url.endswith("acknowledge"))
    with page.expect_download() as download:
        steps.locator("summary", has_text="Export").click()
        steps.get_by_role("link", name="test in Python").click()
    assert download.value.suggested_filename == "test_retry_retry.py"
    steps.locator("button.search").first.click()
    steps.get_by_text("A shortest continuation").wait_for()


def test_peterson_excludes_and_its_hasty_variant_does_not(page):
    page.select_option("#example", "peterson")
    assert verdict_of(page) == "peterson/peterson/exclusive: every property holds, as expected"
    page.select_option("#run", "peterson/peterson_hasty/swapped_steps")
    assert "mutual_exclusion is violated" in verdict_of(page)


def test_a_wrong_spec_marks_its_line_and_loses_the_verdict(page):
    page.select_option("#example", "retry")
    verdict_of(page)
    page.fill("#text", page.input_value("#text").replace("self.acknowledged += 1", "self.acknowleged += 1"))
    assert page.locator(".verdict").count() == 0 and page.locator("#page").is_hidden()
    page.click("#start")
    page.wait_for_selector("#errors li")
    assert page.inner_text("#errors").startswith("line 20: acknowleged is neither")
    assert page.inner_text("#numbers .bad").strip() == "20"


def test_stop_ends_a_run_and_the_next_one_works(page):
    page.select_option("#example", "retry")
    page.fill("#most", "200000")
    page.fill("#text", ENDLESS)
    page.click("#start")
    page.locator("#status", has_text="states a second").wait_for()
    page.click("#stop")
    page.wait_for_selector(".verdict.incomplete")
    assert page.inner_text(".verdict").endswith("states: nothing is decided.")
    page.frame_locator("#steps").locator("a.offer", has_text="carry").click()
    page.wait_for_url(lambda url: url.endswith("carry"))
    page.fill("#most", "100")
    assert "stopped before the answer" in verdict_of(page)
    page.fill("#text", "while True:\n    pass\n")
    page.click("#start")
    page.click("#stop")
    page.wait_for_selector("#start:not([disabled])")
    assert "nothing is decided" in page.inner_text(".verdict") and page.locator("#steps").is_hidden()
    page.fill("#most", "20000")


def test_an_address_restores_an_edited_spec_its_run_and_its_path(page, open_page, address):
    page.select_option("#example", "peterson")
    page.fill("#text", page.input_value("#text") + "# ψ\n")
    assert "every property holds" in verdict_of(page)
    page.frame_locator("#steps").locator("a.offer", has_text="p2").click()
    page.wait_for_url(lambda url: "p2" in url)
    other = open_page(page.url)
    other.frame_locator("#steps").get_by_text("raise_flag(p2)", exact=True).wait_for()
    assert other.input_value("#text").endswith("# ψ\n")
    assert "every property holds" in other.inner_text(".verdict")
    other.context.close()
    cut = open_page(f"{address}#example=retry&spec=AAAA")
    cut.wait_for_selector("#errors li")
    assert "its spec cannot be read" in cut.inner_text("#errors")
    cut.context.close()


def test_a_file_says_how_to_serve_the_page(open_page, folder):
    page = open_page((folder / PAGE).as_uri())
    page.locator("#status", has_text="python -m http.server").wait_for()
    assert page.locator("#start").is_disabled()


def test_a_spec_reaches_no_other_server(page, address):
    asked = (
        "from js import XMLHttpRequest\nasked = XMLHttpRequest.new()\nasked.open('GET', '{}', False)\nasked.send()\n"
    )
    page.select_option("#example", "retry")
    own = page.input_value("#text")
    page.fill("#text", asked.format(address) + own)
    assert "no_duplicate is violated" in verdict_of(page)
    page.fill("#text", asked.format(address.replace("127.0.0.1", "localhost").replace(PAGE, "secret")) + own)
    page.click("#start")
    page.wait_for_selector("#errors li")
    assert "NetworkError" in page.inner_text("#errors")
    assert not any("secret" in path for path in Handler.requests)


def test_the_page_fits_every_width_and_is_read_in_every_scheme(page):
    page.select_option("#example", "retry")
    verdict_of(page)
    assert problems_of(page) == []
