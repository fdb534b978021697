"""Resolved types: the types of a spec under given values of its constants.

A resolved type describes its values: their number, their order, the first of them, and the conversion of a plain Python
value to one of them. The interpreter checks stores with these types, the front end infers with them, and the native
engine packs states by them.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from checker.errors import BoundsError, SpecError
from checker.language.declared_types import Domain, Struct
from checker.language.symbols import is_open
from checker.language.values import BagValue, MapValue, PartialMapValue, SeqValue, SetValue, TupleValue, show

LARGEST = 2**62
"""The largest magnitude of an integer: the compiled engines compute in 64 bits, and larger bounds could overflow."""


@dataclass(frozen=True)
class Type:
    """The base class of resolved types.

    The values of a type are numbered 0, 1, ... in the order of `values`. Every engine uses this order.
    """

    def cardinality(self) -> int:
        """Return the number of values; an open number if it depends on an open constant."""
        raise NotImplementedError

    def first(self) -> Any:
        """Return the first value, which a variable of this type has before `init` runs."""
        raise NotImplementedError

    def values(self) -> Iterator[Any]:
        """Iterate over all values, in the order that numbers them."""
        raise NotImplementedError

    def coerce(self, value: Any) -> Any:
        """Return `value` as a canonical value of this type; raise BoundsError if it is not a value of the type."""
        raise NotImplementedError

    def sort_key(self, value: Any) -> Any:
        """Return a key that sorts values of this type in the order of `values`."""
        raise NotImplementedError

    def position(self, value: Any) -> int:
        """Return the position of a canonical value of this type in the order of `values`, from 0 on."""
        return list(self.values()).index(value)

    def __format__(self, form: str) -> str:
        """Return the text; with the form "a", as in `f"{kind:a}"`, after an indefinite article ("an Offset 0..3")."""
        text = str(self)
        if form != "a" or isinstance(self, (NeverType, NameType)):
            return text
        return f"an {text}" if text[0] in "AEIOaeio" and not text.startswith("One") else f"a {text}"

    def _not_a_value(self, value: Any) -> BoundsError:
        return BoundsError(f"{show(value)} is not a value of {self}")


@dataclass(frozen=True)
class NeverType(Type):
    """The type without values: the item type of an empty display and of the option that has only `None`."""

    def cardinality(self) -> int:
        return 0

    def values(self) -> Iterator[Any]:
        return iter(())

    def __str__(self) -> str:
        return "nothing"


@dataclass(frozen=True)
class BoolType(Type):
    """The type of False and True, in this order."""

    def cardinality(self) -> int:
        return 2

    def first(self) -> bool:
        return False

    def values(self) -> Iterator[bool]:
        return iter((False, True))

    def coerce(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._not_a_value(value)
        return value

    def sort_key(self, value: Any) -> Any:
        return value

    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True)
class IntType(Type):
    """The integers from `low` to `high`, both included.

    A bound is None if it is unknown, which only happens inside expressions: a variable's type has known bounds.
    """

    low: int | None
    high: int | None
    name: str = field(default="", compare=False)

    def cardinality(self) -> int:
        assert self.low is not None and self.high is not None
        return self.high - self.low + 1

    def first(self) -> int:
        assert self.low is not None
        return self.low

    def values(self) -> Iterator[int]:
        assert self.low is not None and self.high is not None
        return iter(range(self.low, self.high + 1))

    def coerce(self, value: Any) -> int:
        # A bool is an int in Python, but not in the language.
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._not_a_value(value)
        assert self.low is not None and self.high is not None
        if not self.low <= value <= self.high:
            raise BoundsError(f"{value} is outside {self}")
        return value

    def sort_key(self, value: Any) -> Any:
        return value

    def position(self, value: Any) -> int:
        assert self.low is not None
        return int(value) - self.low

    def __str__(self) -> str:
        low = "-inf" if self.low is None else str(self.low)
        high = "inf" if self.high is None else str(self.high)
        return f"{self.name or 'Range'} {low}..{high}"


@dataclass(frozen=True)
class DomainType(Type):
    """The members of a Domain, in the order of their indices."""

    declared: type[Domain]
    members: tuple[Domain, ...]

    def cardinality(self) -> int:
        return len(self.members)

    def first(self) -> Domain:
        return self.members[0]

    def values(self) -> Iterator[Domain]:
        return iter(self.members)

    def coerce(self, value: Any) -> Domain:
        if type(value) is not self.declared or value.index >= len(self.members):
            raise self._not_a_value(value)
        return self.members[value.index]

    def sort_key(self, value: Any) -> Any:
        return value.index

    def position(self, value: Any) -> int:
        return int(value.index)

    def __str__(self) -> str:
        return self.declared.__name__


@dataclass(frozen=True)
class OpenDomainType(DomainType):
    """A Domain in an unbounded proof with a size that depends on an open constant.

    `members` are those that exist for every value of the constant.
    """

    size: int

    def cardinality(self) -> int:
        return self.size

    def values(self) -> Iterator[Domain]:
        raise SpecError(f"the members of {self} cannot be listed: their number, {self.size}, is unbounded")


@dataclass(frozen=True)
class EnumType(Type):
    """The members of a Python enum, in the order of their definition."""

    declared: type[enum.Enum]

    def cardinality(self) -> int:
        return len(self.declared)

    def first(self) -> enum.Enum:
        return next(iter(self.declared))

    def values(self) -> Iterator[enum.Enum]:
        return iter(self.declared)

    def coerce(self, value: Any) -> enum.Enum:
        if type(value) is not self.declared:
            raise self._not_a_value(value)
        return value

    def sort_key(self, value: Any) -> Any:
        return self.position(value)

    def __str__(self) -> str:
        return self.declared.__name__


@dataclass(frozen=True)
class NameType(Type):
    """The type of a constant declared with `one_of`. It exists only in expressions: a variable cannot hold a name."""

    names: tuple[str, ...]

    def coerce(self, value: Any) -> str:
        if value not in self.names:
            raise self._not_a_value(value)
        return str(value)

    def __str__(self) -> str:
        return "one of " + ", ".join(self.names)


@dataclass(frozen=True)
class OptionType(Type):
    """None or a value of `item`; None comes first."""

    item: Type

    def cardinality(self) -> int:
        return 1 + self.item.cardinality()

    def first(self) -> None:
        return None

    def values(self) -> Iterator[Any]:
        return itertools.chain((None,), self.item.values())

    def coerce(self, value: Any) -> Any:
        return None if value is None else self.item.coerce(value)

    def sort_key(self, value: Any) -> Any:
        return (0,) if value is None else (1, self.item.sort_key(value))

    def position(self, value: Any) -> int:
        return 0 if value is None else 1 + self.item.position(value)

    def __str__(self) -> str:
        return f"Option({self.item})"


@dataclass(frozen=True)
class StructType(Type):
    """The values of a Struct: all combinations of the fields' values, of which the last field varies fastest."""

    declared: type[Any]
    fields: tuple[tuple[str, Type], ...]

    def cardinality(self) -> int:
        count = 1
        for _, kind in self.fields:
            count *= kind.cardinality()
        return count

    def first(self) -> Struct:
        first: Struct = self.declared.of({name: kind.first() for name, kind in self.fields})
        return first

    def values(self) -> Iterator[Struct]:
        names = [name for name, _ in self.fields]
        for combination in itertools.product(*(list(kind.values()) for _, kind in self.fields)):
            yield self.declared.of(dict(zip(names, combination, strict=True)))

    def coerce(self, value: Any) -> Struct:
        if type(value) is not self.declared:
            raise self._not_a_value(value)
        coerced: Struct = self.declared.of({name: kind.coerce(value.field(name)) for name, kind in self.fields})
        return coerced

    def sort_key(self, value: Any) -> Any:
        return tuple(kind.sort_key(value.field(name)) for name, kind in self.fields)

    def type_of(self, name: str) -> Type | None:
        """Return the type of the field `name`, or None if the struct does not have it."""
        return dict(self.fields).get(name)

    def __str__(self) -> str:
        return self.declared.__name__


class TupleType(StructType):
    """The values of `tuple[A, B]`: structs of which the fields have the names "0", "1" and so on."""

    @property
    def items(self) -> tuple[Type, ...]:
        """The types of the items."""
        return tuple(kind for _, kind in self.fields)

    def coerce(self, value: Any) -> Any:
        if not isinstance(value, tuple) or len(value) != len(self.fields):
            raise self._not_a_value(value)
        return TupleValue(kind.coerce(item) for kind, item in zip(self.items, value, strict=True))

    def sort_key(self, value: Any) -> Any:
        return tuple(kind.sort_key(item) for kind, item in zip(self.items, value, strict=True))

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.items))}]"


@dataclass(frozen=True)
class UnionType(Type):
    """The values of several structs, ordered by the position of the struct and then as the struct orders them."""

    alternatives: tuple[StructType, ...]

    def cardinality(self) -> int:
        return sum(kind.cardinality() for kind in self.alternatives)

    def first(self) -> Any:
        return self.alternatives[0].first()

    def values(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(kind.values() for kind in self.alternatives)

    def coerce(self, value: Any) -> Any:
        position = self.position_of(value)
        if position is None:
            raise self._not_a_value(value)
        return self.alternatives[position].coerce(value)

    def position_of(self, value: Any) -> int | None:
        """Return the position of the struct of a value, or None if it is no alternative."""
        return next((i for i, kind in enumerate(self.alternatives) if kind.declared is type(value)), None)

    def alternative_of(self, value: Any) -> StructType:
        """Return the struct of a value of the type."""
        position = self.position_of(value)
        assert position is not None
        return self.alternatives[position]

    def sort_key(self, value: Any) -> Any:
        position = self.position_of(value)
        return (position, self.alternative_of(value).sort_key(value))

    def __str__(self) -> str:
        return f"OneOf({', '.join(map(str, self.alternatives))})"


def tuple_type(items: Iterable[Type]) -> TupleType:
    """Return the type of tuples with items of these types."""
    return TupleType(TupleValue, tuple((str(index), kind) for index, kind in enumerate(items)))


@dataclass(frozen=True)
class MapType(Type):
    """Total maps from a scalar type, ordered by the value of the first key, then of the second, and so on."""

    key: Type
    value: Type

    def cardinality(self) -> int:
        return int(self.value.cardinality() ** self.key.cardinality())

    def first(self) -> Any:
        return self.made(tuple(self.value.first() for _ in range(self.key.cardinality())))

    def made(self, items: tuple[Any, ...]) -> Any:
        """Return the map with these values, in the order of the keys."""
        return MapValue(self, items)

    def values(self) -> Iterator[Any]:
        universe = list(self.value.values())
        return (self.made(items) for items in itertools.product(universe, repeat=self.key.cardinality()))

    def coerce(self, value: Any) -> Any:
        if isinstance(value, MapValue):
            if value.type.key != self.key:
                raise self._not_a_value(value)
            items = value.items_in_order()
        elif isinstance(value, dict):
            # Every key must be present. A key too many shows in the lengths, which the next line compares.
            items = tuple(value[key] if key in value else self._missing(key) for key in self.key.values())
            if len(value) != len(items):
                raise self._not_a_value(value)
        else:
            raise self._not_a_value(value)
        return self.made(tuple(self.value.coerce(item) for item in items))

    def _missing(self, key: Any) -> Any:
        raise BoundsError(f"{self:a} needs a value for every key, and {show(key)} has no value")

    def sort_key(self, value: Any) -> Any:
        return tuple(self.value.sort_key(item) for item in value.items_in_order())

    def __str__(self) -> str:
        return f"Map({self.key}, {self.value})"


class PartialMapType(MapType):
    """Maps of which keys may be absent: `value` is an option, and None stands for an absent key."""

    @property
    def item(self) -> Type:
        """The type of the values of present keys."""
        assert isinstance(self.value, OptionType)
        return self.value.item

    def key_set(self) -> SetType:
        """Return the type of the set of the keys."""
        return SetType(self.key, None if self.key.cardinality() <= SMALL_UNIVERSE else self.key.cardinality())

    def value_sequence(self) -> SeqType:
        """Return the type of the sequence of the values."""
        return SeqType(self.item, self.key.cardinality())

    def pair_sequence(self) -> SeqType:
        """Return the type of the sequence of the pairs of a key and its value."""
        return SeqType(tuple_type((self.key, self.item)), self.key.cardinality())

    def made(self, items: tuple[Any, ...]) -> Any:
        return PartialMapValue(self, items)

    def coerce(self, value: Any) -> Any:
        if isinstance(value, MapValue) or not isinstance(value, dict):
            return super().coerce(value)
        entries = {self.key.coerce(key): self.item.coerce(item) for key, item in value.items()}
        return self.made(tuple(entries.get(key) for key in self.key.values()))

    def __str__(self) -> str:
        return f"PartialMap({self.key}, {self.item})"


def count_codes(kind: Type) -> int:
    """Return the number of codes of a type in the packed representation, the unused codes included.

    A scalar has one code for each value. The parts of a compound type are packed side by side, each in a whole number
    of bits, so a compound type has more codes than values unless all its parts have a power of two of them.
    """
    scalars = (BoolType, IntType, DomainType, EnumType, NeverType)
    if isinstance(kind, scalars) or (isinstance(kind, OptionType) and isinstance(kind.item, scalars)):
        return kind.cardinality()
    # One bit for the presence, then the item in whole bits.
    if isinstance(kind, OptionType):
        return 2 * _power_of_two(count_codes(kind.item))
    if isinstance(kind, StructType):
        return math.prod(_power_of_two(count_codes(field)) for _, field in kind.fields)
    if isinstance(kind, UnionType):
        largest = max(_power_of_two(count_codes(alternative)) for alternative in kind.alternatives)
        return _power_of_two(len(kind.alternatives)) * largest
    if isinstance(kind, MapType):
        return int(_power_of_two(count_codes(kind.value)) ** kind.key.cardinality())
    if isinstance(kind, SetType) and kind.capacity is None:
        return int(2 ** count_codes(kind.item))
    assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
    return _power_of_two(kind.capacity + 1) * int(_power_of_two(count_codes(kind.item)) ** kind.capacity)


def count_text(count: int) -> str:
    """Return a number of values as text, such as `3,000`; of a very large one its power of ten."""
    return f"{count:,}" if count < 10**18 else f"over 10^{int((count.bit_length() - 1) * math.log10(2))}"


MOST_BITS = 1 << 14
"""The most bits of a value: a state with larger ones could not be stored millions of times."""


def count_bits(kind: Type) -> int:
    """Return how many bits a value takes in the packed representation, without counting the values of the type."""
    if isinstance(kind, IntType):
        assert kind.low is not None and kind.high is not None
        return (kind.high - kind.low).bit_length()
    if isinstance(kind, OptionType):
        return 1 + count_bits(kind.item)
    if isinstance(kind, StructType):
        return sum(count_bits(field) for _, field in kind.fields)
    if isinstance(kind, MapType):
        return count_bits(kind.value) * kind.key.cardinality()
    if isinstance(kind, SetType) and kind.capacity is None:
        return kind.item.cardinality()
    if isinstance(kind, (SetType, SeqType, BagType)):
        assert kind.capacity is not None
        return kind.capacity.bit_length() + kind.capacity * max(count_bits(kind.item), 1)
    return max(kind.cardinality() - 1, 0).bit_length()


def _power_of_two(count: int) -> int:
    return 1 << max(count - 1, 0).bit_length()


SMALL_UNIVERSE = 64
"""A set of a type with at most this many values needs no capacity: it is a bit set in one 64-bit word."""


@dataclass(frozen=True)
class SetType(Type):
    """Sets of `item`: of any size if `capacity` is None (a bit set), else of at most `capacity` items.

    Bit sets are ordered by their bits read as a number, in which the first item is the lowest bit. Other sets are
    ordered by size, and then by their items. A set iterates over its items in the order of the item type.
    """

    item: Type
    capacity: int | None = None

    def cardinality(self) -> int:
        count = self.item.cardinality()
        if self.capacity is None:
            return int(2**count)
        return _combinations(count, self.capacity)

    def first(self) -> Any:
        return SetValue(self, ())

    def values(self) -> Iterator[Any]:
        # Without room for an item, the values of its type are not needed; there may be very many of them.
        universe = [] if self.capacity == 0 else list(self.item.values())
        if self.capacity is None:
            for bits in range(2 ** len(universe)):
                yield SetValue(self, tuple(item for i, item in enumerate(universe) if bits >> i & 1))
            return
        for size in range(self.capacity + 1):
            for items in itertools.combinations(universe, size):
                yield SetValue(self, items)

    def coerce(self, value: Any) -> Any:
        if not isinstance(value, (SetValue, set, frozenset)):
            raise self._not_a_value(value)
        # Converted before duplicates are removed: two Python values may convert to one. Sorted, so that equal sets have
        # equal items.
        items = sorted({self.item.coerce(item) for item in value}, key=self.item.sort_key)
        if self.capacity is not None and len(items) > self.capacity:
            raise BoundsError(f"a set of {len(items)} items is over the capacity {self.capacity}")
        return SetValue(self, tuple(items))

    def sort_key(self, value: Any) -> Any:
        if self.capacity is None:
            # Bit i is value i of the item type, so this is the order in which `values` lists the bit sets.
            universe = list(self.item.values())
            return sum(1 << universe.index(item) for item in value)
        return (len(value), tuple(self.item.sort_key(item) for item in value))

    def __str__(self) -> str:
        return f"SetOf({self.item})" if self.capacity is None else f"SetOf({self.item}, {self.capacity})"


def _combinations(universe: int, capacity: int) -> int:
    """Return the number of subsets with at most `capacity` of `universe` items."""
    # `row` is C(universe, size). The division is exact, because C(n, k) * (n - k) = C(n, k + 1) * (k + 1).
    total, row = 0, 1
    for size in range(min(universe, capacity) + 1):
        total += row
        row = row * (universe - size) // (size + 1)
    return total


@dataclass(frozen=True)
class SeqType(Type):
    """Sequences of at most `capacity` items, ordered by length and then by their items."""

    item: Type
    capacity: int

    def cardinality(self) -> int:
        # An unbounded sequence has infinitely many values, and `range` does not take an open number.
        if is_open(self.capacity):
            return self.capacity
        return sum(self.item.cardinality() ** size for size in range(self.capacity + 1))

    def first(self) -> Any:
        return SeqValue(self, ())

    def values(self) -> Iterator[Any]:
        universe = [] if self.capacity == 0 else list(self.item.values())
        for size in range(self.capacity + 1):
            for items in itertools.product(universe, repeat=size):
                yield SeqValue(self, items)

    def coerce(self, value: Any) -> Any:
        if not isinstance(value, (SeqValue, list, tuple)):
            raise self._not_a_value(value)
        items = tuple(self.item.coerce(item) for item in value)
        if len(items) > self.capacity:
            raise BoundsError(f"a sequence of {len(items)} items is over the capacity {self.capacity}")
        return SeqValue(self, items)

    def sort_key(self, value: Any) -> Any:
        return (len(value), tuple(self.item.sort_key(item) for item in value))

    def __str__(self) -> str:
        return f"Seq({self.item}, {self.capacity})"


@dataclass(frozen=True)
class BagType(Type):
    """Multisets of at most `capacity` items, ordered by size and then by their items."""

    item: Type
    capacity: int

    def cardinality(self) -> int:
        universe = self.item.cardinality()
        # The number of multisets of k from n items is the binomial coefficient of n + k - 1 and k.
        return sum(_combinations_exact(universe + size - 1, size) for size in range(self.capacity + 1))

    def first(self) -> Any:
        return BagValue(self, ())

    def values(self) -> Iterator[Any]:
        universe = [] if self.capacity == 0 else list(self.item.values())
        for size in range(self.capacity + 1):
            for items in itertools.combinations_with_replacement(universe, size):
                yield BagValue(self, items)

    def coerce(self, value: Any) -> Any:
        if not isinstance(value, (BagValue, list, tuple)):
            raise self._not_a_value(value)
        items = sorted((self.item.coerce(item) for item in value), key=self.item.sort_key)
        if len(items) > self.capacity:
            raise BoundsError(f"a bag of {len(items)} items is over the capacity {self.capacity}")
        return BagValue(self, tuple(items))

    def sort_key(self, value: Any) -> Any:
        return (len(value), tuple(self.item.sort_key(item) for item in value))

    def __str__(self) -> str:
        return f"Bag({self.item}, {self.capacity})"


def _combinations_exact(universe: int, size: int) -> int:
    """Return the binomial coefficient. `math.comb` does not take open numbers."""
    result = 1
    for step in range(size):
        result = result * (universe - step) // (step + 1)
    return result
