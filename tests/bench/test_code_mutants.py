"""The tool that mutates the project's own code: its edits, its sample, and a list of mutants that must not survive."""

import random
import tomllib
from pathlib import Path

import pytest

LISTED = Path(__file__).with_name("fixed_mutants.toml")

SOURCE = '''"""Text."""

LIMIT = 3


def chosen(low: int, high: int, table: dict) -> int:
    """Return a number."""
    assert low < high
    key = (low, high)
    if not table.get(key) and low <= high:
        return low - 1
    table[low, high] = max(low, high)
    return sum(item for item in table if item > LIMIT)
'''


@pytest.fixture(autouse=True)
def bench(monkeypatch):
    """Make the modules in the script's folder importable, as they are for the script."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))


def changes():
    from mutant_edits import compiles, edits_of

    edits = edits_of("a.py", SOURCE)
    assert all(compiles(edit.applied_to(SOURCE)) for edit in edits)
    return {(edit.kind, line) for edit in edits for line in edit.difference(SOURCE).splitlines()[3:] if line[0] == "+"}


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("constant", "+LIMIT = 4"),
        ("part of a key dropped", "+    key = (high,)"),
        ("part of a key dropped", "+    table[(low,)] = max(low, high)"),
        ("comparison", "+    if not table.get(key) and low < high:"),
        ("connective", "+    if not table.get(key) or low <= high:"),
        ("operand dropped", "+    if (not table.get(key)):".replace("(not table.get(key))", "((not table.get(key)))")),
        ("not dropped", "+    if (table.get(key)) and low <= high:"),
        ("guard dropped", "+    if False:"),
        ("arithmetic", "+        return low + 1"),
        ("return value", "+        return None"),
        ("parameter", "+        return high - 1"),
        ("statement dropped", "+    pass"),
        ("call", "+    table[low, high] = min(low, high)"),
        ("arguments swapped", "+    table[low, high] = max(high, low)"),
        ("filter dropped", "+    return sum(item for item in table if True)"),
    ],
)
def test_an_edit_of_each_kind(kind, line):
    assert (kind, line) in changes()


def test_assertions_annotations_and_texts_stay():
    assert not [line for _, line in changes() if "assert" in line or "Text" in line or "def chosen" in line]


def test_a_sample_depends_on_its_seed_alone_and_takes_a_line_once():
    from code_mutants import sampled_edits

    first, again, other = (sampled_edits({"a.py": SOURCE}, 5, random.Random(seed)) for seed in ("1", "1", "2"))
    assert first == again != other
    assert len({edit.line for edit in first}) == 5


def test_the_tests_of_a_line_begin_with_the_file_of_its_module():
    from mutant_runs import LineMap

    tests = {
        f"{name}.py::{test}": {"seconds": seconds, "passed": test != "broken"}
        for name, test, seconds in (
            ("test_b", "slow", 3),
            ("test_b", "quick", 1),
            ("test_a", "slow", 9),
            ("test_c", "broken", 1),
        )
    }
    lines = {
        "1": ["test_b.py::slow (call)", "test_a.py::slow (call)"],
        "2": ["test_b.py::slow (setup)", "test_b.py::quick (call)"],
        "3": [""],
        "5": ["test_b.py::quick (call)"],
    }
    kept = LineMap(tests, {"pkg/a.py": lines})

    def names(*numbers, function=()):
        return [test.name for test in kept.tests_of("pkg/a.py", numbers, function)]

    assert names(1) == ["test_a.py::slow", "test_b.py::slow"]
    assert names(2) == ["test_b.py::quick", "test_b.py::slow"]
    # What runs at import or for one test alone, or is not seen, counts for every test of the file.
    assert names(3) == names(4) == names(5) == ["test_a.py::slow", "test_b.py::quick", "test_b.py::slow"]
    assert kept.tests_of("pkg/other.py", [1]) == []
    # After them come the tests of other lines of the function.
    assert names(2, function=(1, 2)) == ["test_b.py::quick", "test_b.py::slow", "test_a.py::slow"]


def test_the_lines_of_the_innermost_function():
    from mutant_edits import function_lines

    source = "def outer():\n    one = 1\n\n    def inner():\n        return one\n    return inner\n\nTWO = 2\n"
    assert [function_lines(source, line) for line in (2, 5, 8)] == [range(1, 7), range(4, 6), range(8, 9)]


def test_the_text_of_each_listed_mutant_is_in_its_file_once():
    from code_mutants import misplaced_mutants

    mutants = tomllib.loads(LISTED.read_text())["mutant"]
    assert misplaced_mutants(LISTED.parents[2], mutants) == []
    changed = [mutants[0] | {"before": mutants[0]["before"] + " "}]
    assert misplaced_mutants(LISTED.parents[2], changed) != []


@pytest.mark.slow
def test_no_listed_mutant_survives(tmp_path):
    from code_mutants import listed_survivors
    from mutant_runs import PrivateTree

    assert listed_survivors(PrivateTree(tmp_path), LISTED) == []
