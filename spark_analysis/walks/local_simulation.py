"""Generation of a run of walks by processes of this machine: the same parts as those of a cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from checker.errors import InputError, OutputError, UserError
from checker.run.process_pool import results_in_order
from checker.run.scratch_folders import scratch_folder
from checker.run.workers import default_workers
from spark_analysis.walks.digests import DIGESTS, digest_path
from spark_analysis.walks.parts import walker_of, write_walks_of_part
from spark_analysis.walks.records import WalkRun, part_kinds, part_path
from spark_analysis.walks.writing import close_run_folder, open_run_folder
from traces.storage import Location, RemotePath

MOST_WALKS = 10_000_000
"""Number of walks up to which processes of this machine make them, unless a Spark master is given."""


def write_walks(
    run: WalkRun,
    folder: Location,
    *,
    processes: int | None = None,
    cancelled: threading.Event | None = None,
    on_poll: Callable[[], None] = lambda: None,
) -> bool:
    """Generate the missing walks of a run; return whether the run is complete.

    `processes` is their number (default: one for each core). `on_poll` is called after each part. `cancelled` stops the
    run between two parts. A part whose process died is made once more. Raises UserError if the folder holds something
    else or a part cannot be written.
    """
    missing = open_run_folder(folder, run)
    stop = cancelled or threading.Event()
    if missing and not stop.is_set():
        # The processes inherit the machine code of the first configuration. Threads could not share it: the code of a
        # spec records its branches in one place.
        walker_of(run, run.span(missing[0])[0])
        on_poll()

        with _local_folder(folder, run) as local:

            def write(position: int, _: threading.Event) -> str | None:
                return _write_part(run, local, missing[position])

            errors = results_in_order(len(missing), min(len(missing), processes or default_workers()), write, stop)
            for number, error in zip(missing, errors, strict=False):
                if error is not None:
                    raise InputError(error)
                if isinstance(folder, RemotePath):
                    _upload_part(run, local, folder, number)
                on_poll()
    return close_run_folder(folder, run)


@contextmanager
def _local_folder(folder: Location, run: WalkRun) -> Iterator[Path]:
    """Yield the folder into which the processes write: for a remote one, a temporary folder.

    The connections of this process to a store do not work in the processes that it forks.
    """
    if isinstance(folder, Path):
        yield folder
        return
    with scratch_folder("walks") as local:
        for kind in (*part_kinds(run), DIGESTS):
            (local / kind).mkdir()
        yield local


def _upload_part(run: WalkRun, local: Path, folder: RemotePath, number: int) -> None:
    """Move a part to the store; the file of walks is last, as only with it the part counts as written."""
    for kind in reversed(part_kinds(run)):
        part = part_path(local, kind, number)
        for file in (digest_path(part), part):
            assert isinstance(file, Path)
            try:
                (folder / file.parent.name / file.name).upload(file)
            except OSError as error:
                raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
            file.unlink()


def _write_part(run: WalkRun, folder: Path, number: int) -> str | None:
    """Write a part; return why that is impossible, or None."""
    try:
        write_walks_of_part(run, folder, number)
    except UserError as error:
        return error.message
    except OSError as error:
        return f"{folder} cannot be written: {error.strerror or error}"
    return None
