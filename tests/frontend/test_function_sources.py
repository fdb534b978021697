"""The source of a function is found wherever a statement may define it."""

import ast
import importlib.util

from checker.language.source import source_of

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
    path = tmp_path / "functions.py"
    path.write_text(TEXT)
    description = importlib.util.spec_from_file_location("functions", path)
    module = importlib.util.module_from_spec(description)
    description.loader.exec_module(module)
    names = [node.name for node in ast.walk(ast.parse(TEXT)) if isinstance(node, ast.FunctionDef)]
    assert sorted(function.__name__ for function in module.found) == sorted(set(names) - {"keep"})
    assert [source_of(function).tree.name for function in module.found] == [each.__name__ for each in module.found]
