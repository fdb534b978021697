"""The checkpoints of a search: when they are written, and what happens if they cannot be."""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter
from types import TracebackType
from typing import Any

from checker.engines.native.explore.checkpoint import CheckpointedStore, CheckpointFolder
from checker.printable import quantity


class SearchCheckpoints:
    """Writes a checkpoint to a folder every so many seconds, in a thread beside the search.

    `notify` gets a sentence for the user. If a checkpoint cannot be written, for example on a full disk, the search
    continues without further ones. `keeps_complete`: also write one after the last state, because liveness is decided
    next.
    """

    def __init__(
        self,
        folder: CheckpointFolder,
        every: float,
        notify: Callable[[str], None],
        *,
        keeps_complete: bool = False,
    ):
        self._folder, self._every, self._notify = folder, every, notify
        self.keeps_complete = keeps_complete
        self._writer = ThreadPoolExecutor(1, "checkpoint")
        self._writing: Future[None] | None = None
        self._due = perf_counter() + every
        self._has_failed = False

    def __enter__(self) -> SearchCheckpoints:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.finish_writing()
        self._writer.shutdown()

    @property
    def saved_progress(self) -> dict[str, Any] | None:
        """The progress of the search at the last checkpoint; None if there is no checkpoint."""
        return self._folder.saved_progress

    def load(self, store: CheckpointedStore) -> None:
        """Fill a new store from the last checkpoint; raise InputError if it is damaged."""
        assert self.saved_progress is not None
        self._notify(f"resuming {self._folder.folder} at {_text_of(self.saved_progress)}")
        self._folder.load(store)

    def is_due(self) -> bool:
        """Return whether it is time for a checkpoint, and the last one is written."""
        if self._has_failed or perf_counter() < self._due:
            return False
        if self._writing is not None:
            if not self._writing.done():
                return False
            self.finish_writing()
        return not self._has_failed

    def save(self, store: CheckpointedStore, progress: dict[str, Any]) -> None:
        """Begin to write a checkpoint. The search may continue at once, but the store must stay alive."""
        # What the search changes is copied here. The items of growing arrays never change, so the writer reads them.
        work = functools.partial(
            self._folder.save, store.growing_arrays(), store.changing_arrays(), progress, store.release_items
        )
        self._writing = self._writer.submit(work)
        self._due = perf_counter() + self._every

    def save_last(self, store: CheckpointedStore, progress: dict[str, Any]) -> None:
        """Write the checkpoint of a search that has ended, unless nothing is new."""
        self.finish_writing()
        if not self._has_failed and progress["rounds"] != (self._folder.saved_progress or {}).get("rounds"):
            self._notify(f"writing a checkpoint at {_text_of(progress)} to {self._folder.folder}")
            self.save(store, progress)
            self.finish_writing()

    def finish_writing(self) -> None:
        """Wait for the checkpoint that is being written, after which no store is read. If it fails, notify the user."""
        if self._writing is None:
            return
        writing, self._writing = self._writing, None
        try:
            writing.result()
        except KeyboardInterrupt:
            # The second Ctrl-C: the user does not wait for the checkpoint.
            self._folder.abandon()
            raise
        except OSError as error:
            self._has_failed = True
            saved = self._folder.saved_progress
            kept = f"; the one of {_text_of(saved)} remains" if saved is not None else ""
            self._notify(
                f"the run continues without further checkpoints: {self._folder.folder} cannot be written, "
                f"{error.strerror or error}{kept}"
            )


def _text_of(progress: dict[str, Any]) -> str:
    return f"{quantity(progress['distinct'], 'state')}, level {progress['level']}"
