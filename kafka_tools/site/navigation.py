"""The order of the pages: that of the links in docs/index.md."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

_HEADING = re.compile(r"##+ +(.+)")
_PAGE = re.compile(r"\]\(([^)#\s]+)\.md(?:#[^)]*)?\)")

REMAINING = "More"
"""The title of the last section: the pages that the index does not link."""


@dataclass(frozen=True)
class Section:
    """A section of the navigation; `pages` are paths in docs/ without their ending."""

    title: str
    pages: tuple[str, ...]


def read_navigation(index: str, pages: Collection[str], title: str) -> list[Section]:
    """Return the pages in the order of the links of an index, in a section for each heading of the index.

    `pages` are all pages. Links before the first heading are in a section with this `title`; a page is in the section
    of its first link. Pages without a link are in the last section.
    """
    sections: dict[str, list[str]] = {}
    seen = set()
    for line in index.splitlines():
        if heading := _HEADING.fullmatch(line.strip()):
            title = heading[1]
        for match in _PAGE.finditer(line):
            page = str(PurePosixPath(match[1]))
            if page in pages and page not in seen:
                seen.add(page)
                sections.setdefault(title, []).append(page)
    if left := sorted(set(pages) - seen):
        sections.setdefault(REMAINING, []).extend(left)
    return [Section(title, tuple(match)) for title, match in sections.items()]
