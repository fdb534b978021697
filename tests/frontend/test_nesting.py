"""Deeply nested expressions and helpers are compiled in linear time, or refused in a sentence."""

import sys
import time

import pytest

from checker.engines import both
from checker.engines.native import engine as native
from checker.engines.native.llvm import compiler
from checker.engines.python import explorer
from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.language.source import MOST_NESTED
from checker.run.plan import Plan
from tests.support.source_modules import load

TEXT = """from checker.language import Range, Spec, action, invariant

class Deep(Spec):
    x = Range(0, 3)
{helpers}
    @action
    def go(self):
        self.x = (self.x + 1) % 4

    @invariant
    def fine(self):
        return {expression}
"""


def deep_spec(folder, expression, helpers=""):
    return load(TEXT.format(expression=expression, helpers=helpers), folder).Deep()


def chained_helpers(count, last):
    chain = "".join(f"    def h{n}(self):\n        return self.h{n + 1}()\n" for n in range(count))
    return f"{chain}    def h{count}(self):\n        return {last}\n"


def nots(count, last):
    return "not " * count + last


def sums(count, bound):
    return " + ".join(["self.x"] * count) + f" < {bound}"


EXPRESSIONS = {
    "not": nots(900, "(self.x < 3)"),
    "sum": sums(500, 1500),
    "lines of a sum": "(" + sums(300, 900).replace(" + ", " +\n            ") + ")",
    "minus": "-" * 300 + "self.x < 3",
    "and": " and ".join(["self.x < 3"] * 300),
    "chain": "self.x < 3" + " <= 3" * 300,
    "lists": "len(" + " + ".join(["[self.x]", "[0, 3]"] * 100) + ") + self.x < 303",
    "brackets": "(self.x < 3 and " * 60 + "True" + ")" * 60,
    "conditions": "(True if self.x < 3 else " * 60 + "False" + ")" * 60,
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_engines_agree_on_a_deep_expression_and_explain_it(name, tmp_path):
    # Raises AssertionError if the engines differ.
    result = both.explore(deep_spec(tmp_path, EXPRESSIONS[name]), Plan(("fine",)))
    (violation,) = result.violations
    assert violation.length == 4
    assert "is false" in violation.explanation


LONG_EXPRESSIONS = {
    "numbers": f"len({{{', '.join(str(10**15 + 10**12 * number) for number in range(1400))}}}) + self.x < 1403",
    "unions": "self.x not in " + " | ".join(f"{{{number}}}" for number in range(3, 403)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_EXPRESSIONS)
def test_a_long_expression_is_compiled_in_seconds(name, tmp_path, monkeypatch):
    # LLVM took about a minute to optimise such a function.
    monkeypatch.setenv("TIDEMARK_CODE_CACHE", "off")
    began = time.process_time()
    (violation,) = native.explore(deep_spec(tmp_path, LONG_EXPRESSIONS[name]), Plan(("fine",))).violations
    assert violation.length == 4
    assert time.process_time() - began < 25


def test_a_large_function_is_compiled_without_optimisation(tmp_path, monkeypatch):
    monkeypatch.setenv("TIDEMARK_CODE_CACHE", "off")
    spec = deep_spec(tmp_path, EXPRESSIONS["lists"])
    usual, added = native.explore(spec, Plan(("fine",))), []
    monkeypatch.setattr(compiler, "_LARGE_FUNCTION", 20_000)
    compile_quickly = compiler._compile_quickly
    monkeypatch.setattr(compiler, "_compile_quickly", lambda found: added.append(found) or compile_quickly(found))
    found = native.explore(spec, Plan(("fine",)))
    assert "check_state" in [function.name for function in added]
    assert [str(step) for step in found.violations[0].trace] == [str(step) for step in usual.violations[0].trace]


def test_engines_agree_on_deep_helpers(tmp_path):
    spec = deep_spec(tmp_path, "self.h0()", chained_helpers(150, "self.x < 3"))
    (violation,) = both.explore(spec, Plan(("fine",))).violations
    assert violation.length == 4


@pytest.mark.parametrize("explore", [native.explore, explorer.explore])
@pytest.mark.parametrize("expression", [nots(MOST_NESTED, "True"), sums(MOST_NESTED, 9)])
def test_both_engines_refuse_what_is_nested_too_deeply(explore, expression, tmp_path):
    with pytest.raises(SpecError, match=r"Deep\.fine is nested more than 1,500 levels deep") as caught:
        explore(deep_spec(tmp_path, expression), Plan(("fine",)))
    assert caught.value.line == 12
    assert "^" in str(caught.value)


@pytest.mark.parametrize("expression", [nots, sums])
def test_time_of_the_front_end_is_linear(expression, tmp_path):
    def calls(count):
        total = 0

        def count_call(frame, event, argument):
            nonlocal total
            total += event in ("call", "c_call")

        spec = deep_spec(tmp_path, expression(count, 9 if expression is sums else "True"))
        sys.setprofile(count_call)
        try:
            compile_spec(spec)
        finally:
            sys.setprofile(None)
        return total

    calls(10)
    # Quadratic time would be four times as much.
    assert calls(1400) < 2.6 * calls(700)
