"""Proofs by k-induction."""

from __future__ import annotations

from checker.engines.smt.k_induction import prove
from checker.engines.smt.reachability import ReachableStates
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.execution.proof_outcome import ProofOutcome, ProofTask, ProofVerdict
from checker.output import proof_text
from checker.output.page.induction_page import induction_page
from checker.output.proof_files import page_name, proof_command

VERDICTS: dict[str, ProofVerdict] = {"proved": "proved", "fails": "not proved", "unknown": "unknown"}


def prove_task(task: ProofTask) -> ProofOutcome:
    """Prove properties and lemmas by k-induction, for k up to the depth of the settings."""
    run, settings = task.run, task.settings
    proof = prove(
        TransitionSystem(run.spec, [*task.names, *task.lemmas]),
        [*task.names, *task.lemmas],
        settings.depth,
        QueryLimits(settings.timeout),
        lambda k, conjunct: task.on_progress(f"k = {k}, {conjunct}"),
    )
    task.on_progress("looking up counterexamples to induction")
    explored = ReachableStates(run.entry.spec(**run.spec.constants), settings.workers)
    where = {name: explored.look_up(trace[0].state) for name, trace in proof.failing.items()}
    pages: dict[str, str] = {}
    for name, trace in proof.failing.items() if settings.out is not None else ():
        command = proof_command(run, "--method", "k-induction", "--depth", str(proof.k))
        failed = proof.failed_actions.get(name)
        page = induction_page(run.spec, run.name, command, name, trace, failed, where[name])
        pages[page_name(run, name, f"{proof.k}-steps")] = page
    fields = {
        "lemmas": task.lemmas,
        "k": proof.k,
        "not_proved": list(proof.failing),
        "first_states": {name: step.label for name, step in where.items()},
    }
    violations = tuple(proof.base.violations)
    verdict: ProofVerdict = "violated" if violations else VERDICTS[proof.verdict]
    lines = proof_text.k_induction_lines(run.spec, proof, task.names, where)
    return ProofOutcome(verdict, lines, fields, violations, pages)
