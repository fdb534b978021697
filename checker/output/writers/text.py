"""Counterexamples as text: the output of `run`, the command that finds the counterexample, and the notes."""

from __future__ import annotations

from checker.output.counterexample_text import counterexample_lines
from checker.output.formats import Counterexample
from checker.output.styled_lines import BLANK, Line, line, plain


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as plain text."""
    return plain(lines_of(counterexample))


def lines_of(counterexample: Counterexample) -> list[Line]:
    """Return the lines that show a counterexample, with its origin and notes."""
    origin = counterexample.origin
    notes = [BLANK, line(("  found by  ", "dim"), origin.command)]
    notes += [line((f"  {note}", "yellow")) for note in counterexample.notes]
    return [*counterexample_lines(counterexample.spec, origin.name, counterexample.violation), *notes]
