"""Lowering of constructors of structs and maps."""

from __future__ import annotations

from checker.engines.smt.lowering.encoding import constant
from checker.engines.smt.lowering.evaluation import SymbolicSubject
from checker.engines.smt.lowering.integers import compare, concrete
from checker.engines.smt.lowering.logic import any_of
from checker.engines.smt.lowering.symbolic_values import SymbolicTuple, Value
from checker.ir import nodes
from checker.language.types import MapType, StructType, Type


class SymbolicStructs(SymbolicSubject):
    """Evaluates new structs and maps."""

    def struct_new(self, node: nodes.StructNew) -> Value:
        return SymbolicTuple(tuple(self.expressions.evaluate(value) for value in node.values))

    def struct_replace(self, node: nodes.StructReplace) -> Value:
        parts = list(self.expressions.evaluate(node.base).parts)
        for name, value in node.values:
            parts[field_index(node.type, name)] = self.expressions.evaluate(value)
        return SymbolicTuple(tuple(parts))

    def is_alternative(self, node: nodes.IsAlternative) -> Value:
        tag = self.expressions.evaluate(node.base).parts[0]
        return any_of(compare("==", tag, concrete(position)) for position in node.positions)

    def map_items(self, node: nodes.MapItems) -> Value:
        return SymbolicTuple(tuple(self.expressions.evaluate(value) for value in node.values))

    def map_build(self, node: nodes.MapBuild) -> Value:
        assert isinstance(node.type, MapType)
        values = []
        for key in node.type.key.values():
            self.context.frame.locals[node.key] = constant(node.type.key, key)
            values.append(self.expressions.evaluate(node.value))
        return SymbolicTuple(tuple(values))


def field_index(kind: Type, name: str) -> int:
    """Return the position of a struct's field."""
    assert isinstance(kind, StructType)
    return [field for field, _ in kind.fields].index(name)
