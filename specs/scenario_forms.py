"""Forms of scenarios that families share: expected violations, and fairness without one of its promises."""

from collections.abc import Mapping

from checker.language import Scenario, Spec


def violates(
    spec: type[Spec], name: str, constants: Mapping[str, object], expect: Mapping[str, int], description: str
) -> Scenario:
    """Return a scenario that checks the properties that it violates, with the length of each counterexample."""
    return Scenario(spec, name, constants, expect, list(expect), description=description)


def without_each(
    spec: type[Spec],
    constants: Mapping[str, object],
    promises: Mapping[str, object],
    properties: list[str],
    left_out: Mapping[str, tuple[Mapping[str, int] | int, str]],
    prefix: str = "",
) -> list[Scenario]:
    """Return the scenario `without_ACTION` for each action of `left_out`, with every promise but that of the action.

    `left_out` has the counterexample and the description of each: the numbers of states by property, or the number of
    the only property. `prefix` goes before the names.
    """
    return [
        Scenario(spec, f"{prefix}without_{action}", constants,
            {properties[0]: expect} if isinstance(expect, int) else expect, properties, description=description,
            fair={name: fairness for name, fairness in promises.items() if name != action})
        for action, (expect, description) in left_out.items()
    ]  # fmt: skip
