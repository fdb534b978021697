"""Replay of a recorded walk by the interpreter: its trace and its violation."""

from __future__ import annotations

from dataclasses import dataclass

from checker.errors import InputError, UserError
from checker.language.spec import Spec
from checker.run.result import Violation
from spark_analysis.walks.records import WalkRun, read_walk, spec_of
from spark_analysis.walks.row_violations import violation_from_row
from traces.storage import Location


@dataclass(frozen=True)
class ReplayedWalk:
    """A walk as a violation, and the other properties that it violates, each with the number of steps before that.

    The kind of the violation is `walk` if the walk violates nothing.
    """

    spec: Spec
    violation: Violation
    others: dict[str, int]


def rebuild_walk(folder: Location, run: WalkRun, walk: int, name: str | None = None) -> ReplayedWalk:
    """Return a walk up to its first violation, or to that of the property `name`.

    Raises UserError if the walk does not exist or does not violate the property, its part is damaged, or the spec has
    changed since the walk was made.
    """
    row = read_walk(folder, run, walk)
    violated = [known for bit, known in enumerate(run.properties) if row["violated"] >> bit & 1]
    if name is not None and name not in violated:
        which = f"it violates {', '.join(violated)}" if violated else "it violates none"
        raise InputError(f"walk {walk} does not violate {name}: {which}")
    spec = spec_of(run, row["configuration"])
    if row["spec_digest"] != run.configurations[row["configuration"]].spec_digest:
        raise InputError(f"walk {walk} was made with another version of {run.spec} than its run: simulate again")
    try:
        violation = violation_from_row(spec, row, name)
        others = [known for known in violated if known != violation.property]
        steps = {other: len(violation_from_row(spec, row, other).trace) - 1 for other in others}
        return ReplayedWalk(spec, violation, steps)
    except UserError as error:
        raise InputError(f"walk {walk} cannot be replayed: {error.message}") from None
