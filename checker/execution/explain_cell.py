"""Execution of `prove --explain`: one cell of a proof, its query in the words of the spec, and the work for it."""

from __future__ import annotations

from checker.engines.smt.cell_work import work_of
from checker.engines.smt.induction_cells import induction_cells
from checker.engines.smt.proof_cells import seed_of
from checker.engines.smt.reachability import ReachableStates
from checker.engines.smt.solving import QueryLimits, seeded
from checker.errors import InputError
from checker.execution.proof_outcome import ProofOutcome, ProofTask
from checker.execution.prove_induction import VERDICTS
from checker.output import proof_text
from checker.output.cell_text import cell_lines
from checker.output.proof_json import queries_to_json
from checker.run.registry import suggestion


def prove_task(task: ProofTask) -> ProofOutcome:
    """Prove the cell that the settings name; raise InputError if the proof has no such cell."""
    run, settings = task.run, task.settings
    limits = QueryLimits(settings.timeout)
    cells = induction_cells(run.spec, settings.unbounded, task.names, task.lemmas, limits, is_minimal=True)
    known = {"/".join(place): place for place in cells.places}
    if settings.explain not in known:
        raise InputError(
            f"the proof has no cell {settings.explain}: {suggestion(settings.explain, known)}. "
            "A cell is CONJUNCT/ACTION, as in the rows and columns of the table"
        )
    place = known[settings.explain]
    cells.refuse_vacuous_proof()
    task.on_progress(", ".join(place))
    with seeded(seed_of(place, settings.seed)):
        cell = cells.cell(place)
        needed = cell.needed if cell.outcome == "proved" else tuple(cells.hypothesis_names)
        work = work_of(cells, place, needed, cells.new_solver, limits)
    lines = cell_lines(run.spec, cell, cells.hypothesis_names, work)
    if cell.counterexample is not None:
        before = cell.counterexample.before
        where = ReachableStates(run.spec, settings.workers).look_up(before) if before is not None else None
        lines += proof_text.step_lines(run.spec, cell, where)
    fields = {"lemmas": task.lemmas, "queries": queries_to_json([cell], {})}
    return ProofOutcome(VERDICTS[cell.outcome], lines, fields)
