"""Interruption of runs with Ctrl-C, and their termination with SIGTERM."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_SAME_REQUEST_SECONDS = 0.5
"""Signals within so many seconds are one request: `timeout` terminates the process, and then its whole group."""


class SignalEvent(threading.Event):
    """An event that the handler of a signal sets.

    A second signal interrupts the handler of the first one. Inside of `set` it would wait forever for the lock that its
    own thread holds. The main thread polls the event with `is_set`, because `wait` takes the same lock.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_begun = False

    def set(self) -> None:
        """Set the event, if the first call is not in progress."""
        if not self._is_begun:
            self._is_begun = True
            super().set()

    def clear(self) -> None:
        """Reset the event."""
        super().clear()
        self._is_begun = False


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """While this holds, the first Ctrl-C or SIGTERM sets the event, and a later one raises KeyboardInterrupt.

    Signals reach only the main thread: in any other thread the event is never set.
    """
    cancelled = SignalEvent()
    requests = _Requests()

    def cancel(number: int, frame: FrameType | None) -> None:
        if requests.is_repeated():
            return
        if cancelled.is_set():
            raise KeyboardInterrupt
        cancelled.set()
        # A terminal interrupts the worker processes too, but `kill` reaches only this process.
        interrupt_workers()

    with _handling((signal.SIGINT, signal.SIGTERM), cancel):
        yield cancelled


class _Requests:
    """The times at which signals arrived."""

    def __init__(self) -> None:
        self._first: float | None = None

    def is_repeated(self) -> bool:
        """Return whether a signal that arrives now belongs to the first one."""
        now = time.monotonic()
        if self._first is None:
            self._first = now
            return False
        return now - self._first < _SAME_REQUEST_SECONDS


def interrupt_workers() -> None:
    """Send SIGINT to the worker processes of this process."""
    # Without the module there are none, and none yet if the signal arrives while it is imported.
    children = getattr(sys.modules.get("multiprocessing"), "active_children", list)
    for child in children():
        with suppress(ProcessLookupError, TypeError):
            os.kill(child.pid, signal.SIGINT)


class Termination(KeyboardInterrupt):
    """SIGTERM arrived.

    A class of its own: after a KeyboardInterrupt inside an `exec`, which dataclasses use, Python ends the process by
    SIGINT instead of with our exit status.
    """


@contextmanager
def terminable() -> Iterator[None]:
    """While this holds, SIGTERM raises KeyboardInterrupt, so that a terminated process still writes its reports."""

    requests = _Requests()

    def terminate(number: int, frame: FrameType | None) -> None:
        # Raised again, it would interrupt what writes the reports.
        if not requests.is_repeated():
            raise Termination

    with _handling((signal.SIGTERM,), terminate):
        yield


@contextmanager
def _handling(signals: tuple[signal.Signals, ...], handler: object) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, handler) for number in signals}  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before)
