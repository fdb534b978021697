"""Runs of pytest inside tests; the plugin is loaded explicitly, so the distribution need not be installed."""

from pathlib import Path

import pytest

# A run of pytest in this process forgets the modules that it imports: it must not import those of the checker twice.
import checker.api
import checker.engines.native.engine
import checker.engines.python.explorer
import checker.run.registry  # noqa: F401

ROOT = Path(__file__).parent.parent.parent
TOY_TEXT = (ROOT / "tests" / "toy.py").read_text()


@pytest.fixture
def project(pytester, monkeypatch):
    """Return a function that runs pytest in this process, in a project with the toy specs in `specs/toy.py`."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (pytester.path / "specs").mkdir()
    (pytester.path / "specs" / "toy.py").write_text(TOY_TEXT)

    def run_pytest(*arguments, run=pytester.runpytest_inprocess):
        return run("-p", "checker.pytest_plugin", *arguments)

    return run_pytest
