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
from spark_analysis.walks.digests import DIGESTS, write_digest
from spark_analysis.walks.records import RUN_FILE, SCHEMAS, WalkRun, missing_parts, part_kinds, read_run
from traces.storage import Location, RemotePath, new_file

_OWN = (RUN_FILE, *SCHEMAS, DIGESTS)
"""What a folder of walks consists of."""


def check_walk_outputs(outputs: Mapping[str, Location | None], folder: Location) -> None:
    """Raise InputError if an output is a file of a folder of walks; `outputs` are named by options."""
    if isinstance(folder, RemotePath):
        own = tuple(f"{folder / name}/" for name in _OWN)
        for option, place in outputs.items():
            if place == folder or f"{place}/".startswith(own):
                raise InputError(f"{option} {place} is part of the walks in {folder}: name another file")
        return
    root = Path(os.path.realpath(folder))
    for option, path in outputs.items():
        real_path = Path(os.path.realpath(path)) if isinstance(path, Path) else root.parent
        if real_path.is_relative_to(root) and (real_path == root or real_path.relative_to(root).parts[0] in _OWN):
            raise InputError(f"{option} {path} is part of the walks in {folder}: name another file")


def open_run_folder(folder: Location, run: WalkRun) -> list[int]:
    """Create the folder of a run, or resume the same run; return the numbers of the missing parts.

    Raises InputError if the folder holds other files or walks of another run, and OutputError if it cannot be written.
    """
    file = folder / RUN_FILE
    try:
        if file.exists():
            _require_same(folder, read_run(folder), run)
        elif folder.exists() and (not folder.is_dir() or any(map(_is_foreign, folder.iterdir()))):
            raise InputError(f"{folder} exists and holds no walks: choose a new folder with --out")
        for kind in (*part_kinds(run), DIGESTS):
            (folder / kind).mkdir(parents=True, exist_ok=True)
        if not file.exists():
            with new_file(file) as written:
                written.write_text(json.dumps(run.to_json(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
    return missing_parts(folder, run)


def _is_foreign(entry: Location) -> bool:
    """Return whether a file or folder does not come from a run that died before it wrote its first part."""
    if entry.name.startswith(f".{RUN_FILE}."):
        return False
    return entry.name not in _OWN or not entry.is_dir() or any(entry.iterdir())


def _without_conditions(run: WalkRun) -> WalkRun:
    configurations = tuple(replace(configuration, conditions=()) for configuration in run.configurations)
    return replace(run, configurations=configurations)


def _require_same(folder: Location, there: WalkRun, run: WalkRun) -> None:
    # Line numbers of conditions change with comments. The digest identifies the meaning of a configuration.
    old, new = (_without_conditions(run_conditions).to_json() for run_conditions in (there, run))
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


def write_part(path: Location, table: pa.Table) -> None:
    """Write a part as a whole; raise OSError if that fails.

    If two attempts at a task write it at the same time, both write the same content, so the last one may win.
    """
    with new_file(path) as written:
        pq.write_table(table, written, compression="zstd")
        # The digest is there before the part is, of which the presence says that it is complete.
        write_digest(path, written)


def close_run_folder(folder: Location, run: WalkRun) -> bool:
    """Remove partial files of attempts that died, and return whether all parts exist."""
    for kind in part_kinds(run) if isinstance(folder, Path) else ():
        for hidden in [*(folder / kind).glob(".part-*"), *(folder / DIGESTS).glob(f".{kind}-part-*")]:
            hidden.unlink(missing_ok=True)
    return not missing_parts(folder, run)
