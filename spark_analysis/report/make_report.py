"""Creation of a report from a folder of walks: counts, shrunk violations, causes, exploration."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from checker.errors import UserError
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run import registry
from checker.run.result import Violation
from spark_analysis.report.causes import CauseCluster, CauseClusters, cluster_by_cause
from spark_analysis.report.exhaustive_baseline import ExhaustiveBaseline, ExploredConfiguration, baseline_of
from spark_analysis.report.local_source import LocalWalkSource
from spark_analysis.report.readable_parts import ReadableParts, readable_parts
from spark_analysis.report.report_data import report_data
from spark_analysis.report.shrunk_walks import ShrunkWalks, population_of, shrink_walks
from spark_analysis.report.spark_source import SparkWalkSource
from spark_analysis.report.walk_counts import WalkCounts, count_walks
from spark_analysis.report.walk_source import WalkSource
from spark_analysis.session import opened
from spark_analysis.walks.exact_probability import exact_probabilities
from spark_analysis.walks.importance_splitting import SplittingEstimator
from spark_analysis.walks.local_simulation import MOST_WALKS as MOST_LOCAL_WALKS
from spark_analysis.walks.records import WalkRun, configured_spec, read_walks, run_with_known_target, spec_of
from spark_analysis.walks.walk_request import liveness_in
from traces.storage import Location

MOST_STATES = 2_000_000
"""Default limit for the states of each search for a shorter trace and of each exploration of a configuration."""

MOST_EXACT_STATES = 2_000
"""Number of states up to which a report computes exact probabilities by itself: about a second of the interpreter."""

RARE = 100
"""Number of violating walks below which a property is estimated by splitting."""

_POLL_SECONDS = 0.2

Result = TypeVar("Result")

SHUFFLE_PARTITIONS = "8"
"""For a local session: the counts are small, and every further partition costs time."""


@dataclass(frozen=True)
class WalkReport:
    """A report: its data (the content of `report.json`), the run, the clusters and the missed violations with specs.

    `damaged` has a sentence for each part that is not counted because it was changed or truncated.
    """

    data: dict[str, Any]
    run: WalkRun
    clusters: tuple[tuple[Spec, CauseCluster], ...]
    missed: tuple[tuple[Spec, Violation], ...] = ()
    damaged: tuple[str, ...] = ()

    @property
    def violations(self) -> list[tuple[Spec, Violation]]:
        """The shrunk representative of each cluster."""
        return [(spec, cluster.reduced) for spec, cluster in self.clusters]


def report_on(
    folder: Location,
    *,
    spec: Path | None = None,
    master: str | None = None,
    max_states: int = MOST_STATES,
    exact_states: int = MOST_EXACT_STATES,
    splitting: int = 0,
    on_stage: Callable[[str], None] = lambda stage: None,
    spark: Any = None,
) -> WalkReport:
    """Return the report on a folder of walks.

    `spec` is the file of the spec, if that is not in the library. Processes of this machine do the work unless there is
    a Spark `master`, a session `spark` to use, or more than `MOST_LOCAL_WALKS`; the report is the same. `max_states`
    bounds each search. Exact probabilities are computed for configurations of at most `exact_states` states. With
    `splitting` walks for each level, the probability of a violation that few walks show is estimated. `on_stage` is
    called with the name of each stage. Raises InputError if the folder has no readable walks.
    """
    run = run_with_known_target(folder, spec)
    parts = readable_parts(folder, run)
    work = _ReportWork(folder, run, parts, max_states, exact_states, splitting, on_stage)
    if spark is not None:
        return _in_thread(lambda: work.report(SparkWalkSource(spark, folder, run, parts.numbers)))
    if not needs_spark(run, master):
        return work.report(LocalWalkSource(folder, run, parts.numbers))
    on_stage("starting Spark")

    def on_spark() -> WalkReport:
        with opened(master, settings=session_settings(master)) as own:
            return work.report(SparkWalkSource(own, folder, run, parts.numbers))

    return _in_thread(on_spark)


def needs_spark(run: WalkRun, master: str | None) -> bool:
    """Return whether a report on a run starts Spark."""
    return master is not None or run.total > MOST_LOCAL_WALKS


def session_settings(master: str | None) -> dict[str, str]:
    """Return the settings of a session that makes or reads walks."""
    is_local = master is None or master.startswith("local")
    return {"spark.sql.shuffle.partitions": SHUFFLE_PARTITIONS} if is_local else {}


@dataclass(frozen=True)
class _ReportWork:
    """The readable parts of a run, and the limits of the report on them."""

    folder: Location
    run: WalkRun
    parts: ReadableParts
    max_states: int
    exact_states: int
    splitting: int
    on_stage: Callable[[str], None]

    def report(self, source: WalkSource) -> WalkReport:
        """Return the report on the walks of a source."""
        run, notes = self.run, list(self.parts.sentences)
        specs = _specs(run, notes)
        # A task may run in another folder.
        shipped = dataclasses.replace(run, target=registry.absolute_target(run.target)) if specs else run
        self.on_stage(f"counting {len(self.parts.numbers):,} parts")
        counts = count_walks(source)
        if counts.foreign:
            notes.append(f"Not counted: {counts.foreign:,} walks of another version of {run.spec}.")
        roles = _roles(run)
        if left_out := liveness_in(roles):
            notes.append(f"Not checked by walks: {', '.join(left_out)} (liveness).")
        clusters, shrunk = self._causes(source, counts, shipped, specs)
        self.on_stage("exploring all states for comparison")
        rare = {number: _rare_failures(run, counts, number) for number in specs}
        explore = partial(_explore, shipped, self.max_states, self.exact_states, self.splitting, rare)
        explored = dict(zip(specs, source.map(explore, list(specs), "explore the spec"), strict=True))
        known = {number: each.baseline for number, each in explored.items()}
        data = report_data(run, roles, counts, clusters, shrunk, explored, specs, _scenario(run, specs), notes)
        missed = tuple(
            (specs[entry["configuration"]], _violation_in(known[entry["configuration"]], entry["property"]))
            for entry in data["missed"]
        )
        of_causes = tuple((specs[each.configuration], each) for each in clusters.found)
        return WalkReport(data, run, of_causes, missed, self.parts.damaged)

    def _causes(
        self, source: WalkSource, counts: WalkCounts, shipped: WalkRun, specs: Mapping[int, Spec]
    ) -> tuple[CauseClusters, ShrunkWalks]:
        outcomes = [outcome for outcome in counts.outcomes if outcome.configuration in specs]
        if all(outcome.verdict == "holds" for outcome in outcomes):
            return CauseClusters(), ShrunkWalks()
        self.on_stage("shrinking violations")
        patterns = [pattern for pattern in counts.patterns if pattern.configuration in specs]
        shrunk = shrink_walks(source, shipped, outcomes, patterns)
        self.on_stage("grouping violations by cause")
        read_rows = partial(read_walks, self.folder, self.run)
        return cluster_by_cause(shrunk, source, shipped, read_rows, self.max_states), shrunk


def _rare_failures(run: WalkRun, counts: WalkCounts, number: int) -> set[str]:
    """Return the properties that fewer than RARE walks of a configuration violate."""
    violating = population_of(
        [outcome for outcome in counts.outcomes if outcome.configuration == number], run.properties
    )
    walks = {stratum.failure.name: count for stratum, count in violating.items()}
    return {name for name in run.properties if walks.get(name, 0) < RARE}


def _explore(
    run: WalkRun, max_states: int, exact_states: int, splitting: int, rare: Mapping[int, set[str]], number: int
) -> ExploredConfiguration:
    """Return what exploration finds out about a configuration; `rare` are the properties to estimate by splitting."""
    spec = configured_spec(run, number)
    known = baseline_of(spec, run, number, max_states)
    weights = {action.name: action.weight for action in run.configurations[number].actions}
    exact = None
    if known.states is not None and known.states <= exact_states:
        exact = exact_probabilities(spec, run.properties, run.depth, weights, exact_states, beyond=run.beyond)
    split = {}
    # A property that leaves its bounds has no role of its own to split on; neither has a deadlock.
    for name in sorted(rare[number] & known.violations.keys() & spec.roles.keys()) if splitting else ():
        estimator = SplittingEstimator(spec, name, run.depth, weights)
        if estimator.is_possible:
            split[name] = estimator.estimate(splitting, run.seed)
    return ExploredConfiguration(known, exact, split)


def _violation_in(known: ExhaustiveBaseline, name: str) -> Violation:
    return next(violation for violation in known.found if violation.property == name)


def _in_thread(work: Callable[[], Result]) -> Result:
    """Call `work` in a thread and wait for it: an interrupt would break a connection that Py4J reads in this thread."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL_SECONDS)
    if errors:
        raise errors[0]
    return results[0]


def _specs(run: WalkRun, notes: list[str]) -> dict[int, Spec]:
    """Return the spec of each configuration. If the spec has changed, return none and add a note."""
    specs: dict[int, Spec] = {}
    for settings in run.configurations:
        try:
            specs[settings.number] = spec_of(run, settings.number)
        except UserError as error:
            notes.append(f"The report has no counterexamples: {error.message}.")
            return {}
    return specs


def _roles(run: WalkRun) -> Mapping[str, Role]:
    """Return the roles of the spec's properties; empty if the spec no longer exists."""
    try:
        return registry.select_spec(run.target).spec.roles
    except UserError:
        return {}


def _scenario(run: WalkRun, specs: Mapping[int, Spec]) -> str:
    """Return the description of the scenario of a run; "" without one."""
    spec = next(iter(specs.values()), None)
    if spec is None or run.sweep:
        return ""
    return registry.select_spec(run.target).description(run.scenario, spec.constants)


def dot_of(report: WalkReport) -> str:
    """Return the shrunk schedules as one tree in DOT, which shows where they diverge and what each violates."""
    from graphviz import Digraph

    tree = Digraph("causes", graph_attr={"rankdir": "LR"}, node_attr={"shape": "circle", "label": "", "width": "0.15"})
    names: dict[tuple[str, ...], str] = {}
    for number, (_, violation) in enumerate(report.violations, 1):
        calls = tuple(str(step) for step in violation.trace[1:])
        calls += (str(violation.failed_action),) if violation.failed_action else ()
        start = f"initial state {report.clusters[number - 1][0].initial_states().index(violation.trace[0].state)}"
        path: tuple[str, ...] = (start,)
        names.setdefault(path, f"n{len(names)}")
        tree.node(names[path], label=start, shape="plain")
        for call in calls:
            before, path = path, (*path, call)
            if path not in names:
                names[path] = f"n{len(names)}"
                tree.edge(names[before], names[path], label=call)
        walks = report.data["clusters"][number - 1]["walks"]
        tree.node(f"c{number}", label=f"{number}. {violation.property}\n{walks:,} walks", shape="box")
        tree.edge(names[path], f"c{number}", style="dashed", arrowhead="none")
    return str(tree.source)
