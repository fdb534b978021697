"""Times of whole commands: starts, small runs, and all scenarios: `python bench/start.py`. README.md explains them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tables
from checker_runs import environment
from measure import ROOT, BenchmarkError, Finished, Sample, run
from rich.table import Table

from checker.cli.declaration import declare_command, option

CACHE, ANSWERS = "TIDEMARK_CODE_CACHE", "XDG_CACHE_HOME"


@dataclass(frozen=True)
class Command:
    """A command, and whether it compiles a spec: then it is also measured with an empty cache of machine code.

    `is_long`: it is not run once more before the measurements. The first measurement fills the cache. `bound`: the
    seconds that it may take on a quiet machine, with an empty cache if it compiles; "" if it has no bound.
    """

    name: str
    words: tuple[str, ...]
    compiles: bool = False
    is_long: bool = False
    bound: str = ""


KIP320 = ("replication/kip320", "--set", "replicas=3", "--set", "log_size=2", "--set", "max_records=2")
COMMANDS = (
    Command("help", ("--help",), bound="0.12"),
    Command("help of run", ("run", "--help")),
    Command("unknown option", ("run", "--nonsense")),
    Command("list of all specs", ("list",)),
    Command("Peterson", ("run", "examples/peterson"), compiles=True, bound="0.4"),
    Command("KIP-320 (3, 2, 2, 2)", ("run", *KIP320, "--set", "max_leader_epoch=2"), compiles=True),
)
ADVISED = {
    "defaults": "enable.idempotence=true",
    "transactional": "transactional.id=orders",
    "acks=1": "acks=1",
}
"""By name, the setting of a producer of which `advise` gives the answers and the remedies."""
ALL = Command("all scenarios", ("run",), compiles=True, is_long=True)
"""The commands before have compiled the byte code of its modules."""

_FINE = (0, 1, 2, 3)


def main(
    repeat: Annotated[int, option(min=1, help="Number of measurements of each command; the median is printed.")] = 5,
    with_all: Annotated[bool, option("--all", help="Also run all scenarios, once with each cache.")] = False,
    with_advice: Annotated[bool, option("--advise", help="Only `advise`, with each cache.")] = False,
    limit: Annotated[int, option(min=1, metavar="SECONDS", help="The time after which a command is ended.")] = 300,
) -> None:
    """Measure commands from start to end, with an empty and with a filled cache of machine code."""
    table = Table("command", "cache", "seconds", "processor seconds", "bound, s", box=None)
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as name:
        try:
            for command in _advice(Path(name)) if with_advice else COMMANDS:
                _add_rows(table, command, repeat, Path(name), limit)
            if with_all:
                _add_rows(table, ALL, 1, Path(name), limit)
        except BenchmarkError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from None
    tables.console().print(table)


def _advice(folder: Path) -> list[Command]:
    """Return `advise` for each producer, of which the files are written to a folder."""
    commands = []
    for name, setting in ADVISED.items():
        file = folder / f"{name}.properties"
        file.write_text(f"{setting}\n")
        words = ("advise", str(file), "--kafka", "4.3")
        commands.append(Command(f"advise, {name}", words, compiles=True, bound="10"))
    return commands


def _add_rows(table: Table, command: Command, repeat: int, folder: Path, limit: int) -> None:
    print(f"{command.name} ...", file=sys.stderr, flush=True)
    cache = folder / "cache"

    def measured(caches: Sequence[Path]) -> tuple[str, str]:
        return _cells([_run(command, folder, each, limit) for each in caches])

    if command.is_long:
        cache = folder / command.name
    else:
        # The modules of the command get their byte code, and its specs their machine code.
        _run(command, folder, cache, limit)
    if command.compiles:
        empty = [cache] if command.is_long else [folder / f"{command.name}-{number}" for number in range(repeat)]
        table.add_row(command.name, "empty", *measured(empty), command.bound)
    filled = ("filled", "") if command.compiles else ("not used", command.bound)
    table.add_row(command.name, filled[0], *measured([cache] * repeat), filled[1])


def _run(command: Command, folder: Path, cache: Path, limit: int) -> Finished:
    words = [sys.executable, "-m", "checker", *command.words]
    return run(words, ROOT, environment(folder / "byte-code") | {CACHE: str(cache), ANSWERS: str(cache)}, _FINE, limit)


def _cells(processes: Sequence[Finished]) -> tuple[str, str]:
    return (
        str(Sample(tuple(done.seconds for done in processes))),
        str(Sample(tuple(done.processor_seconds for done in processes))),
    )


if __name__ == "__main__":
    declare_command(main)()
