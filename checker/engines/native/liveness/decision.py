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
from checker.engines.native.explore.store import Store, Words
from checker.engines.native.liveness.classes import StepClasses
from checker.engines.native.liveness.components import FairGraph, Flags, fair_components
from checker.engines.native.liveness.edges import Edges, EdgeStore, StateNumbers, States
from checker.engines.native.liveness.kernels import NOT_STORED, ExpandKernel
from checker.engines.native.liveness.labels import LabelFailure, StateLabels, Truth
from checker.engines.native.liveness.lassos import FoundStem, RegionGraph
from checker.engines.native.liveness.memory_budget import MemoryBudget
from checker.engines.native.lowering.state_layout import StateLayout
from checker.engines.native.results import Path
from checker.explain import violations
from checker.explain.lassos import lasso_violation
from checker.frontend.liveness_typing import TypedLiveness
from checker.frontend.program import compile_spec
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
class _Lasso:
    """A counterexample in the graph of a region, of which `states` are the numbers and `positions` the steps."""

    arguments: tuple[Any, ...]
    stem: FoundStem
    states: States
    source: int
    stem_steps: tuple[tuple[int, int], ...]
    loop: tuple[tuple[int, int], ...]


@dataclass
class _Totals:
    """The sums over the regions of a property, see `LivenessStatistics`."""

    states: int = 0
    edges: int = 0
    components: int = 0

    def add(self, states: int, edges: int, components: int) -> None:
        """Add those of a region."""
        self.states, self.edges, self.components = (
            self.states + states,
            self.edges + edges,
            self.components + components,
        )


@dataclass
class _Size:
    """The number of states and steps of a part of a region."""

    states: int = 0
    steps: int = 0


class NativeLiveness:
    """Decides liveness properties on the states of an exploration.

    `trace_of` rebuilds a path of action instances and packed states with the interpreter. The spec of a decision may
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
        *,
        workers: int = 1,
        quick: bool = False,
        cancelled: threading.Event | None = None,
        budget: MemoryBudget | None = None,
    ):
        assert isinstance(exploration.store, Store)
        self._typed, self._layout = typed, layout
        self._exploration, self._store, self._trace_of = exploration, exploration.store, trace_of
        self._cancelled = cancelled or threading.Event()
        self._workers, self._budget = workers, budget or MemoryBudget()
        started = time.perf_counter()
        program = compile_spec(spec, [])
        self._labels = StateLabels(program, typed.predicates, self._store, self._budget, quick=quick)
        self._kernel = ExpandKernel(program, quick=quick)
        self._numbers = StateNumbers(self._store)
        self._inside: Truth | None = None
        self.compile_seconds = time.perf_counter() - started

    @functools.cached_property
    def _edges(self) -> EdgeStore:
        """The steps of the states that were expanded so far, for all decisions."""
        self._budget.require_rows(self._numbers.count)
        return EdgeStore(
            self._kernel,
            self._store,
            self._numbers,
            expected=int(self._exploration.generated_per_instance.sum()),
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
        found = self._typed.properties[name]
        choices = found.choices(spec)
        totals = _Totals()
        try:
            violation = self._violation(spec, found, choices, totals)
        except LabelFailure as failure:
            violation = self._failed(spec, name, failure)
        except MemoryError:
            raise TooLargeError("the states and steps of a region do not fit into memory") from None
        seconds = time.perf_counter() - started
        statistics = LivenessStatistics(name, len(choices), totals.states, totals.edges, totals.components, seconds)
        return LivenessDecision(statistics, violation)

    def _failed(self, spec: Spec, name: str, failure: LabelFailure) -> Violation:
        """Return the violation by a goal or premise that leaves its bounds in a state, one nearest to the start."""
        depths = self._store.depths_of(self._numbers.ids(failure.states))
        state = int(failure.states[np.argmin(depths)])
        call = self._typed.calls[failure.label]
        trace = self._trace_of(self._path_to(state))
        return violations.bounds_in_liveness(spec, name, call.method, call.arguments, trace)

    def _path_to(self, state: int) -> Path:
        return self._exploration.path(int(self._numbers.ids(np.array([state]))[0]))

    def _violation(
        self, spec: Spec, found: LivenessProperty, choices: list[tuple[Any, ...]], totals: _Totals
    ) -> Violation | None:
        classes = StepClasses(spec, self._layout)
        best: _Lasso | None = None
        for arguments in choices:
            lasso = self._shortest_lasso(self._obligation(found, arguments), classes, totals, best)
            if lasso is not None:
                best = lasso
        if best is None:
            return None
        path = self._path_to(best.source)
        stem = len(path) + len(best.stem_steps)
        for instance, state in (*best.stem_steps, *best.loop):
            path.append((instance, self._words_of(np.array([state]))[0]))
        return lasso_violation(spec, found.name, best.arguments, self._trace_of(path), stem - 1)

    def _words_of(self, states: States) -> Words:
        """Return the packed states (n, words) by their numbers."""
        return self._store.words_of_all(self._numbers.ids(states))

    def _obligation(self, found: LivenessProperty, arguments: tuple[Any, ...]) -> _Obligation:
        is_open = ~self._truth(found.name, arguments)
        inside = self._is_inside()
        if inside is not None:
            is_open &= inside
        match found.role:
            case Role.EVENTUALLY:
                return _Obligation(arguments, self._initial(is_open), is_open)
            case Role.ALWAYS_EVENTUALLY:
                return _Obligation(arguments, np.flatnonzero(is_open), is_open, is_whole=True)
            case Role.EVENTUALLY_ALWAYS:
                everything = inside if inside is not None else np.ones(self._numbers.count, np.bool_)
                return _Obligation(arguments, np.flatnonzero(everything), everything, is_open, is_whole=True)
            case _:
                premise = self._truth(found.premise, found.premise_arguments(arguments))
                return _Obligation(arguments, np.flatnonzero(is_open & premise), is_open)

    def _initial(self, chosen: Flags) -> States:
        """Return the initial states among some states."""
        numbers = np.flatnonzero(chosen)
        initial: States = numbers[self._store.depths_of(self._numbers.ids(numbers)) == 0]
        return initial

    # Regions.

    def _region(self, obligation: _Obligation, layers: int) -> States:
        """Return the numbers of the states that are reached with the obligation open, each once; expand them.

        New states are in the order in which they are expanded, so that their steps follow one another. Raises
        TooLargeError before states are expanded that do not fit into memory, with `layers` of fair classes.
        """
        if obligation.is_whole:
            self._expand(obligation.sources, _Size(), layers)
            return obligation.sources
        size = _Size()
        is_reached = np.zeros(self._numbers.count, np.bool_)
        frontier = obligation.sources
        reached = []
        while len(frontier):
            is_reached[frontier] = True
            reached.append(frontier)
            self._expand(frontier, size, layers)
            targets = self._edges.targets(self._edges.positions(frontier))
            targets = targets[targets != NOT_STORED]
            targets = targets[obligation.open[targets] & ~is_reached[targets]]
            frontier = np.unique(targets).astype(np.int64)
        return np.concatenate(reached)

    def _expand(self, states: States, size: _Size, layers: int) -> None:
        """Expand some states of a region of which `size` was expanded before, and add theirs."""
        self._budget.require_region(size.states + len(states), size.steps + self._edges.expected_steps(states), layers)
        self._edges.expand(states)
        size.states += len(states)
        size.steps += int(self._edges.count_of(states).sum())
        # The exact number may be larger than the expected one.
        self._budget.require_region(size.states, size.steps, layers)

    def _shortest_lasso(
        self, obligation: _Obligation, classes: StepClasses, totals: _Totals, best: _Lasso | None
    ) -> _Lasso | None:
        """Return a lasso for an obligation with a stem that is shorter than the best one, or None."""
        if self._cancelled.is_set():
            raise LivenessInterrupted
        if not len(obligation.sources):
            return None
        states = self._region(obligation, classes.layers)
        counts = self._edges.count_of(states)
        positions = self._edges.positions(states)
        local = np.full(self._numbers.count + 1, -1, np.int32)
        local[states] = np.arange(len(states), dtype=np.int32)
        graph = self._graph(obligation, classes, states, counts, positions, local)
        components = fair_components(graph)
        totals.add(len(states), int(np.count_nonzero(graph.targets >= 0)), components.decomposed)
        if not (components.of_state >= 0).any():
            return None
        region = RegionGraph(graph)
        sources = obligation.sources
        if obligation.is_whole:
            # Each state of a component is a source, so the other states lie on no shorter stem.
            sources = states[components.of_state >= 0]
        depths = self._store.depths_of(self._numbers.ids(sources))
        stem = region.shortest_stem(local[sources].astype(np.int64), depths, components.of_state)
        if best is not None and best.stem.distance <= stem.distance:
            return None
        loop = region.fair_loop(stem.first, components.of_state)

        def taken(steps: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
            """Return the action instances of some steps, and the numbers of the states to which they lead."""
            chosen = np.array(steps, np.int64)
            chosen = chosen + positions.start if isinstance(positions, slice) else positions[chosen]
            instances = self._edges.instances(chosen).tolist()
            return tuple(zip(instances, self._edges.targets(chosen).tolist(), strict=True))

        return _Lasso(obligation.arguments, stem, states, int(states[stem.source]), taken(stem.steps), taken(loop))

    def _graph(
        self,
        obligation: _Obligation,
        classes: StepClasses,
        states: States,
        counts: NDArray[np.int64],
        positions: Edges | slice,
        local: NDArray[np.int32],
    ) -> FairGraph:
        """Return the graph of a region: the steps at some positions, `counts` of each state.

        `local` (distinct + 1,) has the number of each state within the region, or -1.
        """
        # The last item of `local` is that of a successor that is not stored.
        targets = np.minimum(self._edges.targets(positions), np.uint32(self._numbers.count))
        sources = np.repeat(np.arange(len(states), dtype=np.int32), counts)
        before = self._words_of(states)[sources] if classes.needs_states else None
        step_classes, is_strong = classes.of_steps(self._edges.instances(positions), before)
        must_visit = obligation.must_visit[states] if obligation.must_visit is not None else None
        return FairGraph(
            len(states), sources, local[targets], step_classes, is_strong, classes.next_is_fair, must_visit
        )
