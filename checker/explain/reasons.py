"""Explanation of an expression's truth value by the smallest deciding subexpression and its values.

The search follows the syntax tree of the expression with the values of one state: to the first false conjunct, to the
first bindings for which an `all(...)` fails, into the body of a helper, and so on. It ends at a part that has no
boolean parts, for example a comparison.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from checker.errors import UserError
from checker.explain.comparisons import comparison_text, deciding_links
from checker.explain.returned_calls import EvaluationScope, ReturnedCall, trace_call
from checker.language.roles import implies
from checker.language.source import source_of
from checker.language.values import show

_MOST_CALLS = 8
"""Largest depth of nested helper calls that the search follows."""


@dataclass(frozen=True)
class FailureReason:
    """The text that explains a truth value, and the variables bound around the deciding part.

    `parts` are the source texts of the deciding parts, without values.
    """

    text: str
    bindings: dict[str, Any] = field(default_factory=dict)
    parts: tuple[str, ...] = ()


def reason_of_call(returned: ReturnedCall, truth: bool) -> FailureReason:
    """Return why a traced call returned a value whose truth value is `truth`."""
    return _ReasonSearch(calls=0).returned(returned, truth)


def reason_of_expression(node: ast.expr, scope: EvaluationScope, truth: bool) -> FailureReason:
    """Return why an expression of a method has the truth value `truth`; the caller ensures that it has."""
    return _ReasonSearch(calls=0).explain(node, scope, truth)


class _ReasonSearch:
    """One search; `calls` is the depth of nested helper calls."""

    def __init__(self, calls: int):
        self._calls = calls

    def returned(self, returned: ReturnedCall, truth: bool) -> FailureReason:
        """Return why a method returned its value."""
        statement, scope = returned.statement, returned.scope
        if statement is None or statement.value is None:
            return FailureReason("the method ends without returning a truth value")
        if isinstance(statement.value, ast.Constant):
            return self._by_branches(returned, statement, truth)
        return self.explain(_with_locals_inlined(statement.value, returned.tree), scope, truth)

    def _by_branches(self, returned: ReturnedCall, statement: ast.Return, truth: bool) -> FailureReason:
        """Explain `return False` by the innermost `if` that led to it and the loop variables around it."""
        scope = returned.scope
        around = list(_statements_around(returned.tree, statement))
        loops = [node for node in around if isinstance(node, ast.For)]
        bound = {
            name: scope.names[name] for loop in loops for name in _target_names(loop.target) if name in scope.names
        }
        conditions = [node for node in around if isinstance(node, ast.If)]
        if not conditions:
            return FailureReason(f"the method returns {str(truth).lower()}", bound)
        innermost = conditions[-1]
        is_body = any(statement is node for child in innermost.body for node in ast.walk(child))
        inner = self.explain(innermost.test, scope.binding(bound), is_body)
        return FailureReason(inner.text, bound | inner.bindings, inner.parts)

    def explain(self, node: ast.expr, scope: EvaluationScope, truth: bool) -> FailureReason:
        """Return why an expression has the truth value `truth`."""
        match node:
            case ast.BoolOp(op=ast.And(), values=parts):
                return self._explain_connective(parts, scope, truth, stops_at=False)
            case ast.BoolOp(op=ast.Or(), values=parts):
                return self._explain_connective(parts, scope, truth, stops_at=True)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.explain(operand, scope, not truth)
            case ast.IfExp():
                branch = node.body if scope.evaluate(node.test) else node.orelse
                return self.explain(branch, scope, truth)
            case ast.Compare():
                return FailureReason(comparison_text(node, scope, truth), parts=deciding_links(node, scope, truth))
            case ast.Call():
                return self._explain_call(node, scope, truth)
        return _plain(node, scope, truth)

    def _explain_connective(
        self, parts: list[ast.expr], scope: EvaluationScope, truth: bool, *, stops_at: bool
    ) -> FailureReason:
        """Explain `and` (`stops_at` is False: the first false part decides) or `or` (True: the first true part)."""
        if truth is stops_at:
            decisive = next(part for part in parts if bool(scope.evaluate(part)) is truth)
            return self.explain(decisive, scope, truth)
        # In a false `not p or q`, the premise p holds: the explanation is about the conclusion q.
        is_implication = stops_at and not all(_is_negation(part) for part in parts)
        premises = [part for part in parts if is_implication and _is_negation(part)]
        explained = [part for part in parts if part not in premises]
        reasons = [self.explain(part, scope, truth) for part in explained]
        text = ", and ".join(reason.text for reason in reasons)
        if premises:
            text += f" (although {' and '.join(_premise_text(part, scope) for part in premises)})"
        bindings = {name: value for reason in reasons for name, value in reason.bindings.items()}
        return FailureReason(text, bindings, tuple(part for reason in reasons for part in reason.parts))

    def _explain_call(self, node: ast.Call, scope: EvaluationScope, truth: bool) -> FailureReason:
        match node:
            case ast.Call(func=ast.Name(id="all" | "any" as name), args=[ast.GeneratorExp() | ast.ListComp() as items]):
                return self._explain_quantifier(name, items, scope, truth)
            case ast.Call(func=ast.Name(id="bool"), args=[operand]):
                return self.explain(operand, scope, truth)
        function, receiver = _helper(node, scope)
        if function is implies and not truth:
            conclusion = self.explain(node.args[1], scope, False)
            text = f"{conclusion.text} (although {scope.text(node.args[0])})"
            return FailureReason(text, conclusion.bindings, conclusion.parts)
        if function is None or self._calls >= _MOST_CALLS:
            return _plain(node, scope, truth)
        return self._explain_helper(node, function, receiver, scope, truth)

    def _explain_helper(
        self,
        node: ast.Call,
        function: Callable[..., Any],
        receiver: tuple[Any, ...],
        scope: EvaluationScope,
        truth: bool,
    ) -> FailureReason:
        """Explain the result of a helper by its body, with the caller's expressions for its parameters if possible."""
        signature = inspect.signature(function)
        given = (*receiver, *(scope.evaluate(argument) for argument in node.args))
        named = {keyword.arg: scope.evaluate(keyword.value) for keyword in node.keywords if keyword.arg}
        arguments = signature.bind(*given, **named)
        arguments.apply_defaults()
        operands = [scope.in_caller_names(argument) for argument in (*_receiver_operand(node, receiver), *node.args)]
        named_operands = {keyword.arg: scope.in_caller_names(keyword.value) for keyword in node.keywords if keyword.arg}
        aliases = _aliases(function, signature.bind(*operands, **named_operands).arguments)
        returned = trace_call(function, arguments.args, aliases)
        inner = _ReasonSearch(self._calls + 1).returned(returned, truth)
        unnamed = {name: value for name, value in arguments.arguments.items() if name not in aliases and name != "self"}
        text = f"{_plain(node, scope, truth).text}: {inner.text}"
        return FailureReason(text, unnamed | inner.bindings, inner.parts)

    def _explain_quantifier(
        self, name: str, items: ast.GeneratorExp | ast.ListComp, scope: EvaluationScope, truth: bool
    ) -> FailureReason:
        """Explain a false `all` or a true `any` by its first deciding bindings, otherwise list the tried bindings."""
        if (name == "any") is not truth:
            return replace(_nothing_decides(name, items, scope), parts=(scope.text(items),))
        for inner in _inside(items.generators, scope):
            if bool(inner.evaluate(items.elt)) is truth:
                reason = self.explain(items.elt, inner, truth)
                new = {key: value for key, value in inner.bindings.items() if scope.bindings.get(key) is not value}
                return FailureReason(reason.text, new | reason.bindings, reason.parts)
        raise AssertionError(f"no item decides the value of {name}")


def _nothing_decides(name: str, items: ast.GeneratorExp | ast.ListComp, scope: EvaluationScope) -> FailureReason:
    element = scope.text(items.elt)
    variables = [variable for generator in items.generators for variable in _target_names(generator.target)]
    tried = [inner.bindings for inner in _inside(items.generators, scope)]
    over = " ".join(scope.text(generator).strip() for generator in items.generators)
    if name == "all":
        return FailureReason(f"{element} is true {over}" if tried else f"nothing exists {over}")
    if not tried:
        return FailureReason(f"no {', '.join(variables)} exists {over}")
    shown = [", ".join(f"{key} = {show(bound[key])}" for key in variables) for bound in tried[:6]]
    more = f" and {len(tried) - 6} more" if len(tried) > 6 else ""
    return FailureReason(f"{element} is false {over}: tried {'; '.join(shown)}{more}")


def _inside(generators: list[ast.comprehension], scope: EvaluationScope) -> Iterator[EvaluationScope]:
    """Iterate over the scopes that the `for` and `if` parts of a comprehension give its element."""
    if not generators:
        yield scope
        return
    first, *rest = generators
    for value in scope.evaluate(first.iter):
        inner = scope.binding(_unpack(first.target, value))
        if all(inner.evaluate(test) for test in first.ifs):
            yield from _inside(rest, inner)


def _unpack(target: ast.expr, value: Any) -> dict[str, Any]:
    if isinstance(target, ast.Name):
        return {target.id: value}
    assert isinstance(target, (ast.Tuple, ast.List))
    return {
        name: item
        for part, piece in zip(target.elts, value, strict=True)
        for name, item in _unpack(part, piece).items()
    }


def _target_names(target: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def _helper(node: ast.Call, scope: EvaluationScope) -> tuple[Callable[..., Any] | None, tuple[Any, ...]]:
    """Return the function of a spec that a call calls, and its `self` if it is a method; None for other functions."""
    try:
        called = scope.evaluate(node.func)
    except Exception:
        # The search treats a call that cannot be resolved as a part without boolean parts.
        return None, ()
    receiver = (called.__self__,) if inspect.ismethod(called) else ()
    function = called.__func__ if inspect.ismethod(called) else called
    if not inspect.isfunction(function):
        return None, ()
    if function is not implies and function.__module__.startswith("checker."):
        return None, ()
    return (function, receiver) if _has_source(function) else (None, ())


def _receiver_operand(node: ast.Call, receiver: tuple[Any, ...]) -> list[ast.expr]:
    """Return the caller's expression for the `self` of a method; for `super()` that is `self`."""
    if not receiver:
        return []
    assert isinstance(node.func, ast.Attribute)
    return [ast.Name("self") if isinstance(node.func.value, ast.Call) else node.func.value]


def _aliases(function: Callable[..., Any], operands: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """Return the parameters of a helper that can be replaced by the caller's expressions without a name clash."""
    assigned = {
        node.id
        for node in ast.walk(source_of(function).tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return {
        name: argument
        for name, argument in operands.items()
        if name not in assigned and _is_path(argument) and assigned.isdisjoint(_target_names(argument))
    }


def _is_path(node: ast.expr) -> bool:
    """Return whether an expression only names a value: `offset`, `self.leader`, `self.log[r]`, `0`."""
    allowed = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
    return all(isinstance(part, allowed) for part in ast.walk(node))


def _has_source(function: Callable[..., Any]) -> bool:
    try:
        source_of(function)
    except UserError:
        return False
    return True


def _is_negation(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _premise_text(node: ast.expr, scope: EvaluationScope) -> str:
    return scope.text(node.operand if isinstance(node, ast.UnaryOp) else node)


def _plain(node: ast.expr, scope: EvaluationScope, truth: bool) -> FailureReason:
    return FailureReason(f"{scope.text(node)} is {str(truth).lower()}", parts=(scope.text(node),))


def _statements_around(tree: ast.AST, wanted: ast.stmt) -> Iterator[ast.stmt]:
    """Iterate over the statements that contain `wanted`, the outermost first."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt) and any(node is wanted for node in ast.walk(child)):
            yield child
            yield from _statements_around(child, wanted)
            return


def _with_locals_inlined(node: ast.expr, tree: ast.FunctionDef) -> ast.expr:
    """Return the expression assigned to a returned local variable, if it is assigned exactly once."""
    if not isinstance(node, ast.Name):
        return node
    assigned = [
        statement.value
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Assign) and any(node.id in _target_names(target) for target in statement.targets)
    ]
    at_top = [statement for statement in tree.body if isinstance(statement, ast.Assign)]
    is_plain = len(assigned) == 1 and any(statement.value is assigned[0] for statement in at_top)
    return assigned[0] if is_plain else node
