"""The site: built strictly from docs/ with some entries of the museum, and used in a browser without a network."""

import functools
import re

import pytest

from checker.cli.app import main
from checker.errors import InputError, MissingExtraError
from checker.playground import pyodide_package
from kafka_tools.pages.museum.entries import exhibits
from kafka_tools.site import site_builder
from kafka_tools.site.site_builder import build_site

ENTRIES = [exhibit for exhibit in exhibits() if exhibit.name in ("P7", "C1", "C11", "T1", "T3", "I8")]

pytestmark = pytest.mark.slow
pytest.importorskip("sphinx", reason="Sphinx is not installed")


def small_docs(folder, text):
    """Write the pages of docs/ to which entries and claims link, with few words, and a page with a text."""
    docs = folder / "docs"
    docs.mkdir()
    names = ["a", "museum", "producer", "idempotence", "consumer", "experiments", "transactions", "replication"]
    (docs / "index.md").write_text(
        "# Index\n\n## Pages\n\n" + " ".join(f"[{name}]({name}.md)" for name in names) + "\n"
    )
    for name in names[1:]:
        (docs / f"{name}.md").write_text(f"# The {name}\n")
    (docs / "replication.md").write_text("# Replication\n\n## How the high watermark reaches a follower\n")
    (docs / "a.md").write_text(text)
    return docs


@pytest.fixture(autouse=True)
def missing_pyodide(monkeypatch):
    """Let no test download Pyodide."""

    def pyodide_files(cache):
        raise MissingExtraError("npm is not installed")

    monkeypatch.setattr(pyodide_package, "pyodide_files", pyodide_files)


@pytest.fixture(scope="module", autouse=True)
def long_pages():
    """Compute the long pages once: each site has the same, and they take most of its time."""
    with pytest.MonkeyPatch.context() as patch:
        computed = {name: functools.cache(render) for name, render in site_builder.LONG_PAGES.items()}
        patch.setattr(site_builder, "LONG_PAGES", computed)
        yield


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of a site with six entries."""
    folder = tmp_path_factory.mktemp("site")
    table = '| [one] |\n| --- |\n| 1 |\n\n[one]: #there\n\n- <a id="there"></a>here\n'
    terms = "| term | meaning |\n| --- | --- |\n| leader epoch, LE | A number. |\n| ISR | A set. |\n\n"
    computed = (
        "\n<!-- python -m checker table pipeline -->\n\n| | A |\n|--|--|\n| crash | P7 |\n\n<!-- end of table -->\n"
    )
    docs = small_docs(folder, f"# A\n\nSee [there](producer.md#the-producer).\n\n{terms}{table}{computed}")
    count = build_site(docs, folder / "site", ENTRIES)
    assert count == sum(1 for _ in (folder / "site").rglob("*.html"))
    return folder / "site"


def test_every_page_and_every_counterexample_is_in_the_site(site):
    assert all((site / f"{page}.html").is_file() for page in ("index", "a", "producer", "consumer", "museum"))
    assert {path.stem for path in (site / "museum").glob("*.html")} == {exhibit.name for exhibit in ENTRIES}
    for exhibit in ENTRIES:
        for given in filter(None, (exhibit.shown_by, *exhibit.further)):
            for name in given.scenario.expect:
                stem = f"museum/counterexamples/{given.target.replace('/', '-')}-{name}"
                assert (site / f"{stem}.html").is_file() and "chart-drawing" in (
                    site / f"{stem}.picture.html"
                ).read_text()


def test_a_claim_a_rule_and_a_cell_lead_to_the_picture_of_their_scenario(site):
    for name in ("myths", "versions"):
        assert re.search('href="museum/P7.html">.*producer/acks/p7_acks_1', (site / f"{name}.html").read_text())
    assert re.search('<td>.*href="museum/P7.html">.*P7', (site / "a.html").read_text())


def test_a_small_scenario_has_a_page_of_steps_and_a_large_one_a_command(site):
    steps = {path.name: path.read_text() for path in (site / "museum" / "counterexamples").glob("*.steps.html")}
    targets = {exhibit.name: exhibit.shown_by.target for exhibit in ENTRIES}
    large = targets["C11"]
    shown = {target for name, target in targets.items() if name not in ("C11", "T3")}
    assert set(steps) == {f"{target.replace('/', '-')}.steps.html" for target in shown}
    entry = (site / "museum" / "P7.html").read_text()
    (name,) = (name for name in steps if "p7_" in name)
    assert f'href="counterexamples/{name}">Take other steps by hand: all 81 states are in this page' in entry
    # It opens at the end of the counterexample.
    assert "is false: " in steps[name] and "its chart</a>" in steps[name]
    entry = (site / "museum" / "C11.html").read_text()
    assert f"python -m checker explore {large}" in entry and "fewer than 5,000 states" in entry


def test_a_warning_of_sphinx_is_an_error(tmp_path):
    docs = small_docs(tmp_path, "# A\n\n```{nothing}\n```\n")
    with pytest.raises(InputError, match=r"Sphinx warns: a.md:3: WARNING: Unknown directive"):
        build_site(docs, tmp_path / "out", ENTRIES[-1:])
    assert not (tmp_path / "out").exists()


def test_a_wrong_place_in_a_page_is_an_error(tmp_path, monkeypatch, capsys):
    docs = small_docs(tmp_path, "# A\n\n[x](index.md#nowhere)\n")
    monkeypatch.setattr(site_builder, "exhibits", lambda: ENTRIES[-1:])
    assert main(["pages", str(docs), "--site", str(tmp_path / "out"), "--quick"]) == 2
    assert "a.html: the link index.html#nowhere leads to no place in its page" in capsys.readouterr().err
    (docs / "a.md").write_text("# A\n\n[x](index.md#index)\n")
    assert main(["pages", str(docs), "--site", str(tmp_path / "out"), "--quick"]) == 0
    assert "index.html written, with " in capsys.readouterr().out


def test_the_playground_is_in_the_site_and_linked_or_the_command_says_why_not(tmp_path, monkeypatch, capsys):
    docs = small_docs(tmp_path, "# A\n\nTry `playground.html`.\n")
    monkeypatch.setattr(site_builder, "exhibits", lambda: ENTRIES[-1:])
    command = ["pages", str(docs), "--site", str(tmp_path / "out"), "--quick"]
    assert main(command) == 0
    assert "the site has no playground: npm is not installed" in capsys.readouterr().err
    assert not (tmp_path / "out" / "playground.html").exists()
    assert 'href="playground.html"' not in (tmp_path / "out" / "a.html").read_text()
    monkeypatch.setattr(pyodide_package, "pyodide_files", lambda cache: {"pyodide.mjs": b"// Pyodide\n"})
    assert main(command) == 0
    assert '<a href="playground.html">playground.html</a>' in (tmp_path / "out" / "a.html").read_text()
    text = (tmp_path / "out" / "playground.html").read_text()
    assert all(f"<option>{name}</option>" in text for name in ("retry", "peterson", "kip101", "aba_stack"))
    assert (tmp_path / "out" / "playground" / "pyodide.mjs").is_file()


def test_the_page_of_settings_is_in_the_site_and_linked(tmp_path, monkeypatch, capsys):
    docs = small_docs(tmp_path, "# A\n\nClick on `matrix.html`.\n")
    monkeypatch.setattr(site_builder, "exhibits", lambda: ENTRIES[-1:])

    def write_page(folder, cache, on_stage):
        (folder / "matrix.html").write_text('<a href="index.html">Tidemark</a>')
        return "matrix.html: 7 configurations"

    monkeypatch.setattr(site_builder, "write_matrix", write_page)
    assert main(["pages", str(docs), "--site", str(tmp_path / "out")]) == 0
    assert "matrix.html: 7 configurations\n" in capsys.readouterr().out
    assert '<a href="matrix.html">matrix.html</a>' in (tmp_path / "out" / "a.html").read_text()
    assert main(["pages", str(docs), "--site", str(tmp_path / "out"), "--quick"]) == 0
    assert "matrix.html</a>" not in (tmp_path / "out" / "a.html").read_text()
    assert not (tmp_path / "out" / "matrix.html").exists()
    assert main(["pages", str(docs), "--quick"]) == 2


def test_a_folder_with_other_files_is_not_replaced(tmp_path, capsys):
    docs, out = small_docs(tmp_path, "# A\n"), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").touch()
    assert main(["pages", str(docs), "--site", str(out), "--quick"]) == 2
    assert "has files that are not of a site: name a new folder" in capsys.readouterr().err
    assert main(["pages", str(tmp_path / "none"), "--site", str(tmp_path / "new"), "--quick"]) == 2
    assert main(["pages", str(docs), "--site", str(tmp_path / "new"), "--check"]) == 2
    assert [path.name for path in out.iterdir()] == ["mine.txt"] and not (tmp_path / "new").exists()


@pytest.fixture
def open_page(new_page, site):
    """Return a function that opens a page of the site."""

    def open_(name, width=1280, scripts=True):
        page = new_page(width, java_script_enabled=scripts)
        address, _, fragment = name.partition("#")
        page.goto((site / address).as_uri() + (f"#{fragment}" if fragment else ""))
        return page

    return open_


def results_of(browser, site, query):
    """Return the names of the pages that a search shows, in their order."""
    page = browser.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q={query}")
    page.wait_for_selector("#search-results li a")
    links = page.eval_on_selector_all("#search-results li a", "links => links.map(link => link.pathname)")
    page.close()
    return [link.rpartition("/")[2] for link in links]


@pytest.mark.browser
def test_a_search_for_a_ticket_has_its_entry_first_and_no_page_without_it(browser, site):
    results = results_of(browser, site, "kafka-17754")
    assert results[0] == "T3.html" and "myths.html" not in results


@pytest.mark.browser
@pytest.mark.parametrize("term", ["leader epoch", "isr"])
def test_a_search_for_a_term_has_the_glossary_first(browser, site, term):
    results = results_of(browser, site, term)
    assert results[0] == "a.html" and len(results) > 1


def shown(page):
    return page.eval_on_selector_all(
        ".museum-card", "cards => cards.filter(c => c.offsetParent).map(c => c.querySelector('span').textContent)"
    )


@pytest.mark.browser
def test_filters(open_page):
    page = open_page("museum.html")
    every = [exhibit.name for exhibit in ENTRIES]
    assert shown(page) == every
    page.select_option("select[name=outcome]", "gaps")
    assert shown(page) == ["C1"]
    assert page.inner_text(".museum-count") == "1 of 6 entries"
    page.select_option("select[name=area]", "consumer")
    assert shown(page) == ["C1"]
    assert page.evaluate("location.hash") == "#area=consumer&outcome=gaps"
    page.click("button[type=reset]")
    page.wait_for_function("document.querySelector('.museum-count').textContent === '6 entries'")
    assert shown(page) == every
    # A release of before the consumer protocol, with T1 and T3; librdkafka is not Kafka.
    page.select_option("select[name=release]", "2.8.0")
    assert shown(page) == ["P7", "C1", "T1", "T3"]
    page.select_option("select[name=release]", "")
    page.fill("[name=text]", "librdkafka")
    assert shown(page) == ["I8"]


@pytest.mark.browser
def test_an_address_has_the_chosen_filters(open_page):
    assert shown(open_page("museum.html#outcome=stuck")) == ["I8"]


@pytest.mark.browser
def test_without_scripts_every_card_is_shown(open_page):
    page = open_page("museum.html", scripts=False)
    assert len(shown(page)) == len(ENTRIES)
    assert not page.is_visible(".museum-filter")


WITH_LONG_NAMES = "museum/counterexamples/transactions-transactions-t1_late_produce_hangs-open_is_known.html"
"""The page names a setting that is longer than a narrow screen."""


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["index.html", "museum.html", "museum/P7.html", "museum/T1.html", WITH_LONG_NAMES])
def test_no_page_is_wider_than_the_screen(open_page, name, width):
    page = open_page(name, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


CUT_STEPS = """chart => [...chart.querySelectorAll('.chart-steps li')].filter(step => {
    const text = document.createRange();
    text.selectNodeContents(step.querySelector('span'));
    return text.getBoundingClientRect().bottom > step.getBoundingClientRect().bottom;
}).map(step => step.textContent)"""
"""The steps of which a row does not show the whole sentence."""


@pytest.mark.browser
def test_no_picture_hides_a_lane_or_cuts_a_sentence(open_page, site):
    pictures = sorted((site / "museum" / "counterexamples").glob("*.picture.html"))
    for picture in pictures:
        chart = open_page(picture.relative_to(site).as_posix(), 1280).locator(".chart")
        assert chart.evaluate("box => box.scrollWidth <= box.clientWidth"), picture.name
        assert chart.evaluate(CUT_STEPS) == [], picture.name
    assert pictures


@pytest.mark.browser
def test_a_card_leads_to_the_counterexample(open_page):
    page = open_page("museum.html")
    page.click("text=acks=1: the leader acknowledges, and dies")
    page.wait_for_url("**/museum/P7.html")
    steps = page.eval_on_selector_all(".museum-steps li", "items => items.map(item => item.value)")
    assert steps == sorted(set(steps)) and steps[-1] == 5
    frame = page.frame_locator(".museum-picture")
    frame.locator("a.column-link[href$='#step=4'], a[href$='#step=4']").last.dispatch_event("click")
    page.wait_for_url("**/producer-acks-p7_acks_1_loss_on_failover-no_acked_loss.html#step=4")
    assert "P7" in page.inner_text("h1")
    page.go_back()
    page.click(".museum-open")
    page.wait_for_url("**/producer-acks-p7_acks_1_loss_on_failover-no_acked_loss.html")
