"""Mutation of the project's own code: how many small breaks do the nearest tests notice?

    python bench/code_mutants.py --sample 300 --seed 1 --json build/mutants.json

bench/README.md describes it. The tree is copied; only the copy is changed.
"""

import argparse
import json
import random
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mutant_edits import Edit, compiles, edits_of, function_lines
from mutant_runs import ForkServer, LineMap, PrivateTree


@dataclass(frozen=True)
class MutatedPackage:
    """Sources that are changed together, and the folders or files of their nearest tests."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    start_seconds: float = 10
    """Processor time that a run may take besides its tests: imports, and fixtures that other tests have paid for."""

    def files(self, root: Path) -> list[Path]:
        """Return the files that may be changed."""
        return sorted(file for source in self.sources for file in (root / source).rglob("*.py"))


PACKAGES = {
    "smt": MutatedPackage(("checker/engines/smt",), ("tests/engines/smt",)),
    "frontend": MutatedPackage(
        ("checker/frontend",),
        ("tests/frontend", "tests/language", "tests/engines/test_views.py", "tests/engines/test_liveness.py"),
    ),
    "native": MutatedPackage(
        ("checker/engines/native",),
        (
            "tests/engines/native",
            "tests/engines/test_every_node.py",
            "tests/engines/test_graph_digest.py",
            "tests/cli/test_witness.py",
            "tests/agreement/test_corners.py",
            "tests/agreement/test_random_specs.py",
        ),
    ),
    "spark": MutatedPackage(
        ("spark_analysis",),
        (
            "tests/spark_analysis",
            "tests/cli/test_report_status.py",
            "tests/cli/test_run_comparison.py",
            "tests/cli/test_run_history.py",
            "tests/cli/test_run_walks.py",
            "tests/cli/test_sibling_reports.py",
            "tests/cli/test_simulate_command.py",
            "tests/cli/test_walk_queries.py",
            "tests/output/test_progress.py",
            "tests/robustness/test_foreign_files.py",
        ),
        start_seconds=60,
    ),
    "traces": MutatedPackage(("traces/validate",), ("tests/traces", "tests/cli/test_validate.py")),
    "advise": MutatedPackage(("kafka_tools/advise",), ("tests/kafka_tools/advise", "tests/cli/test_advise.py")),
    "audit": MutatedPackage(("kafka_tools/audit",), ("tests/audit",)),
    "recording": MutatedPackage(
        ("kafka_tools/lab/recording",),
        ("tests/kafka_tools/lab/recording", "tests/kafka_tools/lab/test_finished_records.py"),
    ),
}

CACHE_SOURCES = "checker/engines/native/llvm/"
"""A change here may concern the cache of machine code itself: its runs start with an empty one."""

SLOWER = 4.0
"""A run that takes so many times its usual time is in an endless loop."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: `killed` says how, and is empty for a survivor; `tests` ran, of `all_tests`.

    `is_decided` is false if the run was given up while it waited; such a mutant does not count as killed.
    """

    package: str
    place: str
    kind: str
    difference: str
    killed: str
    is_decided: bool
    tests: int
    all_tests: int


def sampled_edits(sources: dict[str, str], count: int, choice: random.Random) -> list[Edit]:
    """Return up to `count` edits of the sources (text by path), each of another line."""
    by_line: dict[tuple[str, int], list[Edit]] = defaultdict(list)
    for path, source in sources.items():
        for edit in edits_of(path, source):
            by_line[path, edit.line].append(edit)
    edits = []
    for line in choice.sample(list(by_line), len(by_line)):
        if len(edits) == count:
            break
        edit = choice.choice(by_line[line])
        if compiles(edit.applied_to(sources[edit.path])):
            edits.append(edit)
    return edits


def outcomes(
    tree: PrivateTree, names: Sequence[str], count: int, seed: int, seconds: float, *, is_slow: bool
) -> Iterator[Outcome]:
    """Yield the outcome of each sampled mutant of the packages, `count` in all. `seconds` bounds the tests of one."""
    with ForkServer(tree) as server:
        for place, name in enumerate(names):
            package = PACKAGES[name]
            lines = tree.line_map(name, package.sources, package.tests, is_slow=is_slow)
            _require_sound(server, lines)
            sources = {str(file.relative_to(tree.root)): file.read_text() for file in package.files(tree.root)}
            share = count * (place + 1) // len(names) - count * place // len(names)
            for edit in sampled_edits(sources, share, random.Random(f"{seed} {name}")):
                yield _outcome(tree, server, name, edit, sources[edit.path], lines, seconds)


def _require_sound(server: ForkServer, lines: LineMap) -> None:
    """End the program if the fastest tests fail without a change: every mutant would seem to be killed."""
    fastest = sorted(lines.tests.values(), key=lambda test: test.seconds)[:20]
    ended = server.outcome([test.name for test in fastest], 120, is_cache_empty=False)
    if ended != "passed":
        raise SystemExit(f"the tests of the unchanged tree: {ended}")


def _outcome(
    tree: PrivateTree, server: ForkServer, name: str, edit: Edit, source: str, lines: LineMap, seconds: float
) -> Outcome:
    function = function_lines(source, edit.line)
    wanted = lines.tests_of(edit.path, range(edit.line, edit.last_line + 1), function)
    fitting, spent = set(), 0.0
    # The fastest first: more tests fit into the bound than in the order in which they run.
    for test in sorted(wanted, key=lambda test: test.seconds):
        if not fitting or spent + test.seconds <= seconds:
            fitting.add(test)
            spent += test.seconds
    chosen = [test.name for test in wanted if test in fitting]
    ended = "passed"
    if chosen:
        tree.write(edit.path, edit.applied_to(source))
        limit = PACKAGES[name].start_seconds + SLOWER * spent
        ended = server.outcome(chosen, limit, edit.path.startswith(CACHE_SOURCES))
        tree.write(edit.path, source)
    killed = "" if ended in ("passed", "waiting") else ended
    place = f"{edit.path}:{edit.line}"
    return Outcome(
        name, place, edit.kind, edit.difference(source), killed, ended != "waiting", len(chosen), len(wanted)
    )


def misplaced_mutants(root: Path, mutants: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the mutants of a list whose text does not occur exactly once in its file."""
    return [
        f"{mutant['path']}: not once in the file: {mutant['before']}"
        for mutant in mutants
        if (root / mutant["path"]).read_text().count(mutant["before"]) != 1
    ]


def listed_survivors(tree: PrivateTree, listed: Path) -> list[str]:
    """Return the mutants of a list that no named test kills, and those whose text is no longer in the tree.

    The list is TOML: `[[mutant]]` with `path`, `before` (text that occurs once), `after`, and `tests` (node ids).
    """
    mutants = tomllib.loads(listed.read_text())["mutant"]
    if misplaced := misplaced_mutants(tree.root, mutants):
        return misplaced
    named = sorted({test for mutant in mutants for test in mutant["tests"]})
    with ForkServer(tree) as server:
        ended = server.outcome(named, 300, is_cache_empty=False)
        if ended != "passed":
            return [f"the tests of the unchanged tree: {ended}"]
        wrong = []
        for mutant in mutants:
            path, source = mutant["path"], (tree.root / mutant["path"]).read_text()
            tree.write(path, source.replace(mutant["before"], mutant["after"]))
            ended = server.outcome(mutant["tests"], mutant.get("limit", 60), path.startswith(CACHE_SOURCES))
            tree.write(path, source)
            if ended in ("passed", "waiting"):
                wrong.append(f"{path}: {mutant['before']} -> {mutant['after']}")
    return wrong


def score_table(results: Sequence[Outcome]) -> str:
    """Return the score by package and of all, as a Markdown table."""
    rows = [
        "| package | mutants | killed | of these by time | given up | on no executed line | score |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    names = list(dict.fromkeys(result.package for result in results))
    for name in [*names, "all"]:
        own = [result for result in results if name in (result.package, "all")]
        killed = [result for result in own if result.killed]
        late = sum(result.killed == "out of time" for result in killed)
        waiting = sum(not result.is_decided for result in own)
        unreached = sum(not result.all_tests for result in own)
        score = len(killed) / max(1, len(own))
        rows.append(f"| {name} | {len(own)} | {len(killed)} | {late} | {waiting} | {unreached} | {score:.0%} |")
    return "\n".join(rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mutate the project's own code and run the nearest tests.")
    parser.add_argument("--sample", type=int, default=300, help="mutants in all (default: 300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--package", action="append", choices=PACKAGES, help="repeatable (default: all)")
    parser.add_argument("--seconds", type=float, default=30, help="bound on the tests of a mutant (default: 30)")
    parser.add_argument("--slow", action="store_true", help="run the tests marked slow too")
    parser.add_argument("--work", type=Path, help="keep the copy and the maps here (default: a temporary folder)")
    parser.add_argument("--json", type=Path, help="write every outcome here")
    return parser.parse_args()


def _main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory() as temporary:
        tree = PrivateTree(given.work or Path(temporary))
        results, began = [], time.monotonic()
        names = given.package or list(PACKAGES)
        for result in outcomes(tree, names, given.sample, given.seed, given.seconds, is_slow=given.slow):
            results.append(result)
            if not result.killed:
                print(
                    f"{result.place}  {result.kind}, {result.tests} of {result.all_tests} tests\n{result.difference}\n"
                )
            sys.stdout.flush()
            if given.json:
                given.json.write_text(json.dumps([asdict(one) for one in results], indent=1))
    print(score_table(results))
    print(f"\nseed {given.seed}, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
