"""The least number of steps from a state to a violation, over the states that a bounded exploration found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.kernels.batch import BatchEngine, compile_batch
from checker.frontend import compile_spec
from checker.language.roles import STEP_ROLES
from checker.language.spec import Spec

UNKNOWN = np.iinfo(np.int32).max
"""The distance of a state from which no violation is known."""

_PIECE = 1 << 16
"""The number of states that are expanded at once."""

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int64]


class ViolationDistances:
    """Distances by the hash of a state.

    They may be wrong where the exploration stopped, or where hashes collide: they decide where walks restart, and not
    how likely anything is.
    """

    def __init__(self, spec: Spec, name: str, most_states: int):
        program = compile_spec(spec, [name])
        code, layout = compile_batch(program)
        self._engine, self._is_step = BatchEngine(code), spec.roles[name] in STEP_ROLES
        starts = np.array([layout.encode(state.values) for state in spec.initial_states()], np.uint64)
        hashes, sources, targets, is_bad = self._explore(starts.reshape(-1, layout.words), most_states)
        self._order = np.argsort(hashes)
        self._hashes = hashes[self._order]
        self._distances = _distances(len(hashes), sources, targets, is_bad)[self._order]

    @property
    def is_known(self) -> bool:
        """Whether the exploration found a violation."""
        return bool((self._distances < UNKNOWN).any())

    def of_hashes(self, hashes: Hashes) -> NDArray[np.int32]:
        """Return the distances (n,) of states by their hashes (n,); UNKNOWN for states that were not explored."""
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        return np.where(self._hashes[places] == hashes, self._distances[places], UNKNOWN)

    def of_states(self, states: Hashes) -> NDArray[np.int32]:
        """Return the distances (n,) of packed states (n, words)."""
        return self.of_hashes(self._engine.hashes(states))

    def _explore(self, starts: Hashes, most_states: int) -> tuple[Hashes, Numbers, Numbers, NDArray[np.bool_]]:
        """Return the hashes of states, the edges between them by position, and which states violate the property.

        A step that violates the property leads to the position -1.
        """
        numbers: dict[int, int] = {}
        bad: list[bool] = []
        edges: list[tuple[Numbers, Numbers]] = []
        frontier = self._add(starts, numbers, bad)
        while len(frontier) and len(numbers) < most_states:
            fresh = []
            for states, own in _batches(frontier, numbers, self._engine):
                first = 0
                while first < len(states):
                    expanded = self._engine.expand(states[first:], int(self._is_step))
                    parents = own[first + expanded.parents.astype(np.int64)]
                    fresh.append(self._add(expanded.states, numbers, bad))
                    targets = np.array([numbers[value] for value in expanded.hashes.tolist()], np.int64)
                    edges.append((parents, np.where(expanded.steps & np.uint64(1), -1, targets)))
                    first += expanded.taken
            frontier = np.concatenate(fresh) if fresh else frontier[:0]
        sources, targets = (np.concatenate(columns) for columns in zip(*edges, strict=True)) if edges else _no_edges()
        return np.array(list(numbers), np.uint64), sources, targets, np.array(bad)

    def _add(self, states: Hashes, numbers: dict[int, int], bad: list[bool]) -> Hashes:
        """Number the new ones of some states; return those of them that do not violate the property."""
        hashes, places = np.unique(self._engine.hashes(states), return_index=True)
        is_new = np.array([value not in numbers for value in hashes.tolist()], bool)
        hashes, states = hashes[is_new], states[places[is_new]]
        if not len(states):
            return states
        violates = np.zeros(len(states), bool)
        if not self._is_step:
            violates = (self._engine.check(states, 1) & np.uint64(1)).astype(bool)
        for value in hashes.tolist():
            numbers[value] = len(numbers)
        bad += violates.tolist()
        return states[~violates]


def _batches(frontier: Hashes, numbers: dict[int, int], engine: BatchEngine) -> list[tuple[Hashes, Numbers]]:
    """Return pieces of a frontier, each with the numbers of its states."""
    pieces = [frontier[first : first + _PIECE] for first in range(0, len(frontier), _PIECE)]
    return [
        (piece, np.array([numbers[value] for value in engine.hashes(piece).tolist()], np.int64)) for piece in pieces
    ]


def _no_edges() -> tuple[Numbers, Numbers]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def _distances(count: int, sources: Numbers, targets: Numbers, is_bad: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the least number of edges from each state to a violation, by relaxation of all edges."""
    distances = np.full(count, UNKNOWN, np.int32)
    distances[is_bad] = 0
    distances[sources[targets < 0]] = 1
    sources, targets = sources[targets >= 0], targets[targets >= 0]
    step = 0
    while True:
        reached = sources[(distances[targets] == step) & (distances[sources] > step + 1)]
        distances[reached] = step + 1
        step += 1
        if not len(reached) and not (distances == step).any():
            return distances
