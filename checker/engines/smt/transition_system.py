"""A spec as a transition system of Z3 terms: initial states, actions, properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3

from checker.engines.smt.lowering.conversion import converted, shaped
from checker.engines.smt.lowering.evaluation import State, SymbolicFailure
from checker.engines.smt.lowering.expressions import SymbolicExpressions
from checker.engines.smt.lowering.logic import Term, Truth, all_of, any_of, both, negate, truth_term
from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.engines.smt.lowering.symbolic_values import (
    Value,
    constant,
    constants_of,
    decoded,
    fresh,
    parts_of,
    same_part,
    well_formed,
)
from checker.frontend import compile_spec
from checker.frontend.type_relations import is_bounded
from checker.ir import nodes
from checker.language.interpreter import State as PlainState
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.types import Type

Evaluate = Callable[[Term], Term]
"""Gives a Z3 expression its value, as a model does."""


@dataclass(frozen=True)
class SymbolicParameter:
    """A parameter of an action as Z3 constants."""

    name: str
    type: Type
    value: Value


@dataclass(frozen=True)
class Transition:
    """One action of a spec, with its parameters as constants.

    `assumed`: the parameters are values of their types. Where that is so, `enabled` says that the action leads to
    `successor`, and `failed` that it leaves a type's bounds; where neither is true it is disabled.
    """

    name: str
    parameters: tuple[SymbolicParameter, ...]
    assumed: Truth
    enabled: Truth
    failures: tuple[SymbolicFailure, ...]
    successor: State

    @property
    def failed(self) -> Truth:
        """Whether the action leaves a type's bounds."""
        return any_of(failure.condition for failure in self.failures)

    @property
    def taken(self) -> Truth:
        """Whether the action leads to its successor, with parameters of their types."""
        return both(self.assumed, self.enabled)

    def arguments(self, evaluate: Evaluate) -> tuple[Any, ...]:
        """Return the values of the parameters."""
        return tuple(decoded(parameter.type, parameter.value, evaluate) for parameter in self.parameters)


@dataclass(frozen=True)
class SymbolicProperty:
    """An invariant, step invariant, reachable, lemma or constraint as a term over the state (and the old one)."""

    name: str
    role: Role
    value: Truth
    failed: Truth

    @property
    def holds(self) -> Truth:
        """Whether it can be evaluated and is true."""
        return both(negate(self.failed), self.value)


class TransitionSystem:
    """A spec with its constants set, over one set of Z3 constants for a state and one for the state before it.

    Raises SpecError where the spec is outside the language.
    """

    def __init__(self, spec: Spec, properties: list[str]):
        self.spec = spec = spec.unenumerated()
        self.program = compile_spec(spec, properties)
        self.state = self.new_state("")
        self.old = self.new_state("old ")
        self.constants = self.constants_of(self.state)
        with spec.bound():
            shapes = {shape.name: shape for shape in spec.shapes()}
            self.transitions = [
                self._transition(action, [p.type for p in shapes[action.name].parameters], self.state)
                for action in self.program.actions
            ]
            self.initial = self._initial()
            self.properties = {found.name: self._property(found) for found in self.program.properties}
            self.constraints = [self._property(found) for found in self.program.constraints]
            self.well_formed = self._well_formed(self.state)

    @property
    def is_finite(self) -> bool:
        """Whether every number is a bit-vector."""
        return all(is_bounded(kind) for kind in self.program.variables.values())

    def new_state(self, prefix: str) -> State:
        """Return a state of new constants."""
        return {name: fresh(kind, f"{prefix}{name}") for name, kind in self.program.variables.items()}

    def constants_of(self, state: State) -> list[Term]:
        """Return the Z3 constants of a state, in a fixed order."""
        return [term for value in state.values() for term in constants_of(value)]

    def _well_formed(self, state: State) -> Truth:
        return all_of(well_formed(kind, state[name]) for name, kind in self.program.variables.items())

    @property
    def within_constraints(self) -> Truth:
        """Whether every constraint is true in the state."""
        return all_of(found.holds for found in self.constraints)

    # Lowering.

    def _transition(self, action: nodes.Action, kinds: list[Type], state: State) -> Transition:
        engine = SymbolicStatements(state)
        parameters = []
        for parameter, kind in zip(action.parameters, kinds, strict=True):
            value = fresh(kind, f"{action.name}({parameter.local.name})")
            parameters.append(SymbolicParameter(parameter.local.name, kind, value))
            engine.frame.locals[parameter.local] = converted(value, kind, parameter.local.type)[0]
        engine.statements(action.body)
        found = engine.roots["self"]
        successor = {name: shaped(kind, found[name]) for name, kind in self.program.variables.items()}
        assumed = all_of(well_formed(parameter.type, parameter.value) for parameter in parameters)
        return Transition(action.name, tuple(parameters), assumed, engine.alive, tuple(engine.failures), successor)

    def _initial(self) -> Transition:
        """Return `init` as a transition from the variables' first values."""
        variables = self.program.variables
        first = {name: constant(kind, kind.first()) for name, kind in variables.items()}
        if self.program.init is None:
            return Transition("init", (), True, True, (), first)
        kinds = [parameter.type for parameter in self.spec.parameters_of("init")]
        return self._transition(self.program.init, kinds, first)

    def _property(self, predicate: nodes.Predicate) -> SymbolicProperty:
        engine: SymbolicExpressions = SymbolicStatements(self.state, self.old)
        function = predicate.function
        assert function.result is not None
        call = nodes.HelperCall(function.result, nodes.Site("", 0, ""), function, ())
        value, is_bool = converted(engine.evaluate(call), function.result, nodes.BOOL)
        return SymbolicProperty(predicate.name, Role(predicate.role), value, either_failed(engine.failed, is_bool))

    # Terms over other states.

    def over(self, term: Truth, state: State, old: State | None = None) -> Truth:
        """Return a term over the system's state as one over another state, whose values may be any terms."""
        if isinstance(term, bool):
            return term
        pairs = assignments(self.state, state)
        if old is not None:
            pairs += assignments(self.old, old)
        return folded(z3.substitute(term, *pairs))

    def is_state(self, state: State, other: State) -> Truth:
        """Return whether two states are the same."""
        return all_of(
            same_part(one, another)
            for name in self.program.variables
            for one, another in zip(parts_of(state[name]), parts_of(other[name]), strict=True)
        )

    def decoded(self, state: State, evaluate: Evaluate) -> PlainState:
        """Return a state in the interpreter's form."""
        with self.spec.bound():
            return PlainState({n: decoded(kind, state[n], evaluate) for n, kind in self.program.variables.items()})

    def encoded(self, state: PlainState) -> State:
        """Return a state of the interpreter's form as known values."""
        with self.spec.bound():
            return {name: constant(kind, state.values[name]) for name, kind in self.program.variables.items()}


def assignments(state: State, values: State) -> list[tuple[Term, Term]]:
    """Return the constants of a state, each with the term that it is in a state of any values."""
    pairs = []
    for name, value in state.items():
        for mine, theirs in zip(parts_of(value), parts_of(values[name]), strict=True):
            one = mine if isinstance(mine, (bool, z3.ExprRef)) else mine.term
            if isinstance(one, z3.ExprRef):
                pairs.append((one, _sorted_like(one, theirs)))
    return pairs


def either_failed(failed: Truth, is_bool: Truth) -> Truth:
    """Return whether a property left its bounds, or ended with None where a bool is wanted."""
    return any_of((failed, negate(is_bool)))


def folded(term: Term) -> Truth:
    """Return a term as a `bool` where it is one."""
    if z3.is_true(term):
        return True
    return False if z3.is_false(term) else term


def _sorted_like(one: Term, part: Any) -> Term:
    """Return a truth value or number as a Z3 expression of the sort of another one."""
    if not hasattr(part, "term"):
        return truth_term(part)
    if not isinstance(part.term, int):
        return part.term
    return z3.BitVecVal(part.term, one.size()) if isinstance(one, z3.BitVecRef) else z3.IntVal(part.term)
