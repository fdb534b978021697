"""Proofs by induction for every value of some constants."""

from __future__ import annotations

import dataclasses

from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.unbounded.existence import values_text
from checker.engines.smt.unbounded.instances import InstanceResult, examine
from checker.engines.smt.unbounded.unbounded_induction import prove
from checker.engines.smt.unbounded.unbounded_system import UnboundedSystem
from checker.execution.proof_aids import proof_aids, write_certificate
from checker.execution.proof_outcome import ProofOutcome, ProofTask
from checker.execution.prove_induction import VERDICTS, with_cells
from checker.execution.prove_refutation import outcome_of_refutation, refutation
from checker.output import proof_text
from checker.output.page.induction_page import induction_page
from checker.output.proof_files import breaking_step, page_name, proof_command
from checker.output.proof_json import queries_to_json
from checker.output.styled_lines import Line


def prove_task(task: ProofTask) -> ProofOutcome:
    """Prove by induction with open constants. Without a proof, look for counterexamples at one size.

    If the explorer refutes a property at this size, the proof is tried only with the setting `all_cells`.

    Raises UserError if a constant cannot be left open, or the spec has a part that no unbounded type can represent.
    """
    settings = task.settings
    system = UnboundedSystem(task.run.spec, list(settings.unbounded), [*task.names, *task.lemmas])
    refuted = refutation(task)
    if refuted is None:
        return _prove_in(system, task)
    return with_cells(refuted, _prove_in(system, task, is_refuted=True)) if settings.all_cells else refuted


def _prove_in(system: UnboundedSystem, task: ProofTask, *, is_refuted: bool = False) -> ProofOutcome:
    run, settings = task.run, task.settings
    unbounded, limits = list(settings.unbounded), QueryLimits(settings.timeout)
    proof = prove(
        system,
        task.names,
        task.lemmas,
        limits,
        lambda conjunct, action: task.on_progress(f"{conjunct}, {action}"),
        proof_aids(task, system.spec, system.program),
    )
    write_certificate(task, system.program, proof)
    examined = InstanceResult(proof)
    if proof.verdict != "proved":
        task.on_progress("looking for counterexamples at one size")
        examined = examine(run.spec, proof, limits, settings.workers)
    proof = examined.proof
    is_violated = bool(examined.refutation.violations)
    step_lines, pages = _steps(task, examined, is_refuted=is_refuted or is_violated)
    lines = proof_text.open_proof_lines(proof, values_text(run.spec, unbounded)) + step_lines
    if proof.verdict != "proved":
        lines += proof_text.instance_lines({name: run.spec.constants[name] for name in unbounded})
    labels = {place: where.label for place, where in examined.reachability.items()}
    fields = {
        "lemmas": proof.lemmas,
        "unbounded": unbounded,
        "never_taken": proof.never_taken,
        "queries": queries_to_json(proof.cells, labels),
    }
    outcome = ProofOutcome(VERDICTS[proof.verdict], lines, fields, pages=pages)
    if is_refuted or not is_violated:
        return outcome
    task.notes.clear()
    return with_cells(outcome_of_refutation(task, examined.refutation), outcome)


def _steps(task: ProofTask, examined: InstanceResult, *, is_refuted: bool) -> tuple[list[Line], dict[str, str]]:
    """Return the lines and the pages of the counterexamples to induction."""
    run, proof = task.run, examined.proof
    lines: list[Line] = []
    pages: dict[str, str] = {}
    for cell in proof.cells:
        where = examined.reachability.get((cell.conjunct, cell.action))
        if cell.counterexample is None:
            continue
        if where is not None:
            where = dataclasses.replace(where, is_refuted=is_refuted)
        lines += proof_text.step_lines(run.spec, cell, where)
        if where is not None:
            trace, failed = breaking_step(cell.counterexample)
            options = ["--property", cell.conjunct] if cell.conjunct in proof.targets else []
            options += [word for name in task.settings.unbounded for word in ("--unbounded", name)]
            page = induction_page(run.spec, run.name, proof_command(run, *options), cell.conjunct, trace, failed, where)
            pages[page_name(run, cell.conjunct, cell.action)] = page
    return lines, pages
