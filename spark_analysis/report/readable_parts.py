"""The readable parts of a folder of walks. A report uses these and names the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from checker.errors import InputError, UserError
from spark_analysis.walks.records import SCHEMAS, STEPS, WALKS, WalkRun, check_part, part_kinds, part_path
from traces.storage import Location


@dataclass(frozen=True)
class ReadableParts:
    """The numbers of a run's readable parts, the expected number, the missing ones, and errors of damaged ones."""

    numbers: tuple[int, ...]
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


def readable_parts(folder: Location, run: WalkRun, kinds: Collection[str] | None = None) -> ReadableParts:
    """Return the parts of a run of which the files of some kinds are readable; raise InputError if there are none.

    The default are the kinds that a report reads: all but the steps.
    """
    kinds = kinds if kinds is not None else [kind for kind in part_kinds(run) if kind != STEPS]
    readable, missing, damaged = [], [], []
    for number in range(run.parts):
        files = {kind: part_path(folder, kind, number) for kind in kinds}
        if not all(file.exists() for file in files.values()):
            missing.append(number)
            continue
        try:
            rows = {kind: check_part(file, SCHEMAS[kind]) for kind, file in files.items()}
        except UserError as error:
            damaged.append(error.message)
            continue
        walks, expected = rows[WALKS], run.span(number)[2]
        if walks == expected:
            readable.append(number)
        else:
            damaged.append(f"{files[WALKS]} has {walks:,} walks, not {expected:,}: remove it and simulate again")
    if not readable:
        reason = damaged[0] if damaged else f"all of its {run.parts} parts are missing: run the simulate command again"
        raise InputError(f"{folder} has no walks that can be read: {reason}")
    return ReadableParts(tuple(readable), run.parts, tuple(missing), tuple(damaged))
