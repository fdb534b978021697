"""Tables of guarantees: a family says what each cell asks of which spec, and exploring the specs answers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from checker.errors import SpecError
from checker.language.roles import PROPERTY_ROLES
from checker.language.spec import Spec


@dataclass(frozen=True)
class GuaranteeCheck:
    """Properties of a spec on some constants; `deadlock` is one of them, as in a scenario."""

    spec: type[Spec]
    constants: Mapping[str, int | bool | str]
    properties: tuple[str, ...]

    def __post_init__(self) -> None:
        known = [name for name, role in self.spec.roles.items() if role in PROPERTY_ROLES]
        for name in self.properties:
            if name not in (*known, "deadlock"):
                raise SpecError(f"a table asks {self.spec.name} for {name}, which is not a property of it")


@dataclass(frozen=True)
class GuaranteeCell:
    """A question, whether something bad can happen: yes if a property of a check is violated, no if all of them hold.

    `documented`: the answer that the documentation of the real system gives; None: it gives none. `notes` names notes
    of the table, on what else there is to know.
    """

    checks: tuple[GuaranteeCheck, ...]
    documented: bool | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class GuaranteeRow:
    """Settings, and a cell for each column; or, where the real system refuses the settings, why, and no cells."""

    settings: Mapping[str, str]
    cells: Mapping[str, GuaranteeCell] = field(default_factory=dict)
    refused: str = ""


@dataclass(frozen=True)
class GuaranteeNote:
    """What a cell leaves out, in words, and the checks that show it: each of them has to be violated."""

    text: str
    checks: tuple[GuaranteeCheck, ...] = ()


@dataclass(frozen=True)
class Table:
    """Settings against guarantees. `columns` maps the name of each column to its heading, a question.

    `legend` says what is explored in every row, a paragraph an item.
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
            raise SpecError(f"{here}: its settings are not those of the first row")
        if not row.refused and row.cells.keys() != self.columns.keys():
            raise SpecError(f"{here}: its cells are not the columns {', '.join(self.columns)}")
        for cell in row.cells.values():
            for name in cell.notes:
                if name not in self.notes:
                    raise SpecError(f"{here} has a note {name}, which the table does not")

    def checks(self) -> Iterator[GuaranteeCheck]:
        """Yield the checks of all cells, row by row, and those of the notes."""
        for row in self.rows:
            for cell in row.cells.values():
                yield from cell.checks
        for note in self.notes.values():
            yield from note.checks
