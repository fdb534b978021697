"""Evaluation of expressions on several states at once: each state has a lane of LLVM's vectors.

The emitted code has no branches. An operand that the language would not evaluate is evaluated all the same, and its
result is ignored: `active` has the lanes in which the language evaluates an expression, and only there it may fail.
Only expressions of packed values that are read from the state are supported; others raise `UnsupportedError`. The
callers evaluate what is unsupported state by state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.arrays import is_bit_set
from checker.engines.native.lowering.constant_block import ConstantBlock
from checker.engines.native.lowering.emitter import Number, PackedValue, Truth
from checker.engines.native.lowering.lane_emitter import LaneEmitter
from checker.engines.native.lowering.state_layout import (
    StateLayout,
    ValueLayout,
    ValuePart,
    bit_items,
    encode,
    item_place,
    layout_of,
)
from checker.ir import nodes
from checker.language.type_joins import is_bounded
from checker.language.types import BoolType, IntType, MapType, NeverType, OptionType, SetType, StructType, Type

MOST_WORDS_OF_ITEMS = 4
"""An item at a computed index is selected from the words of its array; from more words than this, it is unsupported."""

MOST_UNROLLED_ITEMS = 16
"""A quantifier over more items than this is unsupported: its code would be too long."""


MOST_NODES = 5000
"""Once so many nodes were evaluated, the rest of a function is unsupported: its code would be too long."""


class UnsupportedError(Exception):
    """An expression has to be evaluated state by state."""


@dataclass(frozen=True)
class LanePlace:
    """The location of a value: in `number`, or from word `word` of the state on if that is None."""

    layout: ValueLayout
    number: Number | None
    word: int
    shift: Number


class LaneEvaluator:
    """Evaluates expressions on the states at an address; `failed` has the lanes in which one has left its bounds."""

    def __init__(
        self,
        emit: LaneEmitter,
        layout: StateLayout,
        states: ir.Value,
        constants: ConstantBlock,
        unordered_folds: frozenset[nodes.Fold] = frozenset(),
    ):
        self.emit = emit
        self.failed: Truth = False
        self._layout, self._states, self._constants = layout, states, constants
        self._unordered_folds = unordered_folds
        self._words: dict[int, ir.Value] = {}
        self._locals: dict[nodes.Local, PackedValue | LanePlace] = {}
        self._left, self._left_in_all = 0, MOST_NODES

    @contextmanager
    def evaluation(self, most: int) -> Iterator[None]:
        """Evaluate at most `most` nodes inside the block; if something is unsupported, `failed` is as before."""
        failed, self._left = self.failed, most
        try:
            yield
        except UnsupportedError:
            self.failed = failed
            raise

    def assign_constant(self, local: nodes.Local, value: Any) -> None:
        """Bind a local to a value that is known now."""
        self._locals[local] = self._literal(local.type, value)

    def assign(self, local: nodes.Local, value: nodes.Expr, active: Truth) -> None:
        """Bind a local to the value of an expression."""
        kind = value.type
        if not isinstance(kind, IntType) and layout_of(kind).is_wide:
            if kind != local.type:
                raise UnsupportedError
            self._locals[local] = self._place_of(value, active)
        else:
            self._locals[local] = self._convert(self.evaluate(value, active), kind, local.type, active)

    def result_of(self, function: nodes.Function) -> Truth:
        """Return the result of a predicate."""
        if function.result != nodes.BOOL:
            raise UnsupportedError
        truth: Truth = self._body(function.body, nodes.BOOL, True).number
        return truth

    def truth(self, node: nodes.Expr, active: Truth) -> Truth:
        """Return a bool expression."""
        number: Truth = self.evaluate(node, active).number
        return number

    def evaluate(self, node: nodes.Expr, active: Truth) -> PackedValue:
        """Return the value of an expression that is packed or an integer."""
        self._left, self._left_in_all = self._left - 1, self._left_in_all - 1
        if self._left < 0 or self._left_in_all < 0:
            raise UnsupportedError
        match node:
            case nodes.Literal():
                return self._literal(node.type, node.value)
            case nodes.LocalRead():
                return self._local(node)
            case nodes.ConstantRead():
                return self._constant(node)
            case nodes.StateRead() | nodes.FieldRead() | nodes.IndexRead():
                return self._load(self._place_of(node, active))
            case nodes.Convert():
                return self._convert(self.evaluate(node.base, active), node.base.type, node.type, active)
            case nodes.Comparison():
                return PackedValue(nodes.BOOL, self._comparison(node, active))
            case nodes.Logical():
                return PackedValue(nodes.BOOL, self._logical(node, active))
            case nodes.Not():
                return PackedValue(nodes.BOOL, self.emit.negate(self.truth(node.operand, active)))
            case nodes.Conditional():
                return self._conditional(node, active)
            case nodes.Arithmetic():
                return self._arithmetic(node, active)
            case nodes.Extremum():
                return self._extremum(node, active)
            case nodes.Contains():
                return PackedValue(nodes.BOOL, self._contains(node, active))
            case nodes.Length():
                return PackedValue(node.type, self._length(node.container, active))
            case nodes.SetOperation():
                return self._set_operation(node, active)
            case nodes.Subset():
                return PackedValue(nodes.BOOL, self._subset(node, active))
            case nodes.ItemsOf():
                return self._items_of(node, active)
            case nodes.Fold():
                return PackedValue(nodes.BOOL, self._quantifier(node, active))
            case nodes.HelperCall():
                return self._call(node, active)
            case _:
                raise UnsupportedError

    def _check(self, test: Truth, active: Truth) -> None:
        """Record that the evaluation leaves its bounds where `test` is false."""
        self.failed = self.emit.either(self.failed, self.emit.both(active, self.emit.negate(test)))

    # Places.

    def _place_of(self, node: nodes.Expr, active: Truth) -> LanePlace:
        """Return the location of a value; a computed value is its own location."""
        match node:
            case nodes.StateRead(root="self"):
                place = self._layout.places[node.variable]
                return LanePlace(place.layout, None, place.word, place.shift)
            case nodes.FieldRead():
                base = self._place_of(node.base, active)
                kind = base.layout.type
                if not isinstance(kind, StructType):
                    raise UnsupportedError
                return self._part(base, base.layout.parts[[name for name, _ in kind.fields].index(node.name)])
            case nodes.IndexRead():
                return self._index_place(node, active)
            case nodes.LocalRead() if isinstance(kept := self._locals[node.local], LanePlace):
                return kept
            case nodes.StateRead():
                raise UnsupportedError
            case _:
                return self._own_place(self.evaluate(node, active))

    def _own_place(self, value: PackedValue) -> LanePlace:
        layout = layout_of(value.type)
        if layout.is_wide:
            raise UnsupportedError
        return LanePlace(layout, self.emit.bits_of(value), 0, 0)

    def _part(self, place: LanePlace, part: ValuePart) -> LanePlace:
        shift = self.emit.add(place.shift, part.shift)
        return LanePlace(part.layout, place.number, place.word + part.word, shift)

    def _index_place(self, node: nodes.IndexRead, active: Truth) -> LanePlace:
        base = self._place_of(node.base, active)
        index = self.evaluate(node.index, active)
        if isinstance(node.base.type, MapType):
            return self._item(base, self.emit.bits_of(index))
        inside = self.emit.compare("<", index.number, self._load_bits(self._part(base, base.layout.parts[0])))
        self._check(self.emit.both(self.emit.compare(">=", index.number, 0), inside), active)
        return self._item(base, index.number)

    def _item(self, place: LanePlace, index: Number) -> LanePlace:
        """Return the place of an item; a wrong index has been recorded as a failure."""
        items = place.layout.items
        if items is None or items.count == 0:
            raise UnsupportedError
        if isinstance(index, int):
            word, shift = item_place(items, index if 0 <= index < items.count else 0)
            return LanePlace(items.layout, place.number, place.word + word, self.emit.add(place.shift, shift))
        words = -(-items.count // items.per_word)
        if items.layout.is_wide or words > MOST_WORDS_OF_ITEMS:
            raise UnsupportedError
        number, first = place.number, place.word + items.word
        if words > 1:
            assert number is None, "a value of several words is in the state"
            chosen: Number = self._word(first)
            for later in range(1, words):
                is_there = self.emit.compare(">=", index, later * items.per_word)
                chosen = self.emit.select(is_there, self._word(first + later), chosen)
            number, index = chosen, self._within_word(index, words, items.per_word)
        distance = self.emit.add(self.emit.multiply(index, items.step), items.shift)
        return LanePlace(items.layout, number, first, self.emit.add(place.shift, distance))

    def _within_word(self, index: Number, words: int, per_word: int) -> Number:
        """Return the position of an item in its word."""
        rest = index
        for later in range(1, words):
            is_there = self.emit.compare(">=", index, later * per_word)
            rest = self.emit.select(is_there, self.emit.subtract(index, later * per_word), rest)
        return rest

    def _word(self, word: int) -> ir.Value:
        if word not in self._words:
            self._words[word] = self.emit.lanes_of(self._states, word, self._layout.words)
        return self._words[word]

    def _load_bits(self, place: LanePlace) -> Number:
        if place.layout.is_wide:
            raise UnsupportedError
        if place.layout.bits == 0:
            return 0
        number = self._word(place.word) if place.number is None else place.number
        if place.layout.bits == 64:
            return number
        return self.emit.bit_and(self.emit.shift_right(number, place.shift), place.layout.mask)

    def _load(self, place: LanePlace) -> PackedValue:
        return self.emit.from_bits(place.layout.type, self._load_bits(place))

    # Values.

    def _literal(self, kind: Type, value: Any) -> PackedValue:
        if isinstance(kind, (BoolType, IntType)):
            return PackedValue(kind, value)
        layout = layout_of(kind)
        if layout.is_wide:
            raise UnsupportedError
        words = [0]
        encode(layout, value, words)
        return PackedValue(kind, words[0])

    def _local(self, node: nodes.LocalRead) -> PackedValue:
        local = self._locals[node.local]
        if isinstance(local, LanePlace):
            return self._load(local)
        return PackedValue(node.type, local.number) if isinstance(node.type, IntType) else local

    def _constant(self, node: nodes.ConstantRead) -> PackedValue:
        number = self.emit.in_every_lane(self.emit.builder.load(self._constants.address(node.name)))
        return PackedValue(node.type, self.emit.compare("!=", number, 0) if node.type == nodes.BOOL else number)

    def _convert(self, value: PackedValue, source: Type, target: Type, active: Truth) -> PackedValue:
        if isinstance(source, IntType) and isinstance(target, IntType):
            if target.low is not None and (source.low is None or source.low < target.low):
                self._check(self.emit.compare(">=", value.number, target.low), active)
            if target.high is not None and (source.high is None or source.high > target.high):
                self._check(self.emit.compare("<=", value.number, target.high), active)
            return PackedValue(target, value.number)
        if source == target:
            return value
        if isinstance(target, OptionType) and not layout_of(target).parts:
            if isinstance(source, OptionType) and isinstance(source.item, NeverType):
                return PackedValue(target, 0)
            if source == target.item:
                return PackedValue(target, self.emit.add(self.emit.bits_of(value), 1))
        if isinstance(source, OptionType) and source.item == target and not layout_of(source).parts:
            self._check(self.emit.compare("!=", value.number, 0), active)
            return self.emit.from_bits(target, self.emit.subtract(value.number, 1))
        raise UnsupportedError

    def _comparison(self, node: nodes.Comparison, active: Truth) -> Truth:
        left, right = self.evaluate(node.left, active), self.evaluate(node.right, active)
        if isinstance(node.left.type, IntType) and isinstance(node.right.type, IntType):
            return self.emit.compare(node.operator, left.number, right.number)
        equal = self.emit.equal(left, right)
        return equal if node.operator == "==" else self.emit.negate(equal)

    def _logical(self, node: nodes.Logical, active: Truth) -> Truth:
        result = self.truth(node.operands[0], active)
        for operand in node.operands[1:]:
            if node.operator == "and":
                rest = active if node.eager else self.emit.both(active, result)
                result = self.emit.both(result, self.truth(operand, rest))
            else:
                rest = active if node.eager else self.emit.both(active, self.emit.negate(result))
                result = self.emit.either(result, self.truth(operand, rest))
        return result

    def _conditional(self, node: nodes.Conditional, active: Truth) -> PackedValue:
        test = self.truth(node.test, active)
        then = self.evaluate(node.then, self.emit.both(active, test))
        otherwise = self.evaluate(node.otherwise, self.emit.both(active, self.emit.negate(test)))
        return self._select(test, then, otherwise, node.type)

    def _select(self, test: Truth, then: PackedValue, otherwise: PackedValue, kind: Type) -> PackedValue:
        if not isinstance(kind, BoolType):
            return PackedValue(kind, self.emit.select(test, then.number, otherwise.number))
        chosen = self.emit.both(test, then.number)
        return PackedValue(kind, self.emit.either(chosen, self.emit.both(self.emit.negate(test), otherwise.number)))

    def _arithmetic(self, node: nodes.Arithmetic, active: Truth) -> PackedValue:
        if node.operator in ("//", "%") or not is_bounded(node.type):
            raise UnsupportedError
        operation = {"+": self.emit.add, "-": self.emit.subtract, "*": self.emit.multiply}[node.operator]
        left, right = self.evaluate(node.left, active), self.evaluate(node.right, active)
        return PackedValue(node.type, operation(left.number, right.number))

    def _extremum(self, node: nodes.Extremum, active: Truth) -> PackedValue:
        best: Number = self.evaluate(node.operands[0], active).number
        for operand in node.operands[1:]:
            other = self.evaluate(operand, active).number
            closer = self.emit.compare("<" if node.operator == "min" else ">", other, best)
            best = self.emit.select(closer, other, best)
        return PackedValue(node.type, best)

    # Sets and sequences.

    def _bits(self, node: nodes.Expr, active: Truth) -> Number:
        """Return the bits of a bit set."""
        if not is_bit_set(node.type):
            raise UnsupportedError
        bits: Number = self.evaluate(node, active).number
        return bits

    def _has_bit(self, bits: Number, index: Number) -> Truth:
        return self.emit.compare("!=", self.emit.bit_and(self.emit.shift_right(bits, index), 1), 0)

    def _contains(self, node: nodes.Contains, active: Truth) -> Truth:
        kind = node.container.type
        if not isinstance(kind, SetType) or kind.item != node.item.type:
            raise UnsupportedError
        bits = self._bits(node.container, active)
        return self._has_bit(bits, self.emit.bits_of(self.evaluate(node.item, active)))

    def _length(self, container: nodes.Expr, active: Truth) -> Number:
        if is_bit_set(container.type):
            return self.emit.count_ones(self._bits(container, active))
        place = self._place_of(container, active)
        return self._load_bits(self._part(place, place.layout.parts[0]))

    def _set_operation(self, node: nodes.SetOperation, active: Truth) -> PackedValue:
        left, right = self._bits(node.left, active), self._bits(node.right, active)
        if node.operator == "-":
            return PackedValue(node.type, self.emit.bit_and(left, self.emit.bit_xor(right, -1)))
        operation = {"|": self.emit.bit_or, "&": self.emit.bit_and, "^": self.emit.bit_xor}[node.operator]
        return PackedValue(node.type, operation(left, right))

    def _subset(self, node: nodes.Subset, active: Truth) -> Truth:
        left, right = self._bits(node.left, active), self._bits(node.right, active)
        outside = self.emit.bit_and(left, self.emit.bit_xor(right, -1))
        inside = self.emit.compare("==", outside, 0)
        return self.emit.both(inside, self.emit.compare("!=", left, right)) if node.strict else inside

    def _items_of(self, node: nodes.ItemsOf, active: Truth) -> PackedValue:
        if not is_bit_set(node.type):
            raise UnsupportedError
        bits: Number = 0
        for item in node.items:
            index = self.emit.bits_of(self.evaluate(item, active))
            bits = self.emit.bit_or(bits, self.emit.shift_left(1, index))
        return PackedValue(node.type, bits)

    # Quantifiers and helpers.

    def _quantifier(self, node: nodes.Fold, active: Truth) -> Truth:
        if node.kind not in ("all", "any"):
            raise UnsupportedError
        undecided: Truth = True

        is_unordered = node in self._unordered_folds

        def active_in(exists: Truth) -> Truth:
            return self.emit.both(active, exists if is_unordered else self.emit.both(exists, undecided))

        def element(exists: Truth) -> None:
            nonlocal undecided
            holds = self.truth(node.element, active_in(exists))
            decides = holds if node.kind == "any" else self.emit.negate(holds)
            undecided = self.emit.both(undecided, self.emit.negate(self.emit.both(exists, decides)))

        self._each(node.clauses, True, active_in, element)
        return undecided if node.kind == "all" else self.emit.negate(undecided)

    def _each(
        self,
        clauses: tuple[nodes.Clause, ...],
        exists: Truth,
        active_in: Callable[[Truth], Truth],
        element: Callable[[Truth], None],
    ) -> None:
        """Call `element` for each element of a comprehension, with the lanes in which it exists."""
        if not clauses:
            element(exists)
            return
        clause, rest = clauses[0], clauses[1:]
        if isinstance(clause, nodes.IfClause):
            kept = self.emit.both(exists, self.truth(clause.test, active_in(exists)))
            self._each(rest, kept, active_in, element)
            return
        if clause.counter is not None:
            raise UnsupportedError
        for item, is_in in self._items(clause.iterable, active_in(exists)):
            self._locals[clause.local] = self._convert(item, item.type, clause.local.type, False)
            self._each(rest, self.emit.both(exists, is_in), active_in, element)

    def _items(self, iterable: nodes.Iterable, active: Truth) -> list[tuple[PackedValue, Truth]]:
        """Return the possible items of an iterable, in order, with the lanes in which each occurs."""
        if isinstance(iterable, nodes.Universe):
            kind = iterable.type
            self._require_few(kind.cardinality())
            return [(self._literal(kind, value), True) for value in kind.values()]
        if isinstance(iterable, nodes.IntRange):
            return self._numbers(iterable, active)
        if is_bit_set(iterable.type):
            assert isinstance(iterable.type, SetType)
            items = bit_items(iterable.type)
            self._require_few(len(items))
            bits, kind = self._bits(iterable, active), iterable.type.item
            return [(self._literal(kind, value), self._has_bit(bits, index)) for index, value in items]
        place = self._place_of(iterable, active)
        if place.layout.items is None or isinstance(iterable.type, MapType):
            raise UnsupportedError
        self._require_few(place.layout.items.count)
        length = self._load_bits(self._part(place, place.layout.parts[0]))
        positions = range(place.layout.items.count)
        return [(self._load(self._item(place, index)), self.emit.compare(">", length, index)) for index in positions]

    def _numbers(self, iterable: nodes.IntRange, active: Truth) -> list[tuple[PackedValue, Truth]]:
        low, high = self.evaluate(iterable.low, active).number, self.evaluate(iterable.high, active).number
        first, last = iterable.type.low, iterable.type.high
        if isinstance(low, int) and isinstance(high, int):
            first, last = low, high - 1
        if first is None or last is None:
            raise UnsupportedError
        self._require_few(last - first + 1)
        return [
            (
                PackedValue(iterable.type, number),
                self.emit.both(self.emit.compare("<=", low, number), self.emit.compare(">", high, number)),
            )
            for number in range(first, last + 1)
        ]

    def _require_few(self, items: int) -> None:
        if items > MOST_UNROLLED_ITEMS:
            raise UnsupportedError

    def _call(self, node: nodes.HelperCall, active: Truth) -> PackedValue:
        function = node.function
        if function.writes or function.requires or function.result is None:
            raise UnsupportedError
        values = [
            self._convert(self.evaluate(argument, active), argument.type, parameter.type, active)
            for parameter, argument in zip(function.parameters, node.arguments, strict=True)
        ]
        # All arguments are evaluated before the first is bound: one may contain a call of the same helper.
        self._locals.update(zip(function.parameters, values, strict=True))
        return replace(self._body(function.body, function.result, active), type=node.type)

    def _body(self, body: tuple[nodes.Stmt, ...], result: Type, active: Truth) -> PackedValue:
        """Return the value that the statements of a helper return."""
        for number, statement in enumerate(body):
            match statement:
                case nodes.AssignLocal():
                    self.assign(statement.local, statement.value, active)
                case nodes.Return(value=nodes.Expr() as value):
                    return self._convert(self.evaluate(value, active), value.type, result, active)
                case nodes.If():
                    test = self.truth(statement.test, active)
                    rest, before = body[number + 1 :], dict(self._locals)
                    then = self._body((*statement.then, *rest), result, self.emit.both(active, test))
                    self._locals = before
                    other = self.emit.both(active, self.emit.negate(test))
                    otherwise = self._body((*statement.otherwise, *rest), result, other)
                    return self._select(test, then, otherwise, result)
                case _:
                    raise UnsupportedError
        raise UnsupportedError
