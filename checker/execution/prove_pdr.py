"""Proofs by Spacer, Z3's solver for property-directed reachability (PDR)."""

from __future__ import annotations

from typing import Any

from checker.engines.smt import induction
from checker.engines.smt.invariant_source import (
    UnsupportedInvariantError,
    lemma_source,
    python_conjuncts,
    unused_lemma_name,
)
from checker.engines.smt.lemmas.lemma_source import imports_for, with_methods
from checker.engines.smt.pdr import PdrResult, solve
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.execution.proof_outcome import ProofOutcome, ProofTask, ProofVerdict, expectation_differences
from checker.output import proof_text
from checker.output.styled_lines import Line

VERDICTS: dict[str, ProofVerdict] = {"holds": "proved", "violated": "violated", "unknown": "unknown"}


def prove_task(task: ProofTask) -> ProofOutcome:
    """Let Spacer find an invariant or a violation. An invariant is printed as a lemma and proved again by induction."""
    run = task.run
    system = TransitionSystem(run.spec, task.names)
    task.on_progress("Spacer is searching for an invariant")
    result = solve(system, task.names, QueryLimits(task.settings.timeout))
    lines = proof_text.pdr_lines(result, task.names)
    fields: dict[str, Any] = {"seconds": round(result.seconds, 6), "reason": result.reason, "lemma": None}
    if result.verdict == "holds":
        with run.spec.bound():
            shown, fields["lemma"] = _invariant(task, system, result)
        lines += shown
    violations = [result.violation] if result.violation is not None else []
    differences = expectation_differences(run, violations, depth=0)
    return ProofOutcome(
        VERDICTS[result.verdict],
        lines,
        fields,
        tuple(violations),
        differences=differences,
        is_expected=run.expected is not None and not differences,
    )


def _invariant(task: ProofTask, system: TransitionSystem, result: PdrResult) -> tuple[list[Line], str | None]:
    """Return the lines of an invariant, and its lemma as text (None without a Python counterpart)."""
    spec = task.run.spec
    try:
        conjuncts = python_conjuncts(system, result)
    except UnsupportedInvariantError as error:
        return proof_text.formula_lines(str(result.invariant), str(error)), None
    if not conjuncts:
        return proof_text.no_lemma_lines(), None
    name = unused_lemma_name(spec)
    method = lemma_source(name, conjuncts)
    extended = with_methods(spec, method).with_symbolic_parameters()
    limits = QueryLimits(task.settings.timeout)
    proof = induction.prove(TransitionSystem(extended, [*task.names, name]), task.names, [name], limits)
    assert proof.verdict != "fails", f"the engines disagree: Spacer's invariant of {task.run.name} is not inductive"
    imports = imports_for(spec, method)
    return proof_text.lemma_lines(method, imports, is_proved_again=proof.verdict == "proved"), method
