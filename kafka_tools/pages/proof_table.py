"""The table of proofs in docs/proving.md, from the certificates beside the specs."""

from __future__ import annotations

from pathlib import Path

import specs
from checker.run.certificate import FOLDER, Certificate, read_certificate
from kafka_tools.pages import markdown

_SPECS = Path(next(iter(specs.__path__)))
_PAGE = _SPECS.parent / "docs" / "proving.md"


def render() -> str:
    """Return docs/proving.md with the present table."""
    return markdown.with_part(_PAGE, table(certificates()))


def certificates() -> list[tuple[Path, Certificate]]:
    """Return the certificates beside the specs, with their files relative to the folder of the specs."""
    files = sorted(_SPECS.rglob(f"{FOLDER}/*.toml"))
    return [(file.relative_to(_SPECS.parent), read_certificate(file)) for file in files]


def table(rows: list[tuple[Path, Certificate]]) -> str:
    """Return the table: a row for each certificate, finite proofs first."""
    header = ["certificate", "scenario", "proved", "for every value of"]
    ordered = sorted(rows, key=lambda pair: (bool(pair[1].unbounded), pair[1].target, str(pair[0])))
    return markdown.table(header, (_row(file, certificate) for file, certificate in ordered))


def _row(file: Path, certificate: Certificate) -> list[str]:
    return [
        f"`{file.stem}`",
        f"`{certificate.target}`",
        ", ".join(f"`{name}`" for name in certificate.properties),
        ", ".join(f"`{name}`" for name in certificate.constants if name in certificate.unbounded),
    ]
