"""Computation of guarantee tables: every distinct exploration runs once, and the cells take their answers from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checker.errors import SpecError
from checker.language.spec import Spec
from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeNote, GuaranteeRow, Table
from checker.run.plan import DEADLOCK, Plan
from checker.run.result import Result, Violation

Key = tuple[type[Spec], tuple[tuple[str, int | bool | str], ...]]


@dataclass(frozen=True)
class TableExploration:
    """A complete exploration of a spec with its constants, for all properties that any cell checks."""

    spec: type[Spec]
    constants: Mapping[str, int | bool | str]
    properties: tuple[str, ...]

    def plan(self) -> Plan:
        """Return the plan for the engine."""
        properties = tuple(name for name in self.properties if name != DEADLOCK)
        return Plan(properties, stop="all", deadlock=DEADLOCK in self.properties, quick=True)


@dataclass(frozen=True)
class ShownViolation:
    """A violation that answers a cell with yes, and the exploration that found it."""

    exploration: TableExploration
    violation: Violation

    @property
    def signature(self) -> tuple[str, ...]:
        """The spec, the property and the sorted steps. Counterexamples with equal signatures are shown once."""
        steps = sorted(str(step) for step in self.violation.trace)
        return (self.exploration.spec.name, self.violation.property, *steps)


@dataclass(frozen=True)
class CellAnswer:
    """The answer to a cell or a note: yes, with its shortest counterexample (`shown`), no, or not known.

    `explored` are the explorations of the cell that have results. `undecided` has the reasons of the liveness
    properties that an exploration could not decide.
    """

    shown: ShownViolation | None
    explored: tuple[tuple[TableExploration, Result], ...]
    is_finished: bool
    undecided: tuple[str, ...] = ()

    @property
    def is_yes(self) -> bool | None:
        """The answer; None if it is not known. An undecided property never counts as one that holds."""
        if self.shown is not None:
            return True
        return False if self.is_finished and not self.undecided else None

    @property
    def distinct_states(self) -> int:
        """The sum of the states of the explorations."""
        return sum(result.distinct_states for _, result in self.explored)


class GuaranteeTable:
    """The explorations that a table needs, and its answers as results arrive."""

    def __init__(self, table: Table):
        self.table = table
        merged: dict[Key, dict[str, None]] = {}
        constants: dict[Key, Mapping[str, int | bool | str]] = {}
        for check in table.checks():
            key = _key(check)
            constants.setdefault(key, check.constants)
            merged.setdefault(key, {}).update(dict.fromkeys(check.properties))
        self._by_key = {
            key: TableExploration(key[0], constants[key], tuple(properties)) for key, properties in merged.items()
        }
        self._results: dict[Key, Result] = {}

    @property
    def explorations(self) -> list[TableExploration]:
        """The distinct explorations of the table."""
        return list(self._by_key.values())

    def add(self, exploration: TableExploration, result: Result) -> None:
        """Record the result of an exploration; raise SpecError if it has an error."""
        for violation in result.violations:
            if violation.kind == "bounds_error":
                raise SpecError(f"table {self.table.name}, {exploration.spec.name}: {violation.explanation}")
        self._results[_key(exploration)] = result

    @property
    def explored(self) -> int:
        """The number of explorations that have a result."""
        return len(self._results)

    @property
    def distinct_states(self) -> int:
        """The sum of the states of all explorations so far."""
        return sum(result.distinct_states for result in self._results.values())

    def answer(self, asked: GuaranteeCell | GuaranteeNote) -> CellAnswer:
        """Return the answer to a cell or a note."""
        shown: list[ShownViolation] = []
        explored: dict[Key, tuple[TableExploration, Result]] = {}
        undecided: dict[str, None] = {}
        is_finished = True
        for check in asked.checks:
            key = _key(check)
            result = self._results.get(key)
            if result is None:
                is_finished = False
                continue
            explored[key] = (self._by_key[key], result)
            is_finished = is_finished and result.ended == "complete"
            undecided.update(
                dict.fromkeys(result.undecided[name] for name in check.properties if name in result.undecided)
            )
            shown += [
                ShownViolation(self._by_key[key], violation)
                for violation in result.violations
                if violation.property in check.properties
            ]
        shortest = min(shown, key=lambda violation: violation.violation.length, default=None)
        return CellAnswer(shortest, tuple(explored.values()), is_finished, tuple(undecided))

    def differences(self) -> list[tuple[GuaranteeRow, str]]:
        """Return the rows and columns of the known answers that differ from the documented ones against expectation.

        A cell that names a note for its difference is expected to differ: it is returned if it does not.
        """
        return [
            (row, column)
            for row in self.table.rows
            for column, cell in row.cells.items()
            if self.is_as_documented(cell) is bool(cell.differs)
        ]

    def is_as_documented(self, cell: GuaranteeCell) -> bool | None:
        """Return whether the answer to a cell is the documented one; None if one of them is not known."""
        answer = self.answer(cell).is_yes
        return None if answer is None or cell.documented is None else answer == cell.documented

    def undecided_cells(self) -> list[tuple[GuaranteeRow, str, str]]:
        """Return the row, the column and the reason of each cell without an answer because a property is undecided."""
        return [
            (row, column, reason)
            for row in self.table.rows
            for column, cell in row.cells.items()
            if self.answer(cell).is_yes is None
            for reason in self.answer(cell).undecided
        ]

    def unconfirmed_notes(self) -> list[str]:
        """Return the names of notes with a finished check that found no violation, once for each such check."""
        return [
            name
            for name, note in self.table.notes.items()
            for check in note.checks
            if self.answer(GuaranteeNote("", (check,))).is_yes is False
        ]

    @property
    def is_finished(self) -> bool:
        """Whether every cell and note has an answer."""
        asked: list[GuaranteeCell | GuaranteeNote] = [
            *(cell for row in self.table.rows for cell in row.cells.values()),
            *self.table.notes.values(),
        ]
        return all(self.answer(one).is_yes is not None for one in asked)

    def counterexamples(self) -> list[ShownViolation]:
        """Return the counterexamples of all cells, then of the notes, one for each signature."""
        shown: dict[tuple[str, ...], ShownViolation] = {}
        for row in self.table.rows:
            for cell in row.cells.values():
                self._add_shown(shown, self.answer(cell))
        for note in self.table.notes.values():
            for check in note.checks:
                self._add_shown(shown, self.answer(GuaranteeNote("", (check,))))
        return list(shown.values())

    def _add_shown(self, shown: dict[tuple[str, ...], ShownViolation], answer: CellAnswer) -> None:
        if answer.shown is not None:
            shown.setdefault(answer.shown.signature, answer.shown)


def _key(asked: GuaranteeCheck | TableExploration) -> Key:
    """Return the key of an exploration; a constant that is set to its default makes no difference."""
    return asked.spec, tuple(asked.spec(**asked.constants).constants.items())
