"""Lowering of expressions with unbounded types: replaces the classes of the subjects that they change."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.smt.lowering.expressions import SymbolicExpressions
from checker.engines.smt.unbounded.lowering.collections import QuantifiedCollections
from checker.engines.smt.unbounded.lowering.comprehensions import QuantifiedComprehensions
from checker.engines.smt.unbounded.lowering.evaluation import QuantifiedContext
from checker.engines.smt.unbounded.lowering.loops import QuantifiedLoops
from checker.engines.smt.unbounded.lowering.places import QuantifiedPlaces
from checker.engines.smt.unbounded.lowering.sets import QuantifiedSets
from checker.ir import nodes


class QuantifiedExpressions(SymbolicExpressions):
    """Evaluates expressions on a state with unbounded integers and sequences."""

    loops: QuantifiedLoops

    def __init__(self, context: QuantifiedContext, run_body: Callable[[tuple[nodes.Stmt, ...]], None]):
        super().__init__(context, run_body)
        self.loops = QuantifiedLoops(self)
        self.places = QuantifiedPlaces(self)
        self.sets = QuantifiedSets(self)
        self.collections = QuantifiedCollections(self, self.sets)
        self.comprehensions = QuantifiedComprehensions(self, self.loops, self.collections)
