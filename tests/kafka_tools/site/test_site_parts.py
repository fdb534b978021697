"""The parts of the site that need no Sphinx: navigation, copies with their links, the pages of the museum, links."""

import pytest

from checker.errors import InputError
from checker.run import ledger
from kafka_tools.pages.museum.entries import exhibits
from kafka_tools.site import exhibit_pages
from kafka_tools.site.counterexample_pages import CounterexamplePage, ShownScenario
from kafka_tools.site.links import problems_of
from kafka_tools.site.navigation import Section, read_navigation
from kafka_tools.site.site_builder import link_entries
from kafka_tools.site.staged_docs import StagedDocs, split_code

INDEX = """
See [the start](start.md) first.

## Second

1. [B](b.md#place), [A](findings/a.md)
2. [Again](start.md), [elsewhere](https://example.org/b.md)
"""


def test_navigation_follows_the_links_of_the_index():
    pages = ["a", "b", "findings/a", "start"]
    assert read_navigation(INDEX, pages, "Start") == [
        Section("Start", ("start",)),
        Section("Second", ("b", "findings/a")),
        Section("More", ("a",)),
    ]


def test_entries_in_computed_tables_are_links(tmp_path):
    table = "<!-- python -m checker table pipeline -->\n| R2 | (T1) | no, but R26, producer H-2, xR2, C-1-2 |\n{}"
    page, end = tmp_path / "a.md", "<!-- end of table -->\nR2\n"
    page.write_text("R2\n" + table.format(end) + table.format(end))
    link_entries(tmp_path, {})
    assert "[" not in page.read_text()
    link_entries(tmp_path, {name: f"museum/{name}.md" for name in ("R2", "R26", "T1", "C-1")})
    linked = "<!-- python -m checker table pipeline -->\n| [R2](museum/R2.md) | ([T1](museum/T1.md)) | no, but "
    linked += "[R26](museum/R26.md), producer H-2, xR2, C-1-2 |\n<!-- end of table -->\nR2\n"
    assert page.read_text() == f"R2\n{linked}{linked}"


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout with a page that links to a spec, a page in a folder, and a README."""
    docs = tmp_path / "docs"
    (docs / "findings").mkdir(parents=True)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/spec.py").write_text("spec = 1\n")
    (tmp_path / "README.md").write_text("[a](docs/a.md#top), [spec](specs/spec.py)\n")
    (docs / "findings/b.md").write_text("# B\n\n[a](../a.md)\n")
    links = "[s](../specs/spec.py) [b](findings/b.md) [r][r] [out](https://x.y/z.md) [here](#a)"
    (docs / "a.md").write_text(f"# A\n\n{links}\n\n[r]: ../README.md#top\n\n```\n[no](link.md)\n```\n")
    return docs


def copied(docs, stage):
    stage.mkdir()
    return [path.as_posix() for path in StagedDocs(docs, stage).copy()]


def test_the_home_has_the_examples_of_the_readme(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Index\n\n## Start\n\n[README](../README.md), [a](a.md)\n")
    (docs / "a.md").write_text("# A\n")
    example = "## Your settings\n\n```sh\n# [a](docs/a.md)\n```\n\n[a](docs/a.md)\n\n"
    (tmp_path / "README.md").write_text(f"# Name\n\n## Install\n\n{example}## Where to go\n")
    staged = StagedDocs(docs, tmp_path / "stage")
    staged.copy()
    staged.add_examples()
    examples = "## Your settings\n\n```sh\n# [a](docs/a.md)\n```\n\n[a](a.md)\n\n"
    rest = "## Start\n\n[README](files/README.md), [a](a.md)\n"
    assert (tmp_path / "stage" / "index.md").read_text() == f"# Index\n\n{examples}{rest}"


def test_a_copy_has_every_linked_file_and_its_links_lead_there(checkout, tmp_path):
    stage = tmp_path / "stage"
    assert copied(checkout, stage) == ["a.md", "findings/b.md"]
    text = (stage / "a.md").read_text()
    assert "[s](files/specs/spec.py) [b](findings/b.md)" in text
    assert "[out](https://x.y/z.md) [here](#a)" in text and "[no](link.md)" in text
    assert (stage / "files/specs/spec.py").read_text() == "spec = 1\n"
    # Without docs/index.md, README.md is the index.
    assert "[r]: index.md#top" in text
    assert (stage / "index.md").read_text() == "[a](a.md#top), [spec](files/specs/spec.py)\n"


def test_a_copy_names_pages_without_the_suffix_of_their_files(checkout, tmp_path):
    b = "[b.md](findings/b.md#b)"
    (checkout / "a.md").write_text(f"{b} [see b.md](findings/b.md) [b.md] (no link)\n\n```\n{b}\n```\n")
    copied(checkout, tmp_path / "stage")
    copy = (tmp_path / "stage" / "a.md").read_text()
    assert copy == f"[b](findings/b.md#b) [see b.md](findings/b.md) [b.md] (no link)\n\n```\n{b}\n```\n"


def test_an_index_of_docs_has_precedence(checkout, tmp_path):
    (checkout / "index.md").write_text("[r](../README.md)\n")
    stage = tmp_path / "stage"
    assert "files/README.md" in copied(checkout, stage)
    assert (stage / "index.md").read_text() == "[r](files/README.md)\n"
    assert (stage / "files/README.md").read_text().startswith("[a](../a.md#top)")


@pytest.mark.parametrize("link", ["missing.md", "../../outside.md", "../specs"])
def test_a_link_without_a_file_is_an_error(checkout, tmp_path, link):
    (tmp_path.parent / "outside.md").touch()
    (checkout / "a.md").write_text(f"[x]({link})\n")
    with pytest.raises(InputError, match="does not lead to a file of the repository"):
        copied(checkout, tmp_path / "stage")


def test_code_is_split_from_text():
    text = "a\n```sh\nb\n```\nc\n"
    assert list(split_code(text)) == [("a\n", False), ("```sh\nb\n```\n", True), ("c\n", False)]
    assert "".join(part for part, _ in split_code(text)) == text


@pytest.fixture
def site(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "a.html").write_text('<p id="one"><a href="in/b.html#two">b</a> <a href="https://x.y/">out</a></p>')
    (tmp_path / "in/b.html").write_text('<h2 id="two"><a href="../a.html#one">a</a><a href="#two">b</a></h2>')
    return tmp_path


def test_links_that_lead_somewhere(site):
    assert problems_of(site) == []


@pytest.mark.parametrize(
    ("markup", "problem"),
    [
        ('<a href="c.html">c</a>', "c.html: the link c.html leads to no file"),
        ('<a href="#none">c</a>', "c.html: the link #none leads to no place in its page"),
        ('<a href="in/b.html#one">c</a>', "c.html: the link in/b.html#one leads to no place in its page"),
        ('<img src="c.png">', "c.html: the link c.png leads to no file"),
        ('<script src="https://cdn.example/x.js"></script>', "c.html loads https://cdn.example/x.js from the network"),
        ('<link rel="stylesheet" href="//fonts.example/f">', "c.html loads //fonts.example/f from the network"),
    ],
)
def test_links_that_lead_nowhere(site, markup, problem):
    name = "d.html" if 'href="c.html"' in markup else "c.html"
    (site / name).write_text(markup)
    assert problems_of(site) == [problem.replace("c.html:", f"{name}:", 1)]


def test_styles_load_nothing_from_a_network(site):
    (site / "s.css").write_text("@import url(https://fonts.example/f.css);")
    assert problems_of(site) == ["s.css loads a file from the network"]


@pytest.fixture(scope="module")
def museum(tmp_path_factory):
    """Return the pages of the museum by name, with counterexamples that were not explored."""

    def shown(given):
        expect = given.scenario.expect if given.violates else {}
        pages = (CounterexamplePage(f"{name}.html", name, length or 2, "why {x}") for name, length in expect.items())
        return ShownScenario(given, tuple(pages))

    stage = tmp_path_factory.mktemp("museum")
    found = exhibits()
    scenarios = [given for each in found for given in (each.shown_by, *each.further) if given is not None]
    pages = exhibit_pages.MuseumPages({given.target: shown(given) for given in scenarios}, {})
    exhibit_pages.write_museum(found, pages, ledger.read(ledger.default_path()), stage)
    return {path.stem: path.read_text() for path in stage.rglob("*.md")}


@pytest.mark.parametrize("exhibit", exhibits(), ids=lambda exhibit: exhibit.name)
def test_the_page_of_an_entry_has_each_part(museum, exhibit):
    text = museum[exhibit.name]
    assert f"# {exhibit.name}: " in text
    for part in (exhibit.affected, exhibit.story.needs, exhibit.story.remedy, exhibit.fixed):
        assert part.replace("&", "&amp;").replace("'", "&#39;") in text
    assert all(ticket in text for ticket in exhibit.story.tickets)
    if exhibit.shown_by is None:
        assert "## Not modelled" in text and "python -m checker run" not in text
        return
    assert exhibit.command in text
    expect = exhibit.shown_by.scenario.expect if exhibit.shown_by.violates else {}
    assert all(f'href="counterexamples/{name}.html"' in text for name in expect)
    assert ("## The counterexample" in text) == bool(expect)
    if exhibit.remedied_by is not None:
        assert f"python -m checker run {exhibit.remedied_by.target}\n" in text
    for given in exhibit.further:
        assert all(f"counterexamples/{name}.html" in text for name in given.scenario.expect)


def test_the_overview_has_a_card_for_each_entry(museum):
    text = museum["museum"]
    assert text.count('<li class="museum-card"') == len(exhibits())
    assert all(f'<a href="museum/{exhibit.name}.html">' in text for exhibit in exhibits())
    # Without a script, the form is hidden and every card is shown.
    assert '<form class="museum-filter" hidden>' in text and 'museum-card" hidden' not in text
    assert text.count("data-unexamined") == sum(exhibit.affected == "not examined" for exhibit in exhibits())


def test_text_is_shown_as_it_is():
    assert exhibit_pages.escape_markdown("a_b *c* [d] <e> `f`") == r"a\_b \*c\* \[d\] \<e\> \`f\`"
