"""A run with its result and the comparison with its expected verdict."""

from __future__ import annotations

from dataclasses import dataclass

from checker.run.request import Run
from checker.run.result import Result
from checker.run.scenario import ExpectationComparison


@dataclass(frozen=True)
class FinishedRun:
    """A run with its result."""

    run: Run
    result: Result
    comparison: ExpectationComparison | None

    @property
    def is_open(self) -> bool:
        """Whether the run was stopped before the answer."""
        return self.comparison.is_open if self.comparison is not None else self.result.verdict == "incomplete"

    @property
    def is_fine(self) -> bool:
        """Whether the result is as expected, or, where nothing is expected, free of violations."""
        return self.comparison.matches if self.comparison is not None else self.result.verdict == "holds"
