"""Interruption of runs with Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """While this holds, the first Ctrl-C sets the event, and the second raises KeyboardInterrupt.

    Signals reach only the main thread: in any other thread the event is never set.
    """
    cancelled = threading.Event()

    def cancel(number: int, frame: FrameType | None) -> None:
        if cancelled.is_set():
            raise KeyboardInterrupt
        cancelled.set()

    if threading.current_thread() is not threading.main_thread():
        yield cancelled
        return
    previous = signal.signal(signal.SIGINT, cancel)
    try:
        yield cancelled
    finally:
        signal.signal(signal.SIGINT, previous)
