"""Sizes are judged before anything of that size is built, and deep expressions are compiled."""

import sys
import time

import pytest

from checker.engines.native import engine
from checker.engines.python import explorer
from checker.language import SpecError
from checker.run import registry
from checker.run.plan import Plan

HEAD = "from checker.language import *\n\nclass Node(Domain):\n    size = 'nodes'\n\nclass Mine(Spec):\n"
HEAD += "    nodes = Constant(2)\n"
GO = "    @action\n    def go(self):\n        require({})\n"


def loaded(tmp_path, body):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + body)
    return registry.load_file(path).entries[0].spec


@pytest.mark.parametrize(
    ("declared", "constants", "says"),
    [
        ("Node", {"nodes": 10**23}, "Node.size is 100000000000000000000000, which is beyond 62 bits"),
        ("Node", {"nodes": 2**40}, "Node.size is 1099511627776: a Domain has at most 65536 members"),
        ("Seq(bool, 10**9)", {}, "a Seq(bool, 1000000000) takes 1000000030 bits, and a value has at most 16384"),
        ("Seq(bool, 'nodes * 10**9')", {}, "takes 2000000031 bits"),
        ("Bag(Range(0, 9), 10**7)", {}, "takes 40000024 bits"),
        ("SetOf(Range(0, 10**9), 10**6)", {}, "takes 30000020 bits"),
        ("SetOf(Seq(bool, 1000))", {}, "has items of a type with over 10^301 values"),
        ("Map(Range(0, 10**12), bool)", {}, "takes 1000000000001 bits"),
        ("Range(0, '9**9**9**9')", {}, "which is beyond 62 bits: use smaller numbers"),
        ("Range(0, '1 << (1 << 99)')", {}, "which is beyond 62 bits: use smaller numbers"),
        ("Range(0, 10**4000)", {}, "Range.high is a number of 13288 bits"),
    ],
)
def test_a_size_is_judged_before_anything_is_built(tmp_path, declared, constants, says):
    spec = loaded(tmp_path, f"    x = {declared}\n" + GO.format("True"))
    started = time.process_time()
    with pytest.raises(SpecError) as caught:
        spec(**constants)
    assert says in caught.value.message and caught.value.line == 8
    assert time.process_time() - started < 0.1


def test_powers_in_bounds_are_computed(tmp_path):
    spec = loaded(tmp_path, "    x = Range(0, '2**nodes + (1 << nodes)')\n" + GO.format("True"))
    assert spec(nodes=3).variables["x"].high == 16


@pytest.mark.slow
@pytest.mark.parametrize("explore", [engine.explore, explorer.explore], ids=["native", "python"])
@pytest.mark.parametrize("condition", [" + ".join(["self.x"] * 500) + " >= 0", "not " * 900 + "self.x == 0"])
def test_deep_expressions_are_compiled(tmp_path, explore, condition):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(8_000)
    try:
        result = explore(loaded(tmp_path, "    x = Range(0, 9)\n" + GO.format(condition))(), Plan(()))
    finally:
        sys.setrecursionlimit(limit)
    assert (result.ended, result.distinct_states) == ("complete", 1)


def test_two_scenarios_of_one_name_are_refused(tmp_path):
    body = "    x = bool\n" + GO.format("True") + "scenarios = [Scenario(Mine, 'one'), Scenario(Mine, 'one')]\n"
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, body)
    assert caught.value.message == "two scenarios of mine have the name one: give each its own"
    assert caught.value.line == 12
