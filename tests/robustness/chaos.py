"""Runs that are killed, interrupted or starved at random moments, and what they must leave behind.

    python tests/robustness/chaos.py --runs 200 --seed 1

Each run starts a command in a session of its own, ends it in some way after a random time, and then checks:

- the exit status is that of an interrupted or wrong run, of a signal, or of the right result: never a false verdict;
- every report is absent, unchanged, or whole; a run that a whole report does not decide has an error in it;
- no process of the session is left, and no temporary file; after SIGKILL temporary files may stay.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent.parent

SPEC = """
from checker.language import Range, Scenario, Spec, action, invariant

class Grid(Spec):
    '''Two numbers. No machine explores all states before a run is ended.'''

    one = Range(0, 30_000)
    two = Range(0, 30_000)

    @action
    def right(self):
        self.one = (self.one + 1) % 30_000

    @action
    def up(self):
        self.two = (self.two + 1) % 30_000

    @invariant
    def fine(self):
        return self.one <= 30_000

    @invariant
    def small(self):
        return self.two < 5


scenarios = [
    Scenario(Grid, "first", properties=["small"], expect={"small": None}),
    Scenario(Grid, "second", properties=["fine"]),
    Scenario(Grid, "third", properties=["small"], expect={"small": None}),
    Scenario(Grid, "fourth", properties=["fine"]),
]
"""

NAMES = [f"grid/grid/{name}" for name in ("first", "second", "third", "fourth")]

OLD = "an older report\n"


@dataclass(frozen=True)
class Way:
    """A way in which a run ends: a signal, a limit of the process, or a place with a limit.

    `is_for_group`: all processes of the session get the signal, as after Ctrl-C in a terminal. `place` makes the place
    for the folder of a run, and yields what the process does to enter it. A place needs the rights of root.
    """

    name: str
    signal: signal.Signals | None = None
    is_for_group: bool = False
    limit: Callable[[], None] | None = None
    place: Callable[[Path], AbstractContextManager[Callable[[], None]]] | None = None

    @property
    def may_leave_files(self) -> bool:
        """Whether the process has no chance to remove its temporary files."""
        return self.signal is signal.SIGKILL or self.place is _control_group


def can_make_places() -> bool:
    """Return whether this process may make a control group with a limit of memory, and mount a file system."""
    if os.geteuid() != 0 or not os.access(MEMORY_GROUPS, os.W_OK):
        return False
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        mounted = subprocess.run([*_MOUNT, "size=16k", "tmpfs", folder], capture_output=True, check=False)
        return mounted.returncode == 0 and subprocess.run(["umount", folder], check=False).returncode == 0


@contextmanager
def _control_group(folder: Path) -> Iterator[Callable[[], None]]:
    """Make a control group with 100 MB of memory; version 1, because version 2 needs a delegated subtree."""
    group = MEMORY_GROUPS / f"tidemark-{folder.name}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(100 << 20))
    try:
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid())) and None
    finally:
        group.rmdir()


@contextmanager
def _full_file_system(folder: Path) -> Iterator[Callable[[], None]]:
    """Mount a file system for the reports that has room for the old ones only."""
    subprocess.run([*_MOUNT, "size=12k", "tmpfs", folder / "out"], check=True)
    try:
        yield lambda: None
    finally:
        subprocess.run(["umount", folder / "out"], check=True)


MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")
_MOUNT = ["mount", "-t", "tmpfs", "-o"]


def _limited(which: int, size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(which, (size, size))


WAYS = [
    Way("SIGKILL", signal.SIGKILL),
    Way("SIGTERM", signal.SIGTERM),
    Way("SIGINT", signal.SIGINT),
    Way("SIGHUP", signal.SIGHUP),
    Way("little memory", limit=_limited(resource.RLIMIT_AS, 700 << 20)),
    Way("a full disk", limit=_limited(resource.RLIMIT_FSIZE, 100)),
    Way("few files", limit=_limited(resource.RLIMIT_NOFILE, 14)),
    Way("SIGTERM to all", signal.SIGTERM, is_for_group=True),
    Way("SIGINT to all", signal.SIGINT, is_for_group=True),
    Way("a small control group", place=_control_group),
    Way("a full file system", place=_full_file_system),
]


@dataclass
class ChaosRun:
    """One run: what is executed, how it ends, and the sentences about what is wrong."""

    number: int
    folder: Path
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)
        self.way = self.random.choice(WAYS)
        self.engine = self.random.choice(["native", "native", "python"])
        self.workers = self.random.choice([1, 2, 3])
        self.seconds = self.random.choice([0.1, 0.3, 0.5, 0.8, 1.2, 2.0]) * self.random.uniform(0.5, 1.5)
        self.reports = {name: self.folder / "out" / f"report.{name}" for name in ("json", "junit", "sarif")}
        self.temporary = self.folder / "tmp"

    def __str__(self) -> str:
        return f"run {self.number}: {self.way.name} after {self.seconds:.2f} s, {self.engine}, {self.workers} workers"

    def execute(self) -> list[str]:
        """Execute the run and return what is wrong."""
        for folder in (self.temporary, self.folder / "out"):
            folder.mkdir(parents=True)
        (self.folder / "grid.py").write_text(SPEC)
        if self.way.place is None:
            self._execute(lambda: None)
        else:
            with self.way.place(self.folder) as enter:
                self._execute(enter)
        return self.wrong

    def _execute(self, enter: Callable[[], None]) -> None:
        for report in self.reports.values():
            report.write_text(OLD)
        words = ["run", self.folder / "grid.py", "--engine", self.engine, "--workers", self.workers]
        # With a limit, the run ends by itself; a small control group needs a longer one.
        if self.way.signal is None:
            words += ["--max-depth", 4000 if self.way.place is _control_group else 60]
        words += [word for name, path in self.reports.items() for word in (f"--{name}", path)]
        with (self.folder / "out.txt").open("w") as out, (self.folder / "err.txt").open("w") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "checker", *map(str, words)],
                env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary), "HOME": str(self.temporary)},
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=lambda: self._begin(enter),
                cwd=self.folder,
            )
            self._end(process)
        self._check(process.returncode, (self.folder / "err.txt").read_text(errors="replace"))

    def _begin(self, enter: Callable[[], None]) -> None:
        """Prepare the process: a job in the background ignores signals, which it would inherit."""
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if self.way.limit is not None:
            self.way.limit()
        enter()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if self.way.signal is not None:
            time.sleep(self.seconds)
            if self.way.is_for_group:
                os.killpg(process.pid, self.way.signal)
            else:
                process.send_signal(self.way.signal)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            self.wrong.append("it does not end")
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _check(self, status: int, err: str) -> None:
        # A process that gets a signal before Python has a handler ends by it.
        expected = {3} if self.way.signal is None else {3, -self.way.signal}
        if self.way.signal is None:
            # A limit is input of the user; what fits ends with the limit on depth, and 1 stands for `small`.
            expected = {2, 3}
        if self.way.place is _control_group:
            # The kernel may choose the process itself.
            expected.add(-signal.SIGKILL)
        # Python itself ends with 1 if it is interrupted before the program begins.
        is_before = status == 1 and self.way.signal is signal.SIGINT and self._is_early(err)
        if status not in expected and not is_before:
            self.wrong.append(f"exit status {status}")
        if "Traceback" in err and not self._is_early(err):
            self.wrong.append(f"a traceback:\n{err}")
        for name, path in self.reports.items():
            self._check_report(name, path)
        self._check_processes()
        self._check_files()

    def _is_early(self, err: str) -> bool:
        """Return whether the interpreter itself was interrupted, before the program began."""
        return "checker/" not in err.replace("checker/__main__.py", "").replace("checker/__init__.py", "")

    def _check_report(self, name: str, path: Path) -> None:
        try:
            text = path.read_text()
        except OSError as error:
            self.wrong.append(f"{name}: {error}")
            return
        if text == OLD:
            return
        try:
            named = _READERS[name](text)
        except (ValueError, KeyError, ElementTree.ParseError) as error:
            self.wrong.append(f"{name} is not whole: {error}")
            return
        missing = [run for run in NAMES if run not in named]
        if missing:
            self.wrong.append(f"{name} lacks {missing}")
        false = [run for run, verdict in named.items() if verdict not in _true_verdicts(run)]
        if false:
            self.wrong.append(f"{name} is false about {false}")

    def _check_processes(self) -> None:
        deadline = time.monotonic() + 5
        while (left := _processes_with(str(self.temporary))) and time.monotonic() < deadline:
            time.sleep(0.05)
        for process in left:
            self.wrong.append(f"process {process} is left")
            os.kill(process, signal.SIGKILL)

    def _check_files(self) -> None:
        beside = [path.name for path in (self.folder / "out").iterdir() if path not in self.reports.values()]
        left = [] if self.way.may_leave_files else _left_in(self.temporary)
        if (beside and not self.way.may_leave_files) or left:
            self.wrong.append(f"files are left: {beside + left}")


def _left_in(folder: Path) -> list[str]:
    """Return the files of a folder, without the caches of the user's home folder and reports of internal errors."""
    return [str(path.relative_to(folder)) for path in folder.iterdir() if path.name != ".cache"]


def _processes_with(text: str) -> list[int]:
    """Return the processes that have a text in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except (OSError, ValueError):
            continue
    return found


def _json_verdicts(text: str) -> dict[str, str]:
    lines = [json.loads(line) for line in text.splitlines()]
    return {f"{line['spec']}/{line['scenario']}": line.get("verdict", "error") for line in lines}


def _junit_verdicts(text: str) -> dict[str, str]:
    found = {}
    for suite in ElementTree.fromstring(text):
        if suite.get("errors") != "0":
            found[suite.get("name", "")] = "error"
        else:
            is_open = any(case.find("skipped") is not None for case in suite)
            found[suite.get("name", "")] = "incomplete" if is_open else "as expected"
    return found


def _sarif_verdicts(text: str) -> dict[str, str]:
    run = json.loads(text)["runs"][0]
    succeeded = run["invocations"][0]["executionSuccessful"]
    # SARIF lists violations only; a run that is not decided makes the invocation unsuccessful.
    return dict.fromkeys(NAMES, "as expected" if succeeded else "error")


_READERS: dict[str, Callable[[str], dict[str, str]]] = {
    "json": _json_verdicts,
    "junit": _junit_verdicts,
    "sarif": _sarif_verdicts,
}


def _true_verdicts(run: str) -> set[str]:
    """Return what a report may say: that a run failed or is incomplete, and of two runs that they found a violation."""
    found = {"error", "incomplete"}
    return found | ({"violated", "as expected"} if run.endswith(("first", "third")) else set())


def main() -> int:
    """Execute runs and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    wrong, ways = 0, dict.fromkeys((way.name for way in WAYS), 0)
    has_places = can_make_places()
    for number in range(given.seed * 100_000, given.seed * 100_000 + given.runs):
        folder = Path(tempfile.mkdtemp(prefix="chaos-"))
        run = ChaosRun(number, folder)
        if run.way.place is not None and not has_places:
            continue
        ways[run.way.name] += 1
        if found := run.execute():
            wrong += 1
            print(run, *found, sep="\n  ", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    if not has_places:
        print("not run, for lack of rights: those in a control group or a full file system")
    print(f"{sum(ways.values())} runs, {wrong} wrong; {', '.join(f'{name}: {count}' for name, count in ways.items())}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
