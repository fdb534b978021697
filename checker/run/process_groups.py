"""Runs in groups: those of a group are executed one after the other in one process, with what they share.

The groups start in their order, and the results have the order of the runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from checker.run.process_pool import results_in_order, run_numbered

Returned = TypeVar("Returned")

Executed = Callable[[int, threading.Event], Returned]
"""Executes the run of a number; the event is set when it should stop."""


def results_of_groups(
    groups: Sequence[Sequence[int]],
    processes: int,
    run_of: Callable[[Sequence[int]], Executed[Returned]],
    cancelled: threading.Event,
    died: Callable[[int], Returned],
) -> Iterator[tuple[int, Returned]]:
    """Iterate over runs 0, 1, 2 and so on, each of which is in one group, with their results, in the order of the runs.

    The groups are in the order of their first runs. `run_of` is called in the process that executes a group.
    `run_numbered` documents the rest: a group is what a run is there, but `died` gives the result of a run. If the
    process of a group dies twice, its runs are executed each in a process.
    """

    def executed(number: int, cancelled: threading.Event) -> list[Returned]:
        run = run_of(groups[number])
        results: list[Returned] = []
        for member in groups[number]:
            if results and cancelled.is_set():
                break
            results.append(run(member, cancelled))
        return results

    def one_by_one(members: Sequence[int]) -> list[Returned]:
        def alone(position: int, cancelled: threading.Event) -> Returned:
            return run_of([members[position]])(members[position], cancelled)

        return list(results_in_order(len(members), 1, alone, cancelled, lambda position: died(members[position])))

    ready: dict[int, Returned] = {}
    following = 0
    found_in_groups = run_numbered(
        len(groups), processes, executed, cancelled, lambda number: one_by_one(groups[number])
    )
    # After an interrupt, some groups have no results, and a group may have only its first ones.
    for position, results in found_in_groups:
        group = groups[position]
        if len(results) < len(group) and not cancelled.is_set():
            # The process was interrupted, but not the command.
            results += one_by_one(group[len(results) :])
        ready.update(zip(group, results, strict=False))
        while following in ready:
            yield following, ready.pop(following)
            following += 1
    yield from sorted(ready.items())
