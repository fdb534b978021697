"""The cells of a proof by induction, whether or not some of its constants are open."""

from __future__ import annotations

from collections.abc import Collection

from checker.engines.smt.induction import FiniteCells
from checker.engines.smt.proof_cells import ProofAids
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.engines.smt.unbounded.unbounded_induction import UnboundedCells
from checker.engines.smt.unbounded.unbounded_system import UnboundedSystem
from checker.language.spec import Spec


def induction_cells(
    spec: Spec,
    unbounded: Collection[str],
    targets: list[str],
    lemmas: list[str],
    limits: QueryLimits,
    *,
    is_minimal: bool = False,
) -> FiniteCells | UnboundedCells:
    """Return the cells of a proof; raise UserError if the spec or an open constant is refused.

    `is_minimal`: look for few needed hypotheses.
    """
    names = [*targets, *lemmas]
    if unbounded:
        system = UnboundedSystem(spec, list(unbounded), names)
        return UnboundedCells(system, targets, lemmas, limits, ProofAids(minimal=is_minimal))
    return FiniteCells(TransitionSystem(spec, names), targets, lemmas, limits, {})
