"""Interruption of runs with Ctrl-C, and their termination with SIGTERM."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """While this holds, the first Ctrl-C or SIGTERM sets the event, and the second raises KeyboardInterrupt.

    Signals reach only the main thread: in any other thread the event is never set.
    """
    cancelled = threading.Event()

    def cancel(number: int, frame: FrameType | None) -> None:
        if cancelled.is_set():
            raise KeyboardInterrupt
        cancelled.set()
        # A terminal interrupts the worker processes too, but `kill` reaches only this process.
        interrupt_workers()

    with _handling((signal.SIGINT, signal.SIGTERM), cancel):
        yield cancelled


def interrupt_workers() -> None:
    """Send SIGINT to the worker processes of this process."""
    # Without the module there are none.
    processes = sys.modules.get("multiprocessing")
    for child in processes.active_children() if processes is not None else ():
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

    def terminate(number: int, frame: FrameType | None) -> None:
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
