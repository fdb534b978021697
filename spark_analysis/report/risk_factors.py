"""Risk factors of violations: the actions and settings with which walks violate a property more or less often.

A walk that ends at a violation is short, and a long walk contains more actions. So an action is compared step by step:
of the walks that take a step, those that have taken the action by then (this step included) with the others. The strata
of an action are the steps of each configuration. Those of a setting are the values of the other varied constants; it is
compared with a reference, the first value of its constant with which walks violate the property.

A walk with --beyond counts for a property up to its first violation of it, as if it ended there: an action that it
takes later is no cause of that violation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
        rows += [_row(failure, "action", name, ratio) for name, ratio in _actions(run, counts, failure, cases)]
        by_configuration: Counter[int] = Counter()
        for (configuration, _), walks in cases.items():
            by_configuration[configuration] += walks
        for risk in _settings(run, counts.walks, by_configuration):
            more = {"value": risk.value, "reference": risk.reference, "walks": risk.walks}
            rows.append(_row(failure, "setting", risk.name, risk.ratio, **more))
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


class _SettingRisk(NamedTuple):
    """The risk of a value of a varied constant, in `walks` walks with it.

    Without a `reference` it is the only value that has cases, or one that has none.
    """

    name: str
    value: int | bool | str
    reference: int | bool | str | None
    walks: int
    ratio: RiskRatio


def _settings(run: WalkRun, walks: Mapping[int, int], cases: Mapping[int, int]) -> Iterator[_SettingRisk]:
    """Yield the risks of settings. The reference of a constant is the first of its values that has cases.

    A mean of all other values would mix safe ones with others.
    """
    for name, values in run.sweep.items():
        own = {value: [each.number for each in run.configurations if each.constants[name] == value] for value in values}
        made = {value: sum(walks.get(number, 0) for number in own[value]) for value in values}
        failed = {value: sum(cases.get(number, 0) for number in own[value]) for value in values}
        reference, *others = [value for value in values if failed[value]]
        if not others:
            if any(made[value] for value in values if value != reference):
                alone = RiskRatio(failed[reference], 0, None, None, None)
                yield _SettingRisk(name, reference, None, made[reference], alone)
            continue
        total = sum(failed.values())
        for value in values:
            if made[value] and not failed[value]:
                yield _SettingRisk(name, value, None, made[value], RiskRatio(0, total, None, None, None))
        for value in others:
            strata: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
            for side, numbers in ((0, own[value]), (2, own[reference])):
                for number in numbers:
                    constants = run.configurations[number].constants
                    stratum = strata[tuple(constants[other] for other in run.sweep if other != name)]
                    stratum[side] += walks.get(number, 0)
                    stratum[side + 1] += cases.get(number, 0)
            ratio = risk_ratio(ExposureStratum(*stratum) for stratum in strata.values())
            yield _SettingRisk(name, value, reference, made[value], ratio)


def _row(failure: WalkFailure, kind: str, name: str, ratio: RiskRatio, **more: Any) -> dict[str, Any]:
    return {
        "property": failure.name,
        "is_error": failure.is_error,
        "kind": kind,
        "name": name,
        **({"value": None, "reference": None, "walks": None} | more),
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
    """Return how often walks violate the property with the factor, compared with the reference or those without it."""
    if not row["walks_without"]:
        return "only with it"
    if not row["walks_with"]:
        return "never with it" + (f" (in {row['walks']:,} walks)" if row["walks"] else "")
    if row["ratio"] is None or row["low"] is None:
        return "not comparable"
    beside = f" as with {setting_text(row['name'], row['reference'])}" if row["reference"] is not None else ""
    return f"{row['ratio']:.3g} times as often{beside} ({row['low']:.3g} to {row['high']:.3g})"


def is_absolute(row: Mapping[str, Any]) -> bool:
    """Return whether walks violate the property only with a setting, or never."""
    return row["kind"] == "setting" and not (row["walks_with"] and row["walks_without"])


def risk_text(row: Mapping[str, Any]) -> str:
    """Return a factor with its comparison."""
    if is_absolute(row):
        return comparison_text(row).replace(" it", f" {factor_text(row)}", 1)
    return f"with {factor_text(row)}: {comparison_text(row)}"


def is_shown(row: Mapping[str, Any]) -> bool:
    """Return whether the interval excludes 1: the figures show a difference."""
    return row["low"] is not None and not row["low"] <= 1 <= row["high"]
