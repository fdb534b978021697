"""The data of a report, which `report.json` holds and the page shows. It depends on walks and spec alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.explain.step_sentences import StepSentence
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK
from checker.run.result import Violation
from spark_analysis.report.causes import CauseCluster, CauseClusters
from spark_analysis.report.exhaustive_baseline import ExhaustiveBaseline, ExploredConfiguration
from spark_analysis.report.risk_factors import risk_factors, settings_without_cause
from spark_analysis.report.shrunk_walks import ShrunkWalks
from spark_analysis.report.spec_words import description_of, promise_of, texts_of, ticket_addresses, tickets_of
from spark_analysis.report.violation_causes import failure_of
from spark_analysis.report.walk_counts import WalkCounts, WalkFailure, WalkOutcome, failures_of
from spark_analysis.walks.records import ActionRange, WalkConfiguration, WalkRun
from spark_analysis.walks.statistics import (
    EstimatedCount,
    Share,
    cumulative_incidence,
    significant,
    step_by_which,
    wilson,
)
from traces.schedule import calls_of
from traces.trace_file import arguments_to_json
from traces.turning_points import faults_of, turning_points

FORMAT, VERSION = "tidemark-report", 4


def walk_failures(run: WalkRun, roles: Mapping[str, Role], outcomes: Sequence[WalkOutcome]) -> list[WalkFailure]:
    """Return the properties that walks can violate, in the run's order, followed by the errors in the walks.

    A property without a role, which the spec no longer has, is included if some walk violates it.
    """
    violated = 0
    for outcome in outcomes:
        violated |= outcome.violated
    properties = [
        name
        for bit, name in enumerate(run.properties)
        if violated >> bit & 1 or name == DEADLOCK or roles.get(name, Role.REACHABLE) is not Role.REACHABLE
    ]
    errors = sorted(
        {outcome.property for outcome in outcomes if outcome.verdict == "error" and outcome.property is not None}
    )
    return [WalkFailure(name, False) for name in properties] + [WalkFailure(name, True) for name in errors]


def report_data(
    run: WalkRun,
    roles: Mapping[str, Role],
    counts: WalkCounts,
    clusters: CauseClusters,
    shrunk: ShrunkWalks,
    explored: Mapping[int, ExploredConfiguration],
    specs: Mapping[int, Spec],
    scenario: str,
    notes: list[str],
) -> dict[str, Any]:
    """Return the data of the whole report.

    `roles` are those of the properties. `explored` and `specs` are by configuration, without changed specs. `scenario`
    is the description of the scenario. `notes` are sentences about data that the report does not include.
    """
    known = {number: each.baseline for number, each in explored.items()}
    failures = walk_failures(run, roles, counts.outcomes)
    configurations = [
        _configuration(run, each, counts, failures, explored.get(each.number))
        for each in run.configurations
        if counts.walks.get(each.number)
    ]
    totals = Counter(dict.fromkeys(failures, 0))
    for each in configurations:
        for entry in each["failures"]:
            totals[WalkFailure(entry["property"], entry["is_error"])] += entry["walks"]
    walks = sum(counts.walks.values())
    # The docstrings of a spec that has changed since the walks may describe other rules.
    documented = next((type(spec) for spec in specs.values()), None)
    causes = [_cluster(each, specs[each.configuration]) for each in clusters.found]
    data = {
        "format": FORMAT,
        "version": VERSION,
        "spec": run.spec,
        "scenario": run.scenario,
        "seed": run.seed,
        "depth": run.depth,
        "bias": run.bias,
        "weights": run.weights,
        "beyond": run.beyond,
        "sampling": run.sampling,
        "sweep": run.sweep,
        "expected": run.expected,
        "description": description_of(documented, scenario) if documented is not None else [],
        "walks": walks,
        "steps": sum(taken.takes for by in counts.taken.values() for taken in by.values()),
        "is_complete": walks == run.total,
        "notes": notes,
        "failures": [
            {
                "property": failure.name,
                "is_error": failure.is_error,
                "promise": _promise(documented, failure),
                **_share(wilson(count, walks)),
                **_settings(configurations, failure),
            }
            for failure, count in totals.items()
        ],
        "configurations": configurations,
        "clusters": causes,
        "missed": [_missed_row(each, specs[each.configuration]) for each in violations_missed_by(totals, known)],
        "rarer_causes": {"causes": clusters.rarer, "walks": clusters.rarer_walks},
        "samples": _samples(shrunk),
        "risks": risk_factors(run, counts, failures),
        "comparison": None,
        "siblings": [],
        "trend": None,
    }
    for cause in causes:
        cause["absent_with"] = settings_without_cause(data, cause)
    named = texts_of([data["description"], data["failures"], causes, data["missed"]])
    data["tickets"] = ticket_addresses(documented, named) if documented is not None else {}
    return data


def _promise(spec: type[Spec] | None, failure: WalkFailure) -> str:
    """Return what a property promises; "" for a value that leaves its bounds."""
    return promise_of(spec, failure.name) if spec is not None and not failure.is_error else ""


def _settings(configurations: Sequence[Mapping[str, Any]], failure: WalkFailure) -> dict[str, Any]:
    """Return in how many configurations walks have a failure, and the number of the one with the largest share."""
    shares = {
        configuration["number"]: entry
        for configuration in configurations
        for entry in configuration["failures"]
        if (entry["property"], entry["is_error"]) == failure
    }
    violated = [number for number, entry in shares.items() if entry["walks"]]
    most = max(violated, key=lambda number: shares[number]["rate"], default=None)
    return {"violated_in": len(violated), "most_in": most}


def _samples(shrunk: ShrunkWalks) -> list[dict[str, Any]]:
    """Return for each failure the number of its walks, and the size of the sample that the causes are counted in."""
    totals: dict[WalkFailure, list[int]] = {}
    for stratum, walks in shrunk.population.items():
        total = totals.setdefault(stratum.failure, [0, 0])
        total[0] += walks
        total[1] += shrunk.sampled[stratum]
    return [
        {"property": failure.name, "is_error": failure.is_error, "walks": walks, "sampled": sampled}
        for failure, (walks, sampled) in totals.items()
    ]


@dataclass(frozen=True)
class MissedViolation:
    """A violation that the exploration of a configuration finds and no walk shows."""

    configuration: int
    violation: Violation


def violations_missed_by(
    totals: Mapping[WalkFailure, int], known: Mapping[int, ExhaustiveBaseline]
) -> list[MissedViolation]:
    """Return the shortest violation of each property that the exploration violates and no walk does."""
    shown = {failure.name for failure, walks in totals.items() if walks}
    shortest: dict[str, MissedViolation] = {}
    for number, entry in known.items():
        for violation in entry.found:
            best = shortest.get(violation.property)
            if violation.property not in shown and (best is None or violation.length < best.violation.length):
                shortest[violation.property] = MissedViolation(number, violation)
    return list(shortest.values())


def _missed_row(missed: MissedViolation, spec: Spec) -> dict[str, Any]:
    violation = missed.violation
    return {
        "property": violation.property,
        "kind": violation.kind,
        "configuration": missed.configuration,
        "length": violation.length,
        "explanation": violation.explanation,
        "schedule": _schedule(spec, violation),
    }


def _schedule(spec: Spec, violation: Violation) -> list[dict[str, Any]]:
    """Return the steps of a violation; `fault` is the kind of a step that is a fault, else ""."""
    faults = faults_of(spec, violation)
    return [
        {
            "action": call.action,
            "arguments": arguments_to_json(spec, call.action, call.arguments),
            "fault": faults.get(number, ""),
        }
        for number, call in enumerate(calls_of(violation), 2)
    ]


def _share(share: Share) -> dict[str, Any]:
    return {
        "walks": share.count,
        **{name: significant(getattr(share, name)) for name in ("rate", "low", "high")},
    }


def _configuration(
    run: WalkRun,
    configuration: WalkConfiguration,
    counts: WalkCounts,
    failures: Sequence[WalkFailure],
    explored: ExploredConfiguration | None,
) -> dict[str, Any]:
    number = configuration.number
    outcomes = [outcome for outcome in counts.outcomes if outcome.configuration == number]
    endings: Counter[str] = Counter()
    for outcome in outcomes:
        endings[outcome.ending] += outcome.walks
    violating = sum(outcome.walks for outcome in outcomes if outcome.verdict != "holds")
    return {
        "number": number,
        "constants": configuration.constants,
        "swept": {name: configuration.constants[name] for name in run.sweep},
        "walks": counts.walks[number],
        "endings": dict(sorted(endings.items())),
        "any": _share(wilson(violating, counts.walks[number])),
        "failures": [
            {**_failure(run, outcome, outcomes, counts, number), **_computation(run, explored, outcome)}
            for outcome in failures
        ],
        "reached": _reachables(run, counts.reached.get(number, {}), {outcome.name for outcome in failures}),
        "actions": [_action(outcome, counts.taken.get(number, {})) for outcome in configuration.actions],
        "branches": [
            {
                "file": condition.file,
                "line": condition.line,
                "text": condition.text,
                "true_walks": counts.branches.get(number, {}).get(2 * bit, 0),
                "false_walks": counts.branches.get(number, {}).get(2 * bit + 1, 0),
            }
            for bit, condition in enumerate(configuration.conditions)
        ],
        "saturation": _saturation(counts, number, run),
        "known": _baseline(explored.baseline if explored is not None else None),
    }


def _computation(run: WalkRun, explored: ExploredConfiguration | None, failure: WalkFailure) -> dict[str, Any]:
    """Return the exact probability of a failure and its estimate by splitting; None where there is none.

    An exact 0 says that no walk of the run's depth can fail so.
    """
    if explored is None:
        return {"exact": None, "split": None}
    exact = explored.exact.get(failure, 0.0) if explored.exact is not None else None
    split = explored.split.get(failure.name) if not failure.is_error else None
    if not failure.is_error and explored.baseline.violations.get(failure.name, 0) > run.depth + 1:
        exact = 0.0
    return {
        "exact": significant(exact) if exact is not None else None,
        "split": {name: significant(getattr(split, name)) for name in ("rate", "low", "high")}
        if split is not None and exact != 0
        else None,
    }


def _failure(
    run: WalkRun, failure: WalkFailure, outcomes: Sequence[WalkOutcome], counts: WalkCounts, number: int
) -> dict[str, Any]:
    violated = _violations_by_steps(run, failure, outcomes, counts, number)
    total = counts.walks[number]
    curve = cumulative_incidence(total, violated)
    last: Counter[str] = Counter()
    configuration = run.configurations[number]
    for pattern in counts.patterns:
        if pattern.configuration == number and failure in failures_of(pattern, run.properties):
            last[_action_of(configuration, pattern.instance)] += pattern.walks
    return {
        "property": failure.name,
        "is_error": failure.is_error,
        **_share(wilson(violated.total(), total)),
        "soonest": min(violated, default=None),
        "one_in_a_hundred_by": step_by_which(curve, 0.01),
        "half_by": step_by_which(curve, 0.5),
        "curve": [[point.step, point.violated, significant(point.share)] for point in curve],
        "broken_by": dict(sorted(last.items(), key=lambda item: (-item[1], item[0]))),
    }


def _violations_by_steps(
    run: WalkRun, failure: WalkFailure, outcomes: Sequence[WalkOutcome], counts: WalkCounts, number: int
) -> Counter[int]:
    """Return the number of walks with a failure by the number of steps before it."""
    by_steps: Counter[int] = Counter()
    if run.beyond and not failure.is_error:
        for time in counts.times:
            if time.configuration == number and time.violated >> run.properties.index(failure.name) & 1:
                by_steps[time.steps] += time.walks
        return by_steps
    for outcome in outcomes:
        if failure in failures_of(outcome, run.properties):
            by_steps[outcome.length] += outcome.walks
    return by_steps


def _action_of(configuration: WalkConfiguration, instance: int | None) -> str:
    """Return the action of an instance; `init` if there was no step."""
    name = next(
        (a.name for a in configuration.actions if instance is not None and a.first <= instance < a.first + a.instances),
        None,
    )
    return name or "init"


def _reachables(run: WalkRun, masks: Mapping[int, int], failing: set[str]) -> dict[str, int]:
    return {
        name: sum(walks for mask, walks in masks.items() if mask >> bit & 1)
        for bit, name in enumerate(run.properties)
        if name not in failing
    }


def _action(action: ActionRange, taken: Mapping[int, Any]) -> dict[str, Any]:
    own = [taken[number] for number in range(action.first, action.first + action.instances) if number in taken]
    return {
        "action": action.name,
        "instances": action.instances,
        "instances_taken": len(own),
        "takes": sum(count.takes for count in own),
        "first_walk": min((count.first for count in own), default=None),
    }


def _saturation(counts: WalkCounts, number: int, run: WalkRun) -> dict[str, Any]:
    growth = counts.states.get(number)
    if growth is None or not growth.first_visited:
        return {"scale": growth.saturation.scale if growth is not None else 1 << run.sampling, "sampled": 0}
    grown, visited, growing = growth.saturation, 0, []
    for power in range(max(growth.first_visited) + 1):
        visited += growth.first_visited.get(power, 0)
        growing.append([min(1 << power, run.walks), visited * grown.scale])
    if growing[-1][0] < counts.walks[number]:
        growing.append([counts.walks[number], visited * grown.scale])
    return {
        "scale": grown.scale,
        "sampled": grown.sampled,
        "visits": grown.visits,
        "once": grown.once,
        "twice": grown.twice,
        "distinct": grown.distinct,
        "distinct_error": grown.distinct_error,
        "unseen": grown.unseen,
        "unseen_mass": significant(grown.unseen_mass),
        "growth": growing,
    }


def _baseline(known: ExhaustiveBaseline | None) -> dict[str, Any] | None:
    if known is None:
        return None
    return {
        "states": known.states,
        "violations": dict(sorted(known.violations.items())),
        "source": known.source,
        "reason": known.reason,
    }


def _cluster(cluster: CauseCluster, spec: Spec) -> dict[str, Any]:
    violation, cause, shortest = cluster.reduced, cluster.cause, cluster.shortest
    points, schedule = turning_points(spec, violation), _schedule(spec, violation)
    enabling = _step(points.enabling)
    return {
        "property": cause.property,
        "kind": cause.kind,
        "false_parts": list(cause.false_parts),
        "last_steps": list(cause.last_steps),
        "breaker": cause.breaker,
        "promise": _promise(type(spec), failure_of(cause)),
        "tickets": tickets_of(type(spec), (cause.property, *(step["action"] for step in schedule))),
        **_estimate(cluster.walks),
        "by_configuration": {str(number): _estimate(walks) for number, walks in cluster.by_configuration.items()},
        "sampled": sum(walk.is_sampled for walk in cluster.shrunk_walks),
        "configuration": cluster.configuration,
        "walk": cluster.walk,
        "explanation": violation.explanation,
        "sentence": _sentence(violation),
        "made_possible_by": enabling | {"fault": points.fault} if enabling is not None else None,
        "violated_by": _step(points.violating),
        "walk_length": cluster.walk_length,
        "length": violation.length,
        "schedule": schedule,
        "shortest": None if shortest is None else {"length": shortest.length, "schedule": _schedule(spec, shortest)},
        "limit": cluster.limit,
    }


def _estimate(estimate: EstimatedCount) -> dict[str, int]:
    return {"walks": estimate.count, "low": estimate.low, "high": estimate.high}


def _sentence(violation: Violation) -> str:
    """Return as a sentence how the property is violated."""
    text = violation.explanation.partition("\n")[0]
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _step(sentence: StepSentence | None) -> dict[str, Any] | None:
    if sentence is None:
        return None
    return {"step": sentence.number, "call": sentence.call, "sentence": sentence.text}
