"""The number of Kafka's tests that the conformance cases stand for, by class, compared with docs/transactions.md."""

import re
from collections import defaultdict
from pathlib import Path

from tests.specs.transactions import (
    test_conformance_coordinator,
    test_conformance_leader,
    test_conformance_markers,
    test_conformance_producer,
)

PAGE = Path(__file__).parents[3] / "docs" / "transactions.md"
MODULES = {
    test_conformance_coordinator: "TransactionCoordinatorTest",
    test_conformance_markers: "TransactionMarkerChannelManagerTest",
    test_conformance_leader: "ProducerStateManagerTest",
    test_conformance_producer: "TransactionManagerTest",
}
"""The class of Kafka's tests that a module means if it names none."""

_NAME = re.compile(r"\b(?:(\w+Test)\.)?((?:test|should)[A-Z]\w+)")


def texts(module):
    """Yield the texts of a module that name Kafka's tests: the names of cases, and the docstrings of tests."""
    if module is test_conformance_coordinator:
        yield from (case.test for case, _ in module.ALL)
    if module is test_conformance_leader:
        yield from (name for name, *_ in module.CASES)
    yield from (value.__doc__ or "" for name, value in vars(module).items() if name.startswith("test_"))


def test_the_page_has_the_numbers_of_kafkas_tests():
    named = defaultdict(set)
    for module, usual in MODULES.items():
        for text in texts(module):
            for test_class, name in _NAME.findall(text):
                named[test_class or usual].add(name)
    shown = dict(re.findall(r"^\| `(\w+Test)` \| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {name: len(found) for name, found in named.items()} == {name: int(count) for name, count in shown.items()}
    assert sum(map(len, named.values())) >= 40
