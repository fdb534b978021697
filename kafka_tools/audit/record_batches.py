"""Record batches of a segment file: their headers as rows of an array, and the places that are no batch.

The format is `DefaultRecordBatch` of Kafka (magic 2): 61 bytes of header, big-endian; the checksum is CRC-32C over the
bytes from the attributes to the end of the batch. Magic 0 and 1 are single messages, or wrappers of compressed ones
(`AbstractLegacyRecordBatch`): an offset, a size, and a CRC-32 over the rest.

The file is read in blocks, not mapped: a broker may truncate it at any moment. Memory is bounded by the block and by
the rows of one block, whatever the size of the segment or of a batch.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import crc32c as library
import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[Any]
"""Rows of type `ROW`, in the order of the file."""

Row = np.void
"""One row of type `ROW`."""

HEADER_BYTES = 61
LENGTH_FIELD_END = 12
"""The bytes up to the end of the length field. The length counts the bytes after it."""

_HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("records", ">i4"),
    ]
)
assert _HEADER.itemsize == HEADER_BYTES

ROW = np.dtype(
    [
        ("position", "i8"),
        ("size", "i8"),
        ("first_offset", "i8"),
        ("last_offset", "i8"),
        ("base_timestamp", "i8"),
        ("max_timestamp", "i8"),
        ("producer_id", "i8"),
        ("crc", "u4"),
        ("leader_epoch", "i4"),
        ("first_sequence", "i4"),
        ("last_sequence", "i4"),
        ("records", "i4"),
        ("coordinator_epoch", "i4"),
        ("segment", "i4"),
        ("attributes", "i2"),
        ("producer_epoch", "i2"),
        ("magic", "i1"),
        ("marker", "i1"),
        ("damage", "i4"),
    ]
)
"""A batch. `segment` numbers the files of the partition, `position` is the byte in the file.

`damage` counts the damaged places and missing offsets before the batch, in the part that was scanned: a rule that
compares two batches holds only if nothing is missing between them.

`marker` is ABORT or COMMIT for the end of a transaction, else NO_MARKER, and `coordinator_epoch` is that of the marker.
"""

NO_MARKER, ABORT, COMMIT = -1, 0, 1
TRANSACTIONAL, CONTROL, LOG_APPEND_TIME = 0x10, 0x20, 0x08
_COMPRESSION, _LAST_COMPRESSION = 0x07, 4

SEQUENCES = 1 << 31
"""Sequence numbers wrap from 2^31 - 1 to 0 (`DefaultRecordBatch.incrementSequence`)."""

_BLOCK = 8 << 20

_SEARCHED_PREFIX = 5
"""The first bytes of a batch that `_next_batch` looks for: the high bytes of its offset."""

_SHORTEST = 17
"""The bytes up to the magic byte, which is at the same place in every format."""

_LENGTH = struct.Struct(">i")
_LEAST_LENGTH = {0: 14, 1: 22, 2: HEADER_BYTES - LENGTH_FIELD_END}
"""The least value of the length field by magic."""

_LEGACY = struct.Struct(">qiIbb")


@dataclass(frozen=True)
class BadPlace:
    """A place of a segment that is no batch: [position, end), and the reason.

    `is_checksum`: a batch whose checksum is wrong; it is in the rows too. `is_incomplete`: the file ends inside a batch
    or in zeros, as a segment that is being written may do.
    """

    position: int
    end: int
    reason: str
    is_checksum: bool = False
    is_incomplete: bool = False


@dataclass(frozen=True)
class Part:
    """The part of a segment to scan: the batches that start in [start, end), of a file of so many bytes.

    `start` is the position of a batch. `number` is the number of the segment in its partition.
    """

    number: int
    start: int
    end: int
    file_bytes: int


def crc32c(data: memoryview | bytes, value: int = 0) -> int:
    """Return the CRC-32C of bytes, continued from the one of earlier bytes."""
    return int(library.crc32c(data, value))


def scan(descriptor: int, part: Part, *, checks_crc: bool) -> Iterator[Rows | BadPlace]:
    """Yield the batches of a part of a segment as arrays of rows, and the bad places between them, in file order."""
    position, expected = part.start, -1
    while position < part.end:
        block = os.pread(descriptor, min(_BLOCK, part.file_bytes - position), position)
        positions, reason = _chain(block, min(part.end - position, len(block)))
        if positions:
            rows = _rows(block, np.array(positions), position, part.number)
        elif not reason and (row := _long_batch(descriptor, position, part)) is not None:
            rows = row
        else:
            unreadable = _bad_place(descriptor, position, expected, part, reason)
            yield unreadable
            position = unreadable.end
            continue
        good, place = _plausible_prefix(rows)
        if checks_crc:
            yield from _wrong_checksums(descriptor, block, position, good)
        if len(good):
            yield good
            expected = int(good[-1]["last_offset"]) + 1
            position = int(good[-1]["position"] + good[-1]["size"])
        if place is not None:
            bad = _bad_place(descriptor, place.position, expected, part, place.reason)
            yield bad
            position = bad.end


def _chain(block: bytes, end: int) -> tuple[list[int], str]:
    """Return the positions of the whole batches of a block that start before `end`, and why the chain breaks, if so."""
    positions: list[int] = []
    add, unpack, available = positions.append, _LENGTH.unpack_from, len(block)
    position = 0
    while position < end and position + _SHORTEST <= available:
        length, magic = unpack(block, position + 8)[0], block[position + 16]
        if length < _LEAST_LENGTH.get(magic, 0) or magic > 2:
            if length == 0:
                return positions, "its length is 0"
            return positions, f"its magic byte is {magic}" if magic > 2 else f"its length is {length}"
        following = position + LENGTH_FIELD_END + length
        if following > available:
            break
        add(position)
        position = following
    return positions, ""


def _rows(block: bytes, positions: npt.NDArray[np.int64], start: int, segment: int) -> Rows:
    """Return the rows of the batches at some positions of a block that begins at byte `start` of the file."""
    magics = np.frombuffer(block, np.uint8)[positions + 16]
    rows = np.zeros(len(positions), ROW)
    rows["segment"], rows["magic"], rows["position"] = segment, magics, positions + start
    rows["marker"], rows["coordinator_epoch"] = NO_MARKER, -1
    current = magics == 2
    _fill_current(rows, np.flatnonzero(current), block, positions[current])
    for index in np.flatnonzero(~current):
        offset, length, crc, _, attributes = _LEGACY.unpack_from(block, int(positions[index]))
        row = rows[index]
        row["size"], row["crc"], row["attributes"] = length + LENGTH_FIELD_END, crc, attributes & _COMPRESSION
        row["first_offset"] = row["last_offset"] = offset
        row["producer_id"] = row["leader_epoch"] = row["producer_epoch"] = -1
        row["records"] = 1
    return rows


def _fill_current(rows: Rows, indices: npt.NDArray[np.int64], block: bytes, positions: npt.NDArray[np.int64]) -> None:
    """Fill in the rows of the batches of magic 2."""
    octets = np.frombuffer(block, np.uint8)
    headers = octets[positions[:, None] + np.arange(HEADER_BYTES)].view(_HEADER).ravel()
    filled = np.zeros(len(indices), ROW)
    filled[:] = rows[indices]
    filled["size"] = headers["length"].astype("i8") + LENGTH_FIELD_END
    filled["first_offset"] = headers["base_offset"]
    filled["last_offset"] = headers["base_offset"] + headers["last_offset_delta"].astype("i8")
    for name in ("base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "crc", "leader_epoch", "records"):
        filled[name] = headers[name]
    filled["attributes"], filled["first_sequence"] = headers["attributes"], headers["base_sequence"]
    delta = headers["last_offset_delta"].astype("i8")
    last = headers["base_sequence"].astype("i8") + delta
    filled["last_sequence"] = np.where(headers["base_sequence"] < 0, -1, last % SEQUENCES)
    for index in np.flatnonzero((filled["attributes"] & CONTROL != 0) & (filled["producer_id"] >= 0)):
        begin, size = int(positions[index]), int(filled[index]["size"])
        filled[index]["marker"], filled[index]["coordinator_epoch"] = _marker(
            block[begin + HEADER_BYTES : begin + size]
        )
    rows[indices] = filled


def _marker(record: bytes) -> tuple[int, int]:
    """Return the type and the coordinator epoch of a control record (`ControlRecordType`, `EndTransactionMarker`)."""
    try:
        position = 0
        _, position = varint(record, position)
        position += 1
        for _ in range(2):
            _, position = varint(record, position)
        key_bytes, position = varint(record, position)
        _, kind = struct.unpack_from(">hh", record, position)
        _, position = varint(record, position + key_bytes)
        _, coordinator_epoch = struct.unpack_from(">hi", record, position)
    except (IndexError, struct.error):
        return NO_MARKER, -1
    return (kind, coordinator_epoch) if kind in (ABORT, COMMIT) else (NO_MARKER, -1)


def varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a zigzag varint and the position after it; raise IndexError if the data ends before."""
    value = shift = 0
    while True:
        octet = data[position]
        position += 1
        value |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80 or shift > 63:
            return (value >> 1) ^ -(value & 1), position


def _long_batch(descriptor: int, position: int, part: Part) -> Rows | None:
    """Return the row of a batch that is longer than a block, or None if the file ends inside it."""
    header = os.pread(descriptor, HEADER_BYTES, position)
    if len(header) < HEADER_BYTES:
        return None
    (length,) = _LENGTH.unpack_from(header, 8)
    if position + LENGTH_FIELD_END + length > part.file_bytes:
        return None
    return _rows(header, np.zeros(1, np.int64), position, part.number)


def _plausible_prefix(rows: Rows) -> tuple[Rows, BadPlace | None]:
    """Return the rows before the first whose header cannot be one, and that place."""
    delta = rows["last_offset"] - rows["first_offset"]
    wrong = (rows["first_offset"] < 0) | (delta < 0) | (rows["records"] < 0)
    wrong |= (rows["attributes"] & _COMPRESSION) > _LAST_COMPRESSION
    wrong |= (rows["producer_id"] < -1) | (rows["producer_epoch"] < -1) | (rows["leader_epoch"] < -1)
    if not wrong.any():
        return rows, None
    first = int(np.argmax(wrong))
    row = rows[first]
    place = BadPlace(
        int(row["position"]), int(row["position"] + row["size"]), "a field of its header is negative or unknown"
    )
    return rows[:first], place


def _wrong_checksums(descriptor: int, block: bytes, start: int, rows: Rows) -> Iterator[BadPlace]:
    """Yield the batches whose bytes do not have the checksum of their header."""
    view, has_all = memoryview(block), len(rows) and rows[-1]["position"] + rows[-1]["size"] <= start + len(block)
    for position, size, crc, magic in zip(
        *(rows[name].tolist() for name in ("position", "size", "crc", "magic")), strict=True
    ):
        begin = position - start
        if has_all:
            data = view[begin + (21 if magic == 2 else 16) : begin + size]
            computed = crc32c(data) if magic == 2 else zlib.crc32(data)
        else:
            computed = _checksum_in_blocks(descriptor, position, size, magic)
        if computed != crc:
            reason = f"the checksum of the batch is {computed:#010x}, its header says {crc:#010x}"
            yield BadPlace(position, position + size, reason, is_checksum=True)


def _checksum_in_blocks(descriptor: int, position: int, size: int, magic: int) -> int:
    """Return the checksum of a batch that is longer than a block."""
    value, at, end = 0, position + (21 if magic == 2 else 16), position + size
    while at < end:
        data = os.pread(descriptor, min(_BLOCK, end - at), at)
        if not data:
            break
        value = crc32c(data, value) if magic == 2 else zlib.crc32(data, value)
        at += len(data)
    return value


def _bad_place(descriptor: int, position: int, expected: int, part: Part, reason: str) -> BadPlace:
    """Return the bad place at a position: to the end of the file, or to the next batch that can be read.

    A next batch has the same high bytes of its offset as the one expected, and a right checksum.
    """
    left = part.file_bytes - position
    if _is_zero(descriptor, position, part.file_bytes):
        return BadPlace(position, part.file_bytes, f"the last {left} bytes are zeros", is_incomplete=True)
    following = _next_batch(descriptor, position + 1, max(expected, 0), part)
    if following is not None:
        text = reason or "it is longer than the bytes before the next batch"
        return BadPlace(position, following, f"no batch can be read here: {text}")
    if reason:
        return BadPlace(position, part.file_bytes, f"no batch can be read here: {reason}")
    return BadPlace(
        position, part.file_bytes, f"the file ends inside a batch, after {left} bytes of it", is_incomplete=True
    )


def _is_zero(descriptor: int, position: int, end: int) -> bool:
    while position < end:
        data = os.pread(descriptor, min(_BLOCK, end - position), position)
        if not data or data.count(0) != len(data):
            return not data
        position += len(data)
    return True


def _next_batch(descriptor: int, position: int, expected: int, part: Part) -> int | None:
    """Return the position of the next batch of magic 2 with a right checksum, or None."""
    prefix = struct.pack(">q", expected)[:_SEARCHED_PREFIX]
    while position < part.file_bytes:
        data = os.pread(descriptor, min(_BLOCK, part.file_bytes - position), position)
        at = data.find(prefix)
        while at >= 0:
            if _is_batch(descriptor, position + at, expected, part):
                return position + at
            at = data.find(prefix, at + 1)
        if len(data) < _BLOCK:
            return None
        position += len(data) - len(prefix) + 1
    return None


def _is_batch(descriptor: int, position: int, expected: int, part: Part) -> bool:
    header = os.pread(descriptor, HEADER_BYTES, position)
    if len(header) < HEADER_BYTES:
        return False
    offset, length, _, magic, crc = struct.unpack_from(">qiibI", header)
    size = LENGTH_FIELD_END + length
    if magic != 2 or length < _LEAST_LENGTH[2] or offset < expected or position + size > part.file_bytes:
        return False
    return _checksum_in_blocks(descriptor, position, size, 2) == int(crc)
