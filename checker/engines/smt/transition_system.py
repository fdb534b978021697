"""A spec as a transition system of Z3 terms: initial states, actions, properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3

from checker.engines.smt.lowering.conversion import converted, value_with_shape
from checker.engines.smt.lowering.encoding import constant, decoded, new_value, well_formed
from checker.engines.smt.lowering.evaluation import State, SymbolicContext, SymbolicFailure
from checker.engines.smt.lowering.logic import Term, Truth, all_of, any_of, both, negate, truth_term
from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.engines.smt.lowering.symbolic_values import Value, parts_of, same_part, z3_constants
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.language.interpreter import State as PlainState
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.type_joins import is_bounded
from checker.language.types import Type

Evaluate = Callable[[Term], Term]
"""Maps a Z3 expression to its value, as a model does."""


@dataclass(frozen=True)
class SymbolicParameter:
    """A parameter of an action as Z3 constants."""

    name: str
    type: Type
    value: Value


@dataclass(frozen=True)
class Transition:
    """One action of a spec, with its parameters as Z3 constants.

    `assumed`: the parameters are well-formed values of their types. Under this assumption exactly one of three cases
    holds: `enabled` (the action leads to `successor`), `failed` (it leaves the bounds of a type), or disabled.
    """

    name: str
    parameters: tuple[SymbolicParameter, ...]
    assumed: Truth
    enabled: Truth
    failures: tuple[SymbolicFailure, ...]
    successor: State

    @property
    def failed(self) -> Truth:
        """Whether the action leaves the bounds of a type."""
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
        """Whether the property can be evaluated and is true."""
        return both(negate(self.failed), self.value)


class TransitionSystem:
    """A spec with concrete constants as Z3 terms over two sets of Z3 constants: `state`, and `old` (the state before).

    Each action is lowered once, over `state`. `over` and `Unrolling.at` substitute other states for these constants.
    Raises SpecError if the spec is outside the language.
    """

    def __init__(self, spec: Spec, properties: list[str]):
        self.spec = spec = spec.with_symbolic_parameters()
        self.program = compile_spec(spec, properties)
        self.state = self.new_state("")
        self.old = self.new_state("old ")
        self.constants = self.z3_constants(self.state)
        with spec.bound():
            shapes = {shape.name: shape for shape in spec.shapes()}
            self.transitions = [
                self._transition(action, [p.type for p in shapes[action.name].parameters], self.state)
                for action in self.program.actions
            ]
            self.initial = self._initial()
            self.properties = {predicate.name: self.lowered(predicate) for predicate in self.program.properties}
            self.constraints = [self.lowered(predicate) for predicate in self.program.constraints]
            self.well_formed = self._well_formed(self.state)

    @property
    def is_finite(self) -> bool:
        """Whether every number is a bit-vector."""
        return all(is_bounded(kind) for kind in self.program.variables.values())

    def new_state(self, prefix: str) -> State:
        """Return a state of new constants."""
        return {name: new_value(kind, f"{prefix}{name}") for name, kind in self.program.variables.items()}

    def z3_constants(self, state: State) -> list[Term]:
        """Return the Z3 constants of a state, in a fixed order."""
        return [term for value in state.values() for term in z3_constants(value)]

    def _well_formed(self, state: State) -> Truth:
        return all_of(well_formed(kind, state[name]) for name, kind in self.program.variables.items())

    @property
    def within_constraints(self) -> Truth:
        """Whether every constraint is true in the state."""
        return all_of(constraint.holds for constraint in self.constraints)

    # Lowering.

    def _transition(self, action: nodes.Action, kinds: list[Type], state: State) -> Transition:
        context = SymbolicContext(state)
        parameters = []
        for parameter, kind in zip(action.parameters, kinds, strict=True):
            value = new_value(kind, f"{action.name}({parameter.local.name})")
            parameters.append(SymbolicParameter(parameter.local.name, kind, value))
            context.frame.locals[parameter.local] = converted(value, kind, parameter.local.type)[0]
        SymbolicStatements(context).visit_all(action.body)
        variables = context.roots["self"]
        # `over` substitutes the successor for the constants of the state, so both need the same sorts.
        successor = {name: value_with_shape(kind, variables[name]) for name, kind in self.program.variables.items()}
        assumed = all_of(well_formed(parameter.type, parameter.value) for parameter in parameters)
        return Transition(action.name, tuple(parameters), assumed, context.alive, tuple(context.failures), successor)

    def _initial(self) -> Transition:
        """Return `init` as a transition from the variables' first values, which are concrete."""
        variables = self.program.variables
        first = {name: constant(kind, kind.first()) for name, kind in variables.items()}
        if self.program.init is None:
            return Transition("init", (), True, True, (), first)
        kinds = [parameter.type for parameter in self.spec.parameters_of("init")]
        return self._transition(self.program.init, kinds, first)

    def lowered(self, predicate: nodes.Predicate) -> SymbolicProperty:
        """Return a predicate as a term over the state (and the old one); the spec's constants must be bound."""
        context = SymbolicContext(self.state, self.old)
        function = predicate.function
        assert function.result is not None
        # A call of the function merges the results of all its `return` statements.
        call = nodes.HelperCall(function.result, nodes.Site("", 0, ""), function, ())
        value, is_bool = converted(SymbolicStatements(context).expressions.evaluate(call), function.result, nodes.BOOL)
        return SymbolicProperty(predicate.name, Role(predicate.role), value, either_failed(context.failed, is_bool))

    # Substitution of other states.

    def over(self, term: Truth, state: State, old: State | None = None) -> Truth:
        """Return a term over `self.state` (and `self.old`) with other states, of arbitrary terms, substituted."""
        if isinstance(term, bool):
            return term
        pairs = assignments(self.state, state)
        if old is not None:
            pairs += assignments(self.old, old)
        return folded(z3.substitute(term, *pairs))

    def is_state(self, state: State, other: State) -> Truth:
        """Return whether two states are equal."""
        return all_of(
            # Canonical forms: equal parts mean equal states.
            same_part(one, another)
            for name in self.program.variables
            for one, another in zip(parts_of(state[name]), parts_of(other[name]), strict=True)
        )

    def decoded(self, state: State, evaluate: Evaluate) -> PlainState:
        """Return a symbolic state as a state of the interpreter."""
        with self.spec.bound():
            return PlainState({n: decoded(kind, state[n], evaluate) for n, kind in self.program.variables.items()})

    def encoded(self, state: PlainState) -> State:
        """Return a state of the interpreter as a symbolic state of concrete values."""
        with self.spec.bound():
            return {name: constant(kind, state.values[name]) for name, kind in self.program.variables.items()}


def assignments(state: State, values: State) -> list[tuple[Term, Term]]:
    """Return the substitution of `values` for the Z3 constants of `state`, as pairs (constant, term)."""
    pairs = []
    for name, value in state.items():
        for mine, theirs in zip(parts_of(value), parts_of(values[name]), strict=True):
            one = mine if isinstance(mine, (bool, z3.ExprRef)) else mine.term
            # A part with one possible value is concrete and has no constant.
            if isinstance(one, z3.ExprRef):
                pairs.append((one, _sort_like(one, theirs)))
    return pairs


def either_failed(failed: Truth, is_bool: Truth) -> Truth:
    """Return whether a property left the bounds of a type, or returned None instead of a bool."""
    return any_of((failed, negate(is_bool)))


def folded(term: Term) -> Truth:
    """Return a term, or a `bool` if the term is the literal True or False."""
    if z3.is_true(term):
        return True
    return False if z3.is_false(term) else term


def _sort_like(one: Term, part: Any) -> Term:
    """Return a truth value or integer as a Z3 expression of the same sort as `one`."""
    if not hasattr(part, "term"):
        return truth_term(part)
    if not isinstance(part.term, int):
        return part.term
    return z3.BitVecVal(part.term, one.size()) if isinstance(one, z3.BitVecRef) else z3.IntVal(part.term)
