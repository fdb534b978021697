"""A spec with open constants as a transition system: its proofs hold for every value of the constants."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import z3

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.conversion import converted, value_with_shape
from checker.engines.smt.lowering.encoding import blank, constant, new_value, well_formed
from checker.engines.smt.lowering.evaluation import State
from checker.engines.smt.lowering.integers import SymbolicInteger
from checker.engines.smt.lowering.logic import Truth, all_of, has_quantifier, negate, truth_term
from checker.engines.smt.lowering.open_bounds import open_number
from checker.engines.smt.transition_system import SymbolicParameter, SymbolicProperty, Transition, either_failed
from checker.engines.smt.unbounded.attempts import conjuncts
from checker.engines.smt.unbounded.lowering.evaluation import QuantifiedContext
from checker.engines.smt.unbounded.lowering.statements import QuantifiedStatements
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.language.parameters import ParameterDeclaration as Declared
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.symbols import OpenNumber
from checker.language.types import BoolType, DomainType, EnumType, OpenDomainType, Type

MAX_MILLISECONDS = 100
"""Time limit for discharging an obligation during lowering; after it the obligation is left to the proof."""


class UnboundedSystem:
    """A spec with some constants left open, as Z3 terms over the constants and functions of one state.

    An action has one transition for each choice of its parameters of few values (domains, enums, bools). All numbers
    are mathematical integers. The terms are meaningful only together with `axioms`, the bounds of the open constants,
    and `definitions`, which lowering extends with the meaning of auxiliary constants. Raises SpecError if the spec is
    outside the language or uses an operation that unbounded types do not support.
    """

    def __init__(self, spec: Spec, unbounded: list[str], properties: list[str]):
        self.spec = spec.with_symbolic_parameters().unbounded(unbounded)
        self.unbounded = unbounded
        self.program = compile_spec(self.spec, properties)
        self.definitions: list[Truth] = []
        self._cases: dict[int, list[SymbolicInteger]] = {}
        self._predicates = {predicate.name: predicate for predicate in self.program.properties}
        with integers.mathematical(), self.spec.bound():
            self.axioms = list(self._axioms())
            self.state = {name: new_value(kind, name) for name, kind in self.program.variables.items()}
            self.well_formed = all_of(
                well_formed(kind, self.state[name]) for name, kind in self.program.variables.items()
            )
            self._quick_prover = _QuickProver([*self.axioms, *conjuncts(self.well_formed)])
            shapes = {shape.name: shape for shape in self.spec.shapes()}
            self.transitions = [
                self._transition(action, choice, self.state)
                for action in self.program.actions
                for choice in _choices(action.name, shapes[action.name].parameters)
            ]
            self.initials = self._initials()

    def _axioms(self) -> Iterator[Truth]:
        for name in self.unbounded:
            declared = self.spec.constants[name]
            assert isinstance(declared, OpenNumber)
            number = open_number(declared)
            assert number is not None
            yield integers.is_well_formed(number)

    def _context(self, state: State, old: State | None = None) -> QuantifiedContext:
        return QuantifiedContext(state, old, self._quick_prover.is_implied)

    def _transition(self, action: nodes.Action, parameters: tuple[SymbolicParameter, ...], state: State) -> Transition:
        context = self._context(state)
        for parameter, given in zip(action.parameters, parameters, strict=True):
            context.frame.locals[parameter.local] = converted(given.value, given.type, parameter.local.type)[0]
        assumed = all_of(well_formed(given.type, given.value) for given in parameters)
        # As a guard, the types of the parameters let `check` discharge tests during lowering.
        with context.under(assumed):
            QuantifiedStatements(context).visit_all(action.body)
        variables = context.roots["self"]
        successor = {name: value_with_shape(kind, variables[name]) for name, kind in self.program.variables.items()}
        self.definitions += context.definitions
        transition = Transition(action.name, parameters, assumed, context.alive, tuple(context.failures), successor)
        # A transition cannot be hashed: it contains dicts. It lives as long as the system, so its id is unique.
        self._cases[id(transition)] = context.cases
        return transition

    def cases_of(self, transition: Transition) -> list[SymbolicInteger]:
        """Return the numbers of few values on which a transition depends, for case splits."""
        return self._cases.get(id(transition), [])

    def _initials(self) -> list[Transition]:
        variables = self.program.variables
        first = {name: blank(kind) for name, kind in variables.items()}
        if self.program.init is None:
            return [Transition("init", (), True, True, (), first)]
        choices = _choices("init", self.spec.parameters_of("init"))
        return [self._transition(self.program.init, choice, first) for choice in choices]

    def claim(self, name: str, state: State, old: State | None = None) -> SymbolicProperty:
        """Return a property, lemma or constraint as a term about a state of arbitrary terms."""
        predicate = self._predicates.get(name)
        if predicate is None:
            predicate = next(constraint for constraint in self.program.constraints if constraint.name == name)
        with integers.mathematical(), self.spec.bound():
            context, function = self._context(state, old), predicate.function
            assert function.result is not None
            call = nodes.HelperCall(function.result, nodes.Site("", 0, ""), function, ())
            value, is_bool = converted(
                QuantifiedStatements(context).expressions.evaluate(call), function.result, nodes.BOOL
            )
            self.definitions += context.definitions
            return SymbolicProperty(name, Role(predicate.role), value, either_failed(context.failed, is_bool))

    @property
    def constraints(self) -> list[str]:
        """The names of the spec's constraints."""
        return [constraint.name for constraint in self.program.constraints]


def _choices(action: str, parameters: tuple[Declared, ...]) -> Iterator[tuple[SymbolicParameter, ...]]:
    """Iterate over the choices of an action's parameters: each value of those of few values, constants for the rest."""
    # A concrete member folds reads of maps and comparisons, so each transition has smaller terms.
    few = [list(p.type.values()) if _has_few_values(p.type) else [None] for p in parameters]
    for values in itertools.product(*few):
        yield tuple(
            SymbolicParameter(
                p.name, p.type, constant(p.type, v) if v is not None else new_value(p.type, f"{action}({p.name})")
            )
            for p, v in zip(parameters, values, strict=True)
        )


def _has_few_values(kind: Type) -> bool:
    return isinstance(kind, (DomainType, EnumType, BoolType)) and not isinstance(kind, OpenDomainType)


class _QuickProver:
    """Discharges small obligations during lowering, such as an index that a loop keeps within its sequence.

    It uses only quantifier-free premises, so a failure to prove is always possible and never unsound: the obligation
    then stays in the proof.
    """

    def __init__(self, facts: list[Truth]):
        # All numbers are Ints, and items of unbounded sequences are uninterpreted functions of the index.
        self._solver = z3.SolverFor("QF_UFLIA")
        self._solver.set("timeout", MAX_MILLISECONDS)
        self._solver.add(*[truth_term(fact) for fact in facts if not has_quantifier(fact)])
        self._known: dict[tuple[int, ...], bool] = {}
        self._kept: list[Truth] = []

    def is_implied(self, premises: list[Truth], conclusion: Truth) -> bool:
        """Return whether a conclusion follows from the facts and the quantifier-free conjuncts of the premises."""
        parts = [part for premise in premises for part in conjuncts(premise) if part is not True]
        usable = [part for part in parts if part is False or not has_quantifier(part)]
        if any(part is False for part in usable):
            return True
        if conclusion is False or has_quantifier(conclusion):
            return False
        key = (conclusion.get_id(), *sorted(part.get_id() for part in usable))
        if key not in self._known:
            self._kept += [conclusion, *usable]  # An id is unique only while its term is alive.
            self._solver.push()
            self._solver.add(*usable, truth_term(negate(conclusion)))
            self._known[key] = self._solver.check() == z3.unsat
            self._solver.pop()
        return self._known[key]
