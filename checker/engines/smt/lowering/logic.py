"""Symbolic truth values: `bool` or Z3 terms, with constants folded when a term is built.

Terms are built through Z3's C interface. Z3's Python operators check and coerce their operands each time, which costs
several times as much as building the term. `implies` is the operation of `checker.language.implies` on terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import z3

Term = Any
"""A Z3 expression."""

Truth = Any
"""`bool`, or a Z3 expression of sort Bool."""

CONTEXT = z3.main_ctx()
CONTEXT_REF = CONTEXT.ref()


def asts(terms: list[Term]) -> Any:
    """Return terms as an array for Z3's C interface."""
    return (z3.Ast * len(terms))(*[term.as_ast() for term in terms])


def truth_term(truth: Truth) -> Term:
    """Return a truth value as a Z3 expression."""
    return z3.BoolVal(truth) if isinstance(truth, bool) else truth


def is_same(one: Term, other: Term) -> bool:
    """Return whether two terms are syntactically equal; terms that are equal in every model need not be."""
    if one is other:
        return True
    if isinstance(one, z3.ExprRef) and isinstance(other, z3.ExprRef):
        return bool(one.eq(other))
    # `True == 1` in Python, so equal values of different classes are not the same term.
    return type(one) is type(other) and not isinstance(one, z3.ExprRef) and bool(one == other)


def negate(truth: Truth) -> Truth:
    """Return the negation."""
    if isinstance(truth, bool):
        return not truth
    if z3.is_not(truth):
        return truth.arg(0)
    return z3.BoolRef(z3.Z3_mk_not(CONTEXT_REF, truth.as_ast()), CONTEXT)


def _open_operands(truths: Iterable[Truth], decides: bool) -> list[Term] | None:
    """Return the distinct terms among truth values; None if one of the values is the constant `decides`."""
    operands: dict[int, Term] = {}
    for truth in truths:
        if isinstance(truth, bool):
            if truth is decides:
                return None
        else:
            # Z3 shares equal terms, so equal terms have one id. The dict keeps the term alive, and with it the id
            # unique.
            operands.setdefault(truth.get_id(), truth)
    return list(operands.values())


def all_of(truths: Iterable[Truth]) -> Truth:
    """Return the conjunction."""
    terms = _open_operands(truths, decides=False)
    if terms is None:
        return False
    if len(terms) < 2:
        return terms[0] if terms else True
    return z3.BoolRef(z3.Z3_mk_and(CONTEXT_REF, len(terms), asts(terms)), CONTEXT)


def any_of(truths: Iterable[Truth]) -> Truth:
    """Return the disjunction."""
    terms = _open_operands(truths, decides=True)
    if terms is None:
        return True
    if len(terms) < 2:
        return terms[0] if terms else False
    return z3.BoolRef(z3.Z3_mk_or(CONTEXT_REF, len(terms), asts(terms)), CONTEXT)


def both(one: Truth, other: Truth) -> Truth:
    """Return `one and other`."""
    return all_of((one, other))


def either(one: Truth, other: Truth) -> Truth:
    """Return `one or other`."""
    return any_of((one, other))


def implies(premise: Truth, conclusion: Truth) -> Truth:
    """Return `not premise or conclusion`."""
    return any_of((negate(premise), conclusion))


def choose(test: Truth, then: Truth, otherwise: Truth) -> Truth:
    """Return `then if test else otherwise`, of truth values."""
    if isinstance(test, bool):
        return then if test else otherwise
    if is_same(then, otherwise):
        return then
    if isinstance(then, bool):
        return either(test, otherwise) if then else both(negate(test), otherwise)
    if isinstance(otherwise, bool):
        return implies(test, then) if otherwise else both(test, then)
    return choose_term(test, then, otherwise)


def choose_term(test: Term, then: Term, otherwise: Term) -> Term:
    """Return `then if test else otherwise`, of Z3 expressions of one sort."""
    if is_same(then, otherwise):
        return then
    return type(then)(z3.Z3_mk_ite(CONTEXT_REF, test.as_ast(), then.as_ast(), otherwise.as_ast()), CONTEXT)


def equal_terms(one: Term, other: Term) -> Truth:
    """Return whether two Z3 expressions of one sort are equal."""
    if is_same(one, other):
        return True
    return z3.BoolRef(z3.Z3_mk_eq(CONTEXT_REF, one.as_ast(), other.as_ast()), CONTEXT)


def equivalent(one: Truth, other: Truth) -> Truth:
    """Return whether two truth values are the same."""
    if isinstance(one, bool):
        return other if one else negate(other)
    if isinstance(other, bool):
        return one if other else negate(one)
    return equal_terms(one, other)


def for_all(variables: list[Term], truth: Truth) -> Truth:
    """Return the universal quantification over some variables."""
    return truth if isinstance(truth, bool) else _quantify(z3.ForAll(variables, truth))


def exists(variables: list[Term], truth: Truth) -> Truth:
    """Return the existential quantification over some variables."""
    return truth if isinstance(truth, bool) else _quantify(z3.Exists(variables, truth))


def _quantify(term: Term) -> Term:
    # Z3's class QuantifierRef would make `type(then)(...)` in `choose_term` a quantifier: treat it as any other term.
    return z3.BoolRef(term.as_ast(), CONTEXT)


def subterms(truth: Truth) -> Iterator[Term]:
    """Iterate over the distinct subterms of a truth value, including itself."""
    seen: set[int] = set()
    waiting = [] if isinstance(truth, bool) else [truth]
    while waiting:
        term = waiting.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        yield term
        # `children` of a quantifier is empty: its body is read instead.
        waiting.extend([z3.QuantifierRef(term.as_ast(), CONTEXT).body()] if is_quantifier(term) else term.children())


def is_quantifier(term: Term) -> bool:
    """Return whether a term is a quantifier, whatever its Python class."""
    return bool(z3.Z3_get_ast_kind(CONTEXT_REF, term.as_ast()) == z3.Z3_QUANTIFIER_AST)


def has_quantifier(truth: Truth) -> bool:
    """Return whether a truth value contains a quantifier."""
    return any(is_quantifier(term) for term in subterms(truth))
