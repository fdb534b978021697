"""Names say what a thing is: few variables are called `found`, and few functions begin with a participle."""

import ast
import functools

from tests.support.source_trees import modules, tree_of

PACKAGES = ("checker", "traces", "spark_analysis", "kafka_tools", "specs")

IRREGULAR = {
    "built",
    "chosen",
    "cut",
    "drawn",
    "found",
    "given",
    "held",
    "kept",
    "known",
    "lost",
    "made",
    "met",
    "seen",
}
IRREGULAR |= {"sent", "shown", "split", "taken", "told", "written"}
NO_PARTICIPLES = {"embed", "feed", "need", "seed", "speed"}


@functools.cache
def functions():
    nodes = (node for path in modules(*PACKAGES) for node in ast.walk(tree_of(path)))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def variables(function):
    """Return the names that a function assigns, those of its inner functions among them."""
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def begins_with_a_participle(name):
    word = name.strip("_").split("_")[0]
    return word in IRREGULAR or (word.endswith("ed") and word not in NO_PARTICIPLES)


def test_few_variables_are_called_found():
    names = [name for function in functions() for name in variables(function)]
    assert len(names) > 10_000
    assert names.count("found") <= len(names) * 0.005


def test_few_functions_begin_with_a_participle():
    names = [function.name for function in functions()]
    assert len(names) > 5_000
    assert sum(map(begins_with_a_participle, names)) <= len(names) * 0.04


def test_the_words_that_count():
    assert begins_with_a_participle("_declared") and begins_with_a_participle("sent_words")
    assert not begins_with_a_participle("seed_solvers") and not begins_with_a_participle("declare")
    (function,) = ast.parse("def f():\n    found = 1\n    return [found for found in (2,)]").body
    assert variables(function) == {"found"}
