"""Pages of counterexamples to induction: a step, or a path, from a state that satisfies the hypothesis."""

from __future__ import annotations

from checker.engines.smt.reachability import Reachability
from checker.errors import BoundsError, UserError
from checker.explain import violations
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.output.page.render import PageContext, page_of
from checker.output.page.story import story_of
from checker.output.proof_text import reachability_text
from checker.run.result import ActionCall, TraceStep, Violation


def induction_page(
    spec: Spec,
    name: str,
    command: str,
    conjunct: str,
    trace: tuple[TraceStep, ...],
    failed: ActionCall | None,
    where: Reachability,
) -> str:
    """Return the page of a trace that violates a conjunct.

    `failed` is the action after the last state that leaves the bounds of a type, if there is one. `where` is the
    reachability of the first state; if it is reachable, the page starts with the trace from an initial state to it.
    """
    violation = violation_of(spec, conjunct, whole_trace(trace, where), failed)
    is_real = where.trace is not None
    context = PageContext(
        name=name,
        command=command,
        verdict="is not preserved" if not is_real and failed is None else "",
        label=f"First state: {reachability_text(where)}",
        notes=(f"In every reachable state, and not in the first one here: {where.fact}",) if where.fact else (),
        is_real=is_real,
        # Without a trace to it, the first state is the one that a lemma has to exclude.
        opens=0 if is_real else 1,
        first="Initial state" if is_real else "A state that satisfies the hypothesis",
        begins="The trace starts in this state."
        if is_real
        else "Induction starts from any state in which the hypothesis is true.",
    )
    story = story_of(spec, violation, lemmas=True, enabled_steps=_is_enumerable(spec))
    return page_of(spec, violation, context, story)


def whole_trace(trace: tuple[TraceStep, ...], where: Reachability) -> tuple[TraceStep, ...]:
    """Return a trace, preceded by the steps from an initial state to its first state if that is reachable."""
    return trace if where.trace is None else (*where.trace, *trace[1:])


def violation_of(spec: Spec, conjunct: str, trace: tuple[TraceStep, ...], failed: ActionCall | None) -> Violation:
    """Return the violation of a conjunct at the end of a trace, or by the action `failed` after it."""
    if failed is not None:
        return violations.bounds_in_action(spec, failed.action, failed.arguments, trace)
    old = trace[-2].state if spec.roles[conjunct] is Role.STEP_INVARIANT else None
    try:
        spec.holds(conjunct, trace[-1].state, old)
    except BoundsError:
        return violations.bounds_in_property(spec, conjunct, trace)
    return violations.false_property(spec, conjunct, trace)


def _is_enumerable(spec: Spec) -> bool:
    """Return whether the interpreter can enumerate the action instances; the prover supports larger choices."""
    try:
        type(spec)(**spec.constants).shapes()
    except UserError:
        return False
    return True
