"""The notebook in examples/ runs from top to bottom."""

import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "notebook.ipynb"


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
    monkeypatch.setenv("PYTHONPATH", str(NOTEBOOK.parent.parent))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="tidemark").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    drawn = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    # The trace is its page in a frame, the state has lanes, and the result has the verdict of each property.
    assert drawn[0].startswith("<iframe srcdoc=")
    assert '<table class="lanes' in drawn[1]
    assert "<code>strong_isr</code>" in drawn[2] and "✓ holds" in drawn[2]
