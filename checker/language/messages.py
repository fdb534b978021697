"""The `says=` texts of properties: f-strings over the state, the arguments and the names that a property binds."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable, Iterator
from typing import Any

from checker.language.roles import message_of
from checker.language.source import Source, source_of


def message_tree(text: str) -> ast.JoinedStr:
    """Return the syntax tree of a `says=` text; raise SyntaxError if it is not an f-string."""
    quotes = next((quote for quote in ('"""', "'''") if quote not in text and not text.endswith(quote[0])), None)
    if quotes is None:
        raise SyntaxError("both kinds of quotes are in the text, or at its end")
    tree = ast.parse(f"fr{quotes}{text}{quotes}", mode="eval").body
    assert isinstance(tree, ast.JoinedStr)
    return tree


@functools.lru_cache(maxsize=1 << 10)
def check_message(spec_class: type, function: Callable[..., Any]) -> None:
    """Raise SpecError if the `says=` text of a property is not an f-string, or uses a name that does not exist."""
    text = message_of(function)
    if not text:
        return
    source = source_of(function)
    place = _place(source)
    if not isinstance(text, str):
        raise source.error(place, f"says= of {function.__name__} is not a text: write what a failure means, in quotes")
    try:
        tree = message_tree(text)
    except SyntaxError as error:
        message = f"says= of {function.__name__} is not the text of an f-string: {error.msg}"
        raise source.error(place, message) from None
    bound = set(_names_of_bindings(tree)) | _names_of_method(spec_class, function)
    first = function.__code__.co_varnames[: function.__code__.co_argcount]
    states = {"self", "old"}.intersection(first)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in bound and not hasattr(builtins, node.id):
            message = (
                f"says= of {function.__name__} uses {node.id}, which has no value there: "
                f"use {', '.join(first)}, a name that the method binds, or a name of the module"
            )
            raise source.error(place, message)
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in states):
            continue
        if not hasattr(spec_class, node.attr):
            message = f"says= of {function.__name__} uses {ast.unparse(node)}, which the spec does not have"
            raise source.error(place, message)


def _place(source: Source) -> ast.AST:
    """Return the `says=` argument of a property's decorator; without it, the method."""
    calls = [node for node in source.tree.decorator_list if isinstance(node, ast.Call)]
    says = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "says"]
    return says[0] if says else source.tree


def _names_of_method(spec_class: type, function: Callable[..., Any]) -> set[str]:
    """Return the names that a method and its helpers bind or know: an explanation may end inside a helper."""
    names: set[str] = set()
    seen: set[Callable[..., Any]] = set()
    waiting = [function]
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        tree = source_of(function).tree
        names |= {*function.__globals__, *_names_of_bindings(tree)}
        waiting += _calls(spec_class, function, tree)
    return names


def _names_of_bindings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is not None:
            yield node.name


def _calls(spec_class: type, function: Callable[..., Any], tree: ast.AST) -> Iterator[Callable[..., Any]]:
    """Iterate over the methods and functions of specs that a function may call."""
    for node in ast.walk(tree):
        called: Any = None
        if isinstance(node, ast.Attribute):
            called = getattr(spec_class, node.attr, None)
        elif isinstance(node, ast.Name):
            called = function.__globals__.get(node.id)
        is_plain = callable(called) and hasattr(called, "__code__")
        if is_plain and not called.__module__.startswith("checker.language"):
            yield called
