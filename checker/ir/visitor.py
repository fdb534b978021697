"""Visitors: one method per class of expression and of statement.

An engine implements a visitor by subclassing it. The methods are abstract, so a class that lacks one cannot be
instantiated, and mypy reports it. `tests/ir/test_visitor.py` checks that every node class has a method. A new node
therefore needs three changes: the class in `nodes.py`, a method here, and a handler in every engine.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from checker.ir import nodes

Result = TypeVar("Result")

_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")
_KEYWORDS = frozenset({"not", "if", "for", "return", "break", "continue"})


def method_name(node_class: type[nodes.Expr | nodes.Stmt]) -> str:
    """Return the name of the visitor method for a node class: snake case, with `_` after a Python keyword."""
    name = _WORD_START.sub("_", node_class.__name__).lower()
    return f"{name}_" if name in _KEYWORDS else name


# Lowering is part of every run: a table look-up costs less than a chain of some thirty class patterns.
EXPRESSION_METHODS: dict[type[nodes.Expr], str] = {found: method_name(found) for found in nodes.Expr.__subclasses__()}
STATEMENT_METHODS: dict[type[nodes.Stmt], str] = {found: method_name(found) for found in nodes.Stmt.__subclasses__()}


class ExpressionVisitor(ABC, Generic[Result]):
    """Computes a `Result` from an expression: `visit` calls the method named after the node's class."""

    def visit(self, node: nodes.Expr, /) -> Result:
        """Return the result for an expression."""
        return cast(Result, getattr(self, EXPRESSION_METHODS[type(node)])(node))

    # Reads.

    @abstractmethod
    def literal(self, node: nodes.Literal, /) -> Result:
        """Visit a constant value."""

    @abstractmethod
    def local_read(self, node: nodes.LocalRead, /) -> Result:
        """Visit a read of a local variable or parameter."""

    @abstractmethod
    def state_read(self, node: nodes.StateRead, /) -> Result:
        """Visit a read of a state variable."""

    @abstractmethod
    def constant_read(self, node: nodes.ConstantRead, /) -> Result:
        """Visit a read of a constant that is known only at run time."""

    @abstractmethod
    def field_read(self, node: nodes.FieldRead, /) -> Result:
        """Visit a read of a struct's field."""

    @abstractmethod
    def index_read(self, node: nodes.IndexRead, /) -> Result:
        """Visit `base[index]` on a map or sequence."""

    @abstractmethod
    def convert(self, node: nodes.Convert, /) -> Result:
        """Visit a conversion to another type."""

    # Integers and bools.

    @abstractmethod
    def arithmetic(self, node: nodes.Arithmetic, /) -> Result:
        """Visit `+`, `-`, `*`, `//` or `%` of integers."""

    @abstractmethod
    def extremum(self, node: nodes.Extremum, /) -> Result:
        """Visit `min` or `max` of integer arguments."""

    @abstractmethod
    def comparison(self, node: nodes.Comparison, /) -> Result:
        """Visit `==`, `!=`, `<`, `<=`, `>` or `>=`."""

    @abstractmethod
    def logical(self, node: nodes.Logical, /) -> Result:
        """Visit `and` or `or`."""

    @abstractmethod
    def not_(self, node: nodes.Not, /) -> Result:
        """Visit `not`."""

    @abstractmethod
    def conditional(self, node: nodes.Conditional, /) -> Result:
        """Visit `then if test else otherwise`."""

    # Queries of collections.

    @abstractmethod
    def contains(self, node: nodes.Contains, /) -> Result:
        """Visit `item in container`."""

    @abstractmethod
    def is_alternative(self, node: nodes.IsAlternative, /) -> Result:
        """Visit a test of the alternative of a union."""

    @abstractmethod
    def length(self, node: nodes.Length, /) -> Result:
        """Visit `len(container)`."""

    @abstractmethod
    def count(self, node: nodes.Count, /) -> Result:
        """Visit `container.count(item)`."""

    @abstractmethod
    def index_of(self, node: nodes.IndexOf, /) -> Result:
        """Visit `container.index(item)`."""

    @abstractmethod
    def subset(self, node: nodes.Subset, /) -> Result:
        """Visit `<=` or `<` of sets."""

    # Constructors of structs and collections.

    @abstractmethod
    def struct_new(self, node: nodes.StructNew, /) -> Result:
        """Visit the construction of a struct."""

    @abstractmethod
    def struct_replace(self, node: nodes.StructReplace, /) -> Result:
        """Visit a struct with some fields replaced."""

    @abstractmethod
    def map_build(self, node: nodes.MapBuild, /) -> Result:
        """Visit a map built from a function of its key."""

    @abstractmethod
    def map_items(self, node: nodes.MapItems, /) -> Result:
        """Visit a map built from one value per key."""

    @abstractmethod
    def items_of(self, node: nodes.ItemsOf, /) -> Result:
        """Visit a set or sequence display."""

    @abstractmethod
    def set_operation(self, node: nodes.SetOperation, /) -> Result:
        """Visit `|`, `&`, `-` or `^` of sets."""

    @abstractmethod
    def set_remove(self, node: nodes.SetRemove, /) -> Result:
        """Visit the removal of an item from a set or bag."""

    @abstractmethod
    def bag_add(self, node: nodes.BagAdd, /) -> Result:
        """Visit the addition of an item to a bag."""

    @abstractmethod
    def seq_insert(self, node: nodes.SeqInsert, /) -> Result:
        """Visit the insertion of an item into a sequence."""

    @abstractmethod
    def seq_delete(self, node: nodes.SeqDelete, /) -> Result:
        """Visit the deletion of an item from a sequence."""

    @abstractmethod
    def seq_slice(self, node: nodes.SeqSlice, /) -> Result:
        """Visit a slice of a sequence, or the deletion of one."""

    @abstractmethod
    def seq_concat(self, node: nodes.SeqConcat, /) -> Result:
        """Visit the concatenation of two sequences."""

    @abstractmethod
    def sorted(self, node: nodes.Sorted, /) -> Result:
        """Visit `sorted(base)`."""

    # Comprehensions and calls.

    @abstractmethod
    def fold(self, node: nodes.Fold, /) -> Result:
        """Visit a comprehension."""

    @abstractmethod
    def helper_call(self, node: nodes.HelperCall, /) -> Result:
        """Visit the call of a helper method."""

    @abstractmethod
    def refines(self, node: nodes.Refines, /) -> Result:
        """Visit the comparison of a step with an abstract program."""


def _passed(subject: str, name: str) -> Callable[[Any, Any], Any]:
    """Return a method of a visitor that passes its node to the method `name` of the object in an attribute."""

    def method(visitor: Any, node: nodes.Expr) -> Any:
        return getattr(getattr(visitor, subject), name)(node)

    return method


class SubjectVisitor(ExpressionVisitor[Result]):
    """Passes each expression to the object of its subject, which has a method of the same name.

    A subclass has an attribute for each subject: `places`, `scalars`, `structs`, `collections`, `sets`,
    `comprehensions` and `calls`.
    """

    literal = _passed("places", "literal")
    local_read = _passed("places", "local_read")
    state_read = _passed("places", "state_read")
    constant_read = _passed("places", "constant_read")
    field_read = _passed("places", "field_read")
    index_read = _passed("places", "index_read")
    convert = _passed("places", "convert")
    arithmetic = _passed("scalars", "arithmetic")
    extremum = _passed("scalars", "extremum")
    comparison = _passed("scalars", "comparison")
    logical = _passed("scalars", "logical")
    not_ = _passed("scalars", "not_")
    conditional = _passed("scalars", "conditional")
    is_alternative = _passed("structs", "is_alternative")
    struct_new = _passed("structs", "struct_new")
    struct_replace = _passed("structs", "struct_replace")
    map_build = _passed("structs", "map_build")
    map_items = _passed("structs", "map_items")
    contains = _passed("collections", "contains")
    length = _passed("collections", "length")
    count = _passed("collections", "count")
    index_of = _passed("collections", "index_of")
    items_of = _passed("collections", "items_of")
    set_remove = _passed("collections", "set_remove")
    bag_add = _passed("collections", "bag_add")
    seq_insert = _passed("collections", "seq_insert")
    seq_delete = _passed("collections", "seq_delete")
    seq_slice = _passed("collections", "seq_slice")
    seq_concat = _passed("collections", "seq_concat")
    sorted = _passed("collections", "sorted")
    subset = _passed("sets", "subset")
    set_operation = _passed("sets", "set_operation")
    fold = _passed("comprehensions", "fold")
    helper_call = _passed("calls", "helper_call")


class StatementVisitor(ABC):
    """Executes or emits statements: `visit` calls the method named after the node's class."""

    def visit(self, node: nodes.Stmt) -> None:
        """Handle one statement."""
        getattr(self, STATEMENT_METHODS[type(node)])(node)

    def visit_all(self, body: tuple[nodes.Stmt, ...]) -> None:
        """Handle statements in order."""
        for statement in body:
            getattr(self, STATEMENT_METHODS[type(statement)])(statement)

    @abstractmethod
    def assign_local(self, node: nodes.AssignLocal) -> None:
        """Visit an assignment to a local variable."""

    @abstractmethod
    def assign_place(self, node: nodes.AssignPlace) -> None:
        """Visit an assignment to a place in the state."""

    @abstractmethod
    def if_(self, node: nodes.If) -> None:
        """Visit a two-way branch."""

    @abstractmethod
    def for_(self, node: nodes.For) -> None:
        """Visit a loop."""

    @abstractmethod
    def require(self, node: nodes.Require) -> None:
        """Visit a guard of an action."""

    @abstractmethod
    def return_(self, node: nodes.Return) -> None:
        """Visit the end of a function."""

    @abstractmethod
    def break_(self, node: nodes.Break) -> None:
        """Visit the end of a loop."""

    @abstractmethod
    def continue_(self, node: nodes.Continue) -> None:
        """Visit the end of one iteration of a loop."""

    @abstractmethod
    def do(self, node: nodes.Do) -> None:
        """Visit a helper call used as a statement."""
