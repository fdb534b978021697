"""The terms of an unbounded spec evaluated in single states, at one value of each open constant.

This compares the unbounded lowering with the interpreter: the values of constants, numbers and sequences are
substituted in the terms, and Z3 decides the rest, which are quantifiers over few numbers.
"""

from collections.abc import Iterable
from typing import Any

import z3

from checker.engines.smt.lowering import integers
from checker.engines.smt.lowering.encoding import constant, decoded, new_value, number_in
from checker.engines.smt.lowering.evaluation import State
from checker.engines.smt.lowering.integers import SymbolicInteger, concrete
from checker.engines.smt.lowering.logic import Term, Truth, all_of, is_quantifier, subterms, truth_term
from checker.engines.smt.lowering.symbolic_values import UnboundedSequence, Value, parts_of
from checker.engines.smt.transition_system import SymbolicProperty, Transition
from checker.engines.smt.unbounded.unbounded_system import UnboundedSystem
from checker.language.interpreter import State as PlainState
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.types import MapType, SeqType, StructType, Type
from tests.engines.smt.single_state import CheckedState, ExpandedState

SECONDS = 2.0


class UndecidedError(Exception):
    """Z3 does not decide a closed term."""


class _Substitution:
    """The values of a state's Z3 constants and functions."""

    def __init__(self) -> None:
        self.constants: list[tuple[Term, Term]] = []
        self.functions: list[tuple[Any, Term]] = []

    def put(self, kind: Type, symbol: Value, value: Value, name: str) -> None:
        """Add a value for a symbolic value made by `new_value`."""
        if isinstance(symbol, UnboundedSequence):
            assert isinstance(kind, SeqType)
            self._put_part(symbol.length, value.length)
            length = number_in(value.length, lambda term: term)
            template = new_value(kind.item, f"{name}[]")
            items = [value.at(concrete(index)) for index in range(length)]
            # The items outside a sequence may be any values of the item type.
            outside = constant(kind.item, kind.item.first())
            for position, part in enumerate(parts_of(template)):
                self._put_function(part, [list(parts_of(item))[position] for item in [*items, outside]])
        elif isinstance(kind, StructType):
            for (field, inner), one, other in zip(kind.fields, symbol.parts, value.parts, strict=True):
                self.put(inner, one, other, f"{name}.{field}")
        elif isinstance(kind, MapType):
            for index, (one, other) in enumerate(zip(symbol.parts, value.parts, strict=True)):
                self.put(kind.value, one, other, f"{name}[{index}]")
        else:
            for one, other in zip(parts_of(symbol), parts_of(value), strict=True):
                self._put_part(one, other)

    def _put_part(self, one: Value, other: Value) -> None:
        term = one.term if isinstance(one, SymbolicInteger) else one
        if isinstance(term, z3.ExprRef):
            self.constants.append((term, _term(other)))

    def _put_function(self, part: Value, values: list[Value]) -> None:
        term = part.term if isinstance(part, SymbolicInteger) else part
        if not isinstance(term, z3.ExprRef):
            return
        index = z3.Var(0, z3.IntSort())
        body = _term(values[-1])
        for position, value in enumerate(values[:-1]):
            body = z3.If(index == position, _term(value), body)
        self.functions.append((z3.Function(term.decl().name(), z3.IntSort(), term.sort()), body))

    def into(self, term: Term) -> Term:
        """Return a term with all values substituted."""
        found = z3.substitute(term, *self.constants)
        return z3.simplify(z3.substitute_funs(found, *self.functions) if self.functions else found)


def _term(part: Value) -> Term:
    if isinstance(part, SymbolicInteger):
        return z3.IntVal(part.term) if isinstance(part.term, int) else part.term
    return truth_term(part)


class UnboundedProbe:
    """A spec with open constants as Z3 terms, evaluated at the spec's own values of these constants."""

    def __init__(self, spec: Spec, unbounded: list[str], properties: list[str] | None = None):
        self.spec = spec
        self.system = UnboundedSystem(spec, unbounded, spec.properties if properties is None else properties)
        kinds = self.system.program.variables
        with integers.mathematical():
            self.old = {name: new_value(kind, f"old {name}") for name, kind in kinds.items()}
        self._claims: dict[str, SymbolicProperty] = {}
        for name in [*(found.name for found in self.system.program.properties), *self.system.constraints]:
            is_step = spec.roles[name] is Role.STEP_INVARIANT
            self._claims[name] = self.system.claim(name, self.system.state, self.old if is_step else None)

    def words_of(self, state: PlainState) -> list[PlainState]:
        """Return a state's encoding, which here is the state."""
        return [state]

    def state_of(self, words: Iterable[PlainState]) -> PlainState:
        """Return the state."""
        (state,) = words
        return state

    def _given(self, state: PlainState, old: PlainState | None = None) -> _Substitution:
        found = _Substitution()
        for name in self.system.unbounded:
            found.constants.append((z3.Int(f"constant {name}"), z3.IntVal(self.spec.constants[name])))
        with integers.mathematical(), self.spec.bound():
            for symbols, plain in ((self.system.state, state), (self.old, old)):
                for name, kind in self.system.program.variables.items():
                    if plain is not None:
                        prefix = "old " if symbols is self.old else ""
                        found.put(kind, symbols[name], constant(kind, plain.values[name]), f"{prefix}{name}")
        return found

    def expand(self, state: PlainState) -> ExpandedState:
        """Return the steps of every action instance from a state."""
        found = ExpandedState()
        with integers.mathematical(), self.spec.bound():
            for shape in self.spec.shapes():
                for instance, arguments in self.spec.instances_of(shape, state):
                    self._take(shape.name, arguments, self._given(state), instance, found)
        return found

    def _take(
        self, name: str, arguments: tuple[Any, ...], given: _Substitution, instance: int, found: ExpandedState
    ) -> None:
        for transition in self.system.transitions:
            if transition.name != name or not self._is_given(transition, arguments, given):
                continue
            if self._is_true(transition.failed, given):
                found.failures[instance] = transition.failures[0].site.text
            if self._is_true(transition.enabled, given):
                found.words[instance] = [self._decoded(transition.successor, given)]

    def _is_given(self, transition: Transition, arguments: tuple[Any, ...], given: _Substitution) -> bool:
        """Add an action's arguments; return whether the transition is the one for them."""
        values = [constant(p.type, value) for p, value in zip(transition.parameters, arguments, strict=True)]
        pairs = zip(transition.parameters, values, strict=True)
        if any(
            isinstance(p.value, (bool, SymbolicInteger)) and _is_concrete(p.value) and not _same(p.value, v)
            for p, v in pairs
        ):
            return False
        for parameter, value in zip(transition.parameters, values, strict=True):
            given.put(parameter.type, parameter.value, value, parameter.name)
        assert self._is_true(transition.assumed, given), f"{transition.name}: an argument is not of its type"
        return True

    def _decoded(self, state: State, given: _Substitution) -> PlainState:
        kinds = self.spec.variables
        with self.spec.bound():
            return PlainState({name: self._plain(kinds[name], state[name], given) for name in kinds})

    def _plain(self, kind: Type, value: Value, given: _Substitution) -> Any:
        if isinstance(value, UnboundedSequence):
            assert isinstance(kind, SeqType)
            length = int(self._value(value.length.term, given).as_long()) if not value.length.is_concrete else None
            count = value.length.term if length is None else length
            return kind.coerce([self._plain(kind.item, value.at(concrete(index)), given) for index in range(count)])
        if isinstance(kind, StructType):
            fields = zip(kind.fields, value.parts, strict=True)
            return kind.declared.of({name: self._plain(inner, part, given) for (name, inner), part in fields})
        if isinstance(kind, MapType):
            parts = zip(kind.key.values(), value.parts, strict=True)
            return kind.coerce({key: self._plain(kind.value, part, given) for key, part in parts})
        return decoded(kind, value, lambda term: self._value(term, given))

    # Properties.

    def check(self, state: PlainState, names: Iterable[str]) -> CheckedState:
        """Check invariants and reachables in a state, and that every constraint can be evaluated in it."""
        given, names = self._given(state), list(names)
        assert self._is_true(self.system.well_formed, given), f"not well formed: {state}"
        failed = any(self._is_true(self._claims[name].failed, given) for name in [*names, *self.system.constraints])
        return CheckedState(frozenset(name for name in names if self._is_reported(name, given)), failed)

    def check_step(self, old: PlainState, new: PlainState, names: Iterable[str]) -> CheckedState:
        """Check step invariants of the step between two states."""
        given, names = self._given(new, old), list(names)
        failed = any(self._is_true(self._claims[name].failed, given) for name in names)
        return CheckedState(frozenset(name for name in names if self._is_reported(name, given)), failed)

    def within_constraints(self, state: PlainState) -> bool:
        """Return whether every constraint can be evaluated and is true in a state."""
        given = self._given(state)
        return all(self._is_true(self._claims[name].holds, given) for name in self.system.constraints)

    def _is_reported(self, name: str, given: _Substitution) -> bool:
        is_true = self._is_true(self._claims[name].value, given)
        return is_true if self.spec.roles[name] is Role.REACHABLE else not is_true

    # Decision.

    def _is_true(self, truth: Truth, given: _Substitution) -> bool:
        if isinstance(truth, bool):
            return truth
        return bool(z3.is_true(self._value(truth, given)))

    def _value(self, term: Term, given: _Substitution) -> Term:
        """Return the value of a term; raise UndecidedError if Z3 does not find a unique one."""
        found = given.into(term)
        pairs = [(closed, z3.BoolVal(self._decided(closed, given))) for closed in _outermost_quantifiers(found)]
        found = z3.simplify(z3.substitute(found, *pairs))
        if z3.is_int_value(found) or z3.is_true(found) or z3.is_false(found):
            return found
        if z3.is_bool(found):
            return z3.BoolVal(self._decided(found, given))
        solver, result = self._solver(found, given), z3.FreshInt("result")
        solver.add(result == found)
        if solver.check() != z3.sat:
            raise UndecidedError(f"{found}")
        value = solver.model().eval(result, model_completion=True)
        if not z3.is_int_value(value) or solver.check(result != value) != z3.unsat:
            raise UndecidedError(f"{found}")
        return value

    def _decided(self, truth: Term, given: _Substitution) -> bool:
        solver = self._solver(truth, given)
        answers = [solver.check(truth), solver.check(z3.Not(truth))]
        if z3.unsat not in answers:
            raise UndecidedError(f"{truth}")
        return bool(answers[0] != z3.unsat)

    def _solver(self, term: Term, given: _Substitution) -> Any:
        solver = z3.Solver()
        solver.set("timeout", int(SECONDS * 1000))
        definitions = all_of(self.system.definitions)
        if definitions is not True and _has_symbols(term):
            solver.add(given.into(definitions))
        return solver


def _has_symbols(term: Term) -> bool:
    """Return whether a term has constants or functions left: minima and maxima, which have definitions."""
    return any(z3.is_app(found) and found.decl().kind() == z3.Z3_OP_UNINTERPRETED for found in subterms(term))


def _outermost_quantifiers(term: Term) -> list[Term]:
    """Return the outermost quantifiers of a term; they have no free variables."""
    if is_quantifier(term):
        return [z3.QuantifierRef(term.as_ast(), term.ctx)]
    return [found for part in term.children() for found in _outermost_quantifiers(part)]


def _is_concrete(value: Value) -> bool:
    return isinstance(value, bool) or bool(value.is_concrete)


def _same(one: Value, other: Value) -> bool:
    return bool(one is other if isinstance(one, bool) else one.term == other.term)
