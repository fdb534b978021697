"""Liveness properties of a spec with its constants set, the choices of their parameters, and the fair classes of steps.

A property is decided for each choice of its parameters. A behaviour violates it if, for the goal P (the method) and the
premise Q:

    eventually           P is false in every state
    always eventually    P is false in every state from some state on
    eventually always    P is false again and again, for ever
    leads to             Q is true and P is false in some state, and P is false in every state after it
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from checker.errors import SpecError
from checker.language.fairness import NEXT, FairClass
from checker.language.interpreter import ParameterDeclaration, State, Step
from checker.language.roles import LIVENESS_ROLES, Role, premise_of
from checker.language.source import Source, source_of
from checker.language.spec import Spec

MOST_CHOICES = 1024
"""The most choices of all parameters of a liveness property: each is decided by itself."""


@dataclass(frozen=True)
class LivenessProperty:
    """A liveness property: `name` is its goal.

    `premise` is the name of the helper in `@leads_to`, or "". `premise_positions` are the positions of the premise's
    parameters among `parameters`.
    """

    name: str
    role: Role
    parameters: tuple[ParameterDeclaration, ...]
    premise: str = ""
    premise_positions: tuple[int, ...] = ()

    def premise_arguments(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of the premise for a choice of the property's parameters."""
        return tuple(arguments[position] for position in self.premise_positions)

    def bindings(self, arguments: tuple[Any, ...]) -> tuple[tuple[str, Any], ...]:
        """Return the names of the parameters with their values."""
        return tuple((parameter.name, value) for parameter, value in zip(self.parameters, arguments, strict=True))

    def choices(self, spec: Spec) -> list[tuple[Any, ...]]:
        """Return all choices of the parameters, in their order; the last parameter varies fastest."""
        with spec.bound():
            return list(itertools.product(*(list(parameter.type.values()) for parameter in self.parameters)))


def liveness_names(spec: Spec, names: tuple[str, ...] | list[str]) -> list[str]:
    """Return the liveness properties among some properties."""
    return [name for name in names if spec.roles.get(name) in LIVENESS_ROLES]


def liveness_property(spec: Spec, name: str) -> LivenessProperty:
    """Return a liveness property; raise SpecError if its parameters or its premise are wrong."""
    source = source_of(getattr(type(spec), name))
    parameters = spec.parameters_of(name)
    count = math.prod(parameter.choices for parameter in parameters)
    if count > MOST_CHOICES:
        raise source.error(
            source.tree, f"{name} has {count} choices of its parameters, over {MOST_CHOICES}: use smaller types"
        )
    role = spec.roles[name]
    if role is not Role.LEADS_TO:
        return LivenessProperty(name, role, parameters)
    premise = _premise_name(spec, name)
    positions = _premise_positions(spec, source, name, premise, parameters)
    return LivenessProperty(name, role, parameters, premise, positions)


def _premise_name(spec: Spec, name: str) -> str:
    """Return the premise that the decorator of a method gave; an override without a decorator keeps it."""
    methods = (vars(base)[name] for base in type(spec).__mro__ if name in vars(base))
    return next(premise for method in methods if (premise := premise_of(method)))


def _premise_positions(
    spec: Spec, source: Source, name: str, premise: str, parameters: tuple[ParameterDeclaration, ...]
) -> tuple[int, ...]:
    method = getattr(type(spec), premise, None)
    if not callable(method) or spec.roles.get(premise) is Role.ACTION or hasattr(Spec, premise):
        raise source.error(
            source.tree,
            f'{premise} in @leads_to("{premise}") of {name} is not a method of {type(spec).__name__}: '
            f"define a helper, as in def {premise}(self): return ...",
        )
    code = method.__code__
    wanted = code.co_varnames[1 : code.co_argcount]
    names = [parameter.name for parameter in parameters]
    for parameter in wanted:
        if parameter not in names:
            raise source.error(
                source.tree,
                f"the premise {premise} has a parameter {parameter}, which {name} does not have: "
                f"add {parameter} with its type to {name}",
            )
    return tuple(names.index(parameter) for parameter in wanted)


def _positions(spec: Spec, action: str, names: tuple[str, ...]) -> tuple[int, ...]:
    """Return the positions of the parameters for which an action is fair; raise SpecError if it has no such parameter.

    The decorator has checked them, but an override of the action may have other parameters.
    """
    try:
        return spec.fairness[action].positions(action, names)
    except SpecError as error:
        source = source_of(getattr(type(spec), action))
        raise source.error(source.tree, error.message) from None


class FairClasses:
    """The fair classes of a spec's steps, under the fairness of its actions."""

    def __init__(self, spec: Spec):
        self._spec = spec
        self._next = spec.fairness.get(NEXT)
        self._positions: dict[str, tuple[int, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        for shape in spec.shapes():
            if shape.name in spec.fairness:
                names = tuple(parameter.name for parameter in shape.parameters)
                self._names[shape.name] = names
                self._positions[shape.name] = _positions(spec, shape.name, names)

    def of_call(self, action: str, arguments: tuple[Any, ...]) -> tuple[FairClass, ...]:
        """Return the fair classes to which the steps of an action instance belong."""
        found = []
        if action in self._positions:
            names, positions = self._names[action], self._positions[action]
            choice = tuple((names[position], arguments[position]) for position in positions)
            strength = self._spec.fairness[action].strength
            found.append(FairClass(strength, action, choice, len(choice) == len(names)))
        if self._next is not None:
            found.append(FairClass(self._next.strength, None))
        return tuple(found)

    def of_step(self, state: State, step: Step) -> tuple[FairClass, ...]:
        """Return the fair classes that a step from a state takes: none if it does not change the state."""
        # TLA+'s <A>_vars: a step of A that changes the state. Enabledness is that of <A>_vars too.
        return () if step.state == state else self.of_call(step.action, step.arguments)


def check_liveness(spec: Spec, names: list[str]) -> None:
    """Raise SpecError if the declaration of one of some liveness properties is wrong, or that of a fair action."""
    for name in names:
        liveness_property(spec, name)
    if names:
        FairClasses(spec)
