"""Vocabulary of candidate lemmas: terms over a spec's state variables, and atoms that compare them.

Both are Python text with a slot for each variable that a quantifier binds: `self.at[{a}]`, with {a} a Process. A term
that has no value in some states (the item of None, the last item of an empty sequence) carries the condition for that.
An atom over such a term is true in these states, so every atom can be evaluated in every state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from checker.language.spec import Spec
from checker.language.types import (
    BagType,
    BoolType,
    DomainType,
    EnumType,
    IntType,
    MapType,
    OptionType,
    PartialMapType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)

SLOTS = ("a", "b")

MAX_ITEMS = 32
"""Limit of the values of a struct over which a quantifier ranges: every atom is evaluated once per value."""

MAX_KEYS = 8
"""Limit of a map's keys: every atom is evaluated once per key. Larger maps are omitted."""

MAX_VALUES = 4
"""Limit of an integer's values: with more, it is compared only with its bounds, not with each value."""


@dataclass(frozen=True)
class CollectionItems:
    """The items of a collection of the state as the values of a slot; `collection` is its text."""

    collection: str
    kind: StructType

    def cardinality(self) -> int:
        """Return the number of values that an item can have."""
        return self.kind.cardinality()


Slot = Type | CollectionItems
"""The values of a slot: those of a type, or the items of a collection."""


@dataclass(frozen=True)
class StateTerm:
    """An expression over the state: its text, its type, and the types of its slots.

    `absent`: the conditions under which it has no value, each as (text, negated text). `rank`: its complexity.
    """

    text: str
    kind: Type
    slots: tuple[Slot, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()
    rank: int = 1

    def moved(self, names: tuple[str, ...]) -> StateTerm:
        """Return the term with its slots renamed, in order; its `slots` stay as they are."""
        given = {slot: "{" + name + "}" for slot, name in zip(SLOTS, names, strict=False)}
        absent = tuple((text.format(**given), other.format(**given)) for text, other in self.absent)
        return replace(self, text=self.text.format(**given), absent=absent)


@dataclass(frozen=True)
class Atom:
    """A condition on the state with its negation, both as text, and the types of its slots."""

    text: str
    negated: str
    slots: tuple[Slot, ...]
    rank: int

    def text_with(self, names: tuple[str, ...], *, is_true: bool = True) -> str:
        """Return the text of the atom, or of its negation, with names or values in the slots."""
        return (self.text if is_true else self.negated).format(**dict(zip(SLOTS, names, strict=False)))


def atoms_of(spec: Spec, helpers: Iterable[StateTerm] = ()) -> list[Atom]:
    """Return the atoms over a spec's state and the calls of helpers, simplest first; each has at most two slots."""
    terms = [term for name, kind in spec.variables.items() for term in _terms(StateTerm(f"self.{name}", kind))]
    terms += [part for helper in helpers for part in _terms(helper)]
    slots = list(_item_slots(terms))
    members = [membership(slot) for slot in slots]
    terms += [part for slot in slots for part in _terms(StateTerm("{a}", slot.kind, (slot,), rank=1))]
    terms += list(_lookups(terms))
    constants = [
        StateTerm(f"self.{name}", IntType(value, value), rank=2)
        for name, value in spec.constants.items()
        if isinstance(value, int) and not isinstance(value, bool)
    ]
    atoms: dict[str, Atom] = {}
    for atom in itertools.chain(
        members,
        *(_of_one(term) for term in terms),
        _of_two(terms, constants),
        _of_items(terms, constants),
    ):
        atoms.setdefault(atom.text, atom)
    return sorted(atoms.values(), key=lambda atom: (atom.rank, len(atom.text), atom.text))


# Terms.


def _terms(term: StateTerm) -> Iterator[StateTerm]:
    """Iterate over a term and the parts of its value."""
    kind = term.kind
    if isinstance(kind, UnionType):
        return
    if isinstance(kind, StructType):
        for name, field in kind.fields:
            text = f"{term.text}[{name}]" if isinstance(kind, TupleType) else f"{term.text}.{name}"
            yield from _terms(replace(term, text=text, kind=field))
    elif isinstance(kind, MapType):
        slots = (*term.slots, kind.key)
        if len(slots) <= len(SLOTS) and _is_slot(kind.key):
            key = "{" + SLOTS[len(slots) - 1] + "}"
            entry = f"{term.text}.get({key})" if isinstance(kind, PartialMapType) else f"{term.text}[{key}]"
            yield from _terms(replace(term, text=entry, kind=kind.value, slots=slots))
    elif isinstance(kind, OptionType):
        yield term
        condition = (f"{term.text} is None", f"{term.text} is not None")
        inner = replace(term, kind=kind.item, absent=(*term.absent, condition), rank=term.rank + 1)
        # `x == Name[0]` is valid Python for x None, so a name needs no term for its value; numbers and structs do.
        if not isinstance(kind.item, (DomainType, EnumType)):
            yield from _terms(inner)
    else:
        yield term
        if isinstance(kind, (SeqType, SetType, BagType)):
            capacity = kind.capacity if kind.capacity is not None else kind.item.cardinality()
            yield replace(term, text=f"len({term.text})", kind=IntType(0, capacity))
        if isinstance(kind, SeqType) and kind.capacity:
            empty = (f"len({term.text}) == 0", f"len({term.text}) > 0")
            last = f"{term.text}[len({term.text}) - 1]"
            parts = replace(term, text=last, kind=kind.item, absent=(*term.absent, empty), rank=term.rank + 2)
            yield from _terms(parts)


def membership(slot: CollectionItems) -> Atom:
    """Return the atom that a value is an item of a collection. It sorts before all others, which need it."""
    return Atom(f"{{a}} in {slot.collection}", f"{{a}} not in {slot.collection}", (slot,), -1)


def _item_slots(terms: list[StateTerm]) -> Iterator[CollectionItems]:
    """Iterate over the collections of structs over whose items a quantifier can range."""
    for term in terms:
        kind = term.kind
        if not isinstance(kind, (SeqType, SetType, BagType)) or term.slots or term.absent:
            continue
        if isinstance(kind.item, StructType) and has_texts(kind.item) and kind.item.cardinality() <= MAX_ITEMS:
            yield CollectionItems(term.text, kind.item)


def has_texts(kind: Type) -> bool:
    """Return whether `texts_of` can write the values of a type."""
    if isinstance(kind, StructType):
        return not isinstance(kind, TupleType) and all(has_texts(field) for _, field in kind.fields)
    if isinstance(kind, (OptionType, SetType)):
        return has_texts(kind.item)
    return isinstance(kind, (DomainType, EnumType, BoolType, IntType))


def texts_of(kind: Slot) -> list[str]:
    """Return the text of each value of a slot."""
    if isinstance(kind, CollectionItems):
        return texts_of(kind.kind)
    if isinstance(kind, DomainType):
        return [f"{kind.declared.__name__}[{number}]" for number in range(kind.cardinality())]
    if isinstance(kind, EnumType):
        return [f"{kind.declared.__name__}.{member.name}" for member in kind.declared]
    if isinstance(kind, OptionType):
        return ["None", *texts_of(kind.item)]
    if isinstance(kind, SetType):
        items = texts_of(kind.item)
        sizes = range((len(items) if kind.capacity is None else kind.capacity) + 1)
        subsets = itertools.chain.from_iterable(itertools.combinations(items, size) for size in sizes)
        return [f"{{{', '.join(chosen)}}}" if chosen else "set()" for chosen in subsets]
    if isinstance(kind, StructType):
        fields = [[f"{name}={text}" for text in texts_of(field)] for name, field in kind.fields]
        return [f"{kind.declared.__name__}({', '.join(chosen)})" for chosen in itertools.product(*fields)]
    return [str(value) for value in kind.values()]


def _is_slot(kind: Slot) -> bool:
    return isinstance(kind, (DomainType, EnumType, IntType)) and kind.cardinality() <= MAX_KEYS


def _lookups(terms: list[StateTerm]) -> Iterator[StateTerm]:
    """Iterate over the entries of a map at a key that the state has: `self.leader_epoch[self.leader[{a}]]`."""
    for name, term in itertools.product(terms, terms):
        kind = name.kind.item if isinstance(name.kind, OptionType) else name.kind
        if not isinstance(kind, DomainType) or term.slots != (kind,) or not _is_single(term.kind):
            continue
        is_none = ((f"{name.text} is None", f"{name.text} is not None"),) if isinstance(name.kind, OptionType) else ()
        inside = tuple((one.format(a=name.text), other.format(a=name.text)) for one, other in term.absent)
        text = term.text.format(a=name.text)
        if name.slots and "{a}" not in text:
            continue
        rank = name.rank + term.rank + 1
        yield StateTerm(text, term.kind, name.slots, (*name.absent, *is_none, *inside), rank)


def _is_single(kind: Type) -> bool:
    inner = kind.item if isinstance(kind, OptionType) else kind
    return isinstance(inner, (BoolType, IntType, DomainType, EnumType, SetType))


# Atoms.


def atom(term_slots: tuple[Slot, ...], text: str, negated: str, terms: tuple[StateTerm, ...], rank: int) -> Atom:
    """Return an atom over some terms; it is true in states where one of them has no value."""
    absent = dict.fromkeys(condition for term in terms for condition in term.absent)
    if absent:
        text = f"({' or '.join([one for one, _ in absent] + [text])})"
        negated = f"({' and '.join([other for _, other in absent] + [negated])})"
    return Atom(text, negated, term_slots, rank + sum(term.rank for term in terms))


def _of_one(term: StateTerm) -> Iterator[Atom]:
    """Iterate over the atoms of one term."""
    kind, text = term.kind, term.text
    if isinstance(kind, BoolType):
        yield atom(term.slots, text, f"not {text}", (term,), 0)
    elif isinstance(kind, OptionType):
        yield atom(term.slots, f"{text} is None", f"{text} is not None", (term,), 0)
    values = kind.item if isinstance(kind, OptionType) else kind
    if isinstance(values, EnumType):
        for member in values.declared:
            name = f"{values.declared.__name__}.{member.name}"
            yield atom(term.slots, f"{text} == {name}", f"{text} != {name}", (term,), 0)
    elif isinstance(kind, IntType):
        assert kind.low is not None and kind.high is not None
        ends = range(kind.low, kind.high + 1) if kind.cardinality() <= MAX_VALUES else (kind.low, kind.high)
        for value in ends:
            yield atom(term.slots, f"{text} == {value}", f"{text} != {value}", (term,), 0 if value == kind.low else 1)
        if kind.cardinality() > 2:
            yield atom(term.slots, f"{text} % 2 == 0", f"{text} % 2 == 1", (term,), 2)
    elif isinstance(values, DomainType) and not term.slots:
        # The members of a domain are symmetric: an atom names only members that a quantifier binds.
        yield atom((values,), f"{text} == {{a}}", f"{text} != {{a}}", (term,), 0)
    elif isinstance(values, DomainType) and values in term.slots and len(term.slots) == 1:
        yield atom(term.slots, f"{text} == {{a}}", f"{text} != {{a}}", (term,), 0)
        yield atom((values, values), f"{text} == {{b}}", f"{text} != {{b}}", (term,), 0)
    elif isinstance(kind, SetType) and _is_slot(kind.item):
        yield from _members(term, kind)


def _members(term: StateTerm, kind: SetType) -> Iterator[Atom]:
    if len(term.slots) < len(SLOTS):
        name = "{" + SLOTS[len(term.slots)] + "}"
        yield atom((*term.slots, kind.item), f"{name} in {term.text}", f"{name} not in {term.text}", (term,), 0)
    if term.slots == (kind.item,):
        yield atom(term.slots, f"{{a}} in {term.text}", f"{{a}} not in {term.text}", (term,), 0)


def _of_two(terms: list[StateTerm], constants: list[StateTerm]) -> Iterator[Atom]:
    """Iterate over the comparisons of two terms. Terms with a slot of the same type share it or have one each."""
    for one, other in itertools.combinations_with_replacement(terms, 2):
        for slots, left, right in _placements(one, other):
            yield from _comparisons(slots, left, right)
    for term, number in itertools.product(terms, constants):
        yield from _comparisons(term.slots, term, number)
    yield from _of_slots(terms)


def _of_slots(terms: list[StateTerm]) -> Iterator[Atom]:
    """Iterate over the comparisons of a quantified number with a number of the state, or with another one."""
    kinds = dict.fromkeys(kind for term in terms for kind in term.slots if isinstance(kind, IntType))
    kinds |= dict.fromkeys(
        term.kind.item for term in terms if isinstance(term.kind, SetType) and isinstance(term.kind.item, IntType)
    )
    for kind in kinds:
        if not _is_slot(kind):
            continue
        yield atom((kind, kind), "{a} < {b}", "{a} >= {b}", (), 0)
        for term in terms:
            if isinstance(term.kind, IntType) and _comparable(kind, term.kind):
                if term.slots in ((), (kind,)):
                    yield from _comparisons((kind,), StateTerm("{a}", kind, rank=0), term)
                if term.slots == (kind,):
                    yield from _comparisons((kind, kind), StateTerm("{b}", kind, rank=0), term)


def _placements(one: StateTerm, other: StateTerm) -> Iterator[tuple[tuple[Slot, ...], StateTerm, StateTerm]]:
    """Iterate over the ways to combine the slots of two terms: (slots, left term, right term)."""
    if not other.slots or not one.slots:
        yield one.slots or other.slots, one, other
    elif one.slots == other.slots:
        yield one.slots, one, other
        if len(one.slots) == 1:
            yield (*one.slots, *other.slots), one, other.moved(("b",))
    elif len(one.slots) == len(other.slots) == 1:
        yield (*one.slots, *other.slots), one, other.moved(("b",))


def _comparisons(slots: tuple[Slot, ...], one: StateTerm, other: StateTerm) -> Iterator[Atom]:
    """Iterate over the comparisons of two terms if their types have values in common."""
    if one.text == other.text:
        return
    left, right = one.text, other.text
    inner = [kind.item if isinstance(kind, OptionType) else kind for kind in (one.kind, other.kind)]
    if isinstance(one.kind, IntType) and isinstance(other.kind, IntType):
        if not _comparable(one.kind, other.kind):
            return
        # Numbers with the same bounds are more likely to be related.
        rank = 0 if (one.kind.low, one.kind.high) == (other.kind.low, other.kind.high) else 1
        yield atom(slots, f"{left} <= {right}", f"{left} > {right}", (one, other), rank)
        yield atom(slots, f"{left} >= {right}", f"{left} < {right}", (one, other), rank)
        yield atom(slots, f"{left} == {right}", f"{left} != {right}", (one, other), rank + 1)
    elif isinstance(inner[0], (DomainType, EnumType)) and inner[0] == inner[1]:
        yield atom(slots, f"{left} == {right}", f"{left} != {right}", (one, other), 0)
    elif isinstance(one.kind, BoolType) and isinstance(other.kind, BoolType):
        yield atom(slots, f"{left} == {right}", f"{left} != {right}", (one, other), 1)
    elif isinstance(one.kind, SetType) and one.kind == other.kind:
        yield atom(slots, f"{left} <= {right}", f"not {left} <= {right}", (one, other), 1)
        yield atom(slots, f"{right} <= {left}", f"not {right} <= {left}", (one, other), 1)
    elif isinstance(inner[0], DomainType) and isinstance(other.kind, SetType) and other.kind.item == inner[0]:
        yield atom(slots, f"{left} in {right}", f"{left} not in {right}", (one, other), 0)
    elif isinstance(inner[1], DomainType) and isinstance(one.kind, SetType) and one.kind.item == inner[1]:
        yield atom(slots, f"{right} in {left}", f"{right} not in {left}", (one, other), 0)
    elif isinstance(one.kind, SeqType) and one.kind == other.kind and len(slots) == len(SLOTS):
        same = f"{left}[i] == {right}[i]"
        places = f"for i in range(min(len({left}), len({right})))"
        differ = same.replace("==", "!=")
        yield atom(slots, f"all({same} {places})", f"any({differ} {places})", (one, other), 1)


def _comparable(one: IntType, other: IntType) -> bool:
    """Return whether two integer types can be compared: their names do not differ, and their ranges overlap."""
    if one.name and other.name and one.name != other.name:
        return False
    assert None not in (one.low, one.high, other.low, other.high)
    return not (one.high < other.low or other.high < one.low)  # type: ignore[operator]


def _of_items(terms: list[StateTerm], constants: list[StateTerm]) -> Iterator[Atom]:
    """Iterate over the atoms about every item of a collection."""
    for collection in terms:
        kind = collection.kind
        if not isinstance(kind, (SeqType, SetType, BagType)):
            continue
        if isinstance(kind, SetType) and kind.capacity is None and not isinstance(kind.item, IntType):
            continue
        parts = [part for part in _terms(StateTerm("item", kind.item)) if not part.slots]
        items = parts + [_present(part) for part in parts if isinstance(part.kind, OptionType)]
        for item in items:
            others = [term for term in terms if not term.slots or term.slots == collection.slots] + constants
            inside = itertools.chain(_of_one(item), *(_comparisons((), item, term) for term in [*others, *items]))
            for inner in inside:
                if not inner.slots:
                    yield _for_all(collection, inner)
        if isinstance(kind, SeqType):
            yield from _ascending(collection, items)


def _present(term: StateTerm) -> StateTerm:
    """Return an option's value as a term, absent where the option is None."""
    assert isinstance(term.kind, OptionType)
    condition = (f"{term.text} is None", f"{term.text} is not None")
    return replace(term, kind=term.kind.item, absent=(*term.absent, condition), rank=term.rank)


def _for_all(collection: StateTerm, inner: Atom) -> Atom:
    of_all = f"all({inner.text} for item in {collection.text})"
    of_some = f"any({inner.negated} for item in {collection.text})"
    return atom(collection.slots, of_all, of_some, (collection,), inner.rank + 1)


def _ascending(collection: StateTerm, items: list[StateTerm]) -> Iterator[Atom]:
    for item in items:
        if isinstance(item.kind, IntType) and not item.absent:
            one = item.text.replace("item", f"{collection.text}[i]", 1)
            next_one = item.text.replace("item", f"{collection.text}[i + 1]", 1)
            places = f"for i in range(len({collection.text}) - 1)"
            yield atom(
                collection.slots,
                f"all({one} <= {next_one} {places})",
                f"any({one} > {next_one} {places})",
                (collection, item),
                1,
            )
