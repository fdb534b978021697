"""`run --checkpoint` and `--resume`: killed and stopped processes, and the options."""

import json
import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import TOY

ROOT = Path(__file__).parents[2]

COUNTERS = """
from checker.language import Range, Spec, action, invariant, reachable


class Counters(Spec):
    one = Range(0, {most})
    two = Range(0, {most})
    three = Range(0, {most})
    four = Range(0, {most})
    five = Range(0, {most})

    @action
    def count_one(self):
        self.one = (self.one + 1) % ({most} + 1)

    @action
    def count_two(self):
        self.two = (self.two + 1) % ({most} + 1)

    @action
    def count_three(self):
        self.three = (self.three + self.one) % ({most} + 1)

    @action
    def count_four(self):
        self.four = (self.four + self.two + 1) % ({most} + 1)

    @action
    def count_five(self):
        self.five = (self.five + self.three + self.four) % ({most} + 1)

    @invariant
    def low(self):
        return self.one + self.two + self.three + self.four + self.five < 5 * {most}

    @invariant
    def never_equal(self):
        return self.one < {most} or self.five < {most} - 2 or self.three != 3

    @reachable
    def far(self):
        return self.five == {most} and self.one == {most} and self.two == 1
"""


def spec_file(folder: Path, most: int) -> Path:
    """Write a spec with (most + 1)**5 states; return its path."""
    path = folder / "counters.py"
    path.write_text(COUNTERS.replace("{most}", str(most)))
    return path


def start(*words: object, **options: Any) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "checker", "run", *map(str, words)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **{**pipes, **options})


def finished(*words: object, **options: Any) -> tuple[int, str]:
    """Run a command; return its status and what it printed on standard error."""
    with start(*words, **options) as process:
        _, said = process.communicate(timeout=120)
    return process.returncode, said


def result(*words: object, **options: Any) -> tuple[int, dict[str, Any], str]:
    """Run a command; return its status, its result without times, memory and workers, and standard error."""
    status, said = finished(*words, "--keep-going", "--json", "out.json", **options)
    found = json.loads((options["cwd"] / "out.json").read_text())
    for name in ("seconds", "compile_seconds", "memory_bytes", "workers"):
        del found[name]
    return status, found, said


def wait_for(path: Path, process: subprocess.Popen[str], after: int = 0) -> None:
    """Wait until a file exists that is newer than a time in nanoseconds, or a process has ended."""
    while process.poll() is None:
        try:
            if path.stat().st_mtime_ns > after:
                return
        except FileNotFoundError:
            pass
        time.sleep(0.002)


def kill_and_resume(folder: Path, most: int, kills: int, longest: float) -> None:
    """Kill a run at random moments after its first checkpoint, resume it, and compare it with an uninterrupted run."""
    path, kept, random_ = spec_file(folder, most), folder / "kept", random.Random(5)
    expected = result(path, cwd=folder)
    assert expected[0] == 1 and {found["property"] for found in expected[1]["violations"]} == {"low", "never_equal"}
    words = [path, "--keep-going", "--checkpoint", kept, "--every", "0.01s"]
    killed, tries, before = 0, 0, 0
    while killed < kills:
        tries += 1
        assert tries <= 3 * kills, "most runs end before they are killed: use a larger spec"
        with start(*words, "--workers", random_.randint(1, 2)) as process:
            wait_for(kept / "manifest.json", process, before)
            time.sleep(random_.uniform(0, longest))
            process.kill()
            process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
            before = (kept / "manifest.json").stat().st_mtime_ns
        else:
            # The run has ended. Another one starts from the beginning.
            shutil.rmtree(kept)
            before = 0
    status, found, said = result(path, "--resume", kept, "--workers", 1, cwd=folder)
    assert (status, found) == expected[:2]
    assert said.startswith(f"resuming {kept} at ")
    # The verdict is known: nothing is left to resume.
    assert "to resume this run" not in said


def test_a_killed_run_is_resumed(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, most=16, kills=1, longest=0.03)


@pytest.mark.slow
def test_a_run_is_killed_at_twenty_moments(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, most=23, kills=20, longest=0.1)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_writes_a_checkpoint_and_names_the_command(tmp_path: Path, number: signal.Signals) -> None:
    path, kept = spec_file(tmp_path, most=30), tmp_path / "kept"
    with start(path, "--checkpoint", kept, "--keep-going", "--property", "low") as process:
        wait_for(kept / "checkpoint.lock", process)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 3 and (kept / "manifest.json").exists(), said
    command = said.splitlines()[-1].removeprefix("to resume this run: ")
    assert shlex.split(command) == [
        *("python", "-m", "checker", "run", str(path), "--property", "low", "--keep-going", "--resume", str(kept))
    ]


def test_a_limit_on_files_ends_the_checkpoints_only(tmp_path: Path) -> None:
    """A file may not be larger than the limit, as on a full disk."""
    path, kept = spec_file(tmp_path, most=9), tmp_path / "kept"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    words = [path, "--property", "far", "--checkpoint", kept, "--max-states", 90_000]
    status, said = finished(*words, preexec_fn=limit)
    assert status == 3
    assert said.splitlines()[1:] == [
        f"the run continues without further checkpoints: {kept} cannot be written, File too large"
    ]
    assert sorted(found.name for found in kept.iterdir()) == ["checkpoint.lock"]


@pytest.mark.parametrize(
    "options",
    [
        ["--store", "compact", "--every", "1h"],
        ["--keep-going", "--deadlock", "--coverage"],
        ["--strict", "--set", "limit=7"],
        ["--property", "below_limit", "--property", "is_two"],
    ],
    ids=" ".join,
)
def test_the_command_that_resumes_a_run(checker: Any, tmp_path: Path, options: list[str]) -> None:
    """The printed command has every option on which the checkpoint depends."""
    stopped = checker("run", f"{TOY}/counter", *options, "--max-states", 2, "--checkpoint", tmp_path / "kept")
    assert stopped.status == 3, stopped.err
    writing, command = stopped.err.splitlines()
    assert writing == f"writing a checkpoint at 2 states, level 2 to {tmp_path / 'kept'}"
    words = shlex.split(command.removeprefix("to resume this run: "))
    outcome = checker(*words[3:])
    assert outcome.status in (0, 1) and outcome.err.startswith(f"resuming {tmp_path / 'kept'} at 2 states")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--every", "10m"], "--every needs --checkpoint DIR or --resume DIR"),
        (["--checkpoint", "new", "--every", "10"], "--every 10: write a number and a unit, as in 30s, 10m or 2h"),
        (["--checkpoint", "new", "--every", "0s"], "--every 0s: the time must be above 0"),
        (["--checkpoint", "new", "--resume", "new"], "omit --checkpoint"),
        (["--resume", "new"], "new holds no checkpoint: start the run with --checkpoint new"),
        (["--checkpoint", "new", "--engine", "python"], "--checkpoint needs --engine native or spark"),
        (["--resume", "new", "--engine", "both"], "--resume needs --engine native or spark"),
        (["--resume", "new", "--engine", "spark"], "new holds no checkpoint of --engine spark"),
        (["--checkpoint", "new", "--engine", "spark", "--every", "1h"], "--every needs --engine native"),
        (["--checkpoint", "new", "--out", "new"], "--out and --checkpoint name the same file"),
    ],
)
def test_conflicting_options(checker: Any, monkeypatch: Any, tmp_path: Path, options: list[str], said: str) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = checker("run", f"{TOY}/counter", *options)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert said in outcome.err
    assert not list(tmp_path.rglob("*.bin")) and not (tmp_path / "new").exists()


def test_a_checkpoint_needs_a_single_run(checker: Any, tmp_path: Path) -> None:
    outcome = checker("run", TOY, "--checkpoint", tmp_path / "new")
    assert outcome.status == 2 and "--checkpoint keeps one exploration, but there are" in outcome.err
    assert not (tmp_path / "new").exists()
