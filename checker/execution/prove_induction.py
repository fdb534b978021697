"""Proofs by induction over one step."""

from __future__ import annotations

import dataclasses

from checker.engines.smt.induction import prove
from checker.engines.smt.lemmas.excluding_facts import ExcludingFacts
from checker.engines.smt.reachability import ReachableStates
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.execution.proof_aids import proof_aids, write_certificate
from checker.execution.proof_outcome import ProofOutcome, ProofTask, ProofVerdict
from checker.execution.prove_refutation import outcome_of_refutation, refutation
from checker.output import proof_text
from checker.output.page.induction_page import induction_page
from checker.output.proof_files import breaking_step, page_name, proof_command
from checker.output.proof_json import queries_to_json
from checker.output.styled_lines import BLANK

VERDICTS: dict[str, ProofVerdict] = {"proved": "proved", "fails": "not inductive", "unknown": "unknown"}


def prove_task(task: ProofTask) -> ProofOutcome:
    """Prove properties together with the lemmas, if the explorer does not refute one of them first.

    With the setting `all_cells`, the outcome of a refutation also has the cells that fail.
    """
    system = TransitionSystem(task.run.spec, [*task.names, *task.lemmas])
    refuted = refutation(task)
    if refuted is None:
        return prove_in(system, task)
    return with_cells(refuted, prove_in(system, task, is_refuted=True)) if task.settings.all_cells else refuted


def with_cells(refuted: ProofOutcome, proof: ProofOutcome) -> ProofOutcome:
    """Return the outcome of a refutation with the cells of the same proof by induction."""
    return dataclasses.replace(
        refuted,
        lines=[*refuted.lines, BLANK, *proof.lines],
        fields={**refuted.fields, **proof.fields},
        pages=proof.pages,
    )


def prove_in(system: TransitionSystem, task: ProofTask, *, is_refuted: bool = False) -> ProofOutcome:
    """Prove properties together with the lemmas, and look up each counterexample to induction among reachable states.

    Every counterexample is shown: another action may need another lemma. `is_refuted`: the explorer has refuted a
    property or lemma.
    """
    run, settings, spec = task.run, task.settings, system.spec
    proof = prove(
        system,
        task.names,
        task.lemmas,
        QueryLimits(settings.timeout),
        lambda conjunct, action: task.on_progress(f"{conjunct}, {action}"),
        proof_aids(task, spec, system.program),
    )
    write_certificate(task, system.program, proof)
    explored = ReachableStates(spec, settings.workers, [*task.names, *task.lemmas])
    facts = ExcludingFacts(run.entry.spec(**run.spec.constants), settings.workers)
    shown = proof_text.induction_lines(proof)
    labels: dict[tuple[str, str], str] = {}
    pages: dict[str, str] = {}
    for cell in proof.cells:
        step = cell.counterexample
        if step is None or step.before is None:
            if step is not None:
                shown += proof_text.step_lines(spec, cell, None)
            continue
        task.on_progress("looking up counterexamples to induction")
        where = facts.added_to(explored.look_up(step.before), step.before)
        where = dataclasses.replace(where, is_refuted=is_refuted or bool(explored.violations))
        labels[cell.conjunct, cell.action] = where.label
        shown += proof_text.step_lines(spec, cell, where)
        if settings.out is not None:
            options = ("--property", cell.conjunct) if cell.conjunct in task.names else ()
            trace, failed = breaking_step(step)
            page = induction_page(spec, run.name, proof_command(run, *options), cell.conjunct, trace, failed, where)
            pages[page_name(run, cell.conjunct, cell.action)] = page
    fields = {
        "lemmas": task.lemmas,
        "never_taken": proof.never_taken,
        "queries": queries_to_json(proof.cells, labels),
    }
    outcome = ProofOutcome(VERDICTS[proof.verdict], shown, fields, pages=pages)
    if is_refuted or not explored.violations:
        return outcome
    task.notes.clear()
    return with_cells(outcome_of_refutation(task, explored.refutation), outcome)
