"""A pytest plugin for `code_mutants`: it records which test executes which line, or runs only the tests of a list.

The environment names the files: `MUTANT_MAP` for the first (with `MUTANT_SOURCES`, the folders whose lines count),
`MUTANT_TESTS` for the second.
"""

import json
import os
from multiprocessing.util import Finalize, register_after_fork
from pathlib import Path

import pytest


class LineRecorder:
    """Names the test that runs to `coverage`, and keeps the outcome and the processor seconds of each test."""

    def __init__(self, coverage, folder):
        self.coverage, self.folder, self.tests, self.before = coverage, folder, {}, 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid):
        """What runs now belongs to the fixtures of this test."""
        self.before = sum(os.times()[:4])
        self.coverage.switch_context(f"{nodeid} (setup)")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item):
        """What runs now belongs to the test itself."""
        self.coverage.switch_context(f"{item.nodeid} (call)")

    def pytest_runtest_logreport(self, report):
        """Keep an outcome."""
        test = self.tests.setdefault(report.nodeid, {"seconds": 0.0, "passed": True})
        test["seconds"] = sum(os.times()[:4]) - self.before
        test["passed"] = test["passed"] and report.passed

    def pytest_sessionfinish(self):
        """Write the outcomes."""
        self.coverage.switch_context("")
        (self.folder / "tests.json").write_text(json.dumps(self.tests))


class ListedTests:
    """Keeps the listed tests, in the order of the list as far as a file's tests stay together."""

    def __init__(self, names):
        self.rank = {name: rank for rank, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Leave the listed tests."""
        # A parameter may have another name in another process, such as an address: no test may be lost by that alone.
        known = [item for item in items if item.nodeid in self.rank]
        items[:] = sorted(known or items, key=lambda item: self.rank.get(item.nodeid, 0))


def recording():
    """Return a started recording of the lines in the folders that the environment names, for this process."""
    import coverage

    folder, sources = Path(os.environ["MUTANT_MAP"]), os.environ["MUTANT_SOURCES"].split(os.pathsep)
    context = os.environ.get("PYTEST_CURRENT_TEST", "").replace("\x00", "")
    recorded = coverage.Coverage(
        data_file=str(folder / "lines"),
        data_suffix=True,
        config_file=False,
        source=sources,
        context=context or None,
        auto_data=True,
        messages=False,
    )
    recorded.start()
    # A forked process ends without `atexit`.
    register_after_fork(recorded, lambda own: Finalize(None, own.save, exitpriority=0))
    return recorded


def pytest_configure(config):
    """Register the part that the environment asks for."""
    if names := os.environ.get("MUTANT_TESTS"):
        config.pluginmanager.register(ListedTests(json.loads(Path(names).read_text())))
    elif "MUTANT_MAP" in os.environ:
        config.pluginmanager.register(LineRecorder(RECORDED, Path(os.environ["MUTANT_MAP"])))


# In the process of the tests, and in each Python process that they start (`sitecustomize` imports this module).
RECORDED = recording() if "MUTANT_MAP" in os.environ else None
