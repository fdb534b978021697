"""Declarations of constants and types, and their resolution for given values of the constants.

Bounds and capacities may be expressions over constants: `high = "max_leader_epoch"`, `Seq(Record, "log_size")`.
`Binding` evaluates them and returns the resolved types of `checker.language.types`.
"""

from __future__ import annotations

import ast
import enum
import functools
import types
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from checker.errors import SizeError, SpecError
from checker.language import types as resolved
from checker.language.constant_values import classes_in, is_like, is_structured, parsed, written
from checker.language.declared_types import Bound, Domain, Range, Struct, fields_of_struct, resolving_with
from checker.language.symbols import OpenNumber, expression_of, is_open, open_extreme

Plain = int | bool | str
"""The value of a constant as every output has it; a collection or a member is its text."""


class Constant:
    """A constant of a spec: an int, a bool, one of the names in `one_of`, a member, or a tuple, set or dict of values.

    A scenario or `--set` chooses its value. `at_least` and `at_most` bound an int, both included; they may be
    expressions over the other constants.
    """

    def __init__(
        self,
        default: Any,
        *,
        at_least: Bound | None = None,
        at_most: Bound | None = None,
        one_of: tuple[Any, ...] | None = None,
    ):
        self.name = ""
        self.at_least, self.at_most = at_least, at_most
        self.example = default
        self.is_structured = is_structured(default)
        if not self.is_structured and not isinstance(default, (int, str)):
            raise SpecError(f"a constant cannot be {default!r}: use an int, a bool, a name, a member, a tuple or a set")
        self.default: Plain = written(default) if self.is_structured else default
        self.one_of = None if one_of is None else tuple(written(x) if is_structured(x) else x for x in one_of)
        if isinstance(default, str) and self.one_of is None:
            raise SpecError(f"the constant with default {default!r} needs one_of=(...), the names that it may have")
        if (at_least is not None or at_most is not None) and type(default) is not int:
            raise SpecError(f"at_least and at_most bound an integer, and the default is {self.default}")

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else instance.constant_values[self.name]

    def check(self, value: Any) -> Plain:
        """Return a value in its plain form; raise SpecError if the constant cannot have it.

        `check_bounds` checks the bounds.
        """
        if self.is_structured:
            plain: Plain = self._text(value)
        elif type(value) is type(self.default):
            # Exact types: `isinstance` would take True for an integer.
            plain = value
        else:
            kind = {int: "an integer", bool: "true or false", str: "a name"}[type(self.default)]
            raise SpecError(f"constant {self.name} must be {kind}, not {value!r}")
        if self.one_of is not None and plain not in self.one_of:
            raise SpecError(f"constant {self.name} must be one of {', '.join(map(str, self.one_of))}, not {plain!r}")
        return plain

    def _text(self, value: Any) -> str:
        """Return the text of a value, given as itself or as text, that is like the default."""
        if isinstance(value, str):
            value = self.value_of(value)
        text = written(value) if is_structured(value) else repr(value)
        if not is_like(value, self.example):
            raise SpecError(f"constant {self.name} must be a value like {self.default}, not {text}")
        return text

    def value_of(self, plain: Plain) -> Any:
        """Return the value of a plain form; raise SpecError if it is a text that is not that of a value."""
        if not self.is_structured:
            return plain
        try:
            return parsed(str(plain), classes_in(self.example))
        except ValueError as error:
            message = f"constant {self.name} must be a value like {self.default}, not {plain!r}: {error}"
            raise SpecError(message) from None

    def check_bounds(self, value: Plain, binding: Binding) -> None:
        """Raise SpecError if an integer is outside its bounds."""
        if self.at_least is None and self.at_most is None:
            return
        least, most = self.bounds(binding)
        if least is not None and value < least:  # type: ignore[operator]
            raise self._outside("least", self.at_least, least, value)
        if most is not None and value > most:  # type: ignore[operator]
            raise self._outside("most", self.at_most, most, value)

    def _outside(self, word: str, bound: Bound | None, limit: int, value: Plain) -> SpecError:
        shown = f"{limit}" if isinstance(bound, int) else f"{bound}, which is {limit}"
        return SpecError(f"constant {self.name} must be at {word} {shown}, not {value}")

    def bounds(self, binding: Binding) -> tuple[int | None, int | None]:
        """Return the bounds of an integer."""
        return self._evaluate_bound("at_least", self.at_least, binding), self._evaluate_bound(
            "at_most", self.at_most, binding
        )

    def _evaluate_bound(self, word: str, bound: Bound | None, binding: Binding) -> int | None:
        return None if bound is None else binding.number(bound, f"{word} of constant {self.name}")

    def parse(self, text: str) -> Plain:
        """Return the value that a text such as "3", "true" or "{1, 2}" denotes; raise SpecError if it denotes none."""
        if isinstance(self.default, bool):
            spelled = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            return self.check(spelled.get(text.lower(), text))
        if isinstance(self.default, int):
            try:
                # `int` alone also reads the digits of other scripts.
                return self.check(int(text.encode("ascii")))
            except ValueError:
                raise SpecError(f"constant {self.name} must be an integer, not {text!r}") from None
        return self.check(text)


@dataclass(frozen=True)
class Option:
    """`Option(T)`: None or a value of T."""

    item: Any


@dataclass(frozen=True)
class Map:
    """`Map(K, V)`: a V for every K."""

    key: Any
    value: Any


@dataclass(frozen=True)
class PartialMap:
    """`PartialMap(K, V)`: a V for some of the K."""

    key: Any
    value: Any


@dataclass(frozen=True)
class SetOf:
    """`SetOf(T)`, or `SetOf(T, capacity)` if T has more than 64 values."""

    item: Any
    capacity: Bound | None = None


@dataclass(frozen=True)
class Seq:
    """`Seq(T, capacity)`: a sequence of at most `capacity` items."""

    item: Any
    capacity: Bound


@dataclass(frozen=True)
class Bag:
    """`Bag(T, capacity)`: a multiset of at most `capacity` items."""

    item: Any
    capacity: Bound


@dataclass(frozen=True, init=False)
class OneOf:
    """`OneOf(Fetch, Append)`: a value of one of several structs."""

    alternatives: tuple[type[Struct], ...]

    def __init__(self, *alternatives: type[Struct]):
        object.__setattr__(self, "alternatives", alternatives)
        for kind in alternatives:
            if not (isinstance(kind, type) and issubclass(kind, Struct)) or kind is Struct:
                raise SpecError(f"OneOf takes classes that derive from Struct, not {kind!r}")
        if len(set(alternatives)) < max(2, len(alternatives)):
            raise SpecError("OneOf takes two or more different structs: OneOf(Fetch, Append)")


def is_type(declaration: Any) -> bool:
    """Return whether a class attribute declares a type, and so a state variable."""
    if isinstance(declaration, (Option, OneOf, Map, PartialMap, SetOf, Seq, Bag)) or _is_tuple(declaration):
        return True
    return isinstance(declaration, type) and (
        declaration is bool or issubclass(declaration, (Range, Domain, Struct, enum.Enum))
    )


def _is_tuple(declaration: Any) -> bool:
    """Return whether a declaration is `tuple[A, B]`, with any number of items."""
    return isinstance(declaration, types.GenericAlias) and declaration.__origin__ is tuple


class Binding:
    """The values of a spec's constants, and the resolved types of its declarations under these values.

    `used`: the constants on which the types resolved so far depend.
    """

    def __init__(self, constants: Mapping[str, Plain]):
        self.constants = dict(constants)
        self.used: set[str] = set()
        self._types: dict[Any, resolved.Type] = {}

    def active(self) -> AbstractContextManager[None]:
        """While this holds, ranges and domains have the members that these constants give."""
        return resolving_with(self)

    def number(self, bound: Bound, what: str) -> int:
        """Return the value of a bound, size or capacity; raise SpecError if it is not an integer.

        `what` names it in messages. The value is an open number if the expression contains an open constant.
        """
        if isinstance(bound, int) and not isinstance(bound, bool):
            return _within_word(bound, what)
        try:
            tree, names, code = _parse_bound(str(bound))
            # `min` and `max` are replaced by versions that also take open numbers.
            allowed = self.constants | {"min": open_extreme("min"), "max": open_extreme("max")}
            unknown = sorted(names - allowed.keys())
            if unknown:
                known = ", ".join(self.constants) or "none"
                raise SpecError(f"{what} names {unknown[0]}, which is not a constant; the constants are: {known}")
            self.used |= names & self.constants.keys()
            # No builtins: the expression can use the constants, `min` and `max` only. It is part of the spec's own
            # source.
            value = eval(code, {"__builtins__": {}}, allowed | {_POWER: _power})
            if any(is_open(self.constants.get(name)) for name in names):  # type: ignore[arg-type]
                _require_open(tree, value, f"{what} is {bound!r}")
        except OverflowError:
            raise SpecError(f"{what} is {bound!r}, which is beyond 62 bits: use smaller numbers") from None
        except (SyntaxError, TypeError, ValueError, ArithmeticError):
            raise SpecError(f"{what} is {bound!r}, which is not an integer expression over constants") from None
        if not isinstance(value, int) or isinstance(value, bool):
            raise SpecError(f"{what} is {bound!r}, which is not an integer")
        return _within_word(value, what)

    def resolve(self, declaration: Any) -> Any:
        """Return the resolved type of a declaration; raise SpecError if it is not a type."""
        # One resolved type per declaration, so that types of the same declaration are the same object.
        if declaration not in self._types:
            kind = self._resolve(declaration)
            bits = resolved.count_bits(kind)
            # Judged before anything counts or lists the values of the type.
            if not is_open(bits) and bits > resolved.MOST_BITS:
                raise SizeError(
                    f"a {kind} takes {bits} bits, and a value has at most {resolved.MOST_BITS}: reduce its size"
                )
            self._types[declaration] = kind
        return self._types[declaration]

    def _resolve(self, declaration: Any) -> resolved.Type:
        if declaration is bool:
            return resolved.BoolType()
        if isinstance(declaration, Option):
            return resolved.OptionType(self._item(declaration.item))
        if isinstance(declaration, Map):
            return resolved.MapType(self._key(declaration.key), self.resolve(declaration.value))
        if isinstance(declaration, PartialMap):
            key, item = self._key(declaration.key), self.resolve(declaration.value)
            if isinstance(item, resolved.OptionType):
                raise SpecError("a value of a PartialMap cannot be None: write PartialMap(K, V) or Map(K, Option(V))")
            return resolved.PartialMapType(key, resolved.OptionType(item))
        if isinstance(declaration, SetOf):
            return self._set(declaration)
        if isinstance(declaration, (Seq, Bag)):
            item = self.resolve(declaration.item)
            if isinstance(declaration, Bag):
                return resolved.BagType(item, self._capacity_of_bound(declaration))
            return resolved.SeqType(item, self._capacity(declaration))
        if isinstance(declaration, OneOf):
            return resolved.UnionType(tuple(self.resolve(kind) for kind in declaration.alternatives))
        if _is_tuple(declaration):
            return resolved.tuple_type([self.resolve(item) for item in declaration.__args__])
        if isinstance(declaration, type):
            return self._resolve_class(declaration)
        raise SpecError(
            f"{declaration!r} is not a type: "
            "use bool, Range, Enum, Domain, Struct, tuple[A, B], OneOf, Option, Map, PartialMap, SetOf, Seq or Bag"
        )

    def _item(self, declaration: Any) -> resolved.Type:
        item: resolved.Type = self.resolve(declaration)
        # The inner None and the outer None would be the same Python object.
        if isinstance(item, resolved.OptionType):
            raise SpecError(
                "Option(Option(...)) would have two kinds of None: use an Enum, or a bool beside the option"
            )
        return item

    def _key(self, declaration: Any) -> resolved.Type:
        key: resolved.Type = self.resolve(declaration)
        scalars = (resolved.BoolType, resolved.IntType, resolved.DomainType, resolved.EnumType)
        if not isinstance(key, scalars):
            raise SpecError(f"a Map's key must be a bool, Range, Domain or Enum, not {key}")
        # A map is total: it would have an item for each of infinitely many keys.
        if isinstance(key, resolved.IntType) and is_open(key.high):
            raise SpecError(f"a Map cannot have keys of the unbounded type {key}: use a Seq")
        return key

    def _set(self, declaration: SetOf) -> resolved.Type:
        item = self.resolve(declaration.item)
        if isinstance(item, resolved.OpenDomainType):
            if declaration.capacity is not None:
                # The prover has such a set as a predicate, which does not count its members.
                raise SpecError(
                    f"SetOf({item}, {declaration.capacity}) has a capacity, and {item} any number of members: "
                    f"write SetOf({item})"
                )
            return resolved.SetType(item)
        if declaration.capacity is not None:
            return resolved.SetType(item, self._capacity_of_bound(declaration))
        if is_open(item.cardinality()):
            raise SpecError(f"SetOf({item}) has items of an unbounded type: give a bounded capacity")
        # A bit set has one word of 64 bits, one for each possible item.
        if item.cardinality() > resolved.SMALL_UNIVERSE:
            raise SizeError(
                f"SetOf({item}) has items of a type with {resolved.count_text(item.cardinality())} values, and a set "
                f"without a capacity has at most {resolved.SMALL_UNIVERSE}: choose a smaller constant, or write "
                f"SetOf({item}, capacity)"
            )
        return resolved.SetType(item)

    def _capacity(self, declaration: SetOf | Seq | Bag) -> int:
        assert declaration.capacity is not None
        capacity = self.number(declaration.capacity, f"the capacity of {type(declaration).__name__}")
        if capacity < 0:
            raise SpecError(f"the capacity of {type(declaration).__name__} is {capacity}: it must be at least 0")
        return capacity

    def _capacity_of_bound(self, declaration: SetOf | Bag) -> int:
        capacity = self._capacity(declaration)
        if is_open(capacity):
            name = type(declaration).__name__
            raise SpecError(f"{name} has the unbounded capacity {capacity}: only a Seq may have one")
        return capacity

    def _resolve_class(self, declaration: type) -> resolved.Type:
        name = declaration.__name__
        if issubclass(declaration, Range):
            if not _declares(declaration, "high"):
                raise SpecError(f"{name} has no upper bound: write `low, high = 0, 3` in its body")
            low = self.number(declaration.low, f"{name}.low")
            high = self.number(declaration.high, f"{name}.high")
            if is_open(low):
                raise SpecError(f"{name}.low is {low}, which is unbounded: only the upper bound may be")
            if low > high:
                raise SpecError(f"{name} has no values: its bounds are {low} and {high}")
            return resolved.IntType(low, high, name)
        if issubclass(declaration, Domain):
            if not _declares(declaration, "size"):
                raise SpecError(f'{name} has no size: write `size = 3` in its body, or `size = "replicas"`')
            size = self.number(declaration.size, f"{name}.size")
            if isinstance(size, OpenNumber):
                if not 1 <= size.least <= _MOST_MEMBERS:
                    raise SpecError(
                        f"{name}.size is {size}, which is unbounded: it must be a constant with at_least=1 or more"
                    )
                return resolved.OpenDomainType(declaration, tuple(map(declaration, range(size.least))), size)
            if size < 1:
                raise SpecError(f"{name}.size is {size}: a Domain has at least one member")
            if size > _MOST_MEMBERS:
                raise SpecError(f"{name}.size is {size}: a Domain has at most {_MOST_MEMBERS} members")
            return resolved.DomainType(declaration, tuple(declaration(index) for index in range(size)))
        if issubclass(declaration, Struct) and declaration is not Struct:
            fields = tuple((field, self.resolve(kind)) for field, kind in fields_of_struct(declaration).items())
            return resolved.StructType(declaration, fields)
        if issubclass(declaration, enum.Enum):
            if issubclass(declaration, (int, str, enum.Flag)):
                # Its members are equal to plain values, and have an order.
                raise SpecError(f"{name} is not a plain Enum: write class {name}(Enum)")
            if not len(declaration):
                raise SpecError(f'{name} has no members: write them in its body, as in LEADER = "leader"')
            return resolved.EnumType(declaration)
        raise SpecError(f"{name} is not a type of the language")


_MOST_MEMBERS = 1 << 16
"""The most members of a Domain: each is an object."""

_POWER = "__power__"
"""The name of `_power` in the evaluation of a bound. A constant cannot have it."""


def _within_word(value: int, what: str) -> int:
    """Return a bound; raise SpecError if engines cannot compute with it in 64 bits."""
    if not is_open(value) and abs(value) > resolved.LARGEST:
        shown = f"{value}" if abs(value) < 10**30 else f"a number of {value.bit_length()} bits"
        raise SpecError(f"{what} is {shown}, which is beyond 62 bits: use smaller numbers")
    return value


def _power(base: int, exponent: int) -> int:
    """Return a power; raise OverflowError, before computing it, if it is far beyond 62 bits."""
    if not is_open(base) and not is_open(exponent) and abs(base) > 1 and exponent > 64:
        raise OverflowError
    return base**exponent  # type: ignore[no-any-return]


class _JudgePowers(ast.NodeTransformer):
    """Replaces `a ** b` and `a << b` by calls of `_power`, which does not hang."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return ast.Call(ast.Name(_POWER, ast.Load()), [node.left, node.right], [])
        if isinstance(node.op, ast.LShift):
            power = ast.Call(ast.Name(_POWER, ast.Load()), [ast.Constant(2), node.right], [])
            return ast.BinOp(node.left, ast.Mult(), power)
        return node


@functools.lru_cache(4096)
def _parse_bound(text: str) -> tuple[ast.Expression, frozenset[str], types.CodeType]:
    """Return the syntax tree of a bound, its names, and its code: every run of a spec evaluates the same bounds."""
    tree = ast.parse(text, mode="eval")
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    judged = ast.fix_missing_locations(_JudgePowers().visit(ast.parse(text, mode="eval")))
    return tree, names, compile(judged, "<bound>", "eval")


def _declares(declaration: type, attribute: str) -> bool:
    """Return whether a class, or a base of it outside the language, sets an attribute."""
    return any(attribute in vars(base) for base in declaration.__mro__ if base not in (Range, Domain))


def _require_open(tree: ast.AST, value: Any, what: str) -> None:
    """Raise SpecError unless an expression over an unbounded constant is built with the operators of open numbers."""
    taken = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.operator, ast.USub, ast.Name, ast.Load, ast.Constant, ast.Call)
    is_expressed = is_open(value) and expression_of(value) is not None
    if not is_expressed or not all(isinstance(node, taken) for node in ast.walk(tree)):
        raise SpecError(f"{what}: with an unbounded constant it must be unbounded, and use only + - * // % min max")
