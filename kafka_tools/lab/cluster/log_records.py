"""The values of the records in a partition's log, for logs whose batches are not compressed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kafka_tools.audit.partition_folder import batches_of, log_directory, opened_folder
from kafka_tools.audit.record_batches import CONTROL, HEADER_BYTES, varint


def values_of(folder: Path) -> list[str]:
    """Return the values of all records of a partition's folder, in the order of their offsets."""
    listed = opened_folder(folder, log_directory(folder.parent))
    values: list[str] = []
    for descriptor, rows in batches_of(listed, checks_crc=True):
        for row in rows[rows["attributes"] & CONTROL == 0]:
            data = os.pread(descriptor, int(row["size"]), int(row["position"]))
            values += _values(data[HEADER_BYTES:], int(row["records"]))
    return values


def _values(data: bytes, records: int) -> Iterator[str]:
    """Yield the values of the records of a batch (`DefaultRecord`)."""
    position = 0
    for _ in range(records):
        size, position = varint(data, position)
        end = position + size
        # Attributes, time stamp delta and offset delta come before the key.
        position += 1
        for _ in range(2):
            _, position = varint(data, position)
        key, position = varint(data, position)
        length, position = varint(data, position + max(key, 0))
        yield data[position : position + max(length, 0)].decode(errors="replace")
        position = end
