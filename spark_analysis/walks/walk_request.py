"""The options of `simulate`, and the run of walks that they describe."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from checker.engines.native.lowering.branches import branches_of
from checker.engines.native.walk.walker import MOST_WEIGHT, Walker
from checker.errors import BoundsError, InputError
from checker.frontend import compile_spec
from checker.ir.digest import digest_of
from checker.language.roles import LIVENESS_ROLES, Role
from checker.language.spec import Scenario, Spec
from checker.run import registry
from checker.run.expectation import expectation_for, properties_to_check, property_names
from checker.run.request import settings_of
from checker.run.version import tidemark_version
from spark_analysis.walks.records import ActionRange, BranchCondition, WalkConfiguration, WalkRun

Bias = Literal["uniform", "rare"]
Value = int | bool | str

MOST_WALKS_IN_PART, MOST_STEPS_IN_PART, FEWEST_WALKS_IN_PART = 200_000, 8_000_000, 500
"""Limits for the size of a part. It bounds the work lost when a run dies and the memory of a process."""

_USUAL_PARTS = 32


@dataclass(frozen=True)
class WalkRequest:
    """The options of `simulate` that determine the walks."""

    target: str
    walks: int
    depth: int
    seed: int
    settings: tuple[str, ...] = ()
    sweep: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    bias: Bias = "uniform"
    sampling: int = 0
    steps: bool = False
    deadlock: bool = False
    beyond: bool = False


def run_of_request(request: WalkRequest) -> WalkRun:
    """Return the run for a request; raise UserError for unknown names, wrong constants and wrong weights."""
    entry, scenario = _select(request)
    settings = settings_of(entry.spec, request.settings)
    sweep = _sweep(entry.spec, request.sweep, settings)
    constants = (dict(scenario.constants) if scenario is not None else {}) | settings
    properties, expected = _check(entry.spec, scenario, request, is_own=not settings and not sweep)
    weights = _weights(entry.spec, request.weights)
    grid = [dict(zip(sweep, chosen, strict=True)) for chosen in itertools.product(*sweep.values())]
    specs = [entry.spec(**(constants | point)) for point in grid]
    part = _part_size(request)
    return WalkRun(
        target=entry.target,
        spec=entry.name,
        scenario=scenario.name if scenario is not None and not settings and not sweep else None,
        settings=settings,
        sweep=sweep,
        properties=properties,
        expected=expected,
        seed=request.seed,
        walks=request.walks,
        depth=request.depth,
        part=part,
        sampling=request.sampling,
        bias=request.bias,
        weights=weights,
        steps=request.steps,
        configurations=tuple(
            _configuration(number, spec, properties, request, weights) for number, spec in enumerate(specs)
        ),
        tidemark=tidemark_version(),
        beyond=request.beyond,
    )


def _select(request: WalkRequest) -> tuple[registry.SpecEntry, Scenario | None]:
    """Return the spec and the scenario: the named one, else the first, or None if constants are set."""
    selections = registry.select(request.target)
    if len(selections) > 1:
        known = ", ".join(selection.entry.target for selection in selections)
        raise InputError(f"{request.target} has several specs; name one of {known}")
    entry, scenario = selections[0].entry, selections[0].scenario
    if scenario is None and not request.settings and not request.sweep and entry.scenarios:
        scenario = entry.scenarios[0]
    return entry, scenario


def _sweep(spec: type[Spec], given: tuple[str, ...], settings: Mapping[str, Value]) -> dict[str, list[Value]]:
    """Return the values of each varied constant."""
    sweep: dict[str, list[Value]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not all(values.split(",")):
            raise InputError(f"--sweep {text}: write NAME=VALUE,VALUE,..., as in --sweep replicas=2,3")
        if name in sweep or name in settings:
            raise InputError(f"--sweep {text}: {name} is given twice")
        parsed = [settings_of(spec, (f"{name}={value}",))[name] for value in values.split(",")]
        if len(set(parsed)) < len(parsed):
            raise InputError(f"--sweep {text}: a value is given twice")
        sweep[name] = parsed
    return sweep


def _check(
    spec: type[Spec], scenario: Scenario | None, request: WalkRequest, *, is_own: bool
) -> tuple[tuple[str, ...], str | list[str] | None]:
    """Return the properties to check, with `deadlock` last, and the expected verdict."""
    usual = properties_to_check(scenario) if scenario is not None else tuple(property_names(spec))
    # A walk is finite, so it decides no liveness property.
    chosen = tuple(name for name in usual if name not in liveness_in(spec.roles))
    if request.properties:
        known = [*property_names(spec), "deadlock"]
        for name in request.properties:
            if name not in known:
                raise InputError(f"unknown property {name}: {registry.suggestion(name, known)}")
            if name in liveness_in(spec.roles):
                raise InputError(
                    f"{name} is a liveness property, which no finite walk decides: check it with python -m checker run"
                )
        chosen = tuple(dict.fromkeys(request.properties))
    wanted = [name for name in chosen if name != "deadlock"]
    if "deadlock" in chosen or request.deadlock:
        wanted.append("deadlock")
    if scenario is None or not is_own or not set(wanted) <= set(usual):
        return tuple(wanted), None
    expected = expectation_for(scenario, tuple(wanted))
    return tuple(wanted), expected if isinstance(expected, str) else list(expected)


def liveness_in(roles: Mapping[str, Role]) -> list[str]:
    """Return the names of the liveness properties among the roles of a spec, which no walk checks."""
    return [name for name, role in roles.items() if role in LIVENESS_ROLES]


def _weights(spec: type[Spec], given: tuple[str, ...]) -> dict[str, int]:
    weights: dict[str, int] = {}
    actions = [name for name, role in spec.roles.items() if role.value == "action"]
    for text in given:
        name, equals, weight = text.partition("=")
        if not equals or not weight.isdecimal() or not 1 <= int(weight) <= MOST_WEIGHT:
            raise InputError(f"--weight {text}: write ACTION=N with a whole number from 1 to {MOST_WEIGHT:,}")
        if name not in actions:
            raise InputError(f"{spec.name} has no action {name}: {registry.suggestion(name, actions)}")
        weights[name] = int(weight)
    return weights


def _part_size(request: WalkRequest) -> int:
    """Return the number of walks in a part. It depends on the request alone, so that every run has the same parts."""
    # The number of cores must not matter: the parts of a run that is resumed elsewhere must be the same.
    most = max(1, min(MOST_WALKS_IN_PART, MOST_STEPS_IN_PART // request.depth))
    return min(most, max(FEWEST_WALKS_IN_PART, -(-request.walks // _USUAL_PARTS)))


def _configuration(
    number: int, spec: Spec, properties: tuple[str, ...], request: WalkRequest, weights: Mapping[str, int]
) -> WalkConfiguration:
    chosen: dict[str, int] = {}
    if request.bias == "rare":
        chosen = Walker(spec, list(properties)).rare_weights(request.depth)
    # Weights from the command line replace those of the pilot run.
    chosen |= weights
    try:
        initial = len(spec.initial_states())
    except BoundsError as error:
        raise InputError(f"{spec.name} cannot be simulated: its init leaves a type's bounds: {error}") from None
    program = compile_spec(spec, [name for name in properties if name != "deadlock"])
    return WalkConfiguration(
        number,
        dict(spec.constants),
        digest_of(program),
        initial,
        tuple(
            ActionRange(shape.name, shape.first_instance, shape.instances, chosen.get(shape.name, 1))
            for shape in spec.shapes()
        ),
        tuple(BranchCondition(Path(site.file).name, site.line, site.text) for site in branches_of(program)),
    )
