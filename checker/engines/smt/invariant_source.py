"""Formulas over the bits of a state told again in Python: `bit 3 or not bit 4` as `self.at[Process[0]] != At.IDLE`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import z3

from checker.engines.smt.lowering.integers import bounds_of, width_of
from checker.engines.smt.lowering.logic import Term
from checker.engines.smt.lowering.symbolic_values import is_bit_set
from checker.engines.smt.pdr import PdrResult
from checker.engines.smt.transition_system import TransitionSystem
from checker.language.types import (
    BagType,
    BoolType,
    DomainType,
    EnumType,
    IntType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
)

MOST_VALUES = 256
"""Of a number with more values no list of those that are meant is made."""


MEMBERSHIP = "<in>"
"""Stands for `in` or `not in` in the text of a place that is a value's membership of a set."""


class UnsupportedInvariantError(Exception):
    """A formula that has no counterpart in Python: it is about a place that no expression reads, or a large number."""


@dataclass(frozen=True)
class StatePlace:
    """What a constant of the system is in Python.

    - `values`: for each pattern of its bits that stands for a value, the value's text.
    - `absent`: where the place is inside an option or past the end of a sequence: the condition for it not to be
      there, its negation, and the pattern that is there then.
    """

    text: str
    values: dict[int, str]
    absent: tuple[tuple[str, str], ...] = ()
    blank: int = 0
    is_readable: bool = True

    def among(self, patterns: frozenset[int]) -> str:
        """Return the condition that the place has one of some patterns."""
        if not self.is_readable or len(self.values) > MOST_VALUES:
            raise UnsupportedInvariantError(self.text)
        inner = self._among([pattern for pattern in self.values if pattern in patterns])
        if not self.absent:
            return inner
        if self.blank in patterns:
            texts = [one for one, _ in self.absent] + ([inner] if inner != "False" else [])
            return "True" if inner == "True" else f"({' or '.join(texts)})"
        texts = [other for _, other in self.absent] + ([inner] if inner != "True" else [])
        return "False" if inner == "False" else f"({' and '.join(texts)})"

    def _among(self, meant: list[int]) -> str:
        others = [pattern for pattern in self.values if pattern not in meant]
        if not meant or not others:
            return "False" if not meant else "True"
        if set(self.values.values()) == {"", "not "}:
            return f"{self.values[meant[0]]}{self.text}"
        if MEMBERSHIP in self.text:
            return self.text.replace(MEMBERSHIP, self.values[meant[0]])
        if set(self.values.values()) == {"is None", "is not None"}:
            return f"{self.text} {self.values[meant[0]]}"
        if len(meant) == 1:
            return f"{self.text} == {self.values[meant[0]]}"
        if len(others) == 1:
            return f"{self.text} != {self.values[others[0]]}"
        return f"{self.text} in ({', '.join(self.values[pattern] for pattern in meant)})"


def places_of(system: TransitionSystem) -> list[StatePlace]:
    """Return what each constant of a system's state is in Python."""
    found = [
        place
        for name, kind in system.program.variables.items()
        for place in _places(kind, StatePlace(f"self.{name}", {}))
        if len(place.values) != 1
    ]
    assert len(found) == len(system.constants)
    return found


def _places(kind: Type, here: StatePlace) -> Iterator[StatePlace]:
    """Iterate over the parts of a value in the order in which it is made of constants."""
    text, absent, readable = here.text, here.absent, here.is_readable
    if isinstance(kind, BoolType):
        yield StatePlace(text, {0: "not ", 1: ""}, absent, 0, readable)
    elif isinstance(kind, IntType):
        low, high = bounds_of(kind)
        width = width_of(low, high)
        assert isinstance(low, int) and isinstance(high, int)
        count = high - low + 1
        values = range(low, high + 1) if count <= MOST_VALUES else range(low, low + MOST_VALUES + 1)
        yield StatePlace(text, {value % 2**width: str(value) for value in values}, absent, low % 2**width, readable)
    elif isinstance(kind, (EnumType, DomainType)):
        yield StatePlace(text, dict(enumerate(_names(kind))), absent, 0, readable)
    elif isinstance(kind, OptionType):
        yield StatePlace(text, {0: "is None", 1: "is not None"}, absent, 0, readable)
        inside = (*absent, (f"{text} is None", f"{text} is not None"))
        yield from _places(kind.item, StatePlace(text, {}, inside, 0, readable))
    elif isinstance(kind, StructType):
        for name, field in kind.fields:
            yield from _places(field, StatePlace(f"{text}.{name}", {}, absent, 0, readable))
    elif isinstance(kind, MapType):
        for name in _names(kind.key):
            yield from _places(kind.value, StatePlace(f"{text}[{name}]", {}, absent, 0, readable))
    elif is_bit_set(kind):
        assert isinstance(kind, SetType)
        for name in _names(kind.item):
            yield StatePlace(f"{name} {MEMBERSHIP} {text}", {0: "not in", 1: "in"}, absent, 0, readable)
    else:
        assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
        yield StatePlace(f"len({text})", {size: str(size) for size in range(kind.capacity + 1)}, absent, 0, readable)
        for position in range(kind.capacity):
            there = (f"len({text}) <= {position}", f"len({text}) > {position}")
            item = StatePlace(f"{text}[{position}]", {}, (*absent, there), 0, readable and isinstance(kind, SeqType))
            yield from _places(kind.item, item)


def _names(kind: Type) -> list[str]:
    return [_written(kind, value) for value in kind.values()]


def _written(kind: Type, value: Any) -> str:
    """Return a value as a Python expression."""
    if isinstance(kind, DomainType):
        return f"{kind.declared.__name__}[{value.index}]"
    if isinstance(kind, EnumType):
        return f"{kind.declared.__name__}.{value.name}"
    if isinstance(kind, OptionType):
        return "None" if value is None else _written(kind.item, value)
    if isinstance(kind, StructType):
        fields = (f"{name}={_written(field, value.field(name))}" for name, field in kind.fields)
        return f"{kind.declared.__name__}({', '.join(fields)})"
    if isinstance(kind, SetType):
        return f"{{{', '.join(_written(kind.item, item) for item in value)}}}" if len(value) else "set()"
    return repr(value)


def retold(system: TransitionSystem, outcome: PdrResult) -> list[str]:
    """Return the conjuncts of an invariant as Python expressions; raise UntoldError where one has no counterpart."""
    teller = _InvariantWriter(system, outcome)
    invariant = outcome.invariant
    conjuncts = invariant.children() if z3.is_and(invariant) else [invariant]
    return [text for text in teller.joined(conjuncts, is_and=True) if text != "True"]


class _InvariantWriter:
    def __init__(self, system: TransitionSystem, outcome: PdrResult):
        self.places, self.bits = places_of(system), outcome.bits
        self.variables = outcome.variables
        self.numbers = {variable.decl().name(): number for number, variable in enumerate(outcome.variables)}

    def text(self, term: Term) -> str:
        """Return a formula as a Python expression."""
        if z3.is_true(term) or z3.is_false(term):
            return "True" if z3.is_true(term) else "False"
        constants = self._constants(term)
        if len(constants) == 1:
            (constant,) = constants
            return self.places[constant].among(self._patterns(term, constant))
        if z3.is_not(term):
            return f"not ({self.text(term.arg(0))})"
        if z3.is_and(term) or z3.is_or(term):
            word = " and " if z3.is_and(term) else " or "
            return f"({word.join(self.joined(term.children(), is_and=z3.is_and(term)))})"
        if z3.is_eq(term):
            return f"(({self.text(term.arg(0))}) == ({self.text(term.arg(1))}))"
        if term.decl().kind() == z3.Z3_OP_ITE:
            test, then, otherwise = (self.text(child) for child in term.children())
            return f"(({then}) if {test} else ({otherwise}))"
        raise UnsupportedInvariantError(str(term))

    def joined(self, terms: list[Term], *, is_and: bool) -> list[str]:
        """Return what is to be joined: what is about one place alone is one condition on its values."""
        alone: dict[int, list[Term]] = {}
        rest: list[Term] = []
        for term in terms:
            constants = self._constants(term)
            if len(constants) == 1:
                alone.setdefault(next(iter(constants)), []).append(term)
            else:
                rest.append(term)
        together = z3.And if is_and else z3.Or
        return [self.text(together(*found)) for found in alone.values()] + [self.text(term) for term in rest]

    def _constants(self, term: Term) -> set[int]:
        """Return the constants whose bits a formula is about."""
        found, waiting = set(), [term]
        while waiting:
            part = waiting.pop()
            waiting += part.children()
            if z3.is_const(part) and part.decl().name() in self.numbers:
                found.add(self.bits[self.numbers[part.decl().name()]].constant)
        return found

    def _patterns(self, term: Term, constant: int) -> frozenset[int]:
        """Return the patterns of a constant's bits for which a formula is true."""
        place = self.places[constant]
        if len(place.values) > MOST_VALUES:
            raise UnsupportedInvariantError(place.text)
        mine = [(self.variables[number], bit.place) for number, bit in enumerate(self.bits) if bit.constant == constant]
        return frozenset(
            pattern
            for pattern in {*place.values, place.blank}
            if z3.is_true(
                z3.simplify(z3.substitute(term, *[(bit, z3.BoolVal(bool(pattern >> at & 1))) for bit, at in mine]))
            )
        )
