"""Compares the native engine with the interpreter on as many random specs as are asked for, without Hypothesis.

    python tests/agreement/compare_many.py --sets 1000000 --runs 10000 --keep DIR
    python tests/agreement/compare_many.py --stores 5000 --keep DIR

A set holds the successors of one state, with the truth of all properties there. A run is a whole exploration with one
and with two workers. `--stores` compares whole explorations of the native engine with its two stores. Each spec has its
number as the seed, so a difference is repeated with `--first N --specs 1`. The source of every spec with a difference
stays in DIR. Exit status: 0 without a difference, 1 with one.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from checker.engines.native.kernels.single_state import SingleStateEngine
from checker.engines.native.llvm import code_cache
from checker.errors import BoundsError
from checker.language import Spec, State
from checker.run.plan import Plan, Stop
from checker.run.process_pool import end_with_parent
from tests.agreement.engines import compact, compare_runs, compare_state, load, random_state
from tests.agreement.spec_source import spec_source
from tests.agreement.store_comparison import compare_stores

SETS_A_SPEC = 300
"""States of a spec whose successors are compared: half of them reached, half of them invented."""

DEEPEST = 4
"""Levels of a whole run; state spaces grow fast, and the interpreter is slow."""

MOST_STATES = 3000

SPECS_A_TASK = 20


@dataclass
class Compared:
    """The numbers of what was compared, and the texts of the differences."""

    specs: int = 0
    sets: int = 0
    runs: int = 0
    stores: int = 0
    differences: tuple[str, ...] = ()

    def __add__(self, other: Compared) -> Compared:
        return Compared(
            self.specs + other.specs,
            self.sets + other.sets,
            self.runs + other.runs,
            self.stores + other.stores,
            self.differences + other.differences,
        )


class EncodingOnce(SingleStateEngine):
    """A probe that encodes a state once: a state is compared with all its successors, by several properties."""

    def words_of(self, state: State) -> list[int]:
        """Return the packed words of a state."""
        # By identity: equal states that differ in the Python types of their values are encoded each.
        known = self.encoded.get(id(state))
        if known is None:
            known = self.encoded[id(state)] = (state, super().words_of(state))
        return known[1]

    def forget(self) -> None:
        """Forget all states."""
        self.encoded: dict[int, tuple[State, list[int]]] = {}


@dataclass(frozen=True)
class Wanted:
    """What is compared on a spec."""

    sets: bool
    runs: bool
    stores: bool


def compare_spec(number: int, folder: Path, wanted: Wanted) -> Compared:
    """Compare the engines on random spec `number`; its source stays in the folder if they differ."""
    choose = random.Random(number)
    done = Compared(specs=1)
    try:
        source = spec_source(lambda count: choose.randrange(count))
    except RecursionError:
        # The generator chose an index within an index again and again. The spec counts as neither set nor run.
        return done
    path = folder / f"spec_{number}.py"
    try:
        spec = load(source, folder).Random()
        if wanted.sets:
            done.sets = compare_sets(spec, choose)
        names = tuple(spec.properties)
        if wanted.runs:
            depth = choose.randint(1, DEEPEST)
            plans = [Plan(names, "all", workers, MOST_STATES, depth, deadlock=True) for workers in (1, 2)]
            compare_runs(spec, plans)
            done.runs = 1
        if wanted.stores:
            # A generator for this alone: a difference is repeated whatever else is compared.
            choose = random.Random(f"stores {number}")
            stop: Stop = choose.choice(("first", "all"))
            depth, workers = choose.randint(1, DEEPEST), choose.randint(1, 2)
            plan = Plan(names, stop, workers, MOST_STATES, depth, deadlock=True, quick=True)
            done.stores = int(compare_stores(spec, plan))
    # Any exception is a difference: the specs are within the language.
    except Exception:
        path.write_text(source)
        done.differences = (f"spec {number}, kept as {path}\n{traceback.format_exc()}",)
    return done


def compare_sets(spec: Spec, choose: random.Random) -> int:
    """Compare the successors of states, reachable and invented, and return their number."""
    with compact() if choose.random() < 0.5 else nullcontext():
        probe = EncodingOnce(spec)
    try:
        waiting = list(spec.initial_states())
    except BoundsError:
        waiting = []
    known = set(waiting)
    compared = 0
    while waiting and compared < SETS_A_SPEC // 2:
        # A random one, so that states far from the initial ones are reached too.
        state = waiting.pop(choose.randrange(len(waiting)))
        compared += 1
        probe.forget()
        for successor in compare_state(spec, probe, state):
            if successor not in known:
                known.add(successor)
                waiting.append(successor)
    while compared < SETS_A_SPEC:
        probe.forget()
        compare_state(spec, probe, random_state(spec, choose))
        compared += 1
    return compared


def compare_task(numbers: range, folder: Path, wanted: Wanted) -> Compared:
    """Compare a task of specs; modules and machine code of finished ones are freed."""
    os.environ[code_cache.VARIABLE] = code_cache.OFF
    done = Compared()
    with tempfile.TemporaryDirectory() as own:
        for number in numbers:
            done += compare_spec(number, Path(own), wanted)
            for kept in Path(own).glob("spec_*.py"):
                kept.rename(folder / kept.name)
    for name in [name for name in sys.modules if name.startswith("random_spec_")]:
        del sys.modules[name]
    gc.collect()
    return done


def _compare_asked(asked: tuple[range, Path, Wanted]) -> Compared:
    return compare_task(*asked)


def tasks(first: int, specs: int) -> Iterator[range]:
    for start in range(first, first + specs, SPECS_A_TASK):
        yield range(start, min(start + SPECS_A_TASK, first + specs))


def main() -> int:
    """Compare until the numbers are reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=0, help="successor sets to compare")
    parser.add_argument("--runs", type=int, default=0, help="whole runs to compare")
    parser.add_argument("--stores", type=int, default=0, help="specs on which the two stores are compared")
    parser.add_argument("--specs", type=int, help="specs to compare in all ways, in place of the other numbers")
    parser.add_argument("--first", type=int, default=0, help="the number of the first spec")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=Path("differences"), help="the folder for specs with a difference")
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    total, started = Compared(), time.monotonic()
    by_sets = -(-given.sets // SETS_A_SPEC)
    specs = given.specs or max(by_sets, given.runs, given.stores)
    asked = [
        (
            numbers,
            given.keep,
            Wanted(*(numbers.start - given.first < most for most in (by_sets, given.runs, given.stores)))
            if not given.specs
            else Wanted(sets=True, runs=True, stores=True),
        )
        for numbers in tasks(given.first, specs)
    ]
    # Not a ProcessPoolExecutor: with `max_tasks_per_child` it may wait for ever for a process that has ended.
    context = multiprocessing.get_context("spawn")
    with context.Pool(given.workers, end_with_parent, maxtasksperchild=10) as pool:
        for done in pool.imap(_compare_asked, asked):
            total += done
            for difference in done.differences:
                print(difference, flush=True)
            if sys.stderr.isatty() or total.specs % 100 == 0:
                print(_line(total, started), file=sys.stderr, flush=True)
    print(_line(total, started))
    return 1 if total.differences else 0


def _line(total: Compared, started: float) -> str:
    return (
        f"{total.specs:,} specs: {total.sets:,} successor sets, {total.runs:,} whole runs, "
        f"{total.stores:,} specs with both stores, "
        f"{len(total.differences)} differences, {time.monotonic() - started:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
