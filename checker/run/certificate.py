"""Certificates of proofs: what was proved, from what, by which solver, in how much time.

A certificate is a TOML file in the folder `proofs` beside the module of its spec. It names for each cell of the proof
the hypotheses that the cell needs. So it is also the graph of the lemmas: which one needs which, under which action. A
later proof of the spec asks each cell with these hypotheses first, and `prove --check` repeats the proof with another
solver.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.data_files import read_data_text
from checker.errors import InputError
from checker.language.spec import Spec

FOLDER = "proofs"
"""The folder of certificates, beside the module of the spec."""


@dataclass(frozen=True)
class CertifiedCell:
    """A proved cell: the hypotheses that it needs, and the processor seconds of its proof."""

    needs: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Certificate:
    """A proof by induction.

    `scenario` is "" for a spec without a scenario. `settings` are the constants that `--set` changed, `constants` all
    of them, with "any" for those in `unbounded`. `program` is the digest of the typed program. `seconds` is the sum
    of the processor seconds of the cells, which are given by conjunct and action. `found` is the text of those lemmas
    that are not of the spec: `--find-lemmas` has found them.
    """

    spec: str
    scenario: str
    settings: Mapping[str, Any]
    constants: Mapping[str, Any]
    unbounded: tuple[str, ...]
    properties: tuple[str, ...]
    lemmas: tuple[str, ...]
    program: str
    solver: str
    tidemark: str
    seconds: float
    cells: Mapping[tuple[str, str], CertifiedCell]
    found: str = ""

    @property
    def target(self) -> str:
        """The argument of `prove` that selects the configuration."""
        return f"{self.spec}/{self.scenario}" if self.scenario else self.spec

    @property
    def known(self) -> dict[tuple[str, str], frozenset[str]]:
        """The needed hypotheses of each cell."""
        return {place: frozenset(cell.needs) for place, cell in self.cells.items()}

    def text(self) -> str:
        """Return the certificate as TOML."""
        head = {
            "spec": self.spec,
            "scenario": self.scenario,
            "settings": self.settings,
            "constants": self.constants,
            "unbounded": list(self.unbounded),
            "properties": list(self.properties),
            "lemmas": list(self.lemmas),
            "program": self.program,
            "solver": self.solver,
            "tidemark": self.tidemark,
            "seconds": self.seconds,
            **({"found": self.found} if self.found else {}),
        }
        lines = [_HEADING, *(f"{name} = {_toml(value)}" for name, value in head.items())]
        conjunct = None
        for (name, action), cell in self.cells.items():
            if name != conjunct:
                lines += ["", f"[cells.{_toml(name)}]"]
                conjunct = name
            lines.append(f"{_toml(action)} = {{ seconds = {cell.seconds:.3f}, needs = {_toml(list(cell.needs))} }}")
        return "\n".join(lines) + "\n"


_HEADING = """\
# A proof by induction, written by `python -m checker prove ... --certificate FILE`. `python -m checker prove --check
# FILE` repeats it with another solver. Each cell is an action and a conjunct; `needs` are the hypotheses that imply it.
"""


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str) and "\n" in value:
        return '"""\n' + "\n".join(json.dumps(line)[1:-1] for line in value.split("\n")) + '"""'
    # Strings, numbers and truth values are written as in JSON.
    return json.dumps(value)


def read_certificate(path: Path) -> Certificate:
    """Return the certificate in a file; raise InputError if the file is none."""
    try:
        return _certificate(tomllib.loads(read_data_text(path)))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except RecursionError:
        reason = "its values are nested too deeply"
    except ValueError as error:
        reason = str(error)
    raise InputError(
        f"{path} is not a certificate of a proof ({reason}): write one with `prove SPEC --certificate FILE`"
    )


def _certificate(content: dict[str, Any]) -> Certificate:
    """Return the certificate of the content of a file; raise ValueError if a field is missing, unknown or wrong."""
    fields = {field.name: field for field in dataclasses.fields(Certificate)}
    if unknown := content.keys() - fields.keys():
        raise ValueError(f"it has an unknown field {min(unknown)}")
    if missing := [name for name in fields if name not in content and name != "found"]:
        raise ValueError(f"it has no field {missing[0]}")
    for name in ("spec", "scenario", "program", "solver", "tidemark", "found"):
        if not isinstance(content.get(name, ""), str):
            raise ValueError(f"{name} is not a text")
    for name in ("settings", "constants", "cells"):
        if not isinstance(content[name], dict):
            raise ValueError(f"{name} is not a table")
    lists: dict[str, Any] = {name: _strings(name, content[name]) for name in ("unbounded", "properties", "lemmas")}
    cells = {}
    for conjunct, row in content["cells"].items():
        if not isinstance(row, dict):
            raise ValueError(f"cells.{conjunct} is not a table")
        for action, cell in row.items():
            place = f"the cell {conjunct}/{action}"
            if not isinstance(cell, dict) or cell.keys() != {"needs", "seconds"}:
                raise ValueError(f"{place} is not a table of needs and seconds")
            needs = _strings(f"needs of {place}", cell["needs"])
            cells[conjunct, action] = CertifiedCell(needs, _seconds(place, cell["seconds"]))
    seconds = _seconds("the proof", content["seconds"])
    return Certificate(**(content | lists | {"cells": cells, "seconds": seconds}))


def _seconds(place: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"seconds of {place} is not a time")
    return float(value)


def _strings(name: str, values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is not a list of names")
    return tuple(values)


def certificates_beside(spec: Spec) -> list[Path]:
    """Return the certificates beside the module of a spec, in order of their names."""
    try:
        folder = Path(inspect.getfile(type(spec))).parent / FOLDER
    except (OSError, TypeError):
        return []
    return sorted(folder.glob("*.toml"))


def certificate_for(name: str, spec: Spec, unbounded: Iterable[str]) -> Certificate | None:
    """Return the certificate beside a spec that is most like a proof: of the same spec, with the same open constants.

    Of several, the first with the same constants, or else the first. One with found lemmas is of another proof.
    """
    certificates = [
        certificate
        for certificate in map(read_certificate, certificates_beside(spec))
        if certificate.spec == name and set(certificate.unbounded) == set(unbounded) and not certificate.found
    ]
    closed = {key: value for key, value in spec.constants.items() if key not in unbounded}
    same = [one for one in certificates if {**one.constants, **closed} == dict(one.constants)]
    return next(iter([*same, *certificates]), None)
