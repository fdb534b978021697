"""The digest of a spec's source changes with everything that the spec depends on, and is unknown where it is unsure."""

import pickle
import sys

import pytest

from checker.engines.native import engine
from checker.language import source_digest as digests
from checker.language.source_digest import digests_kept, source_digest
from checker.run import registry
from checker.run.plan import Plan
from specs.examples.peterson import Peterson

SPEC = """
import os

from base_of_counter import Base
from steps_of_counter import STEP, step

from checker.language import Constant, Domain, Range, SetOf, Struct, action, invariant

LIMIT = 3
FROM_ENVIRONMENT = int(os.environ.get("COUNTER_LIMIT", "7"))
ALLOWED = frozenset({1, 2, 3})


def above(limit):
    def inner(value, first=os.environ.get("FIRST"), *, least=int(os.environ.get("LEAST", "0"))):
        return least <= value > limit

    return inner


is_above = above(int(os.environ.get("ABOVE", "2")))


class Item(Struct):
    size: Range(0, LIMIT)


class Counter(Base):
    most = Constant(5)
    x = Range(0, 9)

    @action
    def go(self):
        self.x = min(self.x + step(), LIMIT)

    @invariant
    def small(self):
        return self.x <= LIMIT
"""
BASE = """
from checker.language import Range, Spec, action


class Base(Spec, abstract=True):
    y = Range(0, 3)

    @action
    def back(self):
        self.y = 0
"""
STEPS = """
STEP = 1


def step():
    return STEP
"""
FILES = {"counter": SPEC, "base_of_counter": BASE, "steps_of_counter": STEPS}


@pytest.fixture(autouse=True)
def files_of_before(monkeypatch):
    """Let the files that a test writes count as older than the process."""
    monkeypatch.setattr(digests, "PROCESS_START", 2**63)


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Return a function that writes the files, with replaced texts, and loads the spec as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(name="counter", old="", new="", files=FILES):
        assert old in files[name]
        for file, text in files.items():
            (tmp_path / f"{file}.py").write_text(text.replace(old, new, 1) if file == name else text)
            sys.modules.pop(file, None)
        return registry.load_file(tmp_path / "counter.py").entries[0].spec

    yield load
    for file in FILES:
        sys.modules.pop(file, None)


def digest(spec, **constants):
    found = source_digest(spec(**constants))
    assert found is not None
    return found


def test_the_same_source_has_the_same_digest(loaded):
    first = digest(loaded())
    assert digest(loaded()) == first
    with digests_kept():
        assert digest(loaded()) == first


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("counter", "self.x <= LIMIT", "self.x < LIMIT"),
        ("counter", "LIMIT = 3", "LIMIT = 4"),
        ("counter", "Constant(5)", "Constant(6)"),
        ("counter", "x = Range(0, 9)", "x = Range(0, 8)"),
        ("counter", "value > limit", "value >= limit"),
        ("counter", '"LEAST", "0"', '"LEAST", "1"'),
        ("counter", "{1, 2, 3}", "{1, 2}"),
        ("counter", "size: Range(0, LIMIT)", "size: Range(0, STEP)"),
        ("base_of_counter", "y = Range(0, 3)", "y = Range(0, 2)"),
        ("base_of_counter", "self.y = 0", "self.y = 1"),
        ("steps_of_counter", "STEP = 1", "STEP = 2"),
        ("steps_of_counter", "return STEP", "return STEP + 1"),
    ],
)
def test_a_changed_line_changes_the_digest(loaded, name, old, new):
    assert digest(loaded()) != digest(loaded(name, old, new))


def test_a_module_with_the_name_of_one_of_python_counts(loaded, monkeypatch):
    monkeypatch.delitem(sys.modules, "antigravity", raising=False)
    files = {"counter": SPEC.replace("steps_of_counter", "antigravity"), "base_of_counter": BASE, "antigravity": STEPS}
    assert digest(loaded(files=files)) != digest(loaded("antigravity", "return STEP", "return STEP + 1", files))
    sys.modules.pop("antigravity")


def test_a_changed_constant_changes_the_digest(loaded):
    spec = loaded()
    assert digest(spec) == digest(spec, most=5) != digest(spec, most=4)


@pytest.mark.parametrize("name", ["COUNTER_LIMIT", "ABOVE", "LEAST", "FIRST"])
def test_a_value_from_the_environment_changes_the_digest(loaded, monkeypatch, name):
    before = digest(loaded())
    monkeypatch.setenv(name, "8")
    assert digest(loaded()) != before


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [("spec_file_counter", "LIMIT", 4), ("steps_of_counter", "STEP", 2), ("spec_file_counter", "is_above", max)],
)
def test_a_replaced_value_of_a_module_changes_the_digest(loaded, monkeypatch, module, name, value):
    spec = loaded()
    before = digest(spec)
    monkeypatch.setattr(sys.modules[module], name, value)
    assert digest(spec) != before


def test_a_replaced_method_changes_the_digest(loaded, monkeypatch):
    spec = loaded()
    before = digest(spec)
    monkeypatch.setattr(spec.__mro__[1], "back", spec.go)
    assert digest(spec) != before


def test_a_class_that_a_function_made_is_known_by_its_parts(loaded):
    function = "\n\ndef made(low):\n    class Made(Counter):\n        z = Range(low, 9)\n\n    return Made\n"
    made = f"{SPEC}{function}\n\nMade = made(1)\n"
    files = FILES | {"counter": made}
    assert digest(loaded(files=files)) == digest(loaded(files=files))
    assert digest(loaded(files=files)) != digest(loaded("counter", "made(1)", "made(2)", files))


def test_using_a_spec_does_not_change_its_digest(loaded):
    spec = loaded()
    before = digest(spec)
    pickle.dumps(engine.explore(spec(), Plan(("small",))))
    # As `pickle` does, which caches the names of the slots in the class.
    object.__reduce_ex__(spec(), 2)
    assert digest(spec) == before


@pytest.mark.parametrize(
    "value",
    [
        "import threading; VALUE = threading.Lock()",
        "class Numbers(list): pass\nVALUE = Numbers([1])",
        "import collections; VALUE = collections.namedtuple('Pair', 'a b')(1, 2)",
        "import collections; VALUE = collections.defaultdict(int)",
        "class Number(int): pass\nVALUE = Number(1)",
        "exec('def made(): return 1', made_globals := {}); VALUE = made_globals['made']",
        "import numpy; VALUE = numpy.array([1])",
    ],
)
def test_a_value_that_cannot_be_read_whole_has_no_digest(loaded, value):
    spec = loaded("counter", "LIMIT = 3", f"LIMIT = 3\n{value}")
    assert source_digest(spec()) is None


def test_a_file_that_changed_after_the_process_began_has_no_digest(loaded, monkeypatch):
    spec = loaded()
    monkeypatch.undo()
    assert source_digest(spec()) is None
    # The files of the project are older than the process.
    assert source_digest(Peterson()) is not None


def test_digests_are_the_same_whether_they_are_kept_or_not():
    alone = [source_digest(selection.entry.spec()) for selection in registry.select("examples")]
    with digests_kept():
        kept = [source_digest(selection.entry.spec()) for selection in registry.select("examples")]
    assert None not in alone
    assert alone == kept
    assert len(set(alone)) == len(alone) > 1
