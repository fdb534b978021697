"""The order of observations of several brokers: by the machine's clock, and by causality where clocks cannot decide.

The brokers of a machine have one clock with milliseconds, and a thread writes a line after the step that it reports. So
an effect may be written before its cause, also by two threads of one broker. The merge keeps the order of each thread,
and takes the earliest observation whose cause is there; it waits for a cause at most `SLACK_MS`. An observation without
a cause stays in its place, and the validation then rejects it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from kafka_tools.lab.recording.broker_log import Observed

SLACK_MS = 100
"""How much later, by the clock, a cause may be written than its effect."""


_CHANGES_OF_ROLE = ("leading", "following", "noted")
"""Observations that do not overtake others of their broker: it handles no request while it changes its role or ends."""


def merged(
    logs: Sequence[Sequence[Observed]], is_ready: Callable[[Observed], bool], take: Callable[[Observed], None]
) -> None:
    """Take the observations of all logs, those of each thread in their order.

    `is_ready` returns whether the cause of an observation was taken; `take` is called with each observation.
    """
    threads: dict[tuple[int, str], deque[tuple[int, int, int, Observed]]] = {}
    for number, log in enumerate(logs):
        for position, observed in enumerate(log):
            waiting = threads.setdefault((number, observed.thread), deque())
            waiting.append((observed.time, number, position, observed))
    queues = list(threads.values())
    while queues:
        queues.sort(key=lambda queue: queue[0][:3])
        earliest = queues[0][0][0]
        passed: set[int] = set()
        chosen = queues[0]
        for queue in queues:
            observed = queue[0][3]
            if observed.time > earliest + SLACK_MS:
                break
            if is_ready(observed) and not (observed.kind in _CHANGES_OF_ROLE and observed.broker in passed):
                chosen = queue
                break
            passed.add(observed.broker)
        take(chosen.popleft()[3])
        if not chosen:
            queues.remove(chosen)
