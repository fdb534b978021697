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
    search_result = search(
        TransitionSystem(run.spec, [name for name in task.names if name not in liveness]),
        task.names,
        settings.depth,
        QueryLimits(settings.timeout),
        run.stop,
        lambda length, seconds: task.on_progress(f"traces of {length} states"),
    )
    verdict: ProofVerdict = (
        "violated" if search_result.violations else "unknown" if search_result.unknown else "no violation"
    )
    fields = {
        "depth": search_result.depth,
        "longest_trace": search_result.longest,
        "unknown": [{"property": u.property, "length": u.length, "reason": u.reason} for u in search_result.unknown],
        **({"stem_depth": search_result.stem_depth} if liveness else {}),
        "seconds": [round(seconds, 6) for seconds in search_result.seconds],
    }
    differences = expectation_differences(run, search_result.violations, settings.depth)
    return ProofOutcome(
        verdict,
        proof_text.search_lines(search_result, liveness),
        fields,
        tuple(search_result.violations),
        differences=differences,
        is_expected=run.expected is not None and not differences,
        has_unknown=bool(search_result.unknown),
    )
