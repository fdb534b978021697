"""Scenarios in which every promise of fairness but one is kept: they show what that promise is for."""

from collections.abc import Mapping

from checker.language import Scenario, Spec


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
        Scenario(
            spec,
            f"{prefix}without_{action}",
            constants,
            {properties[0]: expect} if isinstance(expect, int) else expect,
            properties,
            description=description,
            fair={name: fairness for name, fairness in promises.items() if name != action},
        )
        for action, (expect, description) in left_out.items()
    ]
