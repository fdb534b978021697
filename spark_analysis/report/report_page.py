"""The HTML page of a report, which needs no network, server or script and links to counterexample pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from checker.output.counterexample_text import constants_text
from checker.output.page.render import render
from checker.output.page.tickets import with_links
from checker.printable import quantity
from spark_analysis.report import report_charts
from spark_analysis.report.chart_geometry import (
    count_text,
    difference_text,
    share_text,
    share_texts,
    split_text,
    walks_text,
)
from spark_analysis.report.risk_factors import comparison_text, factor_text, is_absolute, is_shown, removal_text
from spark_analysis.report.run_comparison import run_name, sibling_name


@dataclass(frozen=True)
class PropertyRow:
    """A row of the first table: a property with the results of the walks and of the exploration.

    `share` belongs to the configuration `setting`, or to all walks if there is only one configuration. Walks violate
    the property in `violated_in` configurations. `soonest`, `one_in_a_hundred_by` and `half_by` are numbers of steps:
    step 1 is the initial state.
    """

    name: str
    is_error: bool
    share: Mapping[str, Any]
    setting: str
    violated_in: int
    soonest: int | None
    one_in_a_hundred_by: int | None
    half_by: int | None
    explored: str
    is_missed: bool
    page: str | None
    causes: tuple[int, ...]

    @property
    def is_violated(self) -> bool:
        """Whether any walk violates it."""
        return bool(self.share["walks"])


def walk_report_page(
    data: Mapping[str, Any], pages: Sequence[str | None], missed: Mapping[str, str], command: str
) -> str:
    """Return the page of a report.

    `pages` are the addresses of the clusters' counterexample pages; None stands for no page. `missed` are the addresses
    for properties that only the exploration violates. `command` is the command that made the report.
    """
    rows = [_row(data, each, missed.get(each["property"])) for each in data["failures"]]
    return render(
        "report.html.j2",
        package="spark_analysis.report",
        filters={
            "share": share_text,
            "shares": share_texts,
            "split": split_text,
            "difference": difference_text,
            "count": count_text,
            "constants": constants_text,
            "linked": partial(with_links, addresses=data["tickets"]),
        },
        title=f"{headline(data)}: {data['spec']}",
        data=data,
        headline=headline(data),
        rows=rows,
        has_split=any(row.share["split"] is not None for row in rows),
        has_exact=any(row.share["exact"] is not None for row in rows),
        clusters=[_cluster(data, each, page) for each, page in zip(data["clusters"], pages, strict=True)],
        time_charts=report_charts.time_charts(data),
        heat_maps=report_charts.heat_maps(data),
        broken_by=_actions_that_broke(data),
        risks=_risks(data),
        actions=_actions(data),
        branches=_branches(data),
        reached=_reachables(data),
        saturation=report_charts.saturation(data),
        constants=constants_text(_common(data)),
        most=max((row.share["high"] for row in rows), default=1.0),
        without_violation=settings_without_violation(data) if len(data["configurations"]) > 1 else [],
        most_any=max((each["any"]["high"] for each in data["configurations"]), default=1.0),
        is_sweep=len(data["configurations"]) > 1,
        sibling_rows=_sibling_rows(data),
        sibling_properties=_sibling_properties(data),
        sibling_name=sibling_name,
        command=command,
    )


def headline(data: Mapping[str, Any]) -> str:
    """Return the result as one sentence."""
    properties = [failure for failure in data["failures"] if not failure["is_error"]]
    violated = [failure["property"] for failure in properties if failure["walks"]]
    errors = [failure["property"] for failure in data["failures"] if failure["is_error"]]
    parts = []
    if violated:
        parts.append(f"{_list_text(violated)} {'is' if len(violated) == 1 else 'are'} violated")
    if errors:
        parts.append(f"{_list_text(errors)} {'leaves' if len(errors) == 1 else 'leave'} the bounds of a type")
    if parts:
        return "; ".join(parts)
    return f"No walk violates {'a property' if len(properties) != 1 else properties[0]['property']}"


def _list_text(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _row(data: Mapping[str, Any], failure: Mapping[str, Any], page: str | None) -> PropertyRow:
    same = [
        entry
        for configuration in data["configurations"]
        for entry in configuration["failures"]
        if (entry["property"], entry["is_error"]) == (failure["property"], failure["is_error"])
    ]

    def soonest(key: str) -> int | None:
        # The data has the number of actions before the violation.
        return min((entry[key] + 1 for entry in same if entry[key] is not None), default=None)

    causes = tuple(
        number
        for number, cluster in enumerate(data["clusters"], 1)
        if cluster["property"] == failure["property"] and (cluster["kind"] == "bounds_error") == failure["is_error"]
    )
    share, setting = rate_of(data, failure)
    explored, is_violated_there = _exploration(data, failure["property"])
    is_missed = is_violated_there and not failure["walks"]
    return PropertyRow(
        name=failure["property"],
        is_error=failure["is_error"],
        share=share,
        setting=setting,
        violated_in=failure["violated_in"],
        soonest=soonest("soonest"),
        one_in_a_hundred_by=soonest("one_in_a_hundred_by"),
        half_by=soonest("half_by"),
        explored=explored,
        is_missed=is_missed,
        page=page,
        causes=causes,
    )


def _exploration(data: Mapping[str, Any], name: str) -> tuple[str, bool]:
    """Return the result of exploration for a property in all configurations as text, and whether it is violated.

    Configurations without a result are named: they count neither as violated nor as holding.
    """
    everything = data["configurations"]
    known = [known_run["known"] for known_run in everything if known_run["known"] is not None]
    lengths = [known_run["violations"][name] for known_run in known if name in known_run["violations"]]
    complete = [
        known_run for known_run in known if known_run["states"] is not None and name not in known_run["violations"]
    ]
    open_ones = len(everything) - len(lengths) - len(complete)
    undecided = f"; not decided in {open_ones}" if open_ones and len(everything) > 1 else ""
    if lengths:
        where = f" in {len(lengths)} of {len(everything)} configurations" if len(everything) > 1 else ""
        return f"violated{where}{undecided}; shortest trace: {quantity(min(lengths), 'state')}", True
    if not open_ones:
        return f"holds in all {sum(known_run['states'] for known_run in complete):,} states", False
    if complete:
        return f"holds in {len(complete)} of {len(everything)} configurations{undecided}", False
    return "not decided", False


def rate_of(data: Mapping[str, Any], failure: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the share of walks with a failure, and the configuration that it belongs to as text.

    With several configurations it is the largest share of a configuration. A share of the walks of all of them would
    mix settings that nobody uses together.
    """
    everything = data["configurations"]
    if len(everything) > 1 and failure["most_in"] is None:
        return {**failure, "exact": None, "split": None}, ""
    configuration = next(
        (configuration for configuration in everything if configuration["number"] == failure["most_in"]), everything[0]
    )
    same = (failure["property"], failure["is_error"])
    share = next(entry for entry in configuration["failures"] if (entry["property"], entry["is_error"]) == same)
    return share, constants_text(configuration["swept"]) if len(everything) > 1 else ""


def settings_without_violation(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the configurations in which no walk violates anything, with the result of their exploration as text."""
    return [
        {
            "name": constants_text(configuration["swept"]),
            "any": configuration["any"],
            "walks": configuration["walks"],
            **_decision(configuration["known"]),
        }
        for configuration in data["configurations"]
        if not configuration["any"]["walks"]
    ]


def _decision(known: Mapping[str, Any] | None) -> dict[str, Any]:
    if known is not None and known["violations"]:
        violated = ", ".join(f"{name} in {length} states" for name, length in known["violations"].items())
        return {"explored": f"violated: {violated}", "status": "bad"}
    if known is not None and known["states"] is not None:
        return {"explored": f"holds in all {known['states']:,} states", "status": "ok"}
    reason = f": {known['reason']}" if known is not None and known["reason"] else ""
    return {"explored": f"not decided{reason}", "status": "warn"}


def _cluster(data: Mapping[str, Any], cluster: Mapping[str, Any], page: str | None) -> dict[str, Any]:
    _, _, reason = cluster["explanation"].partition("\n")
    calls = [
        (f"{step['action']}({', '.join(_text(value) for value in step['arguments'].values())})", step["fault"])
        for step in cluster["schedule"]
    ]
    is_error = cluster["kind"] == "bounds_error"
    same = (cluster["property"], is_error)
    violating = next(f["walks"] for f in data["failures"] if (f["property"], f["is_error"]) == same)
    swept = data["configurations"]
    where = [
        f"{constants_text(configuration['swept'])}: {walks_text(cluster['by_configuration'][number])}"
        for number, configuration in ((str(configuration["number"]), configuration) for configuration in swept)
        if number in cluster["by_configuration"]
    ]
    return {
        **cluster,
        "reason": reason,
        "calls": calls,
        "page": page,
        "walks_text": walks_text(cluster),
        "share": share_range(cluster, violating),
        "where": where if len(swept) > 1 else [],
        "absent_with": [removal_text(setting) for setting in cluster["absent_with"]],
    }


def share_range(share: Mapping[str, Any], total: int) -> str:
    """Return a share of the violating walks as text, with its interval if it is an estimate."""
    if share["low"] == share["high"]:
        return share_text(share["walks"] / total)
    ends = {"rate": share["walks"] / total, "low": share["low"] / total, "high": share["high"] / total}
    rate, low, high = share_texts(ends)
    return f"{rate} ({low} to {high})"


def _sibling_properties(data: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Return the failures of this run and of its siblings that some walks have, in the order of the run."""
    rows = [row for sibling in data["siblings"] for row in sibling["failures"]]
    keys = [(row["property"], row["is_error"]) for row in rows if row["before"]["walks"] or row["after"]["walks"]]
    return list(dict.fromkeys(keys))


def _sibling_rows(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each run and setting: first this run, then its siblings.

    `shares` has for each of `_sibling_properties` the share of walks and the change against this run; None stands for a
    property that one of the two runs does not check.
    """
    properties = _sibling_properties(data)
    rows = []
    for configuration in data["configurations"] if data["siblings"] else ():
        shares = {(entry["property"], entry["is_error"]): (entry, "") for entry in configuration["failures"]}
        own = [shares.get(key) for key in properties]
        setting = constants_text(configuration["swept"])
        rows.append({"name": run_name(data), "is_this": True, "setting": setting, "shares": own})
    for sibling in data["siblings"]:
        for setting in dict.fromkeys(row["setting"] for row in sibling["failures"]):
            shares = {
                (row["property"], row["is_error"]): (row["after"], row["change"])
                for row in sibling["failures"]
                if row["setting"] == setting
            }
            compared = [shares.get(key) for key in properties]
            name = sibling_name(sibling)
            rows.append({"name": name, "is_this": False, "setting": setting, "shares": compared})
    return rows


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key} {_text(part)}" for key, part in value.items()) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _common(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constants that all configurations share."""
    first = data["configurations"][0]["constants"] if data["configurations"] else {}
    return {name: value for name, value in first.items() if name not in data["sweep"]}


def _actions_that_broke(data: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, int, float]]]]:
    """Return for each failure the actions that broke the property, with numbers and shares of walks."""
    result = []
    for number, failure in enumerate(data["failures"]):
        counts: Counter[str] = Counter()
        for configuration in data["configurations"]:
            counts.update(configuration["failures"][number]["broken_by"])
        if counts:
            total = counts.total()
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            result.append(
                (report_charts.name_of(failure), [(action, walks, walks / total) for action, walks in ordered])
            )
    return result


def _risks(data: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str, Mapping[str, Any], bool]]]]:
    """Return for each failure its risk factors, each with its comparison as text, and whether a difference is shown."""
    result = []
    for failure in data["failures"]:
        same = (failure["property"], failure["is_error"])
        rows = [row for row in data["risks"] if (row["property"], row["is_error"]) == same]
        rows.sort(
            key=lambda row: (
                not is_absolute(row),
                row["kind"] == "action",
                bool(row["walks_without"]),
                -(row["ratio"] or 0),
            )
        )
        if rows:
            named = [(factor_text(row), comparison_text(row), row, is_shown(row)) for row in rows]
            result.append((report_charts.name_of(failure), named))
    return result


def _actions(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions with their counts, added over all configurations."""
    gathered: dict[str, dict[str, Any]] = {}
    for configuration in data["configurations"]:
        for counted in configuration["actions"]:
            entry = gathered.setdefault(
                counted["action"], {"action": counted["action"], "takes": 0, "taken": 0, "instances": 0}
            )
            entry["takes"] += counted["takes"]
            entry["taken"] += counted["instances_taken"]
            entry["instances"] += counted["instances"]
    total = sum(counted["takes"] for counted in gathered.values()) or 1
    most = max((counted["takes"] for counted in gathered.values()), default=1) or 1
    return [
        {**counted, "share": counted["takes"] / total, "bar": counted["takes"] / most} for counted in gathered.values()
    ]


def _branches(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the number of branches of conditions, and the branches that no configuration took."""
    sides: Counter[tuple[str, int, str, bool]] = Counter()
    for configuration in data["configurations"]:
        for branch in configuration["branches"]:
            for side in (True, False):
                key = (branch["file"], branch["line"], branch["text"], side)
                sides[key] += branch["true_walks" if side else "false_walks"]
    idle = [
        {"place": f"{file}:{line}", "text": text, "side": "true" if side else "false"}
        for (file, line, text, side), walks in sides.items()
        if not walks
    ]
    return {"sides": len(sides), "idle": idle}


def _reachables(data: Mapping[str, Any]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for configuration in data["configurations"]:
        for name, walks in configuration["reached"].items():
            counts[name] += walks
    return list(counts.items())
