"""Write the computed pages of docs/, or report which of them are out of date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from checker.errors import InputError, OutputError
from kafka_tools.pages import high_watermark_part, myths_page, proof_table, readme_picture, versions_page
from kafka_tools.pages.museum import museum_page

PAGES: Mapping[str, Callable[[], str]] = {
    "museum.md": museum_page.render,
    "pictures/c7.svg": partial(readme_picture.render, "C7"),
    "pictures/i7.svg": partial(readme_picture.render, "I7"),
    "pictures/r1.svg": partial(readme_picture.render, "R1"),
    # Before step 12, a record is copied and the leadership moves once.
    "pictures/r18.svg": partial(readme_picture.render, "R18", 12),
    "proving.md": proof_table.render,
    "replication.md": high_watermark_part.render,
}
"""The pages and pictures: the name of the file, and the function that computes its text."""

LONG_PAGES: Mapping[str, Callable[[], str]] = {"myths": myths_page.render, "versions": versions_page.render}
"""The pages that are not in docs/: they are computed when the site is built or when a reader asks for them."""


def write_pages(folder: Path, check: bool) -> list[str]:
    """Compute every page and return the names of those that differ from the files; write these unless `check`.

    Raises:
        InputError: the folder does not exist.
        OutputError: a page cannot be written.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: name the folder of the pages, such as docs")
    changed = []
    for name, render in PAGES.items():
        path, text = folder / name, render()
        if path.exists() and path.read_text() == text:
            continue
        changed.append(name)
        if not check:
            try:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            except OSError as error:
                raise OutputError(f"{path} cannot be written: {error.strerror}") from None
    return changed
