"""The command `pages` writes the computed pages and reports those that are out of date."""

from pathlib import Path

import pytest

from checker.cli.app import main
from kafka_tools.pages import write_pages

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.slow
def test_the_pages_are_current():
    assert write_pages.write_pages(DOCS, check=True) == [], "run python -m checker pages"


@pytest.fixture
def two_pages(monkeypatch):
    monkeypatch.setattr(write_pages, "PAGES", {"one.md": lambda: "1\n", "two.md": lambda: "2\n"})


def test_pages_are_written_once(two_pages, tmp_path, capsys):
    (tmp_path / "two.md").write_text("2\n")
    assert main(["pages", str(tmp_path)]) == 0
    assert (tmp_path / "one.md").read_text() == "1\n"
    assert capsys.readouterr().out == f"{tmp_path / 'one.md'} written\n"


def test_a_page_that_is_out_of_date_is_reported_and_kept(two_pages, tmp_path, capsys):
    (tmp_path / "one.md").write_text("old\n")
    (tmp_path / "two.md").write_text("2\n")
    assert main(["pages", str(tmp_path), "--check"]) == 1
    assert (tmp_path / "one.md").read_text() == "old\n"
    assert capsys.readouterr().out == f"{tmp_path / 'one.md'} is out of date: run python -m checker pages\n"


def test_a_folder_that_does_not_exist(two_pages, tmp_path, capsys):
    assert main(["pages", str(tmp_path / "none")]) == 2
    assert "name the folder of the pages" in capsys.readouterr().err


def test_a_long_page_is_printed(capsys):
    assert main(["pages", "--print", "versions"]) == 0
    assert "\n# Rules and bugs by release\n" in capsys.readouterr().out


def test_a_printed_page_is_neither_compared_nor_built(tmp_path, capsys):
    assert main(["pages", "--print", "myths", "--site", str(tmp_path)]) == 2
    assert "--print prints one page" in capsys.readouterr().err
