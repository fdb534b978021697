"""Runs in parallel processes, with results in the order of the runs."""

import os
import signal
import threading
import time

import pytest

from checker.run.process_pool import results_in_order


def is_set_within(event, seconds):
    """Return whether an event is set within some seconds. It is polled: the handler of a signal sets it."""
    deadline = time.monotonic() + seconds
    while not event.is_set() and time.monotonic() < deadline:
        time.sleep(0.01)
    return event.is_set()


def cancel_when_started(folder, runs, cancelled):
    """Set an event, as by a signal that no worker got, once some runs have left their file in a folder."""

    def cancel():
        deadline = time.monotonic() + 20
        while len(list(folder.iterdir())) < runs and time.monotonic() < deadline:
            time.sleep(0.01)
        cancelled.set()

    threading.Thread(target=cancel).start()


def test_the_runs_after_a_long_one_go_on(tmp_path):
    def run(number, cancelled):
        (tmp_path / str(number)).touch()
        # The first run ends after the twentieth has started.
        deadline = time.monotonic() + 30
        while number == 0 and not (tmp_path / "20").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return number, (tmp_path / "20").exists()

    found = list(results_in_order(25, 2, run, threading.Event()))
    assert [number for number, _ in found] == list(range(25))
    assert found[0] == (0, True)


def test_no_run_starts_after_an_interrupt(tmp_path):
    def run(number, cancelled):
        (tmp_path / str(number)).touch()
        time.sleep(0.05)
        return number

    cancelled = threading.Event()
    results = results_in_order(200, 2, run, cancelled)
    found = [next(results)]
    cancelled.set()
    found += results
    assert found == list(range(len(found)))
    # The runs in progress, and those that the processes already had.
    assert len(list(tmp_path.iterdir())) < 60


def test_workers_that_miss_an_interrupt_are_interrupted_again(tmp_path):
    def run(number, cancelled):
        (tmp_path / str(number)).touch()
        return is_set_within(cancelled, 20)

    cancelled = threading.Event()
    cancel_when_started(tmp_path, 2, cancelled)
    assert list(results_in_order(2, 2, run, cancelled)) == [True, True]


def test_runs_in_progress_are_interrupted_when_the_results_are_given_up(tmp_path):
    """A command that is interrupted stops after the next result; another worker may have missed the interrupt."""

    def run(number, interrupted):
        (tmp_path / str(number)).touch()
        is_set_within(interrupted, 20)
        if number == 0:
            return number
        # As if the signal had arrived before the worker had a handler.
        interrupted.clear()
        return is_set_within(interrupted, 20)

    cancelled = threading.Event()
    cancel_when_started(tmp_path, 2, cancelled)
    started = time.monotonic()
    results = results_in_order(2, 2, run, cancelled)
    next(results)
    results.close()
    assert time.monotonic() - started < 10


def test_all_runs_in_progress_give_their_results_after_an_interrupt(tmp_path):
    def run(number, interrupted):
        (tmp_path / str(number)).touch()
        return number, is_set_within(interrupted, 20)

    cancelled = threading.Event()
    results = results_in_order(9, 3, run, cancelled)
    cancel_when_started(tmp_path, 3, cancelled)
    assert list(results) == [(0, True), (1, True), (2, True)]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_worker_ignores_a_termination():
    """`timeout` terminates all processes of a command. The parent interrupts the workers, which then report."""

    def run(number, interrupted):
        os.kill(os.getpid(), signal.SIGTERM)
        return number

    assert list(results_in_order(4, 2, run, threading.Event())) == [0, 1, 2, 3]


def test_a_worker_that_is_interrupted_alone_loses_no_run():
    def run(number, interrupted):
        if number == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return number

    assert list(results_in_order(12, 2, run, threading.Event())) == list(range(12))


def test_the_other_workers_end_when_one_has_died():
    def run(number, interrupted):
        if number == 0:
            os._exit(9)
        return number

    assert list(results_in_order(4, 2, run, threading.Event(), lambda number: -1)) == [-1, 1, 2, 3]


@pytest.mark.parametrize("is_closed", [True, False])
def test_runs_in_progress_are_interrupted_when_the_iteration_ends_early(is_closed):
    def run(number, interrupted):
        if number == 0:
            return number
        if number == 1 and not is_closed:
            raise ZeroDivisionError
        return is_set_within(interrupted, 60)

    started = time.monotonic()
    results = results_in_order(3, 3, run, threading.Event())
    assert next(results) == 0
    if is_closed:
        results.close()
    else:
        with pytest.raises(ZeroDivisionError):
            next(results)
    assert time.monotonic() - started < 30
