"""Links between the pages lead somewhere, every page is linked from docs/index.md, and named files exist."""

import re
from pathlib import Path

import pytest

from checker.run import ledger
from tests.docs.pages import PAGES, ROOT, blocks_of, without_blocks

INDEX = "docs/index.md"
EXAMPLES = {name for name in ledger.read(ledger.default_path()) if name.startswith("examples/")}
"""The scenarios of the family `examples`."""
SOURCES = PAGES | {name: ROOT / name for name in ("CONTRIBUTING.md", "bench/README.md")}

_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*?)\s*$", re.MULTILINE)
_ID = re.compile(r'<a id="([^"]+)"></a>')
_FILE = re.compile(r"`((?:bench|checker|docs|examples|kafka_tools|spark_analysis|specs|tests|traces)/[\w./-]+)`")


def prose_of(path):
    return without_blocks(path.read_text(encoding="utf-8"))


def links_of(path):
    """Return the targets of the links of a page; code is no link."""
    return _LINK.findall(re.sub(r"`[^`]*`", "`", prose_of(path)))


def anchor_of(heading):
    """Return the anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(path):
    """Return the anchors of a page. A repeated heading gets a number."""
    prose, counts, found = prose_of(path), {}, set(_ID.findall(path.read_text(encoding="utf-8")))
    for heading in _HEADING.findall(prose):
        anchor = anchor_of(heading)
        count = counts[anchor] = counts.get(anchor, -1) + 1
        found.add(f"{anchor}-{count}" if count else anchor)
    return found


@pytest.mark.parametrize("page", SOURCES)
def test_every_relative_link_leads_to_a_file_and_an_anchor(page):
    path, broken = SOURCES[page], []
    for link in links_of(path):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        is_there = target == path or (target.exists() and target.is_relative_to(ROOT))
        if not is_there or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


def test_every_page_can_be_reached_from_the_index_alone():
    """A reader who starts at docs/index.md finds every page of docs/ there, without going through other pages."""
    start = PAGES[INDEX]
    linked = {(start.parent / link.partition("#")[0]).resolve() for link in links_of(start)}
    missing = [
        page for page, path in PAGES.items() if page.startswith("docs/") and page != INDEX and path not in linked
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_the_prose_names_exists(page):
    """A file of the checkout, one that `init` writes, or one that the page lets the reader save."""
    written = {"specs/lease.py", "tests/test_lease.py"} | {block.title for block in blocks_of(page)}
    # A family of specs has the name of the folder examples/.
    written |= EXAMPLES | {name.rpartition("/")[0] for name in EXAMPLES}
    named = [name.rstrip("/") for name in _FILE.findall(prose_of(PAGES[page]))]
    # Words in capital letters stand for something of the reader's.
    assert [
        name
        for name in named
        if not (ROOT / name).exists() and name not in written and not re.search(r"[A-Z]{3}", name)
    ] == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Proofs without lemmas: `pdr`", "proofs-without-lemmas-pdr"),
        ("I2: the first batches", "i2-the-first-batches"),
        ("See [limits](limits.md), too", "see-limits-too"),
    ],
)
def test_anchors_are_those_of_github(heading, anchor):
    assert anchor_of(heading) == anchor


def test_a_wrong_link_is_found(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(
        "# One\n[good](#one) [no anchor](#two) [no file](none.md) `[code](none.md)`\n```sh\n[a](b.md)\n```\n"
    )
    monkeypatch.setitem(SOURCES, "wrong", Path(page))
    with pytest.raises(AssertionError, match=r"\['#two', 'none.md'\]"):
        test_every_relative_link_leads_to_a_file_and_an_anchor("wrong")
