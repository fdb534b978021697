"""The examples of docs/python.md run as doctests."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "python.md"


def test_every_example_prints_what_the_page_shows():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert tried > 20
    assert failed == 0
