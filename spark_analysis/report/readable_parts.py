"""Which parts of a folder of walks can be read: a report is made of those, and says what is not in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checker.errors import InputError, UserError
from traces.walks.records import WALK_SCHEMA, WALKS, WalkRun, check_part, part_path


@dataclass(frozen=True)
class ReadableParts:
    """The parts of a run: those that can be read, how many there should be, those not there, and what ails others."""

    paths: tuple[Path, ...]
    expected: int
    missing: tuple[int, ...]
    damaged: tuple[str, ...]

    @property
    def sentences(self) -> Iterator[str]:
        """What is missing and damaged, a sentence each."""
        if self.missing:
            yield (
                f"The run is not finished: {len(self.missing):,} of its {self.expected:,} parts are missing. "
                "The same simulate command goes on with them."
            )
        for sentence in self.damaged:
            yield f"Not counted: {sentence}."


def readable_parts(folder: Path, run: WalkRun) -> ReadableParts:
    """Return which parts of a run can be read; raise UserError where there is none."""
    paths, missing, damaged = [], [], []
    for number in range(run.parts):
        path = part_path(folder, WALKS, number)
        if not path.exists():
            missing.append(number)
            continue
        try:
            rows, expected = check_part(path, WALK_SCHEMA), run.span(number)[2]
        except UserError as error:
            damaged.append(error.message)
            continue
        if rows == expected:
            paths.append(path)
        else:
            damaged.append(f"{path} has {rows:,} walks, not {expected:,}: remove it and simulate again")
    if not paths:
        reason = damaged[0] if damaged else f"none of its {run.parts} parts is there: run the simulate command again"
        raise InputError(f"{folder} has no walks that can be read: {reason}")
    return ReadableParts(tuple(paths), run.parts, tuple(missing), tuple(damaged))
