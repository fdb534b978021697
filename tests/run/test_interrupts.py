"""Signals that arrive at any moment: each request is handled once, and no handler waits for itself."""

import os
import signal
import sys
import threading
import time
import types
from contextlib import contextmanager

import pytest

from checker.run import interrupts
from checker.run.interrupts import SignalEvent, Termination, interrupt_workers, interruptible, terminable


@contextmanager
def ended_after(seconds):
    """Raise TimeoutError if the block takes longer, also while it waits for a lock."""

    def give_up(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def second_signal(monkeypatch):
    """Send a second signal while the handler of the first one sets an event, and holds its lock."""
    notify_all = threading.Condition.notify_all
    sent = []

    def interrupted(self):
        if not sent:
            sent.append(True)
            signal.raise_signal(signal.SIGINT)
        notify_all(self)

    monkeypatch.setattr(threading.Condition, "notify_all", interrupted)
    return sent


def test_a_signal_inside_of_the_handler_of_another(second_signal):
    event = SignalEvent()
    before = signal.signal(signal.SIGINT, lambda number, frame: event.set())
    try:
        with ended_after(10):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert event.is_set() and second_signal


def test_an_event_can_be_set_again():
    event = SignalEvent()
    event.set()
    event.clear()
    assert not event.is_set()
    event.set()
    assert event.is_set()


def test_two_signals_at_once_are_one_request(second_signal):
    with ended_after(10), interruptible() as cancelled:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert cancelled.is_set() and second_signal


def test_a_later_signal_ends_the_command(monkeypatch):
    monkeypatch.setattr(interrupts, "_SAME_REQUEST_SECONDS", 0.01)
    with interruptible() as cancelled:
        signal.raise_signal(signal.SIGTERM)
        time.sleep(0.02)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert cancelled.is_set()


def test_a_repeated_termination_does_not_interrupt_the_end():
    with terminable():
        with pytest.raises(Termination):
            signal.raise_signal(signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_while_the_processes_are_imported(monkeypatch):
    # Python lists a module before its code has run.
    monkeypatch.setitem(sys.modules, "multiprocessing", types.ModuleType("multiprocessing"))
    interrupt_workers()
