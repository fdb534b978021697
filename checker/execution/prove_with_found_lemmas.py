"""Proofs by induction with lemmas that a search finds."""

from __future__ import annotations

import dataclasses

from checker.engines.smt.lemmas.lemma_search import find_lemmas
from checker.engines.smt.lemmas.lemma_source import with_methods
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.execution.proof_outcome import ProofOutcome, ProofTask
from checker.execution.prove_induction import prove_in
from checker.execution.prove_refutation import refutation
from checker.language.roles import Role
from checker.output import proof_text
from checker.output.proof_json import lemma_search_to_json


def prove_task(task: ProofTask) -> ProofOutcome:
    """Search for lemmas, and prove the spec with exactly the printed text of the lemmas in it.

    The explorer refutes properties and lemmas first.
    """
    refuted = refutation(task)
    if refuted is not None:
        return refuted
    run, settings = task.run, task.settings
    goals = [*task.names, *task.lemmas]
    search = find_lemmas(run.spec, goals, settings.workers, QueryLimits(settings.timeout), task.on_progress)
    spec = with_methods(run.spec, search.methods).with_symbolic_parameters()
    extended = dataclasses.replace(
        task, run=dataclasses.replace(run, spec=spec), lemmas=spec.names_of(Role.LEMMA), found=search.methods
    )
    outcome = prove_in(TransitionSystem(spec, [*extended.names, *extended.lemmas]), extended)
    return dataclasses.replace(
        outcome,
        lines=[*proof_text.lemma_search_lines(search), *outcome.lines],
        fields={**outcome.fields, "found": lemma_search_to_json(search)},
    )
