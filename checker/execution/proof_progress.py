"""The progress of a proof: one line in a terminal."""

from __future__ import annotations

import shutil
import sys
import time

from checker.printable import printable


class ProofProgress:
    """A line on standard error about the current query, in a terminal only."""

    def __init__(self, name: str):
        self._name, self._started = printable(name), time.monotonic()
        self._is_shown = sys.stderr.isatty()

    def show(self, text: str) -> None:
        """Show a text about the current query, unless the proof has only just begun."""
        if self._is_shown and time.monotonic() - self._started > 0.5:
            shown = f"{self._name}: {text}, {time.monotonic() - self._started:.0f} s"
            # A longer text would wrap, and `\r` returns to the beginning of its last line only.
            columns = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{shown[:columns]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self._is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
