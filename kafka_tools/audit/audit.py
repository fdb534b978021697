"""The audit of partition folders: parts in parallel, in this process's workers or on Spark, joined in order."""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from checker.run.process_pool import results_in_order
from kafka_tools.audit.copies import CopyTask, compare_copies
from kafka_tools.audit.findings import AuditFinding, Kind
from kafka_tools.audit.part_audit import PartResult, PartTask, audit_part
from kafka_tools.audit.partition_audit import PART_BYTES, PartitionAudit, PartitionReport, part_tasks
from kafka_tools.audit.partition_folder import (
    PartitionFolder,
    folders_of,
    log_directory,
    lost_partitions,
    opened_folder,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class AuditTask:
    """The folders to audit. `is_compacted` says that their topics are, where no cleaner-offset-checkpoint does."""

    paths: tuple[Path, ...]
    checks_crc: bool = True
    is_compacted: bool = False
    part_bytes: int = PART_BYTES


@dataclass(frozen=True)
class Unread:
    """A file or folder that could not be read: it is not known to be sound."""

    path: str
    reason: str


@dataclass(frozen=True)
class AuditReport:
    """The result: each partition folder, the differences of copies, what was not read, and whether the audit ended.

    `compared` counts the pairs of copies.
    """

    partitions: tuple[PartitionReport, ...]
    differences: tuple[AuditFinding, ...]
    unread: tuple[Unread, ...]
    compared: int = 0
    is_interrupted: bool = False

    @property
    def findings(self) -> Iterator[AuditFinding]:
        """All findings, by partition."""
        yield from itertools.chain(*(report.findings for report in self.partitions), self.differences)

    @property
    def is_sound(self) -> bool:
        """Whether the audit found nothing but notes."""
        return all(finding.kind.is_note for finding in self.findings)

    @property
    def is_complete(self) -> bool:
        """Whether everything was read."""
        return not self.unread and not self.is_interrupted


Runner = Callable[[list[PartTask]], Iterable[list[PartResult] | Unread]]
"""Computes the results of parts, in order."""


def audit(task: AuditTask, run: Runner, progress: Callable[[int, int], None] | None = None) -> AuditReport:
    """Audit folders. `progress` gets the bytes done and the bytes in all. Raises InputError if a path is no log."""
    folders = list_folders(task)
    parts = [part_tasks(folder, checks_crc=task.checks_crc, part_bytes=task.part_bytes) for folder in folders]
    total = sum(part.part.end - part.part.start for parts_of in parts for part in parts_of)
    results = iter(run([part for parts_of in parts for part in parts_of]))
    reports: list[PartitionReport] = []
    unread: list[Unread] = []
    done = 0
    for folder, parts_of in zip(folders, parts, strict=True):
        joined = PartitionAudit(folder)
        missing = _join(joined, parts_of, results, unread)
        if missing:
            return AuditReport(tuple(reports), (), tuple(unread), is_interrupted=True)
        done += sum(part.part.end - part.part.start for part in parts_of)
        if progress is not None:
            progress(done, total)
        reports.append(joined.report())
    differences, compared = _differences(folders, unread)
    return AuditReport(tuple(reports), differences, tuple(unread), compared)


def _join(
    joined: PartitionAudit, parts: list[PartTask], results: Iterator[list[PartResult] | Unread], unread: list[Unread]
) -> bool:
    """Add the results of a partition's parts in order; return whether some are missing: the run was interrupted."""
    scanned_alone = -1
    for part, following in itertools.zip_longest(parts, parts[1:]):
        part_result = next(results, None)
        if part_result is None:
            return True
        if part.part.number == scanned_alone:
            continue
        if isinstance(part_result, Unread):
            unread.append(part_result)
            joined.skip()
            continue
        for result in part_result:
            joined.add(result)
        end = part_result[-1].end
        is_divided = following is not None and following.part.number == part.part.number
        if is_divided and end != following.part.start and not any(result.damage for result in part_result):
            # The index named a position that is inside a batch: the parts after it are wrong.
            joined.add_finding(Kind.INDEX, f"the position {following.part.start} is inside a batch", part)
            scanned_alone = part.part.number
            rest = replace(part, part=replace(part.part, start=end, end=part.part.file_bytes), snapshots=())
            for result in audit_part(rest):
                joined.add(result)
    return False


def _differences(folders: list[PartitionFolder], unread: list[Unread]) -> tuple[tuple[AuditFinding, ...], int]:
    """Compare the copies of each partition with the first of them; return the differences and the number of pairs."""
    copies: dict[str, list[PartitionFolder]] = defaultdict(list)
    for folder in folders:
        copies[folder.name].append(folder)
    differences: list[AuditFinding] = []
    compared = 0
    for first, *others in copies.values():
        for other in others:
            compared += 1
            try:
                differences += compare_copies(CopyTask(first, other))
            except OSError as error:
                unread.append(Unread(str(other.path), error.strerror or str(error)))
    return tuple(differences), compared


def list_folders(task: AuditTask) -> list[PartitionFolder]:
    """Return the partition folders of the given paths, each once."""
    folders: dict[Path, PartitionFolder] = {}
    directories: set[Path] = set()
    for given in task.paths:
        for path in folders_of(given):
            place = path.resolve()
            directory = log_directory(place.parent)
            if place in folders:
                continue
            folders[place] = folder = opened_folder(place, directory, is_compacted=task.is_compacted)
            if place.parent not in directories:
                directories.add(place.parent)
                lost = lost_partitions(place.parent, directory) if given.resolve() == place.parent else ()
                folders[place] = replace(folder, findings=(*directory.findings, *lost, *folder.findings))
    return list(folders.values())


def attempt(task: PartTask) -> list[PartResult] | Unread:
    """Return the results of a part, or the reason why its file could not be read."""
    try:
        return audit_part(task)
    except OSError as error:
        return Unread(str(task.path), error.strerror or str(error))


def in_processes(workers: int, cancelled: threading.Event) -> Runner:
    """Return a runner with worker processes on this machine; it stops early when `cancelled` is set."""

    def run(tasks: list[PartTask]) -> Iterator[list[PartResult] | Unread]:
        if workers == 1 or len(tasks) == 1:
            for task in tasks:
                if cancelled.is_set():
                    return
                yield attempt(task)
            return
        yield from results_in_order(len(tasks), workers, lambda number, _: attempt(tasks[number]), cancelled)

    return run


def on_spark(spark: SparkSession, cancelled: threading.Event) -> Runner:
    """Return a runner with a Spark task for each part. The executors see the folders under the same paths."""

    def run(tasks: list[PartTask]) -> Iterator[list[PartResult] | Unread]:
        parts = spark.sparkContext.parallelize(tasks, max(len(tasks), 1))
        for result in parts.map(attempt).toLocalIterator(prefetchPartitions=True):
            if cancelled.is_set():
                return
            yield result

    return run
