"""Values that are Python's own sets and lists while the interpreter runs a method.

Displays, comprehensions, unions and concatenations make ordinary Python collections, which the interpreter does not
control until a variable stores them. Python does not define the order of its sets, and it counts a negative index of a
list from the end. The front end refuses both where the result could depend on them.
"""

from __future__ import annotations

from collections.abc import Collection

from checker.ir import nodes
from checker.language.type_joins import without_option
from checker.language.types import BagType, MapType, SeqType, SetType, StructType, TupleType, Type

COLLECTIONS = (SetType, SeqType, BagType, MapType, TupleType)


class PythonCollections:
    """The locals and helpers of a spec whose values may be Python's own collections."""

    def __init__(self) -> None:
        self._sources: set[nodes.Local | nodes.Function | nodes.Literal] = set()
        self._ordered: set[nodes.Expr] = set()
        self._frozen: set[nodes.Expr | nodes.Local] = set()

    def may_hold(self, value: nodes.Expr) -> bool:
        """Return whether a value may be one of Python's own collections."""
        return isinstance(without_option(value.type), COLLECTIONS) and self.holds_parts(value)

    def add_ordered(self, value: nodes.Expr) -> None:
        """Add a comprehension that the interpreter evaluates to a collection of the language."""
        self._ordered.add(value)

    def holds_parts(self, value: nodes.Expr) -> bool:
        """Return whether a collection, or the collections in a struct, may be Python's own."""
        if not isinstance(without_option(value.type), (*COLLECTIONS, StructType)):
            return False
        if value in self._ordered:
            return False
        if isinstance(value, nodes.Literal):
            return value in self._sources
        if isinstance(value, nodes.LocalRead):
            return value.local in self._sources
        if isinstance(value, nodes.HelperCall):
            return value.function in self._sources
        if isinstance(value, nodes.Conditional):
            return self.holds_parts(value.then) or self.holds_parts(value.otherwise)
        if isinstance(value, (nodes.SeqSlice, nodes.Convert, nodes.IndexRead, nodes.FieldRead)):
            return self.holds_parts(value.base)
        if isinstance(value, nodes.StructNew):
            # The interpreter converts the fields of a new struct, and not the items of a new tuple.
            return isinstance(value.type, TupleType) and any(self.holds_parts(item) for item in value.values)
        return isinstance(value, (nodes.ItemsOf, nodes.Fold, nodes.SetOperation, nodes.SeqConcat, nodes.Sorted))

    def may_change(self, value: nodes.Expr) -> bool:
        """Return whether a value may be a set or list that Python cannot hash, and so not put into a set."""
        if not _contains_collection(value.type) or not self.holds_parts(value):
            return False
        if value in self._frozen or (isinstance(value, nodes.LocalRead) and value.local in self._frozen):
            return False
        if isinstance(value, nodes.SetOperation):
            # With a set of the state the result is a frozenset.
            operands = (value.left, value.right)
            return all(self.holds_parts(side) for side in operands) and any(map(self.may_change, operands))
        if isinstance(value, nodes.StructNew):
            return any(self.may_change(item) for item in value.values)
        if isinstance(value, nodes.Conditional):
            return self.may_change(value.then) or self.may_change(value.otherwise)
        return self.may_change(value.base) if isinstance(value, nodes.Convert) else True

    def add_frozen(self, value: nodes.Expr | nodes.Local) -> None:
        """Add the value of `frozenset(...)`, or a variable that has the items of a set."""
        self._frozen.add(value)

    def add(self, source: nodes.Local | nodes.Function | nodes.Literal) -> None:
        """Add a local, a helper, or the value of a name of the module."""
        self._sources.add(source)

    def note(self, source: nodes.Local | nodes.Function, values: Collection[nodes.Expr]) -> bool:
        """Note a local's values or a helper's results; return whether this adds the local or helper."""
        if source in self._sources or not any(self.holds_parts(value) for value in values):
            return False
        self._sources.add(source)
        return True


def _contains_collection(kind: Type) -> bool:
    """Return whether a value is a set, list or dict, or a tuple that contains one."""
    kind = without_option(kind)
    if isinstance(kind, TupleType):
        return any(map(_contains_collection, kind.items))
    return isinstance(kind, COLLECTIONS)
