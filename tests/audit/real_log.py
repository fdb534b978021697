"""A log directory that a broker of Kafka 4.3.1 wrote, and changes of its files.

`kafka-4.3.1-log.tar.xz` has three partitions, without the reserved zeros of the last indexes:
- orders-0: three idempotent librdkafka producers (none, gzip, lz4) and one that is not, in four segments;
- payments-0: two transactional librdkafka producers, 121 transactions, a fifth of them aborted, the last one open;
- restarted-0: entry I7 of the catalogue. A Java producer lost three responses, the broker was restarted with SIGTERM,
  and the producer sent the three batches again under a new epoch.
"""

import struct
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

from kafka_tools.audit.audit import AuditReport, AuditTask, audit, in_processes
from kafka_tools.audit.record_batches import crc32c

ARCHIVE = Path(__file__).with_name("kafka-4.3.1-log.tar.xz")

BASE_OFFSET, LENGTH, LEADER_EPOCH, MAGIC, CRC, ATTRIBUTES = (
    (0, ">q"),
    (8, ">i"),
    (12, ">i"),
    (16, ">b"),
    (17, ">I"),
    (21, ">h"),
)
PRODUCER_ID, PRODUCER_EPOCH, BASE_SEQUENCE, RECORDS = (43, ">q"), (51, ">h"), (53, ">i"), (57, ">i")
MAX_TIMESTAMP = (35, ">q")
"""The place of a field in a batch, and its format."""


def extract(folder: Path) -> Path:
    """Extract the log directory and return its path. The archive lacks the recovery points, which are the log ends."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    directory = folder / "broker1"
    points = "0\n3\norders 0 3000\npayments 0 481\nrestarted 0 7\n"
    (directory / "recovery-point-offset-checkpoint").write_text(points)
    return directory


def audited(*paths: Path, part_bytes: int = 1 << 20, checks_crc: bool = True) -> AuditReport:
    """Audit folders in this process."""
    task = AuditTask(paths, checks_crc=checks_crc, part_bytes=part_bytes)
    return audit(task, in_processes(1, threading.Event()))


def batches(data: bytes) -> list[tuple[int, int]]:
    """Return the position and the size of each batch of an undamaged segment."""
    found, position = [], 0
    while position < len(data):
        size = 12 + struct.unpack_from(">i", data, position + 8)[0]
        found.append((position, size))
        position += size
    return found


def field(data: bytes, position: int, place: tuple[int, str]) -> int:
    """Return a field of the batch at a position."""
    return int(struct.unpack_from(place[1], data, position + place[0])[0])


def with_field(data: bytes, position: int, place: tuple[int, str], value: int) -> bytes:
    """Return a segment with another value of a field of the batch at a position, and a right checksum."""
    changed = bytearray(data)
    struct.pack_into(place[1], changed, position + place[0], value)
    size = 12 + struct.unpack_from(">i", data, position + 8)[0]
    struct.pack_into(">I", changed, position + CRC[0], crc32c(bytes(changed[position + 21 : position + size])))
    return bytes(changed)


def change(path: Path, edit: Callable[[bytes], bytes]) -> None:
    """Replace the content of a file."""
    path.write_bytes(edit(path.read_bytes()))
