"""Separation: the simplest clauses that are false in one state and true in all sampled states.

A clause is false in a state if, for some values of its variables, all of its literals are false there. It is true in
all sampled states if, for each of them and all values, one of the literals is true. So the literals are a hitting set:
each row of truth values of the samples has to differ from the state in one of the chosen atoms.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.engines.smt.lemmas.clauses import AtomLiteral, LemmaClause
from checker.engines.smt.lemmas.samples import Samples, choices, memberships
from checker.engines.smt.lemmas.vocabulary import Atom, CollectionItems, Slot

MAX_LITERALS = 5
"""Limit of the literals of a clause."""

MAX_NODES = 4_000
"""Limit of the nodes of one search for a hitting set; after it the best one so far is taken."""

FIRST_ROWS = 48
"""Number of the rows that a search for a hitting set begins with: those that differ in the fewest atoms."""

MORE_ROWS = 8
"""Number of the rows that are added if a hitting set misses rows."""

LITERAL_COST = 4
"""Cost of a literal besides the rank of its atom: fewer literals make a stronger clause."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class SeparatingClause:
    """A clause with its cost: lower is simpler."""

    cost: int
    clause: LemmaClause

    @property
    def order(self) -> tuple[Any, ...]:
        """The sort key: simplest first."""
        return (self.cost, self.clause.order)


class Separator:
    """The rows of truth values of the sampled states, for each choice of quantified variables."""

    def __init__(self, samples: Samples):
        atoms = list(dict.fromkeys(atom for atom, _ in samples.ground))
        views = [_View(samples, slots, atoms) for slots in _quantifiers(atoms)]
        self._views = [view for view in views if view.instances]

    def add(self, truths: Mapping[str, bool]) -> None:
        """Add a state to the samples; `truths` has the truth of all ground atoms in it."""
        for view in self._views:
            view.add(truths)

    def clause(self, truths: Mapping[str, bool], excluded: Collection[LemmaClause]) -> LemmaClause | None:
        """Return the simplest clause that is false in a state and true in all samples; None if the search finds none.

        `truths` has the truth of the ground atoms in the state, without those that have no value there. `excluded`
        clauses are not returned.
        """
        cheapest = [view.cheapest(truths, excluded) for view in self._views]
        best = min((one for one in cheapest if one is not None), key=lambda one: one.order, default=None)
        return best.clause if best is not None else None


class _View:
    """The sampled states under one quantifier.

    - `rows`: the distinct rows of truth values, shape (rows, instances). A row is a state with a choice of values for
      the quantifier's variables; an instance is an atom with variables in its slots.
    """

    def __init__(self, samples: Samples, slots: tuple[Slot, ...], atoms: list[Atom]):
        self.samples, self.slots = samples, slots
        self.values = choices(slots)
        self.instances = [(atom, order) for atom in atoms for order in _orders(atom, slots)]
        self.costs = [LITERAL_COST + atom.rank for atom, _ in self.instances]
        self.names = [
            [samples.ground[atom, tuple(values[index] for index in order)].name for atom, order in self.instances]
            for values in self.values
        ]
        if not self.instances:
            return
        self.members = [
            [samples.ground[member].name for member in memberships(slots, values)] for values in self.values
        ]
        packed = [self._pack(names, members) for names, members in zip(self.names, self.members, strict=True)]
        distinct = np.unique(np.concatenate(packed), axis=0)
        self.rows: Bools = np.unpackbits(distinct, axis=1, count=len(self.instances)).astype(np.bool_)

    def _pack(self, names: list[str], members: list[str]) -> NDArray[np.uint8]:
        """Return the distinct rows of the states in which the values are items of their collections, as bits."""
        columns = np.array([self.samples.bits[name] for name in names], dtype=np.bool_)
        if members:
            chosen = np.all([self.samples.bits[member] for member in members], axis=0)
            columns = columns[:, chosen]
        return np.unique(np.packbits(columns.T, axis=1), axis=0)

    def add(self, truths: Mapping[str, bool]) -> None:
        """Add the rows of a state."""
        rows = [
            [truths[name] for name in names]
            for names, members in zip(self.names, self.members, strict=True)
            if all(truths[member] for member in members)
        ]
        added = np.array(rows, dtype=np.bool_).reshape(len(rows), len(self.instances))
        self.rows = np.concatenate([self.rows, added])

    def cheapest(self, truths: Mapping[str, bool], excluded: Collection[LemmaClause]) -> SeparatingClause | None:
        """Return the simplest clause that separates a state from the samples; None if the search finds none."""
        best: SeparatingClause | None = None
        for names, members in zip(self.names, self.members, strict=True):
            if not all(truths.get(member, False) for member in members):
                continue
            usable = [number for number, name in enumerate(names) if name in truths]
            here = np.array([truths[names[number]] for number in usable], dtype=np.bool_)
            differs: Bools = self.rows[:, usable] != here
            costs = [self.costs[number] for number in usable]
            limit = best.cost - len(self.slots) if best is not None else 1_000
            for chosen in _hitting_sets(differs, costs, limit):
                # The clause has the opposite of each literal that is true in the state.
                clause = self._clause([(usable[number], not here[number]) for number in chosen])
                if clause not in excluded:
                    best = SeparatingClause(sum(costs[number] for number in chosen) + len(self.slots), clause)
                    break
        return best

    def _clause(self, literals: list[tuple[int, bool]]) -> LemmaClause:
        """Return a clause quantified over the variables that its literals use, and over all items."""
        # A clause that is true if a collection has an item may be false without one.
        items = {index for index, slot in enumerate(self.slots) if isinstance(slot, CollectionItems)}
        used = sorted(items.union(*(self.instances[number][1] for number, _ in literals)))
        place = {index: number for number, index in enumerate(used)}
        return LemmaClause(
            tuple(self.slots[index] for index in used),
            frozenset(
                AtomLiteral(
                    self.instances[number][0],
                    tuple(place[index] for index in self.instances[number][1]),
                    bool(is_true),
                )
                for number, is_true in literals
            ),
        )


def _hitting_sets(differs: Bools, costs: list[int], limit: int) -> Iterator[tuple[int, ...]]:
    """Iterate over sets of columns of which one is true in each row, the cheapest first; each costs less than `limit`.

    The search looks at few rows. If the set that it finds misses other rows, it adds some of these and repeats.
    """
    counts = differs.sum(axis=1)
    if not counts.all():
        return
    rows = list(np.argsort(counts, kind="stable")[:FIRST_ROWS])
    seen = set(rows)
    refused: set[tuple[int, ...]] = set()
    while True:
        chosen = _Cover(differs[rows], costs, limit, refused).best
        if chosen is None:
            return
        missed = np.flatnonzero(~differs[:, list(chosen)].any(axis=1))
        if not len(missed):
            refused.add(chosen)
            yield chosen
            continue
        added = sorted((atom for atom in missed if atom not in seen), key=lambda atom: counts[atom])[:MORE_ROWS]
        rows += added
        seen.update(added)


class _Cover:
    """The cheapest set of columns of which one is true in each of a few rows: branch and bound."""

    def __init__(self, differs: Bools, costs: list[int], limit: int, refused: set[tuple[int, ...]]):
        self.best: tuple[int, ...] | None = None
        self._cost, self._nodes, self._refused = limit, 0, refused
        self._full = (1 << len(differs)) - 1
        self._costs = costs
        packed = np.packbits(differs.T, axis=1, bitorder="little")
        self._masks = [int.from_bytes(column.tobytes(), "little") for column in packed]
        self._columns = [sorted(np.flatnonzero(row).tolist(), key=lambda found: costs[found]) for row in differs]
        self._search((), 0, 0)

    def _search(self, chosen: tuple[int, ...], covered: int, cost: int) -> None:
        self._nodes += 1
        if covered == self._full:
            cover = tuple(sorted(chosen))
            if cover not in self._refused:
                self.best, self._cost = cover, cost
            return
        if len(chosen) == MAX_LITERALS or self._nodes > MAX_NODES:
            return
        left = self._full & ~covered
        row = (left & -left).bit_length() - 1
        for column in self._columns[row]:
            if cost + self._costs[column] >= self._cost:
                return
            self._search((*chosen, column), covered | self._masks[column], cost + self._costs[column])


def _quantifiers(atoms: list[Atom]) -> list[tuple[Slot, ...]]:
    """Return the variable types of each quantifier that some atom needs, and two variables of the type of one."""
    prefixes = dict.fromkeys([(), *(atom.slots for atom in atoms)])
    singles = [slots[0] for slots in prefixes if len(slots) == 1]
    prefixes.update(dict.fromkeys((kind, kind) for kind in singles))
    return [slots for slots in prefixes if choices(slots)]


def _orders(atom: Atom, slots: tuple[Slot, ...]) -> Iterator[tuple[int, ...]]:
    """Iterate over the assignments of a quantifier's variables to an atom's slots, as indices."""
    for order in itertools.permutations(range(len(slots)), len(atom.slots)):
        if tuple(slots[index] for index in order) == atom.slots:
            yield order
