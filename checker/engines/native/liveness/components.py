"""Fair components of a graph: strongly connected states that a fair behaviour can visit again and again for ever.

`checker.engines.python.liveness` states the conditions. Here all components are decided at once, in passes:

    until no state is left:
        decompose the graph of the states that are left
        for each component and class: count the states that enable it, and note whether a step inside takes it
        drop the components that never visit a wanted state, and those that enable a weak class everywhere untaken
        accept the components that take every strong class that they enable
        the states of the others that do not enable an untaken strong class are left

Weak fairness of the whole next-state relation concerns components of one state only: it excludes those with a step that
changes the state. Any other component takes such a step. Strong fairness of it means the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class FairGraph:
    """The states of a region, numbered from 0 to n - 1, and the steps from them that change the state.

    Of each step (m,), in the order of `sources`: `targets` has the state, or -1 outside of the region; `classes` the
    fair class, or -1. `is_strong` (classes,) is the strength of each class. `must_visit` (n,): a component counts only
    with such a state; None if every one counts.
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
    left = np.arange(graph.count, dtype=np.int32)
    # The pairs of a state and a class that it enables, each once, and the steps of a class inside the region.
    fair = graph.classes >= 0
    enabling, enabled = _distinct_pairs(graph.sources[fair], graph.classes[fair], len(graph.is_strong))
    del fair
    inside = graph.targets >= 0
    sources, targets, classes = graph.sources[inside], graph.targets[inside], graph.classes[inside]
    del inside
    accepted = decomposed = 0
    moves = np.zeros(graph.count, np.bool_)
    if graph.next_is_fair:
        moves[graph.sources] = True
    while len(left):
        # Everything is numbered within the states that are left.
        if len(left) < graph.count:
            place = np.full(graph.count, -1, np.int32)
            place[left] = np.arange(len(left), dtype=np.int32)
            kept = (place[sources] >= 0) & (place[targets] >= 0)
            sources, targets, classes = sources[kept], targets[kept], classes[kept]
            kept = place[enabling] >= 0
            enabling, enabled = enabling[kept], enabled[kept]
            before, after, enablers = place[sources], place[targets], place[enabling]
        else:
            before, after, enablers = sources, targets, enabling
        count, component = _strong_components(len(left), before, after)
        decomposed += count
        sizes = np.bincount(component, minlength=count)
        # A component of one state takes no step: it is fair only if the state enables no fair class.
        is_dropped = np.zeros(count, np.bool_)
        is_dropped[component[enablers]] = True
        if graph.next_is_fair:
            is_dropped[component[moves[left]]] = True
        is_dropped &= sizes == 1
        if graph.must_visit is not None:
            is_dropped |= np.bincount(component[graph.must_visit[left]], minlength=count) == 0
        # The other components, in their order, with the pairs and steps inside them.
        several = np.flatnonzero(sizes > 1)
        number = np.full(count, -1, np.int32)
        number[several] = np.arange(len(several), dtype=np.int32)
        pairs = np.flatnonzero(number[component[enablers]] >= 0)
        inner = (component[before] == component[after]) & (classes >= 0)
        lacking = _lacking(
            number[component[enablers[pairs]]],
            enabled[pairs],
            number[component[before[inner]]],
            classes[inner],
            sizes[several],
            graph.is_strong,
        )
        is_dropped[several[lacking.weak]] = True
        is_removed = np.zeros(len(left), np.bool_)
        is_removed[enablers[pairs[lacking.strong]]] = True
        is_open = np.zeros(count, np.bool_)
        is_open[component[is_removed]] = True
        # Numbers of later passes follow those of earlier ones, so components of different passes differ.
        chosen = (~is_dropped & ~is_open)[component]
        of_state[left[chosen]] = accepted + component[chosen]
        accepted += count
        left = left[is_open[component] & ~is_dropped[component] & ~is_removed]
    return FairComponents(of_state, decomposed)


@dataclass(frozen=True)
class _Lacking:
    """The untaken classes: components that enable a weak one everywhere, and positions of pairs with a strong one."""

    weak: NDArray[np.int64]
    strong: NDArray[np.int64]


def _lacking(
    component: Nodes, enabled: Nodes, taking: Nodes, taken: Nodes, sizes: NDArray[np.int64], is_strong: Flags
) -> _Lacking:
    """Return what the components lack.

    `component` and `enabled` are the components and classes of the distinct pairs of a state and an enabled class,
    `taking` and `taken` those of the steps inside a component.
    """
    classes = max(1, len(is_strong))
    keys = component.astype(np.int64) * classes + enabled
    distinct, place, counts = _grouped(keys, len(sizes) * classes)
    taken_keys = _grouped(taking.astype(np.int64) * classes + taken, len(sizes) * classes)[0]
    untaken = ~np.isin(distinct, taken_keys, assume_unique=True)
    strong = is_strong[distinct % classes] if len(is_strong) else np.zeros(len(distinct), np.bool_)
    owners = distinct // classes
    weak = owners[untaken & ~strong & (counts == sizes[owners])]
    return _Lacking(weak, np.flatnonzero((untaken & strong)[place]))


def _grouped(keys: NDArray[np.int64], space: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
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


def load_scipy() -> Any:
    """Return `scipy.sparse`. It takes a quarter of a second to load, and most runs decide no liveness property."""
    import scipy.sparse.csgraph

    return scipy.sparse


def _strong_components(count: int, sources: Nodes, targets: Nodes) -> tuple[int, Nodes]:
    """Return the number of strongly connected components, and that of each state (n,)."""
    sparse = load_scipy()
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=count), out=starts[1:])
    if not (sources[1:] >= sources[:-1]).all():
        targets = targets[np.argsort(sources, kind="stable")]
    matrix = sparse.csr_array(
        (np.ones(len(targets)), targets, starts.astype(np.int32 if len(targets) < 2**31 else np.int64)),
        shape=(count, count),
        copy=True,
    )
    # SciPy 1.17 does not return if two entries are equal: several actions may lead from a state to the same successor.
    # The arrays of the matrix change, so it has its own.
    matrix.sum_duplicates()
    number, component = sparse.csgraph.connected_components(matrix, directed=True, connection="strong")
    return int(number), component
