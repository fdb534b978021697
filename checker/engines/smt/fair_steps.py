"""Fair classes of steps as terms: which states enable a class, and which steps take it.

As in TLA+, only steps that change the state count (`<A>_vars`). A class is enabled in a state if one of its steps
changes the state (`ENABLED <A>_vars`). If two actions lead to the same successor, the step takes the classes of both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import z3

from checker.engines.smt.lowering.encoding import constant, new_value
from checker.engines.smt.lowering.evaluation import State
from checker.engines.smt.lowering.logic import Term, Truth, any_of, both, negate
from checker.engines.smt.lowering.symbolic_values import SymbolicArray, Value
from checker.engines.smt.transition_system import Transition, TransitionSystem, assignments, folded
from checker.errors import SpecError
from checker.language.fairness import NEXT, Strength
from checker.language.liveness import fair_positions
from checker.language.parameters import ParameterDeclaration
from checker.language.spec import Spec

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
            found = [each for name in self._spec.fairness if name != NEXT for each in self._of_name(name)]
            if NEXT in self._spec.fairness:
                found.append(self._of_next())
        return found

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
            _pairs(stand_ins.values(), chosen)
            for parameters in fixed.values()
            for chosen in itertools.product(*(self._values(parameters[number]) for number in stand_ins))
        ]
        values = [[stand_ins[n]] if n in stand_ins else self._values(parameter) for n, parameter in enumerate(first)]
        for choice in itertools.product(*values):
            instances = {
                action: self._instances(action, dict(zip(places, choice, strict=True)))
                for action, places in members.items()
            }
            yield SymbolicFairClass(
                self._spec.fairness[name].strength,
                any_of(self._changes(action, given) for action, given in instances.items()),
                both(self._changed, any_of(self._leads_on(action, given) for action, given in instances.items())),
                tuple(placeholder for placeholder, _ in items[0]),
                tuple(tuple(term for _, term in pairs) for pairs in items),
            )

    # Instances.

    def _values(self, parameter: ParameterDeclaration) -> Sequence[Value]:
        """Return the values of a parameter: all of its type, or the items of its collection in the state."""
        if parameter.collection is None:
            return [constant(parameter.type, value) for value in parameter.type.values()]
        collection = self._system.state[parameter.collection.attr]  # type: ignore[attr-defined]
        assert isinstance(collection, SymbolicArray)
        # Blank items after the end are no items: the action's `require` is false for them.
        return collection.items

    def _instances(self, name: str, fixed: dict[int, Value] | None = None) -> list[tuple[Value, ...]]:
        """Return the arguments of an action, with some of them fixed by position."""
        given = fixed or {}
        return list(
            itertools.product(
                *(
                    [given[position]] if position in given else self._values(parameter)
                    for position, parameter in enumerate(self._shapes[name].parameters)
                )
            )
        )

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


def _pairs(values: Iterable[Value], others: Iterable[Value]) -> list[tuple[Term, Term]]:
    """Return the substitution of some values for those made of Z3 constants, as pairs (constant, term)."""
    return [pair for one, other in zip(values, others, strict=True) for pair in assignments({"": one}, {"": other})]
