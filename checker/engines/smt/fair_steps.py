"""Fair classes of steps as terms: which states enable a class, and which steps take it.

As in TLA+, only steps that change the state count (`<A>_vars`). A class is enabled in a state if one of its steps
changes the state (`ENABLED <A>_vars`). If two actions lead to the same successor, the step takes the classes of both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import z3

from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.encoding import constant, new_value
from checker.engines.smt.lowering.evaluation import State, SymbolicContext
from checker.engines.smt.lowering.logic import Term, Truth, any_of, both, negate
from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.engines.smt.lowering.symbolic_values import SymbolicArray, Value, z3_constants
from checker.engines.smt.transition_system import Transition, TransitionSystem, assignments, folded
from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.language.fairness import NEXT, Strength
from checker.language.liveness import fair_positions
from checker.language.spec import Spec
from checker.language.types import Type

MAX_INSTANCES = 4_000
"""The most instances of fair actions: Z3 gets a formula for each, in each state of a trace."""


@dataclass(frozen=True)
class SymbolicFairClass:
    """A fair class as terms: `enabled` over a state, `taken` over a state and the next one.

    A fixed argument that is an item of a collection has too many values to enumerate. Its Z3 constants then remain in
    both terms, as `placeholders`, and the object is a family with a class for each value. `items` are the values in the
    collection of a state, as terms over that state: one term for each placeholder. Every other value is disabled there.
    """

    strength: Strength
    enabled: Truth
    taken: Truth
    placeholders: tuple[Term, ...] = ()
    items: tuple[tuple[Term, ...], ...] = ((),)


def fair_classes(system: TransitionSystem, spec: Spec, following: State) -> list[SymbolicFairClass]:
    """Return the fair classes of a spec with enumerated parameters; `following` is the next state.

    Raises SpecError if there are too many instances.
    """
    return _FairClasses(system, spec, following).all()


class _FairClasses:
    def __init__(self, system: TransitionSystem, spec: Spec, following: State):
        self._system, self._spec, self._following = system, spec, following
        self._transitions = {transition.name: transition for transition in system.transitions}
        self._shapes = {shape.name: shape for shape in spec.shapes()}
        self._changed = negate(system.is_state(system.state, following))

    def all(self) -> list[SymbolicFairClass]:
        """Return all classes."""
        self._refuse_many_instances()
        with self._spec.bound():
            classes = [each for name in self._spec.fairness if name != NEXT for each in self._of_name(name)]
            if NEXT in self._spec.fairness:
                classes.append(self._of_next())
        return classes

    def _refuse_many_instances(self) -> None:
        fair = [
            list(self._shapes) if name == NEXT else fair_positions(self._spec, name) for name in self._spec.fairness
        ]
        count = sum(self._shapes[action].instances for actions in fair for action in actions)
        if count > MAX_INSTANCES:
            raise SpecError(
                f"the fair actions of {self._spec.name} have {count:,} instances, and the search for lassos takes at "
                f"most {MAX_INSTANCES:,}: set smaller constants, or use the command run"
            )

    def _of_next(self) -> SymbolicFairClass:
        """Return the class of the next-state relation. Every step of a trace that changes the state takes it."""
        enabled = any_of(self._changes(name, self._instances(name)) for name in self._shapes)
        return SymbolicFairClass(self._spec.fairness[NEXT].strength, enabled, self._changed)

    def _of_name(self, name: str) -> Iterator[SymbolicFairClass]:
        """Yield the classes of a fair action or union."""
        members = fair_positions(self._spec, name)
        # The fixed parameters of all members of a union have the same names and types, and so the same values.
        fixed = {action: [self._shapes[action].parameters[p] for p in places] for action, places in members.items()}
        first = next(iter(fixed.values()))
        stand_ins = {
            number: new_value(parameter.type, f"fair {name}({parameter.name})")
            for number, parameter in enumerate(first)
            if parameter.collection is not None
        }
        items = [
            _pairs(stand_ins.values(), [arguments[places[number]] for number in stand_ins])
            for action, places in members.items()
            for arguments in (self._instances(action) if stand_ins else [()])
        ]
        # Instances that differ in other arguments have the same items.
        distinct = {tuple(term.get_id() for _, term in pairs): pairs for pairs in items}
        values = [
            [stand_ins[n]] if n in stand_ins else _all_values(value_type.type) for n, value_type in enumerate(first)
        ]
        for choice in itertools.product(*values):
            instances = {
                action: self._instances(action, dict(zip(places, choice, strict=True)))
                for action, places in members.items()
            }
            yield SymbolicFairClass(
                self._spec.fairness[name].strength,
                any_of(self._changes(action, given) for action, given in instances.items()),
                both(self._changed, any_of(self._leads_on(action, given) for action, given in instances.items())),
                tuple(term for value in stand_ins.values() for term in z3_constants(value)),
                tuple(tuple(term for _, term in pairs) for pairs in distinct.values()),
            )

    # Instances.

    def _instances(self, name: str, fixed: dict[int, Value] | None = None) -> list[tuple[Value, ...]]:
        """Return the arguments of an action, with some of them fixed by position."""
        instances: list[tuple[Value, ...]] = [()]
        for position, parameter in enumerate(self._shapes[name].parameters):
            if fixed is not None and position in fixed:
                instances = [(*earlier, fixed[position]) for earlier in instances]
            elif parameter.collection is None:
                instances = [(*earlier, value) for earlier in instances for value in _all_values(parameter.type)]
            else:
                instances = [
                    (*earlier, item) for earlier in instances for item in self._items(name, earlier, parameter.type)
                ]
        return instances

    def _items(self, name: str, earlier: tuple[Value, ...], kind: Type) -> Sequence[Value]:
        """Return the items of the collection that binds the parameter of an action after some earlier arguments."""
        parameters = self._actions[name].parameters
        context = SymbolicContext(self._system.state)
        known = zip(parameters, self._shapes[name].parameters, earlier, strict=False)
        for parameter, declared, value in known:
            context.frame.locals[parameter.local] = converted(value, declared.type, parameter.local.type)[0]
        collection = parameters[len(earlier)].collection
        assert collection is not None
        evaluated = SymbolicStatements(context).expressions.evaluate(collection)
        # Blank items after the end are no items: the action is disabled for them.
        return evaluated.items if isinstance(evaluated, SymbolicArray) else _all_values(kind)

    @cached_property
    def _actions(self) -> dict[str, nodes.Action]:
        """The typed actions, of which the parameters have their collections."""
        return {action.name: action for action in compile_spec(self._spec, []).actions}

    def _changes(self, name: str, instances: Iterable[tuple[Value, ...]]) -> Truth:
        """Return whether one of some instances of an action is enabled and changes the state."""
        transition = self._transitions[name]
        unchanged = self._system.is_state(self._system.state, transition.successor)
        return self._any_instance(transition, both(transition.taken, negate(unchanged)), instances)

    def _leads_on(self, name: str, instances: Iterable[tuple[Value, ...]]) -> Truth:
        """Return whether one of some instances of an action is enabled and leads to the next state."""
        transition = self._transitions[name]
        reached = self._system.is_state(self._following, transition.successor)
        return self._any_instance(transition, both(transition.taken, reached), instances)

    def _any_instance(self, transition: Transition, truth: Truth, instances: Iterable[tuple[Value, ...]]) -> Truth:
        if isinstance(truth, bool):
            return truth
        parameters = [parameter.value for parameter in transition.parameters]
        return any_of(
            folded(z3.simplify(z3.substitute(truth, *_pairs(parameters, arguments)))) for arguments in instances
        )


def _all_values(kind: Type) -> list[Value]:
    """Return all values of a type."""
    return [constant(kind, value) for value in kind.values()]


def _pairs(values: Iterable[Value], others: Iterable[Value]) -> list[tuple[Term, Term]]:
    """Return the substitution of some values for those made of Z3 constants, as pairs (constant, term)."""
    return [pair for one, other in zip(values, others, strict=True) for pair in assignments({"": one}, {"": other})]
