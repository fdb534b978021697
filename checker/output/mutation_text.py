"""The verdicts on mutants as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.evidence.mutation.campaign import MutationReport
from checker.evidence.mutation.mutants import Mutant
from checker.evidence.mutation.verdicts import BOUNDS, MutantVerdict, Status
from checker.language.spec import Scenario
from checker.output.styled_lines import BLANK, Line, line
from checker.printable import quantity
from checker.run.finding import short_path
from checker.run.plan import DEADLOCK


def mutation_lines(report: MutationReport) -> list[Line]:
    """Return the lines of a report: the total, the kills of each property, and the mutants that were not killed."""
    shown = [_total_line(report), BLANK, *_property_lines(report)]
    for status, heading in (
        ("survived", "survived: no property detects these mutants"),
        ("undecided", "undecided: an exploration reached a limit"),
        ("equivalent", "equivalent: these mutants have the same states and steps as the original"),
        ("invalid", "invalid: these mutants cannot be explored"),
    ):
        mutants = report.with_status(status)
        if mutants:
            shown += [BLANK, line((heading, "bold"))]
            shown += [one for mutant, outcome in mutants for one in _mutant_lines(mutant, outcome)]
    return shown


def _total_line(report: MutationReport) -> Line:
    statuses: tuple[Status, ...] = ("killed", "survived", "equivalent", "undecided", "invalid")
    counts = {status: len(report.with_status(status)) for status in statuses}
    words = ", ".join(f"{count} {status}" for status, count in counts.items() if count or status == "killed")
    of_all = "" if len(report.outcomes) == report.total else f" of {report.total}"
    original = quantity(report.original.distinct_states, "state")
    return line((f"{len(report.outcomes)}{of_all} mutants, {report.seconds:.0f} s: {words}", "bold"), f"  ({original})")


def _property_lines(report: MutationReport) -> list[Line]:
    width = max(len(name) for name in (*report.kills, "property"))
    rows = [line((f"  {'property':<{width}}  {'kills':>6}  {'alone':>6}", "dim"))]
    for name, count in report.kills.items():
        note = "  kills nothing" if not count else ""
        row = f"  {name:<{width}}  {count:>6}  {report.sole_kills[name]:>6}{note}"
        rows.append(line((row, "" if count else "yellow")))
    return rows


def _mutant_lines(mutant: Mutant, outcome: MutantVerdict) -> list[Line]:
    place = f"{short_path(mutant.file)}:{mutant.mutation.line}"
    shared = ", also run by properties" if mutant.is_shared else ""
    return [
        line(f"  {place}  ", (f"{mutant.method.name}{shared}", "dim")),
        line(f"      {mutant.mutation}"),
        line((f"      {outcome.why}", "dim")),
    ]


def mutation_to_json(report: MutationReport, scenario: Scenario | None) -> dict[str, Any]:
    """Return the JSON object of a report, with every mutant."""
    mutants = [_mutant_to_json(report.mutants[number], outcome) for number, outcome in sorted(report.outcomes.items())]
    return {
        "spec": report.task.target,
        "scenario": None if scenario is None else scenario.name,
        "constants": dict(report.task.constants),
        "seconds": round(report.seconds, 3),
        "original": {
            "distinct_states": report.original.distinct_states,
            "generated_states": report.original.generated_states,
            "depth": len(report.original.levels),
            "violations": report.original.violated,
        },
        "all_mutants": report.total,
        "properties": {
            name: {"kills": count, "alone": report.sole_kills[name]}
            for name, count in report.kills.items()
            if name not in (BOUNDS, DEADLOCK) or count
        },
        "mutants": mutants,
    }


def _mutant_to_json(mutant: Mutant, outcome: MutantVerdict) -> dict[str, Any]:
    run = outcome.found
    return {
        "method": mutant.method.name,
        "file": short_path(mutant.file),
        "line": mutant.mutation.line,
        "operator": mutant.mutation.operator,
        "before": mutant.mutation.before,
        "after": mutant.mutation.after,
        "run_by_properties": mutant.is_shared,
        "status": outcome.status,
        "killed_by": list(outcome.killed_by),
        "why": outcome.why,
        "distinct_states": None if run is None else run.distinct_states,
        "counterexamples": _counterexamples(run.violated if run is not None else {}),
        "seconds": round(outcome.seconds, 3),
    }


def _counterexamples(violated: Mapping[str, int]) -> dict[str, int | None]:
    return {name: length or None for name, length in violated.items()}
