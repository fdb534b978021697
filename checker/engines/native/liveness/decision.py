"""The decision of liveness properties on an explored spec.

    label all states with the goals, premises and constraints                            (`labels`)
    for each choice of the property's parameters:
        the region: the states that are reached with the obligation open                 (`edges`)
        its fair components                                                              (`classes`, `components`)
        if there is one, a shortest stem to it
    for the choice with the shortest stem: a fair loop                                   (`lassos`)

The interpreter checks the lasso before it is reported (`checker.explain.lassos`).
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.explore.exploration import Exploration
from checker.engines.native.explore.results import Path
from checker.engines.native.explore.search_store import SearchStore
from checker.engines.native.explore.workers import Workers
from checker.engines.native.liveness.classes import StepClasses
from checker.engines.native.liveness.components import FairGraph, Flags, fair_components
from checker.engines.native.liveness.edges import Edges, EdgeStore, StateNumbers, States
from checker.engines.native.liveness.kernels import NOT_STORED, ExpandKernel
from checker.engines.native.liveness.labels import LabelFailure, StateLabels, Truth
from checker.engines.native.liveness.lassos import RegionSearch
from checker.engines.native.liveness.memory_budget import MemoryBudget
from checker.engines.native.llvm.word_arrays import Words
from checker.engines.native.lowering.state_layout import StateLayout
from checker.explain import violations
from checker.explain.lassos import lasso_violation
from checker.frontend.liveness_typing import TypedLiveness
from checker.ir import nodes
from checker.language.liveness import LivenessProperty
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.liveness import LivenessDecision, LivenessInterrupted, TooLargeError
from checker.run.result import LivenessStatistics, TraceStep, Violation


@dataclass(frozen=True)
class _Obligation:
    """An obligation: it begins in `sources` (n,) and stays open in the states `open` (distinct,).

    With `must_visit` (distinct,), only behaviours that visit one of these states again and again violate the property.
    `is_whole`: the sources are all open states, so the region need not be searched.
    """

    arguments: tuple[Any, ...]
    sources: States
    open: Flags
    must_visit: Flags | None = None
    is_whole: bool = False


@dataclass(frozen=True)
class _Region:
    """The states that are reached with an obligation open, and their graph.

    `states` (n,) has the number of each state, `local` (distinct + 1,) the position of each stored state in `states` or
    -1, and `positions` the steps of the graph in the store of steps.
    """

    states: States
    local: NDArray[np.int32]
    positions: Edges | slice
    graph: FairGraph


@dataclass(frozen=True)
class _Lasso:
    """A counterexample: a shortest path to `source`, and steps of the region from there on.

    `distance` is the number of states before the loop. A step is an action instance and the number of the state after
    it.
    """

    arguments: tuple[Any, ...]
    distance: int
    source: int
    stem: tuple[tuple[int, int], ...]
    loop: tuple[tuple[int, int], ...]


@dataclass
class _Totals:
    """The sums over the regions of a property, see `LivenessStatistics`."""

    states: int = 0
    edges: int = 0
    components: int = 0


class NativeLiveness:
    """Decides liveness properties on the states of an exploration.

    `trace_of` rebuilds a path of action instances and packed states with the interpreter. `program_of` returns the
    typed program of the spec, if another part of the run has one. The spec of a decision may
    have another fairness than the explored one. `compile_seconds` is the time to compile the kernels. What does not fit
    into the `budget` is undecided.
    """

    def __init__(
        self,
        spec: Spec,
        typed: TypedLiveness,
        layout: StateLayout,
        exploration: Exploration,
        trace_of: Callable[[Path], tuple[TraceStep, ...]],
        program_of: Callable[[], nodes.Program] | None = None,
        *,
        workers: int = 1,
        quick: bool = False,
        cancelled: threading.Event | None = None,
        budget: MemoryBudget | None = None,
    ):
        assert isinstance(exploration.store, SearchStore)
        self._typed, self._layout = typed, layout
        self._exploration, self._store, self._trace_of = exploration, exploration.store, trace_of
        self._cancelled = cancelled or threading.Event()
        self._workers, self._budget = workers, budget or MemoryBudget()
        started = time.perf_counter()
        self._labels = StateLabels(spec, typed, self._store, self._budget, quick=quick)
        self._kernel = ExpandKernel(spec, program_of, quick=quick)
        self._numbers = StateNumbers(self._store)
        self._inside: Truth | None = None
        self.compile_seconds = time.perf_counter() - started

    @functools.cached_property
    def _edges(self) -> EdgeStore:
        """The steps of the states that were expanded so far, for all decisions."""
        self._budget.require_rows(self._numbers.count)
        with Workers(self._workers) as team:
            self._store.index_states(lambda work: team.run(work, in_parallel=True))
        return EdgeStore(
            self._kernel,
            self._store,
            self._numbers,
            expected=sum(self._exploration.generated_per_instance),
            workers=self._workers,
            cancelled=self._cancelled,
        )

    # Labels.

    def states_outside(self) -> int:
        """Return the number of states outside the constraints."""
        inside = self._is_inside()
        return 0 if inside is None else int(np.count_nonzero(~inside))

    def _is_inside(self) -> Truth | None:
        """Return whether each state is within the constraints; None if there is no constraint."""
        if self._typed.inside and self._inside is None:
            self._inside = np.logical_and.reduce([self._labels.truth(label) for label in self._typed.inside])
        return self._inside

    def _truth(self, method: str, arguments: tuple[Any, ...]) -> Truth:
        return self._labels.truth(self._typed.number(method, arguments))

    # Decisions.

    def decide(self, spec: Spec, name: str) -> LivenessDecision:
        """Return the decision on a property under the fairness of a spec.

        The choice of the property's parameters with the shortest stem is reported. Raises TooLargeError if a region
        does not fit into memory, and LivenessInterrupted.
        """
        started = time.perf_counter()
        typed_property = self._typed.properties[name]
        choices = typed_property.choices(spec)
        totals = _Totals()
        try:
            violation = self._violation(spec, typed_property, choices, totals)
        except LabelFailure as failure:
            violation = self._failure(spec, name, failure)
        except MemoryError:
            raise TooLargeError("the states and steps of a region do not fit into memory") from None
        seconds = time.perf_counter() - started
        statistics = LivenessStatistics(name, len(choices), totals.states, totals.edges, totals.components, seconds)
        return LivenessDecision(statistics, violation)

    def _failure(self, spec: Spec, name: str, failure: LabelFailure) -> Violation:
        """Return the violation by a goal or premise that leaves its bounds in a state, one nearest to the start."""
        depths = self._store.depths_of(self._numbers.ids(failure.states))
        state = int(failure.states[np.argmin(depths)])
        call = self._typed.calls[failure.label]
        trace = self._trace_of(self._path_to(state))
        return violations.bounds_in_liveness(spec, name, call.method, call.arguments, trace)

    def _path_to(self, state: int) -> Path:
        return self._exploration.path(int(self._numbers.ids(np.array([state]))[0]))

    def _violation(
        self, spec: Spec, typed_property: LivenessProperty, choices: list[tuple[Any, ...]], totals: _Totals
    ) -> Violation | None:
        classes = StepClasses(spec, self._layout)
        best: _Lasso | None = None
        for arguments in choices:
            lasso = self._shortest_lasso(self._obligation(typed_property, arguments), classes, totals, best)
            if lasso is not None:
                best = lasso
        if best is None:
            return None
        path = self._path_to(best.source)
        loop_start = len(path) + len(best.stem) - 1
        for instance, state in (*best.stem, *best.loop):
            path.append((instance, self._words_of(np.array([state]))[0]))
        return lasso_violation(spec, typed_property.name, best.arguments, self._trace_of(path), loop_start)

    def _words_of(self, states: States) -> Words:
        """Return the packed states (n, words) by their numbers."""
        return self._store.words_of_all(self._numbers.ids(states))

    def _obligation(self, typed_property: LivenessProperty, arguments: tuple[Any, ...]) -> _Obligation:
        is_open = ~self._truth(typed_property.name, arguments)
        inside = self._is_inside()
        if inside is not None:
            is_open &= inside
        match typed_property.role:
            case Role.EVENTUALLY:
                return _Obligation(arguments, self._initial(is_open), is_open)
            case Role.ALWAYS_EVENTUALLY:
                return _Obligation(arguments, np.flatnonzero(is_open), is_open, is_whole=True)
            case Role.EVENTUALLY_ALWAYS:
                everything = inside if inside is not None else np.ones(self._numbers.count, np.bool_)
                return _Obligation(arguments, np.flatnonzero(everything), everything, is_open, is_whole=True)
            case _:
                premise = self._truth(typed_property.premise, typed_property.premise_arguments(arguments))
                return _Obligation(arguments, np.flatnonzero(is_open & premise), is_open)

    def _initial(self, chosen: Flags) -> States:
        """Return the initial states among some states."""
        numbers = np.flatnonzero(chosen)
        initial: States = numbers[self._store.depths_of(self._numbers.ids(numbers)) == 0]
        return initial

    # Regions.

    def _shortest_lasso(
        self, obligation: _Obligation, classes: StepClasses, totals: _Totals, best: _Lasso | None
    ) -> _Lasso | None:
        """Return a lasso for an obligation with a stem that is shorter than that of the best one, or None."""
        if self._cancelled.is_set():
            raise LivenessInterrupted
        if not len(obligation.sources):
            return None
        region = self._region(obligation, classes)
        components = fair_components(region.graph)
        component = components.of_state
        totals.states += len(region.states)
        totals.edges += int(np.count_nonzero(region.graph.targets >= 0))
        totals.components += components.decomposed
        if not (component >= 0).any():
            return None
        # If all states are sources, those of a component are: no other source has a shorter stem.
        sources = region.states[component >= 0] if obligation.is_whole else obligation.sources
        depths = self._store.depths_of(self._numbers.ids(sources))
        search = RegionSearch(region.graph)
        stem = search.shortest_stem(region.local[sources].astype(np.int64), depths, component)
        if best is not None and best.distance <= stem.distance:
            return None
        loop = search.fair_loop(stem.first, component)
        source = int(region.states[stem.source])
        return _Lasso(
            obligation.arguments,
            stem.distance,
            source,
            self._steps_as_instances(region, stem.steps),
            self._steps_as_instances(region, loop),
        )

    def _steps_as_instances(self, region: _Region, steps: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        """Return the action instances of some steps of a graph, and the numbers of the states to which they lead."""
        chosen = np.array(steps, np.int64)
        positions = region.positions
        chosen = chosen + positions.start if isinstance(positions, slice) else positions[chosen]
        instances = self._edges.instances(chosen).tolist()
        return tuple(zip(instances, self._edges.targets(chosen).tolist(), strict=True))

    def _region(self, obligation: _Obligation, classes: StepClasses) -> _Region:
        """Return the region of an obligation."""
        states = self._reach(obligation, classes)
        positions = self._edges.positions(states)
        # The last item is that of a successor that is not stored.
        local = np.full(self._numbers.count + 1, -1, np.int32)
        local[states] = np.arange(len(states), dtype=np.int32)
        targets = local[np.minimum(self._edges.targets(positions), np.uint32(self._numbers.count))]
        sources = np.repeat(np.arange(len(states), dtype=np.int32), self._edges.count_of(states))
        words = self._words_of(states) if classes.needs_states else None
        step_classes, is_strong = classes.of_steps(self._edges.instances(positions), sources, words)
        must_visit = obligation.must_visit[states] if obligation.must_visit is not None else None
        graph = FairGraph(len(states), sources, targets, step_classes, is_strong, classes.next_is_fair, must_visit)
        return _Region(states, local, positions, graph)

    def _reach(self, obligation: _Obligation, classes: StepClasses) -> States:
        """Return the numbers of the states that are reached with the obligation open, each once; expand them.

        New states are in the order in which they are expanded, so that their steps follow one another. Raises
        TooLargeError before states are expanded that do not fit into memory.
        """
        if obligation.is_whole:
            self._expand(obligation.sources, 0, 0, classes)
            return obligation.sources
        is_reached = np.zeros(self._numbers.count, np.bool_)
        frontier = obligation.sources
        reached: list[States] = []
        states = steps = 0
        while len(frontier):
            is_reached[frontier] = True
            reached.append(frontier)
            states, steps = self._expand(frontier, states, steps, classes)
            targets = self._edges.targets(self._edges.positions(frontier))
            targets = targets[targets != NOT_STORED]
            targets = targets[obligation.open[targets] & ~is_reached[targets]]
            frontier = np.unique(targets).astype(np.int64)
        return np.concatenate(reached)

    def _expand(self, frontier: States, states: int, steps: int, classes: StepClasses) -> tuple[int, int]:
        """Expand a part of a region, which has some states and steps so far; return these numbers with the part."""
        states += len(frontier)
        self._budget.require_region(states, steps + self._edges.estimate_steps(frontier), classes)
        self._edges.expand(frontier)
        steps += int(self._edges.count_of(frontier).sum())
        # The exact number may be larger than the expected one.
        self._budget.require_region(states, steps, classes)
        return states, steps
