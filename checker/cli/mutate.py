"""`mutate` on the command line: which configuration, and the table and the JSON of what became of the mutants."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from checker.errors import InputError
from checker.evidence.mutation import campaign
from checker.evidence.mutation.campaign import MutationReport, MutationTask
from checker.evidence.mutation.mutants import Mutant
from checker.evidence.mutation.verdicts import BOUNDS, MutantVerdict
from checker.language.spec import Scenario
from checker.output import styled_lines
from checker.output.files import STANDARD_OUTPUT, open_for_writing
from checker.output.styled_lines import BLANK, Line, line
from checker.run import registry
from checker.run.finding import short_path
from checker.run.plan import DEADLOCK
from checker.run.request import EXIT_OK, default_workers, settings_of
from checker.run.scenario import checked_properties, property_names


def mutate(target: str, settings: tuple[str, ...], most: int | None, workers: int | None, json_name: str) -> int:
    """Mutate one spec, show what became of its mutants, and return the exit status.

    A surviving mutant is a question to the author, not a failure: the status is 0. Raises UserError for an unknown
    name, and where the spec is outside the language.
    """
    task, scenario = task_for(target, settings)
    shows_table = json_name != STANDARD_OUTPUT
    if shows_table:
        styled_lines.write([line(("mutating ", "dim"), (_name(target, scenario), "bold"))], sys.stdout)
    with _json_stream(json_name) as stream:
        report = campaign.run(task, workers=workers or default_workers(), most=most, on_progress=_show_progress)
        if stream is not None:
            json.dump(report_to_json(report, scenario), stream, indent=1)
            stream.write("\n")
    if shows_table:
        styled_lines.write(report_lines(report), sys.stdout)
    return EXIT_OK


def _json_stream(name: str) -> AbstractContextManager[TextIO | None]:
    """Return where JSON goes, opened before anything is run: nowhere, standard output, or a file."""
    if name in ("", STANDARD_OUTPUT):
        return nullcontext(sys.stdout if name else None)
    return open_for_writing(Path(name))


def task_for(target: str, settings: tuple[str, ...]) -> tuple[MutationTask, Scenario | None]:
    """Return what a name asks to mutate, and the scenario whose constants it takes; raise UserError for unknown names.

    Of a spec without a scenario's name the first scenario that holds is taken: families list their small ones first.
    """
    selections = registry.select(target)
    if len(selections) > 1:
        known = ", ".join(selection.entry.target for selection in selections)
        raise InputError(f"{target} has several specs, name one of {known}")
    entry, scenario = selections[0].entry, selections[0].scenario
    if scenario is None and entry.scenarios and not settings:
        scenario = next((found for found in entry.scenarios if found.expect == "holds"), entry.scenarios[0])
    constants = dict(scenario.constants) if scenario is not None else {}
    constants |= settings_of(entry.spec, settings)
    properties = checked_properties(scenario) if scenario is not None else tuple(property_names(entry.spec))
    return MutationTask(entry.target, tuple(constants.items()), properties), scenario


def _name(target: str, scenario: Scenario | None) -> str:
    return target if scenario is None or target.endswith(f"/{scenario.name}") else f"{target}/{scenario.name}"


def _show_progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done} of {total} mutants", end=end, file=sys.stderr, flush=True)


# The table.


def report_lines(report: MutationReport) -> list[Line]:
    """Return the report in lines: the sum, what each property kills, and the mutants that were not killed."""
    shown = [_sum(report), BLANK, *_property_lines(report)]
    for status, heading in (
        ("survived", "survived: no property detects these mutants"),
        ("undecided", "undecided: the exploration reached a limit before a property was violated"),
        ("invalid", "invalid: the mutant is not a valid spec"),
    ):
        found = report.with_status(status)
        if found:
            shown += [BLANK, line((heading, "bold"))]
            shown += [one for mutant, outcome in found for one in _mutant_lines(mutant, outcome)]
    return shown


def _sum(report: MutationReport) -> Line:
    counts = {status: len(report.with_status(status)) for status in ("killed", "survived", "undecided", "invalid")}
    words = ", ".join(f"{count} {status}" for status, count in counts.items() if count or status == "killed")
    of_all = "" if len(report.outcomes) == report.total else f" of {report.total}"
    original = f"{report.original.distinct_states:,} states"
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


# JSON.


def report_to_json(report: MutationReport, scenario: Scenario | None) -> dict[str, Any]:
    """Return the JSON object of a report, every mutant included."""
    mutants = [_mutant_to_json(report.mutants[number], found) for number, found in sorted(report.outcomes.items())]
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
    found = outcome.found
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
        "distinct_states": None if found is None else found.distinct_states,
        "counterexamples": _counterexamples(found.violated if found is not None else {}),
        "seconds": round(outcome.seconds, 3),
    }


def _counterexamples(violated: Mapping[str, int]) -> dict[str, int | None]:
    return {name: length or None for name, length in violated.items()}
