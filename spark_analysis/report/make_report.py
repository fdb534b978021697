"""Creation of a report from a folder of walks: counts by Spark, shrunk violations, causes, exploration."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
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
from spark_analysis.report.exhaustive_baseline import ExhaustiveBaseline, baseline_of
from spark_analysis.report.readable_parts import readable_parts
from spark_analysis.report.report_data import report_data
from spark_analysis.report.shrunk_walks import ShrunkWalks, shrink_walks
from spark_analysis.report.walk_counts import WalkCounts, count_walks, read_rows
from spark_analysis.session import FORWARDING, opened
from traces.storage import Location
from traces.walks.exact_probability import Failure, exact_probabilities
from traces.walks.records import WalkRun, spec_of, trusted_run

MOST_STATES = 2_000_000
"""Default limit for the states of each search for a shorter trace and of each exploration of a configuration."""

MOST_EXACT_STATES = 2_000
"""Number of states up to which a report computes exact probabilities by itself: about a second of the interpreter."""

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
        return [(spec, found.shrunk.violation) for spec, found in self.clusters]


def report_on(
    folder: Location,
    *,
    spec: Path | None = None,
    master: str | None = None,
    max_states: int = MOST_STATES,
    exact_states: int = MOST_EXACT_STATES,
    on_stage: Callable[[str], None] = lambda stage: None,
    spark: Any = None,
) -> WalkReport:
    """Return the report on a folder of walks.

    `spec` is the file of the spec, if that is not in the library. `spark` is a session to use instead of a new one on
    `master`. `max_states` bounds each search. Exact probabilities are computed for configurations of at most
    `exact_states` states. `on_stage` is called with the name of each stage. Raises InputError if
    the folder has no readable walks.
    """
    run = trusted_run(folder, spec)
    parts = readable_parts(folder, run)
    notes = list(parts.sentences)
    specs = _specs(run, notes)
    if spark is None:
        is_local = master is None or master.startswith("local")
        settings = {"spark.sql.shuffle.partitions": SHUFFLE_PARTITIONS, **FORWARDING} if is_local else {}
        on_stage("starting Spark")

        def counted() -> tuple[WalkCounts, CauseClusters, ShrunkWalks]:
            with opened(master, settings=settings) as own:
                return _counted(own, run, parts.paths, specs, max_states, notes, on_stage)

        counts, clusters, shrunk = _in_thread(counted)
    else:
        counts, clusters, shrunk = _counted(spark, run, parts.paths, specs, max_states, notes, on_stage)
    on_stage("exploring all states for comparison")
    known = {number: baseline_of(spec, run, number, max_states) for number, spec in specs.items()}
    on_stage("computing exact probabilities")
    exact = {number: _exact(run, number, spec, known[number], exact_states) for number, spec in specs.items()}
    data = report_data(run, _roles(run), counts, clusters, shrunk, known, exact, specs, notes)
    missed = tuple(
        (specs[entry["configuration"]], _violation_in(known[entry["configuration"]], entry["property"]))
        for entry in data["missed"]
    )
    return WalkReport(
        data, run, tuple((specs[found.configuration], found) for found in clusters.found), missed, parts.damaged
    )


def _exact(
    run: WalkRun, number: int, spec: Spec, known: ExhaustiveBaseline, most: int
) -> Mapping[Failure, float] | None:
    """Return the exact probability of each failure in a configuration; None if it has more states than `most`."""
    if known.states is None or known.states > most:
        return None
    weights = {action.name: action.weight for action in run.configurations[number].actions}
    return exact_probabilities(spec, run.properties, run.depth, weights, most)


def _violation_in(known: ExhaustiveBaseline, name: str) -> Violation:
    return next(found for found in known.found if found.property == name)


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


def _counted(
    spark: Any,
    run: WalkRun,
    paths: Sequence[Path],
    specs: Mapping[int, Spec],
    max_states: int,
    notes: list[str],
    on_stage: Callable[[str], None],
) -> tuple[WalkCounts, CauseClusters, ShrunkWalks]:
    on_stage(f"counting {len(paths):,} parts")
    counts = count_walks(spark, run, paths)
    if counts.foreign:
        notes.append(f"Not counted: {counts.foreign:,} walks of another version of {run.spec}.")
    outcomes = [found for found in counts.outcomes if found.configuration in specs]
    if all(found.verdict == "holds" for found in outcomes):
        return counts, CauseClusters(), ShrunkWalks()
    on_stage("shrinking violations")
    patterns = [pattern for pattern in counts.patterns if pattern.configuration in specs]
    shrunk = shrink_walks(spark, run, outcomes, patterns)
    on_stage("grouping violations by cause")
    return counts, cluster_by_cause(shrunk, partial(read_rows, spark), specs.__getitem__, max_states), shrunk


def _specs(run: WalkRun, notes: list[str]) -> dict[int, Spec]:
    """Return the spec of each configuration. If the spec has changed, return none and add a note."""
    specs: dict[int, Spec] = {}
    for found in run.configurations:
        try:
            specs[found.number] = spec_of(run, found.number)
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


def dot_of(found: WalkReport) -> str:
    """Return the shrunk schedules as one tree in DOT, which shows where they diverge and what each violates."""
    from graphviz import Digraph

    tree = Digraph("causes", graph_attr={"rankdir": "LR"}, node_attr={"shape": "circle", "label": "", "width": "0.15"})
    names: dict[tuple[str, ...], str] = {}
    for number, (_, violation) in enumerate(found.violations, 1):
        calls = tuple(str(step) for step in violation.trace[1:])
        calls += (str(violation.failed_action),) if violation.failed_action else ()
        start = f"initial state {found.clusters[number - 1][0].initial_states().index(violation.trace[0].state)}"
        path: tuple[str, ...] = (start,)
        names.setdefault(path, f"n{len(names)}")
        tree.node(names[path], label=start, shape="plain")
        for call in calls:
            before, path = path, (*path, call)
            if path not in names:
                names[path] = f"n{len(names)}"
                tree.edge(names[before], names[path], label=call)
        walks = found.data["clusters"][number - 1]["walks"]
        tree.node(f"c{number}", label=f"{number}. {violation.property}\n{walks:,} walks", shape="box")
        tree.edge(names[path], f"c{number}", style="dashed", arrowhead="none")
    return str(tree.source)
