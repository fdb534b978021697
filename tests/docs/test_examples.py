"""The examples of docs/language.md, docs/python.md and examples/notebook.ipynb run as they stand."""

import doctest
import importlib
import re
import sys
from pathlib import Path

import pytest

from checker.language import Bug
from checker.testing import CheckFailed, SpecChecks, check

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "language.md"


def block_with(text: str) -> str:
    """Return the only Python block of the page that contains a text."""
    blocks = re.findall(r"```python[^\n]*\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [block for block in blocks if text in block]
    return found


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "replicated_log.py").write_text(block_with("class ReplicatedLog(Spec)"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "replicated_log", raising=False)
    yield importlib.import_module("replicated_log")
    del sys.modules["replicated_log"]


def test_every_scenario_has_its_verdict(module):
    declared = [item.scenarios() if isinstance(item, Bug) else [item] for item in module.scenarios]
    found = [scenario for scenarios in declared for scenario in scenarios]
    for scenario in found:
        SpecChecks().check_scenario(scenario)
    assert [scenario.name for scenario in found] == [
        "three_replicas",
        "unclean_election",
        "unclean_election_fixed",
        "unclean_election_fixed_larger",
    ]


def test_the_drawing_can_be_drawn(module, tmp_path, monkeypatch):
    drawn = tmp_path / "drawn_log.py"
    drawn.write_text("from replicated_log import *\n" + block_with("class DrawnLog"), encoding="utf-8")
    monkeypatch.delitem(sys.modules, "drawn_log", raising=False)
    spec = importlib.import_module("drawn_log").DrawnLog
    assert [lane.title for lane in spec.draws.lanes] == ["controller", "replica", "clients"]
    with pytest.raises(CheckFailed, match="leads without the committed record at offset 0"):
        check(spec, unclean_elections=True)


def test_every_example_of_python_prints_what_the_page_shows():
    failed, tried = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False, encoding="utf-8")
    assert tried > 20
    assert failed == 0


@pytest.mark.slow
def test_the_notebook_runs(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    # A kernel of this interpreter: an installed kernel may belong to another environment.
    kernel = tmp_path / "kernels" / "tidemark"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(
        f'{{"argv": {command!r}, "display_name": "Tidemark", "language": "python"}}'.replace("'", '"')
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="tidemark").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    drawn = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    # The trace is its page in a frame, the state has lanes, and the result has the verdict of each property.
    assert drawn[0].startswith("<iframe srcdoc=")
    assert '<table class="lanes' in drawn[1]
    assert "<code>strong_isr</code>" in drawn[2] and "✓ holds" in drawn[2]
