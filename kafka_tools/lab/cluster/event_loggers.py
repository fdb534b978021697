"""The loggers of a broker whose lines carry the events of replication, with the level that each of them needs."""

from __future__ import annotations

from kafka_tools.experiments.releases import release

_CLASSES = {
    "kafka.cluster.Partition": "DEBUG",
    "kafka.server.ReplicaFetcherThread": "TRACE",
    "org.apache.kafka.controller.ReplicationControlManager": "DEBUG",
    "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache": "DEBUG",
}
_LOG_CLASS = {3: "kafka.log.UnifiedLog", 4: "org.apache.kafka.storage.internals.log.UnifiedLog"}
"""The class of a partition's log by major release: Scala until 3.9, Java from 4.0."""


def event_loggers(version: str) -> dict[str, str]:
    """Return the levels that a recording needs, by logger: single classes, not whole packages."""
    return {**_CLASSES, _LOG_CLASS[release(version)[0]]: "TRACE"}
