"""The reference decision of liveness properties: on an explicit graph of the explored states, with the interpreter.

A counterexample is a path to a set of states that a fair behaviour can visit again and again for ever: a fair
component. Its states are strongly connected by steps that change the state. One state alone is strongly connected: the
behaviour stutters in it. A component is fair if for each fair class of steps

    weak     a state of the component disables it, or a step inside the component takes it
    strong   every state of the component disables it, or a step inside the component takes it

Where a strongly fair class is enabled, but never taken, the states that enable it are removed, and the rest is
decomposed again (Streett's condition; Emerson and Lei, 1987). A class is enabled in a state if one of its steps changes
the state: TLA+'s ENABLED <A>_vars.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from checker.errors import BoundsError
from checker.explain import violations
from checker.explain.lassos import lasso_violation
from checker.language.fairness import FairClass
from checker.language.interpreter import State, Step
from checker.language.liveness import FairClasses, LivenessProperty, liveness_property
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.run.liveness import LivenessDecision
from checker.run.result import LivenessStatistics, TraceStep, Violation


@dataclass(frozen=True)
class ExploredGraph:
    """The states of an exploration in breadth-first order.

    `depths` are their distances from the initial states. `trace_to` returns the trace to a state by its number.
    `is_inside`: the state is within the constraints. A state outside is part of no counterexample. `steps_of` returns
    the steps from a state (None: those of the interpreter).
    """

    spec: Spec
    states: list[State]
    index: dict[State, int]
    depths: list[int]
    is_inside: list[bool]
    trace_to: Callable[[int], tuple[TraceStep, ...]]
    steps_of: Callable[[State], Iterable[Step]] | None = None


@dataclass(frozen=True)
class _Edge:
    """A step from a stored state that changes it; `target` is None if the successor was not explored."""

    step: Step
    target: int | None
    classes: tuple[FairClass, ...]


@dataclass(frozen=True)
class Obligation:
    """An obligation: it begins in `sources` and stays open in the states `open`.

    With `must_visit`, only behaviours that visit one of these states again and again violate the property.
    """

    arguments: tuple[Any, ...]
    sources: list[int]
    open: frozenset[int]
    must_visit: frozenset[int] | None = None


class _EvaluationError(Exception):
    """The evaluation of a goal or premise left its bounds in a state."""

    def __init__(self, method: str, arguments: tuple[Any, ...], state: int):
        super().__init__(method)
        self.method, self.arguments, self.state = method, arguments, state


@dataclass
class _Totals:
    """The sums over the regions of a property, see `LivenessStatistics`."""

    states: int = 0
    edges: int = 0
    components: int = 0


@dataclass(frozen=True)
class _Stem:
    """A shortest way to a fair component: the number of states before the loop, and the steps from `source` on."""

    distance: int
    source: int
    edges: tuple[_Edge, ...]
    component: frozenset[int]
    first: int


class LivenessDecider:
    """Decides the liveness properties of an explored spec."""

    def __init__(self, graph: ExploredGraph):
        self._graph = graph
        self._classes = FairClasses(graph.spec)
        self._edges: dict[int, list[_Edge]] = {}

    def decide(self, name: str) -> LivenessDecision:
        """Return the decision on a property. The choice of its parameters with the shortest stem is reported."""
        started = time.perf_counter()
        totals = _Totals()
        spec = self._graph.spec
        declared = liveness_property(spec, name)
        try:
            violation = self._violation(declared, totals)
        except _EvaluationError as error:
            violation = violations.bounds_in_liveness(
                spec, name, error.method, error.arguments, self._graph.trace_to(error.state)
            )
        seconds = time.perf_counter() - started
        statistics = LivenessStatistics(
            name, len(declared.choices(spec)), totals.states, totals.edges, totals.components, seconds
        )
        return LivenessDecision(statistics, violation)

    def _violation(self, declared: LivenessProperty, totals: _Totals) -> Violation | None:
        best: tuple[_Stem, Obligation] | None = None
        # All choices are evaluated first: a value that leaves its bounds is reported before any lasso.
        for obligation in self.obligations(declared.name):
            stem = self._shortest_stem(obligation, totals)
            if stem is not None and (best is None or stem.distance < best[0].distance):
                best = stem, obligation
        if best is None:
            return None
        stem, obligation = best
        loop = self._loop(stem.first, stem.component, obligation.must_visit)
        trace = [*self._graph.trace_to(stem.source), *map(self._trace_step, (*stem.edges, *loop))]
        loop_start = len(trace) - 1 - len(loop)
        return lasso_violation(self._graph.spec, declared.name, obligation.arguments, tuple(trace), loop_start)

    def _trace_step(self, edge: _Edge) -> TraceStep:
        return TraceStep(edge.step.action, edge.step.arguments, edge.step.state)

    # Obligations.

    def obligations(self, name: str) -> list[Obligation]:
        """Return the obligation of a property for each choice of its parameters."""
        declared = liveness_property(self._graph.spec, name)
        return [self._obligation(declared, arguments) for arguments in declared.choices(self._graph.spec)]

    def _obligation(self, declared: LivenessProperty, arguments: tuple[Any, ...]) -> Obligation:
        """Return where an obligation begins, and the states in which it stays open."""
        goal = self._truth(declared.name, arguments)
        inside = [number for number, is_inside in enumerate(self._graph.is_inside) if is_inside]
        false = frozenset(number for number in inside if not goal[number])
        match declared.role:
            case Role.EVENTUALLY:
                return Obligation(arguments, [number for number in false if self._graph.depths[number] == 0], false)
            case Role.ALWAYS_EVENTUALLY:
                return Obligation(arguments, sorted(false), false)
            case Role.EVENTUALLY_ALWAYS:
                return Obligation(arguments, inside, frozenset(inside), false)
            case _:
                premise = self._truth(declared.premise, declared.premise_arguments(arguments))
                return Obligation(arguments, [number for number in sorted(false) if premise[number]], false)

    def _truth(self, method: str, arguments: tuple[Any, ...]) -> list[bool]:
        """Return the value of a method in each state."""
        values = []
        for number, state in enumerate(self._graph.states):
            try:
                values.append(self._graph.spec.holds(method, state, arguments=arguments))
            except BoundsError:
                raise _EvaluationError(method, arguments, number) from None
        return values

    def _edges_of(self, number: int) -> list[_Edge]:
        """Return the steps from a state that change it."""
        if number not in self._edges:
            state = self._graph.states[number]
            steps_of = self._graph.steps_of
            steps = self._graph.spec.expand(state)[0] if steps_of is None else steps_of(state)
            self._edges[number] = [
                _Edge(step, self._graph.index.get(step.state), self._classes.of_step(state, step))
                for step in steps
                if step.state != state
            ]
        return self._edges[number]

    def _edges_inside(self, number: int, states: frozenset[int]) -> Iterator[tuple[_Edge, int]]:
        for edge in self._edges_of(number):
            if edge.target is not None and edge.target in states:
                yield edge, edge.target

    # Stems.

    def _shortest_stem(self, obligation: Obligation, totals: _Totals) -> _Stem | None:
        distances, arrivals = self.distances(obligation)
        region = frozenset(distances)
        totals.states += len(region)
        totals.edges += sum(1 for number in region for _ in self._edges_inside(number, region))
        components = list(self._fair_components(region, obligation.must_visit, totals))
        component_of = {number: component for component in components for number in component}
        if not component_of:
            return None

        def preference(number: int) -> tuple[int, bool, int]:
            # Among the shortest stems, one that ends in a state in which the system may stay makes the simplest loop.
            alone = frozenset({number})
            return distances[number], not self._is_fair(alone, obligation.must_visit), number

        first = min(component_of, key=preference)
        edges: list[_Edge] = []
        source = first
        while (arrival := arrivals[source]) is not None:
            source, edge = arrival
            edges.append(edge)
        return _Stem(distances[first], source, tuple(reversed(edges)), component_of[first], first)

    def distances(self, obligation: Obligation) -> tuple[dict[int, int], dict[int, tuple[int, _Edge] | None]]:
        """Return the distance of each state of the region on paths on which the obligation is open, and its last step.

        A path begins in a source, at the source's own depth. States are taken in the order of their distances.
        """
        distances: dict[int, int] = {}
        arrivals: dict[int, tuple[int, _Edge] | None] = {}
        by_depth: dict[int, list[int]] = {}
        for source in obligation.sources:
            by_depth.setdefault(self._graph.depths[source], []).append(source)
        distance = 0
        frontier: list[tuple[int, tuple[int, _Edge] | None]] = []
        while frontier or by_depth:
            reached, frontier = frontier, []
            # A source comes first: its own shortest trace is one of the shortest paths.
            for number, arrival in [*((source, None) for source in by_depth.pop(distance, [])), *reached]:
                if number in distances:
                    continue
                distances[number], arrivals[number] = distance, arrival
                for edge, target in self._edges_inside(number, obligation.open):
                    frontier.append((target, (number, edge)))
            distance += 1
        return distances, arrivals

    # Fair components.

    def _fair_components(
        self, states: frozenset[int], must_visit: frozenset[int] | None, totals: _Totals
    ) -> Iterator[frozenset[int]]:
        for component in self.components(states):
            totals.components += 1
            if must_visit is not None and not component & must_visit:
                continue
            enabled, taken = self.enabled_and_taken(component)
            lacking = {fair_class: where for fair_class, where in enabled.items() if fair_class not in taken}
            if any(
                fair_class.strength == "weak" and len(where) == len(component) for fair_class, where in lacking.items()
            ):
                continue
            removed = {
                number for fair_class, where in lacking.items() if fair_class.strength == "strong" for number in where
            }
            if removed:
                yield from self._fair_components(component - removed, must_visit, totals)
            else:
                yield component

    def _is_fair(self, component: frozenset[int], must_visit: frozenset[int] | None) -> bool:
        """Return whether a behaviour that visits exactly these strongly connected states for ever is fair."""
        enabled, taken = self.enabled_and_taken(component)
        return (must_visit is None or bool(component & must_visit)) and not any(
            fair_class not in taken and (fair_class.strength == "strong" or len(where) == len(component))
            for fair_class, where in enabled.items()
        )

    def enabled_and_taken(self, component: frozenset[int]) -> tuple[dict[FairClass, set[int]], set[FairClass]]:
        """Return the states of a component that enable each fair class, and the classes that its steps take."""
        enabled: dict[FairClass, set[int]] = {}
        taken: set[FairClass] = set()
        for number in component:
            for edge in self._edges_of(number):
                for fair_class in edge.classes:
                    enabled.setdefault(fair_class, set()).add(number)
                if edge.target in component:
                    taken.update(edge.classes)
        return enabled, taken

    def components(self, states: frozenset[int]) -> Iterator[frozenset[int]]:
        """Yield the strongly connected components of some states (Tarjan 1972, without recursion)."""
        order: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        on_stack: set[int] = set()
        for root in sorted(states):
            if root in order:
                continue
            work = [(root, self._edges_inside(root, states))]
            order[root] = low[root] = len(order)
            stack.append(root)
            on_stack.add(root)
            while work:
                number, edges = work[-1]
                for _, target in edges:
                    if target not in order:
                        order[target] = low[target] = len(order)
                        stack.append(target)
                        on_stack.add(target)
                        work.append((target, self._edges_inside(target, states)))
                        break
                    if target in on_stack:
                        low[number] = min(low[number], order[target])
                else:
                    work.pop()
                    if work:
                        parent = work[-1][0]
                        low[parent] = min(low[parent], low[number])
                    if low[number] == order[number]:
                        component = set()
                        while number not in component:
                            component.add(stack.pop())
                        on_stack -= component
                        yield frozenset(component)

    # Loops.

    def _loop(self, first: int, component: frozenset[int], must_visit: frozenset[int] | None) -> tuple[_Edge, ...]:
        """Return the steps of a short fair loop through a state of a fair component; none if it stays in the state."""
        if self._is_fair(frozenset({first}), must_visit):
            return ()
        # The first loop is a shortest one. Each round adds what the loop before lacked, so the rounds end.
        wanted: list[Callable[[_Edge], bool]] = []
        if must_visit is not None and first not in must_visit:
            wanted.append(lambda edge: edge.target in must_visit)
        known: set[FairClass] = set()
        while True:
            loop = self._loop_with(first, component, wanted)
            lacking = self._lacking(first, loop) - known
            if not lacking:
                return loop
            known |= lacking
            wanted += [self._helps(fair_class) for fair_class in sorted(lacking, key=str)]

    def _helps(self, fair_class: FairClass) -> Callable[[_Edge], bool]:
        """Return the test whether a step makes a loop fair to a class: it takes it, or leads to a state without it."""

        def helps(edge: _Edge) -> bool:
            if fair_class in edge.classes:
                return True
            assert edge.target is not None
            return fair_class.strength == "weak" and not any(
                fair_class in other.classes for other in self._edges_of(edge.target)
            )

        return helps

    def _lacking(self, first: int, loop: tuple[_Edge, ...]) -> set[FairClass]:
        """Return the fair classes to which a loop from a state is not fair."""
        numbers = [first, *(edge.target for edge in loop[:-1])]
        enabled: dict[FairClass, set[int]] = {}
        taken: set[FairClass] = set()
        for number, taken_edge in zip(numbers, loop, strict=True):
            assert number is not None
            for edge in self._edges_of(number):
                for fair_class in edge.classes:
                    enabled.setdefault(fair_class, set()).add(number)
                if edge.target == taken_edge.target:
                    taken.update(edge.classes)
        return {
            fair_class
            for fair_class, where in enabled.items()
            if fair_class not in taken and (fair_class.strength == "strong" or len(where) == len(set(numbers)))
        }

    def _loop_with(
        self, first: int, component: frozenset[int], wanted: Iterable[Callable[[_Edge], bool]]
    ) -> tuple[_Edge, ...]:
        """Return the steps of a loop from a state, at least one, that has a step of each wanted kind."""
        loop: list[_Edge] = []
        left = list(wanted)
        current = first
        while left or current != first or not loop:
            tests = list(left) if left else [lambda edge: edge.target == first]
            path = self._path(current, component, tests)
            loop += path
            assert path[-1].target is not None
            left = [test for test in left if not any(test(edge) for edge in path)]
            current = path[-1].target
        return tuple(loop)

    def _path(self, start: int, component: frozenset[int], tests: list[Callable[[_Edge], bool]]) -> list[_Edge]:
        """Return the steps of a shortest path in a component of which the last step passes one of some tests."""
        arrivals: dict[int, tuple[int, _Edge] | None] = {start: None}
        queue = [start]
        for number in queue:
            for edge, target in self._edges_inside(number, component):
                if any(test(edge) for test in tests):
                    path = [edge]
                    while (arrival := arrivals[number]) is not None:
                        number, edge = arrival
                        path.append(edge)
                    return path[::-1]
                if target not in arrivals:
                    arrivals[target] = (number, edge)
                    queue.append(target)
        raise AssertionError("a fair component has a step of each wanted kind")
