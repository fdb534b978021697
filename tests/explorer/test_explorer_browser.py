"""The explorer in a browser: steps by clicks and keys, branches, reload, searches, many steps, two panes, sizes."""

import contextlib
import json
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from checker.explorer.violation_search import search_violation
from tests.explorer.conftest import session_of
from tests.explorer.explorer_specs import Grid, Nasty, Vast
from tests.explorer.test_explorer_http import LOSS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
]


HOLD_THE_NEXT_STEP = """() => {
  const fetch = window.fetch;
  window.fetch = (address, options) => !address.startsWith("?s=") ? fetch(address, options) : new Promise((resolve) => {
    window.requestStep = () => resolve(fetch(address, options));
  });
}"""


@contextlib.contextmanager
def served(session):
    """Serve a session in a thread while this holds, and yield the address of its page."""
    uvicorn = pytest.importorskip("uvicorn")
    from checker.explorer.app import explorer_app
    from checker.explorer.serving import listening

    with listening(0) as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        application = explorer_app(session, "token", frozenset({host}))
        server = uvicorn.Server(uvicorn.Config(application, log_config=None, access_log=False, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://{host}/token/"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def kip101():
    with served(session_of("replication/kip101/fast_elections")) as address:
        yield address


@pytest.fixture
def open_page(new_page):
    """Return a function that opens a page and waits for its keys."""

    def open_(address, scheme="light", expects_refusal=False):
        within = (address.split("?")[0], "data:")
        page = new_page(within=within, reads_console=not expects_refusal, color_scheme=scheme)
        page.goto(address)
        wait_for_keys(page)
        return page

    return open_


def wait_for_keys(page):
    """Press Shift until the page receives it: Chromium drops keys before it has drawn the first frame of a page."""
    page.evaluate("() => document.addEventListener('keydown', () => { window.receivesKeys = true; }, {once: true})")
    deadline = time.monotonic() + 30
    while not page.evaluate("() => window.receivesKeys === true"):
        assert time.monotonic() < deadline, "the page receives no key"
        page.keyboard.press("Shift")
        page.wait_for_timeout(50)


def expect(page, selector):
    expect_ = pytest.importorskip("playwright.sync_api").expect
    # A search compiles its spec first, which takes seconds on a busy machine.
    expect_.set_options(timeout=30_000)
    return expect_(page.locator(selector))


def wait_for_step(page, number):
    expect(page, ".path li.now .count").to_have_text(str(number))


def take(page, code):
    """Click the step of a code in the list of enabled steps."""
    before = int(page.locator(".path li.now .count").text_content())
    page.locator(f'a.offer[href$="s={code}"]').click()
    wait_for_step(page, before + 1)


def lanes(page):
    return page.locator("main").inner_html()


def test_from_the_initial_state_to_the_violation_by_clicks(open_page, kip101):
    page = open_page(kip101)
    for code in LOSS:
        assert page.locator("main p.failure").count() == 0
        take(page, code)
    expect(page, "main p.failure").to_have_count(2)
    expect(page, "main p.failure >> nth=0").to_contain_text("weak_isr is false: replica b2, offset 0: record r0@0")
    expect(page, "#announcement").to_contain_text("Step 12, leader_increment_high_watermark(b1). weak_isr is false.")
    assert page.url.endswith("&".join(f"s={code}" for code in LOSS))
    # Reload: the same state, from the address alone.
    shown = lanes(page)
    page.reload()
    wait_for_step(page, 12)
    assert lanes(page) == shown
    # A step back, and another branch; the violation stays one.
    page.get_by_text("◀ undo").click()
    wait_for_step(page, 11)
    expect(page, "main p.failure").to_have_count(0)
    page.locator(f'a.offer:not([href$="{LOSS[-1]}"])').first.click()
    wait_for_step(page, 12)
    other = lanes(page)
    assert other != shown
    page.locator(".branches summary").click()
    page.locator(".branches a", has_text="leader_increment_high_watermark").click()
    expect(page, "main p.failure").to_have_count(2)
    assert lanes(page) == shown
    # A row of the chart leads to its state; the steps after it are undone.
    page.locator(".chart-steps a").nth(4).click()
    wait_for_step(page, 5)
    expect(page, ".path li.undone").to_have_count(7)
    page.locator(".path > li > a").nth(11).click()
    wait_for_step(page, 12)
    # The browser's own history.
    page.go_back()
    wait_for_step(page, 5)
    page.go_back()
    expect(page, "main p.failure").to_have_count(2)
    page.go_back()
    expect(page, "main p.failure").to_have_count(0)
    assert lanes(page) == other


def test_a_step_on_a_lane_and_an_export(open_page, kip101, tmp_path):
    page = open_page(kip101)
    page.locator(".lane-step", has_text="controller_elect_leader(replica=b1)").click()
    wait_for_step(page, 2)
    page.locator("summary", has_text="Export").click()
    with page.expect_download() as download:
        page.locator("a", has_text="trace file").click()
    download.value.save_as(tmp_path / "trace.json")
    steps = json.loads((tmp_path / "trace.json").read_text())["steps"]
    assert [step["action"] for step in steps] == [None, "controller_elect_leader"]


def test_keys(open_page, kip101):
    page = open_page(kip101)
    page.keyboard.press("1")
    wait_for_step(page, 2)
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator("a.offer").nth(1)
    assert second.evaluate("link => link === document.activeElement")
    address = second.get_attribute("href")
    page.keyboard.press("Enter")
    wait_for_step(page, 3)
    assert page.url.endswith(address)
    for key, number in [("u", 2), ("r", 3), ("ArrowLeft", 2), ("ArrowRight", 3), ("x", 4), ("Home", 1)]:
        page.keyboard.press(key)
        wait_for_step(page, number)
    page.keyboard.press("c")
    assert page.evaluate("document.body.classList.contains('only-changes')")
    page.keyboard.press("?")
    expect(page, "#keys dl").to_be_visible()
    page.locator("input[name=depth]").fill("")
    page.locator("input[name=depth]").press("7")
    wait_for_step(page, 1)


def test_the_search_offers_a_shortest_continuation(open_page, kip101):
    page = open_page(f"{kip101}?s={LOSS[0]}&s={LOSS[1]}")
    property_ = page.locator(".properties li", has_text="weak_isr").first
    property_.locator("button.search").click()
    expect(page, ".found .failure").to_contain_text("A shortest continuation that violates it has 9 steps:")
    page.locator("[data-end]").click()
    wait_for_step(page, 12)
    expect(page, "main p.failure >> nth=0").to_contain_text("weak_isr is false")


@pytest.fixture
def held_search(monkeypatch):
    """Hold each search until it is interrupted; the real search then reports why it ended.

    The states of a search that is not held may end at any moment, also before the page takes another step.
    """
    held = SimpleNamespace(begun=threading.Event(), ends=queue.Queue())

    def search(spec, state, name, limits, cancelled):
        held.begun.set()
        cancelled.wait(60)
        found = search_violation(spec, state, name, limits, cancelled)
        held.ends.put(found.why_cut)
        return found

    monkeypatch.setattr("checker.explorer.answers.search_violation", search)
    return held


def test_another_step_ends_a_search(open_page, held_search):
    with served(session_of(Vast)) as address:
        page = open_page(address)
        page.locator("button.search").first.click()
        expect(page, ".found >> nth=0").to_contain_text("searching")
        assert held_search.begun.wait(30)
        page.keyboard.press("1")
        wait_for_step(page, 2)
        assert held_search.ends.get(timeout=30) == "it was interrupted"


def test_a_search_ends_if_the_page_of_an_earlier_step_arrives(open_page, held_search):
    with served(session_of(Vast)) as address:
        page = open_page(address)
        # Held by the page itself: Playwright sometimes loses a request that follows its page.route.
        page.evaluate(HOLD_THE_NEXT_STEP)
        page.keyboard.press("1")
        page.wait_for_function("() => window.requestStep !== undefined")
        page.locator("button.search").first.click()
        assert held_search.begun.wait(30)
        page.evaluate("() => { window.requestStep(); }")
        wait_for_step(page, 2)
        assert held_search.ends.get(timeout=30) == "it was interrupted"


def test_disabled_steps_and_constants(open_page, kip101):
    page = open_page(kip101)
    page.locator("summary", has_text="follower_fetch").last.click()
    expect(page, ".offer.disabled >> nth=0").to_contain_text("require(leader is not None) is false (base.py:")
    page.locator("summary", has_text="Constants").click()
    page.locator("input[name='c.max_records']").fill("2")
    page.get_by_role("button", name="Apply").click()
    expect(page, "input[name='c.max_records'] + small").to_have_text("was 3")
    assert page.url.endswith("?c.max_records=2")
    page = open_page(f"{kip101}?s=no_such_step", expects_refusal=True)
    expect(page, "[role=alert] >> nth=1").to_contain_text("Step 2, no_such_step(), does not apply")


def test_ten_thousand_steps(open_page):
    with served(session_of(Grid)) as address:
        page = open_page(address)
        expect(page, "#enabled h2 >> nth=0").to_contain_text("10,000")
        page.locator("summary", has_text="move").first.click()
        expect(page, "a.offer").to_have_count(50)
        page.locator("button.more").click()
        expect(page, "a.offer").to_have_count(100)
        page.locator("input[type=search]").fill("(99, 99)")
        expect(page, "a.offer").to_have_count(1)
        expect(page, "a.offer .leads").to_contain_text("not_in_the_corner")
        page.locator("a.offer").click()
        expect(page, "main p.failure").to_contain_text("not_in_the_corner is false")


def test_names_of_a_hostile_spec_do_nothing(open_page):
    with served(session_of(Nasty)) as address:
        page = open_page(address)
        page.locator("a.offer").last.click()
        wait_for_step(page, 2)
        expect(page, ".pane").to_contain_text("<img src=x onerror=alert(2)>")
        page.locator("summary", has_text="change").last.click()
        page.locator("button.search").first.click()
        expect(page, ".found >> nth=-1").to_contain_text("change leaves the bounds of a type after these steps.")
        shown = lanes(page)
        page.get_by_text("◀ undo").click()
        wait_for_step(page, 1)
        page.locator(".path a").last.click()
        wait_for_step(page, 2)
        page.reload()
        wait_for_step(page, 2)
        assert re.sub(r'<div class="found".*?</div>', "", lanes(page), flags=re.DOTALL) == re.sub(
            r'<div class="found".*?</div>', "", shown, flags=re.DOTALL
        )
        assert page.locator("img, main script").count() == 0


def test_two_panes(open_page):
    with served(session_of("replication/kip101/fast_elections", "replication/kip279")) as address:
        page = open_page(address)
        for code in LOSS:
            take(page, code)
            parted = page.locator(".path .parting").count()
            assert parted == (1 if code in LOSS[-2:] else 0), code
        expect(page, ".pane >> nth=0").to_contain_text("weak_isr is false")
        assert page.locator(".pane").nth(1).locator("p.failure").count() == 0
        expect(page, ".path .parting").to_contain_text("become_follower(b2, 2)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width(open_page, kip101, scheme):
    query = "?" + "&".join(f"s={code}" for code in LOSS)
    page = open_page(f"{kip101}{query}", scheme=scheme)
    for width in (390, 700, 1000, 1600):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)")


def test_the_command_ends_with_status_0_at_ctrl_c(open_page):
    command = [sys.executable, "-m", "checker", "explore", "examples/peterson", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines[0] == "exploring examples/peterson\n" and lines[2] == "Ctrl-C ends the explorer\n"
        page = open_page(lines[1].strip())
        wait_for_step(page, 1)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, out, error) == (0, "", "")
