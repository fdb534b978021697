"""Replay of a recorded walk by the interpreter: its trace and its violation."""

from __future__ import annotations

from checker.errors import InputError, UserError
from checker.language.spec import Spec
from checker.run.result import Violation
from traces.storage import Location
from traces.walks.records import WalkRun, read_walk, spec_of
from traces.walks.row_violations import violation_from_row


def rebuild_walk(folder: Location, run: WalkRun, walk: int) -> tuple[Spec, Violation]:
    """Return the spec and the trace of a walk, as a violation.

    The kind is `walk` if the walk violates nothing. Raises UserError if the walk does not exist, its part is damaged,
    or the spec has changed since the walk was made.
    """
    row = read_walk(folder, run, walk)
    spec = spec_of(run, row["configuration"])
    if row["spec_digest"] != run.configurations[row["configuration"]].spec_digest:
        raise InputError(f"walk {walk} was made with another version of {run.spec} than its run: simulate again")
    try:
        return spec, violation_from_row(spec, row)
    except UserError as error:
        raise InputError(f"walk {walk} cannot be replayed: {error.message}") from None
