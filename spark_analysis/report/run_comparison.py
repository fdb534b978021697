"""Comparison of reports: before and after a change of rules, or of a spec with its siblings. Which causes differ?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from checker.errors import InputError
from checker.output.counterexample_text import constants_text
from spark_analysis.report.report_data import FORMAT, VERSION
from spark_analysis.walks.statistics import Share, share_difference, wilson
from traces.json_input import parse_json
from traces.storage import Location, read_location

_DIGITS = 9

Side = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The data of a report, and one of its configurations."""


def report_file(place: Location) -> Location:
    """Return the file of a report: a `report.json`, or that of its folder or of the folder of its walks.

    Raises InputError if there is none.
    """
    candidates = [place, place / "report.json", place / "report" / "report.json"]
    file = next((found for found in candidates if found.is_file()), None)
    if file is None:
        raise InputError(f"{place} has no report.json: run python -m checker report on these walks first")
    return file


def read_report(place: Location) -> dict[str, Any]:
    """Return the data of a report (see `report_file`); raise InputError if there is none, or of another version."""
    file = report_file(place)
    try:
        data = parse_json(read_location(file).decode())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f'{file} is no report of walks: it has no "format": "{FORMAT}"')
    if data.get("version") != VERSION:
        raise InputError(f"{file} has version {data.get('version')!r} of reports: report again for {VERSION}")
    return data


def compare_reports(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the differences of two reports as plain data.

    Configurations are compared with those of the same varied settings. Raises InputError if no setting is in both.
    """
    old = {constants_text(found["swept"]): found for found in before["configurations"]}
    new = {constants_text(found["swept"]): found for found in after["configurations"]}
    both = [name for name in new if name in old]
    if not both:
        raise InputError("the two runs have no setting in common: sweep the same values of the same constants in both")
    of_one = _checked(before) ^ _checked(after)
    causes = [row for name in both for row in _causes(name, (before, old[name]), (after, new[name]))]
    without = [found for found in (before, after) if _lacks_causes(found)]
    return {
        "before": _named(before),
        "after": _named(after),
        "notes": [
            *_notes(before, after, sorted({*old, *new} - {*both}), sorted(of_one)),
            *(f"Causes are not compared: the report on {found['spec']} has none." for found in without[:1]),
        ],
        "failures": [
            row for name in both for row in _failures(name, old[name], new[name]) if row["property"] not in of_one
        ],
        "causes": [] if without else [row for row in causes if row["property"] not in of_one],
    }


def compare_siblings(data: Mapping[str, Any], siblings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return how each sibling differs from a report: of a related spec, or of the same with other constants.

    A sibling is the side "after"; `constants` are its constants that differ. Raises InputError if it has no setting in
    common with the report.
    """
    return [
        {**found, **_constants_beside(data, sibling, found["notes"])}
        for sibling in siblings
        for found in [compare_reports(data, sibling)]
    ]


def _constants_beside(data: Mapping[str, Any], sibling: Mapping[str, Any], notes: Sequence[str]) -> dict[str, Any]:
    """Return the constants of a sibling that differ from a report's, without the varied ones, and the notes."""
    own, other = (
        {name: value for name, value in found["configurations"][0]["constants"].items() if name not in found["sweep"]}
        for found in (data, sibling)
    )
    of_one = sorted(own.keys() ^ other.keys())
    more = [f"Only one of the two specs has the constants {', '.join(of_one)}."] if of_one else []
    different = {name: value for name, value in other.items() if name in own and own[name] != value}
    return {"constants": different, "notes": [*notes, *more]}


def _named(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"spec": data["spec"], "scenario": data["scenario"], "walks": data["walks"]}


def run_name(side: Mapping[str, Any]) -> str:
    """Return the name of one side of a comparison: `replication/kip320`, or with the scenario."""
    return f"{side['spec']}/{side['scenario']}" if side["scenario"] else str(side["spec"])


def sibling_name(sibling: Mapping[str, Any]) -> str:
    """Return the name of the sibling in a comparison, with the constants that differ."""
    constants = constants_text(sibling["constants"])
    return run_name(sibling["after"]) + (f" ({constants})" if constants else "")


def _checked(data: Mapping[str, Any]) -> set[str]:
    """Return the properties that the walks of a report were checked for."""
    return {found["property"] for found in data["failures"] if not found["is_error"]}


def _lacks_causes(data: Mapping[str, Any]) -> bool:
    """Return whether a report has violations without causes: its spec had changed since the walks."""
    return not data["clusters"] and any(found["walks"] for found in data["failures"])


def _notes(
    before: Mapping[str, Any], after: Mapping[str, Any], left_out: list[str], of_one: list[str]
) -> Iterator[str]:
    for key in ("depth", "bias", "weights", "beyond"):
        # A report of an earlier version has no `beyond`.
        old, new = before.get(key, False), after.get(key, False)
        if old != new:
            yield f"The runs differ in {key} ({old}, {new}), so their shares differ for that reason too."
    if of_one:
        yield f"Not compared, because only one run checks them: {', '.join(of_one)}."
    if any(_ends_walks(found, of_one) for found in (before, after)):
        yield "A violation of one of these ends a walk, so the shares of the others differ for that reason too."
    if left_out:
        yield f"Not compared, because only one run has them: {'; '.join(left_out)}."


def _ends_walks(data: Mapping[str, Any], properties: Collection[str]) -> bool:
    """Return whether a violation of some properties ends walks of a report."""
    violated = {found["property"] for found in data["failures"] if found["walks"] and not found["is_error"]}
    return not data.get("beyond", False) and not violated.isdisjoint(properties)


def _failures(setting: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    old, new = (
        {(found["property"], found["is_error"]): found["walks"] for found in configuration["failures"]}
        for configuration in (before, after)
    )
    for name, is_error in {**new, **old}:
        # Errors without walks are not in a report.
        walks = old.get((name, is_error), 0), new.get((name, is_error), 0)
        difference = _difference(wilson(walks[0], before["walks"]), wilson(walks[1], after["walks"]))
        yield {"setting": setting, "property": name, "is_error": is_error, **difference}


def _causes(
    setting: str,
    before: tuple[Mapping[str, Any], Mapping[str, Any]],
    after: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> list[dict[str, Any]]:
    old, new = _by_cause(*before), _by_cause(*after)
    rows = []
    for key in {**new, **old}:
        shares = [
            found[key][1] if key in found else wilson(0, configuration["walks"])
            for found, (_, configuration) in ((old, before), (new, after))
        ]
        name, kind, _, actions = key
        sentence = (new.get(key) or old[key])[0]["sentence"]
        rows.append(
            {
                "setting": setting,
                "property": name,
                "kind": kind,
                "actions": list(actions),
                "sentence": sentence,
                **_difference(*shares),
            }
        )
    return sorted(rows, key=lambda row: (-max(row["before"]["rate"], row["after"]["rate"]), row["actions"]))


def _by_cause(data: Mapping[str, Any], configuration: Mapping[str, Any]) -> dict[Any, tuple[Mapping[str, Any], Share]]:
    """Return the causes of a configuration, each with the share of its walks."""
    found = {}
    for cluster in data["clusters"]:
        walks = cluster["by_configuration"].get(str(configuration["number"]))
        if walks is not None:
            total = configuration["walks"]
            # The number of walks may itself be an estimate: the interval is that of its ends.
            share = Share(walks["walks"], total, wilson(walks["low"], total).low, wilson(walks["high"], total).high)
            key = cluster["property"], cluster["kind"], cluster["conjunct"], tuple(cluster["actions"])
            found[key] = cluster, share
    return found


def _difference(before: Share, after: Share) -> dict[str, Any]:
    """Return two shares, the interval of their difference, and the change that it shows."""
    low, high = share_difference(before, after)
    if low <= 0 <= high:
        change = "not shown"
    elif before.count and not after.count:
        change = "gone"
    elif after.count and not before.count:
        change = "new"
    else:
        change = "more often" if low > 0 else "less often"
    return {
        "before": _share(before),
        "after": _share(after),
        "difference": {"low": round(low, _DIGITS), "high": round(high, _DIGITS)},
        "change": change,
    }


def _share(found: Share) -> dict[str, Any]:
    rounded = {name: round(getattr(found, name), _DIGITS) for name in ("rate", "low", "high")}
    return {"walks": found.count, **rounded}
