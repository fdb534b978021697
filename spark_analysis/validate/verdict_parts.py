"""The verdicts of a validation on Spark: a data set of Parquet in parts, each of which appears as a whole.

    verdicts.parquet/_validation.json      what is validated, and the number of parts
    verdicts.parquet/_part-00003.sha256    the digest of a part
    verdicts.parquet/part-00003.parquet    a row for each trace of the part (`traces.validate.totals.verdict_row`)

A trace belongs to a part by the hash of its name. The same validation is resumed with the parts that are missing;
another one replaces these files. Readers of Parquet ignore names that begin with an underscore.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.data_files import read_data, reason_of
from checker.errors import InputError, OutputError
from checker.run.scratch_folders import scratch_folder
from traces.storage import Location, RemotePath, local_copy, new_file, read_location
from traces.validate.totals import Row

if TYPE_CHECKING:
    import pyarrow

VERDICTS = "verdicts.parquet"
"""The folder of the verdicts in the folder of a report."""

_OPEN_FILES, _ROWS = 128, 1000
"""The number of files that are merged at a time, and of rows that are read at a time."""

_MANIFEST = "_validation.json"
_PART = re.compile(r"part-(\d+)\.parquet")
_OWN = re.compile(r"part-\d+\.parquet|_part-\d+\.sha256|_validation\.json")
_UNFINISHED = re.compile(rf"\.({_OWN.pattern})\.\d+\.[0-9a-f]{{8}}")
"""The names of `new_file` for files of which the process died."""


@dataclass(frozen=True)
class VerdictParts:
    """The parts of a validation: their folder, and their number."""

    folder: Location
    count: int

    def part(self, number: int) -> Location:
        """Return the path of a part."""
        return self.folder / f"part-{number:05}.parquet"

    def _digest(self, number: int) -> Location:
        return self.folder / f"_part-{number:05}.sha256"

    def write(self, number: int, table: pyarrow.Table) -> None:
        """Write a part as a whole; raise OSError if that fails."""
        from pyarrow import parquet

        with new_file(self.part(number)) as written:
            parquet.write_table(table, written, compression="zstd")
            with new_file(self._digest(number)) as digest:
                digest.write_text(hashlib.sha256(read_data(written)).hexdigest() + "\n")

    def done(self) -> list[int]:
        """Return the numbers of the parts that are written."""
        matches = [_PART.fullmatch(path.name) for path in self.folder.iterdir()]
        return sorted(int(name[1]) for name in matches if name is not None)

    def remove_unfinished(self) -> None:
        """Remove the files of attempts that died while they wrote; raise OSError if that fails."""
        for name in [path.name for path in self.folder.iterdir()]:
            if _UNFINISHED.fullmatch(name):
                (self.folder / name).unlink(missing_ok=True)

    def rows(self, number: int) -> Iterator[Row]:
        """Yield the rows of a part, by trace and file; raise InputError if it is damaged."""
        from pyarrow import ArrowException

        part = self.part(number)
        try:
            copy = local_copy(part)
            expected = read_location(self._digest(number)).decode("ascii", "replace").strip()
            if hashlib.sha256(read_data(copy)).hexdigest() != expected:
                raise InputError(f"{part} is truncated or was changed: remove it and validate again")
            yield from _rows_of(copy)
        except (OSError, ArrowException) as error:
            raise InputError(f"{part} cannot be read ({reason_of(error)}): remove it and validate again") from None

    def all_rows(self) -> Iterator[Row]:
        """Yield the rows of all parts, by trace and file; raise InputError if a part is damaged.

        Many parts are merged in groups first, so that a process need not open all of them at a time.
        """
        numbers = self.done()
        if len(numbers) <= _OPEN_FILES:
            yield from _merge([self.rows(number) for number in numbers])
            return
        with scratch_folder("merged") as folder:
            groups = [numbers[start : start + _OPEN_FILES] for start in range(0, len(numbers), _OPEN_FILES)]
            files = [self._merge_files(group, folder / f"{group[0]}.parquet") for group in groups]
            yield from _merge([_rows_of(file) for file in files])

    def _merge_files(self, numbers: list[int], path: Path) -> Path:
        """Write the rows of some parts to a file, by trace and file, and return it."""
        from pyarrow import Table, parquet

        rows = _merge([self.rows(number) for number in numbers])
        schema = parquet.read_schema(local_copy(self.part(numbers[0])))
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in iter(lambda: list(itertools.islice(rows, _ROWS)), []):
                writer.write_table(Table.from_pylist(batch, schema))
        return path


def _merge(sources: list[Iterator[Row]]) -> Iterator[Row]:
    return heapq.merge(*sources, key=_order)


def _rows_of(path: Path) -> Iterator[Row]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(_ROWS):
            yield from batch.to_pylist()


def _order(row: Row) -> tuple[str, str]:
    return row["trace"], row["file"]


def open_verdicts(folder: Location, identity: dict[str, Any], count: int) -> VerdictParts:
    """Return the parts of a validation: those of an earlier run of the same one, or none in `count` parts.

    Verdicts of another validation are removed. Raises InputError if the folder has files that no validation wrote, and
    OutputError if it cannot be written.
    """
    verdicts = folder / VERDICTS
    manifest = verdicts / _MANIFEST
    # As it is read: JSON has no tuples.
    identity = json.loads(json.dumps(identity))
    try:
        with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            known = json.loads(read_location(manifest))
            if known["identity"] == identity:
                return VerdictParts(verdicts, int(known["parts"]))
        if verdicts.exists() and not verdicts.is_dir():
            raise InputError(f"{verdicts} is a file: choose another folder with --out")
        verdicts.mkdir(parents=True, exist_ok=True)
        old = _own_names(verdicts)
        # Without an identity, no part counts. The manifest stays: without one, the parts would be files of others.
        _write_manifest(manifest, None, count)
        for name in old:
            (verdicts / name).unlink(missing_ok=True)
        _write_manifest(manifest, identity, count)
    except OSError as error:
        raise OutputError(f"{verdicts} cannot be written: {error.strerror}") from None
    return VerdictParts(verdicts, count)


def _own_names(folder: Location) -> list[str]:
    """Return the names of the files to replace, without the manifest; raise InputError if others wrote a file."""
    names = [path.name for path in folder.iterdir()]
    own = [name for name in names if _UNFINISHED.fullmatch(name)]
    if _MANIFEST in names:
        own += [name for name in names if _OWN.fullmatch(name)]
    if foreign := sorted(set(names) - set(own)):
        raise InputError(
            f"{folder} has files that no validation wrote ({foreign[0]}): choose another folder with --out"
        )
    return [name for name in own if name != _MANIFEST]


def _write_manifest(manifest: Location, identity: dict[str, Any] | None, count: int) -> None:
    with new_file(manifest) as written:
        written.write_text(json.dumps({"identity": identity, "parts": count}, indent=1) + "\n")


def log_version(log: Location) -> str:
    """Return a text that differs after a log was written again."""
    if isinstance(log, RemotePath):
        return log.version
    status = log.stat()
    return f"{status.st_size} {status.st_mtime_ns}"
