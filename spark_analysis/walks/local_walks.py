"""Random walks in this process: the properties that they violate, each with the first walk that violates it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.walk import kernel
from checker.engines.native.walk.walker import Walker, Walks, walk_seeds
from checker.language.spec import Spec
from checker.run.result import Violation
from spark_analysis.walks.row_violations import violation_from_row
from traces.shrink import reduce

BATCH_STEPS = 500_000
"""About as many steps are walked between two looks at the results, and at the keyboard."""

MOST_HASHES = 4_000_000
"""The most hashes of distinct states to keep (8 bytes each). Of more, a half of the hash space is left out."""


@dataclass(frozen=True)
class FoundByWalk:
    """A violation that a walk found: its number from 0 on, its states, and the violation after steps were removed."""

    walk: int
    found_length: int
    violation: Violation


@dataclass
class LocalWalks:
    """The walks of a run that were made.

    `failures` counts the walks with a violation. `found` has the first walk for each violated property. `hashes` are
    those of the distinct states visited that have `sampling` leading zero bits.
    """

    depth: int
    seed: int
    wanted: int
    sampling: int = 0
    walks: int = 0
    steps: int = 0
    failures: int = 0
    found: dict[str, FoundByWalk] = field(default_factory=dict)
    hashes: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    @property
    def is_whole(self) -> bool:
        """Whether all walks were made."""
        return self.walks == self.wanted

    @property
    def distinct_states(self) -> int:
        """The number of distinct states that the walks visited; an estimate if the states are sampled."""
        return len(self.hashes) << self.sampling

    def add_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Add the hashes of visited states."""
        self.hashes = np.union1d(self.hashes, hashes)
        while len(self.hashes) > MOST_HASHES:
            self.sampling += 1
            self.hashes = self.hashes[self.hashes < 2 ** (64 - self.sampling)]


def walk_locally(
    spec: Spec,
    properties: list[str],
    *,
    walks: int,
    depth: int,
    seed: int,
    keep_going: bool = False,
    cancelled: threading.Event | None = None,
    on_progress: Callable[[int, int], None] = lambda done, failures: None,
) -> LocalWalks:
    """Take random walks until one violates a property, or with `keep_going` all of them.

    The result depends on the arguments only: it has the violations of the lowest walks. `on_progress` gets the number
    of walks and of those with a violation. Raises SpecError if the spec cannot be walked.
    """
    walker = Walker(spec, properties)
    made = LocalWalks(depth, seed, walks)
    batch = max(1, BATCH_STEPS // depth)
    while made.walks < walks and not (cancelled is not None and cancelled.is_set()):
        count = min(batch, walks - made.walks)
        walked = walker.walk(walk_seeds(seed, made.walks, count), depth, sampling=made.sampling)
        last = _add(made, walker, walked, stops=not keep_going)
        on_progress(made.walks, made.failures)
        if last:
            break
    return made


def _add(made: LocalWalks, walker: Walker, walks: Walks, *, stops: bool) -> bool:
    """Add a batch of walks; return whether it is the last one.

    With `stops`, the walks after the first one with a violation are left out.
    """
    bounds = walks.endings == kernel.ENDINGS.index("bounds")
    failed = np.flatnonzero((walks.violated != 0) | bounds)
    count = int(failed[0]) + 1 if stops and len(failed) else len(walks.lengths)
    failed = failed[failed < count]
    for walk in failed.tolist():
        for name, row in _rows(walker, walks, walk):
            if name not in made.found:
                violation = violation_from_row(walker.spec, row)
                made.found[name] = FoundByWalk(made.walks + walk, len(violation.trace), reduce(walker.spec, violation))
    made.walks += count
    made.steps += int(walks.lengths[:count].sum(dtype=np.int64))
    made.failures += len(failed)
    made.add_hashes(walks.sampled[: int(walks.sampled_ends[count - 1])])
    return stops and bool(len(failed))


def _rows(walker: Walker, walks: Walks, walk: int) -> list[tuple[str, dict[str, Any]]]:
    """Return each property or action that a walk shows as faulty, with the walk as a row of `records`."""
    end = int(walks.ends[walk])
    row: dict[str, Any] = {
        "actions": walks.actions[end - int(walks.lengths[walk]) : end].astype("<u2").tobytes(),
        "initial": int(walks.initial[walk]),
        "verdict": "violated",
        "ending": kernel.ENDINGS[walks.endings[walk]],
        "failed_instance": None,
    }
    mask = int(walks.violated[walk])
    rows = [(name, row | {"property": name}) for bit, name in enumerate(walker.properties) if mask >> bit & 1]
    if walks.endings[walk] != kernel.ENDINGS.index("bounds"):
        return rows
    instance, failed = int(walks.failed_instance[walk]), int(walks.failed_property[walk])
    if instance >= 0:
        name = next(s.name for s in walker.spec.shapes() if instance < s.first_instance + s.instances)
        return [*rows, (name, row | {"verdict": "error", "failed_instance": instance, "property": name})]
    name = (
        walker.constraint_out_of_bounds(walks.last_states[walk, 0])
        if failed == kernel.CONSTRAINT
        else walker.properties[failed]
    )
    return [*rows, (name, row | {"verdict": "error", "property": name})]
