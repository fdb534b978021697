"""A table of guarantees computed: equal explorations are done once, and every cell is answered from their results."""

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
    """A spec on its constants, with all properties that any cell asks of it; explored to the end."""

    spec: type[Spec]
    constants: Mapping[str, int | bool | str]
    properties: tuple[str, ...]

    def plan(self) -> Plan:
        """Return what an engine is asked to do."""
        properties = tuple(name for name in self.properties if name != DEADLOCK)
        return Plan(properties, stop="all", deadlock=DEADLOCK in self.properties, quick=True)


@dataclass(frozen=True)
class ShownViolation:
    """A violation that answers a check with yes, with the exploration that found it."""

    exploration: TableExploration
    violation: Violation

    @property
    def story(self) -> tuple[str, ...]:
        """The spec, the property and the steps in whatever order: what makes two counterexamples tell the same."""
        steps = sorted(str(step) for step in self.violation.trace)
        return (self.exploration.spec.name, self.violation.property, *steps)


@dataclass(frozen=True)
class CellAnswer:
    """What exploring says to a cell or a note: yes, with the shortest counterexample; no; or None, not finished.

    `explored` are the explorations asked that have a result.
    """

    shown: ShownViolation | None
    explored: tuple[tuple[TableExploration, Result], ...]
    is_finished: bool

    @property
    def is_yes(self) -> bool | None:
        """The answer, if there is one."""
        if self.shown is not None:
            return True
        return False if self.is_finished else None

    @property
    def distinct_states(self) -> int:
        """The states of all explorations asked."""
        return sum(result.distinct_states for _, result in self.explored)


class GuaranteeTable:
    """The explorations that a table needs, and, once they have results, its answers."""

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
        """What is to be explored, each once."""
        return list(self._by_key.values())

    def add(self, exploration: TableExploration, result: Result) -> None:
        """Take the result of an exploration; raise SpecError if a value left its bounds, which answers nothing."""
        for violation in result.violations:
            if violation.kind == "bounds_error":
                raise SpecError(f"table {self.table.name}, {exploration.spec.name}: {violation.explanation}")
        self._results[_key(exploration)] = result

    @property
    def explored(self) -> int:
        """How many explorations have a result."""
        return len(self._results)

    @property
    def distinct_states(self) -> int:
        """The states of everything explored so far."""
        return sum(result.distinct_states for result in self._results.values())

    def answer(self, asked: GuaranteeCell | GuaranteeNote) -> CellAnswer:
        """Return the answer to a cell or a note."""
        shown: list[ShownViolation] = []
        explored: dict[Key, tuple[TableExploration, Result]] = {}
        is_finished = True
        for check in asked.checks:
            key = _key(check)
            result = self._results.get(key)
            if result is None:
                is_finished = False
                continue
            explored[key] = (self._by_key[key], result)
            is_finished = is_finished and result.ended == "complete"
            shown += [
                ShownViolation(self._by_key[key], found)
                for found in result.violations
                if found.property in check.properties
            ]
        shortest = min(shown, key=lambda found: found.violation.length, default=None)
        return CellAnswer(shortest, tuple(explored.values()), is_finished)

    def differences(self) -> list[tuple[GuaranteeRow, str]]:
        """Return the rows and columns where the answer is not the documented one, as far as there are answers."""
        return [
            (row, column)
            for row in self.table.rows
            for column, cell in row.cells.items()
            if cell.documented is not None and self.answer(cell).is_yes not in (None, cell.documented)
        ]

    def silent_notes(self) -> list[str]:
        """Return the notes with checks that show nothing, though they are finished."""
        return [
            name
            for name, note in self.table.notes.items()
            for check in note.checks
            if self.answer(GuaranteeNote("", (check,))).is_yes is False
        ]

    @property
    def is_finished(self) -> bool:
        """Whether every cell and note has its answer."""
        asked: list[GuaranteeCell | GuaranteeNote] = [
            *(cell for row in self.table.rows for cell in row.cells.values()),
            *self.table.notes.values(),
        ]
        return all(self.answer(one).is_yes is not None for one in asked)

    def stories(self) -> list[ShownViolation]:
        """Return the counterexamples of all cells, then of the notes, each story once."""
        found: dict[tuple[str, ...], ShownViolation] = {}
        for row in self.table.rows:
            for cell in row.cells.values():
                self._tell(found, self.answer(cell))
        for note in self.table.notes.values():
            for check in note.checks:
                self._tell(found, self.answer(GuaranteeNote("", (check,))))
        return list(found.values())

    def _tell(self, found: dict[tuple[str, ...], ShownViolation], answer: CellAnswer) -> None:
        if answer.shown is not None:
            found.setdefault(answer.shown.story, answer.shown)


def _key(asked: GuaranteeCheck | TableExploration) -> Key:
    """Constants that are named and have their default value make no difference."""
    return asked.spec, tuple(asked.spec(**asked.constants).constants.items())
