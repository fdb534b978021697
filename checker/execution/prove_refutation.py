"""Refutation of a proof before it begins: the explorer reaches a state in which a property or lemma is false."""

from __future__ import annotations

from checker.engines.smt.refutation import Refutation, refuted
from checker.execution.proof_outcome import ProofOutcome, ProofTask
from checker.output import proof_text


def refutation(task: ProofTask) -> ProofOutcome | None:
    """Return the shortest traces to states that violate properties or lemmas; None if the explorer reaches none.

    With open constants, the explored spec has the constants of the scenario: a violation at one size refutes the proof
    for all sizes.
    """
    run, settings = task.run, task.settings
    task.on_progress("evaluating properties and lemmas in reachable states")
    refutation_found = refuted(run.spec, [*task.names, *task.lemmas], settings.workers)
    if not refutation_found.violations:
        task.notes.extend(proof_text.lines_of_unfinished_search(refutation_found))
        return None
    return outcome_of_refutation(task, refutation_found)


def outcome_of_refutation(task: ProofTask, search: Refutation) -> ProofOutcome:
    """Return the outcome of an exploration that reaches a violation."""
    settings = task.settings
    fields = {
        "lemmas": task.lemmas,
        **({"unbounded": list(settings.unbounded)} if settings.unbounded else {}),
        "explored_states": search.explored,
        "is_complete": search.is_complete,
    }
    return ProofOutcome("violated", proof_text.refutation_lines(search, task.lemmas), fields, search.violations)
