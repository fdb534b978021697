"""Translation of invariants over the bits of a state to Python.

Example: `bit 3 or not bit 4` becomes `self.at[Process[0]] != At.IDLE`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import z3

from checker.engines.smt.lowering.integers import width_of
from checker.engines.smt.lowering.logic import Term
from checker.engines.smt.lowering.open_bounds import bounds_of
from checker.engines.smt.lowering.symbolic_values import is_bit_set
from checker.engines.smt.pdr import PdrResult
from checker.engines.smt.transition_system import TransitionSystem
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

MAX_VALUES = 256
"""A number with more values is not translated: the condition would list them."""

LINE_WIDTH = 112
"""The longest line of a printed lemma."""

MEMBERSHIP = "<in>"
"""Placeholder for `in` or `not in` in the text of a constant that is a value's membership in a set."""


class UnsupportedInvariantError(Exception):
    """An invariant without a Python counterpart: no expression reads a constant in it, or a number is too large."""


@dataclass(frozen=True)
class ConstantExpression:
    """The Python expression that reads a Z3 constant of the state.

    - `values`: the text of each value, by the bit pattern that encodes it.
    - `absent`: for a constant inside an option or a sequence, the conditions under which it has no value, each with its
      negation. Its bits then have the pattern `blank`.
    - `is_readable`: whether a Python expression reads it (not so for the items of sets and bags, which have no index).
    """

    text: str
    values: dict[int, str]
    absent: tuple[tuple[str, str], ...] = ()
    blank: int = 0
    is_readable: bool = True

    def among(self, patterns: frozenset[int]) -> str:
        """Return the condition that the constant has one of some bit patterns."""
        if not self.is_readable or len(self.values) > MAX_VALUES:
            raise UnsupportedInvariantError(self.text)
        inner = self._among([pattern for pattern in self.values if pattern in patterns])
        if not self.absent:
            return inner
        if self.blank in patterns:
            texts = [one for one, _ in self.absent] + ([inner] if inner != "False" else [])
            return "True" if inner == "True" else f"({' or '.join(texts)})"
        texts = [other for _, other in self.absent] + ([inner] if inner != "True" else [])
        return "False" if inner == "False" else f"({' and '.join(texts)})"

    def _among(self, accepted: list[int]) -> str:
        others = [pattern for pattern in self.values if pattern not in accepted]
        if not accepted or not others:
            return "False" if not accepted else "True"
        if set(self.values.values()) == {"", "not "}:
            return f"{self.values[accepted[0]]}{self.text}"
        if MEMBERSHIP in self.text:
            return self.text.replace(MEMBERSHIP, self.values[accepted[0]])
        if set(self.values.values()) == {"is None", "is not None"}:
            return f"{self.text} {self.values[accepted[0]]}"
        if len(accepted) == 1:
            return f"{self.text} == {self.values[accepted[0]]}"
        if len(others) == 1:
            return f"{self.text} != {self.values[others[0]]}"
        return f"{self.text} in ({', '.join(self.values[pattern] for pattern in accepted)})"


def constant_expressions(system: TransitionSystem) -> list[ConstantExpression]:
    """Return the Python expression of each Z3 constant of a system's state, in the constants' order."""
    expressions = [
        expression
        for name, kind in system.program.variables.items()
        for expression in _expressions(kind, ConstantExpression(f"self.{name}", {}))
        if len(expression.values) != 1
    ]
    assert len(expressions) == len(system.constants)
    return expressions


def _expressions(kind: Type, here: ConstantExpression) -> Iterator[ConstantExpression]:
    """Iterate over the constants of a value, in the order of `encoding.new_value`."""
    text, absent, readable = here.text, here.absent, here.is_readable
    if isinstance(kind, BoolType):
        yield ConstantExpression(text, {0: "not ", 1: ""}, absent, 0, readable)
    elif isinstance(kind, IntType):
        low, high = bounds_of(kind)
        width = width_of(low, high)
        assert isinstance(low, int) and isinstance(high, int)
        count = high - low + 1
        values = range(low, high + 1) if count <= MAX_VALUES else range(low, low + MAX_VALUES + 1)
        yield ConstantExpression(
            text, {value % 2**width: str(value) for value in values}, absent, low % 2**width, readable
        )
    elif isinstance(kind, (EnumType, DomainType)):
        yield ConstantExpression(text, dict(enumerate(_names(kind))), absent, 0, readable)
    elif isinstance(kind, OptionType):
        yield ConstantExpression(text, {0: "is None", 1: "is not None"}, absent, 0, readable)
        inside = (*absent, (f"{text} is None", f"{text} is not None"))
        yield from _expressions(kind.item, ConstantExpression(text, {}, inside, 0, readable))
    elif isinstance(kind, StructType):
        for name, field in kind.fields:
            part = f"{text}[{name}]" if isinstance(kind, TupleType) else f"{text}.{name}"
            yield from _expressions(field, ConstantExpression(part, {}, absent, 0, readable))
    elif isinstance(kind, UnionType):
        # The alternative cannot be part of an expression before a test of it, so these constants are not readable.
        tags = {position: str(alternative) for position, alternative in enumerate(kind.alternatives)}
        yield ConstantExpression(text, tags, absent, 0, False)
        for alternative in kind.alternatives:
            yield from _expressions(alternative, ConstantExpression(text, {}, absent, 0, False))
    elif isinstance(kind, MapType):
        for name in _names(kind.key):
            entry = f"{text}.get({name})" if isinstance(kind, PartialMapType) else f"{text}[{name}]"
            yield from _expressions(kind.value, ConstantExpression(entry, {}, absent, 0, readable))
    elif is_bit_set(kind):
        assert isinstance(kind, SetType)
        for name in _names(kind.item):
            yield ConstantExpression(f"{name} {MEMBERSHIP} {text}", {0: "not in", 1: "in"}, absent, 0, readable)
    else:
        assert isinstance(kind, (SetType, SeqType, BagType)) and kind.capacity is not None
        yield ConstantExpression(
            f"len({text})", {size: str(size) for size in range(kind.capacity + 1)}, absent, 0, readable
        )
        for position in range(kind.capacity):
            there = (f"len({text}) <= {position}", f"len({text}) > {position}")
            item = ConstantExpression(
                f"{text}[{position}]", {}, (*absent, there), 0, readable and isinstance(kind, SeqType)
            )
            yield from _expressions(kind.item, item)


def _names(kind: Type) -> list[str]:
    return [_python_text(kind, value) for value in kind.values()]


def _python_text(kind: Type, value: Any) -> str:
    """Return a value as a Python expression."""
    if isinstance(kind, DomainType):
        return f"{kind.declared.__name__}[{value.index}]"
    if isinstance(kind, EnumType):
        return f"{kind.declared.__name__}.{value.name}"
    if isinstance(kind, OptionType):
        return "None" if value is None else _python_text(kind.item, value)
    if isinstance(kind, TupleType):
        return repr(value) if not kind.items else f"({', '.join(map(_python_text, kind.items, value))},)"
    if isinstance(kind, StructType):
        fields = (f"{name}={_python_text(field, value.field(name))}" for name, field in kind.fields)
        return f"{kind.declared.__name__}({', '.join(fields)})"
    if isinstance(kind, SetType):
        return f"{{{', '.join(_python_text(kind.item, item) for item in value)}}}" if len(value) else "set()"
    return repr(value)


def python_conjuncts(system: TransitionSystem, outcome: PdrResult) -> list[str]:
    """Return the conjuncts of an invariant as Python expressions.

    Raises UnsupportedInvariantError if one of them has no Python counterpart.
    """
    writer = _InvariantWriter(system, outcome)
    invariant = outcome.invariant
    conjuncts = invariant.children() if z3.is_and(invariant) else [invariant]
    return [text for text in writer.operands(conjuncts, is_and=True) if text != "True"]


class _InvariantWriter:
    def __init__(self, system: TransitionSystem, outcome: PdrResult):
        self.expressions, self.bits = constant_expressions(system), outcome.bits
        self.variables = outcome.variables
        self.numbers = {variable.decl().name(): number for number, variable in enumerate(outcome.variables)}

    def text(self, term: Term) -> str:
        """Return a formula as a Python expression."""
        if z3.is_true(term) or z3.is_false(term):
            return "True" if z3.is_true(term) else "False"
        constants = self._constants(term)
        if len(constants) == 1:
            (constant,) = constants
            return self.expressions[constant].among(self._patterns(term, constant))
        if z3.is_not(term):
            return f"not ({self.text(term.arg(0))})"
        if z3.is_and(term) or z3.is_or(term):
            word = " and " if z3.is_and(term) else " or "
            return f"({word.join(self.operands(term.children(), is_and=z3.is_and(term)))})"
        if z3.is_eq(term):
            return f"(({self.text(term.arg(0))}) == ({self.text(term.arg(1))}))"
        if term.decl().kind() == z3.Z3_OP_ITE:
            test, then, otherwise = (self.text(child) for child in term.children())
            return f"(({then}) if {test} else ({otherwise}))"
        raise UnsupportedInvariantError(str(term))

    def operands(self, terms: list[Term], *, is_and: bool) -> list[str]:
        """Return the texts of operands; all operands about the same single constant become one condition on it."""
        alone: dict[int, list[Term]] = {}
        rest: list[Term] = []
        for term in terms:
            constants = self._constants(term)
            if len(constants) == 1:
                alone.setdefault(next(iter(constants)), []).append(term)
            else:
                rest.append(term)
        together = z3.And if is_and else z3.Or
        return [self.text(together(*group)) for group in alone.values()] + [self.text(term) for term in rest]

    def _constants(self, term: Term) -> set[int]:
        """Return the indices of the constants with bits that occur in a formula."""
        constants, waiting = set(), [term]
        while waiting:
            part = waiting.pop()
            waiting += part.children()
            if z3.is_const(part) and part.decl().name() in self.numbers:
                constants.add(self.bits[self.numbers[part.decl().name()]].constant)
        return constants

    def _patterns(self, term: Term, constant: int) -> frozenset[int]:
        """Return the bit patterns of a constant for which a formula about it alone is true."""
        expression = self.expressions[constant]
        if len(expression.values) > MAX_VALUES:
            raise UnsupportedInvariantError(expression.text)
        mine = [(self.variables[number], bit.place) for number, bit in enumerate(self.bits) if bit.constant == constant]
        return frozenset(
            pattern
            for pattern in {*expression.values, expression.blank}
            if z3.is_true(
                z3.simplify(z3.substitute(term, *[(bit, z3.BoolVal(bool(pattern >> at & 1))) for bit, at in mine]))
            )
        )


def unused_lemma_name(spec: Spec) -> str:
    """Return a name for a lemma that no member of the spec has."""
    taken = {*spec.roles, *dir(type(spec))}
    numbered = (f"reachable_states_{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain(["reachable_states"], numbered) if name not in taken)


def lemma_source(name: str, conjuncts: list[str]) -> str:
    """Return the conjunction of Python expressions as the text of a lemma."""
    conjunction = " and ".join(conjuncts)
    if len(conjunction) > LINE_WIDTH - len("        return "):
        conjunction = "(\n        " + "\n        and ".join(conjuncts) + "\n    )"
    return f"@lemma\ndef {name}(self):\n    return {conjunction}"
