"""The files of the playground in a site: `playground.html`, and in the folder `playground` all that it loads.

The folder has Pyodide, an archive of the checker and the specs, the worker that runs them, and the page of the explorer
(`index.html`), of which the requests go to the worker instead of a server.
"""

from __future__ import annotations

import importlib.metadata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

from checker.explorer import page
from checker.output.page.render import STEPS_SCRIPT, render, script_hash
from checker.playground.pyodide_package import VERSION

PAGE, FOLDER = "playground.html", "playground"

_LEFT_OUT = ("cli", "engines/gpu", "engines/native", "engines/smt", "execution", "pytest_plugin")
"""The folders of the checker that the Python engine does not need."""

_LIBRARIES = ("jinja2", "markupsafe")


def write_playground(folder: Path, pyodide: Mapping[str, bytes], examples: Sequence[Path]) -> None:
    """Write the page and its files into a folder. `pyodide` are Pyodide's files, `examples` the specs to choose from.

    Raises OSError if a file cannot be written.
    """
    own = folder / FOLDER
    own.mkdir(parents=True, exist_ok=True)
    for name, data in pyodide.items():
        (own / name).write_bytes(data)
    for name in ("index.html", "frame.js", "worker.js", "playground.js"):
        (own / name).write_text(_text(name), encoding="utf-8")
    for name in ("page.css", "explorer.css", "explorer.js"):
        (own / name).write_text(page.asset(name), encoding="utf-8")
    with zipfile.ZipFile(own / "checker.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(_archived()):
            # Without its time, so that two builds are equal.
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    content = render(
        "playground.html.j2",
        package="checker.playground",
        own_style=_text("playground.css"),
        steps_hash=script_hash(page.asset(STEPS_SCRIPT).strip()),
        examples=[{"name": path.stem, "text": path.read_text(encoding="utf-8")} for path in examples],
        pyodide=VERSION,
    )
    (folder / PAGE).write_text(content, encoding="utf-8")


def _archived() -> Iterator[tuple[str, Path]]:
    """Yield the files of the archive with their names in it."""
    for package in ("checker", "specs", "traces"):
        root = Path(str(resources.files(package)))
        for path in root.rglob("*.*"):
            name = path.relative_to(root)
            is_code = path.suffix in (".py", ".j2", ".css", ".js") and "proofs" not in name.parts
            if is_code and not (package == "checker" and name.as_posix().startswith(_LEFT_OUT)):
                yield f"{package}/{name.as_posix()}", path
    for library in _LIBRARIES:
        for file in importlib.metadata.files(library) or ():
            if file.suffix == ".py" or "licenses" in file.parts:
                yield file.as_posix(), Path(str(file.locate()))


def _text(name: str) -> str:
    return resources.files("checker.playground").joinpath("templates", name).read_text(encoding="utf-8")
