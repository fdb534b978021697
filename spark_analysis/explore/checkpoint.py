"""The checkpoint of an exploration: the states of each level, and a manifest for each complete level.

    DIR/exploration.lock               held by the driver that works in the folder
    DIR/level-00003.json               the manifest of level 3: totals up to this level, and its parts
    DIR/part-00007/level-00003.arrow   the states of level 3 that belong to partition 7

A manifest appears by a rename after all parts of its level are written. Therefore every level with a manifest is
complete, even if a process died. Parts of a later level are written again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from checker.errors import InputError, OutputError, UserError
from spark_analysis.explore.level_expansion import run_path
from spark_analysis.explore.state_columns import open_run

FORMAT = "tidemark-exploration"
SCHEMA_VERSION = 1

_LOCK = "exploration.lock"


@dataclass(frozen=True)
class ExplorationIdentity:
    """The subject of an exploration: a checkpoint is resumed only for an equal one. `digest` is that of the spec."""

    spec: str
    constants: dict[str, int | bool | str]
    properties: list[str]
    digest: str
    words: int


@dataclass(frozen=True)
class CheckpointLocation:
    """A state of a level (0: initial) by its packed words; with `instance`, the step from it to `successor`."""

    level: int
    words: list[int]
    instance: int | None = None
    successor: list[int] | None = None


@dataclass
class ExplorationTotals:
    """The totals of an exploration up to its last complete level.

    `levels` counts the new states of each level, `generated` and `distinct` those of each action instance. `found`
    holds, by property bit, the location of the first violation or the first reaching state. `failure` is the location
    of an action instance that left its bounds. `shuffled_bytes` (candidates sent) and `written_bytes` (runs written)
    are by level.
    """

    levels: list[int]
    generated: list[int]
    distinct: list[int]
    seconds: float = 0.0
    found: dict[int, CheckpointLocation] = field(default_factory=dict)
    failure: CheckpointLocation | None = None
    property_failure: CheckpointLocation | None = None
    deadlock: CheckpointLocation | None = None
    shuffled_bytes: list[int] = field(default_factory=list)
    written_bytes: list[int] = field(default_factory=list)

    @property
    def states(self) -> int:
        """The number of distinct states."""
        return sum(self.levels)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> ExplorationTotals:
        """Return the totals from the JSON of their `asdict`."""
        places = {
            name: None if content[name] is None else CheckpointLocation(**content[name])
            for name in ("failure", "property_failure", "deadlock")
        }
        found = {int(bit): CheckpointLocation(**place) for bit, place in content["found"].items()}
        return cls(**(content | places | {"found": found}))


class Checkpoint:
    """The folder of one exploration with `partitions` partitions; made by `open_checkpoint`."""

    def __init__(self, folder: Path, identity: ExplorationIdentity, partitions: int):
        self.folder, self.identity, self.partitions = folder, identity, partitions

    def commit(self, totals: ExplorationTotals, parts: dict[int, tuple[int, int]]) -> None:
        """Write the manifest of the last level; `parts[p]` is the number of states and bytes of partition p's run."""
        level = len(totals.levels) - 1
        content = {
            "format": FORMAT,
            "version": SCHEMA_VERSION,
            "identity": asdict(self.identity),
            "partitions": self.partitions,
            "parts": [parts[partition] for partition in range(self.partitions)],
            "totals": asdict(totals),
        }
        path = self._manifest(level)
        partial = path.with_suffix(".partial")
        with partial.open("w") as file:
            json.dump(content, file)
            file.flush()
            # The content must be on disk before the name is: otherwise a power failure could leave an empty manifest.
            os.fsync(file.fileno())
        partial.replace(path)

    def totals(self) -> ExplorationTotals | None:
        """Return the totals of the last complete level, or None if there is none.

        Raises InputError if the folder belongs to another exploration, or a part is missing or truncated.
        """
        # The levels have five digits, so the order of names is the order of levels.
        manifests = sorted(self.folder.glob("level-*.json"))
        if not manifests:
            return None
        last = self._read(manifests[-1])
        # The assignment of hashes to partitions depends on their number, so an existing checkpoint keeps it.
        self.partitions = last["partitions"]
        self._require_same(last["identity"])
        for level in range(len(manifests)):
            parts = self._read(self._manifest(level))["parts"]
            for partition, (count, size) in enumerate(parts):
                self._require_whole(partition, level, count, size)
        return ExplorationTotals.from_json(last["totals"])

    def _manifest(self, level: int) -> Path:
        return self.folder / f"level-{level:05}.json"

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            content = json.loads(path.read_text())
            found = content["format"], content["version"]
        except OSError as error:
            raise self._damaged(f"{path.name} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise self._damaged(f"{path.name} is truncated or no manifest") from None
        if found != (FORMAT, SCHEMA_VERSION):
            raise InputError(
                f"{path} has schema version {found[1]}; this program reads version {SCHEMA_VERSION}: "
                "explore again in a new folder"
            )
        return dict(content)

    def _require_same(self, other: dict[str, Any]) -> None:
        ours = asdict(self.identity)
        differences = {
            "spec": f"the spec {other['spec']}",
            "constants": f"other constants, {_constants_text(other['constants'])}",
            "properties": "other properties",
            "digest": f"another version of {self.identity.spec}",
            "words": f"another version of {self.identity.spec}",
        }
        for name, words in differences.items():
            if other[name] != ours[name]:
                raise InputError(f"{self.folder} holds an exploration of {words}: choose another folder, or remove it")

    def _require_whole(self, partition: int, level: int, count: int, size: int) -> None:
        path = run_path(self.folder, partition, level)
        shown = path.relative_to(self.folder)
        try:
            # Size and number of states, not the content: all states of a large exploration would take long to read.
            is_whole = path.stat().st_size == size and len(open_run(path, self.identity.words)) == count
        except FileNotFoundError:
            raise self._damaged(f"{shown} is missing") from None
        except (OSError, pa.ArrowInvalid):
            is_whole = False
        if not is_whole:
            raise self._damaged(f"{shown} is truncated or was changed")

    def _damaged(self, what: str) -> UserError:
        return InputError(f"the checkpoint {self.folder} is damaged, {what}: remove it and explore again")


def has_checkpoint(folder: Path) -> bool:
    """Return whether a folder holds a complete level."""
    return next(folder.glob("level-*.json"), None) is not None


@contextmanager
def open_checkpoint(folder: Path, identity: ExplorationIdentity, partitions: int) -> Iterator[Checkpoint]:
    """Yield the checkpoint in a new or existing folder, locked against other drivers.

    An existing checkpoint keeps its number of partitions. Raises InputError if the folder is in use or holds other
    files, and OutputError if it cannot be written.
    """
    lock = folder / _LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not lock.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} holds other files: choose a new folder for --checkpoint")
        file = lock.open("a")
    except OSError as error:
        raise OutputError(f"the checkpoint {folder} cannot be written: {error.strerror}") from None
    with file:
        try:
            # The operating system releases the lock when the process ends, so a crash leaves no stale lock.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"another run explores into {folder}: wait for it, or choose another folder") from None
        # Only with the lock: these files belong to attempts that died, and no driver is writing now.
        for partial in folder.glob("part-*/.level-*"):
            partial.unlink(missing_ok=True)
        yield Checkpoint(folder, identity, partitions)


def _constants_text(constants: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in constants.items()) or "none"
