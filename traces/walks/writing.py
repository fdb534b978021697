"""Writing of a run of walks: creation or resumption of its folder, and atomic writing of its parts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from checker.errors import InputError, OutputError
from traces.walks.digests import DIGESTS, write_digest
from traces.walks.records import RUN_FILE, STEPS, WALKS, WalkRun, missing_parts, part_kinds, read_run

_OWN = (RUN_FILE, WALKS, STEPS, DIGESTS)
"""What a folder of walks consists of."""


def check_walk_outputs(outputs: Mapping[str, Path | None], folder: Path) -> None:
    """Raise InputError if an output is a file of a folder of walks; `outputs` are named by options."""
    root = Path(os.path.realpath(folder))
    for option, path in outputs.items():
        found = Path(os.path.realpath(path)) if path is not None else root.parent
        if found.is_relative_to(root) and (found == root or found.relative_to(root).parts[0] in _OWN):
            raise InputError(f"{option} {path} is part of the walks in {folder}: name another file")


def open_run_folder(folder: Path, run: WalkRun) -> list[int]:
    """Create the folder of a run, or resume the same run; return the numbers of the missing parts.

    Raises InputError if the folder holds other files or walks of another run, and OutputError if it cannot be written.
    """
    file = folder / RUN_FILE
    if file.exists():
        _require_same(folder, read_run(folder), run)
    elif folder.exists() and (not folder.is_dir() or any(_is_foreign(entry.name) for entry in folder.iterdir())):
        raise InputError(f"{folder} exists and holds no walks: choose a new folder with --out")
    try:
        for kind in (*part_kinds(run), DIGESTS):
            (folder / kind).mkdir(parents=True, exist_ok=True)
        if not file.exists():
            # Written under another name and then renamed: a reader sees the whole file or none.
            hidden = folder / f".{RUN_FILE}.{os.getpid()}"
            hidden.write_text(json.dumps(run.to_json(), indent=1) + "\n", encoding="utf-8")
            os.replace(hidden, file)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
    return missing_parts(folder, run)


def _is_foreign(name: str) -> bool:
    """Return whether a file does not come from a run that died before it wrote its first part."""
    return name not in (WALKS, STEPS, DIGESTS) and not name.startswith(f".{RUN_FILE}.")


def _without_conditions(run: WalkRun) -> WalkRun:
    configurations = tuple(replace(configuration, conditions=()) for configuration in run.configurations)
    return replace(run, configurations=configurations)


def _require_same(folder: Path, there: WalkRun, run: WalkRun) -> None:
    # Line numbers of conditions change with comments. The digest identifies the meaning of a configuration.
    old, new = (_without_conditions(found).to_json() for found in (there, run))
    for key in old:
        if old[key] == new[key]:
            continue
        if key == "configurations":
            raise InputError(
                f"{folder} holds walks of another version of {run.spec}: choose a new folder with --out, or remove it"
            )
        raise InputError(
            f"{folder} holds walks of another run: its {key} is {json.dumps(old[key])}, not {json.dumps(new[key])}: "
            "choose a new folder with --out, or remove it"
        )


def write_part(path: Path, table: pa.Table) -> None:
    """Write a part atomically; raise OSError if that fails."""
    # Each attempt at a task uses a unique name: two attempts may write the same part at the same time.
    hidden = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        pq.write_table(table, hidden, compression="zstd")
        # The digest is there before the part is, of which the presence says that it is complete.
        write_digest(path, hidden)
        # Atomic within one folder. If two attempts finish, both files have the same content, so the last one may win.
        os.replace(hidden, path)
    finally:
        hidden.unlink(missing_ok=True)


def close_run_folder(folder: Path, run: WalkRun) -> bool:
    """Remove partial files of attempts that died, and return whether all parts exist."""
    for kind in part_kinds(run):
        for hidden in [*(folder / kind).glob(".part-*"), *(folder / DIGESTS).glob(f".{kind}-part-*")]:
            hidden.unlink(missing_ok=True)
    return not missing_parts(folder, run)
