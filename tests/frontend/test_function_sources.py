"""The source of a function is found wherever a statement may define it."""

import ast
import pickle
from pathlib import Path

from checker.ir.nodes import Site
from checker.language.source import child_nodes, source_of, walked
from tests.support.source_modules import load

TEXT = """
import contextlib

found = []


def keep(function):
    found.append(function)
    return function


if found:
    pass
else:
    @keep
    def in_else(): pass
try:
    @keep
    def in_try(): pass
    raise KeyError
except KeyError:
    @keep
    def in_except(): pass
else:
    pass
finally:
    @keep
    def in_finally(): pass
for _ in [1]:
    @keep
    def in_for(): pass
else:
    @keep
    def in_else_of_for(): pass
while len(found) < 7:
    @keep
    def in_while(): pass
with contextlib.nullcontext():
    class Outer:
        class Inner:
            @staticmethod
            @keep
            def in_inner(): pass
match 3:
    case 4:
        pass
    case _:
        @keep
        def in_case():
            @keep
            def in_function(): pass
in_case()
"""


def test_every_function_of_a_file_has_its_source(tmp_path):
    module = load(TEXT, tmp_path)
    names = [node.name for node in ast.walk(ast.parse(TEXT)) if isinstance(node, ast.FunctionDef)]
    assert sorted(function.__name__ for function in module.found) == sorted(set(names) - {"keep"})
    assert [source_of(function).tree.name for function in module.found] == [each.__name__ for each in module.found]


def test_nodes_are_walked_as_by_the_standard_library():
    for path in Path(__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text())
        assert list(walked(tree)) == list(ast.walk(tree))
        assert all(child_nodes(node) == list(ast.iter_child_nodes(node)) for node in ast.walk(tree))


def test_the_text_of_a_site_is_computed_once_and_only_if_it_is_read():
    computed = []

    def text():
        computed.append(1)
        return "self.x"

    site, other = Site("a.py", 3, text), Site("a.py", 4, text)
    assert site != other and hash(site) == hash(Site("a.py", 3, "self.y")) and computed == []
    assert site == Site("a.py", 3, "self.x") and site != Site("a.py", 3, "self.y") and site.text == "self.x"
    assert pickle.loads(pickle.dumps(other)) == other
    assert len(computed) == 2
