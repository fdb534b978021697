"""The order of observations of several brokers: by the machine's clock, and by causality where clocks cannot decide.

The brokers of a machine have one clock with milliseconds, and write a line after the step that it reports. So an effect
may be written before its cause. The merge takes the earliest observation whose cause is there; it waits for a cause at
most `SLACK_MS`. An observation without a cause stays in its place, and the validation then rejects it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_tools.recording.broker_log import Observed

SLACK_MS = 100
"""How much later, by the clock, a cause may be written than its effect."""


def merged(
    logs: Sequence[Sequence[Observed]], is_ready: Callable[[Observed], bool], take: Callable[[Observed], None]
) -> None:
    """Take the observations of all logs, each log in its order.

    `is_ready` returns whether the cause of an observation was taken; `take` is called with each observation.
    """
    positions = [0] * len(logs)
    while True:
        heads = [
            (log[at].time, number)
            for number, (log, at) in enumerate(zip(logs, positions, strict=True))
            if at < len(log)
        ]
        if not heads:
            return
        heads.sort()
        earliest = heads[0][0]
        chosen = next(
            (n for time, n in heads if time <= earliest + SLACK_MS and is_ready(logs[n][positions[n]])), heads[0][1]
        )
        observed = logs[chosen][positions[chosen]]
        positions[chosen] += 1
        take(observed)
