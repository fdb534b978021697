"""The page of a counterexample to induction: a step, or a path, from a state that satisfies the hypothesis."""

from __future__ import annotations

from checker.engines.smt.reachability import Reachability
from checker.errors import BoundsError, UserError
from checker.explain import violations
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.output.page.render import PageContext, page_of
from checker.output.page.story import tell
from checker.output.proof_text import whereabouts_words
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
    """Return the page of the trace that breaks a conjunct; `failed` is the action that leaves its bounds after it.

    Where the first state is reachable the page has the whole trace to it, from an initial state on.
    """
    violation = violation_of(spec, conjunct, whole_trace(trace, where), failed)
    is_real = where.trace is not None
    occasion = PageContext(
        name=name,
        command=command,
        verdict="is not preserved" if not is_real and failed is None else "",
        label=f"First state: {whereabouts_words(where)}",
        is_real=is_real,
        first="Initial state" if is_real else "A state that satisfies the hypothesis",
        begins="The trace starts in this state."
        if is_real
        else "Induction starts from any state in which the hypothesis is true.",
    )
    return page_of(spec, violation, occasion, tell(spec, violation, lemmas=True, choices=_is_enumerable(spec)))


def whole_trace(trace: tuple[TraceStep, ...], where: Reachability) -> tuple[TraceStep, ...]:
    """Return a trace with, before its first state, the steps that lead there if it is reachable."""
    return trace if where.trace is None else (*where.trace, *trace[1:])


def violation_of(spec: Spec, conjunct: str, trace: tuple[TraceStep, ...], failed: ActionCall | None) -> Violation:
    """Return what breaks a conjunct as a violation."""
    if failed is not None:
        return violations.bounds_in_action(spec, failed.action, failed.arguments, trace)
    old = trace[-2].state if spec.roles[conjunct] is Role.STEP_INVARIANT else None
    try:
        spec.holds(conjunct, trace[-1].state, old)
    except BoundsError:
        return violations.bounds_in_property(spec, conjunct, trace)
    return violations.false_property(spec, conjunct, trace)


def _is_enumerable(spec: Spec) -> bool:
    """Say whether the interpreter can list the action instances: the prover takes more choices than it does."""
    try:
        type(spec)(**spec.constants).shapes()
    except UserError:
        return False
    return True
