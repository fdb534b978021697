"""Exploration on Spark, compared with the other engines; partitions, killed workers, interrupts, resumption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from checker.cli import app
from checker.engines.native import engine as native
from checker.engines.native.explore.search import breadth_first_search
from checker.engines.native.kernels import batch as batches
from checker.engines.native.kernels import row_kernels as kernels
from checker.engines.native.llvm.control_flow import word
from checker.engines.python import explorer
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run import registry
from checker.run.expectation import properties_to_check, stop_for
from checker.run.plan import DEADLOCK, ExplorationProgress, Plan
from checker.run.result import Result
from spark_analysis.explore import jobs
from spark_analysis.explore import level_tasks as tasks
from spark_analysis.explore import spark_explorer as exploring
from spark_analysis.explore.checkpoint import CheckpointLocation, ExplorationTotals
from spark_analysis.explore.row_files import StoredRun
from spark_analysis.explore.spark_explorer import explore
from spark_analysis.session import LazySession
from tests.spark_analysis import toys


@pytest.fixture
def on_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a Spark job for every level, even a small one."""
    monkeypatch.setattr(jobs, "CANDIDATES_BEFORE_SPARK", -1)
    monkeypatch.setattr(jobs, "CANDIDATES_BEFORE_JOB", -1)


CHECKED = (Role.INVARIANT, Role.STEP_INVARIANT, Role.REACHABLE)


def scenario(name: str) -> tuple[Spec, Plan]:
    """Return a scenario's spec and plan."""
    [selection] = registry.select(name)
    found = selection.scenario
    assert found is not None
    checked = properties_to_check(found)
    names = tuple(name for name in checked if name != DEADLOCK)
    plan = Plan(names, stop=stop_for(found.expect), deadlock=DEADLOCK in checked)
    return selection.entry.spec(**found.constants), plan


def toy(spec: Spec, **options: object) -> tuple[Spec, Plan]:
    names = tuple(name for name, role in spec.roles.items() if role in CHECKED)
    return spec, replace(Plan(names), **options)  # type: ignore[arg-type]


def same(found: Result, expected: Result) -> None:
    """Assert that two engines give equal results, except for the choice among shortest counterexamples."""
    assert (found.verdict, found.ended) == (expected.verdict, expected.ended)
    assert found.levels == expected.levels
    assert (found.distinct_states, found.generated_states) == (expected.distinct_states, expected.generated_states)
    lengths = [(violation.property, violation.kind, violation.length) for violation in found.violations]
    assert sorted(lengths) == sorted(
        (violation.property, violation.kind, violation.length) for violation in expected.violations
    )
    assert (found.reached, found.unreached) == (expected.reached, expected.unreached)
    # A duration, and no reading of the clock.
    assert 0 <= found.compile_seconds < time.perf_counter()
    generated = {action: coverage.generated for action, coverage in found.coverage.items()}
    assert generated == {action: coverage.generated for action, coverage in expected.coverage.items()}
    distinct = sum(coverage.distinct for coverage in found.coverage.values())
    assert distinct == sum(coverage.distinct for coverage in expected.coverage.values())


def is_behaviour(spec: Spec, result: Result) -> None:
    """Assert that the interpreter accepts every counterexample."""
    for violation in result.violations:
        for before, after in zip(violation.trace, violation.trace[1:], strict=False):
            assert after.action is not None
            assert spec.step(before.state, after.action, *after.arguments) == after.state
        if violation.trace:
            assert violation.trace[0].state in spec.initial_states()


@pytest.mark.parametrize(
    "name",
    [
        "broker/leader_state/expiry_forgets_fencing",
        "broker/leader_state/i7_truncation",
    ],
)
def test_specs_of_the_repository(session: LazySession, on_executors: None, name: str) -> None:
    spec, plan = scenario(name)
    found = explore(spec, plan, session, partitions=3)
    same(found, native.explore(spec, plan))
    is_behaviour(spec, found)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (toys.Deadlocked(), {"deadlock": True}),
        (toys.Leaping(), {}),
        (toys.Overflowing(), {}),
        (toys.Dividing(), {}),
        (toys.Stepping(), {}),
        (toys.Fenced(), {"stop": "all"}),
        (toys.Unconstrained(), {}),
        (toys.Stillborn(), {}),
        (toys.Deadlocked(), {"max_states": 9}),
        (toys.Deadlocked(), {"max_depth": 3}),
    ],
    ids=lambda value: value.name if isinstance(value, Spec) else str(value),
)
def test_every_kind_of_end(session: LazySession, spec: Spec, options: dict[str, object]) -> None:
    spec, plan = toy(spec, **options)
    found = explore(spec, plan, session, partitions=1)
    # The interpreter is the reference, except that it stops in the middle of a level for `max_states`.
    same(found, (native if "max_states" in options else explorer).explore(spec, plan))
    is_behaviour(spec, found)


def outline(result: Result) -> object:
    """Return the parts of a result that must not depend on partitions, including traces and origins."""
    traces = [(violation.property, [str(step) for step in violation.trace]) for violation in result.violations]
    return traces, result.levels, result.generated_states, result.coverage, result.reached


def test_result_is_independent_of_partitions_and_executors(
    session: LazySession, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    spec, plan = toy(toys.Leaping(), stop="all", deadlock=True)
    results = [explore(spec, plan, session, partitions=count) for count in (1, 5)]
    monkeypatch.setattr(exploring, "CANDIDATES_IN_PARTITION", 2)
    results.append(explore(spec, plan, session, partitions=3))
    request.getfixturevalue("on_executors")
    results.append(explore(spec, plan, session))
    same(results[0], explorer.explore(spec, plan))
    assert [outline(result) for result in results] == [outline(results[0])] * 4
    assert [result.workers for result in results[-1:]] == [2]


@pytest.mark.parametrize("spec", [toys.Leaping(), toys.Overflowing(), toys.Deadlocked()], ids=lambda spec: spec.name)
def test_result_is_independent_of_chunk_sizes(
    session: LazySession, monkeypatch: pytest.MonkeyPatch, spec: Spec
) -> None:
    """The sizes of kernel calls, of tables and of partitions have no effect on the result."""
    spec, plan = toy(spec, stop="all", deadlock=True)
    expected = outline(explore(spec, plan, session, partitions=2))
    monkeypatch.setattr(batches, "MOST_SUCCESSORS", 1)
    monkeypatch.setattr(tasks, "FRONTIER_CHUNK", 2)
    monkeypatch.setattr(tasks, "MOST_GATHERED", 3)
    monkeypatch.setattr(tasks, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(exploring, "CANDIDATES_IN_PARTITION", 3)
    assert outline(explore(spec, plan, session)) == expected


WHERE = CheckpointLocation(0, [0])
ROLES = {"corner": Role.INVARIANT, "full": Role.REACHABLE}


@pytest.mark.parametrize(
    ("totals", "plan", "outcome"),
    [
        ({}, {}, None),
        ({"failure": WHERE, "found": {0: WHERE}}, {"max_states": 0}, "error"),
        ({"property_failure": WHERE}, {}, "error"),
        ({"found": {0: WHERE}, "levels": [2, 0]}, {}, "stopped"),
        ({"found": {0: WHERE}}, {"stop": "all"}, None),
        # A reachable state is no violation.
        ({"found": {1: WHERE}}, {}, None),
        ({"deadlock": WHERE}, {"deadlock": True}, "stopped"),
        ({"deadlock": WHERE}, {}, None),
        ({"levels": [2, 0]}, {"max_states": 2, "max_depth": 2}, "complete"),
        ({}, {"max_states": 5, "max_depth": 2}, "max_states"),
        ({}, {"max_states": 6, "max_depth": 2}, "max_depth"),
        ({}, {"max_states": 6, "max_depth": 3}, None),
    ],
)
def test_the_reason_to_stop_after_a_level(totals: dict[str, Any], plan: dict[str, Any], outcome: str | None) -> None:
    search: Any = SimpleNamespace(
        totals=ExplorationTotals(**({"levels": [2, 3], "generated": [], "distinct": []} | totals)),
        _plan=Plan((), **plan),
        _compiled=SimpleNamespace(names=["corner", "full"], spec=SimpleNamespace(roles=ROLES)),
    )
    assert exploring._SparkSearch._outcome(search) == outcome
    search._plan.cancelled.set()
    cancelled = "interrupted" if outcome in (None, "max_states", "max_depth") else outcome
    assert exploring._SparkSearch._outcome(search) == cancelled


def test_partitions_grow_with_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "CANDIDATES_BEFORE_SPARK", 80)
    monkeypatch.setattr(exploring, "CANDIDATES_IN_PARTITION", 100)
    for before, candidates, after in ((1, 10, 1), (1, 11, 6), (2, 200, 2), (2, 201, 4), (2, 801, 16), (1, 601, 12)):
        levels = SimpleNamespace(partitions=before)
        search: Any = SimpleNamespace(_levels=levels, _jobs=SimpleNamespace(cores=3))
        assert exploring._SparkSearch._partitions_after(search, candidates) == after


def test_first_findings_and_counts_of_partitions_are_kept() -> None:
    report = tasks.ExpansionReport({1: 2}, {0: ([1], 1, [2])})
    later = tasks.ExpansionReport({1: 3, 4: 1}, {0: ([5], 5, [5]), 2: ([6], 6, [7])}, [8], ([9], 1))
    report.add(later)
    assert report == tasks.ExpansionReport({1: 5, 4: 1}, {0: ([1], 1, [2]), 2: ([6], 6, [7])}, [8], ([9], 1))
    report.add(tasks.ExpansionReport({}, {}, [10], ([11], 2)))
    assert (report.deadlock, report.failure) == ([8], ([9], 1))


def run_of(count: int) -> StoredRun:
    return StoredRun(f"of-{count}", 0, count, "", 0, 0)


def jobs_of(monkeypatch: pytest.MonkeyPatch, **session: Any) -> tuple[jobs.Jobs, list[list[Any]]]:
    """Return jobs of a session of two cores, and what their tasks get; a task answers with its first item."""
    made = jobs.Jobs(SimpleNamespace(cores=2, **session), None, Path("/kept"), threading.Event(), durable=True)  # type: ignore[arg-type]
    groups: list[list[Any]] = []
    monkeypatch.setattr(made, "_on_executors", lambda task, items, level: groups.extend(items) or items)
    return made, groups


@pytest.mark.parametrize(
    ("is_started", "partitions", "candidates", "stored", "is_for_driver"),
    [
        (False, 64, 1 << 20, 9 << 22, True),
        (False, 64, (1 << 20) + 1, 0, False),
        (False, 65, 1, 0, False),
        (True, 2, 1 << 16, 1 << 21, True),
        (True, 2, (1 << 16) + 1, 0, False),
        (True, 2, 1, (1 << 21) + 1, False),
    ],
)
def test_the_driver_processes_small_levels(
    monkeypatch: pytest.MonkeyPatch,
    is_started: bool,
    partitions: int,
    candidates: int,
    stored: int,
    is_for_driver: bool,
) -> None:
    made, _ = jobs_of(monkeypatch, is_started=is_started)
    inputs = [tasks.PartitionInput(partition, (run_of(stored),)) for partition in range(partitions)]
    assert made._is_for_driver(inputs, candidates) == is_for_driver


def test_the_work_of_executors_is_divided_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    made, groups = jobs_of(monkeypatch, is_started=True)
    monkeypatch.setattr(jobs, "DRIVER_PARTITIONS", 0)
    monkeypatch.setattr(jobs, "CANDIDATES_IN_TASK", 10)
    monkeypatch.setattr(jobs, "_successful", lambda reports: reports)
    for partitions, candidates, sizes in ((5, 1, [2, 3]), (5, 31, [1, 1, 1, 2]), (5, 99, [1] * 5), (1, 99, [1])):
        groups.clear()
        inputs = [tasks.PartitionInput(partition, ()) for partition in range(partitions)]
        _, are_on_disk = made.run(jobs.LevelStep(0, inputs, None, None, 0, 0), candidates)
        assert ([len(group) for group in groups], are_on_disk) == (sizes, True)
        assert [given.partition for group in groups for given in group] == list(range(partitions))


def test_the_driver_verifies_a_small_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    made, groups = jobs_of(monkeypatch)
    monkeypatch.setattr(jobs, "damaged_runs", lambda folder, runs: ["of the driver"])
    monkeypatch.setattr(jobs, "BYTES_TO_VERIFY", 8 * 90)
    runs = [run_of(count) for count in range(1, 13)]
    assert made.damaged_runs([run_of(90)], 8) == ["of the driver"]
    # Larger ones are verified by four tasks for each core.
    assert len(made.damaged_runs([run_of(91)], 8)) == 1
    groups.clear()
    made.damaged_runs(runs, 99)
    assert sorted(len(group) for group in groups) == [1, 1, 1, 1, 2, 2, 2, 2]


def test_small_state_space_starts_no_java(tmp_path: Path) -> None:
    spec, plan = toy(toys.Leaping(), stop="all")
    with LazySession("local[2]") as unused:
        found = explore(spec, plan, unused, checkpoint=tmp_path / "kept")
        assert not unused.is_started
    same(found, explorer.explore(spec, plan))
    assert found.workers == 1


def test_run_files_are_few(session: LazySession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are merged: a partition has at most as many as the binary logarithm of its states."""
    spec, plan = toy(toys.Deadlocked(size=30))
    monkeypatch.setattr(exploring, "COMMIT_SECONDS", 0)
    most: list[int] = []

    def count(progress: ExplorationProgress) -> None:
        most.append(len(list(tmp_path.glob("kept/runs/*"))))

    found = explore(spec, replace(plan, on_progress=count), session, checkpoint=tmp_path / "kept")
    assert len(found.levels) > 40
    assert max(most) <= found.distinct_states.bit_length()
    assert list(tmp_path.glob("kept/candidates/*")) == []


@pytest.fixture
def four_hashes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace the hash of a state by the two lowest bits of its first word."""
    for module in (batches, kernels):
        monkeypatch.setattr(module, "state_hash", lambda builder, state: builder.shl(state[0], word(62)))
    kernels.row_kernels.cache_clear()
    yield
    kernels.row_kernels.cache_clear()


def test_states_with_equal_hashes(session: LazySession, four_hashes: None) -> None:
    """With only four hashes, words distinguish states and successors distinguish parents."""
    for spec, plan in (toy(toys.Leaping(), stop="all", deadlock=True), toy(toys.Wide(), max_depth=4, stop="all")):
        found = explore(spec, plan, session, partitions=3)
        same(found, native.explore(spec, plan))
        is_behaviour(spec, found)


def test_stored_states_equal_those_of_the_native_engine(
    session: LazySession, on_executors: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The stored states of a spec with wide words equal those of the native engine; each level is on disk."""
    spec, plan = toy(toys.Wide(), max_depth=4)
    compiled = native.compile_native(spec, list(plan.properties))
    initial = np.array([compiled.words_of(state) for state in spec.initial_states()], np.uint64)
    expected = breadth_first_search(compiled.kernels, initial, max_depth=4).all_states()
    stores = []
    monkeypatch.setattr(
        exploring, "StoredStates", lambda *given, kept=exploring.StoredStates: stores.append(kept(*given)) or stores[-1]
    )
    monkeypatch.setattr(exploring, "ResultBuilder", _Looking(stores))
    explore(spec, plan, session, partitions=4, checkpoint=tmp_path / "kept")
    [store] = stores
    assert len(expected) > 100 and store.memory_bytes == len(expected) * 8 * (expected.shape[1] + 2)
    np.testing.assert_array_equal(_sorted(store.seen), _sorted(expected))
    assert [store.words_of(state_id) for state_id in store.ids] == store.seen[:5].tolist() and store.unknown is None


class _Looking:
    """Replaces the result builder and reads all states before the checkpoint is closed."""

    def __init__(self, stores: list):
        self._stores = stores

    def __call__(self, *given: object) -> _Looking:
        [store] = self._stores
        store.seen = store.all_states()
        store.ids, store.unknown = [store.find(state) for state in store.seen[:5]], store.find(store.seen[0] + 2**60)
        return self

    def result(self, compile_seconds: float) -> SimpleNamespace:
        return SimpleNamespace(ended="violation")


def _sorted(states: np.ndarray) -> np.ndarray:
    return states[np.lexsort(states.T)]


def python_workers() -> list[int]:
    """Return the process ids of Spark's Python workers, the children of its daemon."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"pyspark.daemon" not in command:
                del parents[int(entry.name)]
    return [process for process, parent in parents.items() if parent in parents and descends(process, os.getpid())]


def descends(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def test_exploration_survives_killed_workers(session: LazySession, on_executors: None) -> None:
    spec, plan = scenario("broker/leader_state/expiry")
    expected = native.explore(spec, plan)
    killed: list[int] = []

    def strike() -> None:
        end = time.monotonic() + 5
        while not (found := python_workers()) and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(found[0], signal.SIGKILL)
        killed.append(found[0])

    strikes = {2: threading.Timer(0.05, strike), 4: threading.Timer(0.15, strike)}

    def on_progress(progress: ExplorationProgress) -> None:
        if progress.level in strikes:
            strikes[progress.level].start()

    found = explore(spec, replace(plan, on_progress=on_progress), session, partitions=2)
    for timer in strikes.values():
        timer.join()
    assert len(killed) == 2
    same(found, expected)


def test_interrupt_between_levels_and_within_a_level(session: LazySession, on_executors: None, tmp_path: Path) -> None:
    spec, plan = scenario("broker/leader_state/expiry")
    expected = native.explore(spec, plan)

    def stop_at(level: int, delay: float) -> Result:
        cancelled = threading.Event()

        def stop(progress: ExplorationProgress) -> None:
            if progress.level == level:
                threading.Timer(delay, cancelled.set).start() if delay else cancelled.set()

        stopping = replace(plan, on_progress=stop, cancelled=cancelled)
        return explore(spec, stopping, session, partitions=2, checkpoint=tmp_path / "kept")

    found = stop_at(2, 0)
    assert (found.ended, found.verdict, found.levels) == ("interrupted", "incomplete", expected.levels[:2])
    found = stop_at(4, 0.05)
    assert found.ended == "interrupted"
    assert found.levels == expected.levels[: len(found.levels)]
    same(explore(spec, plan, session, checkpoint=tmp_path / "kept"), expected)


SLOWLY = """
import sys
from spark_analysis.explore import jobs
from checker.cli.app import main
jobs.CANDIDATES_BEFORE_SPARK = jobs.CANDIDATES_BEFORE_JOB = -1
sys.exit(main(sys.argv[1:]))
"""


def folder_with_packages(folder: Path, *names: str) -> Path:
    """Return a new folder with empty packages of these names."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
    return folder


@pytest.mark.slow
def test_killed_driver_is_resumed(session: LazySession, tmp_path: Path) -> None:
    """The driver is killed during a run; another driver resumes the checkpoint and gets the same result.

    The working directory of the killed driver has packages with the names of this project's. Neither the driver nor
    Spark's Python workers may import them.
    """
    name, kept = "broker/leader_state/i7_truncation", tmp_path / "kept"
    words = ["run", name, "--engine", "spark", "--checkpoint", str(kept), "--workers", "1", "--partitions", "2"]
    with subprocess.Popen(
        [sys.executable, "-P", "-c", SLOWLY, *words],
        cwd=folder_with_packages(tmp_path / "project", "checker", "specs", "traces"),
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as driver:
        wait_until(lambda: len(manifest(kept)["totals"]["levels"]) >= 3 or driver.poll() is not None, 240)
        driver.kill()
        assert driver.stderr is not None
        said = driver.stderr.read()
    assert driver.returncode == -signal.SIGKILL, said
    whole = len(manifest(kept)["totals"]["levels"])
    spec, plan = scenario(name)
    expected = native.explore(spec, plan)
    assert 3 <= whole < len(expected.levels) + 1
    levels: list[int] = []
    plan.on_progress = lambda progress: levels.append(progress.level)
    found = explore(spec, plan, session, checkpoint=kept)
    same(found, expected)
    is_behaviour(spec, found)
    # The run was resumed and did not start again.
    assert levels == list(range(whole + 1, len(found.levels) + 1))
    assert len(manifest(kept)["levels"]["runs"]) == 2
    # A complete exploration is only reported.
    levels.clear()
    same(explore(spec, plan, session, checkpoint=kept), expected)
    assert levels == []


def manifest(kept: Path) -> dict[str, Any]:
    path = kept / "exploration.json"
    return json.loads(path.read_text()) if path.exists() else {"totals": {"levels": []}}


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


LIVENESS = f"""import sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from checker.language import Scenario
from liveness_toys import Retry as Base


class Retry(Base):
    pass


scenarios = [
    Scenario(Retry, "holds"),
    Scenario(Retry, "violated", dict(batches=1), {{"is_done": 2}}, ["is_done"], fair={{"deliver": "weak"}}),
]
"""


@pytest.mark.parametrize(
    ("name", "names"), [("holds", ["is_done", "all_done", "none_lost", "stays_done"]), ("violated", ["is_done"])]
)
def test_liveness_is_undecided(
    session: LazySession, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, names: list[str]
) -> None:
    path = tmp_path / "stuck.py"
    path.write_text(LIVENESS, encoding="utf-8")
    assert app.main(["run", f"{path}/retry/{name}", "--engine", "spark", "--json", "-"]) == 3
    result = json.loads(capsys.readouterr().out)
    why = "the spark engine does not decide liveness properties: use --engine native"
    assert (result["verdict"], result["undecided"]) == ("incomplete", dict.fromkeys(names, why))
    assert result["distinct_states"] == (16 if name == "holds" else 4)
