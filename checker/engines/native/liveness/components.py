"""Fair components of a graph: strongly connected states that a fair behaviour can visit again and again for ever.

`checker.engines.python.liveness` states the conditions. Here all components are decided at once, in passes:

    until no state is left:
        decompose the graph of the states that are left
        accept the states that are components alone, unless they enable a fair class
        for each other component and class: count the states that enable it, and note whether a step inside takes it
        drop the components that enable a weak class everywhere untaken
        accept the components that take every strong class that they enable
        the states of the others that do not enable an untaken strong class are left

A component that never visits a wanted state is dropped at once. Most states of a region usually are components alone,
so only the steps of the others are counted.

Weak fairness of the whole next-state relation concerns components of one state only: it excludes those with a step that
changes the state. Any other component takes such a step. Strong fairness of it means the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.liveness.strong_components import strong_components

Nodes = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class FairGraph:
    """The states of a region, numbered from 0 to n - 1, and the steps from them that change the state.

    Of each step (m,), in the order of `sources`: `targets` has the state, or -1 outside of the region; `classes`
    (layers, m) the fair classes, or -1, of which a step has at most one in each layer. `is_strong` (classes,) is the
    strength of each class. `must_visit` (n,): a component counts only with such a state; None if every one counts.
    """

    count: int
    sources: Nodes
    targets: Nodes
    classes: Nodes
    is_strong: Flags
    next_is_fair: bool
    must_visit: Flags | None = None


@dataclass(frozen=True)
class FairComponents:
    """The fair component of each state (n,), -1 for none, and the number of all components that were looked at."""

    of_state: Nodes
    decomposed: int


def fair_components(graph: FairGraph) -> FairComponents:
    """Return the fair components of a graph."""
    of_state = np.full(graph.count, -1, np.int32)
    must_move = np.zeros(graph.count, np.bool_)
    for classes in graph.classes:
        must_move[graph.sources[classes >= 0]] = True
    if graph.next_is_fair:
        must_move[graph.sources] = True
    accepted = decomposed = 0
    rest = _Rest(np.arange(graph.count, dtype=np.int32), graph.sources, graph.targets, graph.classes)
    while len(rest.states):
        starts = np.zeros(len(rest.states) + 1, np.int64)
        np.cumsum(np.bincount(rest.sources, minlength=len(rest.states)), out=starts[1:])
        count, component = strong_components(starts, rest.targets)
        decomposed += count
        sizes = np.bincount(component, minlength=count)
        is_wanted = np.ones(count, np.bool_)
        if graph.must_visit is not None:
            is_wanted = np.bincount(component[graph.must_visit[rest.states]], minlength=count) > 0
        # A component of one state takes no step, so it is fair only if no fairness forces it to move.
        chosen = (is_wanted & (sizes == 1))[component] & ~must_move[rest.states]
        # Numbers of later passes follow those of earlier ones, so components of different passes differ.
        of_state[rest.states[chosen]] = accepted + component[chosen]
        chosen = (is_wanted & (sizes > 1))[component]
        rest, component = rest.without(~chosen), component[chosen]
        lacking = _lacking(rest, component, sizes, graph.is_strong)
        chosen = ~(lacking.weak | lacking.strong)[component]
        of_state[rest.states[chosen]] = accepted + component[chosen]
        accepted += count
        rest = rest.without((lacking.weak | ~lacking.strong)[component] | lacking.enables_strong)
    return FairComponents(of_state, decomposed)


@dataclass(frozen=True)
class _Rest:
    """The states that are left, by their numbers in the graph, and all their steps; see `FairGraph`.

    `sources` and `targets` are positions in `states`; a target is -1 if it is not left.
    """

    states: Nodes
    sources: Nodes
    targets: Nodes
    classes: Nodes

    def without(self, removed: Flags) -> _Rest:
        """Return the rest without some of its states (n,)."""
        if not removed.any():
            return self
        kept = ~removed
        # The last item is for target -1.
        place = np.full(len(self.states) + 1, -1, np.int32)
        place[:-1][kept] = np.arange(np.count_nonzero(kept), dtype=np.int32)
        steps = np.flatnonzero(kept[self.sources])
        sources, targets = place[self.sources[steps]], place[self.targets[steps]]
        return _Rest(self.states[kept], sources, targets, self.classes[:, steps])


@dataclass(frozen=True)
class _Lacking:
    """The classes that components of several states enable, but do not take.

    `weak` (components,): every state enables such a weak class. `strong` (components,): some state enables such a
    strong class. `enables_strong` (states,): this state does.
    """

    weak: Flags
    strong: Flags
    enables_strong: Flags


def _lacking(rest: _Rest, component: Nodes, sizes: NDArray[np.int64], is_strong: Flags) -> _Lacking:
    """Return what components of several states lack: `component` (n,) is that of each state, `sizes` (components,)."""
    lacking = _Lacking(*(np.zeros(count, np.bool_) for count in (len(sizes), len(sizes), len(rest.states))))
    # No class is in two layers.
    for classes in rest.classes:
        _add_lacking(lacking, rest, classes, component, sizes, is_strong)
    return lacking


def _add_lacking(
    lacking: _Lacking,
    rest: _Rest,
    classes: Nodes,
    component: Nodes,
    sizes: NDArray[np.int64],
    is_strong: Flags,
) -> None:
    """Add what the components lack of the classes in a layer: `classes` (m,) is that of each step, or -1."""
    fair = np.flatnonzero(classes >= 0)
    sources, targets, classes = rest.sources[fair], rest.targets[fair], classes[fair]
    del fair
    # A key is a pair of a component and a class.
    width = max(1, len(is_strong))
    is_inside = (targets >= 0) & (component[sources] == component[targets])
    owners = component.astype(np.int64) * width
    taken = _group_keys(owners[sources[is_inside]] + classes[is_inside], len(sizes) * width)[0]
    del targets, is_inside
    states, enabled = _distinct_pairs(sources, classes, width)
    keys, place, counts = _group_keys(owners[states] + enabled, len(sizes) * width)
    is_untaken = ~np.isin(keys, taken, assume_unique=True)
    owner, is_strong_key = keys // width, is_strong[keys % width] if len(keys) else np.zeros(0, np.bool_)
    lacking.weak[owner[is_untaken & ~is_strong_key & (counts == sizes[owner])]] = True
    lacking.strong[owner[is_untaken & is_strong_key]] = True
    lacking.enables_strong[states[(is_untaken & is_strong_key)[place]]] = True


def _group_keys(keys: NDArray[np.int64], space: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys, the place of each key among them, and their counts. Keys are below `space`."""
    if space > 4 * len(keys) + (1 << 20):
        return np.unique(keys, return_inverse=True, return_counts=True)
    # Counting is faster than sorting if there are few possible keys.
    counts = np.bincount(keys, minlength=space)
    distinct = np.flatnonzero(counts)
    places = np.zeros(space, np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[keys], counts[distinct]


def _distinct_pairs(states: Nodes, classes: Nodes, count: int) -> tuple[Nodes, Nodes]:
    """Return the pairs of a state and a class, each once."""
    keys = states.astype(np.int64) * max(1, count) + classes
    # The steps of a state come in the order of the action instances, so the classes usually increase.
    if len(keys) and not (keys[1:] > keys[:-1]).all():
        keys = np.unique(keys)
        return (keys // max(1, count)).astype(np.int32), (keys % max(1, count)).astype(np.int32)
    return states, classes
