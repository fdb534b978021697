"""The published figures: numbers of states, and speeds of other tools."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

from measure import ROOT, Constants, Row, Sample

_PATH = ROOT / "tests" / "golden" / "kafka-replication.json"
_FIGURE = re.compile(r"([\d.]+) (s|MB)\b(?: (run|wall|compile|from source to verdict))?")


def states(module: str, constants: Constants) -> int | None:
    """Return the published number of states of a module; None if it is not published."""
    for row in _golden()["replication"]:
        if row["module"] == module and asdict(constants).items() <= row.items():
            return int(row["distinct_states"])
    return None


def rows(constants: Constants) -> list[Row]:
    """Return the published speeds on KIP-320 with these constants, parsed from the sentences of the golden file."""
    for size, tools in _golden()["published_speed"].items():
        found = re.match(r"\(([\d,]+)\), (\d+) states", size)
        if found is not None and f"({found[1].replace(',', ', ')})" == str(constants):
            return [_row(tool, sentence, int(found[2])) for tool, sentence in tools.items()]
    return []


def _row(tool: str, sentence: str, states: int) -> Row:
    figures: dict[str, float] = {}
    for number, unit, what in _FIGURE.findall(sentence):
        # A time without a label is that of the whole run. Of several such times, the first counts.
        figures.setdefault("MB" if unit == "MB" else what or "wall", float(number))
    run, compiling, peak = figures.get("run"), figures.get("compile"), figures.get("MB")
    whole = figures.get("wall", figures.get("from source to verdict"))
    if whole is None and run is not None and compiling is not None:
        whole = run + compiling
    return Row(
        tool,
        states,
        whole=_sample(whole),
        compiling=_sample(compiling),
        exploring=_sample(run),
        peak_bytes=None if peak is None else peak * 1e6,
        state_bytes=None if peak is None else peak * 1e6 / states,
        is_published=True,
    )


def _sample(value: float | None) -> Sample | None:
    return None if value is None else Sample((value,))


def _golden() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(_PATH.read_text())
    return content
