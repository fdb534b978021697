"""Typing of liveness properties, and the check that a spec is inside the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checker.errors import CollectedErrors
from checker.frontend.program import LabelCall, compile_labels, compile_spec
from checker.ir import nodes
from checker.language.instance_limit import require_few_instances
from checker.language.liveness import LivenessProperty, check_liveness, liveness_names, liveness_property
from checker.language.roles import Role
from checker.language.spec import Spec


def check_language(spec: Spec, properties: list[str]) -> None:
    """Raise SpecError if a spec, or one of some properties of states, steps or behaviours, is outside the language.

    The error has all errors of the spec.
    """
    later = liveness_names(spec, properties)
    errors = CollectedErrors()
    with errors.collecting():
        require_few_instances(compile_spec(spec, [name for name in properties if name not in later]))
    with errors.collecting():
        check_liveness(spec, later)
        type_liveness(spec, later)
    errors.raise_found()


@dataclass(frozen=True)
class TypedLiveness:
    """The typed parts of some liveness properties: the calls of goals, premises and constraints, with their predicates.

    `inside` are the labels of the constraints.
    """

    properties: dict[str, LivenessProperty]
    calls: list[LabelCall]
    predicates: list[nodes.Predicate]
    inside: list[int]

    def number(self, method: str, arguments: tuple[Any, ...]) -> int:
        """Return the label of a call."""
        wanted = (method, arguments)
        return next(i for i, call in enumerate(self.calls) if (call.method, call.arguments) == wanted)


def type_liveness(spec: Spec, names: list[str]) -> TypedLiveness:
    """Return the typed parts of some liveness properties; raise SpecError if one is outside the language."""
    liveness = {name: liveness_property(spec, name) for name in names}
    calls: list[LabelCall] = []
    for name, property in liveness.items():
        for arguments in property.choices(spec):
            calls.append(LabelCall(name, property.parameters, arguments))
            if property.premise:
                parameters = tuple(property.parameters[position] for position in property.premise_positions)
                calls.append(LabelCall(property.premise, parameters, property.premise_arguments(arguments)))
    unique = list({(call.method, call.arguments): call for call in calls}.values())
    constraints = [LabelCall(name, (), ()) for name in spec.names_of(Role.CONSTRAINT)]
    calls = [*unique, *constraints]
    inside = list(range(len(unique), len(calls)))
    return TypedLiveness(liveness, calls, compile_labels(spec, calls), inside)
