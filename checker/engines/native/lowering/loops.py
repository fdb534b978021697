"""Lowering of iteration over sets, sequences, bags, ranges and the values of a type."""

from __future__ import annotations

from collections.abc import Callable

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.arrays import UNROLLED, is_bit_set
from checker.engines.native.lowering.emitter import PackedValue, Value
from checker.engines.native.lowering.evaluation import Evaluator, SubjectLowering
from checker.engines.native.lowering.state_layout import bit_items
from checker.ir import nodes
from checker.language.types import SetType, Type

MOST_UNROLLED = 4
"""Nested loops are unrolled while the product of their sizes stays within this; a higher limit gains little."""

LoopBody = Callable[[Value, ir.Block], None]
"""Emits one iteration, given the item and the block of the next iteration (the target of `continue`)."""


class LoopLowering(SubjectLowering):
    """Emits loops: unrolled ones where that is cheap, because places are then known when the code is emitted."""

    def __init__(self, expressions: Evaluator):
        super().__init__(expressions)
        self._unrolled = 1
        """How many copies of the current position there are: the product of the sizes of the unrolled loops around."""

    def over(self, iterable: nodes.Iterable, body: LoopBody, *, copy: bool = False) -> None:
        """Emit a loop over an iterable, in order. `copy`: the body may write what the loop iterates over."""
        if isinstance(iterable, nodes.Universe):
            self._over_universe(iterable.type, body)
        elif isinstance(iterable, nodes.IntRange):
            self._over_range(iterable, body)
        elif is_bit_set(iterable.type):
            self._over_bits(iterable, body)
        else:
            self._over_array(iterable, body, copy)

    def _iteration(self, body: LoopBody, item: Value) -> None:
        """Emit one iteration of an unrolled loop."""
        next_item = self.emit.block("next")
        body(item, next_item)
        self.emit.jump(next_item)
        self.emit.position(next_item)

    def _is_unrolled(self, count: int) -> bool:
        return count <= UNROLLED or self._unrolled * count <= MOST_UNROLLED

    def _over_universe(self, kind: Type, body: LoopBody) -> None:
        count = kind.cardinality()
        if self._is_unrolled(count):
            self._unrolled *= max(count, 1)
            for value in kind.values():
                self._iteration(body, self.emit.constant(kind, value))
            self._unrolled //= max(count, 1)
            return
        with self.emit.loop(0, count) as (position, step, _):
            body(self.emit.from_bits(kind, position), step)

    def _over_range(self, iterable: nodes.IntRange, body: LoopBody) -> None:
        low, high = self.expressions.number(iterable.low), self.expressions.number(iterable.high)
        first, last = iterable.type.low, iterable.type.high
        assert first is not None and last is not None
        if isinstance(low, int) and isinstance(high, int):
            first, last = low, high - 1
        count = max(last - first + 1, 0)
        # `count` is the most that the type of the range allows. The unrolled code tests each number against the
        # computed bounds.
        if not self._is_unrolled(count):
            with self.emit.loop(low, high) as (position, step, _):
                body(PackedValue(iterable.type, position), step)
            return
        self._unrolled *= max(count, 1)
        for number in range(first, last + 1):
            inside = self.emit.both(self.emit.compare("<=", low, number), self.emit.compare("<", number, high))
            item = PackedValue(iterable.type, number)
            self.emit.when(inside, lambda item=item: self._iteration(body, item))  # type: ignore[misc]
        self._unrolled //= max(count, 1)

    def _over_bits(self, iterable: nodes.Expr, body: LoopBody) -> None:
        # The bits are a number and not a place: a body that changes the set does not change the loop.
        container = self.expressions.view(iterable)
        assert isinstance(container, PackedValue) and isinstance(container.type, SetType)
        kind, items = container.type.item, bit_items(container.type)
        if not self._is_unrolled(len(items)):
            # Over all bits up to the last possible one. A bit without an item is never set, so it needs no test of its
            # own.
            with self.emit.loop(0, items[-1][0] + 1) as (position, step, _):
                present = self.emit.block("present")
                self.emit.branch(self.arrays.has_bit(container.number, position), present, step)
                self.emit.position(present)
                body(self.emit.from_bits(kind, position), step)
            return
        self._unrolled *= max(len(items), 1)
        for index, value in items:
            item = self.emit.constant(kind, value)
            is_in = self.arrays.has_bit(container.number, index)
            self.emit.when(is_in, lambda item=item: self._iteration(body, item))  # type: ignore[misc]
        self._unrolled //= max(len(items), 1)

    def _over_array(self, iterable: nodes.Expr, body: LoopBody, copy: bool) -> None:
        place = self.emit.spill(self.expressions.evaluate(iterable) if copy else self.expressions.view(iterable))
        capacity = self.arrays.capacity(place)
        if capacity == 0:
            return
        count = self.arrays.length(place)
        if not self._is_unrolled(capacity):
            with self.emit.loop(0, count) as (position, step, _):
                body(self.emit.load(self.emit.item(place, position)), step)
            return
        self._unrolled *= capacity
        for position in range(capacity):
            self.emit.when(
                self.emit.compare("<", position, count),
                lambda at=position: self._iteration(body, self.emit.load(self.emit.item(place, at))),  # type: ignore[misc]
            )
        self._unrolled //= capacity

    def bind(self, clause: nodes.ForClause, body: Callable[[ir.Block], None], *, copy: bool = False) -> None:
        """Emit a loop over the items of a clause, with its locals bound; `body` gets the block of the next item."""
        counter = self.emit.slot() if clause.counter is not None else None
        if counter is not None:
            self.emit.builder.store(self.emit.value(0), counter)

        def with_item(item: Value, next_item: ir.Block) -> None:
            if clause.counter is not None and counter is not None:
                # Incremented before the body, so that a `continue` in it cannot skip the increment.
                position = self.emit.builder.load(counter)
                self.emit.builder.store(self.emit.value(self.emit.add(position, 1)), counter)
                self.context.set_local(clause.counter, PackedValue(clause.counter.type, position))
            self.context.set_local(clause.local, item)
            body(next_item)

        self.over(clause.iterable, with_item, copy=copy)
