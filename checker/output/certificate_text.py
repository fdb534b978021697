"""Checked certificates as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.output.counterexample_text import constants_text
from checker.output.styled_lines import Line, line

if TYPE_CHECKING:
    from checker.engines.smt.proof_cells import ProofCell
    from checker.run.certificate import Certificate


def lines_of_check(certificate: Certificate, cells: list[ProofCell], solver: str, seconds: float) -> list[Line]:
    """Return the result of a check: the number of confirmed cells, and the cells that the solver does not confirm."""
    confirmed = sum(cell.outcome == "proved" for cell in cells)
    time = (f"  ({seconds:.2f} s)", "dim")
    lines = [*_heading(certificate)]
    if confirmed == len(cells):
        lines.append(line((f"confirmed by {solver}: {', '.join(certificate.properties)}", "bold green"), time))
    else:
        lines.append(line((f"not confirmed by {solver}: {', '.join(certificate.properties)}", "bold red"), time))
    lines.append(line(f"  {confirmed} of {len(cells)} cells; proved by {certificate.solver}"))
    for cell in cells:
        if cell.outcome != "proved":
            text = "has a counterexample" if cell.outcome == "fails" else cell.reason
            lines.append(line((f"  {cell.conjunct}, {cell.action}: {text}", "yellow")))
    return lines


def stale_lines(certificate: Certificate, reason: str, command: str) -> list[Line]:
    """Return the note that a certificate is not one of the present spec, and the command that writes a new one."""
    return [
        *_heading(certificate),
        line((f"stale: {reason}", "bold red")),
        line(f"  prove it again: {command}"),
    ]


def _heading(certificate: Certificate) -> list[Line]:
    return [line((certificate.target, "bold"), f"  {constants_text(certificate.constants)}")]
