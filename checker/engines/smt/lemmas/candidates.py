"""Candidate invariants: disjunctions of up to three atoms, under a quantifier, that are true in all sampled states.

Two atoms make an implication, three an implication with two premises. What is always true by itself, or by a part of
itself, is not said again in a longer disjunction, and of atoms that are true in the same states one stands for all.
"""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.engines.smt.lemmas.samples import Bits, Samples, choices
from checker.engines.smt.lemmas.vocabulary import Atom
from checker.language.spec import snake_case
from checker.language.types import DomainType, EnumType, IntType, Type

MOST_ATOMS = 110
"""So many atoms, the plainest, are combined under one quantifier."""

MOST_ROWS = 6_000
"""Disjunctions of three are looked for in so many different rows of truth values; Z3 drops what is not always true."""

MOST_CANDIDATES = 4_000


@dataclass(frozen=True)
class AtomLiteral:
    """An atom or its negation; `order` says which of a quantifier's variables are in its slots."""

    atom: Atom
    order: tuple[int, ...]
    is_true: bool

    def put(self, names: tuple[str, ...], *, negated: bool = False) -> str:
        """Return its text, or that of its negation, with names or values for the quantifier's variables."""
        return self.atom.put(tuple(names[index] for index in self.order), is_true=self.is_true is not negated)

    @property
    def opposite(self) -> AtomLiteral:
        """The negation."""
        return AtomLiteral(self.atom, self.order, not self.is_true)

    @property
    def is_plain(self) -> bool:
        """Whether it reads as a statement of fact: not `!=`, not `not`."""
        return not any(word in self.put(("a", "b")) for word in ("not ", "!="))


@dataclass(frozen=True)
class LemmaClause:
    """A disjunction of literals for all values of a quantifier's variables."""

    slots: tuple[Type, ...]
    literals: frozenset[AtomLiteral]

    @property
    def rank(self) -> int:
        """How involved it is."""
        return sum(1 + literal.atom.rank for literal in self.literals) + len(self.slots)

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts clauses, the plainest first."""
        return (self.rank, self.source())

    def parts(self, twin: LemmaClause | None = None) -> list[str]:
        """Return the clause as the parts of a Python expression: what is said, `for` ..., `for` ..., `if` ....

        A clause without variables is one part. With its twin, the other direction of it, it is an equality.
        """
        names = names_for(self.slots)
        plainest = sorted(self.literals, key=lambda found: (found.atom.rank, found.put(names)))
        if twin is not None:
            one, other = plainest
            return _quantified(self.slots, names, [], f"({one.put(names)}) == ({other.put(names, negated=True)})")
        if not self.slots:
            return [" or ".join(literal.put(names) for literal in plainest)]
        plainest.reverse()
        *premises, conclusion = sorted(plainest, key=lambda found: found.is_plain)
        said = conclusion.put(names)
        return _quantified(self.slots, names, [found.put(names, negated=True) for found in premises], said)

    def source(self, twin: LemmaClause | None = None) -> str:
        """Return the clause as a Python expression in one line."""
        parts = self.parts(twin)
        return f"all({' '.join(parts)})" if self.slots else parts[0]


def is_twin(one: LemmaClause, other: LemmaClause) -> bool:
    """Say whether two clauses together say that two atoms are equivalent."""
    return len(one.literals) == 2 and {found.opposite for found in one.literals} == other.literals


def names_for(slots: tuple[Type, ...]) -> tuple[str, ...]:
    """Return the names of a quantifier's variables."""
    names = []
    for kind in slots:
        name = snake_case(kind.declared.__name__) if isinstance(kind, (DomainType, EnumType)) else "key"
        name = f"one_{name}" if keyword.iskeyword(name) else name
        names.append("other" if name in names else name)
    return tuple(names)


def _quantified(slots: tuple[Type, ...], names: tuple[str, ...], premises: list[str], conclusion: str) -> list[str]:
    """Return the parts of a comprehension; two variables of one type have different values."""
    if len(slots) == 2 and slots[0] == slots[1]:
        premises = [f"{names[0]} != {names[1]}", *premises]
    clauses = [f"for {name} in {_universe(kind)}" for kind, name in zip(slots, names, strict=True)]
    return [conclusion, *clauses, *([f"if {' and '.join(premises)}"] if premises else [])]


def _universe(kind: Type) -> str:
    if isinstance(kind, IntType):
        assert kind.low is not None and kind.high is not None
        return f"range({kind.low}, {kind.high + 1})"
    return str(kind)


def quantifiers(atoms: list[Atom]) -> list[tuple[Type, ...]]:
    """Return the types of the variables of each quantifier that some atom needs: none, one, or two."""
    found = dict.fromkeys([(), *(atom.slots for atom in atoms)])
    singles = [slots[0] for slots in found if len(slots) == 1]
    found.update(dict.fromkeys((kind, kind) for kind in singles if kind.cardinality() > 1))
    return [slots for slots in found if choices(slots)]


def candidates(samples: Samples, size: int) -> list[LemmaClause]:
    """Return the disjunctions of up to `size` literals that are true in all sampled states, the plainest first."""
    atoms = list(dict.fromkeys(atom for atom, _ in samples.placed))
    found: list[LemmaClause] = []
    for slots in quantifiers(atoms):
        found += _Quantified(samples, slots, atoms).clauses(size)
    found = list(dict.fromkeys(found))
    found.sort(key=lambda clause: (len(clause.literals), *clause.order))
    kept = [clause for clause in found if len(clause.literals) < 3]
    longer = [clause for clause in found if len(clause.literals) == 3]
    return kept[:MOST_CANDIDATES] + longer[: max(0, MOST_CANDIDATES - len(kept))]


class _Quantified:
    """The candidates under one quantifier, from a matrix of truth values: rows are states, each with values for the
    quantifier's variables, columns the literals."""

    def __init__(self, samples: Samples, slots: tuple[Type, ...], atoms: list[Atom]):
        self.samples, self.slots = samples, slots
        self.values = choices(slots)
        placed = [(atom, order) for atom in atoms for order in _orders(atom, slots)][:MOST_ATOMS]
        columns = [self._column(atom, order) for atom, order in placed]
        self.always: list[AtomLiteral] = []
        self.literals: list[AtomLiteral] = []
        self.equivalents: list[tuple[AtomLiteral, AtomLiteral]] = []
        kept: dict[bytes, AtomLiteral] = {}
        matrix: list[Bits] = []
        for (atom, order), column in zip(placed, columns, strict=True):
            literal = AtomLiteral(atom, order, True)
            if column.all() or not column.any():
                self.always.append(literal if column.all() else literal.opposite)
                continue
            mine, theirs = column.tobytes(), (~column).tobytes()
            if mine in kept or theirs in kept:
                self.equivalents.append((literal, kept[mine] if mine in kept else kept[theirs].opposite))
                continue
            kept[mine] = literal
            self.literals += [literal, literal.opposite]
            matrix += [column, ~column]
        is_false = ~np.array(matrix, dtype=np.bool_).T if matrix else np.zeros((1, 0), np.bool_)
        self.is_false = np.unique(is_false, axis=0)

    def _column(self, atom: Atom, order: tuple[int, ...]) -> Bits:
        columns = [self.samples.column(atom, tuple(values[index] for index in order)) for values in self.values]
        return np.concatenate(columns)

    def clauses(self, size: int) -> Iterator[LemmaClause]:
        """Iterate over the clauses that are always true."""
        for literal in self.always:
            yield self._clause(literal)
        if size < 2:
            return
        for one, other in self.equivalents:
            yield self._clause(one, other.opposite)
            yield self._clause(one.opposite, other)
        together = _together(self.is_false)
        for one, other in np.argwhere(np.triu(~together, 1)):
            if one // 2 != other // 2:
                yield self._clause(self.literals[one], self.literals[other])
        if size > 2:
            yield from self._of_three(together)

    def _of_three(self, together: NDArray[np.bool_]) -> Iterator[LemmaClause]:
        step = max(1, -(-len(self.is_false) // MOST_ROWS))
        rows = self.is_false[::step]
        for one in range(len(self.literals)):
            within = _together(rows[rows[:, one]])
            free = together[one]
            fresh = np.triu(~within & together, 1) & free[:, None] & free[None, :]
            fresh[: one + 1] = False
            for other, third in np.argwhere(fresh):
                yield self._clause(self.literals[one], self.literals[other], self.literals[third])

    def _clause(self, *literals: AtomLiteral) -> LemmaClause:
        """Return a clause over the variables that it mentions: it says no more of the others."""
        used = sorted({index for literal in literals for index in literal.order})
        if len(used) == len(self.slots):
            return LemmaClause(self.slots, frozenset(literals))
        place = {index: number for number, index in enumerate(used)}
        moved = (
            AtomLiteral(found.atom, tuple(place[index] for index in found.order), found.is_true) for found in literals
        )
        return LemmaClause(tuple(self.slots[index] for index in used), frozenset(moved))


def _together(is_false: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which two columns are true in a row at the same time (columns, columns)."""
    numbers = is_false.astype(np.float32)
    return np.asarray((numbers.T @ numbers) > 0)


def _orders(atom: Atom, slots: tuple[Type, ...]) -> Iterator[tuple[int, ...]]:
    """Iterate over the ways to put a quantifier's variables into an atom's slots."""
    for order in itertools.permutations(range(len(slots)), len(atom.slots)):
        if tuple(slots[index] for index in order) == atom.slots:
            yield order
