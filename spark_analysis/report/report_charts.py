"""The charts of a report's page, from its data: curves over steps, heat maps of a sweep, states over walks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from checker.output.counterexample_text import constants_text
from spark_analysis.report import chart_geometry
from spark_analysis.report.chart_geometry import Chart, Series, share_texts

MOST_LINES = 8
"""Number of configurations with a line in a chart: those with the most violations."""

MOST_SATURATION_CHARTS = 6

FEWEST_SAMPLED = 30
"""Fewest sampled states for an estimate: with fewer, its error would be as large as the estimate."""


def time_charts(data: Mapping[str, Any]) -> list[tuple[str, Chart, int]]:
    """Return a chart for each failure; for a single configuration, one chart with a line for each failure."""
    configurations = data["configurations"]
    if len(configurations) == 1:
        with_curve = [entry for entry in configurations[0]["failures"] if entry["curve"]]
        series = _series([(name_of(entry), entry) for entry in with_curve])
        return (
            [("", chart_geometry.share_chart(series, data["depth"] + 1, "walks that have violated a property"), 0)]
            if series
            else []
        )
    result = []
    for number, failure in enumerate(data["failures"]):
        entries = [
            (configuration, configuration["failures"][number])
            for configuration in configurations
            if configuration["failures"][number]["curve"]
        ]
        chosen = sorted(entries, key=lambda pair: (-pair[1]["rate"], pair[0]["number"]))[:MOST_LINES]
        if chosen:
            series = _series([(constants_text(configuration["swept"]), entry) for configuration, entry in chosen])
            chart = chart_geometry.share_chart(
                series, data["depth"] + 1, f"walks that have violated {failure['property']}"
            )
            result.append((name_of(failure), chart, len(entries) - len(chosen)))
    return result


def _series(named: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Series]:
    """Return the curves of failures; equal curves become one line with all their names."""
    names: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for name, entry in named:
        names.setdefault(tuple(_curve(entry)), []).append(name)
    return [Series(" and ".join(same), points) for points, same in names.items()]


def _curve(entry: Mapping[str, Any]) -> list[tuple[float, float]]:
    # The data has the number of actions before the violation, the chart has the step: step 1 is the initial state.
    return [(actions + 1, share) for actions, _, share in entry["curve"]]


def name_of(failure: Mapping[str, Any]) -> str:
    """Return the name of a failure: its property, marked if a value leaves its bounds."""
    return f"{failure['property']} (bounds)" if failure["is_error"] else str(failure["property"])


def heat_maps(data: Mapping[str, Any]) -> list[tuple[str, list[chart_geometry.HeatMap]]]:
    """Return the heat maps of each failure of a sweep; empty without a sweep."""
    result = []
    for number, failure in enumerate(data["failures"]):
        if not failure["walks"]:
            continue
        cells = []
        for configuration in data["configurations"]:
            entry = configuration["failures"][number]
            _, low, high = share_texts(entry)
            title = f"{entry['walks']:,} of {configuration['walks']:,} walks; 95% interval {low} to {high}"
            cells.append((configuration["swept"], entry["rate"], title, configuration["number"]))
        maps = chart_geometry.sweep_heat_maps(data["sweep"], cells)
        if maps:
            result.append((name_of(failure), maps))
    return result


def saturation(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the state estimates of each configuration, with a chart for the first few."""
    result = []
    for number, configuration in enumerate(data["configurations"]):
        states = configuration["saturation"]
        if not states["sampled"]:
            continue
        known = configuration["known"]["states"] if configuration["known"] is not None else None
        chart = None
        if number < MOST_SATURATION_CHARTS and (states["sampled"] >= FEWEST_SAMPLED or states["scale"] == 1):
            series = [Series("visited by walks", states["growth"], steps=False)]
            series.append(
                Series(
                    "visited and estimated unvisited",
                    _level(states, states["distinct"] + states["unseen"]),
                    "dashed",
                    False,
                )
            )
            if known is not None:
                series.append(Series("all states", _level(states, known), "known", False))
            chart = chart_geometry.growth_chart(
                series, configuration["walks"], "distinct states visited, by number of walks"
            )
        result.append(
            {
                **states,
                "name": constants_text(configuration["swept"]),
                "known": known,
                "chart": chart,
                "reason": _reason(configuration),
            }
        )
    return result


def _reason(configuration: Mapping[str, Any]) -> str:
    known = configuration["known"]
    return known["reason"] if known is not None else "the spec has changed since the walks were made"


def _level(states: Mapping[str, Any], height: float) -> list[tuple[float, float]]:
    return [(states["growth"][0][0], height), (states["growth"][-1][0], height)]
