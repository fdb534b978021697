"""Live progress of random walks: one redrawn line in a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self, TextIO

from checker.printable import printable

if TYPE_CHECKING:
    from rich.live import Live

_LINE_INTERVAL, _REDRAW_INTERVAL = 5.0, 0.25
"""Seconds between two lines if the stream is not a terminal, and between two drawings in a terminal."""


class WalkProgress:
    """Shows how many of `total` walks are made; an earlier run made `done` of them. It is a context manager.

    `beginning` is the text before the first walk.
    """

    def __init__(self, name: str, total: int, done: int, stream: TextIO, beginning: str = "starting Spark"):
        self._beginning = beginning
        self._name, self._total, self._before, self._stream = printable(name), total, done, stream
        self._is_terminal = stream.isatty()
        self._live: Live | None = None
        self._started: float | None = None
        self._shown_at = time.monotonic()

    def __enter__(self) -> Self:
        if self._is_terminal:
            self._redraw(f"{self._name}: {self._beginning}")
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, done: int, failures: int) -> None:
        """Show that `done` walks are made and `failures` of them have a violation, unless the last line is too recent.

        The first call marks the start of walking.
        """
        now = time.monotonic()
        self._started = self._started or now
        if now - self._shown_at < (_REDRAW_INTERVAL if self._is_terminal else _LINE_INTERVAL):
            return
        self._shown_at = now
        text = walk_progress_text(self._name, done, self._total, done - self._before, failures, now - self._started)
        if self._is_terminal:
            self._redraw(text)
        else:
            print(text, file=self._stream, flush=True)

    def _redraw(self, text: str) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        if self._live is None:
            self._live = Live(console=Console(file=self._stream), transient=True, auto_refresh=False)
            self._live.start()
        if len(text) > self._live.console.width:
            # The rate and the times are at the end: what must go is the name.
            text = text.removeprefix(f"{self._name}: ")
        self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)


def walk_progress_text(name: str, done: int, total: int, new: int, failures: int, seconds: float) -> str:
    """Return progress as text; this run made `new` of the walks, in `seconds`."""
    begin = f"{name}: {done:,} of {total:,} walks ({done / total:.0%})"
    if new == 0:
        return f"{begin}, {seconds:.0f} s"
    rate = new / max(seconds, 1e-6)
    left = (total - done) / rate
    return f"{begin}, {failures:,} with a violation, {rate:,.0f}/s, {seconds:.0f} s, {left:,.0f} s left"
