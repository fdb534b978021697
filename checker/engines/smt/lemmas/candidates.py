"""Candidate lemmas: quantified disjunctions of up to three literals that are true in all sampled states.

A disjunction of two literals is an implication, one of three an implication with two premises. Redundant candidates
are omitted: a disjunction with a shorter one inside that is always true, and literals equivalent to an earlier one.
"""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.engines.smt.lemmas.samples import Bits, Samples, choices
from checker.engines.smt.lemmas.vocabulary import Atom
from checker.language.spec import snake_case
from checker.language.types import DomainType, EnumType, IntType, Type
from checker.records import dataclass

MAX_ATOMS = 110
"""Limit of the atoms that are combined under one quantifier, simplest first."""

MAX_ROWS = 6_000
"""Limit of the distinct rows of truth values for disjunctions of three; Z3 drops the ones that are not invariant."""

MAX_CANDIDATES = 4_000


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

    slots: tuple[Type, ...]
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
            return _quantified(
                self.slots, names, [], f"({one.text_with(names)}) == ({other.text_with(names, negated=True)})"
            )
        if not self.slots:
            return [" or ".join(literal.text_with(names) for literal in simplest)]
        simplest.reverse()
        *premises, conclusion = sorted(simplest, key=lambda found: found.is_plain)
        text = conclusion.text_with(names)
        return _quantified(self.slots, names, [found.text_with(names, negated=True) for found in premises], text)

    def source(self, converse: LemmaClause | None = None) -> str:
        """Return the clause as a Python expression in one line."""
        parts = self.parts(converse)
        return f"all({' '.join(parts)})" if self.slots else parts[0]


def is_converse(one: LemmaClause, other: LemmaClause) -> bool:
    """Return whether two clauses are the two directions of an equivalence of atoms."""
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
    """Return the variable types of each quantifier that some atom needs: none, one, or two variables."""
    found = dict.fromkeys([(), *(atom.slots for atom in atoms)])
    singles = [slots[0] for slots in found if len(slots) == 1]
    found.update(dict.fromkeys((kind, kind) for kind in singles if kind.cardinality() > 1))
    return [slots for slots in found if choices(slots)]


def candidates(samples: Samples, size: int) -> list[LemmaClause]:
    """Return the disjunctions of up to `size` literals that are true in all sampled states, simplest first."""
    atoms = list(dict.fromkeys(atom for atom, _ in samples.ground))
    found: list[LemmaClause] = []
    for slots in quantifiers(atoms):
        found += _Quantified(samples, slots, atoms).clauses(size)
    found = list(dict.fromkeys(found))
    found.sort(key=lambda clause: (len(clause.literals), *clause.order))
    kept = [clause for clause in found if len(clause.literals) < 3]
    longer = [clause for clause in found if len(clause.literals) == 3]
    return kept[:MAX_CANDIDATES] + longer[: max(0, MAX_CANDIDATES - len(kept))]


class _Quantified:
    """The candidates under one quantifier.

    - `literals`: the literals, each followed by its opposite: literal `n ^ 1` is the negation of literal `n`.
    - `is_false`: the distinct rows of truth values; shape (rows, literals). A row is a state with a choice of values
      for the quantifier's variables. A disjunction is a candidate if no row has all of its literals false.
    - `always`: literals that are true in every row; `equivalents`: pairs of literals that are equal in every row.
    """

    def __init__(self, samples: Samples, slots: tuple[Type, ...], atoms: list[Atom]):
        self.samples, self.slots = samples, slots
        self.values = choices(slots)
        instances = [(atom, order) for atom in atoms for order in _orders(atom, slots)][:MAX_ATOMS]
        columns = [self._column(atom, order) for atom, order in instances]
        self.always: list[AtomLiteral] = []
        self.literals: list[AtomLiteral] = []
        self.equivalents: list[tuple[AtomLiteral, AtomLiteral]] = []
        kept: dict[bytes, AtomLiteral] = {}
        matrix: list[Bits] = []
        for (atom, order), column in zip(instances, columns, strict=True):
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
        step = max(1, -(-len(self.is_false) // MAX_ROWS))
        rows = self.is_false[::step]
        for one in range(len(self.literals)):
            within = _together(rows[rows[:, one]])
            free = together[one]
            # A triple is new only if each of its pairs is false in some row: otherwise a shorter clause implies it.
            fresh = np.triu(~within & together, 1) & free[:, None] & free[None, :]
            fresh[: one + 1] = False
            for other, third in np.argwhere(fresh):
                yield self._clause(self.literals[one], self.literals[other], self.literals[third])

    def _clause(self, *literals: AtomLiteral) -> LemmaClause:
        """Return a clause quantified over only the variables that its literals use."""
        used = sorted({index for literal in literals for index in literal.order})
        if len(used) == len(self.slots):
            return LemmaClause(self.slots, frozenset(literals))
        place = {index: number for number, index in enumerate(used)}
        moved = (
            AtomLiteral(found.atom, tuple(place[index] for index in found.order), found.is_true) for found in literals
        )
        return LemmaClause(tuple(self.slots[index] for index in used), frozenset(moved))


def _together(is_false: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which pairs of literals are both false in some row; shape (columns, columns)."""
    # Floats, because numpy multiplies integer matrices without BLAS. All terms are 0 or 1, so rounding cannot make a
    # positive sum zero.
    numbers = is_false.astype(np.float32)
    return np.asarray((numbers.T @ numbers) > 0)


def _orders(atom: Atom, slots: tuple[Type, ...]) -> Iterator[tuple[int, ...]]:
    """Iterate over the assignments of a quantifier's variables to an atom's slots, as indices."""
    for order in itertools.permutations(range(len(slots)), len(atom.slots)):
        if tuple(slots[index] for index in order) == atom.slots:
            yield order
