"""Temporary folders are removed at the end, and after a kill by the next process that makes one."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from checker.run.scratch_folders import scratch_folder

_HOLDER = """
import os, sys
from checker.run.scratch_folders import scratch_folder
with scratch_folder("states") as folder:
    (folder / "rows").write_text("rows")
    if sys.argv[1] == "fork" and os.fork():
        os.kill(os.getpid(), 9)
    print(os.getpid(), folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_is_removed_at_the_end_and_after_an_error(place: Path) -> None:
    with scratch_folder("a") as one, scratch_folder("b") as other:
        assert {one, other} == set(place.iterdir()) and one.name.split("-")[-2] == "a"
    assert not list(place.iterdir())
    with pytest.raises(ZeroDivisionError), scratch_folder("a"):
        _ = 1 // 0
    assert not list(place.iterdir())


@pytest.mark.parametrize("way", ["kill", "fork"])
def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(way: str, place: Path) -> None:
    """After `fork`, the process that made the folder is dead, and its child still uses it."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-S", "-c", _HOLDER, way]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=root, text=True, **pipes) as holder:  # type: ignore[call-overload]
        number, name = holder.stdout.readline().split()
        with scratch_folder("next"):
            assert (Path(name) / "rows").read_text() == "rows"
        os.kill(int(number), signal.SIGKILL)
        assert not holder.stdout.read()
    # A process that ends may close its output before it gives up the lock.
    lock = os.open(name, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.close(lock)
    with scratch_folder("next") as own:
        assert list(place.iterdir()) == [own]


def test_the_empty_folder_of_a_process_killed_before_it_had_a_name_is_removed_an_hour_later(place: Path) -> None:
    killed = "from pathlib import Path\nPath.rename = lambda *_: os.kill(os.getpid(), 9)\n"
    command = [sys.executable, "-S", "-c", _HOLDER.replace("with scratch", killed + "with scratch", 1), "kill"]
    assert subprocess.run(command, cwd=Path(__file__).parents[2], check=False).returncode == -signal.SIGKILL
    (empty,) = place.iterdir()
    with scratch_folder("next"):
        assert empty.is_dir()
    an_hour_ago = empty.stat().st_mtime - 3601
    os.utime(empty, (an_hour_ago, an_hour_ago))
    with scratch_folder("next") as own:
        assert list(place.iterdir()) == [own]


def test_folders_of_others_stay(place: Path) -> None:
    with scratch_folder("x") as own:
        prefix = own.name.partition("-x-")[0]
    target = place / "target"
    target.mkdir()
    (place / f"{prefix}-link").symlink_to(target)
    (place / f"{prefix}-file").write_text("not a folder")
    (place / "tidemark-scratch-another-host").mkdir()
    before = set(place.iterdir())
    with scratch_folder("x"):
        pass
    assert set(place.iterdir()) == before
