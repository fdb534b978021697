"""The types that random specs declare, as source text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Below = Callable[[int], int]
"""Returns a number from 0 to n - 1: the source of all randomness."""


@dataclass(frozen=True)
class Kind:
    """A declared type. `text` declares it, `count` is its number of values, `bits` its size when packed."""

    text: str
    count: int
    bits: int


@dataclass(frozen=True)
class Bool(Kind):
    pass


@dataclass(frozen=True)
class Int(Kind):
    low: int
    high: int


@dataclass(frozen=True)
class Member(Kind):
    members: tuple[str, ...]


@dataclass(frozen=True)
class Opt(Kind):
    item: Kind


@dataclass(frozen=True)
class Rec(Kind):
    fields: tuple[tuple[str, Kind], ...]


@dataclass(frozen=True)
class Tup(Kind):
    items: tuple[Kind, ...]


@dataclass(frozen=True)
class Either(Kind):
    alternatives: tuple[Rec, ...]


@dataclass(frozen=True)
class Table(Kind):
    key: Kind
    value: Kind


@dataclass(frozen=True)
class Partial(Kind):
    key: Kind
    value: Kind


@dataclass(frozen=True)
class Group(Kind):
    item: Kind
    capacity: int | None


@dataclass(frozen=True)
class Line(Kind):
    item: Kind
    capacity: int


@dataclass(frozen=True)
class Heap(Kind):
    item: Kind
    capacity: int


BOOL = Bool("bool", 2, 1)
MOST_VALUES = 10**30


def width(count: int) -> int:
    return max(count - 1, 0).bit_length()


def capped(count: int) -> int:
    return min(count, MOST_VALUES)


def integers(text: str, low: int, high: int) -> Int:
    return Int(text, high - low + 1, width(high - low + 1), low, high)


def option(item: Kind) -> Opt:
    bits = width(item.count + 1) if isinstance(item, (Bool, Int, Member)) else item.bits + 1
    return Opt(f"Option({item.text})", item.count + 1, bits, item)


def record(name: str, fields: tuple[tuple[str, Kind], ...]) -> Rec:
    count, bits = 1, 0
    for _, kind in fields:
        count, bits = capped(count * kind.count), bits + kind.bits
    return Rec(name, count, bits, fields)


def tup(items: tuple[Kind, ...]) -> Tup:
    count, bits = 1, 0
    for kind in items:
        count, bits = capped(count * kind.count), bits + kind.bits
    return Tup(f"tuple[{', '.join(kind.text for kind in items)}]", count, bits, items)


def table(key: Kind, value: Kind) -> Table:
    count = MOST_VALUES if value.bits * key.count > 90 else capped(value.count**key.count)
    return Table(f"Map({key.text}, {value.text})", count, value.bits * key.count, key, value)


def partial(key: Kind, value: Kind) -> Partial:
    whole = table(key, option(value))
    return Partial(f"PartialMap({key.text}, {value.text})", whole.count, whole.bits, key, value)


def group(item: Kind, capacity: int | None) -> Group:
    if capacity is None:
        return Group(f"SetOf({item.text})", 2**item.count, item.count, item, None)
    bits = width(capacity + 1) + item.bits * capacity
    return Group(f"SetOf({item.text}, {capacity})", capped((item.count + 1) ** capacity), bits, item, capacity)


def line(item: Kind, capacity: int) -> Line:
    bits = width(capacity + 1) + item.bits * capacity
    return Line(f"Seq({item.text}, {capacity})", capped((item.count + 1) ** capacity), bits, item, capacity)


def heap(item: Kind, capacity: int) -> Heap:
    bits = width(capacity + 1) + item.bits * capacity
    return Heap(f"Bag({item.text}, {capacity})", capped((item.count + 1) ** capacity), bits, item, capacity)


def most_items(kind: Group | Line | Heap) -> int:
    return kind.item.count if kind.capacity is None else kind.capacity


class Types:
    """The types of a spec: some classes, and random declarations over them."""

    def __init__(self, below: Below):
        self.below = below
        self.classes: list[str] = []
        self.node = self._domain("Node", "n", "nodes", 1 + below(3))
        self.peer = self._domain("Peer", "p", str(2), 2)
        self.role = self._enum("Role", 1 + below(4))
        self.mode = self._enum("Mode", 2)
        self.small = self._range("Small", 0, 1 + below(4))
        self.limited = self._range("Limited", 0, 3, "limit")
        self.signed = self._range("Signed", -1 - below(5), below(4))
        self.single = self._range("Single", *(2 * [below(7) - 3]))
        self.big = self._range("Big", -below(300), 300 + below(4000))
        self.huge = self._range("Huge", -(2**20), 2**38)
        self.scalars: list[Kind] = [BOOL, self.node, self.peer, self.role, self.mode, self.small, self.limited]
        self.scalars += [self.signed, self.single, integers("Range(-2, 1)", -2, 1)]
        self.records: list[Rec] = []
        for name in ("Pair", "Trio", "Outer"):
            self.records.append(self._struct(name))
        chosen = tuple(self.records[: 2 + below(2)])
        self.classes.append(f"Either = OneOf({', '.join(kind.text for kind in chosen)})\n")
        bits = width(len(chosen)) + max(kind.bits for kind in chosen)
        self.either = Either("Either", capped(sum(kind.count for kind in chosen)), bits, chosen)
        fields = (("id", self.big), ("to", self.node))
        self.message = self._declared("Message", fields)

    def _domain(self, name: str, prefix: str, size: str, count: int) -> Member:
        self.classes.append(f'class {name}(Domain):\n    size, prefix = "{size}", "{prefix}"\n')
        self.nodes = count if size == "nodes" else self.nodes
        return Member(name, count, width(count), tuple(f"{name}[{index}]" for index in range(count)))

    def _enum(self, name: str, count: int) -> Member:
        members = [f"{name[0]}{index}" for index in range(count)]
        # The values are not in order, since members are numbered in the order of their definition.
        body = "".join(f"    {member} = {(7 * index + 3) % 5}\n" for index, member in enumerate(members))
        self.classes.append(f"class {name}(Enum):\n{body}")
        return Member(name, count, width(count), tuple(f"{name}.{member}" for member in members))

    def _range(self, name: str, low: int, high: int, bound: str = "") -> Int:
        self.classes.append(f"class {name}(Range):\n    low, high = {low}, {(bound and repr(bound)) or high}\n")
        return integers(name, low, high)

    def _struct(self, name: str) -> Rec:
        count = 1 + self.below(3)
        return self._declared(name, tuple((f"f{index}", self.field()) for index in range(count)))

    def _declared(self, name: str, fields: tuple[tuple[str, Kind], ...]) -> Rec:
        body = "".join(f"    {field}: {kind.text}\n" for field, kind in fields)
        self.classes.append(f"class {name}(Struct):\n{body}")
        return record(name, fields)

    def pick(self, kinds: list[Kind]) -> Kind:
        return kinds[self.below(len(kinds))]

    def scalar(self) -> Kind:
        return self.pick(self.scalars)

    def key(self) -> Kind:
        return self.pick([self.node, self.node, self.peer, self.role, self.small, self.signed, self.single, BOOL])

    def field(self) -> Kind:
        choice = self.below(12)
        if choice < 5:
            return self.scalar()
        if choice == 5:
            return self.big
        if choice == 6:
            return option(self.scalar())
        if choice == 7 and self.records:
            return self.pick(list(self.records))
        if choice == 8 and self.records:
            return option(self.pick(list(self.records)))
        if choice == 9:
            return group(self.scalar(), None)
        if choice == 10:
            return line(self.scalar(), 1 + self.below(3))
        if choice == 11 and self.below(2):
            return self.tuple()
        return table(self.key(), self.scalar())

    def tuple(self, *, is_item: bool = False) -> Tup:
        """Return a type of tuples; with `is_item`, Python can put its displays into a set."""
        kinds: list[Kind] = [self.scalar(), self.scalar(), self.big, option(self.scalar())]
        kinds += [] if is_item else [line(self.scalar(), 2)]
        if self.records:
            kinds.append(self.pick(list(self.records)))
        return tup(tuple(self.pick(kinds) for _ in range(1 + self.below(3))))

    def item(self) -> Kind:
        """Return a type that a set or bag can have as items."""
        for _ in range(4):
            choice = self.below(10)
            if choice < 4:
                kind = self.scalar()
            elif choice == 4:
                kind = option(self.scalar())
            elif choice == 5:
                kind = self.big
            elif choice < 8:
                kind = self.pick([*self.records, self.message, self.either])
            elif choice == 8:
                kind = self.tuple(is_item=True)
            else:
                kind = option(self.pick(list(self.records)))
            if kind.bits <= 64:
                return kind
        return self.small

    def composite(self) -> Kind:
        return self._composite(self.below(9))

    def _composite(self, choice: int) -> Kind:
        if choice == 0:
            return group(*self._universe())
        if choice == 1:
            return group(self.item(), self.below(5))
        if choice == 2:
            return heap(self.item(), self.below(5))
        if choice == 3:
            return line(self.inner(), self.below(5))
        if choice == 4:
            return line(self.pick([self.huge, self.big, self.small]), 6 + self.below(8))
        if choice == 5 and self.below(2):
            return partial(self.key(), self.pick([self.scalar(), self.big, *self.records]))
        if choice == 5:
            return table(self.key(), self.inner())
        if choice == 6:
            return option(self.pick([*self.records, self.small, self.node]))
        return self.pick([self.tuple(), self.either, *self.records])

    def _universe(self) -> tuple[Kind, None]:
        kind = self.item()
        is_scalar = isinstance(kind, (Bool, Int, Member)) or (
            isinstance(kind, Opt) and isinstance(kind.item, (Bool, Int, Member))
        )
        fits = kind.count <= 64 if is_scalar else kind.bits <= 6
        return (kind if fits else self.small), None

    def inner(self) -> Kind:
        choice = self.below(10)
        if choice < 3:
            return self.scalar()
        if choice == 3:
            return self.pick([self.big, self.huge])
        if choice == 4:
            return option(self.pick([*self.records, self.small, self.node]))
        if choice < 7:
            return self.pick([self.tuple(), self.either] if choice == 6 else [*self.records, self.message])
        if choice == 7:
            return group(*self._universe())
        if choice == 8:
            return line(self.item(), 1 + self.below(3))
        return heap(self.scalar(), 1 + self.below(3))

    def variable(self) -> Kind:
        for _ in range(6):
            kind = self.scalar() if self.below(4) == 0 else self.composite()
            if kind.bits <= 400:
                return kind
        return self.small

    def parameter(self) -> Kind:
        """Return a type with few values, for a parameter of an action."""
        for _ in range(8):
            choice = self.below(8)
            kind = self.scalar() if choice < 4 else option(self.scalar()) if choice < 6 else self.field()
            if kind.count <= 12:
                return kind
        return self.node
