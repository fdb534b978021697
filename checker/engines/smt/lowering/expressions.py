"""Lowering of expressions: the classes of the subjects."""

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
        self.scalars = SymbolicScalars(self)
        self.structs = SymbolicStructs(self)
        self.calls = SymbolicCalls(self, run_body)

    def constant_read(self, node: nodes.ConstantRead) -> Value:
        raise AssertionError("a program of the prover has the values of its constants, or open numbers")

    def refines(self, node: nodes.Refines) -> Value:
        raise SpecError("the prover does not check refinements: `run` does")
