"""Lassos in the graph of a region: a shortest stem to a fair component, and a short fair loop in it.

The loop begins as a shortest one through the first state. While a fair class is lacking, which every state of the loop
enables (a strong one: some state) and no step takes, the loop makes a detour to the nearest step that helps: one of
this class or, for a weak class, one to a state that disables it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.liveness.components import FairGraph, Flags, Nodes
from checker.engines.native.liveness.edges import ranges

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class FoundStem:
    """A shortest stem: `distance` states before its last one, and the steps (positions) from `source` to `first`."""

    distance: int
    source: int
    steps: tuple[int, ...]
    first: int


class RegionSearch:
    """Searches for stems and loops in the graph of a region, with an index of its steps by state."""

    def __init__(self, graph: FairGraph):
        self.graph = graph
        self._starts = np.zeros(graph.count + 1, np.int64)
        np.cumsum(np.bincount(graph.sources, minlength=graph.count), out=self._starts[1:])

    def steps_of(self, states: Numbers) -> Numbers:
        """Return the positions of the steps from some states (n,)."""
        return ranges(self._starts[states], self._starts[states + 1])

    # Stems.

    def shortest_stem(self, sources: Numbers, depths: Numbers, component: Nodes) -> FoundStem:
        """Return a shortest stem to a fair component.

        A path begins in one of `sources` (n,), at its depth (n,), and stays in the region.
        """
        arrivals = np.full(self.graph.count, -1, np.int64)
        is_known = np.zeros(self.graph.count, np.bool_)
        order = np.argsort(depths, kind="stable")
        sources, depths = sources[order], depths[order]
        frontier = np.empty(0, np.int64)
        distance = int(depths[0])
        while True:
            first, last = np.searchsorted(depths, [distance, distance + 1])
            reached = np.concatenate([sources[first:last], frontier])
            # A source that a step reaches as well keeps that step: both paths are shortest ones.
            reached = np.unique(reached[~is_known[reached]])
            is_known[reached] = True
            candidates = reached[component[reached] >= 0]
            if len(candidates):
                return self._stem(distance, self._preference(candidates), arrivals)
            steps = self.steps_of(reached)
            targets = self.graph.targets[steps]
            useful = (targets >= 0) & ~is_known[targets]
            steps, targets = steps[useful], targets[useful].astype(np.int64)
            frontier, chosen = np.unique(targets, return_index=True)
            arrivals[frontier] = steps[chosen]
            distance += 1

    def _preference(self, states: Numbers) -> int:
        """Return a state in which the system may stay for ever, or else the first one."""
        return next((int(state) for state in states if self.may_stay(int(state))), int(states[0]))

    def _stem(self, distance: int, first: int, arrivals: Numbers) -> FoundStem:
        steps = []
        source = first
        while arrivals[source] >= 0:
            steps.append(int(arrivals[source]))
            source = int(self.graph.sources[steps[-1]])
        return FoundStem(distance, source, tuple(reversed(steps)), first)

    # Loops.

    def may_stay(self, state: int) -> bool:
        """Return whether a fair behaviour that violates the property may stay in a state for ever."""
        steps = self.steps_of(np.array([state]))
        if self.graph.must_visit is not None and not self.graph.must_visit[state]:
            return False
        return not (len(steps) if self.graph.next_is_fair else (self.graph.classes[:, steps] >= 0).any())

    def fair_loop(self, first: int, component: Nodes) -> tuple[int, ...]:
        """Return the steps (positions) of a short fair loop through a state of a fair component; none if it stays."""
        if self.may_stay(first):
            return ()
        inside = component == component[first]
        wanted: list[Flags] = []
        must_visit = self.graph.must_visit
        if must_visit is not None and not must_visit[first]:
            wanted.append(must_visit[self.graph.targets])
        known: set[int] = set()
        while True:
            loop = self._loop_with(first, inside, wanted)
            lacking = self._lacking(loop) - known
            if not lacking:
                return loop
            known |= lacking
            wanted += [self._helps(number) for number in sorted(lacking)]

    def _helps(self, number: int) -> Flags:
        """Return of each step (m,) whether it makes a loop fair to a class."""
        takes: Flags = (self.graph.classes == number).any(axis=0)
        if self.graph.is_strong[number]:
            return takes
        enables = np.zeros(self.graph.count, np.bool_)
        enables[self.graph.sources[takes]] = True
        return takes | ~enables[self.graph.targets]

    def _lacking(self, loop: tuple[int, ...]) -> set[int]:
        """Return the fair classes that a loop lacks."""
        graph = self.graph
        states = [int(graph.sources[step]) for step in loop]
        enabled: dict[int, set[int]] = {}
        taken: set[int] = set()
        for state, step in zip(states, loop, strict=True):
            steps = self.steps_of(np.array([state]))
            for number in np.unique(graph.classes[:, steps]).tolist():
                enabled.setdefault(number, set()).add(state)
            # Every step between the same states takes its class too.
            taken.update(graph.classes[:, steps[graph.targets[steps] == graph.targets[step]]].ravel().tolist())
        return {
            number
            for number, where in enabled.items()
            if number >= 0 and number not in taken and (graph.is_strong[number] or len(where) == len(set(states)))
        }

    def _loop_with(self, first: int, inside: Flags, wanted: list[Flags]) -> tuple[int, ...]:
        """Return the steps of a loop from a state, at least one, that has a step of each wanted kind."""
        loop: list[int] = []
        left = list(wanted)
        current = first
        returns: Flags = self.graph.targets == first
        while left or current != first or not loop:
            path = self._path(current, inside, left or [returns])
            loop += path
            left = [kind for kind in left if not kind[path].any()]
            current = int(self.graph.targets[path[-1]])
        return tuple(loop)

    def _path(self, start: int, inside: Flags, wanted: list[Flags]) -> list[int]:
        """Return the steps of a shortest path between some states of which the last step is of one of some kinds."""
        graph = self.graph
        arrivals: dict[int, int] = {start: -1}
        is_known = np.zeros(graph.count, np.bool_)
        is_known[start] = True
        frontier = np.array([start], np.int64)
        while len(frontier):
            steps = self.steps_of(frontier)
            targets = graph.targets[steps]
            is_inside = (targets >= 0) & inside[targets]
            steps, targets = steps[is_inside], targets[is_inside]
            hits = np.zeros(len(steps), np.bool_)
            for kind in wanted:
                hits |= kind[steps]
            if hits.any():
                path = [int(steps[np.argmax(hits)])]
                while (arrival := arrivals[int(graph.sources[path[-1]])]) >= 0:
                    path.append(arrival)
                return path[::-1]
            new = ~is_known[targets]
            frontier, chosen = np.unique(targets[new], return_index=True)
            is_known[frontier] = True
            arrivals.update(zip(frontier.tolist(), steps[new][chosen].tolist(), strict=True))
            frontier = frontier.astype(np.int64)
        raise AssertionError("a fair component has a step of each wanted kind")
