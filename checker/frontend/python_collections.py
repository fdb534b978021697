"""Values that are Python's own sets and lists while the interpreter runs a method.

Displays, comprehensions, unions and concatenations make ordinary Python collections, which the interpreter does not
control until a variable stores them. Python does not define the order of its sets, and it counts a negative index of a
list from the end. The front end refuses both where the result could depend on them.
"""

from __future__ import annotations

from collections.abc import Collection

from checker.ir import nodes
from checker.language.types import BagType, MapType, SeqType, SetType

COLLECTIONS = (SetType, SeqType, BagType, MapType)


class PythonCollections:
    """The locals and helpers of a spec whose values may be Python's own collections."""

    def __init__(self) -> None:
        self._sources: set[nodes.Local | nodes.Function] = set()

    def may_hold(self, value: nodes.Expr) -> bool:
        """Return whether a value may be one of Python's own collections."""
        if not isinstance(value.type, COLLECTIONS):
            return False
        if isinstance(value, nodes.LocalRead):
            return value.local in self._sources
        if isinstance(value, nodes.HelperCall):
            return value.function in self._sources
        if isinstance(value, nodes.Conditional):
            return self.may_hold(value.then) or self.may_hold(value.otherwise)
        if isinstance(value, (nodes.SeqSlice, nodes.Convert, nodes.IndexRead)):
            return self.may_hold(value.base)
        return isinstance(value, (nodes.ItemsOf, nodes.Fold, nodes.SetOperation, nodes.SeqConcat, nodes.Sorted))

    def add(self, source: nodes.Local | nodes.Function) -> None:
        """Add a local or a helper."""
        self._sources.add(source)

    def note(self, source: nodes.Local | nodes.Function, values: Collection[nodes.Expr]) -> bool:
        """Note a local's values or a helper's results; return whether this adds the local or helper."""
        if source in self._sources or not any(self.may_hold(value) for value in values):
            return False
        self._sources.add(source)
        return True
