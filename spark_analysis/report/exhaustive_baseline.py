"""What is known of a configuration besides its walks: a bounded exhaustive exploration, or else the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checker.errors import UserError
from checker.language.roles import PROPERTY_ROLES, Role
from checker.language.spec import Spec
from checker.run import ledger
from checker.run.plan import DEADLOCK, Plan
from checker.run.result import Violation
from traces.walks.records import WalkRun

MOST_CONFIGURATIONS = 16
"""Of how many configurations a report explores the states itself."""


@dataclass(frozen=True)
class ExhaustiveBaseline:
    """The states of a configuration, and the violations with the number of states of the shortest trace.

    `states` is None where they could not all be explored; the violations are then those found on the way. `reason` says
    why not, `source` where the figures are from. `found` are the violations with their traces, where there are any.
    """

    states: int | None
    violations: Mapping[str, int] = field(default_factory=dict)
    found: tuple[Violation, ...] = ()
    source: str = ""
    reason: str = ""


def baseline_of(spec: Spec, run: WalkRun, configuration: int, max_states: int) -> ExhaustiveBaseline:
    """Return what an exploration of `max_states` states at most tells, or what the ledger says of the scenario."""
    if max_states and configuration < MOST_CONFIGURATIONS:
        found = _explored(spec, run, max_states)
        if found.states is not None:
            return found
    else:
        found = ExhaustiveBaseline(None, reason="it was not explored")
    recorded = _recorded(run, spec)
    return recorded if recorded is not None else found


def _explored(spec: Spec, run: WalkRun, max_states: int) -> ExhaustiveBaseline:
    from checker.engines.native.engine import explore

    names = [name for name in run.properties if spec.roles.get(name) in PROPERTY_ROLES]
    names = [name for name in names if spec.roles[name] is not Role.REACHABLE]
    plan = Plan(tuple(names), stop="all", max_states=max_states, deadlock=DEADLOCK in run.properties)
    try:
        result = explore(spec, plan)
    except (UserError, MemoryError) as error:
        return ExhaustiveBaseline(None, reason=str(error))
    if result.ended == "interrupted":
        raise KeyboardInterrupt
    violations = {found.property: found.length for found in result.violations}
    found, source = tuple(result.violations), "exhaustive exploration"
    if result.ended == "complete":
        return ExhaustiveBaseline(result.distinct_states, violations, found, source)
    ended = {"max_states": f"it has more than {max_states:,} states", "violation": "a value leaves its bounds"}
    return ExhaustiveBaseline(None, violations, found, source, ended.get(result.ended, result.ended))


def _recorded(run: WalkRun, spec: Spec) -> ExhaustiveBaseline | None:
    """Return what the ledger says of the scenario that was walked, on its own constants."""
    from checker.run import registry

    entry = registry.select_spec(run.target)
    scenario = next((found for found in entry.scenarios if found.name == run.scenario), None)
    if scenario is None or entry.spec(**scenario.constants).constants != spec.constants:
        return None
    record = ledger.read(ledger.default_path()).get(f"{entry.name}/{run.scenario}")
    if record is None or record.distinct_states is None:
        return None
    violations = {name: length for name, length in record.violations.items() if isinstance(length, int)}
    return ExhaustiveBaseline(record.distinct_states, violations, source="ledger")
