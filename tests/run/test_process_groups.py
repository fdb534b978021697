"""Runs in groups, with results in the order of the runs."""

import os
import signal
import threading
import time

import pytest

from checker.run.process_groups import results_of_groups

GROUPS = [[0, 4], [1], [2, 3, 5], [6]]


def results(run, cancelled=None, processes=2):
    """Return the results of runs of which each gets its group, its number and the event; no run is left out."""
    found = results_of_groups(
        GROUPS,
        processes,
        lambda group: lambda number, interrupted: run(group, number, interrupted),
        cancelled or threading.Event(),
        lambda number: ("died", number),
    )
    numbered = list(found)
    assert [number for number, _ in numbered] == list(range(len(numbered)))
    return [result for _, result in numbered]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_the_results_have_the_order_of_the_runs(processes):
    found = results(lambda group, number, interrupted: (number, group), processes=processes)
    assert found == [(number, group) for number in range(7) for group in GROUPS if number in group]


def test_the_runs_of_a_group_share_a_process():
    found = results(lambda group, number, interrupted: os.getpid())
    assert found[0] == found[4] and found[2] == found[3] == found[5]


@pytest.mark.parametrize("wrong", range(7))
def test_only_the_run_that_ends_its_process_has_no_result(wrong):
    def run(group, number, interrupted):
        if number == wrong:
            os._exit(9)
        return number

    expected = list(range(7))
    expected[wrong] = ("died", wrong)
    assert results(run) == expected


def test_a_process_that_is_interrupted_alone_loses_no_run():
    def run(group, number, interrupted):
        if number == 2 and len(group) > 1:
            os.kill(os.getpid(), signal.SIGINT)
        return number

    assert results(run) == list(range(7))


def test_no_run_of_a_group_starts_after_an_interrupt(tmp_path):
    def run(group, number, interrupted):
        (tmp_path / str(number)).touch()
        deadline = time.monotonic() + 20
        while not interrupted.is_set() and time.monotonic() < deadline:
            time.sleep(0.01)
        return number, interrupted.is_set()

    cancelled = threading.Event()

    def cancel():
        deadline = time.monotonic() + 20
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        cancelled.set()

    threading.Thread(target=cancel).start()
    assert results(run, cancelled) == [(0, True), (1, True)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]


def test_after_an_interrupt_the_runs_without_a_result_are_left_out(tmp_path):
    """Run 0 takes long; the others end meanwhile, and the command is interrupted in 6: 4 never starts."""

    def run(number, interrupted):
        (tmp_path / str(number)).touch()
        deadline = time.monotonic() + 20
        while number in (0, 6) and not interrupted.is_set() and time.monotonic() < deadline:
            time.sleep(0.01)
        return number, interrupted.is_set()

    cancelled = threading.Event()

    def cancel():
        deadline = time.monotonic() + 20
        while not (tmp_path / "6").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        cancelled.set()

    threading.Thread(target=cancel).start()
    found = list(results_of_groups(GROUPS, 2, lambda group: run, cancelled, lambda number: ("died", number)))
    assert found == [(number, (number, number in (0, 6))) for number in (0, 1, 2, 3, 5, 6)]


@pytest.mark.parametrize("wrong", range(7))
def test_results_that_are_there_outlive_the_death_of_a_process(wrong, tmp_path):
    """Each run is executed once, but those that were in progress when a process died."""

    def run(group, number, interrupted):
        (tmp_path / "order").open("a").write(f"{number} ")
        if number == wrong:
            os._exit(9)
        return number

    expected = list(range(7))
    expected[wrong] = ("died", wrong)
    assert results(run) == expected
    executed = (tmp_path / "order").read_text().split()
    assert len(executed) <= 7 + 2 * 4


def test_an_exception_ends_the_iteration_in_its_place():
    def run(group, number, interrupted):
        if number == 3:
            raise ZeroDivisionError
        return number

    with pytest.raises(ZeroDivisionError):
        results(run)
