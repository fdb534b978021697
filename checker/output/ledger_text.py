"""The comparison with the ledger as text."""

from __future__ import annotations

from collections.abc import Iterable

from checker.output.styled_lines import BLANK, Line, line
from checker.run.ledger_check import LedgerCheck, LedgerUse


def ledger_lines(use: LedgerUse, check: LedgerCheck) -> list[Line]:
    """Return the lines that show the differences from a ledger, or those that were recorded in it."""
    if check.missing:
        sentence = f"there is no ledger {use.path}: python -m checker run --update-ledger writes one"
        return _text_lines(f"not as recorded in {use.path}:", [sentence], "red")
    if not use.update:
        return _text_lines(f"not as recorded in {use.path}:", check.differences, "red")
    shown = _text_lines(f"recorded in {use.path}:", check.differences or ["no changes"], "")
    return shown + _text_lines("not recorded, because they are not as expected:", check.not_recorded, "red")


def _text_lines(heading: str, sentences: Iterable[str], style: str) -> list[Line]:
    rows = [line((f"  {sentence}", style)) for sentence in sentences]
    return [BLANK, line((heading, "bold")), *rows] if rows else []
