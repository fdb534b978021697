"""Walks made by processes of this machine: the same parts as those of one process, also after failures."""

import os
import signal
import threading
from pathlib import Path

import pytest

from checker.errors import UserError
from spark_analysis.walks import local_simulation
from spark_analysis.walks.local_simulation import write_walks
from spark_analysis.walks.records import WALKS, WalkRun, missing_parts, part_path, part_paths
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.walks.walked import request, simulated, spec_file


@pytest.fixture
def run(tmp_path) -> WalkRun:
    """Return a run with four parts for each of two configurations."""
    return run_of_request(request(spec_file(tmp_path), scenario="", walks=2000, sweep=("size=2,3",)))


@pytest.fixture
def expected(run, tmp_path) -> list[bytes]:
    return contents(simulated(tmp_path / "expected", run), run)


def contents(folder: Path, run: WalkRun) -> list[bytes]:
    return [path.read_bytes() for path in part_paths(folder, run)]


@pytest.mark.parametrize("processes", [1, 3])
def test_parts_are_the_same_for_any_number_of_processes(run, expected, tmp_path, processes):
    polled = []
    assert write_walks(run, tmp_path / "walks", processes=processes, on_poll=lambda: polled.append(1))
    assert contents(tmp_path / "walks", run) == expected
    assert len(polled) == run.parts + 1


def test_a_part_is_made_again_if_its_process_dies(run, expected, tmp_path, monkeypatch):
    marker, write = tmp_path / "died", local_simulation.write_walks_of_part

    def die_once(run: WalkRun, folder: Path, number: int) -> None:
        if number == 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        write(run, folder, number)

    monkeypatch.setattr(local_simulation, "write_walks_of_part", die_once)
    assert write_walks(run, tmp_path / "walks", processes=2)
    assert marker.exists() and contents(tmp_path / "walks", run) == expected


def test_an_interrupted_run_is_resumed(run, expected, tmp_path):
    folder, cancelled = tmp_path / "walks", threading.Event()

    def cancel_at_first_part() -> None:
        if list((folder / WALKS).glob("part-*")):
            cancelled.set()

    assert not write_walks(run, folder, processes=1, cancelled=cancelled, on_poll=cancel_at_first_part)
    assert 0 < len(missing_parts(folder, run)) < run.parts
    made = part_path(folder, WALKS, 0).stat().st_mtime_ns
    assert write_walks(run, folder, processes=1)
    assert part_path(folder, WALKS, 0).stat().st_mtime_ns == made
    assert contents(folder, run) == expected


def test_errors_of_a_process_are_reported(run, tmp_path):
    changed = run.configurations[0].__class__(**(vars(run.configurations[0]) | {"spec_digest": "0"}))
    other = WalkRun(**(vars(run) | {"configurations": (changed, changed)}))
    with pytest.raises(UserError, match="is not the version that the run started with"):
        write_walks(other, tmp_path / "other")


def test_a_part_that_cannot_be_written_is_an_error(run, tmp_path, monkeypatch):
    def full(run: WalkRun, folder: Path, number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local_simulation, "write_walks_of_part", full)
    with pytest.raises(UserError, match="cannot be written: No space left on device"):
        write_walks(run, tmp_path / "walks")
