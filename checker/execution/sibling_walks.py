"""Requests for walks of the specs beside which `simulate --against` shows a spec."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from checker.errors import InputError
from checker.records import dataclass
from checker.run import registry
from traces.walks.records import WalkRun
from traces.walks.walk_request import WalkRequest, requested_run


@dataclass(frozen=True)
class SiblingWalks:
    """The walks of a related spec, and the name of the folder for them."""

    request: WalkRequest
    run: WalkRun
    folder: str


def sibling_walks(request: WalkRequest, run: WalkRun, against: Sequence[str]) -> list[SiblingWalks]:
    """Return the walks of related specs that belong to the walks of a request.

    A spec has the constants of the run, as far as it declares them; a scenario has its own. All other options are those
    of the request. Raises UserError if one of them does not fit a spec, or if two are the same.
    """
    found = [_sibling(request, run, target) for target in against]
    folders = [sibling.folder for sibling in found]
    twice = next((name for at, name in enumerate(against) if folders[at] in folders[:at]), None)
    if twice is not None:
        raise InputError(f"--against {twice}: its walks have the folder of those of another --against; name it once")
    return found


def _sibling(request: WalkRequest, run: WalkRun, target: str) -> SiblingWalks:
    selections = registry.select(target)
    if len(selections) > 1:
        raise InputError(f"--against {target} has several specs: name one of them")
    entry, scenario = selections[0].entry, selections[0].scenario
    settings: tuple[str, ...] = ()
    if scenario is None:
        constants = {name: value for name, value in run.configurations[0].constants.items() if name not in run.sweep}
        settings = tuple(
            f"{name}={str(value).lower() if isinstance(value, bool) else value}"
            for name, value in constants.items()
            if name in entry.spec.declared_constants
        )
    own = dataclasses.replace(request, target=target, settings=settings)
    folder = "-".join((*entry.name.split("/"), *([scenario.name] if scenario is not None else [])))
    try:
        return SiblingWalks(own, requested_run(own), folder)
    except InputError as error:
        raise InputError(f"--against {target}: {error.message}") from None
