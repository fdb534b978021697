"""The results of a simulation as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.language.constant_values import constant_text
from checker.language.roles import Role
from checker.output.styled_lines import BLANK, Line, line
from checker.run import registry
from spark_analysis.report.chart_geometry import share_text
from spark_analysis.walks.records import WalkConfiguration, WalkRun
from spark_analysis.walks.walk_request import liveness_in
from spark_analysis.walks.walk_totals import WalkTotals, add_totals


def texts_of_unexpected(run: WalkRun, summary: WalkTotals) -> list[str]:
    """Return as text the violations that the scenario does not expect; without an expectation, all violations."""
    errors = [f"{name} leaves its bounds" for name in summary.errors if run.expected != "error"]
    expected = run.expected if isinstance(run.expected, list) else []
    return [*(f"{name} is violated" for name in summary.violated if name not in expected), *errors]


def simulation_to_json(run: WalkRun, configuration: WalkConfiguration, summary: WalkTotals) -> dict[str, Any]:
    """Return the JSON object of a configuration: counts of walks, which are the same for every run with one seed."""
    return {
        "spec": run.spec,
        "scenario": run.scenario,
        "configuration": configuration.number,
        "constants": configuration.constants,
        "seed": run.seed,
        "depth": run.depth,
        "beyond": run.beyond,
        "walks": summary.walks,
        "steps": summary.steps,
        "verdicts": dict(sorted(summary.verdicts.items())),
        "violated": dict(sorted(summary.violated.items())),
        "errors": dict(sorted(summary.errors.items())),
        "reached": dict(sorted(summary.reached.items())),
        "not_checked": liveness_in(registry.select_spec(run.target).spec.roles),
        "expected": run.expected,
        "unexpected": texts_of_unexpected(run, summary),
    }


def simulation_lines(run: WalkRun, summaries: list[WalkTotals]) -> list[Line]:
    """Return a table with a row for each configuration and violated property, and notes."""
    name = run.spec if run.scenario is None else f"{run.spec}/{run.scenario}"
    shown = [
        line((name, "bold"), f"  seed {run.seed}, walks of up to {run.depth} steps{beyond_text(run.beyond)}"),
        BLANK,
    ]
    rows = [[*run.sweep, "walks", "steps", "violated", ""]]
    for configuration, summary in zip(run.configurations, summaries, strict=True):
        rows += _rows(run, configuration, summary)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = "  ".join(text.rjust(width) for text, width in zip(row[:-1], widths, strict=False))
        shown.append(line((f"{cells}  {row[-1]}".rstrip(), "bold" if number == 0 else "")))
    return [*shown, BLANK, *_notes(run, summaries)]


def beyond_text(beyond: bool) -> str:
    """Return a suffix for walks that go on after a violation."""
    return " that go on after a violation" if beyond else ""


def choice_text(bias: str, weights: Mapping[str, int]) -> str:
    """Return how walks choose their steps if the choice is not uniform; "" if it is.

    The rates of such walks are not those of uniform walks.
    """
    if bias != "uniform":
        return f"The choices are biased ({bias}): the rates are those of biased walks, not of uniform ones."
    if weights:
        chosen = ", ".join(f"{action}={weight}" for action, weight in weights.items())
        return f"The choices are weighted ({chosen}): the rates are those of weighted walks, not of uniform ones."
    return ""


def _rows(run: WalkRun, configuration: WalkConfiguration, summary: WalkTotals) -> list[list[str]]:
    """Return the rows of a configuration: one for each violated property, or one row without violations."""
    own = [constant_text(configuration.constants[name]) for name in run.sweep]
    failures = [(name, count, "violated") for name, count in summary.violated.most_common()]
    failures += [(name, count, "leaves its bounds") for name, count in summary.errors.most_common()]
    if not failures:
        return [[*own, f"{summary.walks:,}", f"{summary.steps:,}", "0", "no violation"]]
    rows = []
    for number, (name, count, label) in enumerate(failures):
        begin = [*own, f"{summary.walks:,}", f"{summary.steps:,}"] if number == 0 else [""] * (len(own) + 2)
        rows.append([*begin, f"{count:,}", f"{name} {label}, {share_text(count / summary.walks, 4)} of the walks"])
    return rows


def _notes(run: WalkRun, summaries: list[WalkTotals]) -> list[Line]:
    """Return the differences from the expectation, and the properties that no walk reached."""
    whole = add_totals(summaries)
    choice = choice_text(run.bias, run.weights)
    notes = [line((choice, "yellow"))] if choice else []
    if run.expected is not None:
        notes += [line((f"{text}, which is not expected", "red")) for text in texts_of_unexpected(run, whole)]
    if isinstance(run.expected, list):
        missing = [name for name in run.expected if name not in whole.violated]
        notes += [line((f"no walk violates {name}, but exploration does", "yellow")) for name in missing]
    roles = registry.select_spec(run.target).spec.roles
    if left_out := liveness_in(roles):
        notes.append(line((f"not checked by walks: {', '.join(left_out)} (liveness)", "yellow")))
    unreached = [name for name in run.properties if roles.get(name) is Role.REACHABLE and name not in whole.reached]
    if unreached:
        notes.append(line((f"no walk reaches {', '.join(unreached)}", "yellow")))
    return notes
