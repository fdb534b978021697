"""Execution of proofs: choose the method for each configuration, show and write the outcomes."""

from __future__ import annotations

import ctypes
import dataclasses
import importlib
import sys
from collections.abc import Mapping
from typing import Protocol, cast

from checker.errors import InputError, UserError
from checker.execution.proof_outcome import (
    Method,
    ProofOutcome,
    ProofSettings,
    ProofTask,
    closing_lines,
    proof_lines,
    proof_to_json,
)
from checker.execution.proof_progress import ProofProgress
from checker.language.liveness import liveness_names
from checker.language.roles import DEADLOCK, Role
from checker.language.spec import Spec
from checker.output import styled_lines
from checker.output.files import JsonLines, check_stems
from checker.output.output_files import STANDARD_OUTPUT, check_outputs
from checker.output.proof_files import ProofFolder
from checker.output.styled_lines import BLANK
from checker.printable import printable
from checker.run.expectation import property_names
from checker.run.registry import target_files
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, EXIT_WRONG_INPUT, Request, Run, runs_for

DEPTHS: dict[Method, int] = {"k-induction": 4, "bounded": 10}
"""The methods that have a depth, and its default."""

PROVABLE = (Role.INVARIANT, Role.STEP_INVARIANT)


class ProofMethod(Protocol):
    """A module that proves by one method. It needs Z3, so it is imported only for a proof."""

    def prove_task(self, task: ProofTask) -> ProofOutcome:
        """Prove the properties of a task; raise UserError if the method cannot take the spec."""


_METHODS: dict[Method, str] = {
    "induction": "checker.execution.prove_induction",
    "k-induction": "checker.execution.prove_k_induction",
    "bounded": "checker.execution.prove_bounded",
    "pdr": "checker.execution.prove_pdr",
}
"""The module of each method. Two variants of induction are chosen by options."""

_EXPLAINED_CELL = "checker.execution.explain_cell"
_UNBOUNDED, _FOUND_LEMMAS = "checker.execution.prove_unbounded", "checker.execution.prove_with_found_lemmas"


def depth_of(method: Method, given: int | None) -> int:
    """Return the depth of a method; raise InputError if `--depth` is given for a method without a depth."""
    if given is not None and method not in DEPTHS:
        raise InputError(f"--depth needs --method {' or '.join(DEPTHS)}, not {method}")
    return given or DEPTHS.get(method, 1)


def execute_proofs(request: Request, settings: ProofSettings) -> int:
    """Prove what a request names and return the exit status; raise UserError if the input is wrong."""
    outputs = {"--json": settings.json, "--certificate": str(settings.certificate or "")}
    check_outputs(outputs, target_files(request.targets))
    method = _method_module(settings)
    statuses: list[int] = []
    proofs: list[tuple[Run, ProofOutcome]] = []
    wrong: list[UserError] = []
    folder = ProofFolder(settings.out)
    with JsonLines(settings.json) as json_lines:
        runs = runs_for(request)
        check_stems(runs, settings.out, {"--json": settings.json})
        if settings.certificate is not None and len(runs) > 1:
            raise InputError(f"--certificate is for one proof, not for {len(runs)}: name one scenario")
        for run in runs:
            progress = ProofProgress(run.name)
            try:
                task = _task(run, settings, request.properties, progress)
                outcome = _prove(task, method)
                progress.clear()
                lines = proof_lines(task, outcome)
            except UserError as error:
                wrong.append(error if error.file else InputError(f"{run.name}: {error.message}"))
                continue
            except (KeyboardInterrupt, ctypes.ArgumentError) as error:
                # During a call of Z3, an interrupt becomes an ArgumentError whose text names it.
                if isinstance(error, ctypes.ArgumentError) and "KeyboardInterrupt" not in str(error):
                    raise
                print(f"\nstopped: {printable(run.name)} is neither proved nor refuted", file=sys.stderr)
                statuses.append(EXIT_STOPPED)
                break
            statuses.append(outcome.status)
            proofs.append((run, outcome))
            folder.write(task.run, outcome.violations, outcome.pages)
            json_lines.write(proof_to_json(task, outcome))
            if settings.json != STANDARD_OUTPUT:
                styled_lines.write([*lines, BLANK], sys.stdout)
    folder.close()
    if settings.json != STANDARD_OUTPUT:
        is_proved = any(outcome.verdict == "proved" for _, outcome in proofs)
        written = settings.certificate if is_proved else None
        closing = [*styled_lines.lines_of_written_files((settings.out, settings.json, written)), *closing_lines(proofs)]
        styled_lines.write(closing, sys.stdout)
    for message in dict.fromkeys(str(error) for error in wrong):
        print(f"error: {message}", file=sys.stderr)
    if wrong:
        return EXIT_WRONG_INPUT
    return next((status for status in (EXIT_VIOLATED, EXIT_STOPPED) if status in statuses), EXIT_OK)


def _prove(task: ProofTask, method: str) -> ProofOutcome:
    """Prove a task by the method of a module, with Z3's random seed."""
    from checker.engines.smt.solving import seeded

    with seeded(task.settings.seed):
        return cast(ProofMethod, importlib.import_module(method)).prove_task(task)


def _method_module(settings: ProofSettings) -> str:
    """Return the name of the module that proves; raise InputError for options that exclude each other."""
    if settings.certificate is not None and (settings.method != "induction" or settings.explain):
        raise InputError("--certificate needs a whole proof by induction, without --explain")
    if settings.explain and settings.find_lemmas:
        raise InputError("--explain is about a cell of the spec as it is: omit --find-lemmas")
    if settings.unbounded and settings.find_lemmas:
        raise InputError("--find-lemmas explores all states, and --unbounded has infinitely many: omit one of the two")
    if settings.all_cells and (settings.method != "induction" or settings.find_lemmas or settings.explain):
        raise InputError("--all-cells needs a whole proof by induction, without --find-lemmas or --explain")
    for option, is_set, module in (
        ("--explain", settings.explain, _EXPLAINED_CELL),
        ("--unbounded", settings.unbounded, _UNBOUNDED),
        ("--find-lemmas", settings.find_lemmas, _FOUND_LEMMAS),
    ):
        if is_set:
            if settings.method != "induction":
                raise InputError(f"{option} needs --method induction, not {settings.method}")
            return module
    return _METHODS[settings.method]


def _task(run: Run, settings: ProofSettings, requested: tuple[str, ...], progress: ProofProgress) -> ProofTask:
    """Return the task for a run; raise InputError if it has no property to prove.

    A view is not used: the explorer looks up single states for the prover, and lemmas may read what a view leaves out.
    Properties that the scenario expects to be violated are proved only on request.
    """
    liveness = liveness_names(run.spec, run.properties)
    names = [name for name in run.properties if run.spec.roles.get(name) in PROVABLE]
    if settings.method == "bounded":
        names, liveness = [*names, *liveness], []
    untreated = [name for name in run.properties if name not in names]
    expected = run.expected if isinstance(run.expected, Mapping) else {}
    left_out = []
    if settings.method not in ("bounded", "pdr") and not requested:
        left_out = [name for name in names if name in expected]
        names = [name for name in names if name not in expected]
    if not names:
        if liveness:
            raise InputError(
                f"{', '.join(liveness)}: the method {settings.method} does not treat liveness properties; "
                "use --method bounded, or the command run"
            )
        raise InputError("no invariant or step invariant is expected to hold, so nothing can be proved")
    lemmas = run.spec.names_of(Role.LEMMA)
    run = dataclasses.replace(run, spec=run.spec.without_view())
    if not settings.unbounded:
        run = dataclasses.replace(run, spec=_replayable(run.spec))
    not_selected = [name for name in (*property_names(type(run.spec)), DEADLOCK) if name not in run.properties]
    return ProofTask(run, names, lemmas, untreated, left_out, not_selected, settings, progress.show)


def _replayable(spec: Spec) -> Spec:
    """Return a spec of which the interpreter can execute the steps, even if parameters have any number of values."""
    try:
        spec.shapes()
    except UserError:
        return spec.with_symbolic_parameters()
    return spec
