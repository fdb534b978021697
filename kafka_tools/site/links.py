"""The check of a site: every link leads to a page and to a place in it, and nothing is loaded from a network."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "audio": "src", "video": "src"}
"""The attribute of an element that a browser loads."""

_LOADED_BY_RELATION = {"stylesheet", "preload", "icon", "modulepreload", "manifest"}

_STYLE_ADDRESS = re.compile(r"""(?:@import\s+|url\()["']?(https?:)?//""")


class PageLinks(HTMLParser):
    """Collects the identifiers of a page, its links, and the addresses that a browser loads."""

    def __init__(self) -> None:
        super().__init__()
        self.identifiers: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note the identifier and the address of an element."""
        given = {name: value or "" for name, value in attributes}
        self.identifiers.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and _LOADED_BY_RELATION & set(given.get("rel", "").split()):
            self.loaded.append(given.get("href", ""))
        if _LOADED.get(tag) in given:
            self.loaded.append(given[_LOADED[tag]])


def problems_of(site: Path, unread: str = "") -> list[str]:
    """Return a sentence for each link that leads nowhere, and for each file that would be loaded from a network.

    The pages in the folder `unread` may be linked, and are not read.
    """
    root = site.resolve()
    return sorted({*_page_problems(root, root / unread if unread else None), *_style_problems(root)})


def _page_problems(site: Path, unread: Path | None) -> Iterator[str]:
    for path in sorted(site.rglob("*.html")):
        if unread is not None and path.is_relative_to(unread):
            continue
        page, name = _read(path), path.relative_to(site).as_posix()
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{name} loads {address} from the network"
        for address in (*page.links, *page.loaded):
            if (problem := _problem(path, address, unread)) is not None:
                yield f"{name}: the link {address} leads to {problem}"


def _problem(path: Path, address: str, unread: Path | None) -> str | None:
    """Return what an address in a page lacks, None if it leads somewhere."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "no file"
    if not parts.fragment or target.suffix != ".html" or (unread is not None and target.is_relative_to(unread)):
        return None
    return None if unquote(parts.fragment) in _read(target).identifiers else "no place in its page"


def _style_problems(site: Path) -> Iterator[str]:
    for path in site.rglob("*.css"):
        if _STYLE_ADDRESS.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site).as_posix()} loads a file from the network"


@functools.lru_cache(maxsize=1024)
def _read(path: Path) -> PageLinks:
    page = PageLinks()
    page.feed(path.read_text(encoding="utf-8"))
    return page
