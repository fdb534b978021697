"""The readable parts of a folder of walks. A report uses these and names the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checker.errors import InputError, UserError
from traces.storage import Location, local_copy
from traces.walks.records import WALK_SCHEMA, WALKS, WalkRun, check_part, part_path


@dataclass(frozen=True)
class ReadableParts:
    """The parts of a run: local copies of readable ones, the expected number, missing ones, errors of damaged ones."""

    paths: tuple[Path, ...]
    expected: int
    missing: tuple[int, ...]
    damaged: tuple[str, ...]

    @property
    def sentences(self) -> Iterator[str]:
        """One sentence about missing parts, and one about each damaged part."""
        if self.missing:
            yield (
                f"The run is not finished: {len(self.missing):,} of its {self.expected:,} parts are missing. "
                "Run the same simulate command again to resume it."
            )
        for sentence in self.damaged:
            yield f"Not counted: {sentence}."


def readable_parts(folder: Location, run: WalkRun) -> ReadableParts:
    """Return the readable parts of a run; raise InputError if there are none."""
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
            paths.append(local_copy(path))
        else:
            damaged.append(f"{path} has {rows:,} walks, not {expected:,}: remove it and simulate again")
    if not paths:
        reason = damaged[0] if damaged else f"all of its {run.parts} parts are missing: run the simulate command again"
        raise InputError(f"{folder} has no walks that can be read: {reason}")
    return ReadableParts(tuple(paths), run.parts, tuple(missing), tuple(damaged))
