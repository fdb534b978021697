"""The work of `record --cluster`: turn on the loggers of a cluster, and write the events of a partition."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from checker.errors import InputError
from checker.output.output_files import write_whole
from kafka_tools.lab.cluster.cluster import BROKER, Cluster
from kafka_tools.lab.cluster.event_loggers import event_loggers
from kafka_tools.lab.recording.dynamic_loggers import set_levels
from kafka_tools.lab.recording.recorder import (
    ClusterLogs,
    PartitionRecording,
    as_json,
    read_cluster_logs,
    record_partition,
)

SHOWN = 5
"""The number of unparsed lines that are shown."""


def record_cluster(log: Path, folder: Path, partition: str | None, seconds: int) -> None:
    """Record a partition of a cluster for some seconds, or what was logged so far; print what the recording has."""
    cluster = Cluster.open(folder)
    if not cluster.is_traced:
        trace(cluster)
        if not seconds:
            print(
                f"the brokers of {folder} log their events from now on: create a topic, and run this command again",
                file=sys.stderr,
            )
            return
    _wait(seconds)
    logs = read_cluster_logs(folder)
    recording = record_partition(logs, partition or _only(logs.partitions))
    write_recording(log, recording)
    for line in summary(logs, recording):
        print(line)
    print(f"python -m checker validate replication/partition {log} --mapping kafka_tools.lab.recording.partition")


def trace(cluster: Cluster) -> None:
    """Let the brokers of a cluster log their events: those that run from now on, others from their next start."""
    for node in cluster.nodes:
        if node.state == "running":
            set_levels(node.ports[BROKER], node.number, event_loggers(cluster.version))
    cluster.mark_traced()


def write_recording(log: Path, recording: PartitionRecording) -> None:
    """Write the events of a partition, one JSON object per line."""
    write_whole(log, "".join(json.dumps(event) + "\n" for event in as_json(recording.events)))


def summary(logs: ClusterLogs, recording: PartitionRecording) -> Iterable[str]:
    """Yield lines about a recording: its events, what repeats, and the lines that could not be parsed."""
    repeated = ", ".join(f"{name} {count}" for name, count in sorted(recording.repeated.items()))
    yield (
        f"{recording.partition}: {len(recording.events)} events from {logs.lines:,} log lines of Kafka {logs.version}; "
        f"observations without news: {repeated or 'none'}"
    )
    yield f"lines that look like an event and could not be parsed: {len(logs.unparsed)}"
    for line in logs.unparsed[:SHOWN]:
        yield f"  {line[:200]}"


def _only(partitions: list[str]) -> str:
    if len(partitions) != 1:
        raise InputError(
            f"name the partition, as in --partition topic-0; partitions in the logs: {', '.join(partitions) or 'none'}"
        )
    return partitions[0]


def _wait(seconds: int) -> None:
    try:
        time.sleep(seconds)
    except KeyboardInterrupt:
        print("interrupted: the events until now are recorded", file=sys.stderr)
