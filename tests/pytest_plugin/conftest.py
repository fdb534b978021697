"""Runs of pytest inside tests; the plugin is loaded explicitly, so the distribution need not be installed."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TOY_TEXT = (ROOT / "tests" / "toy.py").read_text()


@pytest.fixture
def project(pytester, monkeypatch):
    """Return a function that runs pytest in a project with the toy specs in `specs/toy.py`."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (pytester.path / "specs").mkdir()
    (pytester.path / "specs" / "toy.py").write_text(TOY_TEXT)
    return lambda *arguments: pytester.runpytest_subprocess("-p", "checker.pytest_plugin", *arguments)
