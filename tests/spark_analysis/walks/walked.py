"""Folders of walks for the tests, of a spec in a separate file, made without Spark."""

import linecache
from pathlib import Path
from typing import Any

from spark_analysis.walks.parts import write_walks_of_part
from spark_analysis.walks.records import WalkRun
from spark_analysis.walks.walk_request import WalkRequest, run_of_request
from spark_analysis.walks.writing import open_run_folder

SOURCE = '''
from checker.language import Constant, Range, Scenario, Seq, Spec, action, invariant, reachable, require


class Queue(Spec):
    """A queue that two producers write to; the second one may overtake the first."""

    size = Constant(3, at_least=1, at_most=9)
    careful = Constant(False)
    queue = Seq(Range(0, 4), "size")
    sent = Range(0, 4)

    @action
    def send(self):
        """Put the next number at the end."""
        require(self.sent < 4)
        require(len(self.queue) < self.size)
        self.queue.append(self.sent)
        self.sent += 1

    @action
    def take(self, at: Range(0, 1)):
        """Take the first number, or the second one."""
        require(at < len(self.queue))
        if at == 0:
            self.queue.pop(0)
        else:
            self.queue.pop(1)

    @action
    def overtake(self):
        """Put the next number in front."""
        require(not self.careful and self.sent < 4)
        require(len(self.queue) < self.size)
        self.queue.insert(0, self.sent)
        self.sent += 1

    @invariant
    def in_order(self):
        return self.sent >= 0 and all(self.queue[at] <= self.queue[at + 1] for at in range(len(self.queue) - 1))

    @reachable
    def is_full(self):
        return len(self.queue) == self.size


scenarios = [
    Scenario(Queue, "hasty", expect={"in_order": None}),
    Scenario(Queue, "careful", dict(careful=True)),
]
'''


def spec_file(folder: Path, source: str = SOURCE) -> Path:
    path = folder / "queueing.py"
    path.write_text(source)
    # The tests change the spec file within one process, so cached source lines would be wrong.
    linecache.clearcache()
    return path


def spec_of_walks(folder: Path) -> Path:
    """Return the file that `spec_file` wrote beside a folder of walks."""
    return folder.parent / "queueing.py"


def request(file: Path, **options: Any) -> WalkRequest:
    scenario = options.pop("scenario", "hasty")
    target = f"{file}/queue/{scenario}" if scenario else f"{file}/queue"
    return WalkRequest(target, **({"walks": 1200, "depth": 12, "seed": 7} | options))


def simulated(folder: Path, run: WalkRun) -> Path:
    """Return a folder with all walks of a run, written by this process."""
    for number in open_run_folder(folder, run):
        write_walks_of_part(run, folder, number)
    return folder


def walks_in(tmp_path: Path, **options: Any) -> tuple[WalkRun, Path]:
    run = run_of_request(request(spec_file(tmp_path), **options))
    return run, simulated(tmp_path / "walks", run)
