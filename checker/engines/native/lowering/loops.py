"""Lowering of loops and comprehensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from checker.engines.native.lowering.collections import UNROLLED, is_bit_set
from checker.engines.native.lowering.emitter import PackedValue, Value
from checker.engines.native.lowering.scalars import ScalarLowering
from checker.engines.native.lowering.state_layout import bit_items
from checker.frontend.type_relations import is_bounded
from checker.ir import nodes
from checker.language.types import SetType, Type

MOST_UNROLLED = 4
"""Nested loops are written out while the product of their sizes stays within this; more gains little."""


class LoopLowering(ScalarLowering):
    """Emits loops over sets, sequences, bags, ranges and types, and what comprehensions make of them."""

    def over(
        self,
        iterable: nodes.Iterable,
        body: Callable[[Value, ir.Block], None],
        leave: ir.Block | None = None,
        copy: bool = False,
    ) -> None:
        """Emit `body(item, where-to-go-on)` for each item, in order. `leave`: unused blocks are the caller's."""
        if isinstance(iterable, nodes.Universe):
            self._over_universe(iterable.type, body)
        elif isinstance(iterable, nodes.IntRange):
            self._over_range(iterable, body)
        elif is_bit_set(iterable.type):
            self._over_bits(iterable, body)
        else:
            self._over_array(iterable, body, copy)

    def _step(self, body: Callable[[Value, ir.Block], None], item: Value) -> None:
        """Emit one round of a loop that is written out."""
        go_on = self.emit.block("next")
        body(item, go_on)
        self.emit.jump(go_on)
        self.emit.position(go_on)

    def _writes_out(self, count: int) -> bool:
        return count <= UNROLLED or self.unrolled * count <= MOST_UNROLLED

    def _over_universe(self, kind: Type, body: Callable[[Value, ir.Block], None]) -> None:
        count = kind.cardinality()
        if self._writes_out(count):
            self.unrolled *= max(count, 1)
            for value in kind.values():
                self._step(body, self.emit.constant(kind, value))
            self.unrolled //= max(count, 1)
            return
        with self.emit.loop(0, count) as (position, step, _):
            body(self.emit.from_bits(kind, position), step)

    def _over_range(self, iterable: nodes.IntRange, body: Callable[[Value, ir.Block], None]) -> None:
        low, high = self.number(iterable.low), self.number(iterable.high)
        first, last = iterable.type.low, iterable.type.high
        assert first is not None and last is not None
        if isinstance(low, int) and isinstance(high, int):
            first, last = low, high - 1
        count = max(last - first + 1, 0)
        if not self._writes_out(count):
            with self.emit.loop(low, high) as (position, step, _):
                body(PackedValue(iterable.type, position), step)
            return
        self.unrolled *= max(count, 1)
        for number in range(first, last + 1):
            inside = self.emit.both(self.emit.compare("<=", low, number), self.emit.compare("<", number, high))
            item = PackedValue(iterable.type, number)
            self.emit.when(inside, lambda item=item: self._step(body, item))  # type: ignore[misc]
        self.unrolled //= max(count, 1)

    def _over_bits(self, iterable: nodes.Expr, body: Callable[[Value, ir.Block], None]) -> None:
        container = self.view(iterable)
        assert isinstance(container, PackedValue) and isinstance(container.type, SetType)
        kind, items = container.type.item, bit_items(container.type)
        if not self._writes_out(len(items)):
            with self.emit.loop(0, items[-1][0] + 1) as (position, step, _):
                present = self.emit.block("present")
                self.emit.branch(self.collections.has_bit(container.number, position), present, step)
                self.emit.position(present)
                body(self.emit.from_bits(kind, position), step)
            return
        self.unrolled *= max(len(items), 1)
        for index, value in items:
            item = self.emit.constant(kind, value)
            is_in = self.collections.has_bit(container.number, index)
            self.emit.when(is_in, lambda item=item: self._step(body, item))  # type: ignore[misc]
        self.unrolled //= max(len(items), 1)

    def _over_array(self, iterable: nodes.Expr, body: Callable[[Value, ir.Block], None], copy: bool) -> None:
        place = self.emit.spill(self.evaluate(iterable) if copy else self.view(iterable))
        capacity = self.collections.capacity(place)
        if capacity == 0:
            return
        count = self.collections.length(place)
        if not self._writes_out(capacity):
            with self.emit.loop(0, count) as (position, step, _):
                body(self.emit.load(self.emit.item(place, position)), step)
            return
        self.unrolled *= capacity
        for position in range(capacity):
            self.emit.when(
                self.emit.compare("<", position, count),
                lambda at=position: self._step(body, self.emit.load(self.emit.item(place, at))),  # type: ignore[misc]
            )
        self.unrolled //= capacity

    def bind(self, clause: nodes.ForClause, body: Callable[[ir.Block], None], copy: bool = False) -> None:
        """Emit `body(where-to-go-on)` for each item of a clause, with its locals bound."""
        counter = self.emit.slot() if clause.counter is not None else None
        if counter is not None:
            self.emit.builder.store(self.emit.value(0), counter)

        def with_item(item: Value, go_on: ir.Block) -> None:
            if clause.counter is not None and counter is not None:
                position = self.emit.builder.load(counter)
                self.emit.builder.store(self.emit.value(self.emit.add(position, 1)), counter)
                self.set_local(clause.counter, PackedValue(clause.counter.type, position))
            self.set_local(clause.local, item)
            body(go_on)

        self.over(clause.iterable, with_item, copy=copy)

    def _clauses(self, clauses: tuple[nodes.Clause, ...], innermost: Callable[[ir.Block | None], None]) -> None:
        """Emit the loops and tests of a comprehension around `innermost(where-to-go-on)`."""

        def descend(index: int, go_on: ir.Block | None) -> None:
            if index == len(clauses):
                innermost(go_on)
                return
            clause = clauses[index]
            if isinstance(clause, nodes.ForClause):
                self.bind(clause, lambda step: descend(index + 1, step))
                return
            inside, skipped = self.emit.block("if"), self.emit.block("skipped")
            self.branch_on(clause.test, inside, skipped)
            self.emit.position(inside)
            descend(index + 1, skipped)
            self.emit.jump(skipped)
            self.emit.position(skipped)

        descend(0, None)

    def _branch_on_quantifier(self, node: nodes.Fold, then: ir.Block, otherwise: ir.Block) -> None:
        decided, undecided = (otherwise, then) if node.kind == "all" else (then, otherwise)

        def decide(_: ir.Block | None) -> None:
            rest = self.emit.block("undecided")
            targets = (rest, decided) if node.kind == "all" else (decided, rest)
            self.branch_on(node.element, *targets)
            self.emit.position(rest)

        self._clauses(node.clauses, decide)
        self.emit.jump(undecided)

    def _Fold(self, node: nodes.Fold) -> Value:
        if node.kind in ("all", "any"):
            return self._branched(node)
        if node.kind in ("set", "seq"):
            return self._collected(node)
        total = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), total)
        if node.kind == "sum":

            def add(_: ir.Block | None) -> None:
                number = self.number(node.element)
                known = self.emit.builder.load(total)
                bounded = is_bounded(node.type)
                summed = self.emit.add(known, number) if bounded else self.checked("+", known, number, node.site)
                self.emit.builder.store(self.emit.value(summed), total)

            self._clauses(node.clauses, add)
            return PackedValue(node.type, self.emit.builder.load(total))
        return self._fold_extremum(node, total)

    def _fold_extremum(self, node: nodes.Fold, best: Any) -> Value:
        some = self.emit.slot()
        self.emit.builder.store(self.emit.value(0), some)

        def take(_: ir.Block | None) -> None:
            number = self.number(node.element)
            known = self.emit.builder.load(best)
            is_first = self.emit.compare("==", self.emit.builder.load(some), 0)
            closer = self.emit.compare("<" if node.kind == "min" else ">", number, known)
            chosen = self.emit.select(self.emit.either(is_first, closer), number, known)
            self.emit.builder.store(self.emit.value(chosen), best)
            self.emit.builder.store(self.emit.value(1), some)

        self._clauses(node.clauses, take)
        found = self.emit.compare("!=", self.emit.builder.load(some), 0)
        if node.default is None:
            self.collections.check(found, self.failing(node.site))
            return PackedValue(node.type, self.emit.builder.load(best))
        default = self.number(node.default)
        return PackedValue(node.type, self.emit.select(found, self.emit.builder.load(best), default))

    def _collected(self, node: nodes.Fold) -> Value:
        place = self.emit.temporary(node.type)
        self._clauses(node.clauses, lambda _: self.add_to(place, self.evaluate(node.element), self.failing(node.site)))
        return self.emit.load(place, copy=False)
