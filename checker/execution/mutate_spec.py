"""Mutation of one spec: select its configuration, run the mutants, show and write the verdicts."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TextIO

from checker.errors import InputError
from checker.evidence.mutation import campaign
from checker.evidence.mutation.campaign import MutationTask
from checker.language.spec import Scenario
from checker.output import styled_lines
from checker.output.mutation_text import mutation_lines, mutation_to_json
from checker.output.output_files import STANDARD_OUTPUT, AtomicFile, check_outputs, open_for_writing
from checker.output.styled_lines import line
from checker.run import registry
from checker.run.expectation import properties_to_check, property_names
from checker.run.request import EXIT_OK, settings_of


def mutate_spec(target: str, settings: tuple[str, ...], *, most: int | None, workers: int, json_name: str) -> int:
    """Mutate one spec, show the verdicts on its mutants, and return the exit status.

    The status is 0 even if mutants survive: a survivor is a question to the author, not a failure. Raises UserError for
    an unknown name or a spec outside the language.
    """
    check_outputs({"--json": json_name}, registry.target_files([target]))
    task, scenario = task_for(target, settings)
    is_table_shown = json_name != STANDARD_OUTPUT
    with _json_stream(json_name) as stream:
        if is_table_shown:
            styled_lines.write([line(("mutating ", "dim"), (_name(target, scenario), "bold"))], sys.stdout)
        report = campaign.run_campaign(task, workers=workers, most=most, on_progress=_show_progress)
        if stream is not None:
            json.dump(mutation_to_json(report, scenario), stream, indent=1)
            stream.write("\n")
    if is_table_shown:
        styled_lines.write(mutation_lines(report), sys.stdout)
    return EXIT_OK


def task_for(target: str, settings: tuple[str, ...]) -> tuple[MutationTask, Scenario | None]:
    """Return the task for a name, and the scenario that gives the constants; raise UserError for an unknown name.

    For a spec, this is the first scenario that holds: families list their small scenarios first.
    """
    selections = registry.select(target)
    if len(selections) > 1:
        known = ", ".join(selection.entry.target for selection in selections)
        raise InputError(f"{target} has several specs; name one of {known}")
    entry, scenario = selections[0].entry, selections[0].scenario
    if scenario is None and entry.scenarios and not settings:
        scenario = next((candidate for candidate in entry.scenarios if candidate.expect == "holds"), entry.scenarios[0])
    constants = dict(scenario.constants) if scenario is not None else {}
    constants |= settings_of(entry.spec, settings)
    properties = properties_to_check(scenario) if scenario is not None else tuple(property_names(entry.spec))
    fair = tuple(scenario.fair.items()) if scenario is not None else ()
    return MutationTask(entry.target, tuple(constants.items()), properties, fair), scenario


def _json_stream(name: str) -> AbstractContextManager[TextIO | AtomicFile | None]:
    """Open the destination of JSON before anything is run: none, standard output, or a file."""
    if name in ("", STANDARD_OUTPUT):
        return nullcontext(sys.stdout if name else None)
    return open_for_writing(Path(name))


def _name(target: str, scenario: Scenario | None) -> str:
    return target if scenario is None or target.endswith(f"/{scenario.name}") else f"{target}/{scenario.name}"


def _show_progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done} of {total} mutants", end=end, file=sys.stderr, flush=True)
