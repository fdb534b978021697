"""Typing of expressions."""

from __future__ import annotations

import ast
import enum
import functools
from collections.abc import Callable
from typing import Any, TypeGuard

from checker.frontend import call_typing, hints, narrowing, partial_maps
from checker.frontend.scope import TypingScope
from checker.frontend.type_relations import arithmetic_range, can_become, union_type, widen_towards
from checker.frontend.typers import HelperTyper
from checker.ir import nodes
from checker.language.declarations import Constant, is_type
from checker.language.declared_types import Domain
from checker.language.spec import Spec
from checker.language.symbols import is_open
from checker.language.type_joins import NONE, NOTHING, is_bounded, join, join_integers, set_of
from checker.language.types import (
    LARGEST,
    BagType,
    BoolType,
    DomainType,
    EnumType,
    IntType,
    MapType,
    NameType,
    NeverType,
    OptionType,
    PartialMapType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
    tuple_type,
)
from checker.language.values import TupleValue

ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
SETS = {ast.BitOr: "|", ast.BitAnd: "&", ast.Sub: "-", ast.BitXor: "^"}
COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


_GUIDED = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.IfExp, ast.Call)


class ExpressionTyping:
    """Types the expressions of one function. `StatementTyping` extends it.

    A method `_Name` types the syntax node `ast.Name`.
    """

    def __init__(self, compiler: HelperTyper, scope: TypingScope):
        self.compiler, self.scope = compiler, scope

    def expression(self, node: ast.expr, wanted: Type | None = None) -> nodes.Expr:
        """Return the typed form of an expression; `wanted` guides displays and comprehensions.

        The result may have another type than `wanted`: `converted` also converts it.
        """
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self.scope.error(node, hints.syntax_refusal(node))
        # Only these use the guide; the type of any other expression follows from its operands.
        if isinstance(node, _GUIDED):
            return method(node, wanted)  # type: ignore[no-any-return]
        return method(node)  # type: ignore[no-any-return]

    def converted(self, node: ast.expr, wanted: Type) -> nodes.Expr:
        """Return an expression as a value of `wanted`."""
        return self.scope.convert(node, self.expression(node, wanted), wanted)

    def condition(self, node: ast.expr) -> nodes.Expr:
        """Return an expression that must be a bool."""
        value = self.expression(node)
        if isinstance(value.type, (SeqType, SetType, BagType)):
            raise self.scope.error(node, f"a condition must be a bool: write len({ast.unparse(node)}) > 0")
        if isinstance(value.type, IntType):
            raise self.scope.error(node, f"a condition must be a bool: write {ast.unparse(node)} != 0")
        if isinstance(value.type, OptionType):
            # Python silently treats None as false.
            test = "== True" if isinstance(value.type.item, BoolType) else "is not None"
            raise self.scope.error(node, f"a condition must be a bool: write {ast.unparse(node)} {test}")
        return self.scope.convert(node, value, nodes.BOOL)

    def integer(self, node: ast.expr) -> nodes.Expr:
        """Return an expression that must be an integer; an option of one is unwrapped."""
        return self.as_integer(node, self.expression(node))

    def as_integer(self, node: ast.expr, value: nodes.Expr) -> nodes.Expr:
        """Return a value that must be an integer; an option of one is unwrapped."""
        value = self.unwrapped(value)
        if not isinstance(value.type, IntType):
            hint = ": write `1 if ... else 0`" if isinstance(value.type, BoolType) else ""
            raise self.scope.error(node, f"expected an integer, found {value.type}{hint}")
        return value

    def unwrapped(self, value: nodes.Expr) -> nodes.Expr:
        """Return the value inside an option (an error if it is None); other values unchanged."""
        if isinstance(value.type, OptionType) and not isinstance(value.type.item, NeverType):
            return nodes.Convert(value.type.item, value.site, value)
        return value

    # Names, attributes, indices.

    def _Constant(self, node: ast.Constant) -> nodes.Expr:
        literal = self.scope.literal(node, node.value)
        if literal is None:
            raise self.scope.error(
                node, f"{node.value!r} is not a value of the language: use ints, bools, None or names"
            )
        return literal

    def _Name(self, node: ast.Name) -> nodes.Expr:
        if node.id in self.scope.roots:
            raise self.scope.error(node, f"{node.id} is not a value: read its variables")
        local = self.scope.read(node)
        return local if local is not None else self._object(node)

    def _object(self, node: ast.expr) -> nodes.Expr:
        named = self.scope.object_of(node)
        literal = self.scope.literal(node, named) if named is not None else None
        if literal is None:
            name = ast.unparse(node)
            if is_type(named):
                message = f"{name} cannot be used here: to iterate over its members, write `for x in {name}`"
                raise self.scope.error(node, message)
            owner = self.scope.object_of(node.value) if named is None and isinstance(node, ast.Attribute) else None
            if isinstance(node, ast.Attribute) and owner is not None:
                raise self.scope.error(node, hints.unknown_member(owner, node.attr))
            raise self.scope.error(node, hints.non_value(name, named))
        # Of a constant, the interpreter has a value of the language; of any other name, Python's own value.
        self.compiler.python_collections.add(literal)
        return literal

    def root_of(self, node: ast.expr) -> str | None:
        """Return "self" or "old" if the node names a state, else None."""
        return self.scope.roots.get(node.id) if isinstance(node, ast.Name) else None

    def _Attribute(self, node: ast.Attribute) -> nodes.Expr:
        root = self.root_of(node.value)
        if root is not None:
            return self._state_attribute(node, root)
        if self.scope.object_of(node.value) is not None:
            return self._object(node)
        base = self.unwrapped(self.expression(node.value))
        if isinstance(base.type, UnionType):
            text, kinds = ast.unparse(node.value), " or ".join(map(str, base.type.alternatives))
            hint = (
                "test it with isinstance, or use match" if isinstance(node.value, ast.Name) else "name it with a local"
            )
            raise self.scope.error(node, f"{text} is {kinds}: {hint}, before you read .{node.attr}")
        if not isinstance(base.type, StructType):
            raise self.scope.error(node, f"{base.type:a} has no field {node.attr}")
        kind = base.type.type_of(node.attr)
        if isinstance(base.type, TupleType):
            raise self.scope.error(node, f"{base.type:a} has no field {node.attr}: write [0] for its first item")
        if kind is None:
            names = ", ".join(name for name, _ in base.type.fields)
            raise self.scope.error(node, f"{base.type} has no field {node.attr}; its fields are {names}")
        return call_typing.field_read(self, base, node.attr, self.scope.site(node))

    def _state_attribute(self, node: ast.Attribute, root: str) -> nodes.Expr:
        spec = self.compiler.spec
        if node.attr in spec.variables:
            return nodes.StateRead(spec.variables[node.attr], self.scope.site(node), root, node.attr)  # type: ignore[arg-type]
        if node.attr in self.compiler.runtime_constants:
            kind = _constant_type(spec.declared_constants[node.attr], self.compiler.runtime_constants[node.attr])
            return nodes.ConstantRead(kind, self.scope.site(node), node.attr)
        if node.attr in spec.constants:
            literal = self.scope.literal(node, spec.constant_values[node.attr])
            if literal is not None and isinstance(literal.type, NameType):
                # Of all its names, so that a comparison with another text is an error.
                return nodes.Literal(NameType(_names_of(type(spec), node.attr)), literal.site, literal.value)
            assert literal is not None
            return literal
        if callable(getattr(type(spec), node.attr, None)):
            raise self.scope.error(node, f"{node.attr} is a method: call it, {ast.unparse(node)}(...)")
        plain = getattr(type(spec), node.attr, None)
        literal = self.scope.literal(node, plain) if plain is not None else None
        if literal is not None:
            self.compiler.python_collections.add(literal)
            return literal
        raise self.scope.error(node, hints.unknown_attribute(spec, node.attr))

    def _Subscript(self, node: ast.Subscript) -> nodes.Expr:
        domain = self.scope.object_of(node.value)
        if isinstance(domain, type) and issubclass(domain, Domain):
            return self._member(node, domain)
        if isinstance(domain, type) and issubclass(domain, enum.Enum):
            raise self.scope.error(node, f"{domain.__name__} cannot be indexed: {hints.member_hint(domain)}")
        base = self.unwrapped(self.expression(node.value))
        if isinstance(node.slice, ast.Slice):
            return self._slice(node, base, inverted=False)
        if isinstance(base.type, PartialMapType):
            return partial_maps.value_at(self, node, base)
        if isinstance(base.type, MapType):
            key = self.converted(node.slice, base.type.key)
            return nodes.IndexRead(base.type.value, self.scope.site(node), base, key)
        if isinstance(base.type, TupleType):
            return self._tuple_item(node, base, base.type)
        if isinstance(base.type, SeqType):
            index = self.integer(node.slice)
            self._refuse_negative(node.slice, index, base)
            return nodes.IndexRead(base.type.item, self.scope.site(node), base, index)
        raise self.scope.error(node, f"{base.type:a} cannot be indexed")

    def _tuple_item(self, node: ast.Subscript, base: nodes.Expr, kind: TupleType) -> nodes.Expr:
        index = self.integer(node.slice)
        if _is_known(index):
            if not 0 <= index.value < len(kind.items):
                raise self.scope.error(node, f"{kind:a} has {len(kind.items)} items, numbered from 0")
            return call_typing.field_read(self, base, str(index.value), self.scope.site(node))
        assert isinstance(index.type, IntType)
        if index.type.low is None or index.type.low < 0:
            text = ast.unparse(node.slice)
            raise self.scope.error(
                node, f"{text} may be negative, and Python would count from the end of the tuple: write max({text}, 0)"
            )
        items = call_typing.items_of_tuple(self, node.value, base)
        assert isinstance(items.type, SeqType)
        return nodes.IndexRead(items.type.item, self.scope.site(node), items, index)

    def _refuse_negative(self, node: ast.expr, index: nodes.Expr, base: nodes.Expr) -> None:
        assert isinstance(index.type, IntType)
        low, high = index.type.low, index.type.high
        if high is not None and high < 0:
            raise self.scope.error(node, "an index is never negative: write seq[len(seq) - 1] for the last item")
        if (low is None or low < 0) and self.compiler.python_collections.may_hold(base):
            # A negative index is an error in a sequence of the state, but not in one of Python's own lists.
            text = ast.unparse(node)
            raise self.scope.error(
                node, f"{text} may be negative, and Python would count from the end of the list: write max({text}, 0)"
            )

    def _member(self, node: ast.Subscript, domain: type[Domain]) -> nodes.Expr:
        kind: DomainType = self.compiler.spec.resolved_type(domain)
        index = self.expression(node.slice)
        if not _is_known(index) or not isinstance(index.type, IntType):
            raise self.scope.error(node, f"the index of {domain.__name__} must be a constant")
        if not 0 <= index.value < len(kind.members):
            raise self.scope.error(node, f"{domain.__name__} has {len(kind.members)} members, numbered from 0")
        return nodes.Literal(kind, self.scope.site(node), kind.members[index.value])

    def _slice(self, node: ast.Subscript, base: nodes.Expr, *, inverted: bool) -> nodes.Expr:
        part = node.slice
        assert isinstance(part, ast.Slice)
        if part.step is not None:
            raise self.scope.error(node, "a slice has no step in this language")
        if not isinstance(base.type, SeqType):
            raise self.scope.error(node, f"{base.type:a} cannot be sliced")
        low = None if part.lower is None else self._slice_bound(part.lower, base, is_upper=False)
        high = None if part.upper is None else self._slice_bound(part.upper, base, is_upper=True)
        return nodes.SeqSlice(base.type, self.scope.site(node), base, low, high, inverted)

    def _slice_bound(self, node: ast.expr, base: nodes.Expr, *, is_upper: bool) -> nodes.Expr:
        limit = self.expression(node)
        bound = self.as_integer(node, limit) if not _is_none(limit) else limit
        if isinstance(bound.type, IntType):
            self._refuse_negative(node, bound, base)
        if not isinstance(limit.type, OptionType):
            return bound
        # As in Python, a bound that is None is the end of the sequence.
        site = self.scope.site(node)
        end: nodes.Expr = nodes.Literal(IntType(0, 0, "int"), site, 0)
        if is_upper:
            end = nodes.Length(IntType(0, call_typing.largest_size(base.type), "int"), site, base)
        if not isinstance(bound.type, IntType):
            return end
        assert isinstance(end.type, IntType)
        is_there = self.equality(node, "!=", limit, nodes.Literal(NONE, site, None))
        return nodes.Conditional(join_integers(bound.type, end.type), site, is_there, bound, end)

    # Operators.

    def _BinOp(self, node: ast.BinOp) -> nodes.Expr:
        left, right = self.unwrapped(self.expression(node.left)), self.unwrapped(self.expression(node.right))
        if isinstance(left.type, SetType) and isinstance(right.type, SetType) and type(node.op) in SETS:
            return self.set_operation(node, SETS[type(node.op)], left, right)
        if isinstance(left.type, SeqType) and isinstance(right.type, SeqType) and isinstance(node.op, ast.Add):
            return self.concatenation(node, left, right)
        if isinstance(left.type, IntType) and isinstance(right.type, IntType) and type(node.op) in ARITHMETIC:
            return self.arithmetic(node, ARITHMETIC[type(node.op)], left, right)
        raise self.scope.error(node, hints.operator_refusal(ast.unparse(node), node.op, left.type, right.type))

    def arithmetic(self, node: ast.AST, operator: str, left: nodes.Expr, right: nodes.Expr) -> nodes.Expr:
        """Return a sum, difference, product, quotient or remainder of two integers."""
        assert isinstance(left.type, IntType) and isinstance(right.type, IntType)
        if _is_known(left) and _is_known(right) and operator in OPERATIONS:
            value = OPERATIONS[operator](left.value, right.value)
            if abs(value) > LARGEST:
                raise self.scope.error(node, f"{value} is beyond 62 bits: use smaller numbers")
            return nodes.Literal(IntType(value, value, "int"), self.scope.site(node), value)
        kind = arithmetic_range(operator, left.type, right.type)
        if kind is None:
            raise self.scope.error(
                node, "the result has no known bounds: keep the operands in state variables of a Range"
            )
        return nodes.Arithmetic(kind, self.scope.site(node), operator, left, right)  # type: ignore[arg-type]

    def set_operation(self, node: ast.AST, operator: str, left: nodes.Expr, right: nodes.Expr) -> nodes.Expr:
        """Return a union, intersection, difference or symmetric difference of two sets."""
        assert isinstance(left.type, SetType) and isinstance(right.type, SetType)
        kind = union_type(left.type, right.type)
        if kind is None:
            raise self.scope.error(node, f"{left.type:a} and {right.type:a} have no items in common")
        operands = (self.scope.convert(node, left, kind), self.scope.convert(node, right, kind))
        return nodes.SetOperation(kind, self.scope.site(node), operator, *operands)  # type: ignore[arg-type]

    def concatenation(self, node: ast.AST, left: nodes.Expr, right: nodes.Expr) -> nodes.Expr:
        """Return one sequence after the other."""
        assert isinstance(left.type, SeqType) and isinstance(right.type, SeqType)
        item = join(left.type.item, right.type.item)
        if item is None:
            raise self.scope.error(node, f"{left.type:a} and {right.type:a} cannot be concatenated")
        sides = (
            self.scope.convert(node, left, SeqType(item, left.type.capacity)),
            self.scope.convert(node, right, SeqType(item, right.type.capacity)),
        )
        kind = SeqType(item, left.type.capacity + right.type.capacity)
        return nodes.SeqConcat(kind, self.scope.site(node), *sides)

    def _UnaryOp(self, node: ast.UnaryOp) -> nodes.Expr:
        if isinstance(node.op, ast.Not):
            operand = self.condition(node.operand)
            if isinstance(operand, nodes.Literal):
                return nodes.Literal(nodes.BOOL, operand.site, not operand.value)
            return nodes.Not(nodes.BOOL, self.scope.site(node), operand)
        if isinstance(node.op, ast.USub):
            # `-x` is lowered as `0 - x`, so the engines need no negation.
            zero = nodes.Literal(IntType(0, 0, "int"), self.scope.site(node), 0)
            return self.arithmetic(node, "-", zero, self.integer(node.operand))
        raise self.scope.error(node, hints.syntax_refusal(node.op))

    def _BoolOp(self, node: ast.BoolOp) -> nodes.Expr:
        operator = "and" if isinstance(node.op, ast.And) else "or"
        operands: list[nodes.Expr] = []
        before = dict(self.scope.alternatives)
        for position, value in enumerate(node.values):
            if position:
                narrowing.narrow(self.scope, node.values[position - 1], is_true=operator == "and")
            operand = self.condition(value)
            if isinstance(operand, nodes.Literal):
                # This operand decides: `and` ends at a false one, `or` at a true one. Those before it stay, because
                # they may fail.
                if operand.value == (operator == "or"):
                    operands.append(operand)
                    break
                continue
            operands.append(operand)
        self.scope.alternatives = before
        if not operands:
            return nodes.Literal(nodes.BOOL, self.scope.site(node), operator == "and")
        if len(operands) == 1:
            return operands[0]
        return nodes.Logical(nodes.BOOL, self.scope.site(node), operator, tuple(operands))  # type: ignore[arg-type]

    def _IfExp(self, node: ast.IfExp, wanted: Type | None) -> nodes.Expr:
        test = self.condition(node.test)
        if isinstance(test, nodes.Literal):
            return self.expression(node.body if test.value else node.orelse, wanted)
        before = dict(self.scope.alternatives)
        narrowing.narrow(self.scope, node.test, is_true=True)
        then, self.scope.alternatives = self.expression(node.body, wanted), dict(before)
        narrowing.narrow(self.scope, node.test, is_true=False)
        otherwise, self.scope.alternatives = self.expression(node.orelse, wanted), before
        kind = join(then.type, otherwise.type)
        if kind is None and isinstance(wanted, UnionType):
            kind = join(join(wanted, then.type) or then.type, otherwise.type)
        if kind is None:
            raise self.scope.error(node, f"one branch is {then.type:a}, the other {otherwise.type:a}")
        then, otherwise = self.scope.convert(node, then, kind), self.scope.convert(node, otherwise, kind)
        return nodes.Conditional(kind, self.scope.site(node), test, then, otherwise)

    def _Compare(self, node: ast.Compare) -> nodes.Expr:
        results, left_node = [], node.left
        left = self._operand(left_node)
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            right = None if isinstance(operator, (ast.In, ast.NotIn)) else self._operand(right_node)
            results.append(self._comparison(node, operator, left_node, left, right_node, right))
            left_node = right_node
            if right is not None:
                left = right
        # `a <= b < c` is a conjunction that stops at the first false comparison, as in Python.
        known = [result for result in results if not (isinstance(result, nodes.Literal) and result.value is True)]
        if not known:
            return results[0]
        false = next((result for result in known if isinstance(result, nodes.Literal)), None)
        # A false comparison at the start decides. A later one stays in the conjunction: those before it may fail.
        if len(known) == 1 or false is known[0]:
            return known[0]
        return nodes.Logical(nodes.BOOL, self.scope.site(node), "and", tuple(known))

    def _operand(self, node: ast.expr) -> nodes.Expr:
        return self.expression(node)

    def _comparison(
        self,
        node: ast.Compare,
        operator: ast.cmpop,
        left_node: ast.expr,
        left: nodes.Expr,
        right_node: ast.expr,
        right: nodes.Expr | None,
    ) -> nodes.Expr:
        if isinstance(operator, (ast.In, ast.NotIn)):
            member_test = call_typing.membership(self, node, left, right_node)
            if isinstance(operator, ast.In):
                return member_test
            if isinstance(member_test, nodes.Literal):
                return nodes.Literal(nodes.BOOL, member_test.site, not member_test.value)
            return nodes.Not(nodes.BOOL, member_test.site, member_test)
        assert right is not None
        if isinstance(operator, (ast.Is, ast.IsNot)):
            return self._is_none(node, operator, left, right_node)
        symbol = COMPARISONS[type(operator)]
        if symbol in ("==", "!="):
            return self.equality(node, symbol, left, right)
        return self._ordering(node, symbol, left_node, left, right_node, right)

    def _is_none(self, node: ast.Compare, operator: ast.cmpop, left: nodes.Expr, right: ast.expr) -> nodes.Expr:
        if not (isinstance(right, ast.Constant) and right.value is None):
            raise self.scope.error(node, "`is` compares with None only: use == and !=")
        none = self.expression(right)
        return self.equality(node, "==" if isinstance(operator, ast.Is) else "!=", left, none)

    def equality(self, node: ast.AST, symbol: str, left: nodes.Expr, right: nodes.Expr) -> nodes.Expr:
        """Return `==` or `!=` of two values of one type, of any kind."""
        if isinstance(left.type, NameType) and isinstance(right.type, NameType):
            if not set(left.type.names) & set(right.type.names):
                raise self.scope.error(node, f"{left.type} is never equal to {right.type}: write one of its names")
        elif join(left.type, right.type) is None and _is_known(left) and _is_known(right):
            raise self.scope.error(node, f"{left.type:a} is never equal to {right.type:a}")
        if _is_known(left) and _is_known(right):
            return nodes.Literal(nodes.BOOL, self.scope.site(node), OPERATIONS[symbol](left.value, right.value))
        left, right = _positions_of(left, right)
        kind = join(left.type, right.type)
        if kind is None:
            raise self.scope.error(node, f"{left.type:a} is never equal to {right.type:a}")
        # Integers are compared as numbers, whatever their ranges are; a conversion could only add a check.
        if not isinstance(kind, IntType):
            left, right = self.scope.convert(node, left, kind), self.scope.convert(node, right, kind)
        return nodes.Comparison(nodes.BOOL, self.scope.site(node), symbol, left, right)  # type: ignore[arg-type]

    def _ordering(
        self,
        node: ast.Compare,
        symbol: str,
        left_node: ast.expr,
        left: nodes.Expr,
        right_node: ast.expr,
        right: nodes.Expr,
    ) -> nodes.Expr:
        left, right = self.unwrapped(left), self.unwrapped(right)
        if isinstance(left.type, SetType) and isinstance(right.type, SetType):
            kind = union_type(left.type, right.type)
            # The node has one direction only: `a > b` is a strict subset with the sides exchanged.
            if symbol in (">", ">="):
                left, right = right, left
            if kind is None:
                raise self.scope.error(node, f"{left.type:a} and {right.type:a} have no items in common")
            sides = (self.scope.convert(node, left, kind), self.scope.convert(node, right, kind))
            return nodes.Subset(nodes.BOOL, self.scope.site(node), *sides, symbol in ("<", ">"))
        if isinstance(left.type, TupleType) and isinstance(right.type, TupleType):
            return self._tuple_ordering(node, symbol, left, right)
        for side in (left, right):
            if isinstance(side.type, (DomainType, EnumType)):
                raise self.scope.error(node, f"the members of {side.type} have no order: compare with == and !=")
        left, right = self.as_integer(left_node, left), self.as_integer(right_node, right)
        if _is_known(left) and _is_known(right):
            return nodes.Literal(nodes.BOOL, self.scope.site(node), OPERATIONS[symbol](left.value, right.value))
        return nodes.Comparison(nodes.BOOL, self.scope.site(node), symbol, left, right)  # type: ignore[arg-type]

    def _tuple_ordering(self, node: ast.Compare, symbol: str, left: nodes.Expr, right: nodes.Expr) -> nodes.Expr:
        """Return `<`, `<=`, `>` or `>=` of two tuples of integers: the first items that differ decide."""
        assert isinstance(left.type, TupleType) and isinstance(right.type, TupleType)
        items = (*left.type.items, *right.type.items)
        if len(left.type.items) != len(right.type.items) or not all(isinstance(item, IntType) for item in items):
            kinds = f"{left.type} and {right.type}"
            raise self.scope.error(node, f"only tuples of integers, of one length, have an order, not {kinds}")
        site = self.scope.site(node)
        sides = (left, right)
        pairs = [
            tuple(call_typing.field_read(self, side, name, site) for side in sides) for name, _ in left.type.fields
        ]

        def compared(operator: str, one: nodes.Expr, other: nodes.Expr) -> nodes.Expr:
            return nodes.Comparison(nodes.BOOL, site, operator, one, other)  # type: ignore[arg-type]

        # From the last pair to the first: a < b, or a == b and the rest is in order. The last pair may be equal.
        result = compared(symbol, *pairs[-1])
        for one, other in reversed(pairs[:-1]):
            rest = nodes.Logical(nodes.BOOL, site, "and", (compared("==", one, other), result))
            result = nodes.Logical(nodes.BOOL, site, "or", (compared(symbol[0], one, other), rest))
        return result

    # Displays and comprehensions.

    def _items(self, node: ast.List | ast.Set, wanted: Type | None) -> tuple[list[nodes.Expr], Type]:
        items = [self.expression(item, wanted) for item in node.elts]
        kind: Type = wanted if isinstance(wanted, UnionType) else NOTHING
        for item, item_node in zip(items, node.elts, strict=True):
            joined = join(kind, item.type)
            if joined is None:
                raise self.scope.error(
                    item_node,
                    f"one display has {kind:a} and {item.type:a}: use items of one type",
                )
            kind = joined
        kind = widen_towards(kind, wanted)
        if isinstance(kind, NameType) or not is_bounded(kind):
            raise self.scope.error(node, f"items of type {kind} cannot be stored: keep numbers in a Range")
        return [self.scope.convert(n, item, kind) for n, item in zip(node.elts, items, strict=True)], kind

    def _List(self, node: ast.List, wanted: Type | None) -> nodes.Expr:
        wanted = wanted.item if isinstance(wanted, OptionType) else wanted
        items, kind = self._items(node, wanted.item if isinstance(wanted, (SeqType, BagType)) else None)
        sequence = nodes.ItemsOf(SeqType(kind, len(items)), self.scope.site(node), tuple(items))
        return call_typing.as_bag(self, node, sequence, wanted) if isinstance(wanted, BagType) else sequence

    def _Tuple(self, node: ast.Tuple, wanted: Type | None) -> nodes.Expr:
        wanted = wanted.item if isinstance(wanted, OptionType) else wanted
        if isinstance(wanted, (SeqType, BagType)):
            return self._List(ast.copy_location(ast.List(node.elts, node.ctx), node), wanted)
        guides: tuple[Type | None, ...] = (None,) * len(node.elts)
        if isinstance(wanted, TupleType) and len(wanted.items) == len(node.elts):
            guides = wanted.items
        items = [self.expression(item, guide) for item, guide in zip(node.elts, guides, strict=True)]
        for item_node, item in zip(node.elts, items, strict=True):
            if isinstance(item.type, NameType) or not is_bounded(item.type):
                raise self.scope.error(
                    item_node, f"items of type {item.type} cannot be stored: keep numbers in a Range"
                )
        kinds = [widen_towards(item.type, guide) for item, guide in zip(items, guides, strict=True)]
        values = [
            self.scope.convert(item_node, item, kind)
            for item_node, item, kind in zip(node.elts, items, kinds, strict=True)
        ]
        kind = tuple_type(kinds)
        if all(_is_known(value) for value in values):
            literals = TupleValue(value.value for value in values if _is_known(value))
            return nodes.Literal(kind, self.scope.site(node), literals)
        return nodes.StructNew(kind, self.scope.site(node), tuple(values))

    def _Set(self, node: ast.Set, wanted: Type | None) -> nodes.Expr:
        wanted = wanted.item if isinstance(wanted, OptionType) else wanted
        items, kind = self._items(node, wanted.item if isinstance(wanted, SetType) else None)
        for item_node, item in zip(node.elts, items, strict=True):
            call_typing.refuse_unhashable(self, item_node, item)
        return nodes.ItemsOf(set_of(kind, len(items)), self.scope.site(node), tuple(items))

    def _Dict(self, node: ast.Dict, wanted: Type | None) -> nodes.Expr:
        if not isinstance(wanted, MapType):
            raise self.scope.error(node, "a dict is allowed only where a Map is assigned")
        if isinstance(wanted, PartialMapType):
            return partial_maps.displayed(self, node, wanted)
        values: dict[Any, nodes.Expr] = {}
        kind = wanted.value
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            key = self.expression(key_node) if key_node is not None else None
            if not isinstance(key, nodes.Literal):
                raise self.scope.error(
                    node, "the keys of a dict must be constants: write {Role.LEADER: 0, ...}, or a comprehension"
                )
            value = self.expression(value_node, wanted.value)
            if not can_become(value.type, wanted.value):
                raise self.scope.error(value_node, hints.type_refusal(value.type, wanted.value))
            values[key.value], kind = value, widen_towards(kind, value.type)
        missing = [key for key in wanted.key.values() if key not in values]
        if missing or len(values) != wanted.key.cardinality():
            raise self.scope.error(node, f"{wanted:a} needs exactly one value for each key")
        # In the order of the keys' type, which is the order of a map's items.
        items = tuple(self.scope.convert(node, values[key], kind) for key in wanted.key.values())
        return nodes.MapItems(MapType(wanted.key, kind), self.scope.site(node), items)

    def _DictComp(self, node: ast.DictComp, wanted: Type | None) -> nodes.Expr:
        if isinstance(wanted, PartialMapType):
            return self._partial_map_built(node, wanted)
        simple = len(node.generators) == 1 and not node.generators[0].ifs
        target = node.generators[0].target
        universe = call_typing.iterable(self, node.generators[0].iter) if simple else None
        is_key = isinstance(target, ast.Name) and isinstance(node.key, ast.Name) and node.key.id == target.id
        if not isinstance(universe, nodes.Universe) or not is_key:
            raise self.scope.error(node, "a Map is built with one value for each key: {r: ... for r in Replica}")
        assert isinstance(target, ast.Name)
        with call_typing.inner_locals(self.scope):
            key = self.scope.bind(target, target.id, universe.type)
            value = self.expression(node.value, wanted.value if isinstance(wanted, MapType) else None)
            if isinstance(wanted, MapType) and wanted.key == universe.type:
                value = self.scope.convert(node.value, value, widen_towards(value.type, wanted.value))
        return nodes.MapBuild(MapType(universe.type, value.type), self.scope.site(node), key, value)

    def _partial_map_built(self, node: ast.DictComp, wanted: PartialMapType) -> nodes.Expr:
        """Return `{key: value for key in keys if test}`."""
        generator, site = node.generators[0], self.scope.site(node)
        target = generator.target
        over = call_typing.iterable(self, generator.iter)
        is_key = isinstance(target, ast.Name) and isinstance(node.key, ast.Name) and node.key.id == target.id
        if len(node.generators) > 1 or not is_key or call_typing.item_type(over) != wanted.key:
            raise self.scope.error(
                node, f"write {{key: ... for key in KEYS if ...}}, where KEYS has items of {wanted.key}"
            )
        assert isinstance(target, ast.Name)
        with call_typing.inner_locals(self.scope):
            key = self.scope.bind(target, target.id, wanted.key)
            tests: list[nodes.Expr] = []
            if isinstance(over, nodes.Expr):
                tests.append(nodes.Contains(nodes.BOOL, site, over, nodes.LocalRead(key.type, site, key)))
            tests += [self.condition(test) for test in generator.ifs]
            value = self.converted(node.value, wanted.item)
        return nodes.MapBuild(wanted, site, key, partial_maps.entry_if(site, wanted, value, tests))

    def _ListComp(self, node: ast.ListComp, wanted: Type | None) -> nodes.Expr:
        wanted = wanted.item if isinstance(wanted, OptionType) else wanted
        inner = wanted.item if isinstance(wanted, (SeqType, BagType)) else None
        sequence = call_typing.comprehension(self, node, "seq", node.elt, node.generators, inner)
        return call_typing.as_bag(self, node, sequence, wanted) if isinstance(wanted, BagType) else sequence

    def _SetComp(self, node: ast.SetComp, wanted: Type | None) -> nodes.Expr:
        inner = wanted.item if isinstance(wanted, SetType) else None
        return call_typing.comprehension(self, node, "set", node.elt, node.generators, inner)

    def _GeneratorExp(self, node: ast.GeneratorExp) -> nodes.Expr:
        raise self.scope.error(node, "a generator is allowed only inside all, any, sum, min, max, set or sorted")

    def _Call(self, node: ast.Call, wanted: Type | None) -> nodes.Expr:
        return call_typing.call(self, node, wanted)


@functools.lru_cache(maxsize=1 << 10)
def _names_of(spec: type[Spec], constant: str) -> tuple[str, ...]:
    """Return the names that a constant may have in a spec or in one of its bases: methods of a base know more names."""
    declared = [vars(base).get(constant) for base in spec.__mro__]
    return tuple(dict.fromkeys(str(name) for each in declared for name in getattr(each, "one_of", None) or ()))


def _is_none(value: nodes.Expr) -> bool:
    """Return whether a value is None itself."""
    return isinstance(value.type, OptionType) and isinstance(value.type.item, NeverType)


def _is_known(value: nodes.Expr) -> TypeGuard[nodes.Literal]:
    """Return whether a value is known before the spec runs: a literal other than an open constant."""
    return isinstance(value, nodes.Literal) and not is_open(value.value)


def _constant_type(constant: Constant, largest: int | None) -> Type:
    """Return the type of a constant of which the value is left open, up to a largest one or None."""
    if isinstance(constant.default, bool):
        return nodes.BOOL
    if isinstance(constant.default, int):
        # A bound over other constants is left out: it may be another one for other values.
        low, high = (bound if isinstance(bound, int) else None for bound in (constant.at_least, constant.at_most))
        return IntType(low, high if largest is None else largest, "int")
    return NameType(constant.one_of or ())


def _positions_of(*sides: nodes.Expr) -> tuple[nodes.Expr, ...]:
    """Return both sides of a comparison with an open name as positions among its names, others unchanged."""
    kinds = {side.type for side in sides if isinstance(side, nodes.ConstantRead) and isinstance(side.type, NameType)}
    # Positions among different names have nothing in common: `join` refuses such a comparison.
    return tuple(_position_of(side, *kinds) for side in sides) if len(kinds) == 1 else sides


def _position_of(value: nodes.Expr, kind: NameType) -> nodes.Expr:
    """Return the position of a name among those of `kind`, -1 for another name; any other value unchanged."""
    if isinstance(value, nodes.Literal) and isinstance(value.type, NameType):
        position = kind.names.index(value.value) if value.value in kind.names else -1
        return nodes.Literal(IntType(position, position, "int"), value.site, position)
    if isinstance(value, nodes.ConstantRead) and value.type == kind:
        return nodes.ConstantRead(IntType(0, len(kind.names) - 1, "int"), value.site, value.name)
    return value
