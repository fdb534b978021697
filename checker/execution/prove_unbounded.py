"""`prove --unbounded`: a proof for every value of some constants, and what one size says where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.output import text
from checker.output.proof_files import breaking_step, page_name, proof_command
from checker.output.styled_lines import BLANK, Line, line
from checker.run.request import Run
from checker.run.result import Violation

if TYPE_CHECKING:
    from checker.engines.smt.induction import InductionProof
    from checker.engines.smt.unbounded.instances import InstanceResult

Show = Callable[[str], None]
"""Is told in words what is asked now."""


@dataclass
class UnboundedReport:
    """What there is to say of a proof: for people, for programs, as pages of counterexamples, and in one word."""

    verdict: str
    lines: list[Line]
    content: dict[str, Any]
    violations: list[Violation] = field(default_factory=list)
    pages: dict[str, str] = field(default_factory=dict)


def proved_unbounded(
    run: Run, names: list[str], lemmas: list[str], unbounded: list[str], timeout: float, workers: int, show: Show
) -> UnboundedReport:
    """Prove by induction for every value of some constants.

    Raises UserError where a constant cannot be left open, or the spec has what no unbounded type can take.
    """
    from checker.engines.smt.solving import QueryLimits
    from checker.engines.smt.unbounded.instances import InstanceResult, examine
    from checker.engines.smt.unbounded.unbounded_induction import prove
    from checker.engines.smt.unbounded.unbounded_system import UnboundedSystem

    limits = QueryLimits(timeout)
    system = UnboundedSystem(run.spec, unbounded, [*names, *lemmas])
    proof = prove(system, names, lemmas, limits, lambda conjunct, action: show(f"{conjunct}, {action}"))
    found = InstanceResult(proof)
    if proof.verdict != "proved":
        show("looking for counterexamples at one size")
        found = examine(run.spec, proof, limits, workers)
    return _told(run, unbounded, found)


def _told(run: Run, unbounded: list[str], found: InstanceResult) -> UnboundedReport:
    from checker.output import proof_text
    from checker.output.page.induction_page import induction_page

    proof = found.proof
    verdict_line, *table = proof_text.induction_lines(proof)
    every = line(f"  for every value of {', '.join(unbounded)}")
    told = UnboundedReport(proof.verdict, [_heading(run, unbounded), verdict_line, every, *table], {})
    known: set[str] = set()
    for cell in proof.cells:
        where = found.reachability.get((cell.conjunct, cell.action))
        if cell.counterexample is None or (cell.conjunct in known and (where is None or where.trace is None)):
            continue
        known.add(cell.conjunct)
        told.lines += proof_text.step_lines(run.spec, cell, where)
        if where is not None:
            trace, failed = breaking_step(cell.counterexample)
            options = ["--property", cell.conjunct] if cell.conjunct in proof.targets else []
            options += [word for name in unbounded for word in ("--unbounded", name)]
            command = proof_command(run, *options)
            page = induction_page(run.spec, run.name, command, cell.conjunct, trace, failed, where)
            told.pages[page_name(run, cell.conjunct, cell.action)] = page
    real = {conjunct for (conjunct, _), where in found.reachability.items() if where.trace is not None}
    told.violations = [v for name, v in found.violations.items() if name in proof.targets and name not in real]
    if proof.verdict != "proved":
        sizes = text.constants_text({name: run.spec.constants[name] for name in unbounded})
        words = f"  counterexamples are those of {sizes}; cells with ? have none there"
        told.lines += [BLANK, line((words, "dim"))]
    for violation in told.violations:
        told.lines += [BLANK, *text.counterexample(run.spec, run.name, violation)]
    told.content = _content(proof, unbounded, found)
    return told


def _content(proof: InductionProof, unbounded: list[str], found: InstanceResult) -> dict[str, Any]:
    labels = {place: where.label for place, where in found.reachability.items()}
    return {
        "properties": proof.targets,
        "lemmas": proof.lemmas,
        "unbounded": unbounded,
        "never_taken": proof.never_taken,
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
        "violated_at_these_constants": {name: violation.length for name, violation in found.violations.items()},
    }


def _heading(run: Run, unbounded: list[str]) -> Line:
    constants = {name: "any" if name in unbounded else value for name, value in run.spec.constants.items()}
    return line((run.name, "bold"), f"  {text.constants_text(constants)}")
