"""Experiments that are proposed for traces: a counterexample of a spec becomes a file for real brokers.

A trace contains the faults: a connection that closes, a broker that restarts, a leader that is elected. The schedule
brings them about where the harness can. The file says which steps of the trace it cannot force.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from checker.errors import InputError
from checker.execution.show_trace import replayed
from kafka_tools.lab.cluster.failover_schedule import failover_schedule
from kafka_tools.lab.cluster.producer_schedule import producer_schedule
from kafka_tools.lab.cluster.schedule import ProposedSchedule, TraceCall
from traces.trace_file import TraceFile, read_trace

_TRANSLATORS: dict[str, Callable[[Sequence[TraceCall], Mapping[str, Any]], ProposedSchedule]] = {
    "producer/plain_producer": partial(producer_schedule, idempotent=False),
    "producer/idempotent_producer": partial(producer_schedule, idempotent=True),
    "producer/acks": failover_schedule,
    "replication/partition": failover_schedule,
}
"""The specs whose traces have a schedule."""

EXPECTED = {
    "no_duplicate": "duplicated",
    "no_late_copy": "duplicated",
    "no_reorder": "reordered",
    "no_acked_loss": "lost",
}
"""The count that a violated property concerns."""

_ENTRY = re.compile(r"([a-z]+\d+)_")
_WIDTH = 100


def propose(path: Path) -> str:
    """Return the file of an experiment for a trace, which is replayed first.

    Raises InputError if it is not a trace of the current spec, or if its spec or its property has no schedule.
    """
    replayed(path)
    trace = read_trace(path)
    translate = _TRANSLATORS.get(trace.origin.target)
    if translate is None:
        raise InputError(f"{path} is a trace of {trace.origin.name}: schedules exist for {', '.join(_TRANSLATORS)}")
    if trace.property not in EXPECTED:
        raise InputError(f"{path} violates {trace.property}: experiments can show {', '.join(EXPECTED)}")
    if int(trace.origin.constants.get("partitions", 1)) > 1:
        raise InputError(f"{path} has more than one partition: schedules exist for one")
    return _file(trace, translate(_calls(trace), trace.origin.constants))


def _calls(trace: TraceFile) -> list[TraceCall]:
    """Return the steps after the initial state."""
    return [
        TraceCall(number, str(step["action"]), step["arguments"], before["state"], step["state"])
        for number, (before, step) in enumerate(pairwise(trace.steps), start=2)
    ]


def _file(trace: TraceFile, schedule: ProposedSchedule) -> str:
    comments = [f"# Proposed for a trace of {trace.origin.name}, which violates {trace.property}."]
    comments += [f"# The harness cannot force: {text}." for text in schedule.unforced]
    named = _ENTRY.match(trace.origin.scenario or "")
    head = [
        f'title = "The counterexample of {trace.origin.name}"',
        *([f'entry = "{named[1].upper()}"'] if named else []),
        f"brokers = {schedule.brokers}",
        *([f"replicas = {list(range(1, schedule.replicas + 1))}"] if schedule.replicas < schedule.brokers else []),
        "steps = [",
        *_lines(schedule.steps),
        "]",
    ]
    tables = {"broker": schedule.broker, "topic": schedule.topic, "producer": schedule.producer}
    tables["expect"] = {EXPECTED[trace.property]: "1 or more"}
    for name, content in tables.items():
        if content:
            head += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in content.items())]
    return "\n".join([*comments, *head]) + "\n"


def _lines(steps: Sequence[str]) -> list[str]:
    """Return the steps as lines of TOML."""
    lines = [""]
    for step in steps:
        if len(lines[-1]) + len(step) > _WIDTH:
            lines.append("")
        lines[-1] += f' "{step}",'
    return [f"   {line}" for line in lines]


def _key(key: str) -> str:
    return f'"{key}"' if "." in key else key


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else f'"{value}"'
