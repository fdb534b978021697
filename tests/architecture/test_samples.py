"""Samples of the inputs of slow tests: the mark `sampled(n)`."""

from types import SimpleNamespace

import pytest

from tests.conftest import mark_samples


def marked(names, every):
    """Return the marks that the inputs of tests get."""
    marks = {}
    items = [
        SimpleNamespace(
            nodeid=name,
            get_closest_marker=lambda _: every and pytest.mark.sampled(every).mark,
            add_marker=lambda mark, name=name: marks.update({name: mark}),
        )
        for name in names
    ]
    mark_samples(items)
    return marks


def test_each_nth_input_of_a_test_is_slow_and_the_others_are_exhaustive():
    names = [f"tests/a.py::test_{test}[{number}]" for number in range(5) for test in "ab"]
    marks = marked(names, 3)
    assert {name[-2] for name, mark in marks.items() if mark == "slow"} == {"0", "3"}
    assert sorted(marks.values()) == ["exhaustive"] * 6 + ["slow"] * 4


def test_a_test_without_the_mark_gets_none():
    assert marked(["tests/a.py::test_a[0]"], None) == {}
