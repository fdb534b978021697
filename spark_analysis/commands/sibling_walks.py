"""Requests for walks of the specs beside which `simulate --against` shows a spec."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from checker.errors import InputError, UserError
from checker.language.constant_values import setting_text
from checker.language.roles import SAFETY_ROLES
from checker.language.spec import Spec
from checker.run import registry
from checker.run.plan import DEADLOCK
from spark_analysis.walks.records import WalkRun
from spark_analysis.walks.walk_request import WalkRequest, run_of_request


@dataclass(frozen=True)
class SiblingWalks:
    """The walks of a related spec, and the name of the folder for them."""

    request: WalkRequest
    run: WalkRun
    folder: str


def sibling_walks(request: WalkRequest, run: WalkRun, against: Sequence[str]) -> list[SiblingWalks]:
    """Return the walks of related specs that belong to the walks of a request.

    A spec has the constants of the run that it declares; a scenario has its own. Both check the properties of the run
    that they declare. All other options are those of the request. Raises UserError if one of them does not fit a spec,
    or if two are the same.
    """
    siblings = [_sibling(request, run, target) for target in against]
    folders = [sibling.folder for sibling in siblings]
    twice = next((name for at, name in enumerate(against) if folders[at] in folders[:at]), None)
    if twice is not None:
        raise InputError(f"--against {twice}: its walks have the folder of those of another --against; name it once")
    return siblings


def _sibling(request: WalkRequest, run: WalkRun, target: str) -> SiblingWalks:
    selections = registry.select(target)
    if len(selections) > 1:
        raise InputError(f"--against {target} has several specs: name one of them")
    entry, scenario = selections[0].entry, selections[0].scenario
    settings: tuple[str, ...] = ()
    if scenario is None:
        constants = {name: value for name, value in run.configurations[0].constants.items() if name not in run.sweep}
        settings = tuple(
            setting_text(name, value) for name, value in constants.items() if name in entry.spec.declared_constants
        )
    # A walk ends at its first violation, so one more property would lower the shares of the others.
    properties = request.properties or _common_properties(run, entry.spec)
    own = dataclasses.replace(request, target=target, settings=settings, properties=properties)
    folder = "-".join((*entry.name.split("/"), *([scenario.name] if scenario is not None else [])))
    try:
        return SiblingWalks(own, run_of_request(own), folder)
    except UserError as error:
        if error.file is not None:
            raise
        raise InputError(f"--against {target}: {error.message}") from None


def _common_properties(run: WalkRun, spec: type[Spec]) -> tuple[str, ...]:
    """Return the properties of a run that a spec has too; without one, the spec checks its own."""
    return tuple(name for name in run.properties if name == DEADLOCK or spec.roles.get(name) in SAFETY_ROLES)
