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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from checker.errors import SpecError
from checker.language.class_body import declaration_error
from checker.language.fairness import NEXT, FairClass, Fairness
from checker.language.interpreter import State, Step
from checker.language.parameters import ParameterDeclaration
from checker.language.roles import LIVENESS_ROLES, Role, premise_of
from checker.language.source import Source, source_of
from checker.language.spec import Spec
from checker.language.types import Type

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


def liveness_names(spec: Spec, names: Sequence[str]) -> list[str]:
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


def fair_positions(spec: Spec, name: str) -> dict[str, tuple[int, ...]]:
    """Return the actions of a fair action or union, each with the positions of the parameters that a class fixes.

    Of a union, these are the same parameters in the same order. Raises SpecError if an action has no such parameter, or
    one of another type: an override may have changed the parameters.
    """
    actions = spec.fair_unions.get(name, (name,))
    shapes = {shape.name: shape for shape in spec.shapes()}
    # Without those that `choose` binds: fairness does not distinguish choices.
    parameters = {
        action: {each.name: each.type for each in shapes[action].parameters if not each.is_choice} for action in actions
    }
    try:
        fixed = _parameters_of_class(name, spec.fairness[name], parameters)
    except SpecError as error:
        if name in spec.fair_unions:
            raise declaration_error(type(spec), name, error.message) from None
        source = source_of(getattr(type(spec), name))
        raise source.error(source.tree, error.message) from None
    return {action: tuple(list(known).index(parameter) for parameter in fixed) for action, known in parameters.items()}


def _parameters_of_class(name: str, fairness: Fairness, parameters: dict[str, dict[str, Type]]) -> list[str]:
    """Return the names of the parameters that a class fixes, from the types of the parameters of each action."""
    for action, known in parameters.items():
        fairness.require_parameters(action, tuple(known))
    first, *others = parameters.values()
    if fairness.for_each is not None:
        fixed = [parameter for parameter in first if parameter in fairness.for_each]
    else:
        fixed = [parameter for parameter in first if all(parameter in other for other in others)]
    for parameter in fixed:
        if any(other[parameter] != first[parameter] for other in others):
            raise SpecError(
                f"the actions of {name} have a parameter {parameter} of different types: "
                "rename one of them, or write for_each=()"
            )
    return fixed


class FairClasses:
    """The fair classes of a spec's steps, under the fairness of its actions and unions."""

    def __init__(self, spec: Spec):
        self._spec = spec
        self._next = spec.fairness.get(NEXT)
        self._names = {shape.name: shape.signature for shape in spec.shapes()}
        # Of each action: the actions and unions that are fair and contain it, with the positions that a class fixes.
        self._fixed: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
        for name in spec.fairness:
            if name != NEXT:
                for action, positions in fair_positions(spec, name).items():
                    self._fixed.setdefault(action, []).append((name, positions))

    def of_call(self, action: str, arguments: tuple[Any, ...]) -> tuple[FairClass, ...]:
        """Return the fair classes to which the steps of an action instance belong."""
        classes = []
        names = self._names[action]
        for name, positions in self._fixed.get(action, ()):
            choice = tuple((names[position], arguments[position]) for position in positions)
            strength, union = self._spec.fairness[name].strength, self._spec.fair_unions.get(name, ())
            classes.append(FairClass(strength, name, choice, len(choice) == len(names) and not union, union))
        if self._next is not None:
            classes.append(FairClass(self._next.strength, None))
        return tuple(classes)

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
