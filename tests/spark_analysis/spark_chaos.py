"""Commands of which the driver, an executor or a Python worker is killed at random moments, with SIGKILL.

    python -m tests.spark_analysis.spark_chaos --kills 3 --seed 1

Each command first runs undisturbed. After a kill of its driver, the same command runs again. Each run must end with the
same exit status, the same files with the same bytes, and no file in the folder for temporary files. The figures of time
and memory in the reports may differ.
"""

import argparse
import functools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.standalone_cluster import standalone_cluster
from tests.cli.test_validate import BAD, GOOD, MAPPING, RETRY

ROOT = Path(__file__).parents[2]
SCENARIO = "producer/plain_producer/p1_reorder_by_retry"
MOST_SECONDS = 600

# Executors process all levels with more candidates than this, so that a small exploration has many jobs.
_COMMAND = """
import sys
from spark_analysis.explore import jobs
jobs.CANDIDATES_BEFORE_SPARK = jobs.CANDIDATES_BEFORE_JOB = int(sys.argv.pop(1))
from checker.cli.app import main
sys.exit(main(sys.argv[1:]))
"""
_ALL_LEVELS, _NO_LEVEL = 0, 1 << 40

_TIMES = re.compile(rb'("(?:seconds|states_per_second|memory_bytes|peak_bytes|\w+_seconds)": )[0-9.e+-]+')
_RUN_FILE = re.compile(r"(\d{5}-\d{5}(?:-\d{3})?)-[0-9a-f]{8}")
"""A file of a checkpoint, of which the name ends with a text that each driver draws."""

_SHOWN_SECONDS = re.compile(rb"[0-9.,]+(?:&nbsp;| )?(?:s|ms|min)\b")


@dataclass(frozen=True)
class ChaosCommand:
    """A command; `words` gives its arguments for the folder of the inputs and that of the outputs."""

    name: str
    words: Callable[[Path, Path], list[str]]
    candidates_before_spark: int = _NO_LEVEL


def commands(scale: int, master: str | None) -> list[ChaosCommand]:
    """Return the commands, which work on `scale` thousand walks and logs."""
    place = ["--master", master] if master is not None else []
    on_spark = place or ["--master", "local[2]"]

    def simulate(inputs: Path, out: Path) -> list[str]:
        options = ["--traces", str(scale * 1000), "--depth", "30", "--steps", "--out", str(out / "walks")]
        return ["simulate", SCENARIO, *options, "--json", str(out / "found.json"), *place]

    def report(inputs: Path, out: Path) -> list[str]:
        return ["report", str(inputs / "walks"), "--out", str(out), *place]

    def validate(inputs: Path, out: Path) -> list[str]:
        options = ["--mapping", str(inputs / "mapping.py"), "--by", "run", "--out", str(out)]
        return ["validate", RETRY, str(inputs / "logs.jsonl"), *options, "--json", str(out / "rows.jsonl"), *on_spark]

    def explore(inputs: Path, out: Path) -> list[str]:
        options = ["--checkpoint", str(out / "states"), "--json", str(out / "result.json"), "--out", str(out)]
        return ["run", "replication/kip101/fast_elections", "--engine", "spark", *options, *place]

    return [
        ChaosCommand("simulate", simulate),
        ChaosCommand("report", report),
        ChaosCommand("validate", validate),
        ChaosCommand("run --engine spark", explore, _NO_LEVEL if master is None else _ALL_LEVELS),
    ]


def write_inputs(folder: Path, scale: int) -> None:
    """Write the walks, the mapping and the logs that the commands read."""
    (folder / "mapping.py").write_text(MAPPING)
    with (folder / "logs.jsonl").open("w") as logs:
        for number in range(scale * 1000):
            for event in BAD if number % 7 == 0 else GOOD:
                logs.write(json.dumps(event | {"run": f"trace-{number:06}"}) + "\n")
    walks = ["--traces", str(scale * 1000), "--depth", "30", "--steps", "--out", str(folder / "walks")]
    subprocess.run(
        [sys.executable, "-m", "checker", "simulate", SCENARIO, *walks], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )


class ChaosBench:
    """The undisturbed run of a command, and its runs with kills.

    `executors` returns the processes of the executors of a cluster that are not descendants of the command.
    """

    def __init__(self, command: ChaosCommand, inputs: Path, folder: Path, executors: Callable[[], list[int]]):
        self._command, self._inputs, self._folder, self._executors = command, inputs, folder, executors
        self._outputs = 0
        out, temporary = self._new_folder()
        started = time.monotonic()
        self._status = self._finish(self._start(out, temporary))
        self.seconds = time.monotonic() - started
        self._expected = contents(out)
        assert self._status in (0, 1) and self._expected, self._command.name

    def kill(self, victim: str, moment: float) -> tuple[list[str], bool]:
        """Kill once; return what is wrong in the end, and whether the victim was killed before the end.

        `moment` is a fraction of the undisturbed time for a driver, and else of a third of it, from the victim's start.
        """
        out, temporary = self._new_folder()
        process = self._start(out, temporary)
        is_killed = self._kill_driver(process, moment) if victim == "driver" else self._kill(victim, process, moment)
        status = self._finish(process)
        if victim == "driver" and is_killed:
            status = self._finish(self._start(out, temporary))
        wrong = [f"exit status {status}, not {self._status}"] if status != self._status else []
        found = contents(out)
        for name in sorted(found.keys() | self._expected.keys()):
            if name not in found or name not in self._expected:
                wrong.append(f"{name} is {'missing' if name not in found else 'left behind'}")
            elif found[name] != self._expected[name]:
                wrong.append(f"{name} differs")
        left = [path.name for path in temporary.iterdir() if not path.name.startswith(("tidemark-error", "hsperf"))]
        return wrong + [f"{name} is left in the folder for temporary files" for name in left], is_killed

    def _new_folder(self) -> tuple[Path, Path]:
        """Return empty folders for outputs and for temporary files.

        The outputs of each run have the same path, which some files contain.
        """
        self._outputs += 1
        out = self._folder / "out"
        if out.exists():
            out.rename(self._folder / f"out-{self._outputs}")
        temporary = self._folder / f"temporary-{self._outputs}"
        out.mkdir()
        temporary.mkdir()
        return out, temporary

    def _start(self, out: Path, temporary: Path) -> subprocess.Popen[bytes]:
        words = [str(self._command.candidates_before_spark), *self._command.words(self._inputs, out)]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"TMPDIR": str(temporary), "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
        with (self._folder / "log").open("wb") as log:
            return subprocess.Popen([sys.executable, "-c", _COMMAND, *words], env=environment, stdout=log, stderr=log)

    @staticmethod
    def _finish(process: subprocess.Popen[bytes]) -> int:
        try:
            return process.wait(MOST_SECONDS)
        finally:
            process.kill()

    def _kill_driver(self, process: subprocess.Popen[bytes], moment: float) -> bool:
        try:
            process.wait(self.seconds * moment)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
        return False

    def _kill(self, victim: str, process: subprocess.Popen[bytes], moment: float) -> bool:
        """Kill an executor or a Python worker of it."""
        find = functools.partial(_workers, process.pid) if victim == "worker" else self._executors
        while process.poll() is None:
            if find():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(self.seconds / 3 * moment)
                for victim_process in sorted(find())[:1]:
                    with suppress(ProcessLookupError):
                        os.kill(victim_process, signal.SIGKILL)
                        return process.poll() is None
                continue
            time.sleep(0.02)
        return False


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below a folder, without the figures of time and memory and drawn names."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            found[_RUN_FILE.sub(r"\1", str(path.relative_to(folder)))] = _comparable(path)
    return found


def _comparable(path: Path) -> bytes:
    if path.name == "exploration.json":
        # Its digest covers the figures of time.
        text = json.dumps({key: value for key, value in json.loads(path.read_bytes()).items() if key != "digest"})
        return _TIMES.sub(rb"\1-", _RUN_FILE.sub(r"\1", text).encode())
    # The bytes of data sets are compared as they are.
    content = path.read_bytes()
    if path.suffix in (".json", ".jsonl", ".html"):
        content = _TIMES.sub(rb"\1-", content)
    return _SHOWN_SECONDS.sub(b"-", content) if path.suffix == ".html" else content


def children_of(process: int) -> list[int]:
    """Return the processes that a process started."""
    found: list[int] = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in file.read_text().split()]
    return found


def _workers(root: int) -> list[int]:
    """Return the Python workers among the descendants of a process: those that a daemon of PySpark forked."""
    found, workers = [(root, False)], []
    for process, is_daemon in found:
        for child in children_of(process):
            with suppress(OSError):
                is_of_pyspark = b"pyspark.daemon" in Path(f"/proc/{child}/cmdline").read_bytes()
                found.append((child, is_of_pyspark))
                if is_of_pyspark and is_daemon:
                    workers.append(child)
    return workers


@contextmanager
def place_of(name: str, folder: Path) -> Iterator[tuple[str | None, Callable[[], list[int]]]]:
    """Yield the master of a place, and a function that returns the processes of its executors."""
    if name != "cluster":
        yield (None if name == "in process" else name), list
        return
    with standalone_cluster(folder) as cluster:
        yield cluster.url, lambda: [child for worker in cluster.workers for child in children_of(worker.pid)]


VICTIMS = {"in process": ("driver",), "local[2]": ("driver", "worker"), "cluster": ("driver", "executor")}


def chaos(folder: Path, places: Sequence[str], names: Sequence[str], *, kills: int, seed: int, scale: int) -> list[str]:
    """Kill each kind of victim of each command in each place; print a line for each, and return what was wrong."""
    moments, wrong = random.Random(seed), []
    inputs = folder / "inputs"
    inputs.mkdir()
    write_inputs(inputs, scale)
    for place in places:
        own = folder / re.sub(r"\W", "-", place)
        own.mkdir()
        with place_of(place, own) as (master, executors):
            for number, command in enumerate(commands(scale, master)):
                if names and command.name.split()[0] not in names:
                    continue
                where = own / str(number)
                where.mkdir()
                bench = ChaosBench(command, inputs, where, executors)
                for victim in VICTIMS[place]:
                    for _ in range(kills):
                        wrong += _case(bench, f"{place}, {command.name}, {victim}", victim, moments.uniform(0.05, 0.95))
    return wrong


def _case(bench: ChaosBench, name: str, victim: str, moment: float) -> list[str]:
    """Kill a victim; a run that ends before is repeated with an earlier moment."""
    for _ in range(6):
        started = time.monotonic()
        wrong, is_killed = bench.kill(victim, moment)
        if is_killed or wrong:
            break
        moment /= 2
    else:
        wrong = ["no run was killed before its end"]
    result = "; ".join(wrong) or "the same bytes"
    print(f"{name} at {moment:.2f} of {bench.seconds:.1f} s: {result} ({time.monotonic() - started:.1f} s)", flush=True)
    return [f"{name}: {reason}" for reason in wrong]


def main(arguments: Sequence[str] | None = None) -> Any:
    """Run the cases; return 1 if one went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=3, help="kills of each victim of each command in each place")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments")
    parser.add_argument("--scale", type=int, default=30, help="thousands of walks and of logs")
    parser.add_argument("--place", action="append", choices=[*VICTIMS], help="may be repeated; default: all")
    parser.add_argument("--command", action="append", help="such as `simulate`; may be repeated; default: all")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="spark-chaos-") as name:
        options = {"kills": given.kills, "seed": given.seed, "scale": given.scale}
        wrong = chaos(Path(name), given.place or [*VICTIMS], given.command or (), **options)
    print("\n".join(wrong) or "every run ended with the same bytes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
