"""Live progress of an exploration: one redrawn line in a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self, TextIO

from checker.printable import printable
from checker.run.plan import ExplorationProgress

if TYPE_CHECKING:
    from rich.live import Live

_QUIET = 0.5
"""Seconds before a run shows progress in a terminal: most runs end earlier."""

_FORECAST_AFTER = 10.0
"""Seconds before the progress shows how many states are to come: shorter runs end earlier."""

_LONG = 300.0
"""Seconds: if the rest of a run is forecast to take longer, the display names a faster engine."""

_LARGE_AFTER = 20.0
"""Seconds before a run without a forecast says how it can be ended."""

_LINE_INTERVAL = 5.0
"""Seconds between two lines if the stream is not a terminal."""


class ProgressDisplay:
    """Shows the progress of the run `name`. It is a context manager, and its `update` belongs in the plan.

    `faster`: a sentence about a faster engine, which is shown once if the run is forecast to be long.
    """

    def __init__(self, name: str, stream: TextIO, faster: str = ""):
        self._name, self._stream, self._faster = printable(name), stream, faster
        self._is_terminal = stream.isatty()
        self._live: Live | None = None
        self._shown_at = time.monotonic()
        self._last = ExplorationProgress(0, 0, 0, 0, 0.0, 0)
        self._rate = 0.0
        self._says_how_to_end = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, progress: ExplorationProgress) -> None:
        """Show progress, unless the last line is too recent."""
        now = time.monotonic()
        if self._is_terminal:
            if progress.seconds >= _QUIET:
                self._redraw(progress)
        elif now - self._shown_at >= _LINE_INTERVAL:
            self._shown_at = now
            print(self._text(progress), file=self._stream, flush=True)
        to_come = (progress.states_to_come or 0) * progress.seconds
        if self._faster and progress.seconds >= _FORECAST_AFTER and to_come > _LONG * progress.distinct_states:
            self.notice(self._faster)
            self._faster = ""
        # Most states wait in the queue: each has many successors, and too few levels are known for a forecast.
        is_growing = progress.states_to_come is None and 2 * progress.queue > progress.distinct_states
        if self._says_how_to_end and is_growing and progress.seconds >= _LARGE_AFTER and not progress.activity:
            self.notice(
                f"{self._name}: {progress.queue:,} of {progress.distinct_states:,} states wait to be expanded, and no "
                "end is in sight: smaller constants have fewer; --max-depth N or --max-states N ends a run earlier"
            )
            self._says_how_to_end = False

    def notice(self, sentence: str) -> None:
        """Show a sentence; in a terminal, above the line that is redrawn."""
        if self._live is None:
            print(sentence, file=self._stream, flush=True)
        else:
            self._live.console.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def _redraw(self, progress: ExplorationProgress) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        if self._live is None:
            console = Console(file=self._stream)
            self._live = Live(console=console, transient=True, auto_refresh=False)
            self._live.start()
        text = fitting_text(self._name, progress, self._rate_since_last(progress), self._live.console.width)
        self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

    def _text(self, progress: ExplorationProgress) -> str:
        return f"{self._name}: {exploration_text(progress, self._rate_since_last(progress))}"

    def _rate_since_last(self, progress: ExplorationProgress) -> float:
        """Return the distinct states per second, measured over intervals of at least one second."""
        elapsed = progress.seconds - self._last.seconds
        if elapsed >= 1.0 or not self._rate:
            self._rate = (progress.distinct_states - self._last.distinct_states) / max(elapsed, 1e-6)
            self._last = progress
        return self._rate


def exploration_text(progress: ExplorationProgress, rate: float) -> str:
    """Return progress as text; `rate` is in distinct states per second."""
    if progress.activity:
        return f"{progress.activity}, {progress.seconds:.0f} s"
    return (
        f"level {progress.level}, {progress.distinct_states:,} distinct, {progress.generated_states:,} generated, "
        f"queue {progress.queue:,}, {rate:,.0f}/s, {memory_text(progress.memory_bytes)}, {progress.seconds:.0f} s"
        f"{_forecast_text(progress, rate)}"
    )


def fitting_text(name: str, progress: ExplorationProgress, rate: float, width: int) -> str:
    """Return progress as text of at most `width` columns if possible: the rate, the queue and the time stay.

    What must go is, in this order: the beginning of the name, the counts of generated states and of bytes, the name if
    there is a forecast, the forecast, the name, and the level.
    """
    whole, last_name = exploration_text(progress, rate), name.rpartition("/")[2]
    lines = [f"{name}: {whole}", f"{last_name}: {whole}"]
    if not progress.activity:
        counts = f"{progress.distinct_states:,} distinct, queue {progress.queue:,}, {rate:,.0f}/s"
        short = f"level {progress.level}, {counts}, {progress.seconds:.0f} s"
        if forecast := _forecast_text(progress, rate):
            lines += [f"{last_name}: {short}{forecast}", f"{short}{forecast}"]
        lines += [f"{last_name}: {short}", short, f"{counts}, {progress.seconds:.0f} s"]
    else:
        lines.append(whole)
    return next((text for text in lines if len(text) <= width), lines[-1])


def _forecast_text(progress: ExplorationProgress, rate: float) -> str:
    """Return how many states are to come, what they take and when they are found, once that is worth knowing."""
    to_come = progress.states_to_come
    if to_come is None or rate <= 0 or progress.seconds < _FORECAST_AFTER:
        return ""
    needed = f"{memory_text(progress.bytes_to_come)}; {memory_text(progress.free_bytes)} free"
    if progress.bytes_to_come > progress.free_bytes:
        how = "need the compact store" if progress.is_movable else "do not fit"
        return f"; about {_count_text(to_come)} states to come {how}: {needed}"
    arrival = time.strftime("%H:%M", time.localtime(time.time() + to_come / rate))
    return f"; about {_count_text(to_come)} states to come: {needed}; done at {arrival}"


def _count_text(count: int) -> str:
    """Return a rough number as `31,000` or `3.1e9`."""
    return f"{count:,}" if count < 100_000 else f"{count:.1e}".replace("e+0", "e").replace("e+", "e")


def memory_text(size: int) -> str:
    """Return a number of bytes as `123 MB`."""
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{size / 1e6:.0f} MB"
