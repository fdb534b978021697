"""The outcome of an experiment with transactions: what read_committed shows, and what the producer's calls said."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from checker.run.endings import StoppedError
from kafka_tools.lab.cluster.producer_process import ProducerCall

_POLL_SECONDS, _READ_SECONDS = 0.5, 30


def transaction_counts(calls: Sequence[ProducerCall], committed: Sequence[str], still_open: int) -> dict[str, int]:
    """Return the counts of `TRANSACTION_COUNTS`, by the calls of all producers and the records of read_committed."""
    visible = set(committed)
    returned = Counter(call.method for call in calls if not call.failure)
    ends = {call.records: call for call in calls if call.method in ("commit", "abort")}.values()
    return {
        "committed": returned["commit"],
        "aborted": returned["abort"],
        "refused_calls": sum(bool(call.failure) for call in calls),
        "aborted_read": sum(record in visible for end in ends if end.method == "abort" for record in end.records),
        "committed_unread": sum(
            record not in visible
            for end in ends
            if end.method == "commit" and not end.failure
            for record in end.records
        ),
        "torn": sum(0 < len(visible.intersection(end.records)) < len(set(end.records)) for end in ends),
        "open_transactions": still_open,
    }


def records_of_committed(bootstrap: str, topic: str, partitions: int) -> list[str]:
    """Return the values that a consumer with isolation.level=read_committed reads, partition by partition.

    The consumer stops at the last stable offset of each partition. Raises StoppedError if a partition does not answer.
    """
    from confluent_kafka import Consumer, TopicPartition

    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "tidemark",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "log_level": 0,
    }
    values: list[str] = []
    for partition in range(partitions):
        consumer = Consumer(settings)
        consumer.assign([TopicPartition(topic, partition, 0)])
        try:
            values += _until_end(consumer, f"{topic}-{partition}")
        finally:
            consumer.close()
    return values


def _until_end(consumer: object, name: str) -> list[str]:
    from confluent_kafka import Consumer, KafkaError

    assert isinstance(consumer, Consumer)
    values: list[str] = []
    for _ in range(int(_READ_SECONDS / _POLL_SECONDS)):
        message = consumer.poll(_POLL_SECONDS)
        if message is None:
            continue
        error = message.error()
        if error is None:
            values.append((message.value() or b"").decode(errors="replace"))
        elif error.code() == KafkaError._PARTITION_EOF:
            return values
    raise StoppedError(f"a consumer with read_committed does not reach the end of {name} within {_READ_SECONDS} s")


def open_transactions(folders: Sequence[Path]) -> int:
    """Return the number of transactions without a marker at the end of some partitions, as `audit` counts them."""
    from kafka_tools.audit.audit import AuditTask, audit, in_processes

    report = audit(AuditTask(tuple(folders)), in_processes(1, threading.Event()))
    return sum(partition.open_transactions for partition in report.partitions)
