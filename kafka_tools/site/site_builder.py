"""Build the site: copy the pages, explore the museum's scenarios, run Sphinx, and check every link."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import specs
from checker.errors import InputError, InternalError, MissingExtraError, OutputError
from checker.playground import site_files
from checker.run import ledger
from kafka_tools.matrix import matrix_page
from kafka_tools.matrix.matrix_page import default_cache, write_matrix
from kafka_tools.pages.museum.entries import AREAS, Exhibit, exhibits
from kafka_tools.pages.write_pages import LONG_PAGES
from kafka_tools.site import exhibit_pages
from kafka_tools.site.counterexample_pages import write_counterexamples
from kafka_tools.site.links import problems_of
from kafka_tools.site.navigation import read_navigation
from kafka_tools.site.staged_docs import INDEX, StagedDocs
from kafka_tools.site.step_pages import write_step_pages

_STATIC = Path(__file__).parent / "static"

_TABLE = re.compile("<!-- python -m checker table .*?<!-- end of table -->", re.DOTALL)

_START = "Start"
"""The title of the pages that the index links before its first heading."""


def build_site(
    docs: Path,
    target: Path,
    shown: Sequence[Exhibit] | None = None,
    on_stage: Callable[[str], None] = lambda stage: None,
    on_figures: Callable[[str], None] = lambda sentence: None,
    *,
    with_matrix: bool = False,
    with_steps: bool = True,
    pyodide: Mapping[str, bytes] | None = None,
) -> int:
    """Build the site of the pages in `docs` into the folder `target` and return the number of its HTML pages.

    `shown` are the entries of the museum (None: all). `with_matrix`: with the page of settings, of which `on_figures`
    gets the figures. `with_steps`: with the pages to step through small scenarios. `pyodide` has the files of Pyodide;
    None: without the playground. A warning of Sphinx, a link that leads nowhere and a file that would be loaded from a
    network are errors. The folder `target` must be empty, new, or a site.

    Raises:
        InputError: `docs` is not a folder of pages, or a page has a wrong link.
        MissingExtraError: Sphinx is not installed.
        OutputError: the folder cannot be written.
    """
    _check_extra()
    if not docs.is_dir():
        raise InputError(f"{docs} is not a folder: name the folder of the pages, such as docs")
    _check_target(target)
    with tempfile.TemporaryDirectory() as folder:
        stage, extra, output = (Path(folder) / name for name in ("stage", "extra", "output"))
        for made in (stage, extra):
            made.mkdir()
        on_stage("copying the pages")
        staged = StagedDocs(docs, stage)
        pages = staged.copy()
        entries = exhibits() if shown is None else shown
        on_stage("exploring the scenarios of the museum")
        scenarios = [given for each in entries for given in (each.shown_by, *each.further) if given is not None]
        counterexamples = write_counterexamples(scenarios, extra / exhibit_pages.COUNTEREXAMPLES)
        on_stage("storing the steps of small scenarios")
        mains = {each.shown_by.target: counterexamples[each.shown_by.target] for each in entries if each.shown_by}
        stepped = list(mains.values()) if with_steps else []
        step_pages = write_step_pages(stepped, extra / exhibit_pages.COUNTEREXAMPLES)
        museum = exhibit_pages.MuseumPages(counterexamples, step_pages)
        paths = exhibit_pages.write_museum(entries, museum, ledger.read(ledger.default_path()), stage)
        link_entries(stage, {each.name: path.as_posix() for each, path in zip(entries, paths, strict=True)})
        shown_by = [each.shown_by.target if each.shown_by else "" for each in entries]
        pages += _write_long_pages(stage, dict(zip(shown_by, paths, strict=True)))
        _add_navigation(stage, pages, entries, paths)
        # After the navigation, which follows the links of the index.
        staged.add_examples()
        if with_matrix:
            on_figures(write_matrix(extra, default_cache(), on_stage=on_stage))
            _link(stage, matrix_page.PAGE)
        if pyodide is not None:
            site_files.write_playground(extra, pyodide, _examples())
            _link(stage, site_files.PAGE)
        on_stage("running Sphinx")
        _run_sphinx(stage, extra, output)
        on_stage("checking the links")
        if problems := problems_of(output, unread=exhibit_pages.COUNTEREXAMPLES):
            raise InputError(f"the site has wrong links: {_some(problems)}")
        _replace(output, target)
    return sum(1 for _ in target.rglob("*.html"))


def _check_extra() -> None:
    for module in ("furo", "myst_parser", "sphinx"):
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(f"--site needs {module}, which is not installed: pip install 'tidemark[site]'")


MOST_PROBLEMS = 8
"""The number of problems that an error lists."""

_MARK = ".tidemark-site"
"""A file in each site that lists the site's files: another one is never removed."""


def _check_target(target: Path) -> None:
    """Raise OutputError if the folder has files that no build of a site wrote."""
    if not target.exists():
        return
    known = {_MARK, *(target / _MARK).read_text(encoding="utf-8").split("\n")} if (target / _MARK).is_file() else set()
    if not target.is_dir() or not set(_names(target)) <= known:
        raise OutputError(f"{target} has files that are not of a site: name a new folder")


def _names(folder: Path) -> list[str]:
    """Return the paths of the files in a folder and in the folders in it, relative to it; also links."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _replace(output: Path, target: Path) -> None:
    """Copy the site beside its folder, then exchange the two by renames: a copy that fails changes nothing."""
    # A link keeps its place, and the folder that it names is replaced.
    place = target.resolve()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tidemark-site-", dir=place.parent) as beside:
            new, old = Path(beside) / "new", Path(beside) / "old"
            shutil.copytree(output, new, ignore=shutil.ignore_patterns(".buildinfo"))
            (new / _MARK).write_text("\n".join(_names(new)), encoding="utf-8")
            # Again: building took a minute.
            _check_target(target)
            if place.exists():
                place.rename(old)
            new.rename(place)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}") from None


def link_entries(stage: Path, museum: Mapping[str, str]) -> None:
    """Turn the names of entries in the computed tables into links to their pages in the museum."""
    name = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, museum))})(?![\w-])")
    for path in stage.glob("*.md") if museum else ():
        text = path.read_text(encoding="utf-8")
        linked = _TABLE.sub(lambda table: name.sub(lambda entry: f"[{entry[0]}]({museum[entry[0]]})", table[0]), text)
        path.write_text(linked, encoding="utf-8")


def _write_long_pages(stage: Path, museum: Mapping[str, Path]) -> list[Path]:
    """Compute the pages that docs/ does not have, and return their paths in the stage.

    `museum` are the pages of scenarios: their names become links.
    """

    def linked(name: re.Match[str]) -> str:
        return f"[{name[0]}]({museum[name[1]].as_posix()})" if name[1] in museum else name[0]

    paths = [Path(f"{name}.md") for name in LONG_PAGES]
    for path in paths:
        text = re.sub("`([a-z0-9_/]+)`", linked, LONG_PAGES[path.stem]())
        (stage / path).write_text(text, encoding="utf-8")
    return paths


def _add_navigation(stage: Path, pages: Sequence[Path], entries: Sequence[Exhibit], paths: Sequence[Path]) -> None:
    """Append the hidden tables of contents to the index and to the overview of the museum."""
    names = [path.with_suffix("").as_posix() for path in pages]
    index = stage / INDEX
    text = index.read_text(encoding="utf-8")
    sections = read_navigation(text, names, _START)
    trees = [_tree(section.title, section.pages) for section in sections]
    index.write_text("\n\n".join([text, *trees]), encoding="utf-8")
    overview = stage / "museum.md"
    listed = dict(zip((each.name for each in entries), paths, strict=True))
    of_museum = [
        _tree(title, [listed[each.name].with_suffix("").as_posix() for each in entries if each.story.area == area])
        for area, (title, _) in AREAS.items()
        if any(each.story.area == area for each in entries)
    ]
    overview.write_text("\n\n".join([overview.read_text(encoding="utf-8"), *of_museum]), encoding="utf-8")


def _link(stage: Path, page: str) -> None:
    """Turn the name of a page that is none of docs/ into a link."""
    for path in stage.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f"`{page}`", f'<a href="{page}">{page}</a>'), encoding="utf-8")


def _examples() -> list[Path]:
    """Return the specs of the playground; that of the README is in a checkout only."""
    names = (
        "examples/retry.py",
        *(f"specs/{name}.py" for name in ("examples/peterson", "replication/kip101", "examples/aba_stack")),
    )
    paths = [Path(specs.__path__[0]).parent / name for name in names]
    return [path for path in paths if path.is_file()]


def _tree(title: str, pages: Sequence[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""])


def _run_sphinx(stage: Path, extra: Path, output: Path) -> None:
    """Run Sphinx in a process and raise InputError if it warns."""
    settings = {
        "project": "Tidemark",
        "html_title": "Tidemark",
        "extensions": ["myst_parser", "kafka_tools.site.search_words"],
        "html_theme": "furo",
        "html_static_path": [str(_STATIC)],
        "html_css_files": ["museum.css"],
        "html_js_files": [("museum.js", {"defer": "defer"})],
        "html_extra_path": [str(extra)],
        "html_copy_source": False,
        "html_show_sphinx": False,
        "html_show_copyright": False,
        "myst_heading_anchors": 4,
        "highlight_language": "none",
        # Tables link to anchors that are written as HTML. The check of the built site covers every link.
        "suppress_warnings": ["myst.xref_missing"],
    }
    configuration = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
    (stage / "conf.py").write_text(configuration, encoding="utf-8")
    options = ["-b", "html", "-q", "-E", "-j", "auto", "--no-color", "-d", str(output.with_name("doctrees"))]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "sphinx", *options, str(stage), str(output)],
        cwd=stage,
        # Two builds of one checkout are equal.
        env={**os.environ, "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    warnings = [line.replace(f"{stage.resolve()}/", "") for line in done.stderr.splitlines() if line.strip()]
    if warnings:
        raise InputError(f"Sphinx warns: {_some(warnings)}")
    if done.returncode:
        raise InternalError(f"Sphinx ended with status {done.returncode} and without a warning")


def _some(problems: Sequence[str]) -> str:
    """Return the first problems as text, and the number of the others."""
    left = len(problems) - MOST_PROBLEMS
    return "; ".join([*problems[:MOST_PROBLEMS], *([f"and {left} more"] if left > 0 else [])])
