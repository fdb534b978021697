"""Random walks on Spark give the same parts for every number of partitions and after failures."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.errors import UserError
from spark_analysis.walks import simulation
from spark_analysis.walks.parts import write_walks_of_part
from spark_analysis.walks.records import WALKS, WalkRun, missing_parts, part_path, part_paths
from spark_analysis.walks.simulation import simulate
from spark_analysis.walks.walk_request import WalkRequest, run_of_request
from spark_analysis.walks.writing import open_run_folder

SCENARIO = "producer/plain_producer/p1_reorder_by_retry"


def contents(folder: Path, run: WalkRun) -> list[bytes]:
    return [path.read_bytes() for path in part_paths(folder, run)]


def small_run(walks: int = 4000, **options: object) -> WalkRun:
    return run_of_request(WalkRequest(SCENARIO, walks, 30, 3, **options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Return the parts of `small_run`, written by this process."""
    run, folder = small_run(), tmp_path_factory.mktemp("expected") / "walks"
    for number in open_run_folder(folder, run):
        write_walks_of_part(run, folder, number)
    return contents(folder, run)


@pytest.mark.parametrize("partitions", [1, 3])
def test_parts_are_the_same_for_any_number_of_partitions(
    spark, tmp_path: Path, expected: list[bytes], partitions: int
) -> None:
    run = small_run()
    assert simulate(run, tmp_path / "walks", partitions=partitions, spark=spark)
    assert contents(tmp_path / "walks", run) == expected


def test_run_survives_a_killed_worker(spark, tmp_path: Path, expected: list[bytes], monkeypatch) -> None:
    """The first worker that reaches part 3 kills itself with SIGKILL; Spark tries its task again."""
    marker = tmp_path / "died"
    original = simulation._write_parts

    def dies_once(run, folder, missing, batches):
        from spark_analysis.walks import parts

        write = parts.write_walks_of_part

        def write_or_die(run, folder, number):
            if number == 3 and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            write(run, folder, number)

        parts.write_walks_of_part = write_or_die
        try:
            yield from original(run, folder, missing, batches)
        finally:
            parts.write_walks_of_part = write

    monkeypatch.setattr(simulation, "_write_parts", dies_once)
    run = small_run()
    assert simulate(run, tmp_path / "walks", partitions=2, spark=spark)
    assert marker.exists()
    assert contents(tmp_path / "walks", run) == expected


def test_interrupted_run_is_resumed(spark, tmp_path: Path, expected: list[bytes]) -> None:
    run, folder, cancelled = small_run(), tmp_path / "walks", threading.Event()

    def cancel_at_first_part() -> None:
        if list((folder / WALKS).glob("part-*")):
            cancelled.set()

    is_whole = simulate(run, folder, partitions=1, spark=spark, cancelled=cancelled, on_poll=cancel_at_first_part)
    # The run may end before the cancellation takes effect. Then parts are removed here.
    for number in range(5, 8) if is_whole else ():
        part_path(folder, WALKS, number).unlink()
    assert missing_parts(folder, run)
    assert simulate(run, folder, spark=spark)
    assert contents(folder, run) == expected


def test_interrupt_during_the_start_of_spark_is_kept(spark, tmp_path: Path) -> None:
    run, folder, cancelled = small_run(), tmp_path / "walks", threading.Event()
    cancelled.set()
    assert not simulate(run, folder, spark=spark, cancelled=cancelled)
    assert len(missing_parts(folder, run)) == run.parts


def test_errors_of_an_executor_are_reported(spark, tmp_path: Path) -> None:
    run = small_run(walks=500)
    folder = tmp_path / "walks"
    open_run_folder(folder, run)
    (folder / WALKS).rmdir()
    (folder / WALKS).write_text("a file where the folder was")
    with pytest.raises(UserError, match="cannot be written"):
        simulate(run, folder, spark=spark)
    changed = run.configurations[0].__class__(**(vars(run.configurations[0]) | {"spec_digest": "0"}))
    other = WalkRun(**(vars(run) | {"configurations": (changed,)}))
    with pytest.raises(UserError, match="is not the version that the run started with"):
        simulate(other, tmp_path / "other", spark=spark)


def test_simulate_command(spark, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("spark_analysis.walks.simulation.opened", lambda master: _Open(spark))
    folder = tmp_path / "walks"
    command = ["simulate", SCENARIO, "--traces", "1000", "--out", str(folder)]
    assert main([*command, "--json", str(tmp_path / "found.json")]) == 0
    shown = capsys.readouterr().out
    assert "no_reorder violated" in shown and "1,000 walks made" in shown
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["walks"] == 1000 and found["violated"]["no_reorder"] > 100 and found["unexpected"] == []
    assert main(command) == 0
    assert "all walks were made before" in capsys.readouterr().out
    assert main([*command, "--seed", "2"]) == 2
    assert "its seed is 1, not 2" in capsys.readouterr().err
    assert main(["simulate", SCENARIO, "--out", str(tmp_path / "x"), "--master", "nonsense"]) == 2
    assert "write local[CORES]" in capsys.readouterr().err


def test_simulate_command_sweeps_constants(spark, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("spark_analysis.walks.simulation.opened", lambda master: _Open(spark))
    grid = ["simulate", SCENARIO, "--traces", "400", "--sweep", "max_in_flight=1,2", "--sweep", "retries=1"]
    assert main([*grid, "--out", str(tmp_path / "grid")]) == 1
    shown = capsys.readouterr().out
    assert "max_in_flight  retries" in shown and "no violation" in shown


class _Open:
    """A context manager for an open session, which does not close it."""

    def __init__(self, spark: object):
        self._spark = spark

    def __enter__(self) -> object:
        return self._spark

    def __exit__(self, *_: object) -> None:
        pass
