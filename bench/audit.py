"""The audit of segments that a real broker wrote: seconds, memory and bytes a second, on one process and on Spark.

A broker of the given release runs on this machine. An idempotent Java producer fills two partitions with batches of up
to 64 KB, without compression. The broker stops cleanly, and the audit reads its log directory. The segments are taken
out of the page cache before each audit, so that it reads them from the disk. The data is deleted at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kafka_tools.lab.cluster.administration import admin_client
from kafka_tools.lab.cluster.cluster import Cluster, running
from kafka_tools.lab.cluster.distribution import class_path, require_java

ROOT = Path(__file__).resolve().parent.parent
TOPIC, PARTITIONS, RECORD_BYTES = "filled", 2, 1000
_PRODUCER = Path(__file__).with_name("FillPartitions.java")
_SAMPLE_SECONDS = 0.2

RUNS = {
    "1 process": ["--workers", "1"],
    "2 processes": ["--workers", "2"],
    "local[2]": ["--engine", "spark", "--master", "local[2]"],
    "1 process, headers only": ["--workers", "1", "--no-crc"],
}


@dataclass(frozen=True)
class AuditFigures:
    """An audit's wall-clock seconds, and the processor seconds and the peak memory in bytes of all its processes."""

    seconds: float
    processor_seconds: float
    peak_bytes: int
    batches: int


def fill(cluster: Cluster, records: int) -> float:
    """Produce records to a new topic; return the seconds."""
    from confluent_kafka.admin import NewTopic

    admin = admin_client()({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(60)
    begun = time.perf_counter()
    words = [cluster.bootstrap, TOPIC, str(PARTITIONS), str(records), str(RECORD_BYTES)]
    command = [require_java(), "-Xmx512m", "-cp", class_path(cluster.version), str(_PRODUCER), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def segments(data: Path) -> Iterator[Path]:
    """Yield the segments of the topic."""
    yield from sorted(data.glob(f"{TOPIC}-*/*.log"))


def forget_cached_pages(data: Path) -> None:
    """Take the segments out of the page cache."""
    for path in segments(data):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def audited(data: Path, options: list[str], *, is_cached: bool) -> AuditFigures:
    """Run the command `audit` on the partitions; raise SystemExit if it finds anything."""
    if not is_cached:
        forget_cached_pages(data)
    folders = [str(data / f"{TOPIC}-{number}") for number in range(PARTITIONS)]
    command = [sys.executable, "-m", "checker", "audit", *folders, "--json", "-", *options]
    begun = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output)
        sampler = ProcessSampler(process.pid)
        sampler.start()
        process.wait()
        seconds = time.perf_counter() - begun
        sampler.stop()
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise SystemExit(f"the audit ended with status {process.returncode}: {text[:1000]}")
    batches = sum(partition["batches"] for partition in json.loads(text)["partitions"])
    return AuditFigures(seconds, sampler.processor_seconds, sampler.peak_bytes, batches)


class ProcessSampler:
    """Samples a process and its descendants in a thread. Those that live for less than a sample are not counted."""

    def __init__(self, pid: int):
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._seconds: dict[int, float] = {}
        self.peak_bytes = 0

    @property
    def processor_seconds(self) -> float:
        """The processor seconds of all processes, each as its last sample has them."""
        return sum(self._seconds.values())

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            pids = _descendants(self._pid)
            self._seconds |= {pid: seconds for pid in pids if (seconds := _processor_seconds(pid))}
            self.peak_bytes = max(self.peak_bytes, sum(map(_proportional_bytes, pids)))


def _descendants(pid: int) -> list[int]:
    """Return a process and all that it started, by /proc/PID/task/TID/children."""
    found = [pid]
    for each in found:
        try:
            for task in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def _processor_seconds(pid: int) -> float:
    """Return the processor seconds of a process, without those of its children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _proportional_bytes(pid: int) -> int:
    """Return the resident memory of a process, shared pages divided by the number of processes that share them."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def main() -> None:
    """Make the data, audit it in each way, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the data (10⁹ bytes)")
    parser.add_argument("--kafka", default="4.3.1", help="the release of the broker")
    parser.add_argument("--folder", type=Path, help="where the data is made (default: a temporary folder)")
    parser.add_argument("--cached", action="store_true", help="leave the segments in the page cache")
    parser.add_argument("--run", action="append", choices=sorted(RUNS), help="only these ways (repeatable)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidemark-audit-", dir=given.folder) as name:
        cluster = Cluster.create(Path(name) / "cluster", given.kafka, 1, ends_with_parent=True)
        with running(cluster):
            seconds = fill(cluster, int(given.gigabytes * 1e9 / RECORD_BYTES))
        data = cluster.data(cluster.nodes[0])
        size = sum(path.stat().st_size for path in segments(data))
        print(
            f"{size / 1e9:.2f} GB in {len(list(segments(data)))} segments of {PARTITIONS} partitions, "
            f"written by Kafka {given.kafka} in {seconds:.0f} s ({size / 1e6 / seconds:.0f} MB/s)\n",
            flush=True,
        )
        print("| audit | seconds | processor seconds | GB/s | memory, MB | batches |")
        print("| --- | --- | --- | --- | --- | --- |")
        for way in given.run or RUNS:
            found = audited(data, RUNS[way], is_cached=given.cached)
            print(
                f"| {way} | {found.seconds:.1f} | {found.processor_seconds:.1f} | {size / 1e9 / found.seconds:.2f} "
                f"| {found.peak_bytes / 1e6:.0f} | {found.batches:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
