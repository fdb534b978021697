"""Both engines run a mutated method, and the original is restored afterwards."""

import linecache

from checker.engines.native import engine
from checker.engines.python import explorer
from checker.evidence.mutation.injection import mutated
from checker.evidence.mutation.mutants import mutants_of
from checker.language.source import source_of
from checker.run.plan import Plan
from tests.evidence.mutation import toy

EXPLORE = [engine.explore, explorer.explore]


def explored(explore):
    result = explore(toy.Even(), Plan(("at_most_two", "is_two"), stop="all"))
    return result.distinct_states, result.verdict


def the_mutant(method, operator, before, after=None):
    (found,) = [
        mutant
        for mutant in mutants_of(toy.Even)
        if (mutant.method.name, mutant.mutation.operator) == (method, operator)
        and mutant.mutation.before == before
        and after in (None, mutant.mutation.after)
    ]
    return found


def test_engines_agree_on_every_mutant():
    original = explored(engine.explore)
    assert original == (3, "holds")
    seen = set()
    for mutant in mutants_of(toy.Even):
        with mutated(mutant.method.function, mutant.mutation.tree):
            native, python = (explored(explore) for explore in EXPLORE)
        assert native[1] == python[1], mutant
        if native[1] != "error":
            assert native == python, mutant
        seen.add(native)
        assert explored(engine.explore) == original
    assert len(seen) > 3


def test_base_method_called_by_super_is_mutated():
    mutant = the_mutant("Counting.may_count", "negate a condition", "self.count[node] < self.limit")
    with mutated(mutant.method.function, mutant.mutation.tree):
        assert {explored(explore) for explore in EXPLORE} == {(1, "violated")}


def test_mutant_without_its_super_call_keeps_its_closure():
    connective = "super().may_count(node) and self.count[node] != 2"
    mutant = the_mutant("Even.may_count", "drop an operand", connective, "self.count[node] != 2")
    with mutated(mutant.method.function, mutant.mutation.tree) as file:
        assert source_of(toy.Even.may_count).file == file
        assert {explored(explore) for explore in EXPLORE} == {(3, "holds")}
    assert file not in linecache.cache


def test_module_function_is_mutated():
    (mutant,) = [
        mutant
        for mutant in mutants_of(toy.Even)
        if mutant.method.name == "successor" and (mutant.mutation.before, mutant.mutation.after) == ("1", "0")
    ]
    with mutated(mutant.method.function, mutant.mutation.tree):
        assert {explored(explore) for explore in EXPLORE} == {(1, "violated")}


def test_methods_that_only_properties_call_are_not_mutated():
    names = {mutant.method.name for mutant in mutants_of(toy.Even)}
    assert names == {"Counting.may_count", "Counting.increment", "Even.may_count", "successor"}
    assert not any(mutant.is_shared for mutant in mutants_of(toy.Even))
