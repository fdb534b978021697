"""The specs that an explorer shows: one, or two variants of a protocol side by side, with their constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from checker.errors import BoundsError, InputError
from checker.language.interpreter import State
from checker.language.json_values import to_plain_json
from checker.language.spec import FairnessChanges, Scenario, Spec
from checker.run import registry
from checker.run.expectation import properties_to_check
from checker.run.plan import DEADLOCK
from checker.run.request import settings_of


@dataclass(frozen=True)
class Variant:
    """A spec with the constants from which the explorer starts.

    `name` is the name of the scenario or the spec, `target` that of the spec on the command line. `constants` are those
    that differ from the defaults, `properties` those that the scenario checks.
    """

    name: str
    target: str
    spec: type[Spec]
    scenario: str | None = None
    constants: Mapping[str, int | bool | str] = field(default_factory=dict)
    fair: FairnessChanges = field(default_factory=dict)
    description: str = ""
    properties: tuple[str, ...] | None = None

    def checks(self, name: str) -> bool:
        """Return whether a property belongs to the scenario; without a scenario, all but `deadlock` do."""
        return name != DEADLOCK if self.properties is None else name in self.properties

    def with_settings(self, settings: tuple[tuple[str, str], ...]) -> Spec:
        """Return the spec with some constants set, as by `--set`; those that it does not have are left out.

        Raises UserError for a wrong value.
        """
        known = tuple(f"{name}={text}" for name, text in settings if name in self.spec.declared_constants)
        return self.spec(**{**self.constants, **settings_of(self.spec, known)}).with_fairness(self.fair)


def variant_of(target: str, settings: tuple[str, ...] = ()) -> Variant:
    """Return the variant that a name on the command line selects, a spec or a scenario; raise UserError otherwise."""
    entry = registry.select_spec(target)
    return variant_of_entry(entry, registry.select(target)[0].scenario, settings_of(entry.spec, settings))


def variant_of_entry(
    entry: registry.SpecEntry,
    scenario: Scenario | None,
    constants: Mapping[str, int | bool | str] = MappingProxyType({}),
) -> Variant:
    """Return the variant of a spec, or of one of its scenarios, with some constants set."""
    if scenario is None:
        return Variant(entry.name, entry.target, entry.spec, None, constants)
    return Variant(
        f"{entry.name}/{scenario.name}",
        entry.target,
        entry.spec,
        scenario.name,
        {**scenario.constants, **constants},
        scenario.fair,
        scenario.description,
        properties_to_check(scenario),
    )


def sibling_of(target: str, first: Variant) -> Variant:
    """Return the variant that is shown beside another one.

    A spec gets the constants that both have, a scenario its own.
    """
    variant = variant_of(target)
    if variant.scenario is not None:
        return variant
    shared = {name: value for name, value in first.constants.items() if name in variant.spec.declared_constants}
    return Variant(variant.name, variant.target, variant.spec, None, shared)


def configure_variants(variants: tuple[Variant, ...], settings: tuple[tuple[str, str], ...]) -> tuple[Spec, ...]:
    """Return the specs of some variants with constants set; raise UserError for a wrong value or an unknown name.

    They are explored without normalisation: each step shows what the modelled system does.
    """
    known = [name for variant in variants for name in variant.spec.declared_constants]
    for name, _ in settings:
        if name not in known:
            raise InputError(f"{variants[0].spec.name} has no constant {name[:80]}: {registry.suggestion(name, known)}")
    return tuple(variant.with_settings(settings).without_normalisation() for variant in variants)


def initial_states_of(spec: Spec) -> list[State]:
    """Return the initial states of a spec; raise InputError if there is none, or if `init` leaves its bounds."""
    try:
        states = spec.initial_states()
    except BoundsError as error:
        raise InputError(f"{spec.name}: init cannot be executed: {error}") from None
    if not states:
        raise InputError(f"{spec.name} has no initial state: `init` is disabled for every choice of its parameters")
    return states


def plain_value(spec: Spec, name: str, state: State) -> object:
    """Return the value of a variable as plain JSON, by which two specs are compared."""
    with spec.bound():
        return to_plain_json(spec.variables[name], state.values[name])


def differing_variables(one: Spec, state: State, other: Spec, other_state: State) -> list[str]:
    """Return the variables of both specs that have different values in two states."""
    return [
        name
        for name in one.variables
        if name in other.variables and plain_value(one, name, state) != plain_value(other, name, other_state)
    ]
