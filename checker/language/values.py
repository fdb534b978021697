"""Collections as the interpreter holds them: immutable values that know the place they were read from.

`self.log[r].append(x)` reads the map, then the sequence, and then asks the sequence to change. A value never changes.
It builds a new value and gives it to its owner, which does the same, and so on up to the state. A value that a method
keeps in a local is therefore a snapshot.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from checker.errors import BoundsError, SpecError


class ItemType(Protocol):
    """A resolved type (`checker.language.types`), as far as collections need it."""

    def values(self) -> Iterator[Any]:
        """Iterate over all values, in the order that numbers them."""

    def coerce(self, value: Any) -> Any:
        """Return `value` as a canonical value of the type; raise BoundsError if it is none."""

    def position(self, value: Any) -> int:
        """Return the position of a canonical value in `values`."""


class KeyedType(ItemType, Protocol):
    """The type of a map."""

    @property
    def key(self) -> ItemType:
        """The type of the keys."""

    @property
    def value(self) -> ItemType:
        """The type of the values."""


class PartialType(KeyedType, Protocol):
    """The type of a partial map."""

    @property
    def item(self) -> ItemType:
        """The type of the values of present keys."""

    def key_set(self) -> Any:
        """Return the type of the set of the keys."""

    def value_sequence(self) -> Any:
        """Return the type of the sequence of the values."""

    def pair_sequence(self) -> Any:
        """Return the type of the sequence of the pairs."""


class CollectionType(ItemType, Protocol):
    """The type of a set, sequence or bag."""

    @property
    def item(self) -> ItemType:
        """The type of the items."""


def show(value: Any) -> str:
    """Return the short text of a value, as traces and messages print it."""
    if isinstance(value, enum.Enum):
        # A spec chooses the text of a member by its value: `NOT_SENT = "not sent"`. Numbers say less than the name.
        return value.value if isinstance(value.value, str) else value.name.lower()
    if isinstance(value, bool) or value is None:
        # Safe although True == 1: only bools and None get here.
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, tuple):
        return f"({', '.join(map(show, value))}{',' if len(value) == 1 else ''})"
    return str(value)


def plain(value: Any) -> Any:
    """Return a value as Python's own values, which JSON can represent.

    Maps and structs are dicts, tuples and other collections are lists, and a member of a domain or an enum is its text.
    """
    if value is None or (isinstance(value, (bool, int)) and not isinstance(value, enum.Enum)):
        return value
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value._plain_value() if hasattr(value, "_plain_value") else show(value)


def attach(value: Any, owner: Any, key: Any) -> Any:
    """Return `value` tied to the place it was read from, so that a change of it changes the state.

    `owner` is the state or the value that holds it, and `key` its position there: a variable, a field, a map key or an
    index. Scalars are returned as they are.
    """
    return value._with_owner(owner, key) if hasattr(value, "_with_owner") else value


class TupleValue(tuple[Any, ...]):
    """A tuple of the state. Its items have names, as the fields of a struct have: "0", "1" and so on."""

    __slots__ = ()
    shows = ""

    @classmethod
    def of(cls, values: dict[str, Any]) -> TupleValue:
        """Return the tuple of these items, which are in order."""
        return cls(values.values())

    def field(self, name: str) -> Any:
        """Return the item with a name."""
        return self[int(name)]


class CollectionValue:
    """The base class of maps, sets, sequences and bags.

    `_owner` and `_key` are the place that the value was read from; `_owner` is None outside the state. A set or bag
    holds its items sorted, so that equal values have equal items.
    """

    __slots__ = ("_items", "_key", "_owner", "type")

    def __init__(self, kind: Any, items: tuple[Any, ...], owner: Any = None, key: Any = None):
        self.type, self._items, self._owner, self._key = kind, items, owner, key

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the owner: a value that is sent to another process is a snapshot.
        return type(self), (self.type, self._items)

    # Owners are states, structs and collections. They call `_with_owner` and `_put` of each other. The names begin with
    # an underscore because the public attributes of a state or a struct are its variables or fields.

    def _with_owner(self, owner: Any, key: Any) -> CollectionValue:
        return type(self)(self.type, self._items, owner, key)

    def _change(self, items: Any) -> None:
        if self._owner is None:
            raise SpecError("a value outside the state cannot be changed: build a new value, or write through self")
        # The conversion sorts and checks. The owner then replaces this value by the new one and passes the change on to
        # its own owner.
        self._owner._put(self._key, self.type.coerce(items))

    def _plain_value(self) -> Any:
        return [plain(item) for item in self._items]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)


class MapValue(CollectionValue):
    """A total map; holds its values in the order of its keys."""

    type: KeyedType

    def items_in_order(self) -> tuple[Any, ...]:
        """Return the values in the order of the keys."""
        return self._items

    def _plain_value(self) -> Any:
        return {show(key): plain(item) for key, item in zip(self.type.key.values(), self._items, strict=True)}

    def _position(self, key: Any) -> int:
        kind = self.type.key
        return kind.position(kind.coerce(key))

    def __getitem__(self, key: Any) -> Any:
        position = self._position(key)
        return attach(self._items[position], self, position)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._put(self._position(key), value)

    def _put(self, position: int, value: Any) -> None:
        # The new map has no owner; the owner attaches it when it is read again.
        items = (*self._items[:position], self.type.value.coerce(value), *self._items[position + 1 :])
        if self._owner is None:
            raise SpecError("a map outside the state cannot be changed: write through self")
        self._owner._put(self._key, type(self)(self.type, items))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dict):
            return dict(zip(self.type.key.values(), self._items, strict=True)) == other
        return isinstance(other, MapValue) and self._items == other._items

    __hash__ = CollectionValue.__hash__

    def __repr__(self) -> str:
        pairs = zip(self.type.key.values(), self._items, strict=True)
        return "{" + ", ".join(f"{show(key)}: {show(value)}" for key, value in pairs) + "}"


class PartialMapValue(MapValue):
    """A map of which keys may be absent; iterates over its keys in their order. Holds None for an absent key."""

    type: PartialType

    def __getitem__(self, key: Any) -> Any:
        position = self._position(key)
        if self._items[position] is None:
            raise BoundsError(f"{self} has no key {show(key)}")
        return attach(self._items[position], self, position)

    def _plain_value(self) -> Any:
        return {show(key): plain(value) for key, value in self._entries().items()}

    def __setitem__(self, key: Any, value: Any) -> None:
        self._put(self._position(key), self.type.item.coerce(value))

    def __delitem__(self, key: Any) -> None:
        position = self._position(key)
        if self._items[position] is None:
            raise BoundsError(f"{self} has no key {show(key)}")
        self._put(position, None)

    def __contains__(self, key: Any) -> bool:
        return key in self._entries()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())

    def _entries(self) -> dict[Any, Any]:
        pairs = zip(self.type.key.values(), self._items, strict=True)
        return {key: value for key, value in pairs if value is not None}

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or `default` if it is absent."""
        value = self._items[self._position(key)]
        if default is not None:
            # Also if the key is present: the default is a value of the item type.
            default = self.type.item.coerce(default)
        return default if value is None else value

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove a key, and return its value, or `default` if it is absent; raise BoundsError without a default."""
        if len(default) > 1:
            raise TypeError(f"pop takes 1 or 2 arguments, {1 + len(default)} were given")
        value = self.get(key, *default)
        if value is None:
            raise BoundsError(f"{self} has no key {show(key)}")
        self._put(self._position(key), None)
        return value

    def keys(self) -> SetValue:
        """Return the set of the keys."""
        return SetValue(self.type.key_set(), tuple(self._entries()))

    def values(self) -> SeqValue:
        """Return the values, in the order of the keys."""
        return SeqValue(self.type.value_sequence(), tuple(self._entries().values()))

    def items(self) -> SeqValue:
        """Return the pairs of a key and its value, in the order of the keys."""
        return SeqValue(self.type.pair_sequence(), tuple(map(TupleValue, self._entries().items())))

    def clear(self) -> None:
        """Remove all keys."""
        self._change({})

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dict):
            return self._entries() == other
        return isinstance(other, PartialMapValue) and self._entries() == other._entries()

    __hash__ = CollectionValue.__hash__

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{show(key)}: {show(value)}" for key, value in self._entries().items()) + "}"


class SetValue(CollectionValue):
    """A set; iterates over its items in the order of the item type."""

    type: CollectionType

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: Any) -> bool:
        return item in self._items

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (set, frozenset)):
            return set(self._items) == other
        # By content and not by `_items`: the same items have another order if the item types differ.
        return isinstance(other, SetValue) and (self._items == other._items or self._plain() == other._plain())

    # Consistent with `==`, which also accepts Python's own sets: equal sets have equal hashes.
    def __hash__(self) -> int:
        return hash(self._plain())

    def _plain(self) -> frozenset[Any]:
        return frozenset(self._items)

    def __or__(self, other: Iterable[Any]) -> frozenset[Any]:
        return self._plain() | frozenset(other)

    __ror__ = __or__

    def __and__(self, other: Iterable[Any]) -> frozenset[Any]:
        return self._plain() & frozenset(other)

    __rand__ = __and__

    def __xor__(self, other: Iterable[Any]) -> frozenset[Any]:
        return self._plain() ^ frozenset(other)

    __rxor__ = __xor__

    def __sub__(self, other: Iterable[Any]) -> frozenset[Any]:
        return self._plain() - frozenset(other)

    def __rsub__(self, other: Iterable[Any]) -> frozenset[Any]:
        return frozenset(other) - self._plain()

    def __le__(self, other: Iterable[Any]) -> bool:
        return self._plain() <= frozenset(other)

    def __lt__(self, other: Iterable[Any]) -> bool:
        return self._plain() < frozenset(other)

    def __ge__(self, other: Iterable[Any]) -> bool:
        return self._plain() >= frozenset(other)

    def __gt__(self, other: Iterable[Any]) -> bool:
        return self._plain() > frozenset(other)

    def add(self, item: Any) -> None:
        """Add an item, unless it is present."""
        self._change(self._plain() | {self.type.item.coerce(item)})

    def discard(self, item: Any) -> None:
        """Remove an item, if it is present."""
        self._change(frozenset(present for present in self._items if present != item))

    def remove(self, item: Any) -> None:
        """Remove an item; raise BoundsError if it is absent."""
        if item not in self._items:
            raise BoundsError(f"remove({show(item)}): {self} does not contain it")
        self.discard(item)

    def clear(self) -> None:
        """Remove all items."""
        self._change(frozenset())

    def __repr__(self) -> str:
        return "{" + ", ".join(show(item) for item in self._items) + "}"


class SeqValue(CollectionValue):
    """A sequence; a negative index is an error, and slices are clipped as in Python."""

    type: CollectionType

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: Any) -> bool:
        return item in self._items

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SeqValue):
            return self._items == other._items
        return isinstance(other, (list, tuple)) and self._items == tuple(other)

    __hash__ = CollectionValue.__hash__

    def _position(self, index: Any, end: int) -> int:
        # Python would count a negative index from the end. Here it is an error, as the engines have no such index.
        if not isinstance(index, int) or not 0 <= index < end:
            raise BoundsError(f"index {show(index)} is outside a sequence of {len(self)} items")
        return index

    def _clip(self, part: slice) -> slice:
        for bound in (part.start, part.stop):
            if bound is not None and bound < 0:
                raise BoundsError(f"slice bound {bound} is negative")
        return part

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return SeqValue(self.type, self._items[self._clip(index)])
        position = self._position(index, len(self))
        return attach(self._items[position], self, position)

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(self._position(index, len(self)), value)

    def _put(self, position: int, value: Any) -> None:
        self._change((*self._items[:position], value, *self._items[position + 1 :]))

    def __delitem__(self, index: Any) -> None:
        items = list(self._items)
        del items[self._clip(index) if isinstance(index, slice) else self._position(index, len(self))]
        self._change(items)

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self._items, *other]

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        return [*other, *self._items]

    def append(self, item: Any) -> None:
        """Add an item at the end; raise BoundsError if the capacity is exceeded."""
        self._change((*self._items, item))

    def extend(self, items: Iterable[Any]) -> None:
        """Add items at the end; raise BoundsError if the capacity is exceeded."""
        self._change((*self._items, *items))

    def insert(self, index: int, item: Any) -> None:
        """Insert an item before index `index`; raise BoundsError past the end or if the capacity is exceeded."""
        # `len(self)` is allowed: it inserts after the last item.
        position = self._position(index, len(self) + 1)
        self._change((*self._items[:position], item, *self._items[position:]))

    def pop(self, index: int | None = None) -> Any:
        """Remove and return the item at `index` (default: the last); raise BoundsError if the index is outside."""
        position = self._position(len(self) - 1 if index is None else index, len(self))
        # This object still has the old items, so the removed one can be returned afterwards.
        self._change(self._items[:position] + self._items[position + 1 :])
        return self._items[position]

    def clear(self) -> None:
        """Remove all items."""
        self._change(())

    def index(self, item: Any) -> int:
        """Return the index of the first equal item; raise BoundsError if the item is absent."""
        if item not in self._items:
            raise BoundsError(f"index({show(item)}): {self} does not contain it")
        return self._items.index(item)

    def count(self, item: Any) -> int:
        """Return the number of items that are equal to `item`."""
        return self._items.count(item)

    def __repr__(self) -> str:
        return "[" + ", ".join(show(item) for item in self._items) + "]"


class BagValue(CollectionValue):
    """A multiset; iterates over its items in the order of the item type, equal items one after the other."""

    type: CollectionType

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: Any) -> bool:
        return item in self._items

    def add(self, item: Any) -> None:
        """Add one copy; raise BoundsError if the capacity is exceeded."""
        self._change((*self._items, item))

    def remove(self, item: Any) -> None:
        """Remove one copy; raise BoundsError if the item is absent."""
        if item not in self._items:
            raise BoundsError(f"remove({show(item)}): {self} does not contain it")
        position = self._items.index(item)
        self._change(self._items[:position] + self._items[position + 1 :])

    def clear(self) -> None:
        """Remove all items."""
        self._change(())

    def count(self, item: Any) -> int:
        """Return the number of copies of `item`."""
        return self._items.count(item)

    def __repr__(self) -> str:
        return "<" + ", ".join(show(item) for item in self._items) + ">"
