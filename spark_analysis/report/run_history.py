"""The history of a run in CI: a file with a line for each report, and the trend of the rates over its lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from checker.data_files import reason_of, utf8_text
from checker.errors import InputError
from checker.output.counterexample_text import constants_text
from checker.output.output_files import open_for_writing
from spark_analysis.walks.records import WalkRun
from spark_analysis.walks.statistics import share_difference, significant, wilson
from traces.json_input import parse_json
from traces.storage import Location, read_location

FORMAT = "tidemark-history"

_SAME = ("spec", "scenario", "constants", "sweep", "properties", "depth", "bias", "weights", "beyond")
"""What the runs of one trend have in common. A walk ends with a violation of any checked property, so the rate of one
depends on the others."""

Line = dict[str, Any]


def read_history(file: Location) -> list[Line]:
    """Return the lines of a history, none if there is no file; raise InputError if one is wrong."""
    try:
        texts = utf8_text(read_location(file)).splitlines() if file.exists() else []
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {reason_of(error)}") from None
    return [_line(file, number, text) for number, text in enumerate(texts, 1) if text.strip()]


def _line(file: Location, number: int, text: str) -> Line:
    try:
        line = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}, line {number}: {error}") from None
    if not isinstance(line, dict) or line.get("format") != FORMAT:
        raise InputError(f'{file}, line {number} has no "format": "{FORMAT}": name a file that --history wrote')
    rates = line.get("rates")
    if not isinstance(rates, list) or not all(_is_rate(rate) for rate in rates):
        raise InputError(f"{file}, line {number} has no rates: remove the line")
    return line


def _is_rate(rate: Any) -> bool:
    return (
        isinstance(rate, dict)
        and isinstance(rate.get("setting"), str)
        and isinstance(rate.get("property"), str)
        and all(type(rate.get(name)) is int for name in ("walks", "of"))
        and 0 <= rate["walks"] <= rate["of"]
    )


def line_of(run: WalkRun, data: Mapping[str, Any]) -> Line:
    """Return the line of a report."""
    constants = [settings.constants for settings in run.configurations]
    same = {**data, "constants": constants, "properties": list(run.properties)}
    return {
        "format": FORMAT,
        **{name: same[name] for name in _SAME},
        "seed": run.seed,
        "tidemark": run.tidemark,
        "run": run.to_json()["digest"],
        "spec_digests": sorted({settings.spec_digest for settings in run.configurations}),
        "rates": [
            {
                "setting": constants_text(configuration["swept"]),
                "property": failure["property"],
                "is_error": failure["is_error"],
                "walks": failure["walks"],
                "of": configuration["walks"],
            }
            for configuration in data["configurations"]
            for failure in configuration["failures"]
        ],
    }


def append_line(file: Location, history: Sequence[Line], new: Line) -> None:
    """Write a history with a new line, unless its last line of the same trend is of the same run.

    Raises OutputError if the file cannot be written.
    """
    if [line.get("run") for line in _of_same_trend(history, new)][-1:] == [new["run"]]:
        return
    with open_for_writing(file) as stream:
        for line in (*history, new):
            stream.write(json.dumps(line) + "\n")


def trend(history: Sequence[Line], new: Line) -> dict[str, Any]:
    """Return the rates of the runs like a new one, the oldest first, and the change since the one before.

    Runs are alike if all values of `_SAME` are equal. An earlier line of the same run is left out. A change is shown if
    the 95% interval of the difference excludes 0 (Newcombe's method 10).
    """
    like = [line for line in _of_same_trend(history, new) if line.get("run") != new["run"]]
    rows = []
    for rate in new["rates"]:
        earlier = [rates for line in like for rates in line["rates"] if _key(rates) == _key(rate)]
        if any(rates["walks"] for rates in (*earlier, rate)):
            rows.append(
                {**_name(rate), "rates": [_share(rates) for rates in (*earlier, rate)], **_change(earlier, rate)}
            )
    return {"runs": len(like) + 1, "rows": rows}


def _of_same_trend(history: Sequence[Line], new: Line) -> list[Line]:
    return [line for line in history if all(line.get(name) == new[name] for name in _SAME)]


def _key(rate: Mapping[str, Any]) -> tuple[str, str, bool]:
    return rate["setting"], rate["property"], bool(rate.get("is_error"))


def _name(rate: Mapping[str, Any]) -> dict[str, Any]:
    return dict(zip(("setting", "property", "is_error"), _key(rate), strict=True))


def _share(rate: Mapping[str, Any]) -> dict[str, Any]:
    share = wilson(rate["walks"], rate["of"])
    return {"walks": share.count, "of": share.total, **{end: significant(getattr(share, end)) for end in _ENDS}}


_ENDS = ("rate", "low", "high")


def _change(earlier: Sequence[Mapping[str, Any]], rate: Mapping[str, Any]) -> dict[str, Any]:
    if not earlier:
        return {"change": "first run"}
    low, high = share_difference(*(wilson(rates["walks"], rates["of"]) for rates in (earlier[-1], rate)))
    return {"change": "more often" if low > 0 else "less often" if high < 0 else "not shown"}
