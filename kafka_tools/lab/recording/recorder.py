"""Reads the logs of a cluster's brokers and the notes of its harness, and returns the events of its partitions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.errors import InputError
from kafka_tools.lab.cluster.cluster import Cluster
from kafka_tools.lab.cluster.harness_notes import HarnessNotes
from kafka_tools.lab.recording.batch_offsets import in_batches
from kafka_tools.lab.recording.broker_log import BrokerLog, Observed, milliseconds, read_broker_log
from kafka_tools.lab.recording.event_order import merged
from kafka_tools.lab.recording.partition_events import Event, PartitionEvents, committed_changes


@dataclass(frozen=True)
class ClusterLogs:
    """The observations of all brokers of a cluster, one list for each broker and one for the harness."""

    version: str
    observed: tuple[tuple[Observed, ...], ...]
    unparsed: tuple[str, ...]
    lines: int

    @property
    def partitions(self) -> list[str]:
        """The partitions whose creation is in the logs, without those of Kafka itself."""
        names = {each.partition for log in self.observed for each in log if each.kind == "created" and each.partition}
        return sorted(name for name in names if not name.startswith("__"))


@dataclass(frozen=True)
class PartitionRecording:
    """The events of a partition, and how many observations repeated what was known, by event."""

    partition: str
    events: tuple[Event, ...]
    repeated: dict[str, int]


def read_cluster_logs(folder: Path) -> ClusterLogs:
    """Read the logs of a cluster; raise InputError if its brokers did not log the events."""
    cluster = Cluster.open(folder)
    if not cluster.is_traced:
        raise InputError(
            f"the brokers of {folder} do not log their events: make the cluster with `cluster up --trace`, or turn the "
            f"loggers on with `record LOG --cluster {folder}` and use a topic that is created after that"
        )
    logs: list[BrokerLog] = []
    for node in cluster.nodes:
        path = cluster.home(node) / "server.log"
        if path.exists():
            logs.append(read_broker_log(path, node.number))
    notes = [
        Observed(milliseconds(note["time"]), note.get("broker", 0), "noted", None, note)
        for note in HarnessNotes(folder).read()
    ]
    return ClusterLogs(
        cluster.version,
        tuple(tuple(each) for each in [*(log.observed for log in logs), notes]),
        tuple(line for log in logs for line in log.unparsed),
        sum(log.lines for log in logs),
    )


def record_partition(logs: ClusterLogs, partition: str) -> PartitionRecording:
    """Return the events of a partition; raise InputError if the logs do not have its creation."""
    observed = _of_partition(logs.observed, partition)
    events_of_partition = PartitionEvents(
        partition, committed_changes(itertools.chain.from_iterable(observed), partition)
    )
    merged(observed, events_of_partition.is_ready, events_of_partition.take)
    events = in_batches(events_of_partition.result(), partition)
    if not events:
        known = ", ".join(logs.partitions) or "none"
        raise InputError(f"the logs do not have the creation of {partition}; partitions in the logs: {known}")
    events[0] = {**events[0], "kafka": logs.version, "partition": partition}
    return PartitionRecording(partition, tuple(events), dict(events_of_partition.repeated))


def _of_partition(observed: Sequence[Sequence[Observed]], partition: str) -> list[list[Observed]]:
    return [[each for each in log if each.partition in (partition, None)] for log in observed]


def as_json(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return events with their time in milliseconds since the first one."""
    first = events[0]["time"]
    return [{**event, "time": event["time"] - first} for event in events]
