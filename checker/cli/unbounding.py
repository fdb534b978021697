"""`prove --unbounded`: a proof for every value of some constants, and what one size says where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checker.check.result import Violation
from checker.cli.runs import Run
from checker.report import text
from checker.report.lines import BLANK, Line, line


def proved_unbounded(
    run: Run, names: list[str], lemmas: list[str], unbounded: list[str], timeout: float, workers: int, show: Show
) -> tuple[list[Line], dict[str, Any], str]:
    """Prove by induction for every value of some constants; return lines, what JSON says more, and the verdict.

    Raises SpecError where a constant cannot be left open, or the spec has what no unbounded type can take.
    """
    from checker.prove.solving import Limits
    from checker.prove.unbounded.induction import prove
    from checker.prove.unbounded.instances import Instance, examine
    from checker.prove.unbounded.system import UnboundedSystem
    from checker.report import proofs

    limits = Limits(timeout)
    system = UnboundedSystem(run.spec, unbounded, [*names, *lemmas])
    proof = prove(system, names, lemmas, limits, lambda conjunct, action: show(f"{conjunct}, {action}"))
    found = Instance(proof)
    if proof.verdict != "proved":
        show("looking for counterexamples at one size")
        found = examine(run.spec, proof, limits, workers)
    proof = found.proof
    verdict_line, *table = proofs.induction_lines(proof)
    shown = [_heading(run, unbounded), verdict_line, line(f"  for every value of {', '.join(unbounded)}"), *table]
    labels: dict[tuple[str, str], str] = {}
    told: set[str] = set()
    for cell in proof.cells:
        if cell.counterexample is None:
            continue
        where = found.whereabouts.get((cell.conjunct, cell.action))
        if where is not None:
            labels[cell.conjunct, cell.action] = (
                "reachable" if where.trace else "unreachable" if where.is_certain else "open"
            )
        is_real = where is not None and where.trace is not None
        if is_real or cell.conjunct not in told:
            told.add(cell.conjunct)
            shown += proofs.step_lines(run.spec, cell, where)
    if proof.verdict != "proved":
        sizes = text.constants_text({name: run.spec.constants[name] for name in unbounded})
        shown += [BLANK, line((f"  counterexamples are those of {sizes}; cells with ? have none there", "dim"))]
    real = {conjunct for (conjunct, _), label in labels.items() if label == "reachable"}
    others = [violation for name, violation in found.violations.items() if name in names and name not in real]
    for violation in others:
        shown += [BLANK, *text.counterexample(run.spec, run.name, violation)]
    more = {
        "properties": names,
        "lemmas": lemmas,
        "unbounded": unbounded,
        "queries": [
            {
                "conjunct": cell.conjunct,
                "action": cell.action,
                "outcome": cell.outcome,
                "seconds": round(cell.seconds, 6),
                "reason": cell.reason,
                "first_state": labels.get((cell.conjunct, cell.action)),
            }
            for cell in proof.cells
        ],
        "violated_at_these_constants": {name: _length(violation) for name, violation in found.violations.items()},
    }
    return shown, more, proof.verdict


Show = Callable[[str], None]
"""Is told in words what is asked now."""


def _length(violation: Violation) -> int:
    return violation.length


def _heading(run: Run, unbounded: list[str]) -> Line:
    constants = {name: "any" if name in unbounded else value for name, value in run.spec.constants.items()}
    return line((run.name, "bold"), f"  {text.constants_text(constants)}")
