"""Names of test files: pytest imports a file by its name alone, so two files cannot share one."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent.parent


def test_no_two_test_files_share_a_name():
    found = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in found.items() if count > 1] == []
