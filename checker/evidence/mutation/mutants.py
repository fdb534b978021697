"""The mutants of a spec: every mutation of its actions and of the helpers that they call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from checker.evidence.mutation.operators import Mutation, mutations
from checker.language.roles import PROPERTY_ROLES, Role
from checker.language.source import source_of
from checker.language.spec import Spec


@dataclass(frozen=True)
class Method:
    """A function that steps of a spec run: an action, `init` or a helper.

    `owner` is the class that defines it; None for a function of a module.
    """

    function: FunctionType
    owner: type | None

    @property
    def name(self) -> str:
        """The qualified name, for example `Kip320.may_follow`."""
        return self.function.__qualname__


@dataclass(frozen=True)
class Mutant:
    """A method with one mutation; `is_shared`: properties run the method too."""

    method: Method
    mutation: Mutation
    file: str
    is_shared: bool


def mutants_of(spec: type[Spec]) -> list[Mutant]:
    """Return the mutants of a spec: the methods of the most basic class first, each method from the top down."""
    steps = _reachable_methods(spec, [name for name, role in spec.roles.items() if role is Role.ACTION] + ["init"])
    of_properties = set(_reachable_methods(spec, [name for name, role in spec.roles.items() if role in PROPERTY_ROLES]))
    mutants = []
    for method in steps:
        source = source_of(method.function)
        is_shared = method in of_properties
        mutants += [Mutant(method, mutation, source.file, is_shared) for mutation in mutations(source.tree)]
    return mutants


def _reachable_methods(spec: type[Spec], names: list[str]) -> list[Method]:
    """Return the methods that the named methods of a spec call, directly or indirectly, including themselves.

    Methods of the most basic class come first, module functions last.
    """
    methods: dict[Method, None] = {}
    open_methods = [method for name in names if (method := _method(spec, name, after=None)) is not None]
    while open_methods:
        method = open_methods.pop(0)
        if method not in methods:
            methods[method] = None
            open_methods += _calls(spec, method)
    return sorted(
        methods, key=lambda method: (_inheritance_rank(spec, method), method.function.__code__.co_firstlineno)
    )


def _inheritance_rank(spec: type[Spec], method: Method) -> int:
    """Return a number that is smaller for a more basic class, and largest for module functions."""
    order = spec.__mro__
    return len(order) - order.index(method.owner) if method.owner is not None else len(order)


def _method(spec: type[Spec], name: str, after: type | None) -> Method | None:
    order = spec.__mro__
    for owner in order[order.index(after) + 1 :] if after is not None else order:
        function = vars(owner).get(name)
        if isinstance(function, FunctionType) and issubclass(owner, Spec) and owner is not Spec:
            return Method(function, owner)
    return None


def _calls(spec: type[Spec], method: Method) -> Iterator[Method]:
    tree = source_of(method.function).tree
    receiver = tree.args.args[0].arg if method.owner is not None and tree.args.args else None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            method_called = _callee(spec, method, receiver, node.func)
            if method_called is not None:
                yield method_called


def _callee(spec: type[Spec], method: Method, receiver: str | None, called: ast.expr) -> Method | None:
    if isinstance(called, ast.Name):
        return _plain(method.function.__globals__.get(called.id))
    if not isinstance(called, ast.Attribute):
        return None
    owner = called.value
    if isinstance(owner, ast.Name) and owner.id in (receiver, "old"):
        return _method(spec, called.attr, after=None)
    is_super = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
    return _method(spec, called.attr, after=method.owner) if is_super else None


def _plain(function: Any) -> Method | None:
    is_of_spec = isinstance(function, FunctionType) and not function.__module__.startswith("checker.language")
    return Method(function, None) if is_of_spec else None
