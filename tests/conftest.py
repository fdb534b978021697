"""The distribution of tests over processes (`pytest -n auto --dist loadgroup`), and their garbage collections."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

# pytest-xdist sets the width of its workers to 80 columns. Output that is no terminal must not break its lines.
os.environ.pop("COLUMNS", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts a command in the background in this way. The commands under test would ignore Ctrl-C too, and the
    # tests would wait for them.
    signal.signal(signal.SIGINT, signal.default_int_handler)

if sys.dont_write_bytecode:
    # Tests start hundreds of interpreters. Without byte code each would compile the checker again, and each process of
    # pytest-xdist would rewrite the assertions of all tests again. Byte code of temporary files is that of other runs.
    BYTE_CODE = Path(__file__).parents[1] / "build" / "byte-code"
    shutil.rmtree(BYTE_CODE / tempfile.gettempdir().lstrip(os.sep), ignore_errors=True)
    os.environ["PYTHONPYCACHEPREFIX"] = str(BYTE_CODE)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

SPREAD = (
    "tests/agreement/test_real_specs.py",
    "tests/golden/",
    "tests/specs/test_specs_with_symmetry.py",
    "tests/frontend/test_odd_sources.py",
    "tests/frontend/test_wrong_specs.py",
    "tests/kafka_tools/advise/test_fixture_answers.py",
    "tests/cli/test_witnesses_of_scenarios.py",
)
"""Files with many slow tests that share little: each test may run in any process."""


def scope_of(nodeid):
    """Return the group of a test: its file, because tests share fixtures.

    All tests of Spark share one Java machine, those of the architecture the parsed modules.
    """
    if nodeid.startswith(SPREAD):
        return nodeid
    if nodeid.startswith("tests/architecture/"):
        return "architecture"
    return "spark" if nodeid.startswith("tests/spark_analysis/test_") else nodeid.split("::")[0]


def mark_samples(items):
    """Mark each n-th input of a test with the mark `sampled(n)` as slow, and the others as exhaustive."""
    counts = Counter()
    for item in items:
        if (sampled := item.get_closest_marker("sampled")) is not None:
            test = item.nodeid.partition("[")[0]
            item.add_marker("exhaustive" if counts[test] % sampled.args[0] else "slow")
            counts[test] += 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Let Hypothesis draw no constants of the sources: it would parse every module of the project, in each process.

    The tests draw seeds and choices among items.
    """
    mark_samples(items)
    if providers := sys.modules.get("hypothesis.internal.conjecture.providers"):
        providers._get_local_constants = lambda: providers._local_constants


def pytest_collection_finish(session):
    """Let garbage collections leave out the collected tests and modules: visiting them took a tenth of the suite."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_terminal_summary(terminalreporter):
    """Show how many witnesses of scenarios were verified: the tests may have run in several processes."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports if hasattr(report, "when")]
    named = [pair for report in reports if report.when == "call" for pair in report.user_properties]
    counts = Counter(text for name, text in named if name == "witnesses")
    for text, count in sorted(counts.items()):
        terminalreporter.write_line(f"witnesses: {text}" if count == 1 else f"witnesses: {count} x {text}")


# Marks of the kind `xdist_group` do not reach the scheduler: pytest 9 ignores the names that pytest-xdist 3.8 gives.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Return a scheduler that keeps the tests of a group in one process."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        """Schedules by `scope_of`."""

        def _split_scope(self, nodeid):
            return scope_of(nodeid)

    return GroupScheduling(config, log)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder for the files of a test module."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def one_process():
    """Make reports on walks in this process: forks of a process with thousands of tests take a quarter of their time.

    tests/spark_analysis/test_shrunk_walks.py has the test that reports by one process and by two are the same.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spark_analysis.report.local_source.default_workers", lambda: 1)
        yield


@pytest.fixture(scope="module")
def browser():
    """Return Chromium, driven by Playwright; skip the test if one of them is missing."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    # Not for the session: a running Playwright excludes asyncio.run from the tests of other modules.
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser):
    """Return a function that makes a page; at the end, fail on its messages and on requests beyond `within`."""
    problems, contexts = [], []

    def make(width=1280, *, within=("file:", "data:"), reads_console=True, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        if reads_console:
            page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.on("request", lambda request: request.url.startswith(within) or problems.append(request.url))
        return page

    yield make
    for context in contexts:
        context.close()
    assert problems == []
