"""Collections that Python itself holds while a method runs, and not the state: displays, comprehensions, unions, sums.

The interpreter has no say in them. Python goes over its own sets in an order of no meaning, and counts a negative index
of its own lists from the end; both are refused where they could matter.
"""

from __future__ import annotations

from collections.abc import Collection

from checker.ir import nodes
from checker.language.types import BagType, MapType, SeqType, SetType

COLLECTIONS = (SetType, SeqType, BagType, MapType)


class LocalCollections:
    """Which locals and helpers of a spec may give a collection of Python's own."""

    def __init__(self) -> None:
        self.sources: set[nodes.Local | nodes.Function] = set()

    def has(self, value: nodes.Expr) -> bool:
        """Say whether a value may be a collection of Python's own."""
        if not isinstance(value.type, COLLECTIONS):
            return False
        if isinstance(value, nodes.LocalRead):
            return value.local in self.sources
        if isinstance(value, nodes.HelperCall):
            return value.function in self.sources
        if isinstance(value, nodes.Conditional):
            return self.has(value.then) or self.has(value.otherwise)
        if isinstance(value, (nodes.SeqSlice, nodes.Convert, nodes.IndexRead)):
            return self.has(value.base)
        return isinstance(value, (nodes.ItemsOf, nodes.Fold, nodes.SetOperation, nodes.SeqConcat, nodes.Sorted))

    def note(self, source: nodes.Local | nodes.Function, values: Collection[nodes.Expr]) -> bool:
        """Note what a local or a helper's result may be; return whether that is new."""
        if source in self.sources or not any(self.has(value) for value in values):
            return False
        self.sources.add(source)
        return True
