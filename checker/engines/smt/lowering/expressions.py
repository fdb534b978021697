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
from checker.ir.visitor import passed


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

    literal = passed("places", SymbolicPlaces.literal)
    local_read = passed("places", SymbolicPlaces.local_read)
    state_read = passed("places", SymbolicPlaces.state_read)

    def constant_read(self, node: nodes.ConstantRead) -> Value:
        raise AssertionError("a program of the prover has the values of its constants, or open numbers")

    field_read = passed("places", SymbolicPlaces.field_read)
    index_read = passed("places", SymbolicPlaces.index_read)
    convert = passed("places", SymbolicPlaces.convert)

    # Integers and bools.

    arithmetic = passed("_scalars", SymbolicScalars.arithmetic)
    extremum = passed("_scalars", SymbolicScalars.extremum)
    comparison = passed("_scalars", SymbolicScalars.comparison)
    logical = passed("_scalars", SymbolicScalars.logical)
    not_ = passed("_scalars", SymbolicScalars.not_)
    conditional = passed("_scalars", SymbolicScalars.conditional)

    # Queries of collections.

    contains = passed("collections", SymbolicCollections.contains)
    is_alternative = passed("_structs", SymbolicStructs.is_alternative)
    length = passed("collections", SymbolicCollections.length)
    count = passed("collections", SymbolicCollections.count)
    index_of = passed("collections", SymbolicCollections.index_of)
    subset = passed("sets", SymbolicSets.subset)

    # Constructors of structs and collections.

    struct_new = passed("_structs", SymbolicStructs.struct_new)
    struct_replace = passed("_structs", SymbolicStructs.struct_replace)
    map_build = passed("_structs", SymbolicStructs.map_build)
    map_items = passed("_structs", SymbolicStructs.map_items)
    items_of = passed("collections", SymbolicCollections.items_of)
    set_operation = passed("sets", SymbolicSets.set_operation)
    set_remove = passed("collections", SymbolicCollections.set_remove)
    bag_add = passed("collections", SymbolicCollections.bag_add)
    seq_insert = passed("collections", SymbolicCollections.seq_insert)
    seq_delete = passed("collections", SymbolicCollections.seq_delete)
    seq_slice = passed("collections", SymbolicCollections.seq_slice)
    seq_concat = passed("collections", SymbolicCollections.seq_concat)
    sorted = passed("collections", SymbolicCollections.sorted)

    # Comprehensions and calls.

    fold = passed("comprehensions", SymbolicComprehensions.fold)
    helper_call = passed("_calls", SymbolicCalls.helper_call)

    def refines(self, node: nodes.Refines) -> Value:
        raise SpecError("the prover does not check refinements: `run` does")
