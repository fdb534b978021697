"""Comparison of reports: before and after a change of rules, or of a spec with its siblings. Which causes differ?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from checker.data_files import reason_of, utf8_text
from checker.errors import InputError
from checker.output.counterexample_text import constants_text
from spark_analysis.report.report_data import FORMAT, VERSION
from spark_analysis.walks.statistics import Share, share_difference, significant, wilson
from traces.json_input import parse_json
from traces.storage import Location, read_location

Side = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The data of a report, and one of its configurations."""


def report_file(place: Location) -> Location:
    """Return the file of a report: a `report.json`, or that of its folder or of the folder of its walks.

    Raises InputError if there is none.
    """
    candidates = [place, place / "report.json", place / "report" / "report.json"]
    file = next((candidate for candidate in candidates if candidate.is_file()), None)
    if file is None:
        raise InputError(f"{place} has no report.json: run python -m checker report on these walks first")
    return file


def read_report(place: Location) -> dict[str, Any]:
    """Return the data of a report (see `report_file`); raise InputError if there is none, or of another version."""
    file = report_file(place)
    try:
        data = parse_json(utf8_text(read_location(file)))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {reason_of(error)}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f'{file} is no report of walks: it has no "format": "{FORMAT}"')
    if data.get("version") != VERSION:
        raise InputError(f"{file} has version {data.get('version')!r} of reports: report again for {VERSION}")
    return data


def compare_reports(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the differences of two reports as plain data.

    Configurations are compared with those of the same varied settings. Raises InputError if no setting is in both.
    """
    old = {constants_text(each["swept"]): each for each in before["configurations"]}
    new = {constants_text(each["swept"]): each for each in after["configurations"]}
    both = [name for name in new if name in old]
    if not both:
        raise InputError("the two runs have no setting in common: sweep the same values of the same constants in both")
    of_one = _properties_of(before) ^ _properties_of(after)
    causes = [row for name in both for row in _causes(name, (before, old[name]), (after, new[name]))]
    without = [each for each in (before, after) if _lacks_causes(each)]
    return {
        "before": _name_fields(before),
        "after": _name_fields(after),
        "notes": [
            *_notes(before, after, sorted({*old, *new} - {*both}), sorted(of_one)),
            *(f"Causes are not compared: the report on {each['spec']} has none." for each in without[:1]),
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
        {**comparison, **_constants_beside(data, sibling, comparison["notes"])}
        for sibling in siblings
        for comparison in [compare_reports(data, sibling)]
    ]


def _constants_beside(data: Mapping[str, Any], sibling: Mapping[str, Any], notes: Sequence[str]) -> dict[str, Any]:
    """Return the constants of a sibling that differ from a report's, without the varied ones, and the notes."""
    own, other = (
        {name: value for name, value in report["configurations"][0]["constants"].items() if name not in report["sweep"]}
        for report in (data, sibling)
    )
    of_one = sorted(own.keys() ^ other.keys())
    more = [f"Only one of the two specs has the constants {', '.join(of_one)}."] if of_one else []
    different = {name: value for name, value in other.items() if name in own and own[name] != value}
    return {"constants": different, "notes": [*notes, *more]}


def _name_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"spec": data["spec"], "scenario": data["scenario"], "walks": data["walks"]}


def run_name(side: Mapping[str, Any]) -> str:
    """Return the name of one side of a comparison: `replication/kip320`, or with the scenario."""
    return f"{side['spec']}/{side['scenario']}" if side["scenario"] else str(side["spec"])


def sibling_name(sibling: Mapping[str, Any]) -> str:
    """Return the name of the sibling in a comparison, with the constants that differ."""
    constants = constants_text(sibling["constants"])
    return run_name(sibling["after"]) + (f" ({constants})" if constants else "")


def _properties_of(data: Mapping[str, Any]) -> set[str]:
    """Return the properties that the walks of a report were checked for."""
    return {failure["property"] for failure in data["failures"] if not failure["is_error"]}


def _lacks_causes(data: Mapping[str, Any]) -> bool:
    """Return whether a report has violations without causes: its spec had changed since the walks."""
    return not data["clusters"] and any(failure["walks"] for failure in data["failures"])


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
    if any(_ends_walks(report, of_one) for report in (before, after)):
        yield "A violation of one of these ends a walk, so the shares of the others differ for that reason too."
    if left_out:
        yield f"Not compared, because only one run has them: {'; '.join(left_out)}."


def _ends_walks(data: Mapping[str, Any], properties: Collection[str]) -> bool:
    """Return whether a violation of some properties ends walks of a report."""
    violated = {failure["property"] for failure in data["failures"] if failure["walks"] and not failure["is_error"]}
    return not data.get("beyond", False) and not violated.isdisjoint(properties)


def _failures(setting: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    old, new = (
        {(failure["property"], failure["is_error"]): failure["walks"] for failure in configuration["failures"]}
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
    clusters = {}
    for cluster in data["clusters"]:
        walks = cluster["by_configuration"].get(str(configuration["number"]))
        if walks is not None:
            total = configuration["walks"]
            # The number of walks may itself be an estimate: the interval is that of its ends.
            share = Share(walks["walks"], total, wilson(walks["low"], total).low, wilson(walks["high"], total).high)
            steps = (*cluster["last_steps"], cluster["breaker"])
            key = cluster["property"], cluster["kind"], tuple(cluster["false_parts"]), steps
            clusters[key] = cluster, share
    return clusters


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
        "difference": {"low": significant(low), "high": significant(high)},
        "change": change,
    }


def _share(share: Share) -> dict[str, Any]:
    rounded = {name: significant(getattr(share, name)) for name in ("rate", "low", "high")}
    return {"walks": share.count, **rounded}
