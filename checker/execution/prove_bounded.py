"""Bounded search for shortest violations."""

from __future__ import annotations

from checker.engines.smt.bounded import search
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.execution.proof_outcome import ProofOutcome, ProofTask, ProofVerdict, expectation_differences
from checker.language.liveness import liveness_names
from checker.output import proof_text


def prove_task(task: ProofTask) -> ProofOutcome:
    """Search for violations by traces of up to as many states as the depth of the settings."""
    run, settings = task.run, task.settings
    liveness = liveness_names(run.spec, task.names)
    found = search(
        TransitionSystem(run.spec, [name for name in task.names if name not in liveness]),
        task.names,
        settings.depth,
        QueryLimits(settings.timeout),
        run.stop,
        lambda length, seconds: task.on_progress(f"traces of {length} states"),
    )
    verdict: ProofVerdict = "violated" if found.violations else "unknown" if found.unknown else "no violation"
    fields = {
        "depth": found.depth,
        "longest_trace": found.longest,
        "unknown": [{"property": u.property, "length": u.length, "reason": u.reason} for u in found.unknown],
        **({"stem_depth": found.stem_depth} if liveness else {}),
        "seconds": [round(seconds, 6) for seconds in found.seconds],
    }
    differences = expectation_differences(run, found.violations, settings.depth)
    return ProofOutcome(
        verdict,
        proof_text.bounded_lines(found, liveness),
        fields,
        tuple(found.violations),
        differences=differences,
        is_expected=run.expected is not None and not differences,
        has_unknown=bool(found.unknown),
    )
