"""Protocols of the parts of the front end that depend on each other.

Typing is recursive: an expression contains calls, a call contains expressions and may name a helper, and a helper has a
body of its own. These protocols let the modules import each other in one direction only: type_relations,
python_collections, scope, typers, call_typing, expression_typing, statement_typing, program.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import Protocol

from checker.frontend.python_collections import PythonCollections
from checker.frontend.scope import TypingScope
from checker.ir import nodes
from checker.language.spec import Spec
from checker.language.types import Type


class HelperTyper(Protocol):
    """Types the helpers that methods call: `checker.frontend.program.FrontendCompiler`."""

    spec: Spec
    python_collections: PythonCollections
    runtime_constants: Mapping[str, int | None]

    def method_call(
        self, typer: ExpressionTyper, node: ast.Call, root: str | None, name: str, after: type | None
    ) -> nodes.Expr:
        """Return a call of a helper method: of `self`, `old`, or `super()` (then looked up after the class `after`)."""

    def function_call(self, typer: ExpressionTyper, node: ast.Call, function: types.FunctionType) -> nodes.Expr:
        """Return a call of a function outside the spec."""

    def annotation(self, scope: TypingScope, annotation: ast.expr) -> Type | None:
        """Return the type that an annotation declares, None for `int`; raise SpecError if it declares none."""


class ExpressionTyper(Protocol):
    """Types the expressions of one function: `checker.frontend.expression_typing.ExpressionTyping`."""

    compiler: HelperTyper
    scope: TypingScope

    def expression(self, node: ast.expr, wanted: Type | None = None) -> nodes.Expr:
        """Return the typed form of an expression; `wanted` guides displays and comprehensions."""

    def converted(self, node: ast.expr, wanted: Type) -> nodes.Expr:
        """Return an expression as a value of `wanted`."""

    def condition(self, node: ast.expr) -> nodes.Expr:
        """Return an expression that must be a bool."""

    def integer(self, node: ast.expr) -> nodes.Expr:
        """Return an expression that must be an integer; an option of one is unwrapped."""

    def as_integer(self, node: ast.expr, value: nodes.Expr) -> nodes.Expr:
        """Return a value that must be an integer; an option of one is unwrapped."""

    def unwrapped(self, value: nodes.Expr) -> nodes.Expr:
        """Return the value inside an option (an error if it is None); other values unchanged."""

    def root_of(self, node: ast.expr) -> str | None:
        """Return "self" or "old" if the node names a state, else None."""

    def arithmetic(self, node: ast.AST, operator: str, left: nodes.Expr, right: nodes.Expr) -> nodes.Expr:
        """Return a sum, difference, product, quotient or remainder of two integers."""

    def concatenation(self, node: ast.AST, left: nodes.Expr, right: nodes.Expr) -> nodes.Expr:
        """Return one sequence after the other."""

    def equality(self, node: ast.AST, symbol: str, left: nodes.Expr, right: nodes.Expr) -> nodes.Expr:
        """Return `==` or `!=` of two values of one type."""
