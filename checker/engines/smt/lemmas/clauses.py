"""Lemmas as clauses: disjunctions of literals for all values of some variables, and their text in Python."""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from typing import Any

from checker.engines.smt.lemmas.vocabulary import Atom, CollectionItems, Slot
from checker.language.spec import snake_case
from checker.language.types import DomainType, EnumType, IntType, StructType


@dataclass(frozen=True)
class AtomLiteral:
    """An atom or its negation; `order` has the index of the quantifier's variable for each of its slots."""

    atom: Atom
    order: tuple[int, ...]
    is_true: bool

    def text_with(self, names: tuple[str, ...], *, negated: bool = False) -> str:
        """Return the literal's text, or that of its negation, with names or values for the quantifier's variables."""
        return self.atom.text_with(tuple(names[index] for index in self.order), is_true=self.is_true is not negated)

    @property
    def opposite(self) -> AtomLiteral:
        """The negation."""
        return AtomLiteral(self.atom, self.order, not self.is_true)

    @property
    def is_plain(self) -> bool:
        """Whether the text is positive: without `!=` and `not`."""
        return not any(word in self.text_with(("a", "b")) for word in ("not ", "!="))


@dataclass(frozen=True)
class LemmaClause:
    """A disjunction of literals for all values of a quantifier's variables."""

    slots: tuple[Slot, ...]
    literals: frozenset[AtomLiteral]

    @property
    def rank(self) -> int:
        """The complexity of the clause."""
        return sum(1 + literal.atom.rank for literal in self.literals) + len(self.slots)

    @property
    def order(self) -> tuple[Any, ...]:
        """The sort key of clauses: simplest first."""
        return (self.rank, self.source())

    @property
    def simplest_first(self) -> list[AtomLiteral]:
        """The literals in a fixed order: iteration over the set depends on the hash seed of the process."""
        names = names_for(self.slots)
        return sorted(self.literals, key=lambda found: (found.atom.rank, found.text_with(names)))

    def parts(self, converse: LemmaClause | None = None) -> list[str]:
        """Return the clause as the parts of a comprehension: conclusion, `for` clauses, `if` premises.

        A clause without variables is one part. A clause with its converse is written as an equality.
        """
        names = names_for(self.slots)
        simplest = self.simplest_first
        if converse is not None:
            one, other = simplest
            return _quantify(
                self.slots, names, [], f"({one.text_with(names)}) == ({other.text_with(names, negated=True)})"
            )
        if not self.slots:
            return [" or ".join(literal.text_with(names) for literal in simplest)]
        simplest.reverse()
        *premises, conclusion = sorted(simplest, key=lambda each: each.is_plain)
        text = conclusion.text_with(names)
        return _quantify(self.slots, names, [each.text_with(names, negated=True) for each in premises], text)

    def source(self, converse: LemmaClause | None = None) -> str:
        """Return the clause as a Python expression in one line."""
        parts = self.parts(converse)
        return f"all({' '.join(parts)})" if self.slots else parts[0]


def is_converse(one: LemmaClause, other: LemmaClause) -> bool:
    """Return whether two clauses are the two directions of an equivalence of atoms."""
    return len(one.literals) == 2 and {literal.opposite for literal in one.literals} == other.literals


def names_for(slots: tuple[Slot, ...]) -> tuple[str, ...]:
    """Return the names of a quantifier's variables."""
    names = []
    for kind in slots:
        values = kind.kind if isinstance(kind, CollectionItems) else kind
        name = "key"
        if isinstance(values, (DomainType, EnumType, StructType)):
            name = snake_case(values.declared.__name__)
        name = f"one_{name}" if keyword.iskeyword(name) else name
        names.append("other" if name in names else name)
    return tuple(names)


def _quantify(slots: tuple[Slot, ...], names: tuple[str, ...], premises: list[str], conclusion: str) -> list[str]:
    """Return the parts of a comprehension; two variables of one type have different values."""
    if len(slots) == 2 and slots[0] == slots[1]:
        premises = [f"{names[0]} != {names[1]}", *premises]
    clauses = [f"for {name} in {_universe(kind)}" for kind, name in zip(slots, names, strict=True)]
    return [conclusion, *clauses, *([f"if {' and '.join(premises)}"] if premises else [])]


def _universe(kind: Slot) -> str:
    if isinstance(kind, CollectionItems):
        return kind.collection
    if isinstance(kind, IntType):
        assert kind.low is not None and kind.high is not None
        return f"range({kind.low}, {kind.high + 1})"
    return str(kind)
