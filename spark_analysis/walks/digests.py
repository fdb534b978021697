"""Digests of what a run of walks has on disk: a changed bit in a part or in `run.json` is found before it is read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from checker.data_files import open_data, reason_of
from checker.errors import InputError
from traces.storage import Location, local_copy, new_file, read_location

DIGESTS = "digests"
"""The folder of the digests: beside the parts, of which other programs read the whole folder."""

_BYTES = 32


def digest_path(part: Location) -> Location:
    """Return the path of the digest of a part."""
    return part.parent.parent / DIGESTS / f"{part.parent.name}-{part.stem}.blake2b"


def write_digest(part: Location, written: Path) -> None:
    """Write the digest of a part, from the file `written`, which becomes `part` afterwards."""
    with new_file(digest_path(part)) as file:
        file.write_text(_digest_of_file(written) + "\n", encoding="ascii")


def copy_unchanged(part: Location) -> Path:
    """Return a local file with the content of a part; raise InputError if it is not the content that was written."""
    try:
        expected = read_location(digest_path(part)).decode("ascii", "replace").strip()
        copy = local_copy(part)
        actual = _digest_of_file(copy)
    except OSError as error:
        raise InputError(
            f"the digest of {part} cannot be read ({reason_of(error)}): remove the part and simulate again"
        ) from None
    if actual != expected:
        raise InputError(f"{part} is truncated or was changed, its digest differs: remove it and simulate again")
    return copy


def digest_of_run(content: dict[str, Any]) -> str:
    """Return the digest of the content of `run.json`, as plain JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=_BYTES).hexdigest()


def _digest_of_file(path: Path) -> str:
    with open_data(path) as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=_BYTES)).hexdigest()
