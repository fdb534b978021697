"""Refinement: the declaration that a spec, seen through a mapping of its states, behaves as a more abstract spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from checker.errors import BoundsError, SpecError
from checker.language.interpreter import Interpreter, State, call_text

ConstantValue = int | bool | str


class Refinement:
    """`refines = Refinement(Abstract, x=lambda self: ...)`: a property of the steps of a spec.

    Each keyword maps a variable of the abstract spec: a lambda or a helper of the spec that returns the value of the
    variable. A variable without a keyword has the value of the spec's variable of the same name. The property holds if
    the mapped initial states are initial states of the abstract spec, and each step, mapped, is a step of the abstract
    spec or changes nothing. (TLA+: the spec implies the abstract one under the refinement mapping.) The properties,
    constraints and fairness of the abstract spec do not count.

    A constant of the abstract spec has the value of the spec's constant of the same name, or else its default.
    `constants` gives other values.
    """

    def __init__(
        self,
        abstract: type[Interpreter],
        /,
        *,
        constants: Mapping[str, ConstantValue] | None = None,
        **mapping: Callable[[Any], Any],
    ):
        self.abstract, self.constants, self.mapping = abstract, dict(constants or {}), mapping
        self.name = ""
        # Pages show the description of a property beside its counterexample.
        self.__doc__ = f"Each step is a step of {abstract.name}, or changes nothing there."

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the property of a spec in a state, as a function of the spec in the state before (None: no step)."""
        return self if instance is None else partial(self._is_allowed, instance)

    def check(self, owner: type[Interpreter]) -> None:
        """Raise SpecError if the mapping does not match the variables of the two specs."""
        known = self.abstract.declared_variables
        unknown = [name for name in self.mapping if name not in known]
        if unknown:
            raise SpecError(f"{self.abstract.name} has no variable {unknown[0]}; its variables are: {', '.join(known)}")
        for name in known:
            if name not in self.mapping and name not in owner.declared_variables:
                raise SpecError(
                    f"the variable {name} of {self.abstract.name} has no value: add {name}=lambda self: ..."
                )
        for name in self.constants:
            if name not in self.abstract.declared_constants:
                raise SpecError(f"{self.abstract.name} has no constant {name}")

    def behaviour_of(self, spec: Any) -> AbstractBehaviour:
        """Return the abstract spec with the constants that those of a spec give."""
        # Kept with the constants of the spec, which all its working copies share.
        found: AbstractBehaviour | None = spec._refined.get(self.name)
        if found is None:
            shared = {name: value for name, value in spec.constants.items() if name in self.abstract.declared_constants}
            found = spec._refined[self.name] = AbstractBehaviour(self.abstract(**(shared | self.constants)))
        return found

    def mapped(self, spec: Any, state: State) -> State:
        """Return the abstract state of a state; raise BoundsError if a value is not of its variable's type."""
        with spec.bound():
            return self._map(spec.in_state(state))

    def _map(self, working: Any) -> State:
        abstract = self.behaviour_of(working).spec
        values = {
            name: self.mapping[name](working) if name in self.mapping else getattr(working, name)
            for name in abstract.variables
        }
        with abstract.bound():
            return State({name: _coerce(self, abstract, name, value) for name, value in values.items()})

    def _is_allowed(self, working: Any, old: Any = None) -> bool:
        behaviour, after = self.behaviour_of(working), self._map(working)
        if old is None:
            return behaviour.starts_in(after)
        return behaviour.allows(self._map(old), after)


def _coerce(refinement: Refinement, abstract: Interpreter, name: str, value: Any) -> Any:
    try:
        return abstract.variables[name].coerce(value)
    except BoundsError as error:
        raise BoundsError(f"{name} of {refinement.abstract.name}: {error}") from None


class AbstractBehaviour:
    """The initial states and the steps of an abstract spec; the steps are computed once for each state."""

    def __init__(self, spec: Interpreter):
        # Any: a `Spec`, and its module imports this one.
        self.spec: Any = spec
        self._initial: frozenset[State] | None = None
        self._steps: dict[State, tuple[frozenset[State], str]] = {}

    def starts_in(self, state: State) -> bool:
        """Return whether a state is an initial state."""
        if self._initial is None:
            self._initial = frozenset(self.spec.initial_states())
        return state in self._initial

    def allows(self, before: State, after: State) -> bool:
        """Return whether a step leads from one state to another, or both are equal.

        Raises BoundsError if no step does, and an action leaves a type's bounds in the first state.
        """
        if before == after:
            return True
        if before not in self._steps:
            steps, failures = self.spec.expand(before)
            message = ""
            if failures:
                message = f"{call_text(failures[0].action, failures[0].arguments)}: {failures[0].message}"
            self._steps[before] = frozenset(step.state for step in steps), message
        reached, message = self._steps[before]
        if after not in reached and message:
            raise BoundsError(f"{self.spec.name}: {message}")
        return after in reached
