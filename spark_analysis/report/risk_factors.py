"""Risk factors of violations: the actions and settings with which walks violate a property more or less often.

A walk that ends at a violation is short, and a long walk contains more actions. So an action is compared step by step:
of the walks that take a step, those that have taken the action by then (this step included) with the others. The strata
of an action are the steps of each configuration. Those of a setting are the values of the other varied constants.

A walk with --beyond counts for a property up to its first violation of it, as if it ended there: an action that it
takes later is no cause of that violation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checker.language.constant_values import setting_text
from spark_analysis.report.walk_counts import WalkCounts, WalkFailure, failures_of
from spark_analysis.walks.records import WalkRun
from spark_analysis.walks.statistics import ExposureStratum, RiskRatio, risk_ratio, significant

Place = tuple[int, int]
"""A configuration and a step."""


def risk_factors(run: WalkRun, counts: WalkCounts, failures: Sequence[WalkFailure]) -> list[dict[str, Any]]:
    """Return the risk ratio of each action and of each varied setting, for each failure that walks have."""
    rows = []
    for failure in failures:
        cases = _cases(run, counts, failure)
        if not cases:
            continue
        rows += [_row(failure, "action", name, None, ratio) for name, ratio in _actions(run, counts, failure, cases)]
        by_configuration: Counter[int] = Counter()
        for (configuration, _), walks in cases.items():
            by_configuration[configuration] += walks
        rows += [
            _row(failure, "setting", name, value, ratio)
            for name, value, ratio in _settings(run, counts.walks, by_configuration)
        ]
    return rows


def _cases(run: WalkRun, counts: WalkCounts, failure: WalkFailure) -> Counter[Place]:
    """Return the number of walks that have a failure first with each step."""
    cases: Counter[Place] = Counter()
    if run.beyond and not failure.is_error:
        for time in counts.times:
            if time.violated == _bit(run, failure):
                cases[time.configuration, time.steps] += time.walks
        return cases
    for outcome in counts.outcomes:
        if failure in failures_of(outcome, run.properties):
            cases[outcome.configuration, outcome.length] += outcome.walks
    return cases


def _bit(run: WalkRun, failure: WalkFailure) -> int:
    return 1 << run.properties.index(failure.name)


def _actions(
    run: WalkRun, counts: WalkCounts, failure: WalkFailure, cases: Mapping[Place, int]
) -> Iterator[tuple[str, RiskRatio]]:
    at_risk = _at_risk(counts)
    exposed: dict[str, Counter[Place]] = defaultdict(Counter)
    exposed_cases: dict[str, Counter[Place]] = defaultdict(Counter)

    def name_of(configuration: int, action: int) -> str:
        return run.configurations[configuration].actions[action].name

    for exposure in counts.exposed:
        name = name_of(exposure.configuration, exposure.action)
        if exposure.verdict is None:
            exposed[name][exposure.configuration, exposure.step] += exposure.walks
        elif failure in failures_of(exposure, run.properties):
            exposed_cases[name][exposure.configuration, exposure.step] += exposure.walks
    for passed in counts.passed:
        if failure.is_error or passed.violated != _bit(run, failure):
            continue
        of_kind = at_risk if passed.action is None else exposed[name_of(passed.configuration, passed.action)]
        of_kind[passed.configuration, passed.step] -= passed.walks
    for name in dict.fromkeys(action.name for exposure in run.configurations for action in exposure.actions):
        if not any(exposed[name].values()):
            continue
        yield (
            name,
            risk_ratio(
                ExposureStratum(
                    exposed[name][place],
                    exposed_cases[name][place],
                    at_risk[place] - exposed[name][place],
                    failed - exposed_cases[name][place],
                )
                # A step without a violation adds nothing to either sum.
                for place, failed in sorted(cases.items())
            ),
        )


def _at_risk(counts: WalkCounts) -> Counter[Place]:
    """Return the number of walks that take each step."""
    ended: dict[int, Counter[int]] = defaultdict(Counter)
    for outcome in counts.outcomes:
        ended[outcome.configuration][outcome.length] += outcome.walks
    at_risk: Counter[Place] = Counter()
    for configuration, lengths in ended.items():
        walks = 0
        for step in range(max(lengths), -1, -1):
            walks += lengths[step]
            at_risk[configuration, step] = walks
    return at_risk


def _settings(
    run: WalkRun, walks: Mapping[int, int], cases: Mapping[int, int]
) -> Iterator[tuple[str, int | bool | str, RiskRatio]]:
    for name, values in run.sweep.items():
        for value in values if len(values) > 1 else ():
            strata: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
            for settings in run.configurations:
                others = tuple(settings.constants[other] for other in run.sweep if other != name)
                side = 0 if settings.constants[name] == value else 2
                strata[others][side] += walks.get(settings.number, 0)
                strata[others][side + 1] += cases.get(settings.number, 0)
            yield name, value, risk_ratio(ExposureStratum(*stratum) for stratum in strata.values())


def _row(
    failure: WalkFailure, kind: str, name: str, value: int | bool | str | None, ratio: RiskRatio
) -> dict[str, Any]:
    return {
        "property": failure.name,
        "is_error": failure.is_error,
        "kind": kind,
        "name": name,
        "value": value,
        "walks_with": ratio.exposed_cases,
        "walks_without": ratio.other_cases,
        **{
            end: significant(number) if (number := getattr(ratio, end)) is not None else None
            for end in ("ratio", "low", "high")
        },
    }


def settings_without_cause(data: Mapping[str, Any], cluster: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the values of varied constants with which no known walk has a cause, although one of another value has it.

    `walks` is the number of walks with the value. `violating` counts those that violate the property of the cause: only
    a sample of them may be known. `is_excluded`: exploration finds that the property holds in all states with it.
    """
    is_error = cluster["kind"] == "bounds_error"
    settings = []
    for name, values in data["sweep"].items():
        for value in values:
            own = [entry for entry in data["configurations"] if entry["swept"][name] == value]
            if not own or any(str(entry["number"]) in cluster["by_configuration"] for entry in own):
                continue
            failures = [
                failure
                for entry in own
                for failure in entry["failures"]
                if (failure["property"], failure["is_error"]) == (cluster["property"], is_error)
            ]
            known = [entry["known"] for entry in own]
            settings.append(
                {
                    "name": name,
                    "value": value,
                    "walks": sum(entry["walks"] for entry in own),
                    "violating": sum(failure["walks"] for failure in failures),
                    "is_excluded": not is_error
                    and all(
                        entry is not None
                        and entry["states"] is not None
                        and cluster["property"] not in entry["violations"]
                        for entry in known
                    ),
                }
            )
    return settings


def removal_text(removal: Mapping[str, Any]) -> str:
    """Return the evidence that a cause does not occur with a setting."""
    setting = factor_text({**removal, "kind": "setting"})
    if removal["is_excluded"]:
        return f"{setting} (exploration excludes it)"
    if removal["violating"]:
        return f"{setting} (in no sampled one of {removal['violating']:,} walks that violate the property)"
    return f"{setting} (in none of {removal['walks']:,} walks)"


def factor_text(row: Mapping[str, Any]) -> str:
    """Return an action as its name, and a setting as `name=value`."""
    return row["name"] if row["kind"] == "action" else setting_text(row["name"], row["value"])


def comparison_text(row: Mapping[str, Any]) -> str:
    """Return how often walks violate the property with the factor, compared with those without it."""
    if not row["walks_without"]:
        return "only with it"
    if not row["walks_with"]:
        return "never with it"
    if row["ratio"] is None or row["low"] is None:
        return "not comparable"
    return f"{row['ratio']:.3g} times as often ({row['low']:.3g} to {row['high']:.3g})"


def is_shown(row: Mapping[str, Any]) -> bool:
    """Return whether the interval excludes 1: the figures show a difference."""
    return row["low"] is not None and not row["low"] <= 1 <= row["high"]
