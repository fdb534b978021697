"""`match` as `if` and `elif`: each case is a test of the subject, and assignments of the parts that it names."""

from __future__ import annotations

import ast
import copy
from typing import TypeVar

from checker.frontend.scope import TypingScope

Node = TypeVar("Node", bound=ast.AST)


def if_chain(scope: TypingScope, node: ast.Match, subject: ast.Name) -> list[ast.stmt]:
    """Return the statements of a `match` of a local; raise SpecError for a pattern outside the language."""
    chain: list[ast.stmt] = []
    for case in reversed(node.cases):
        tests, bindings = _pattern(scope, case.pattern, subject)
        if case.guard is not None:
            tests = [*tests, _guard(scope, case.guard, bindings)]
        body = [*bindings, *case.body]
        if not tests:
            chain = body
            continue
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        chain = [_at(ast.If(_at(test, case.pattern), body, chain), case.pattern)]
    return chain


def _guard(scope: TypingScope, guard: ast.expr, bindings: list[ast.stmt]) -> ast.expr:
    """Return a guard as a test before the assignments of its pattern: with the parts in place of their names."""
    parts: dict[str, ast.expr] = {}
    for binding in bindings:
        assert isinstance(binding, ast.Assign) and isinstance(binding.targets[0], ast.Name)
        parts[binding.targets[0].id] = binding.value
    for name in parts:
        # Python assigns the parts before it evaluates the guard, so they are lost even if the guard is false.
        if name in scope.assigned:
            raise scope.error(guard, f"{name} has a value already: a pattern with a guard needs a new name")
    for node in ast.walk(guard):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in parts:
            raise scope.error(node, f"{node.id} is a part of the pattern: use another name in the comprehension")
    replaced: ast.expr = _PartReplacer(parts).visit(copy.deepcopy(guard))
    return _at(replaced, guard)


class _PartReplacer(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]):
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _at(copy.deepcopy(self._parts.get(node.id, node)), node)


def _pattern(scope: TypingScope, pattern: ast.pattern, value: ast.expr) -> tuple[list[ast.expr], list[ast.stmt]]:
    """Return the tests and the assignments of a pattern that is matched with a value."""
    match pattern:
        case ast.MatchAs(pattern=inner, name=name):
            tests, bindings = ([], []) if inner is None else _pattern(scope, inner, value)
            if name is not None:
                target = _at(ast.Name(name, ast.Store()), pattern)
                bindings = [*bindings, _at(ast.Assign([target], value), pattern)]
            return tests, bindings
        case ast.MatchClass(cls=struct, patterns=[]):
            return _struct(scope, pattern, struct, value)
        case ast.MatchClass():
            raise scope.error(pattern, "a pattern names the fields: case Fetch(replica=r)")
        case ast.MatchValue(value=constant):
            return [_at(ast.Compare(value, [ast.Eq()], [constant]), pattern)], []
        case ast.MatchSingleton(value=constant):
            operator = ast.Is() if constant is None else ast.Eq()
            return [_at(ast.Compare(value, [operator], [_at(ast.Constant(constant), pattern)]), pattern)], []
        case ast.MatchOr(patterns=choices):
            return _choice(scope, pattern, choices, value)
    raise scope.error(pattern, "this pattern is not part of the language: use case Fetch(replica=r), values, | and _")


def _struct(
    scope: TypingScope, pattern: ast.MatchClass, struct: ast.expr, value: ast.expr
) -> tuple[list[ast.expr], list[ast.stmt]]:
    function = _at(ast.Name("isinstance", ast.Load()), pattern)
    tests: list[ast.expr] = [_at(ast.Call(function, [value, struct], []), pattern)]
    bindings: list[ast.stmt] = []
    for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        more_tests, more_bindings = _pattern(scope, inner, _at(ast.Attribute(value, name, ast.Load()), inner))
        tests += more_tests
        bindings += more_bindings
    return tests, bindings


def _choice(
    scope: TypingScope, pattern: ast.MatchOr, choices: list[ast.pattern], value: ast.expr
) -> tuple[list[ast.expr], list[ast.stmt]]:
    if all(isinstance(choice, ast.MatchClass) and not choice.kwd_attrs for choice in choices):
        # One test of several structs, after which the subject is one of them.
        structs = _at(ast.Tuple([choice.cls for choice in choices if isinstance(choice, ast.MatchClass)]), pattern)
        function = _at(ast.Name("isinstance", ast.Load()), pattern)
        return [_at(ast.Call(function, [value, structs], []), pattern)], []
    parts = [_pattern(scope, choice, value) for choice in choices]
    if any(bindings for _, bindings in parts):
        raise scope.error(pattern, "a pattern with | names no parts: write a case for each")
    tests = [tests[0] if len(tests) == 1 else _at(ast.BoolOp(ast.And(), tests), pattern) for tests, _ in parts if tests]
    return [_at(ast.BoolOp(ast.Or(), tests), pattern)] if len(tests) == len(parts) else [], []


def _at(node: Node, place: ast.AST) -> Node:
    return ast.fix_missing_locations(ast.copy_location(node, place))
