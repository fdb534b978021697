"""The end of the command's process: fast, but nothing is lost."""

import sys
import threading

import pytest

from checker import __main__


class EndedError(Exception):
    """The process has ended with a status."""


@pytest.fixture
def calls(monkeypatch):
    """Return the list of what happens at the end of the process, without any of it."""
    seen = []

    def end(status):
        seen.append("end")
        raise EndedError(status)

    monkeypatch.setattr(__main__.atexit, "_run_exitfuncs", lambda: seen.append("atexit"))
    monkeypatch.setattr(__main__.os, "_exit", end)
    monkeypatch.setattr(__main__, "_is_observed", lambda: False)
    monkeypatch.setattr(__main__.threading, "enumerate", lambda: [threading.main_thread()])
    return seen


class Stream:
    """A standard stream that notes when it is written."""

    def __init__(self, calls):
        self.flush = lambda: calls.append("flush")


def test_exit_functions_are_called_and_streams_written_before_the_end(calls, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Stream(calls))
    monkeypatch.setattr(sys, "stderr", Stream(calls))
    with pytest.raises(SystemExit) as ended:
        __main__._end(3)
    # `os._exit` does not return: here it raised an exception, after which Python ends the process.
    assert calls == ["atexit", "flush", "flush", "end"]
    assert ended.value.code == 3


def test_python_ends_a_process_that_is_observed(calls, monkeypatch):
    monkeypatch.setattr(__main__, "_is_observed", lambda: True)
    with pytest.raises(SystemExit):
        __main__._end(0)
    assert calls == []


def test_python_waits_for_threads(calls, monkeypatch):
    monkeypatch.setattr(__main__.threading, "enumerate", lambda: [threading.main_thread(), threading.Thread()])
    with pytest.raises(SystemExit):
        __main__._end(0)
    assert calls == []


def test_a_profiler_is_noticed():
    before = sys.getprofile()
    sys.setprofile(lambda *event: None)
    try:
        assert __main__._is_observed()
    finally:
        sys.setprofile(before)
