"""Runs in parallel processes, with results in the order of the runs."""

import threading
import time

from checker.run.process_pool import results_in_order


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


def test_workers_that_miss_an_interrupt_are_interrupted_again():
    def run(number, cancelled):
        return cancelled.wait(20)

    cancelled = threading.Event()
    # Set as by a signal that no worker got.
    threading.Timer(0.3, cancelled.set).start()
    assert list(results_in_order(2, 2, run, cancelled)) == [True, True]


def test_runs_in_progress_are_interrupted_when_the_results_are_given_up():
    """A command that is interrupted stops after the next result; another worker may have missed the interrupt."""

    def run(number, interrupted):
        interrupted.wait(20)
        if number == 0:
            return number
        # As if the signal had arrived before the worker had a handler.
        interrupted.clear()
        return interrupted.wait(20)

    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    started = time.monotonic()
    results = results_in_order(2, 2, run, cancelled)
    next(results)
    results.close()
    assert time.monotonic() - started < 10
