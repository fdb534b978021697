"""Both engines decide random refinements alike: random abstract specs, mappings and constants."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

import pytest

from checker.engines.native import engine as native
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.words import struct_field
from checker.engines.native.lowering import refinements
from checker.engines.python import explorer
from checker.language import Spec
from checker.run.plan import Plan
from checker.run.result import Result
from tests.support.source_modules import load

SEEDS = (*range(20), 31)
"""Seed 31 has a step that no abstract action allows, in a state in which an abstract action leaves its bounds."""

SLOW_SEEDS = 600


def random_source(seed: int) -> str:
    """Return a module with an abstract spec, a concrete one that has some of its actions, and a mapping."""
    chosen = random.Random(seed)
    actions = [_action(f"move{number}", chosen) for number in range(chosen.randint(1, 3))]
    kept = [action for action in actions if chosen.random() < 0.9]
    if chosen.random() < 0.4:
        # An action of the abstract spec that leaves the bounds of its type.
        actions.append("    @action\n    def leap(self):\n        self.x = self.x + 3\n")
    extra = [_action("other", chosen)] if chosen.random() < 0.4 else []
    mapped = chosen.choice(
        [
            "Refinement(Abstract, x=lambda self: self.low + 2 * self.high)",
            "Refinement(Abstract, x=value, constants={'most': 4})",
            "Refinement(Abstract, x=lambda self: self.low)",
            "Refinement(Abstract, x=lambda self: self.value() + 2)",
            "Refinement(Abstract, x=lambda self: self.low + self.high + 1 if self.done else self.low + self.high)",
            "Refinement(Abstract, x=lambda self: self.low + 2 * self.high, done=lambda self: not self.done)",
        ]
    )
    concrete = "\n".join(kept + extra).replace("self.x = ", "self.put(").replace("  # end", ")")
    concrete = concrete.replace("self.x", "self.value()")
    return f"""
from checker.language import Constant, Range, Refinement, Spec, action, require

class X(Range):
    low, high = 0, "most"

class Bit(Range):
    low, high = 0, 1

class Part(Range):
    low, high = 0, 2

class Abstract(Spec):
    most = Constant({chosen.randint(3, 5)})
    x = X
    done = bool

    def init(self, done: bool, x: Bit):
        require(x < {chosen.randint(1, 2)})
        self.x = x
        self.done = done

{chr(10).join(actions).replace("  # end", "")}

def value(self):
    return self.low + 2 * self.high

class Concrete(Spec):
    most = Constant({chosen.randint(4, 6)})
    low = Bit
    high = Part
    done = bool

    refines = {mapped}

    def value(self):
        return self.low + 2 * self.high

    def put(self, number):
        self.low = number % 2
        self.high = number // 2

{concrete}

    @action
    def stay(self, done: bool):
        require(done == self.done)
"""


def _action(name: str, chosen: random.Random) -> str:
    guard = chosen.choice(["self.x < 3", "self.x > 0", "self.done", "not self.done", "self.x != by", "True"])
    effect = chosen.choice(
        [
            "self.x = (self.x + by) % 4  # end",
            "self.x = min(self.x + by, 3)  # end",
            "self.x = self.x + by  # end",
            "self.x = 3 - self.x  # end",
            "self.x = by  # end",
        ]
    )
    flip = "        self.done = not self.done\n" if chosen.random() < 0.5 else ""
    return f"    @action\n    def {name}(self, by: Bit):\n        require({guard})\n        {effect}\n{flip}"


def compare(seed: int, folder: Path) -> tuple[str, int | None]:
    """Compare the engines on a random refinement; return the verdict, and the length of the first counterexample."""
    concrete: type[Spec] = load(random_source(seed), folder).Concrete
    plan = Plan(("refines",), stop="all")
    slow = explorer.explore(concrete(), plan)
    fast = native.explore(concrete(), plan)
    assert _facts(slow) == _facts(fast), f"seed {seed}"
    return slow.verdict, slow.violations[0].length if slow.violations else None


def compare_all(seeds: Iterable[int], folder: Path) -> list[tuple[str, int | None]]:
    """Return the outcomes of `compare`."""
    return [compare(seed, folder) for seed in seeds]


def _facts(result: Result) -> object:
    found = [(violation.property, violation.kind, violation.length) for violation in result.violations]
    explored = (result.distinct_states, result.levels, result.generated_states, result.ended)
    # After an error the engines may end in another round of the same level.
    return found[:1], result.verdict, None if result.verdict == "error" else explored


def test_random_refinements_have_the_same_verdict_on_both_engines(tmp_path: Path) -> None:
    outcomes = compare_all(SEEDS, tmp_path)
    assert {verdict for verdict, _ in outcomes} == {"holds", "violated", "error"}
    # Some are violated by an initial state, some by a later step.
    lengths = {length for verdict, length in outcomes if verdict == "violated"}
    assert 1 in lengths and len(lengths) > 1


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_random_refinements_have_the_same_verdict_on_both_engines(part: int, tmp_path: Path) -> None:
    compare_all(range(part, SLOW_SEEDS, 4), tmp_path)


def _without_stuttering(emit: object, left: object, right: object, words: int) -> bool:
    return False


def _without_failures(function: ir.IrFunction) -> None:
    ir.IRBuilder(function.append_basic_block("entry")).ret_void()


def _with_any_successor(function: ir.IrFunction, words: int) -> None:
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    search = builder.bitcast(function.args[0], refinements._SEARCH.as_pointer())
    builder.store(ir.ConstantValue(refinements.I64, 1), struct_field(builder, search, refinements._FOUND))
    builder.ret_void()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_same_words", _without_stuttering),
        ("_define_fail", _without_failures),
        ("_define_emit", _with_any_successor),
    ],
)
def test_a_wrong_comparison_is_detected(name: str, wrong: object, tmp_path: Path) -> None:
    with mock.patch.object(refinements, name, wrong), pytest.raises(AssertionError, match="seed"):
        compare_all(reversed(SEEDS), tmp_path)
