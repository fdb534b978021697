"""Walks on Spark: the same whatever the partitions, whoever dies on the way."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.errors import UserError
from spark_analysis.walks import simulation
from spark_analysis.walks.simulation import simulate
from traces.walks.parts import write_part_of
from traces.walks.records import WALKS, WalkRun, missing_parts, part_path, parts
from traces.walks.walk_request import WalkRequest, run_of
from traces.walks.writing import begin

SCENARIO = "producer/plain_producer/p1_reorder_by_retry"


def contents(folder: Path, run: WalkRun) -> list[bytes]:
    return [path.read_bytes() for path in parts(folder, run)]


def small_run(walks: int = 4000, **options: object) -> WalkRun:
    return run_of(WalkRequest(SCENARIO, walks, 30, 3, **options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The parts of `small_run`, made in this process."""
    run, folder = small_run(), tmp_path_factory.mktemp("expected") / "walks"
    for number in begin(folder, run):
        write_part_of(run, folder, number)
    return contents(folder, run)


@pytest.mark.parametrize("partitions", [1, 3])
def test_any_number_of_partitions(spark, tmp_path: Path, expected: list[bytes], partitions: int) -> None:
    run = small_run()
    assert simulate(run, tmp_path / "walks", partitions=partitions, spark=spark)
    assert contents(tmp_path / "walks", run) == expected


def test_a_worker_that_dies_costs_nothing(spark, tmp_path: Path, expected: list[bytes], monkeypatch) -> None:
    """The first worker to come to part 3 kills itself as kill -9 does; Spark tries its task again."""
    marker = tmp_path / "died"
    original = simulation._write_parts

    def dies_once(run, folder, missing, batches):
        from traces.walks import parts

        write = parts.write_part_of

        def write_or_die(run, folder, number):
            if number == 3 and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            write(run, folder, number)

        parts.write_part_of = write_or_die
        try:
            yield from original(run, folder, missing, batches)
        finally:
            parts.write_part_of = write

    monkeypatch.setattr(simulation, "_write_parts", dies_once)
    run = small_run()
    assert simulate(run, tmp_path / "walks", partitions=2, spark=spark)
    assert marker.exists()
    assert contents(tmp_path / "walks", run) == expected


def test_a_run_that_is_stopped_goes_on(spark, tmp_path: Path, expected: list[bytes]) -> None:
    run, folder, cancelled = small_run(), tmp_path / "walks", threading.Event()

    def cancel_at_first_part() -> None:
        if list((folder / WALKS).glob("part-*")):
            cancelled.set()

    is_whole = simulate(run, folder, partitions=1, spark=spark, cancelled=cancelled, on_poll=cancel_at_first_part)
    # Parts are quick: the run may have ended before it was stopped, and is then cut here.
    for number in range(5, 8) if is_whole else ():
        part_path(folder, WALKS, number).unlink()
    assert missing_parts(folder, run)
    assert simulate(run, folder, spark=spark)
    assert contents(folder, run) == expected


def test_an_interrupt_while_spark_starts_is_not_lost(spark, tmp_path: Path) -> None:
    run, folder, cancelled = small_run(), tmp_path / "walks", threading.Event()
    cancelled.set()
    assert not simulate(run, folder, spark=spark, cancelled=cancelled)
    assert len(missing_parts(folder, run)) == run.parts


def test_what_an_executor_cannot_do_is_told(spark, tmp_path: Path) -> None:
    run = small_run(walks=500)
    folder = tmp_path / "walks"
    begin(folder, run)
    (folder / WALKS).rmdir()
    (folder / WALKS).write_text("a file where the folder was")
    with pytest.raises(UserError, match="cannot be written"):
        simulate(run, folder, spark=spark)
    changed = run.configurations[0].__class__(**(vars(run.configurations[0]) | {"spec_digest": "0"}))
    other = WalkRun(**(vars(run) | {"configurations": (changed,)}))
    with pytest.raises(UserError, match="is another one here than where the run began"):
        simulate(other, tmp_path / "other", spark=spark)


def test_the_command(spark, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("spark_analysis.walks.simulation.opened", lambda master: _Open(spark))
    folder = tmp_path / "walks"
    command = ["simulate", SCENARIO, "--traces", "1000", "--out", str(folder), "--json", str(tmp_path / "found.json")]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "no_reorder violated" in shown and "1,000 walks made" in shown
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["walks"] == 1000 and found["violated"]["no_reorder"] > 100 and found["unexpected"] == []
    assert main(command) == 0
    assert "nothing was left to do" in capsys.readouterr().out
    assert main([*command, "--seed", "2"]) == 2
    assert "its seed is 1, not 2" in capsys.readouterr().err
    grid = ["simulate", SCENARIO, "--traces", "600", "--sweep", "max_in_flight=1,2", "--sweep", "retries=0,1"]
    assert main([*grid, "--out", str(tmp_path / "grid")]) == 1
    shown = capsys.readouterr().out
    assert "max_in_flight  retries" in shown and "no violation" in shown
    assert main(["simulate", SCENARIO, "--out", str(tmp_path / "x"), "--master", "nonsense"]) == 2
    assert "write local[CORES]" in capsys.readouterr().err


class _Open:
    """A session that is open already and stays so."""

    def __init__(self, spark: object):
        self._spark = spark

    def __enter__(self) -> object:
        return self._spark

    def __exit__(self, *_: object) -> None:
        pass
