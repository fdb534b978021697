"""Finite instances of unbounded proofs: counterexamples at the spec's own constants to queries without a proof.

Z3's model of a query with quantifiers need not be a real one, so an unbounded query has no counterexample. But a step
that breaks the induction at one size refutes the claim for all sizes. The spec at its own constants is therefore
proved as a finite spec.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from checker.engines.smt import induction
from checker.engines.smt.lemmas.excluding_facts import ExcludingFacts
from checker.engines.smt.proof_cells import InductionProof, ProofCell
from checker.engines.smt.reachability import Reachability, ReachableStates
from checker.engines.smt.refutation import Refutation
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language.spec import Spec


@dataclass
class InstanceResult:
    """The result for the spec at its own constants.

    - `proof`: the unbounded proof with the counterexamples of this instance.
    - `reachability`: for each counterexample, by (conjunct, action), whether its first state is reachable.
    - `refutation`: the properties and lemmas that are false in a reachable state.
    """

    proof: InductionProof
    reachability: dict[tuple[str, str], Reachability] = field(default_factory=dict)
    refutation: Refutation = field(default_factory=Refutation)


def examine(spec: Spec, proof: InductionProof, limits: QueryLimits, workers: int) -> InstanceResult:
    """Search for counterexamples to the open queries of an unbounded proof, at the spec's own constants.

    Raises AssertionError if a step breaks a conjunct that is proved for every size, and SpecError if the spec is
    refused at this size.
    """
    names = [*proof.targets, *proof.lemmas]
    finite = induction.prove(TransitionSystem(spec, names), proof.targets, proof.lemmas, limits)
    cells = {(cell.conjunct, cell.action): cell for cell in finite.cells}
    result = InstanceResult(proof)
    reachable, facts = ReachableStates(spec, workers, names), ExcludingFacts(spec, workers)
    result.proof = dataclasses.replace(proof, cells=[])
    for cell in proof.cells:
        here = cells[cell.conjunct, cell.action]
        if cell.outcome == "proved":
            if here.outcome == "fails":
                # A proof for every size includes this instance, so one of the two lowerings is wrong.
                raise AssertionError(f"the engines disagree: {cell.conjunct}, {cell.action} is proved for every size")
            result.proof.cells.append(cell)
            continue
        result.proof.cells.append(_examine(cell, here, result, reachable, facts))
    result.refutation = reachable.refutation
    return result


def _examine(
    cell: ProofCell, here: ProofCell, result: InstanceResult, reachable: ReachableStates, facts: ExcludingFacts
) -> ProofCell:
    """Return a cell of an unbounded proof with the counterexample of the same cell at one size, if it has one."""
    step = here.counterexample
    if step is None:
        return cell
    if step.before is not None:
        result.reachability[cell.conjunct, cell.action] = facts.added_to(reachable.look_up(step.before), step.before)
    return dataclasses.replace(cell, outcome="fails", counterexample=step)
