"""The origins of some states of a store without parents: the levels before them are expanded again.

The parent of a state is the first state, in canonical order, whose expansion sent it to its shard. The rounds of a
level depend only on its states. So expanding a level again gives the same rounds, and the first entry with the words
of a state has the parent and the action instance that the usual store would have recorded. The states of one level are
searched for together: all paths together take at most one more exploration, without its insertions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from checker.engines.native.explore.memory_layout import ORIGIN_SHIFT, SHARDS
from checker.engines.native.explore.search_store import Run, SearchStore

Origin = tuple[int, int] | None
"""The parent (a state id) and the action instance that first reached a state; None for an initial state."""


def origins_of(
    store: SearchStore, state_ids: Iterable[int], run: Run, on_level: Callable[[int], None]
) -> dict[int, Origin]:
    """Return the origins of some states, and of all states on the paths to them.

    `run` calls a function in all workers. `on_level` is called before a level (its number from 1) is expanded again.
    """
    by_state: dict[int, Origin] = {}
    waiting: dict[int, set[int]] = {}
    for state_id in state_ids:
        waiting.setdefault(store.level_of(state_id), set()).add(state_id)
    for level in range(max(waiting, default=0), 0, -1):
        if wanted := waiting.pop(level, None):
            on_level(level)
            origins = _parents(store, level, wanted, run)
            by_state.update(origins)
            waiting.setdefault(level - 1, set()).update(parent for parent, _ in origins.values())
    by_state.update(dict.fromkeys(waiting.get(0, ()), None))
    return by_state


def _parents(store: SearchStore, level: int, wanted: set[int], run: Run) -> dict[int, tuple[int, int]]:
    """Return the parents and instances of states of a level, by expanding the level before it."""
    parents: dict[int, tuple[int, int]] = {}
    open_ids = sorted(wanted)
    rounds = store.replay_level(level - 1, run)
    try:
        for _ in rounds:
            for state_id in open_ids:
                origin = _first_origin(store, state_id)
                if origin is not None:
                    parents[state_id] = (origin % (1 << ORIGIN_SHIFT), origin >> ORIGIN_SHIFT)
            open_ids = [state_id for state_id in open_ids if state_id not in parents]
            if not open_ids:
                break
    finally:
        rounds.close()
    assert not open_ids, "a state has a parent in the level before its own"
    return parents


def _first_origin(store: SearchStore, state_id: int) -> int | None:
    """Return the last word of the first entry with the words of a state that this round sent to its shard."""
    words = np.array(store.words_of(state_id), np.uint64)
    for entries in store.entries_for(state_id % SHARDS):
        rows = np.flatnonzero((entries[:, :-1] == words).all(axis=1))
        if len(rows):
            return int(entries[rows[0], -1])
    return None
