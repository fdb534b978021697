"""Runs of the nearest tests for `code_mutants`: a private copy of the tree, a map from lines to tests, forked runs."""

import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent

PRELOADED = (
    "pytest",
    "hypothesis",
    "numpy",
    "llvmlite.binding",
    "z3",
    "cvc5",
    "click",
    "rich.console",
    "jinja2",
    "yaml",
)
"""What a forked run need not import again. No module of the project is among them."""

LEAST_SHARE = 6
"""A run that computes is given up after so many times its processor time, and a minute."""

_PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "mutant_plugin", "--hypothesis-seed=0")


@dataclass(frozen=True)
class MappedTest:
    """A test that passes on the tree as it is, with its seconds; `name` is its node id."""

    name: str
    seconds: float


class LineMap:
    """Which tests execute a line: by the path of the file within the tree, and the number of the line."""

    def __init__(self, tests: dict[str, dict], lines: dict[str, dict[str, list[str]]]):
        self.tests = {name: MappedTest(name, test["seconds"]) for name, test in tests.items() if test["passed"]}
        self._lines = lines
        self._of_file: dict[str, list[str]] = defaultdict(list)
        for name in self.tests:
            self._of_file[name.split("::")[0]].append(name)

    def tests_of(self, path: str, numbers: Iterable[int], function: Sequence[int] = ()) -> list[MappedTest]:
        """Return the tests that execute one of the lines, and then those that execute any line of their function.

        In both groups, the file with the name of the module comes first, then the fastest tests; the tests of a file
        are together.

        What a fixture executes counts for every test of the file: other tests may share the fixture's value. So does
        what runs once, when a module is imported or for the first test that fills a cache: it counts for every test
        that executes any line of the file. And so does a line that no test executes: `coverage` does not see lines that
        run under another tracer, and not the rest of a function that called one.
        """
        own = self._names_at(path, numbers)
        others = self._names_at(path, function) - own if function else set()
        return [*self._in_order(path, own), *self._in_order(path, others)]

    def _names_at(self, path: str, numbers: Iterable[int]) -> set[str]:
        by_line = self._lines.get(path, {})
        contexts = {context for number in numbers for context in by_line.get(str(number), ())}
        if len(contexts - {""}) <= 1:
            contexts = {context for named in by_line.values() for context in named}
        names: set[str] = set()
        for context in contexts - {""}:
            name, _, phase = context.rpartition(" ")
            names.update(self._of_file[name.split("::")[0]] if phase == "(setup)" else [name])
        return names & self.tests.keys()

    def _in_order(self, path: str, names: set[str]) -> list[MappedTest]:
        files: dict[str, list[MappedTest]] = defaultdict(list)
        for name in sorted(names):
            files[name.split("::")[0]].append(self.tests[name])
        groups = [sorted(group, key=lambda test: test.seconds) for group in files.values()]
        nearest = f"test_{Path(path).stem}.py"
        groups.sort(key=lambda group: (nearest not in group[0].name, group[0].seconds))
        return [test for group in groups for test in group]


class PrivateTree:
    """A copy of the tree below `work`, which the runs use and change; the user's tree stays as it is."""

    def __init__(self, work: Path):
        self.work, self.root = work, work / "tree"
        self.work.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.root, ignore_errors=True)
        listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0"):
            if name and (ROOT / name).is_file():
                target = self.root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target)
        # Some tests ask git what belongs to the project.
        subprocess.run(("git", "init", "-q"), cwd=self.root, check=True)
        subprocess.run(("git", "add", "-A"), cwd=self.root, check=True)
        (self.root / "sitecustomize.py").write_text(
            "import os\nif 'MUTANT_MAP' in os.environ:\n    import mutant_plugin\n"
        )
        self._changes = 0

    def environment(self, caches: Path) -> dict[str, str]:
        """Return the environment of a run: packages from the copy, and caches that no other run reads."""
        return os.environ | {
            "PYTHONPATH": os.pathsep.join((str(self.root), str(BENCH))),
            "TIDEMARK_CODE_CACHE": str(caches / "code"),
            "XDG_CACHE_HOME": str(caches),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(caches / "hypothesis"),
            "OPENBLAS_NUM_THREADS": "1",
        }

    def write(self, path: str, text: str) -> None:
        """Replace a file of the copy, with a time at which no other version of it was written."""
        self._changes += 1
        file = self.root / path
        file.write_text(text)
        moment = int(time.time()) + self._changes
        os.utime(file, (moment, moment))

    def line_map(self, name: str, sources: Sequence[str], tests: Sequence[str], is_slow: bool = False) -> LineMap:
        """Run the tests once and return their map; a map of the same sources and tests is read again."""
        folder = self.work / "maps" / name
        digest = self._digest([*sources, *tests])
        kept = folder / f"map-{digest}{'-slow' * is_slow}.json"
        if not kept.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self._collect(folder, sources, tests, is_slow)
            kept.write_text(json.dumps([json.loads((folder / "tests.json").read_text()), self._lines(folder)]))
        return LineMap(*json.loads(kept.read_text()))

    def _digest(self, folders: Sequence[str]) -> str:
        digest = hashlib.sha256()
        for folder in folders:
            top = self.root / folder
            for file in sorted(top.rglob("*.py")) if top.is_dir() else [top]:
                digest.update(str(file.relative_to(self.root)).encode() + file.read_bytes())
        return digest.hexdigest()[:16]

    def _collect(self, folder: Path, sources: Sequence[str], tests: Sequence[str], is_slow: bool) -> None:
        environment = self.environment(self.work / "caches") | {
            "MUTANT_MAP": str(folder),
            "MUTANT_SOURCES": os.pathsep.join(str(self.root / source) for source in sources),
        }
        options = [option for option in _PYTEST if option != "-x"]
        marked = ["-m", ""] if is_slow else []
        command = [sys.executable, "-m", "pytest", *options, *marked, *tests]
        with (folder / "output.txt").open("w") as output:
            subprocess.run(command, cwd=self.root, env=environment, stdout=output, stderr=output, check=False)

    def _lines(self, folder: Path) -> dict[str, dict[str, list[str]]]:
        import coverage

        data = coverage.CoverageData(str(folder / "lines"))
        for part in sorted(folder.glob("lines.*")):
            one = coverage.CoverageData(str(part))
            one.read()
            data.update(one)
        return {
            str(Path(file).relative_to(self.root)): {
                str(number): sorted(context.removeprefix("|") for context in contexts)
                for number, contexts in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }


class ForkServer:
    """A process that has imported pytest and forks for each run, so that a run need not start Python."""

    def __init__(self, tree: PrivateTree):
        self._tree = tree
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            cwd=tree.root,
            env=tree.environment(tree.work / "unused"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.stdin.close()
        self._process.wait()

    def outcome(self, tests: Sequence[str], limit: float, is_cache_empty: bool) -> str:
        """Return how a run of the tests ended: `passed`, `failed`, `out of time`, `waiting`, or `nothing ran`.

        `limit` is processor time in seconds, of each process: what other programs use does not count. `waiting`: the
        run was given up before. It waited for something, or had too small a part of a processor.
        """
        caches = self._tree.work / "run"
        shutil.rmtree(caches, ignore_errors=True)
        caches.mkdir()
        warm = self._tree.work / "caches" / "code"
        if warm.exists() and not is_cache_empty:
            # Entries are named by a digest of what they depend on, and are renamed into their place.
            shutil.copytree(warm, caches / "code", copy_function=os.link)
        listed = caches / "tests.json"
        listed.write_text(json.dumps(tests))
        request = {
            "files": list(dict.fromkeys(test.split("::")[0] for test in tests)),
            "limit": limit,
            "environment": self._tree.environment(caches) | {"MUTANT_TESTS": str(listed)},
        }
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


def _serve() -> None:
    """Read requests from standard input, one a line, and answer each with its outcome."""
    for name in PRELOADED:
        try:
            __import__(name)
        except ImportError:
            continue
    answers = os.fdopen(os.dup(1), "w")
    silent = os.open(os.devnull, os.O_RDWR)
    os.dup2(silent, 1)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(json.loads(line), silent)
        print(json.dumps(_wait(child, json.loads(line)["limit"])), file=answers, flush=True)


def _run(request: dict, silent: int) -> None:
    """Run the tests in this forked process, in a group of its own, and end it with pytest's status."""
    status = 3
    try:
        os.setsid()
        seconds = int(request["limit"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        os.dup2(silent, 0)
        os.dup2(silent, 2)
        # If a broken loop fills the memory, the kernel ends this process first. A limit would stop sound tests: the
        # native engine reserves address space.
        Path("/proc/self/oom_score_adj").write_text("1000")
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.path[:0] = [str(Path.cwd())]
        import pytest

        status = int(pytest.main([*_PYTEST, "-m", "", *request["files"]]))
    finally:
        os._exit(status)


def _wait(child: int, limit: float) -> str:
    """Return the outcome of a forked run, and end every process that it leaves behind."""
    end = time.monotonic() + 60 + LEAST_SHARE * limit
    status = None
    for pause in _pauses():
        done, code = os.waitpid(child, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(code)
            break
        if time.monotonic() > end:
            break
        time.sleep(pause)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
        return "waiting"
    return {0: "passed", 4: "nothing ran", 5: "nothing ran", -signal.SIGXCPU: "out of time"}.get(status, "failed")


def _pauses() -> Iterator[float]:
    yield from (0.02,) * 50
    while True:
        yield 0.1


if __name__ == "__main__":
    _serve()
