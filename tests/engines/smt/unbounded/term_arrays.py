"""The terms of a spec with Domains of open size, evaluated in many states at once.

A state fills tables: the values of the Z3 constants and functions that stand for its variables. A term is evaluated
on arrays whose last axis is the state. A quantifier is expanded: its variable is one more axis, over all numbers up to
one beyond every value on both sides. Outside a sequence, a map or a set the tables hold arbitrary values of the type,
as the lowering permits: a term whose value depends on one of them disagrees with the interpreter in some state.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import z3

from checker.engines.smt.lowering.integers import SymbolicInteger, concrete
from checker.engines.smt.lowering.logic import CONTEXT, Term, is_quantifier, subterms
from checker.engines.smt.lowering.symbolic_values import UnboundedMap, UnboundedSequence, UnboundedSet, Value
from checker.engines.smt.unbounded.definitions import EXTREMUM
from checker.language.types import (
    BoolType,
    DomainType,
    IntType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
)
from tests.agreement.engines import random_value

Path = Callable[[Any], tuple[Any, bool]]
"""Maps a plain value to a part of it, and to whether the part exists; otherwise the part is an arbitrary value."""

ARITHMETIC: dict[int, Callable[[Any, Any], Any]] = {
    z3.Z3_OP_LE: numpy.less_equal,
    z3.Z3_OP_LT: numpy.less,
    z3.Z3_OP_GE: numpy.greater_equal,
    z3.Z3_OP_GT: numpy.greater,
    z3.Z3_OP_EQ: numpy.equal,
    z3.Z3_OP_SUB: numpy.subtract,
}
FOLDS = {z3.Z3_OP_AND: numpy.logical_and, z3.Z3_OP_OR: numpy.logical_or, z3.Z3_OP_ADD: numpy.add}
MARGIN = 3
"""Numbers of a table on both sides of those that a quantifier has: a term may read at `index + 1`."""


@dataclass(frozen=True)
class Part:
    """A number or truth value of a symbolic value, and its place in plain values of the type."""

    term: Term
    path: Path


def parts(kind: Type, symbol: Value, path: Path, window: range, chooser: random.Random) -> Iterator[Part]:
    """Iterate over the parts of a symbolic value; `kind` is the type with concrete constants."""

    def then(read: Callable[[Any], Any]) -> Path:
        return lambda value: (lambda base, exists: (read(base), exists))(*path(value))

    def at(index: int, inner: Type, items: Callable[[Any], Sequence[Any]]) -> Path:
        arbitrary = random_value(inner, chooser)

        def read(value: Any) -> tuple[Any, bool]:
            base, exists = path(value)
            present = items(base)
            return (present[index], exists) if 0 <= index < len(present) else (arbitrary, False)

        return read

    if isinstance(symbol, UnboundedMap):
        assert isinstance(kind, MapType)
        for index in window:
            inner = at(index, kind.value, lambda base: base.items_in_order())
            yield from parts(kind.value, symbol.at(concrete(index)), inner, window, chooser)
    elif isinstance(symbol, UnboundedSequence):
        assert isinstance(kind, SeqType)
        yield Part(symbol.length.term, then(len))
        for index in window:
            inner = at(index, kind.item, lambda base: base)
            yield from parts(kind.item, symbol.at(concrete(index)), inner, window, chooser)
    elif isinstance(symbol, UnboundedSet):
        assert isinstance(kind, SetType)
        members = list(kind.item.values())
        for index in window:
            has = at(index, BoolType(), lambda base: [member in base for member in members])
            yield Part(symbol.has(concrete(index)), has)
    elif isinstance(kind, StructType):
        for (name, field), part in zip(kind.fields, symbol.parts, strict=True):
            yield from parts(field, part, then(lambda base, name=name: base.field(name)), window, chooser)
    elif isinstance(kind, OptionType):
        yield Part(symbol.present, then(lambda base: base is not None))
        absent = kind.item.first()
        inner = then(lambda base: absent if base is None else base)
        yield from parts(kind.item, symbol.item, inner, window, chooser)
    elif isinstance(kind, DomainType):
        yield Part(symbol.term, then(lambda base: base.index))
    else:
        assert isinstance(kind, (IntType, BoolType)), kind
        yield Part(symbol.term if isinstance(symbol, SymbolicInteger) else symbol, path)


class Layout:
    """The parts of a symbolic value, and the numbers and truth values at their places in plain values."""

    def __init__(self, kind: Type, symbol: Value, window: range, chooser: random.Random):
        self.terms, self._paths = [], []
        for part in parts(kind, symbol, lambda value: (value, True), window, chooser):
            self.terms.append(part.term)
            self._paths.append(part.path)
        # Few values of a variable occur in many states.
        self._vectors: dict[Any, tuple[Any, Any]] = {}

    def numbers(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """Return the numbers of some plain values as an array (values, parts), and which of them exist."""
        for value in values:
            if value not in self._vectors:
                found = [path(value) for path in self._paths]
                self._vectors[value] = tuple(
                    numpy.asarray(column, dtype)
                    for column, dtype in zip(zip(*found, strict=True), (numpy.int16, bool), strict=True)
                )
        return tuple(numpy.stack([self._vectors[value][column] for value in values]) for column in (0, 1))


class Tables:
    """The values of Z3 constants and functions in some states, and of the terms over them."""

    def __init__(self, rows: int, quantified: range, definitions: Iterable[Term] = ()):
        self.rows, self.quantified = rows, quantified
        self.window = range(quantified.start - MARGIN, quantified.stop + MARGIN)
        self._definitions = list(definitions)
        self._tables: dict[str, Any] = {}
        self._values: dict[tuple[int, int], Any] = {}

    def set_constant(self, name: str, number: int) -> None:
        """Give a constant the same value in every state."""
        self._tables[name] = numpy.full(self.rows, number, dtype=numpy.int16)

    def fill(self, layout: Layout, values: Sequence[Any]) -> None:
        """Fill the tables of a variable's constants and functions with its value in each state."""
        for term, column in zip(layout.terms, layout.numbers(values)[0].T, strict=True):
            if not isinstance(term, z3.ExprRef):
                continue
            name, indices = term.decl().name(), [int(index.as_long()) for index in term.children()]
            if name not in self._tables:
                shape = (*[len(self.window)] * len(indices), self.rows)
                self._tables[name] = numpy.zeros(shape, dtype=bool if z3.is_bool(term) else numpy.int16)
            self._tables[name][tuple(index - self.window.start for index in indices)] = column

    def at(self, rows: Sequence[int]) -> Tables:
        """Return the tables of a selection of the states."""
        chosen = Tables(len(rows), self.quantified, self._definitions)
        chosen._tables = {name: table[..., rows] for name, table in self._tables.items()}
        return chosen

    def truth(self, term: Term) -> list[bool]:
        """Return a truth value in every state."""
        return [bool(value) for value in numpy.broadcast_to(self.value(term), (self.rows,))]

    def value(self, term: Term, depth: int = 0) -> Any:
        """Return a term's values: axes of the bound variables, innermost first, then the states."""
        if isinstance(term, (bool, int)):
            return numpy.asarray([term])
        key = (term.get_id(), depth)
        if key not in self._values:
            self._values[key] = self._quantified(term, depth) if is_quantifier(term) else self._operation(term, depth)
        return self._values[key]

    def _quantified(self, term: Term, depth: int) -> Any:
        quantifier = z3.QuantifierRef(term.as_ast(), CONTEXT)
        count = quantifier.num_vars()
        found = self.value(quantifier.body(), depth + count)
        reduce = numpy.all if quantifier.is_forall() else numpy.any
        for bound in reversed(range(depth, depth + count)):
            if found.ndim == bound + 2:
                found = reduce(found, axis=0)
        return found

    def _operation(self, term: Term, depth: int) -> Any:
        if z3.is_var(term):
            bound = depth - 1 - z3.get_var_index(term)
            numbers = numpy.asarray(self.quantified, dtype=numpy.int16)
            return numbers.reshape(-1, *[1] * (bound + 1))
        kind = term.decl().kind()
        if kind == z3.Z3_OP_ANUM:
            return numpy.asarray([term.as_long()], dtype=numpy.int16)
        if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
            return numpy.asarray([kind == z3.Z3_OP_TRUE])
        given = [self.value(child, depth) for child in term.children()]
        if kind == z3.Z3_OP_UNINTERPRETED:
            return self._read(term.decl().name(), given)
        if kind == z3.Z3_OP_NOT:
            return numpy.logical_not(given[0])
        if kind == z3.Z3_OP_ITE:
            return numpy.where(*given)
        if kind in FOLDS:
            found = given[0]
            for other in given[1:]:
                found = FOLDS[kind](found, other)
            return found
        return ARITHMETIC[kind](*given)

    def _read(self, name: str, indices: list[Any]) -> Any:
        if name.startswith(EXTREMUM) and name not in self._tables:
            self._solve(name)
        for index in indices:
            assert self.window.start <= index.min() and index.max() < self.window.stop, f"{name} is read far outside"
        return self._tables[name][(*[index - self.window.start for index in indices], numpy.arange(self.rows))]

    def _solve(self, name: str) -> None:
        """Fill the table of a minimum or maximum: its definitions permit one value in each state."""
        mine = [truth for truth in self._definitions if name in _names(truth)]
        answers = []
        for number in self.quantified:
            trial = self.at(range(self.rows))
            trial.set_constant(name, number)
            answers.append(numpy.all([trial.truth(truth) for truth in mine], axis=0))
        assert (numpy.sum(answers, axis=0) == 1).all(), f"{name} is not defined, or not uniquely"
        self._tables[name] = numpy.argmax(answers, axis=0).astype(numpy.int16) + self.quantified.start


def _names(truth: Term) -> set[str]:
    return {term.decl().name() for term in subterms(truth) if z3.is_app(term)}
