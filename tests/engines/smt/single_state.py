"""A spec's Z3 terms evaluated in single states, for comparisons with the interpreter."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import z3

from checker.engines.smt.lowering.encoding import constant
from checker.engines.smt.lowering.logic import Term, Truth
from checker.engines.smt.transition_system import SymbolicProperty, Transition, TransitionSystem, assignments
from checker.language.interpreter import State
from checker.language.roles import Role
from checker.language.spec import Spec

Pairs = list[tuple[Term, Term]]


@dataclass
class ExpandedState:
    """The steps from a state: successors and the text of the failing site, by action instance."""

    words: dict[int, list[State]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckedState:
    """The invariants that are false and the reachables that are true; `failed`: one leaves the bounds of a type."""

    names: frozenset[str]
    failed: bool


class SymbolicStateEngine:
    """A spec as Z3 terms, evaluated by substitution of a state's values for the Z3 constants."""

    def __init__(self, spec: Spec, properties: list[str] | None = None):
        self.spec = spec
        # The prover does not check refinements.
        checked = spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT, Role.REACHABLE)
        self.system = TransitionSystem(spec, checked if properties is None else properties)

    def words_of(self, state: State) -> list[State]:
        """Return a state's encoding, which here is the state."""
        return [state]

    def state_of(self, words: Iterable[State]) -> State:
        """Return a state encoded as symbolic values and decoded."""
        (state,) = words
        return self.system.decoded(self.system.encoded(state), lambda term: term)

    def expand(self, state: State) -> ExpandedState:
        """Return the steps of every action instance from a state."""
        pairs, found = self._pairs(state), ExpandedState()
        with self.spec.bound():
            for shape, transition in zip(self.spec.shapes(), self.system.transitions, strict=True):
                for instance, arguments in self.spec.instances_of(shape, state):
                    self._take(transition, pairs + self._given(transition, arguments), instance, found)
        return found

    def _take(self, transition: Transition, pairs: Pairs, instance: int, found: ExpandedState) -> None:
        assert _is_true(transition.assumed, pairs), f"{transition.name}: an argument is not of its type"
        if _is_true(transition.failed, pairs):
            sites = [failure.site for failure in transition.failures if _is_true(failure.condition, pairs)]
            found.failures[instance] = sites[0].text
        if _is_true(transition.enabled, pairs):
            state = self.system.decoded(transition.successor, lambda term: _simplified(term, pairs))
            same = self.system.is_state(transition.successor, self.system.encoded(state))
            assert _is_true(same, pairs), f"{transition.name}: {state} has two forms"
            found.words[instance] = self.words_of(state)

    def check(self, state: State, names: Iterable[str]) -> CheckedState:
        """Check invariants and reachables in a state, and that every constraint can be evaluated in it."""
        pairs = self._pairs(state)
        assert _is_true(self.system.well_formed, pairs), f"not well formed: {state}"
        found = [self.system.properties[name] for name in names]
        failed = any(_is_true(property_.failed, pairs) for property_ in [*found, *self.system.constraints])
        return CheckedState(frozenset(p.name for p in found if _is_reported(p, pairs)), failed)

    def check_step(self, old: State, new: State, names: Iterable[str]) -> CheckedState:
        """Check step invariants of the step between two states."""
        pairs = self._pairs(new) + assignments(self.system.old, self.system.encoded(old))
        found = [self.system.properties[name] for name in names]
        failed = any(_is_true(property_.failed, pairs) for property_ in found)
        return CheckedState(frozenset(p.name for p in found if _is_reported(p, pairs)), failed)

    def within_constraints(self, state: State) -> bool:
        """Return whether every constraint can be evaluated and is true in a state."""
        return _is_true(self.system.within_constraints, self._pairs(state))

    def _pairs(self, state: State) -> Pairs:
        return assignments(self.system.state, self.system.encoded(state))

    def _given(self, transition: Transition, arguments: tuple[Any, ...]) -> Pairs:
        values = {p.name: constant(p.type, given) for p, given in zip(transition.parameters, arguments, strict=True)}
        return assignments({p.name: p.value for p in transition.parameters}, values)


def _is_reported(property_: SymbolicProperty, pairs: Pairs) -> bool:
    """Return whether a property is reported: a false invariant, or a true reachable."""
    is_true = _is_true(property_.value, pairs)
    return is_true if property_.role is Role.REACHABLE else not is_true


def _simplified(term: Term, pairs: Pairs) -> Term:
    return z3.simplify(z3.substitute(term, *pairs))


def _is_true(truth: Truth, pairs: Pairs) -> bool:
    if isinstance(truth, bool):
        return truth
    found = _simplified(truth, pairs)
    assert z3.is_true(found) or z3.is_false(found), f"not decided by the state: {found}"
    return bool(z3.is_true(found))
