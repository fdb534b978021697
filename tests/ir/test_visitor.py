"""The visitors have one method for every node class, and call it."""

import inspect
import keyword
from typing import Any
from unittest.mock import MagicMock

import pytest

from checker.engines.native.lowering.expressions import ExpressionLowering
from checker.engines.smt.lowering.expressions import SymbolicExpressions
from checker.engines.smt.unbounded.lowering.expressions import QuantifiedExpressions
from checker.ir import nodes, visitor
from checker.ir.visitor import ExpressionVisitor, StatementVisitor, SubjectVisitor


def node_classes(base: type) -> list[type]:
    """Return the concrete node classes that `checker.ir.nodes` defines."""
    found = [value for _, value in inspect.getmembers(nodes, inspect.isclass) if issubclass(value, base)]
    return [value for value in found if value is not base]


@pytest.mark.parametrize(("base", "kind"), [(nodes.Expr, ExpressionVisitor), (nodes.Stmt, StatementVisitor)])
def test_every_node_class_has_an_abstract_method(base: type, kind: type) -> None:
    """The abstract methods of a visitor are exactly the node classes, in snake case."""
    assert {visitor.method_name(found) for found in node_classes(base)} == set(kind.__abstractmethods__)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("base", "methods"),
    [(nodes.Expr, visitor.EXPRESSION_METHODS), (nodes.Stmt, visitor.STATEMENT_METHODS)],
)
def test_every_node_class_is_in_the_table(base: type, methods: dict[type, str]) -> None:
    """Dispatch is by the exact class: no class is missing, and no class of nodes has subclasses."""
    assert set(methods) == set(node_classes(base))
    assert not any(found.__subclasses__() for found in methods)


def test_method_names() -> None:
    """Names are in snake case; a Python keyword gets a trailing underscore."""
    assert visitor.method_name(nodes.HelperCall) == "helper_call"
    assert visitor.method_name(nodes.IndexOf) == "index_of"
    assert visitor.method_name(nodes.Not) == "not_"
    names = [*visitor.EXPRESSION_METHODS.values(), *visitor.STATEMENT_METHODS.values()]
    assert not any(keyword.iskeyword(name) for name in names)


def recording(kind: type) -> Any:
    """Return a visitor whose methods return their own name and the node."""

    def method(name: str) -> Any:
        return lambda self, node: (name, node)

    return type("Recording", (kind,), {name: method(name) for name in kind.__abstractmethods__})()  # type: ignore[attr-defined]


@pytest.mark.parametrize("node_class", node_classes(nodes.Expr), ids=lambda found: found.__name__)
def test_an_expression_is_passed_to_its_method(node_class: type[nodes.Expr]) -> None:
    """`visit` calls the method of the node's class and returns its result."""
    node = object.__new__(node_class)
    assert recording(ExpressionVisitor).visit(node) == (visitor.method_name(node_class), node)


def test_statements_are_passed_to_their_methods_in_order() -> None:
    """`visit_all` handles statements in the order of the source."""
    seen: list[nodes.Stmt] = []
    names = StatementVisitor.__abstractmethods__
    body = {name: lambda self, node: seen.append(node) for name in names}
    visits = type("Seen", (StatementVisitor,), body)()
    program = tuple(object.__new__(found) for found in visitor.STATEMENT_METHODS)
    visits.visit_all(program)
    visits.visit(program[0])
    assert [id(node) for node in seen] == [id(node) for node in (*program, program[0])]


def test_a_visitor_that_lacks_a_method_cannot_be_made() -> None:
    """A forgotten handler is an error when the engine is made, not when a spec uses the node."""
    with pytest.raises(TypeError, match="comparison"):
        type("Incomplete", (ExpressionVisitor,), {"visit": lambda self, node: node})()


@pytest.mark.parametrize("kind", [ExpressionLowering, SymbolicExpressions, QuantifiedExpressions])
def test_every_subject_has_the_methods_of_its_nodes(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of subjects leads to a method of the subject's object, in every engine that uses it."""
    lowering = kind(MagicMock(), MagicMock())
    for name, method in vars(SubjectVisitor).items():
        if name in ExpressionVisitor.__abstractmethods__ and getattr(kind, name) is method:
            calls: list[object] = []
            for subject in vars(lowering).values():
                if hasattr(type(subject), name):
                    monkeypatch.setattr(type(subject), name, lambda self, node, calls=calls: calls.append(node))
            method(lowering, node := object())
            assert calls == [node], name
