"""`conform FILE.py`: a class of a library beside its spec, exit statuses, and mistakes of adapters."""

import re

import pytest

from checker.cli.app import main
from checker.testing import conform
from examples.lru_cache import BoundedCache, CacheAdapter, HastyAdapter

CACHE = "examples/lru_cache.py"
COUNTS = """
from checker.language import Constant, Range, Spec, action, require
from checker.testing import Adapter


class Counts(Spec):
    limit = Constant(3, at_least=1)
    count = Range(0, "limit")

    @action
    def add(self):
        require(self.count < self.limit)
        self.count += 1


class Counting(Adapter):
    spec = Counts

    def start(self, state):
        self.count = 0

    def add(self):
        self.count += 1

    def observe(self):
        return self.count

    def project(self, state):
        return state.count
"""


@pytest.fixture
def run(tmp_path, capsys):
    """Return a function that compares the adapters of a text and returns the exit status, the output and errors."""

    def compare(text, *words, name=""):
        file = tmp_path / "counts.py"
        file.write_text(text)
        status = main(["conform", f"{file}{name}", *words])
        return status, *capsys.readouterr()

    return compare


def test_the_cache_of_a_library_conforms():
    result = conform(BoundedCache, CacheAdapter)
    assert result.is_complete and not result.difference and result.refusals > 100


def test_the_bug_in_the_cache_needs_four_calls():
    result = conform(BoundedCache, HastyAdapter)
    assert [call.partition("(")[0] for call in result.calls] == ["put"] * 4
    assert result.calls[0].partition(",")[0] == result.calls[2].partition(",")[0]


def test_every_adapter_of_a_file_is_compared(capsys):
    assert main(["conform", CACHE]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines if "Adapter:" in line] == ["CacheAdapter", "HastyAdapter"]


def test_one_adapter_is_named(capsys):
    assert main(["conform", f"{CACHE}/CacheAdapter"]) == 0
    assert capsys.readouterr().out.startswith("CacheAdapter: bounded_cache: no difference is possible: 55 pairs")


def test_constants_are_set(run):
    assert run(COUNTS) == (0, "Counting: counts: no difference is possible: 4 pairs, 3 steps\n", "")
    assert run(COUNTS, "--set", "limit=9")[1] == "Counting: counts: no difference is possible: 10 pairs, 9 steps\n"
    assert run(COUNTS, "--set", "most=9")[0] == 2


def test_a_bound_of_pairs_leaves_it_undecided(run):
    status, out, _ = run(COUNTS, "--max-pairs", "2")
    assert status == 3 and "undecided, no difference so far: 2 pairs" in out
    # The bound itself is enough.
    assert run(COUNTS, "--max-pairs", "4")[0] == 0


def test_a_difference_outranks_an_undecided_search(run):
    late = COUNTS + "\n\nclass Late(Counting):\n    def add(self):\n        self.count += 1 + (self.count == 1)\n"
    assert run(late, "--max-pairs", "2")[0] == 1


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (("spec = Counts", ""), (), "Counting in {} names no spec: add spec = ... with the class of the spec"),
        (("", ""), ("--kafka", "4.3.1"), "--kafka: {} has adapters, and no class of Kafka is called"),
        (("def add(self):\n        self.count += 1\n", ""), (), "Counting has no method for add"),
        (("spec = Counts", "spec = Counts()"), (), "name the class of a spec, and set its constants with --set"),
        (("spec = Counts", "spec = Spec"), (), "name the class of a spec, and set its constants with --set"),
        (("self.count += 1\n\n\nclass", "while True:\n            pass\n\n\nclass"), (), "a while loop is not part of"),
        (("return self.count", "return self.total"), (), "counts.py:26:16: "),
        (("self.count = 0", "raise OSError('no server')"), (), "counts.py:20:9: "),
        (("self.count < self.limit", "True"), (), "counts leaves the bounds of a type"),
    ],
    ids=[
        "no spec",
        "an option of Kafka's classes",
        "no method",
        "an instance",
        "the base of specs",
        "a loop",
        "observe fails",
        "start fails",
        "bounds",
    ],
)
def test_a_mistake_is_one_sentence(run, change, words, message, tmp_path):
    before, after = change
    changed = COUNTS.replace(before, after, 1) if before else COUNTS
    status, out, errors = run(changed, *words)
    assert (status, out) == (2, "")
    assert message.format(tmp_path / "counts.py") in errors.replace("\n    ", " ") and "Traceback" not in errors


def test_a_difference_of_copies_alone_is_none_of_the_implementation(run):
    shared = COUNTS.replace("self.count = 0", "self.box[0] = 0").replace("return self.count", "return self.box[0]")
    shared = shared.replace("        self.count += 1\n\n    def observe", "        self.box[0] += 1\n\n    def observe")
    other = "\n    @action\n    def stay(self):\n        require(self.count == 0)\n\n\nclass Counting"
    shared = shared.replace("\n\nclass Counting", other).replace("    spec = Counts", "    spec, box = Counts, [0]")
    status, out, errors = run(shared + "\n    def stay(self):\n        pass\n")
    assert (status, out) == (2, "") and "Counting differs from the spec as a copy only" in errors


def test_nothing_compared_is_undecided(run):
    status, out, _ = run(COUNTS.replace("spec = Counts", "spec, leaves_out = Counts, ('add',)"))
    assert status == 3 and "undecided, no step was compared without add: 1 pair, 0 steps" in out


def test_adapters_of_one_name_are_compared_each(run):
    late = "\n\ndef late(Base):\n    class Counting(Base):\n        def add(self):\n            self.count += 2\n"
    status, out, _ = run(f"{COUNTS}{late}    return Counting\n\n\nLate = late(Counting)\n")
    assert status == 1 and re.findall(r"^(\w+): ", out, re.MULTILINE) == ["Counting", "Late"]


def test_an_adapter_without_a_spec_beside_others_is_named(run):
    status, out, errors = run(f"{COUNTS}\n\nclass Other(Counting):\n    spec = None\n")
    assert (status, out) == (2, "") and "Other in" in errors and "names no spec" in errors


def test_an_unknown_adapter_is_named(run):
    status, _, errors = run(COUNTS, name="/Nobody")
    assert status == 2 and "has no adapter Nobody: choose from Counting" in errors.replace("\n    ", " ")


def test_the_options_need_adapters(run, capsys):
    assert main(["conform", "--max-pairs", "3"]) == 2
    assert "belong to a file with adapters" in capsys.readouterr().err
