"""The walks of a run, read by processes of this machine without Spark."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checker.run.process_pool import results_in_order
from checker.run.workers import default_workers
from spark_analysis.report.partial_counts import (
    COLUMNS,
    PASSED_COLUMNS,
    VIOLATION_COLUMNS,
    PartialCount,
    count_passes,
    partial_counts,
    summed,
    violation_counts,
)
from spark_analysis.report.walk_source import (
    ROW_COLUMNS,
    Item,
    OutcomeSpacing,
    Result,
    StateGroup,
    actions_of,
    samplings_of,
)
from spark_analysis.walks.records import STATES, VIOLATIONS, WALKS, WalkRun, part_path, read_parts
from spark_analysis.walks.state_tallies import merge_tallies
from traces.storage import Location, local_copy

_OWN_COLUMNS = [name for name in PASSED_COLUMNS if name not in ("length", "actions")]


class LocalWalkSource:
    """The parts with some numbers of a run in a folder. A task is a call in a forked process."""

    def __init__(self, folder: Location, run: WalkRun, parts: Sequence[int]):
        self._run = run
        # Before the fork: the connections of this process to a store do not work in other processes.
        self._walks = {number: local_copy(part_path(folder, WALKS, number)) for number in parts}
        files = {number: part_path(folder, VIOLATIONS, number) for number in parts} if run.beyond else {}
        self._violations = {number: local_copy(path) for number, path in files.items()}
        self._states = {number: local_copy(part_path(folder, STATES, number)) for number in parts}
        self.samplings = samplings_of(folder, run, parts)

    def partial_counts(self) -> list[PartialCount]:
        """Return the counts of all walks."""
        actions = actions_of(self._run)
        digests = {each.spec_digest for each in self._run.configurations}

        def count(part: int) -> list[pa.RecordBatch]:
            walks = _batches(self._walks[part], COLUMNS)
            counts = list(partial_counts(digests, walks, beyond=self._run.beyond, actions=actions))
            if part in self._violations:
                counts += violation_counts(digests, _batches(self._violations[part], VIOLATION_COLUMNS))
                counts += count_passes(digests, actions, self._violating(part))
            return counts

        return summed(batch for batches in self.map(count, list(self._walks), "count the walks") for batch in batches)

    def _violating(self, part: int) -> list[pa.RecordBatch]:
        """Return the first violations of a part with the lengths and the actions of their walks."""
        walks = pa.concat_tables(read_parts([self._walks[part]], ["walk", "length", "actions"]))
        violations = pa.concat_tables(read_parts([self._violations[part]], ["walk", *_OWN_COLUMNS]))
        at = pc.index_in(violations["walk"], walks["walk"].combine_chunks())
        columns = violations.drop_columns(["walk"])
        for name in ("length", "actions"):
            columns = columns.append_column(name, walks[name].take(at))
        return list(columns.select(list(PASSED_COLUMNS)).combine_chunks().to_batches())

    def state_groups(self) -> list[StateGroup]:
        """Return the counts of all sampled states."""
        parts: dict[int, list[Path]] = defaultdict(list)
        for number, path in self._states.items():
            parts[self._run.span(number)[0].number].append(path)

        def group(number: int) -> list[StateGroup]:
            walks, first = merge_tallies(parts[number], self.samplings[number])
            return _state_groups(number, walks, first - number * self._run.walks)

        return [state_group for groups in self.map(group, sorted(parts), "count the states") for state_group in groups]

    def violating_rows(self, spacings: Sequence[OutcomeSpacing], chosen: set[int]) -> list[dict[str, Any]]:
        """Return the violating walks, by column, of which the number is in `chosen` or a multiple of their spacing."""
        by_outcome = {spacing_of[:-1]: spacing_of.spacing for spacing_of in spacings}
        wanted = pa.array(sorted(chosen), pa.int64())

        def select(part: int) -> list[dict[str, Any]]:
            chosen_rows = []
            for table in read_parts([self._walks[part]], list(ROW_COLUMNS)):
                bad = table.filter(pc.not_equal(table["verdict"].cast(pa.string()), "holds"))
                is_chosen = np.asarray(pc.is_in(bad["walk"], wanted).combine_chunks(), dtype=bool)
                keys = zip(*(bad[name].to_pylist() for name in OutcomeSpacing._fields[:-1]), strict=True)
                # 0 stands for an outcome that has no spacing, such as one of a spec that has changed.
                spacing = np.fromiter((by_outcome.get(key, 0) for key in keys), np.int64, len(bad))
                is_sampled = np.asarray(bad["walk"]) % np.maximum(spacing, 1) == 0
                chosen_rows += bad.filter(pa.array((is_sampled | is_chosen) & (spacing > 0))).to_pylist()
            return chosen_rows

        return [row for rows in self.map(select, list(self._walks), "read the walks") for row in rows]

    def map(self, work: Callable[[Item], Result], items: Sequence[Item], doing: str) -> list[Result]:
        """Return `work(item)` for each item, in the order of the items."""
        processes = min(len(items), default_workers())
        if processes < 2:
            return [work(item) for item in items]
        return list(results_in_order(len(items), processes, lambda at, _: work(items[at]), threading.Event()))


def _batches(part: Path, columns: Sequence[str]) -> list[pa.RecordBatch]:
    return [batch for table in read_parts([part], list(columns)) for batch in table.combine_chunks().to_batches()]


def _state_groups(configuration: int, walks: Any, first: Any) -> list[StateGroup]:
    """Return the groups of states; `walks` counts those that visited a state, `first` is the first one's number."""
    # The number of bits of n is the exponent of n + 1/2 in floating point, for all n below 2**52.
    powers = np.where(first == 0, 0, np.frexp(first.astype(np.float64))[1])
    state_groups = []
    for power in np.unique(powers).tolist():
        own = walks[powers == power]
        counts = len(own), int(own.sum()), int(np.count_nonzero(own == 1)), int(np.count_nonzero(own == 2))
        state_groups.append(StateGroup(configuration, power, *counts))
    return state_groups
