"""Reports on trace validation: a self-contained page, and the same numbers as JSON."""

from __future__ import annotations

import json
from typing import Any

from checker.output.output_files import write_whole
from checker.output.page.render import render
from traces.storage import Location
from traces.validate.controls import KINDS
from traces.validate.task import ValidationTask
from traces.validate.totals import ValidationTotals

_VERDICTS = {
    "conforms": "a behaviour of the spec explains the trace",
    "rejected": "no behaviour of the spec explains the trace",
    "undecided": "no candidate state is left, but a limit was reached",
    "unreadable": "the log or the mapping is wrong",
}


def write_report(folder: Location, name: str, task: ValidationTask, summary: ValidationTotals, seconds: float) -> None:
    """Write `report.html` and `report.json` to a folder; raise OutputError if that fails."""
    content = report_to_json(name, task, summary, seconds)
    write_whole(folder / "report.json", json.dumps(content, indent=1) + "\n")
    write_whole(folder / "report.html", report_page(name, task, summary, seconds))


def report_to_json(name: str, task: ValidationTask, summary: ValidationTotals, seconds: float) -> dict[str, Any]:
    """Return the JSON object of a validation."""
    return {
        "spec": name,
        "mapping": task.mapping,
        "settings": dict(task.settings),
        "seconds": round(seconds, 3),
        **summary.to_json(),
    }


def report_page(name: str, task: ValidationTask, summary: ValidationTotals, seconds: float) -> str:
    """Return the HTML of a validation."""
    return render(
        "validation.html.j2",
        package="checker.output",
        filters={"event": _short},
        title=f"{name}: recorded traces",
        name=name,
        task=task,
        summary=summary,
        seconds=seconds,
        meanings=_VERDICTS,
        kinds=KINDS,
    )


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}..."
