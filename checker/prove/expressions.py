"""Lowering of expressions to symbolic values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal as OneOf

from checker.ir import nodes
from checker.ir.types import MapType, NeverType, SetType, StructType, Type
from checker.prove import arrays, integers
from checker.prove.conversion import converted
from checker.prove.integers import Num, compare, known
from checker.prove.logic import Truth, all_of, any_of, both, choose, either, implies, negate
from checker.prove.values import Arr, Bits, Tup, Value, blank, constant, equal, merged

State = dict[str, Value]


@dataclass
class Frame:
    """What one call of a function has: its locals, its result so far, and whether it has returned."""

    locals: dict[nodes.Local, Value] = field(default_factory=dict)
    result: Value = None
    result_type: Type | None = None
    returned: Truth = False
    broken: list[Truth] = field(default_factory=list)
    continued: list[Truth] = field(default_factory=list)

    def running(self) -> Truth:
        """Return whether control is still here, and not past a `return`, `break` or `continue`."""
        return negate(any_of((self.returned, *self.broken, *self.continued)))

    def copy(self) -> Frame:
        """Return a copy to run one branch on."""
        lists = (list(self.broken), list(self.continued))
        return Frame(dict(self.locals), self.result, self.result_type, self.returned, *lists)


@dataclass
class Failure:
    """An evaluation that leaves its bounds: where, and the condition under which it does and is the first."""

    site: nodes.Site
    condition: Truth


class Expressions:
    """Evaluates the expressions of one action or property on a symbolic state.

    - `alive`: nothing has left its bounds so far, and no `require` was false.
    - `guards`: the conditions under which what is evaluated now is evaluated at all.
    """

    def __init__(self, state: State, old: State | None = None):
        self.roots: dict[str, State] = {"self": dict(state), "old": old or {}}
        self.alive: Truth = True
        self.failures: list[Failure] = []
        self.guards: list[Truth] = []
        self.frame = Frame()

    @property
    def failed(self) -> Truth:
        """Whether anything left its bounds."""
        return any_of(failure.condition for failure in self.failures)

    @contextmanager
    def under(self, *conditions: Truth) -> Iterator[None]:
        """While this holds, what is evaluated is evaluated only where the conditions are true."""
        self.guards.extend(conditions)
        yield
        del self.guards[len(self.guards) - len(conditions) :]

    def check(self, node: nodes.Expr | nodes.Stmt, test: Truth) -> None:
        """Note that the evaluation leaves its bounds here where `test` is false."""
        if test is True:
            return
        here = all_of(self.guards)
        failing = all_of((self.alive, here, negate(test)))
        if failing is not False:
            self.failures.append(Failure(node.site, failing))
            self.alive = both(self.alive, implies(here, test))

    # Entry points.

    def evaluate(self, node: nodes.Expr) -> Value:
        """Return the value of an expression."""
        return getattr(self, f"_{type(node).__name__}")(node)

    def truth(self, node: nodes.Expr) -> Truth:
        """Return the value of a bool expression."""
        return self.evaluate(node)

    def number(self, node: nodes.Expr) -> Num:
        """Return the value of an integer expression."""
        value = self.evaluate(node)
        assert isinstance(value, Num)
        return value

    # Reads.

    def _Literal(self, node: nodes.Literal) -> Value:
        return constant(node.type, node.value)

    def _LocalRead(self, node: nodes.LocalRead) -> Value:
        return self.frame.locals[node.local]

    def _StateRead(self, node: nodes.StateRead) -> Value:
        return self.roots[node.root][node.variable]

    def _FieldRead(self, node: nodes.FieldRead) -> Value:
        return self.evaluate(node.base).parts[field_index(node.base.type, node.name)]

    def _IndexRead(self, node: nodes.IndexRead) -> Value:
        base = self.evaluate(node.base)
        if isinstance(node.base.type, MapType):
            key = self.evaluate(node.index)
            return self.at_key(node.base.type, base, key)
        index = self.checked_index(node, base)
        return arrays.item_at(base, index) if base.items else blank(node.type)

    def at_key(self, kind: MapType, base: Tup, key: Value) -> Value:
        """Return a map's value at a key."""
        tests = self.key_tests(kind, key)
        result = base.parts[tests[-1][0]]
        for position, test in reversed(tests[:-1]):
            result = merged(test, base.parts[position], result)
        return result

    def key_tests(self, kind: MapType, key: Value) -> list[tuple[int, Truth]]:
        """Return the positions that a key may have in a map, each with whether it is the one."""
        tests = [(i, equal(key, constant(kind.key, found))) for i, found in enumerate(kind.key.values())]
        possible = [(i, test) for i, test in tests if test is not False]
        return possible or tests

    def checked_index(self, node: nodes.IndexRead, base: Arr) -> Num:
        """Return the index of a sequence's item, which is an error outside it."""
        index = self.number(node.index)
        inside = both(compare("<=", known(0), index), compare("<", index, base.length))
        self.check(node, inside)
        return integers.narrowed(index, 0, max(len(base.items) - 1, 0))

    def _Convert(self, node: nodes.Convert) -> Value:
        value, is_one = converted(self.evaluate(node.base), node.base.type, node.type)
        self.check(node, is_one)
        return value

    # Integers and bools.

    def _Arithmetic(self, node: nodes.Arithmetic) -> Value:
        left, right = self.number(node.left), self.number(node.right)
        if node.operator in ("//", "%"):
            self.check(node, compare("!=", right, known(0)))
            quotient, remainder = integers.divide(left, right)
            return quotient if node.operator == "//" else remainder
        operation = {"+": integers.add, "-": integers.subtract, "*": integers.multiply}[node.operator]
        return operation(left, right)

    def _Extremum(self, node: nodes.Extremum) -> Value:
        best = self.number(node.operands[0])
        for operand in node.operands[1:]:
            best = integers.extreme(node.operator, best, self.number(operand))
        return best

    def _Comparison(self, node: nodes.Comparison) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(left, Num):
            return compare(node.operator, left, right)
        same = equal(left, right)
        return same if node.operator == "==" else negate(same)

    def _Not(self, node: nodes.Not) -> Value:
        return negate(self.truth(node.operand))

    def _Logical(self, node: nodes.Logical) -> Value:
        is_and = node.operator == "and"
        combine: Callable[[Truth, Truth], Truth] = both if is_and else either
        result = self.truth(node.operands[0])
        for operand in node.operands[1:]:
            if node.eager:
                result = combine(result, self.truth(operand))
                continue
            if result is (not is_and):
                return result
            result = combine(result, self._where(result if is_and else negate(result), operand))
        return result

    def _where(self, test: Truth, node: nodes.Expr) -> Value:
        """Return the value of an expression that is evaluated, and may change the state, only where `test` is true."""
        before = self.roots["self"]
        with self.under(test):
            value = self.evaluate(node)
        if self.roots["self"] is not before:
            self.roots["self"] = merged_states(test, self.roots["self"], before)
        return value

    def _Conditional(self, node: nodes.Conditional) -> Value:
        test = self.truth(node.test)
        if isinstance(test, bool):
            return self.evaluate(node.then if test else node.otherwise)
        return merged(test, self._where(test, node.then), self._where(negate(test), node.otherwise))

    # Collections asked.

    def _Contains(self, node: nodes.Contains) -> Value:
        container, item = self.evaluate(node.container), self.evaluate(node.item)
        kind = node.container.type
        inner, is_one = self._as_item(node, item)
        if isinstance(container, Bits):
            assert isinstance(kind, SetType)
            found = any_of(
                both(member, equal(inner, constant(kind.item, value)))
                for value, member in zip(kind.item.values(), container.members, strict=True)
                if member is not False
            )
            return both(is_one, found)
        return both(is_one, arrays.contains(container, inner))

    def _as_item(self, node: nodes.Contains | nodes.Count, item: Value) -> tuple[Value, Truth]:
        """Return an item as one of a container's item type, and whether it is one."""
        kind = node.container.type.item  # type: ignore[attr-defined]
        if isinstance(kind, NeverType):
            return None, False
        return converted(item, node.item.type, kind)

    def _Length(self, node: nodes.Length) -> Value:
        return self._length_of(self.evaluate(node.container))

    def _length_of(self, container: Value) -> Num:
        return arrays.total(iter(container.members)) if isinstance(container, Bits) else container.length

    def _Count(self, node: nodes.Count) -> Value:
        container = self.evaluate(node.container)
        inner, is_one = self._as_item(node, self.evaluate(node.item))
        return known(0) if is_one is False else integers.chosen(is_one, arrays.count(container, inner), known(0))

    def _IndexOf(self, node: nodes.IndexOf) -> Value:
        container, item = self.evaluate(node.container), self.evaluate(node.item)
        position = arrays.position_of(container, item)
        self.check(node, compare("<", position, container.length))
        return integers.narrowed(position, 0, max(len(container.items) - 1, 0))

    def _Subset(self, node: nodes.Subset) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(left, Bits):
            inside = all_of(implies(a, b) for a, b in zip(left.members, right.members, strict=True))
        else:
            inside = arrays.is_subset(left, right)
        return both(inside, negate(equal(left, right))) if node.strict else inside

    # Collections and structs made.

    def _SetOperation(self, node: nodes.SetOperation) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(left, Bits):
            pairs = zip(left.members, right.members, strict=True)
            return Bits(tuple(_BITWISE[node.operator](a, b) for a, b in pairs))
        assert isinstance(node.type, SetType)
        if node.operator in "&-":
            tests = [arrays.contains(right, item) for _, item in arrays.used(left)]
            wanted = tests if node.operator == "&" else [negate(test) for test in tests]
            return self._within_capacity(node, arrays.filtered(left, wanted, _roomier(node.type, left)), node.type)
        return self._united(node, left, right)

    def _united(self, node: nodes.SetOperation, left: Arr, right: Arr) -> Value:
        """Return a union or symmetric difference, with an error over the capacity."""
        room = SetType(node.type.item, len(left.items) + len(right.items))  # type: ignore[attr-defined]
        result = arrays.resized(left, room.capacity or 0, blank(room.item))
        if node.operator == "^":
            only_left = [negate(arrays.contains(right, item)) for _, item in arrays.used(left)]
            result = arrays.filtered(left, only_left, room)
        for is_used, item in arrays.used(right):
            wanted = is_used if node.operator == "|" else both(is_used, negate(arrays.contains(left, item)))
            result = merged(wanted, arrays.with_item(result, item, is_set=True), result)
        return self._within_capacity(node, result, node.type)

    def _within_capacity(self, node: nodes.Expr, array: Arr, kind: Type) -> Arr:
        """Return an array as one of a type that may have less room: an error where it is over its capacity."""
        capacity = arrays.capacity_of(kind)
        self.check(node, compare("<=", array.length, known(capacity)))
        length = integers.narrowed(array.length, 0, capacity)
        unused = blank(kind.item)  # type: ignore[attr-defined]
        return Arr(length, arrays.resized(array, capacity, unused).items)

    def _SetRemove(self, node: nodes.SetRemove) -> Value:
        base, item = self.evaluate(node.base), self.evaluate(node.item)
        if isinstance(base, Bits):
            single = self._single(node.type, item)
            pairs = list(zip(base.members, single.members, strict=True))
            self.check(node, any_of(both(a, b) for a, b in pairs))
            return Bits(tuple(both(a, negate(b)) for a, b in pairs))
        position = arrays.position_of(base, item)
        self.check(node, compare("<", position, base.length))
        return arrays.deleted(base, position, blank(node.type.item))  # type: ignore[attr-defined]

    def _single(self, kind: Type, item: Value) -> Bits:
        """Return the bit set of one item."""
        assert isinstance(kind, SetType)
        return Bits(tuple(equal(item, constant(kind.item, value)) for value in kind.item.values()))

    def _BagAdd(self, node: nodes.BagAdd) -> Value:
        base, item = self.evaluate(node.base), self.evaluate(node.item)
        self.check(node, compare("<", base.length, known(len(base.items))))
        return arrays.with_item(base, item, is_set=False)

    def _Items(self, node: nodes.Items) -> Value:
        result = blank(node.type)
        for item in node.items:
            result = self._with(node, result, self.evaluate(item), True)
        return result

    def _with(self, node: nodes.Expr, base: Value, item: Value, test: Truth) -> Value:
        """Return a set or sequence with an item more where `test` is true."""
        if isinstance(base, Bits):
            single = self._single(node.type, item)
            return Bits(tuple(either(a, both(test, b)) for a, b in zip(base.members, single.members, strict=True)))
        has_room = compare("<", base.length, known(len(base.items)))
        if isinstance(node.type, SetType):
            self.check(node, any_of((negate(test), has_room, arrays.contains(base, item))))
            return merged(test, arrays.with_item(base, item, is_set=True), base)
        self.check(node, implies(test, has_room))
        return arrays.appended(base, item, test)

    def _StructNew(self, node: nodes.StructNew) -> Value:
        return Tup(tuple(self.evaluate(value) for value in node.values))

    def _StructReplace(self, node: nodes.StructReplace) -> Value:
        parts = list(self.evaluate(node.base).parts)
        for name, value in node.values:
            parts[field_index(node.type, name)] = self.evaluate(value)
        return Tup(tuple(parts))

    def _MapItems(self, node: nodes.MapItems) -> Value:
        return Tup(tuple(self.evaluate(value) for value in node.values))

    def _MapBuild(self, node: nodes.MapBuild) -> Value:
        assert isinstance(node.type, MapType)
        values = []
        for key in node.type.key.values():
            self.frame.locals[node.key] = constant(node.type.key, key)
            values.append(self.evaluate(node.value))
        return Tup(tuple(values))

    def _SeqInsert(self, node: nodes.SeqInsert) -> Value:
        base = self.evaluate(node.base)
        index = base.length if node.index is None else self.number(node.index)
        item = self.evaluate(node.item)
        inside = both(compare("<=", known(0), index), compare("<=", index, base.length))
        self.check(node, both(inside, compare("<", base.length, known(len(base.items)))))
        if not base.items:
            return base
        if node.index is None:
            return arrays.appended(base, item)
        return arrays.inserted(base, integers.narrowed(index, 0, len(base.items)), item)

    def _SeqDelete(self, node: nodes.SeqDelete) -> Value:
        base = self.evaluate(node.base)
        index = integers.subtract(base.length, known(1)) if node.index is None else self.number(node.index)
        self.check(node, both(compare("<=", known(0), index), compare("<", index, base.length)))
        index = integers.narrowed(index, 0, max(len(base.items) - 1, 0))
        return arrays.deleted(base, index, blank(node.type.item))  # type: ignore[attr-defined]

    def _SeqSlice(self, node: nodes.SeqSlice) -> Value:
        base = self.evaluate(node.base)
        low = known(0) if node.low is None else self._bound(node, node.low)
        high = known(len(base.items)) if node.high is None else self._bound(node, node.high)
        return arrays.cut(base, low, high, blank(node.type.item), inverted=node.inverted)  # type: ignore[attr-defined]

    def _bound(self, node: nodes.SeqSlice, bound: nodes.Expr) -> Num:
        """Return the bound of a slice, which must not be negative."""
        number = self.number(bound)
        self.check(node, compare("<=", known(0), number))
        return integers.narrowed(number, 0, number.high)

    def _SeqConcat(self, node: nodes.SeqConcat) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        capacity = arrays.capacity_of(node.type)
        self.check(node, compare("<=", integers.add(left.length, right.length), known(capacity)))
        return arrays.joined(left, right, blank(node.type.item), capacity)  # type: ignore[attr-defined]

    def _Sorted(self, node: nodes.Sorted) -> Value:
        base, result = self.evaluate(node.base), arrays.empty(node.type)
        for present, item in self._items_of(node.base.type, base):
            result = merged(present, arrays.with_item(result, item, is_set=False), result)
        return result

    # Loops and comprehensions.

    def _items_of(self, kind: Type, value: Value) -> list[tuple[Truth, Value]]:
        """Return the items of a collection, in order, each with whether it is there."""
        if isinstance(value, Bits):
            assert isinstance(kind, SetType)
            items = zip(kind.item.values(), value.members, strict=True)
            return [(member, constant(kind.item, item)) for item, member in items]
        return list(arrays.used(value))

    def over(self, iterable: nodes.Iterable) -> list[tuple[Truth, Value]]:
        """Return the items of an iterable, in order, each with whether it is there."""
        if isinstance(iterable, nodes.Universe):
            return [(True, constant(iterable.type, value)) for value in iterable.type.values()]
        if isinstance(iterable, nodes.IntRange):
            low, high = self.number(iterable.low), self.number(iterable.high)
            numbers = [known(number) for number in range(int(low.low), int(high.high))]
            return [(both(compare("<=", low, n), compare("<", n, high)), n) for n in numbers]
        return self._items_of(iterable.type, self.evaluate(iterable))

    def bindings(self, clause: nodes.ForClause) -> Iterator[tuple[Truth, dict[nodes.Local, Value]]]:
        """Iterate over the items of a clause: whether each is there, and the clause's locals with it."""
        counter, kind = known(0), item_type(clause.iterable)
        for present, item in self.over(clause.iterable):
            if present is False:
                continue
            bound = {clause.local: converted(item, kind, clause.local.type)[0]}
            if clause.counter is not None:
                bound[clause.counter] = counter
                counter = integers.chosen(present, integers.add(counter, known(1)), counter)
            yield present, bound

    def _elements(
        self, clauses: tuple[nodes.Clause, ...], use: Callable[[Truth], None], test: Truth = True, stop: StopTest = None
    ) -> None:
        """Call `use(condition)` for each combination of a comprehension's clauses, with their locals bound.

        `stop`: gives the condition under which nothing more is evaluated.
        """
        if not clauses:
            use(test)
            return
        first, rest = clauses[0], clauses[1:]
        if isinstance(first, nodes.IfClause):
            wanted = self.truth(first.test)
            if wanted is not False:
                with self.under(wanted):
                    self._elements(rest, use, both(test, wanted), stop)
            return
        for present, bound in self.bindings(first):
            go_on = True if stop is None else negate(stop())
            if go_on is False:
                return
            self.frame.locals.update(bound)
            with self.under(present, go_on):
                self._elements(rest, use, both(test, present), stop)

    def _Fold(self, node: nodes.Fold) -> Value:
        if node.kind in ("all", "any"):
            return self._quantified(node, node.kind)
        if node.kind in ("set", "seq"):
            return self._collected(node)
        if node.kind == "sum":
            return self._sum(node)
        return self._extreme(node)

    def _quantified(self, node: nodes.Fold, kind: str) -> Truth:
        deciding: list[Truth] = []
        so_far: Truth = False

        def decide(test: Truth) -> None:
            nonlocal so_far
            found = self.truth(node.element)
            deciding.append(both(test, negate(found) if kind == "all" else found))
            so_far = either(so_far, deciding[-1])

        self._elements(node.clauses, decide, stop=lambda: so_far)
        decided = any_of(deciding)
        return negate(decided) if kind == "all" else decided

    def _sum(self, node: nodes.Fold) -> Num:
        total = known(0)

        def add(test: Truth) -> None:
            nonlocal total
            total = integers.add(total, integers.chosen(test, self.number(node.element), known(0)))

        self._elements(node.clauses, add)
        return total

    def _extreme(self, node: nodes.Fold) -> Num:
        best, some = known(0), False

        def take(test: Truth) -> None:
            nonlocal best, some
            found = self.number(node.element)
            better = found if some is False else integers.extreme(node.kind, best, found)
            best = integers.chosen(test, integers.chosen(some, better, found), best if some is not False else found)
            some = either(some, test)

        self._elements(node.clauses, take)
        if node.default is None:
            self.check(node, some)
            return best
        # Python evaluates a default in any case, before the elements.
        default = self.number(node.default)
        return default if some is False else integers.chosen(some, best, default)

    def _collected(self, node: nodes.Fold) -> Value:
        result = blank(node.type)

        def take(test: Truth) -> None:
            nonlocal result
            result = self._with(node, result, self.evaluate(node.element), test)

        self._elements(node.clauses, take)
        return result

    # Calls.

    def _Call(self, node: nodes.Call) -> Value:
        arguments = {
            parameter: converted(self.evaluate(argument), argument.type, parameter.type)[0]
            for parameter, argument in zip(node.function.parameters, node.arguments, strict=True)
        }
        before, running = self.frame, self.frame.running()
        state = self.roots["self"]
        self.roots["self"] = dict(state)
        self.frame = Frame(arguments, result_type=node.function.result)
        with self.under(running):
            self.statements(node.function.body)
        result, self.frame = self.frame.result, before
        self.roots["self"] = merged_states(running, self.roots["self"], state) if node.function.writes else state
        return result

    def statements(self, body: tuple[nodes.Stmt, ...]) -> None:
        """Run statements; `Statements` provides this."""
        raise NotImplementedError


StopTest = Callable[[], Truth] | None

_BITWISE: dict[OneOf["|", "&", "-", "^"], Callable[[Truth, Truth], Truth]] = {
    "|": either,
    "&": both,
    "-": lambda one, other: both(one, negate(other)),
    "^": lambda one, other: choose(one, negate(other), other),
}


def _roomier(kind: SetType, left: Arr) -> SetType:
    return SetType(kind.item, max(len(left.items), kind.capacity or 0))


def item_type(over: nodes.Iterable) -> Type:
    """Return the type of what a loop over this binds."""
    if isinstance(over, (nodes.Universe, nodes.IntRange)):
        return over.type
    return over.type.item  # type: ignore[attr-defined, no-any-return]


def field_index(kind: Type, name: str) -> int:
    """Return the position of a struct's field."""
    assert isinstance(kind, StructType)
    return [found for found, _ in kind.fields].index(name)


def merged_states(test: Truth, then: State, otherwise: State) -> State:
    """Return `then if test else otherwise`, of states."""
    return {name: merged(test, value, otherwise[name]) for name, value in then.items()}
