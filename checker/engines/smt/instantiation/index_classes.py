"""Classes of the integers in formulas: offsets, epochs and members are all Ints, and are never compared with others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import z3

from checker.engines.smt.lowering.logic import Term

Node = tuple[int, int]
"""What has a class: an argument of a function, by its position, or the result of a function, at position -1."""

_RESULT = -1

_COMPARISONS = {z3.Z3_OP_EQ, z3.Z3_OP_DISTINCT, z3.Z3_OP_LE, z3.Z3_OP_LT, z3.Z3_OP_GE, z3.Z3_OP_GT}
_SUMS = {z3.Z3_OP_ADD, z3.Z3_OP_SUB, z3.Z3_OP_UMINUS, z3.Z3_OP_MUL}


@dataclass(frozen=True)
class IndexUses:
    """The pairs of Ints of a formula that are in one class, and its ground terms, each with its class."""

    joins: list[tuple[Node, Node]]
    terms: list[tuple[Node, Term]]


class UseReader:
    """Reads the uses of Ints in formulas. A term that was read before is not read again."""

    def __init__(self) -> None:
        self._seen: dict[int, Term | None] = {}
        self._kept: list[Term] = []

    def uses(self, formula: Term, variables: Collection[int] = ()) -> IndexUses:
        """Return the uses of Ints in a formula; terms that mention variables, given by their ids, are not ground."""
        index_uses = IndexUses([], [])
        self._read(formula, variables, index_uses)
        return index_uses

    def _read(self, term: Term, variables: Collection[int], uses: IndexUses) -> bool:
        """Add the uses in a term; return whether it is ground."""
        key = term.get_id()
        if key in variables:
            return False
        if key in self._seen:
            # A ground term that was read before: one with variables is remembered as None.
            return self._seen[key] is not None
        children = term.children()
        is_ground = False not in [self._read(child, variables, uses) for child in children]
        self._seen[key] = term if is_ground else None
        self._kept.append(term)  # An id is unique only while its term is alive.
        self._classify(term, children, uses)
        if is_ground and z3.is_int(term) and not z3.is_int_value(term) and not _is_choice(term):
            node = _node(term)
            if node is not None:
                uses.terms.append((node, term))
        return is_ground

    def _classify(self, term: Term, children: list[Term], uses: IndexUses) -> None:
        """Add the classes that a term joins; a number belongs to the class of what it is compared with."""
        kind = term.decl().kind()
        if kind == z3.Z3_OP_UNINTERPRETED:
            for position, child in enumerate(children):
                if z3.is_int(child):
                    _join((term.decl().get_id(), position), child, uses)
            return
        if kind in _COMPARISONS and z3.is_int(children[0]):
            related = children
        elif _is_choice(term) and z3.is_int(term):
            related = children[1:]
        elif kind in _SUMS:
            related = [child for child in children if not z3.is_int_value(child)]
        else:
            return
        first = next((node for node in map(_node, related) if node is not None), None)
        if first is not None:
            for child in related:
                _join(first, child, uses)


def _join(node: Node, term: Term, uses: IndexUses) -> None:
    """Add that a term is in the class of a node."""
    inner = _node(term)
    if inner is not None:
        uses.joins.append((node, inner))
    elif z3.is_int_value(term):
        uses.terms.append((node, term))


def _is_choice(term: Term) -> bool:
    """Return whether a term is an if-then-else, which equals another term in every model."""
    return bool(term.decl().kind() == z3.Z3_OP_ITE)


def _node(term: Term) -> Node | None:
    """Return a node of a term's class; None for a number."""
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if part.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            return (part.decl().get_id(), _RESULT)
        children = part.children()
        waiting.extend(children[1:] if _is_choice(part) else children)
    return None


class IndexClasses:
    """A partition of the Ints of some formulas, and the ground terms of each class.

    Two Ints are in one class if a formula compares them, adds them, or chooses between them. A quantified variable
    needs only terms of its class as instances.
    """

    def __init__(self) -> None:
        self._parents: dict[Node, Node] = {}
        self._terms: dict[tuple[Node, int], tuple[int, Term]] = {}

    def add(self, uses: IndexUses, depth: int) -> None:
        """Add the uses of Ints in a formula; its new terms have a depth."""
        for one, other in uses.joins:
            first, second = self._root(one), self._root(other)
            if first != second:
                self._parents[second] = first
        for node, term in uses.terms:
            known = self._terms.get((node, term.get_id()))
            if known is None or known[0] > depth:
                self._terms[node, term.get_id()] = depth, term

    def _root(self, node: Node) -> Node:
        while node in self._parents:
            node = self._parents[node]
        return node

    def class_of(self, term: Term) -> Node | None:
        """Return the class of a term, None if it is a number."""
        node = _node(term)
        return None if node is None else self._root(node)

    def ground_terms(self) -> Iterator[tuple[Node, int, Term]]:
        """Iterate over the ground terms, each with its class and its depth; the least depth first."""
        for (node, _), (depth, term) in sorted(self._terms.items(), key=lambda item: item[1][0]):
            yield self._root(node), depth, term
