"""Finite instances of unbounded proofs: counterexamples at the spec's own constants to queries without a proof.

Z3's model of a query with quantifiers need not be a real one, so an unbounded query has no counterexample. But a step
that breaks the induction at one size refutes the claim for all sizes. The spec at its own constants is therefore
proved as a finite spec, and explored.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, field

from checker.engines.smt import induction
from checker.engines.smt.bounded import BOUNDS
from checker.engines.smt.induction import CounterexampleToInduction, InductionProof, ProofCell
from checker.engines.smt.reachability import Reachability, ReachableStates
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.errors import BoundsError, UserError
from checker.language.interpreter import State
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.result import Violation

MAX_STATES = 500_000
"""Limit of an instance's exploration."""


@dataclass
class InstanceResult:
    """The result for the spec at its own constants.

    - `proof`: the unbounded proof with the counterexamples of this instance.
    - `reachability`: for each counterexample, by (conjunct, action), whether its first state is reachable.
    - `violations`: the properties and lemmas that are violated, each with its trace.
    """

    proof: InductionProof
    reachability: dict[tuple[str, str], Reachability] = field(default_factory=dict)
    violations: dict[str, Violation] = field(default_factory=dict)


def examine(spec: Spec, proof: InductionProof, limits: QueryLimits, workers: int) -> InstanceResult:
    """Search for counterexamples to the open queries of an unbounded proof, at the spec's own constants.

    Raises AssertionError if a step breaks a conjunct that is proved for every size, and SpecError if the spec is
    refused at this size.
    """
    names = [*proof.targets, *proof.lemmas]
    finite = induction.prove(TransitionSystem(spec, names), proof.targets, proof.lemmas, limits)
    cells = {(cell.conjunct, cell.action): cell for cell in finite.cells}
    found = InstanceResult(proof, violations=_explored(spec, names, workers))
    reachable = ReachableStates(spec, workers)
    found.proof = dataclasses.replace(proof, cells=[])
    for cell in proof.cells:
        here = cells[cell.conjunct, cell.action]
        if cell.outcome == "proved":
            if here.outcome == "fails":
                # A proof for every size includes this instance, so one of the two lowerings is wrong.
                raise AssertionError(f"the engines disagree: {cell.conjunct}, {cell.action} is proved for every size")
            found.proof.cells.append(cell)
            continue
        found.proof.cells.append(_examined(spec, cell, here, found, reachable))
    return found


def _examined(
    spec: Spec, cell: ProofCell, here: ProofCell, found: InstanceResult, reachable: ReachableStates
) -> ProofCell:
    # The step of a violation comes first: its first state is reachable for certain.
    real = _reachable_step(spec, cell, found)
    if real is not None:
        step, where = real
    elif here.counterexample is not None:
        step = here.counterexample
        if step.before is not None:
            where = reachable.look_up(step.before)
    else:
        return cell
    if step.before is not None:
        found.reachability[cell.conjunct, cell.action] = where
    return dataclasses.replace(cell, outcome="fails", counterexample=step)


def _reachable_step(
    spec: Spec, cell: ProofCell, found: InstanceResult
) -> tuple[CounterexampleToInduction, Reachability] | None:
    """Return the last step of a violation if it is a counterexample to the cell: its action, from the hypothesis."""
    violation = found.violations.get(cell.conjunct)
    if violation is None:
        return None
    if violation.failed_action is not None:
        call, trace, after = violation.failed_action, violation.trace, None
        action, arguments = call.action, call.arguments
    else:
        last, trace = violation.trace[-1], violation.trace[:-1]
        action, arguments, after = last.action or "", last.arguments, last.state
    # A lemma may be false earlier on the trace. Then the step does not start in a state of the hypothesis, and does not
    # refute the induction.
    if action != cell.action or not trace or not _satisfies(spec, found.proof, trace[-1].state):
        return None
    step = CounterexampleToInduction(trace[-1].state, action, arguments, after)
    return step, Reachability(trace, is_certain=True, explored=0)


def _satisfies(spec: Spec, proof: InductionProof, state: State) -> bool:
    names = [*proof.targets, *proof.lemmas, *spec.names_of(Role.CONSTRAINT)]
    try:
        return all(spec.holds(name, state) for name in names if spec.roles[name] is not Role.STEP_INVARIANT)
    except BoundsError:
        return False


def _explored(spec: Spec, names: list[str], workers: int) -> dict[str, Violation]:
    """Return the violations of properties and lemmas in the explored states, by name."""
    from checker.engines.native.engine import explore

    watched = copy.copy(spec)
    watched.roles = {  # type: ignore[misc]
        name: Role.INVARIANT if role is Role.LEMMA else role for name, role in spec.roles.items()
    }
    try:
        result = explore(watched, Plan(tuple(names), stop="all", workers=workers, max_states=MAX_STATES))
    except UserError:
        return {}  # Too large to explore: only the counterexamples to induction are reported.
    return {BOUNDS if found.kind == "bounds_error" else found.property: found for found in result.violations}
