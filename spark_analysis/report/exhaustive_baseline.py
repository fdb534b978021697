"""The exhaustive result of a configuration, for comparison with walks: from a bounded exploration or the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checker.errors import UserError
from checker.language.roles import SAFETY_ROLES, Role
from checker.language.spec import Spec
from checker.run import ledger
from checker.run.account import account_of
from checker.run.plan import DEADLOCK, Plan
from checker.run.result import Violation
from spark_analysis.walks.exact_probability import Failure
from spark_analysis.walks.importance_splitting import SplitEstimate
from spark_analysis.walks.records import WalkRun

MOST_CONFIGURATIONS = 16
"""Number of configurations that a report explores."""


@dataclass(frozen=True)
class ExhaustiveBaseline:
    """The number of states of a configuration, and its violations with the length of the shortest trace, in states.

    `states` is None if the exploration is not complete; `reason` says why, and the violations are those found so far.
    `source` names the origin of the figures. `found` are the violations with traces; it is empty for figures from the
    ledger.
    """

    states: int | None
    violations: Mapping[str, int] = field(default_factory=dict)
    found: tuple[Violation, ...] = ()
    source: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ExploredConfiguration:
    """The exploration of a configuration, the exact probability of each failure, and estimates by splitting.

    `exact` is None if the configuration has too many states. `split` has the properties that few walks violate.
    """

    baseline: ExhaustiveBaseline
    exact: Mapping[Failure, float] | None = None
    split: Mapping[str, SplitEstimate] = field(default_factory=dict)


def baseline_of(spec: Spec, run: WalkRun, configuration: int, max_states: int) -> ExhaustiveBaseline:
    """Return the result of exploring at most `max_states` states, or else the scenario's entry in the ledger."""
    if max_states and configuration < MOST_CONFIGURATIONS:
        baseline = _explore(spec, run, max_states)
        if baseline.states is not None:
            return baseline
    else:
        baseline = ExhaustiveBaseline(None, reason="it was not explored")
    recorded = _ledger_baseline(run, spec)
    return recorded if recorded is not None else baseline


def _explore(spec: Spec, run: WalkRun, max_states: int) -> ExhaustiveBaseline:
    from checker.engines.native.engine import explore

    names = [name for name in run.properties if spec.roles.get(name) in SAFETY_ROLES]
    names = [name for name in names if spec.roles[name] is not Role.REACHABLE]
    plan = Plan(tuple(names), stop="all", max_states=max_states, deadlock=DEADLOCK in run.properties)
    try:
        result = explore(spec, plan)
    except (UserError, MemoryError) as error:
        return ExhaustiveBaseline(None, reason=str(error))
    if result.ended == "interrupted":
        raise KeyboardInterrupt
    account_of(spec, [*names, *([DEADLOCK] if plan.deadlock else [])], result)
    violations = {violation.property: violation.length for violation in result.violations}
    violations_of_run, source = tuple(result.violations), "exhaustive exploration"
    if result.ended == "complete":
        return ExhaustiveBaseline(result.distinct_states, violations, violations_of_run, source)
    ended = {"max_states": f"it has more than {max_states:,} states", "violation": "a value leaves its bounds"}
    return ExhaustiveBaseline(None, violations, violations_of_run, source, ended.get(result.ended, result.ended))


def _ledger_baseline(run: WalkRun, spec: Spec) -> ExhaustiveBaseline | None:
    """Return the ledger's entry of the scenario; None if there is none or the walks have other constants."""
    from checker.run import registry

    entry = registry.select_spec(run.target)
    scenario = next((candidate for candidate in entry.scenarios if candidate.name == run.scenario), None)
    if scenario is None or entry.spec(**scenario.constants).constants != spec.constants:
        return None
    record = ledger.read(ledger.default_path()).get(f"{entry.name}/{run.scenario}")
    if record is None or record.distinct_states is None:
        return None
    violations = {name: length for name, length in record.violations.items() if isinstance(length, int)}
    return ExhaustiveBaseline(record.distinct_states, violations, source="ledger")
