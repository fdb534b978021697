"""Lowering of collections with unbounded sequences."""

from __future__ import annotations

from checker.engines.smt.lowering import arithmetic, integers
from checker.engines.smt.lowering.collections import SymbolicCollections
from checker.engines.smt.lowering.integers import compare, concrete, is_index, is_insertion_index
from checker.engines.smt.lowering.logic import Truth, both, either
from checker.engines.smt.lowering.open_bounds import fits
from checker.engines.smt.lowering.symbolic_values import (
    UnboundedSequence,
    UnboundedSet,
    Value,
    is_unbounded_sequence,
    is_unbounded_set,
)
from checker.engines.smt.unbounded.lowering import sequences
from checker.engines.smt.unbounded.lowering.evaluation import refuse_unbounded
from checker.ir import nodes
from checker.language.symbols import is_open
from checker.language.types import SeqType


class QuantifiedCollections(SymbolicCollections):
    """Evaluates operations of unbounded sequences; passes those of other collections to `SymbolicCollections`."""

    def contains(self, node: nodes.Contains) -> Value:
        if is_unbounded_set(node.container.type):
            chosen: UnboundedSet = self.expressions.evaluate(node.container)
            member, has_counterpart = self.as_item(node, self.expressions.evaluate(node.item))
            return False if has_counterpart is False else both(has_counterpart, chosen.has(member))
        if not is_unbounded_sequence(node.container.type):
            return super().contains(node)
        container, item = self.expressions.evaluate(node.container), self.expressions.evaluate(node.item)
        inner, has_counterpart = self.as_item(node, item)
        return False if has_counterpart is False else both(has_counterpart, sequences.contains(container, inner))

    def seq_insert(self, node: nodes.SeqInsert) -> Value:
        if not is_unbounded_sequence(node.type):
            return super().seq_insert(node)
        assert isinstance(node.type, SeqType)
        base = self.expressions.evaluate(node.base)
        index = base.length if node.index is None else self.expressions.number(node.index)
        item = self.expressions.evaluate(node.item)
        has_room = fits(arithmetic.add(base.length, concrete(1)), node.type)
        self.context.check(both(is_insertion_index(index, base.length), has_room), node.site)
        return sequences.appended(base, item) if node.index is None else sequences.inserted(base, index, item)

    def seq_delete(self, node: nodes.SeqDelete) -> Value:
        if not is_unbounded_sequence(node.type):
            return super().seq_delete(node)
        base = self.expressions.evaluate(node.base)
        index = self.deletion_index(node, base.length)
        self.context.check(is_index(index, base.length), node.site)
        if node.index is None:
            # Items outside a sequence are arbitrary, so a shorter length is enough.
            return UnboundedSequence(integers.narrowed(index, 0, index.high), base.at)
        return sequences.without_span(base, index, concrete(1))

    def seq_slice(self, node: nodes.SeqSlice) -> Value:
        if not is_unbounded_sequence(node.type):
            return super().seq_slice(node)
        base = self.expressions.evaluate(node.base)
        low, high = self.slice_bounds(node, base.length)
        return sequences.sliced(base, low, high, inverted=node.inverted)

    def seq_concat(self, node: nodes.SeqConcat) -> Value:
        if not is_unbounded_sequence(node.type):
            return super().seq_concat(node)
        left, right = self.expressions.evaluate(node.left), self.expressions.evaluate(node.right)
        # The capacity of the result's type is the sum of both capacities, so the result always fits.
        return sequences.concatenated(sequences.as_unbounded(left), sequences.as_unbounded(right))

    def set_remove(self, node: nodes.SetRemove) -> Value:
        if not is_unbounded_set(node.type):
            return super().set_remove(node)
        base, item = self.expressions.evaluate(node.base), self.expressions.number(node.item)
        self.context.check(base.has(item), node.site)
        return UnboundedSet(base.size, lambda member: both(base.has(member), compare("!=", member, item)))

    def with_item(self, node: nodes.Expr, base: Value, item: Value, test: Truth) -> Value:
        if not isinstance(base, UnboundedSet):
            return super().with_item(node, base, item, test)
        return UnboundedSet(base.size, lambda member: either(base.has(member), both(test, compare("==", member, item))))

    # Operations without a quantified form.

    def length(self, node: nodes.Length) -> Value:
        if is_unbounded_set(node.container.type):
            raise refuse_unbounded(
                "`len` of a set of any number of members is not supported: use `all`, `any` or a comparison", node.site
            )
        return super().length(node)

    def count(self, node: nodes.Count) -> Value:
        if is_unbounded_sequence(node.container.type):
            raise refuse_unbounded(
                "`count` on a sequence of unbounded length is not supported: use `all` or `any`", node.site
            )
        return super().count(node)

    def index_of(self, node: nodes.IndexOf) -> Value:
        if is_unbounded_sequence(node.container.type):
            message = (
                "`index` on a sequence of unbounded length is not supported: use min(i for i in range(len(...)) if ...)"
            )
            raise refuse_unbounded(message, node.site)
        return super().index_of(node)

    def sorted(self, node: nodes.Sorted) -> Value:
        if is_unbounded_sequence(node.base.type) or is_open(getattr(node.type, "capacity", None)):
            raise refuse_unbounded("a sequence of unbounded length cannot be sorted", node.site)
        return super().sorted(node)
