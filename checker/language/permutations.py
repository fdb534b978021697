"""Permutations of the members of domains, and their effect on types' values and on states."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checker.language.declared_types import Domain
from checker.language.interpreter import State
from checker.language.types import (
    BagType,
    DomainType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
    UnionType,
)
from checker.language.values import BagValue, SeqValue, SetValue

Permutation = Mapping[type[Domain], tuple[int, ...]]
"""For each domain the index of the member that replaces member 0, 1, and so on; other domains stay as they are."""


def domains_in(kind: Type) -> Iterator[DomainType]:
    """Iterate over the domains of which values of a type contain members."""
    if isinstance(kind, DomainType):
        yield kind
    elif isinstance(kind, MapType):
        yield from domains_in(kind.key)
        yield from domains_in(kind.value)
    elif isinstance(kind, StructType):
        for _, field in kind.fields:
            yield from domains_in(field)
    elif isinstance(kind, UnionType):
        for alternative in kind.alternatives:
            yield from domains_in(alternative)
    elif isinstance(kind, (OptionType, SetType, SeqType, BagType)):
        yield from domains_in(kind.item)


def mentions(kind: Type, domain: DomainType) -> bool:
    """Return whether values of a type contain members of a domain, of any size."""
    return any(each.declared is domain.declared for each in domains_in(kind))


def generators(domain: DomainType) -> list[Permutation]:
    """Return permutations that generate all permutations of a domain: the exchanges of neighbours."""
    permutations: list[Permutation] = []
    for first in range(domain.cardinality() - 1):
        images = list(range(domain.cardinality()))
        images[first], images[first + 1] = first + 1, first
        permutations.append({domain.declared: tuple(images)})
    return permutations


def all_permutations(domains: Sequence[DomainType]) -> Iterator[Permutation]:
    """Iterate over the products of the permutations of some domains; the first one changes nothing."""
    choices = [itertools.permutations(range(domain.cardinality())) for domain in domains]
    for images in itertools.product(*choices):
        yield {domain.declared: image for domain, image in zip(domains, images, strict=True)}


def permute(kind: Type, value: Any, by: Permutation) -> Any:
    """Return a value of a type with the members in it replaced."""
    if not any(domain.declared in by for domain in domains_in(kind)):
        return value
    if isinstance(kind, DomainType):
        return kind.members[by[kind.declared][value.index]]
    if isinstance(kind, OptionType):
        return None if value is None else permute(kind.item, value, by)
    if isinstance(kind, UnionType):
        return permute(kind.alternative_of(value), value, by)
    if isinstance(kind, StructType):
        return kind.declared.of({name: permute(field, value.field(name), by) for name, field in kind.fields})
    if isinstance(kind, MapType):
        return _permute_map(kind, value, by)
    assert isinstance(kind, (SetType, SeqType, BagType))
    items = [permute(kind.item, item, by) for item in value]
    if isinstance(kind, SeqType):
        return SeqValue(kind, tuple(items))
    ordered = tuple(sorted(items, key=kind.item.sort_key))
    return SetValue(kind, ordered) if isinstance(kind, SetType) else BagValue(kind, ordered)


def _permute_map(kind: MapType, value: Any, by: Permutation) -> Any:
    items = [permute(kind.value, item, by) for item in value.items_in_order()]
    if not isinstance(kind.key, DomainType) or kind.key.declared not in by:
        return kind.made(tuple(items))
    moved = list(items)
    for index, image in enumerate(by[kind.key.declared]):
        moved[image] = items[index]
    return kind.made(tuple(moved))


def permute_state(variables: Mapping[str, Type], state: State, by: Permutation) -> State:
    """Return a state with the members in it replaced."""
    return State({name: permute(kind, state.values[name], by) for name, kind in variables.items()})


def compose_permutations(after: Permutation, before: Permutation) -> Permutation:
    """Return the permutation that replaces members by `before`, and then by `after`, of the same domains."""
    return {domain: tuple(after[domain][image] for image in images) for domain, images in before.items()}
