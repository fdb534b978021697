"""Larger constants for a trace that reaches a limit of the model: of a type, or a constant in a guard.

A spec has limits that keep its states few, as in `require(self.now < self.horizon)`. The log of a correct run may be
longer. Whether a constant is such a limit or a rule of the protocol, its spec does not say. A trace that only larger
constants explain is therefore undecided, and the answer names them.
"""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from checker.errors import SizeError, UserError
from checker.language.roles import Role
from checker.language.source import source_of
from checker.language.spec import Spec
from traces.validate.verdict import TraceVerdict

Constants = Mapping[str, int]

_FACTORS = (2, 4, 8, 16)
_MOST_TRIALS = 24
"""The most validations of a trace with larger constants."""


def limiting_constants(spec: Spec, outcome: TraceVerdict) -> set[str]:
    """Return the integer constants that may limit a trace without an explanation.

    They are those that guards compare with and, if an event is outside a type, those on which types depend. A constant
    of 0 is no limit: it says that a failure does not happen.
    """
    names = _constants_of_guards(type(spec))
    reasons = outcome.rejection.reasons if outcome.rejection is not None else ()
    if outcome.limits or any(reason.kind == "arguments" for reason in reasons):
        names |= spec.constants_of_types
    return {name for name in names if type(value := spec.constants.get(name)) is int and value > 0}


class LargerConstants(NamedTuple):
    """Larger constants with which a trace gets furthest, none if none helps, and the verdict with them.

    `is_decided`: the trace is explained, or each constant that may still limit it was tried and does not.
    """

    settings: Constants
    outcome: TraceVerdict
    is_decided: bool


def larger_constants(
    outcome: TraceVerdict,
    limiting: Callable[[TraceVerdict], set[str]],
    validate: Callable[[Constants], TraceVerdict],
) -> LargerConstants:
    """Return the larger constants with which a trace gets furthest.

    `limiting` returns the constants that may limit a trace. `validate` returns the verdict with some constants, and
    raises UserError if the spec cannot have them.
    """
    settings: Constants = {}
    trials = 0
    while outcome.rejection is not None:
        names = sorted(limiting(outcome))
        untried = set(names)
        for factor, name in itertools.product(_FACTORS, names):
            trials += 1
            if trials > _MOST_TRIALS:
                return LargerConstants(settings, outcome, not untried)
            value = int(outcome.constants[name])
            larger = {**settings, name: max(value * factor, value + 1)}
            following = _verdict_with(larger, validate)
            if following is None or following.limits <= {"bounds"}:
                untried.discard(name)
            if following is not None and _progress(following) > _progress(outcome):
                settings, outcome = larger, following
                break
        else:
            return LargerConstants(settings, outcome, not untried)
    return LargerConstants(settings, outcome, True)


def _verdict_with(constants: Constants, validate: Callable[[Constants], TraceVerdict]) -> TraceVerdict | None:
    """Return the verdict with some constants, `undecided` if the model is too large; None if they contradict a rule."""
    try:
        return validate(constants)
    except UserError as error:
        if not all(isinstance(part, SizeError) for part in error.parts):
            return None
        return TraceVerdict("", "", verdict="undecided", limits=frozenset({"window"}))


def _progress(outcome: TraceVerdict) -> tuple[float, bool]:
    """Return how far a trace gets. A value outside a type, in place of a false guard, leaves the end open."""
    if outcome.rejection is None:
        return (float("inf"), False) if outcome.verdict == "conforms" else (-1, False)
    return outcome.rejection.line, outcome.limits == {"bounds"}


def _constants_of_guards(spec: type[Spec]) -> set[str]:
    """Return the constants that guards and helpers of a spec compare with as with an upper limit, perhaps negated."""
    names = set()
    for base in spec.__mro__:
        for name, method in vars(base).items() if issubclass(base, Spec) and base is not Spec else ():
            if inspect.isfunction(method) and spec.roles.get(name) in (None, Role.ACTION):
                tree = source_of(method).tree
                # A guard may negate the value of a helper.
                negations = filter(_is_not, ast.walk(tree)) if name in spec.roles else [tree]
                negated = {id(node) for negation in negations for node in ast.walk(negation)}
                for node in ast.walk(tree):
                    if isinstance(node, ast.Compare):
                        names |= set(_upper_limits(node, id(node) in negated))
    return names & spec.declared_constants.keys()


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _upper_limits(node: ast.Compare, is_negated: bool) -> Iterator[str]:
    """Iterate over the names that a comparison has as an upper limit, alone or with a number added.

    One that is negated is read in both directions.
    """
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        limits = {ast.Lt: [right], ast.LtE: [right], ast.Gt: [left], ast.GtE: [left], ast.NotEq: [left, right]}
        for side in [left, right] if is_negated else limits.get(type(operator), []):
            while isinstance(side, ast.BinOp) and isinstance(side.right, ast.Constant):
                side = side.left
            if isinstance(side, ast.Attribute) and isinstance(side.value, ast.Name) and side.value.id == "self":
                yield side.attr
