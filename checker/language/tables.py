"""Declarations of guarantee tables: settings against questions, which the exploration of specs answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from checker.errors import SpecError
from checker.language.roles import PROPERTY_ROLES
from checker.language.spec import Spec, plain_constants


@dataclass(frozen=True)
class GuaranteeCheck:
    """Properties to check of a spec with some constants; `deadlock` is a property, as in a scenario."""

    spec: type[Spec]
    constants: Mapping[str, Any]
    properties: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", plain_constants(self.spec, self.constants))
        known = [name for name, role in self.spec.roles.items() if role in PROPERTY_ROLES]
        for name in self.properties:
            if name not in (*known, "deadlock"):
                raise SpecError(f"a table checks {name} of {self.spec.name}, which does not have this property")


@dataclass(frozen=True)
class GuaranteeCell:
    """A question whether something bad can happen: yes if a check finds a violation, no if all its properties hold.

    `documented` is the answer in the documentation of the real system, or None. `notes` names notes of the table.
    `differs` names the note that explains why the answer is not the documented one; empty: it is. `exceptions` names
    the notes on what another model or a finding shows although the checks find nothing: the answer is "no, but NAME".
    """

    checks: tuple[GuaranteeCheck, ...]
    documented: bool | None = None
    notes: tuple[str, ...] = ()
    differs: str = ""
    exceptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.checks:
            raise SpecError("a cell of a table has no checks, so nothing supports an answer")
        if self.differs and self.documented is None:
            raise SpecError(f"a cell differs from the documentation ({self.differs}) but names no documented answer")

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes of the cell, with the one that explains a difference and those on exceptions."""
        return tuple(dict.fromkeys((*self.notes, *([self.differs] if self.differs else []), *self.exceptions)))


@dataclass(frozen=True)
class GuaranteeRow:
    """Settings with a cell for each column, or with the reason why the real system refuses them (`refused`)."""

    settings: Mapping[str, str]
    cells: Mapping[str, GuaranteeCell] = field(default_factory=dict)
    refused: str = ""


@dataclass(frozen=True)
class GuaranteeNote:
    """A remark on a cell, and the checks that demonstrate it: each must find a violation.

    `takes`: after what an exception happens if it takes more than the column says, such as "3 restarts".
    """

    text: str
    checks: tuple[GuaranteeCheck, ...] = ()
    takes: str = ""


@dataclass(frozen=True)
class Table:
    """Settings against guarantees.

    `columns` maps the name of each column to its heading, a question. `legend` describes the configurations that every
    row explores, one paragraph per item.
    """

    name: str
    columns: Mapping[str, str]
    rows: tuple[GuaranteeRow, ...]
    notes: Mapping[str, GuaranteeNote] = field(default_factory=dict)
    legend: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.rows:
            raise SpecError(f"table {self.name} has no rows")
        for row in self.rows:
            self._check(row)

    def _check(self, row: GuaranteeRow) -> None:
        here = f"table {self.name}, row {', '.join(f'{name}={value}' for name, value in row.settings.items())}"
        if row.settings.keys() != self.rows[0].settings.keys():
            raise SpecError(f"{here}: its settings differ from those of the first row")
        if not row.refused and row.cells.keys() != self.columns.keys():
            raise SpecError(f"{here}: its cells must be the columns {', '.join(self.columns)}")
        for cell in row.cells.values():
            for name in cell.all_notes:
                if name not in self.notes:
                    raise SpecError(f"{here} names the note {name}, which the table does not have")

    def checks(self) -> Iterator[GuaranteeCheck]:
        """Iterate over the checks of all cells, row by row, then over those of the notes."""
        for row in self.rows:
            for cell in row.cells.values():
                yield from cell.checks
        for note in self.notes.values():
            yield from note.checks
