"""Lowering of comprehensions."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.emitter import PackedValue, Truth, Value
from checker.engines.native.lowering.evaluation import Evaluator, SubjectLowering
from checker.engines.native.lowering.loops import LoopLowering
from checker.ir import nodes
from checker.language.type_joins import is_bounded


class ComprehensionLowering(SubjectLowering):
    """Emits `all`, `any`, `sum`, `min`, `max`, and sets and sequences, of the elements of a comprehension."""

    def __init__(self, expressions: Evaluator, loops: LoopLowering):
        super().__init__(expressions)
        self._loops = loops

    def fold(self, node: nodes.Fold) -> Value:
        match node.kind:
            case "all" | "any":
                return self.expressions.truth_by_branches(node)
            case "set" | "seq":
                return self._collect(node)
            case "sum":
                return self._sum(node)
            case "min" | "max":
                return self._extremum(node)

    def branch_on_quantifier(self, node: nodes.Fold, then: ir.Block, otherwise: ir.Block) -> None:
        """Emit `all` or `any` as a branch that is taken at the first element that decides."""
        if node in self.context.unordered_folds:
            self.emit.branch(self._quantify(node), then, otherwise)
            return
        decided, undecided = (otherwise, then) if node.kind == "all" else (then, otherwise)

        def decide() -> None:
            rest = self.emit.block("undecided")
            # The jump to `decided` leaves all loops of the comprehension at once.
            targets = (rest, decided) if node.kind == "all" else (decided, rest)
            self.expressions.branch_on(node.element, *targets)
            self.emit.position(rest)

        self._for_each_element(node.clauses, decide)
        self.emit.jump(undecided)

    def _quantify(self, node: nodes.Fold) -> Truth:
        """Emit `all` or `any` of all elements: none is left out, so one that fails is found in any case."""
        result, start = self.emit.slot(), int(node.kind == "all")
        self.emit.builder.store(self.emit.value(start), result)

        def combine() -> None:
            number = self.emit.select(self.expressions.truth(node.element), 1, 0)
            so_far = self.emit.builder.load(result)
            combined = self.emit.builder.and_ if node.kind == "all" else self.emit.builder.or_
            self.emit.builder.store(combined(so_far, self.emit.value(number)), result)

        self._for_each_element(node.clauses, combine)
        return self.emit.compare("!=", self.emit.builder.load(result), 0)

    def _for_each_element(self, clauses: tuple[nodes.Clause, ...], innermost: Callable[[], None]) -> None:
        """Emit the loops and tests of a comprehension around `innermost()`."""
        if not clauses:
            innermost()
            return
        clause, rest = clauses[0], clauses[1:]
        if isinstance(clause, nodes.ForClause):
            self._loops.bind(clause, lambda _: self._for_each_element(rest, innermost))
            return
        inside, skipped = self.emit.block("if"), self.emit.block("skipped")
        self.expressions.branch_on(clause.test, inside, skipped)
        self.emit.position(inside)
        self._for_each_element(rest, innermost)
        self.emit.jump(skipped)
        self.emit.position(skipped)

    def _sum(self, node: nodes.Fold) -> Value:
        total = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), total)
        fail = self.context.failure_at(node.site)

        def add() -> None:
            number = self.expressions.number(node.element)
            so_far = self.emit.builder.load(total)
            is_safe = is_bounded(node.type)
            summed = self.emit.add(so_far, number) if is_safe else self.emit.checked("+", so_far, number, fail)
            self.emit.builder.store(self.emit.value(summed), total)

        self._for_each_element(node.clauses, add)
        return PackedValue(node.type, self.emit.builder.load(total))

    def _extremum(self, node: nodes.Fold) -> Value:
        """Emit `min` or `max`: the best number so far in one slot, whether there is one yet in another."""
        # A separate flag, because every number is a possible minimum or maximum.
        best, some = self.emit.slot(), self.emit.slot()
        for slot in (best, some):
            self.emit.builder.store(self.emit.value(0), slot)

        def take() -> None:
            number = self.expressions.number(node.element)
            known = self.emit.builder.load(best)
            is_first = self.emit.compare("==", self.emit.builder.load(some), 0)
            closer = self.emit.compare("<" if node.kind == "min" else ">", number, known)
            chosen = self.emit.select(self.emit.either(is_first, closer), number, known)
            self.emit.builder.store(self.emit.value(chosen), best)
            self.emit.builder.store(self.emit.value(1), some)

        self._for_each_element(node.clauses, take)
        has_element = self.emit.compare("!=", self.emit.builder.load(some), 0)
        if node.default is None:
            self.context.check(has_element, node.site)
            return PackedValue(node.type, self.emit.builder.load(best))
        default = self.expressions.number(node.default)
        return PackedValue(node.type, self.emit.select(has_element, self.emit.builder.load(best), default))

    def _collect(self, node: nodes.Fold) -> Value:
        # Zeroed each time: the comprehension may be inside a loop.
        place = self.emit.temporary(node.type)
        fail = self.context.failure_at(node.site)
        self._for_each_element(
            node.clauses, lambda: self.arrays.add(place, self.expressions.evaluate(node.element), fail)
        )
        return self.emit.load(place, copy=False)
