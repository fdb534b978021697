"""Small charts of a sweep: one for each setting and property, side by side at one scale, with the setting's causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from checker.output.counterexample_text import constants_text
from spark_analysis.report.chart_geometry import SmallChart, small_chart, walks_text
from spark_analysis.report.report_charts import name_of

MOST_SETTINGS = 120
"""The number of settings with a chart for each property: those with the largest shares, in the order of the sweep."""


@dataclass(frozen=True)
class SettingChart:
    """The chart of a setting: its share of violating walks by step, the result of exploration, and its causes.

    `anchor` is the address of the setting's causes on the page. A cause has its number, its sentence and its walks.
    """

    anchor: str
    name: str
    walks: int
    share: Mapping[str, Any]
    chart: SmallChart
    explored: str
    causes: tuple[tuple[int, str, str], ...]


@dataclass(frozen=True)
class PropertyCharts:
    """The charts of a property at one scale, from 0 to `top`; `left_out` settings have no chart."""

    name: str
    top: float
    settings: tuple[SettingChart, ...]
    left_out: int


def setting_multiples(data: Mapping[str, Any]) -> list[PropertyCharts]:
    """Return the charts of each failure that walks of a sweep have; empty without a sweep."""
    if len(data["configurations"]) < 2:
        return []
    return [_of_failure(data, number) for number, failure in enumerate(data["failures"]) if failure["walks"]]


def _of_failure(data: Mapping[str, Any], number: int) -> PropertyCharts:
    everything = data["configurations"]
    frequent = sorted(
        everything, key=lambda configuration: (-configuration["failures"][number]["rate"], configuration["number"])
    )
    shown = sorted(frequent[:MOST_SETTINGS], key=lambda configuration: configuration["number"])
    top = max(configuration["failures"][number]["high"] for configuration in shown)
    charts = tuple(_setting(data, number, configuration, top) for configuration in shown)
    return PropertyCharts(name_of(data["failures"][number]), top, charts, len(everything) - len(shown))


def _setting(data: Mapping[str, Any], number: int, configuration: Mapping[str, Any], top: float) -> SettingChart:
    share = configuration["failures"][number]
    # Of all walks, also of those that another violation ends: the line ends at the share beside it. Step 1 is the
    # initial state.
    violated = accumulate(walks for _, _, walks, _ in share["curve"])
    steps = (actions + 1.0 for actions, *_ in share["curve"])
    points = [(step, walks / configuration["walks"]) for step, walks in zip(steps, violated, strict=True)]
    return SettingChart(
        f"setting-{number + 1}-{configuration['number'] + 1}",
        constants_text(configuration["swept"]),
        configuration["walks"],
        share,
        small_chart(points, data["depth"] + 1.0, (share["low"], share["high"]), top),
        _exploration_text(configuration["known"], share),
        tuple(_causes(data, configuration, share)),
    )


def _exploration_text(known: Mapping[str, Any] | None, share: Mapping[str, Any]) -> str:
    """Return the result of exploring all states of a setting for one property."""
    if known is not None and share["property"] in known["violations"]:
        return f"exploration: violated, shortest trace {known['violations'][share['property']]} states"
    if known is not None and known["states"] is not None:
        return f"exploration: holds in all {known['states']:,} states"
    return "exploration: not decided"


def _causes(
    data: Mapping[str, Any], configuration: Mapping[str, Any], share: Mapping[str, Any]
) -> Iterator[tuple[int, str, str]]:
    for number, cluster in enumerate(data["clusters"], 1):
        walks = cluster["by_configuration"].get(str(configuration["number"]))
        same = (cluster["property"], cluster["kind"] == "bounds_error") == (share["property"], share["is_error"])
        if same and walks is not None:
            yield number, cluster["sentence"], walks_text(walks)
