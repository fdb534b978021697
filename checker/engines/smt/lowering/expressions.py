"""Lowering of expressions: passes every node to the class of its subject."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.smt.lowering.calls import SymbolicCalls
from checker.engines.smt.lowering.collections import SymbolicCollections
from checker.engines.smt.lowering.comprehensions import SymbolicComprehensions
from checker.engines.smt.lowering.evaluation import SymbolicContext, SymbolicEvaluator
from checker.engines.smt.lowering.loops import SymbolicLoops
from checker.engines.smt.lowering.places import SymbolicPlaces
from checker.engines.smt.lowering.scalars import SymbolicScalars
from checker.engines.smt.lowering.sets import SymbolicSets
from checker.engines.smt.lowering.structs import SymbolicStructs
from checker.engines.smt.lowering.symbolic_values import Value
from checker.errors import SpecError
from checker.ir import nodes


class SymbolicExpressions(SymbolicEvaluator):
    """Evaluates expressions. `run_body` runs the statements of helpers.

    `unbounded.lowering` replaces the classes of the subjects that unbounded types change.
    """

    def __init__(self, context: SymbolicContext, run_body: Callable[[tuple[nodes.Stmt, ...]], None]):
        super().__init__(context)
        self.loops = SymbolicLoops(self)
        self.places = SymbolicPlaces(self)
        self.sets = SymbolicSets(self)
        self.collections = SymbolicCollections(self, self.sets)
        self.comprehensions = SymbolicComprehensions(self, self.loops, self.collections)
        self._scalars = SymbolicScalars(self)
        self._structs = SymbolicStructs(self)
        self._calls = SymbolicCalls(self, run_body)

    # Reads.

    def literal(self, node: nodes.Literal) -> Value:
        return self.places.literal(node)

    def local_read(self, node: nodes.LocalRead) -> Value:
        return self.places.local_read(node)

    def state_read(self, node: nodes.StateRead) -> Value:
        return self.places.state_read(node)

    def constant_read(self, node: nodes.ConstantRead) -> Value:
        raise AssertionError("a program of the prover has the values of its constants, or open numbers")

    def field_read(self, node: nodes.FieldRead) -> Value:
        return self.places.field_read(node)

    def index_read(self, node: nodes.IndexRead) -> Value:
        return self.places.index_read(node)

    def convert(self, node: nodes.Convert) -> Value:
        return self.places.convert(node)

    # Integers and bools.

    def arithmetic(self, node: nodes.Arithmetic) -> Value:
        return self._scalars.arithmetic(node)

    def extremum(self, node: nodes.Extremum) -> Value:
        return self._scalars.extremum(node)

    def comparison(self, node: nodes.Comparison) -> Value:
        return self._scalars.comparison(node)

    def logical(self, node: nodes.Logical) -> Value:
        return self._scalars.logical(node)

    def not_(self, node: nodes.Not) -> Value:
        return self._scalars.not_(node)

    def conditional(self, node: nodes.Conditional) -> Value:
        return self._scalars.conditional(node)

    # Queries of collections.

    def contains(self, node: nodes.Contains) -> Value:
        return self.collections.contains(node)

    def is_alternative(self, node: nodes.IsAlternative) -> Value:
        return self._structs.is_alternative(node)

    def length(self, node: nodes.Length) -> Value:
        return self.collections.length(node)

    def count(self, node: nodes.Count) -> Value:
        return self.collections.count(node)

    def index_of(self, node: nodes.IndexOf) -> Value:
        return self.collections.index_of(node)

    def subset(self, node: nodes.Subset) -> Value:
        return self.sets.subset(node)

    # Constructors of structs and collections.

    def struct_new(self, node: nodes.StructNew) -> Value:
        return self._structs.struct_new(node)

    def struct_replace(self, node: nodes.StructReplace) -> Value:
        return self._structs.struct_replace(node)

    def map_build(self, node: nodes.MapBuild) -> Value:
        return self._structs.map_build(node)

    def map_items(self, node: nodes.MapItems) -> Value:
        return self._structs.map_items(node)

    def items_of(self, node: nodes.ItemsOf) -> Value:
        return self.collections.items_of(node)

    def set_operation(self, node: nodes.SetOperation) -> Value:
        return self.sets.set_operation(node)

    def set_remove(self, node: nodes.SetRemove) -> Value:
        return self.collections.set_remove(node)

    def bag_add(self, node: nodes.BagAdd) -> Value:
        return self.collections.bag_add(node)

    def seq_insert(self, node: nodes.SeqInsert) -> Value:
        return self.collections.seq_insert(node)

    def seq_delete(self, node: nodes.SeqDelete) -> Value:
        return self.collections.seq_delete(node)

    def seq_slice(self, node: nodes.SeqSlice) -> Value:
        return self.collections.seq_slice(node)

    def seq_concat(self, node: nodes.SeqConcat) -> Value:
        return self.collections.seq_concat(node)

    def sorted(self, node: nodes.Sorted) -> Value:
        return self.collections.sorted(node)

    # Comprehensions and calls.

    def fold(self, node: nodes.Fold) -> Value:
        return self.comprehensions.fold(node)

    def helper_call(self, node: nodes.HelperCall) -> Value:
        return self._calls.helper_call(node)

    def refines(self, node: nodes.Refines) -> Value:
        raise SpecError("the prover does not check refinements: `run` does")
