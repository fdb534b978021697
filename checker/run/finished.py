"""A finished run: the run, its result, and the comparison with the expected verdict."""

from __future__ import annotations

from dataclasses import dataclass

from checker.run.account import PropertyAccount, account_of
from checker.run.expectation import ExpectationComparison
from checker.run.request import Run
from checker.run.result import Result


@dataclass(frozen=True)
class FinishedRun:
    """A run with its result. `comparison` is None if the run has no expected verdict."""

    run: Run
    result: Result
    comparison: ExpectationComparison | None

    @property
    def account(self) -> PropertyAccount:
        """What the run did with each declared property."""
        return account_of(self.run.spec, self.run.properties, self.result)

    @property
    def is_open(self) -> bool:
        """Whether the run was stopped before it decided the verdict."""
        return self.comparison.is_open if self.comparison is not None else self.result.verdict == "incomplete"

    @property
    def is_as_expected(self) -> bool:
        """Whether the result is as expected or, without an expectation, has no violations."""
        return self.comparison.matches if self.comparison is not None else self.result.verdict == "holds"
