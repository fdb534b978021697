"""The checkpoint of an exploration: its files of states, and a manifest that describes the last complete level.

    DIR/exploration.lock   held by the driver that works in the folder; in an object store, the name of that driver
    DIR/exploration.json   the manifest: totals up to the last complete level, and the files that hold its states
    DIR/runs               the states (`row_files`)
    DIR/candidates         the successors of the last level, from which the next one is made

A manifest replaces the one before as a whole, after all files that it names are written. Files that it does not name
belong to a level that was not completed, or were merged; they are removed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from checker.data_files import lock_opener
from checker.errors import InputError, OutputError, UserError
from spark_analysis.explore.level_tasks import ExpansionReport
from spark_analysis.explore.row_files import CANDIDATES, RUNS, CandidateFile, StoredRun, sync
from traces.storage import Location, RemotePath, new_file, read_location

FORMAT = "tidemark-exploration"
SCHEMA_VERSION = 2

_LOCK, _MANIFEST = "exploration.lock", "exploration.json"

_OWN = re.compile(r"\.?(initial|\d{5}-\d{5}-).*")
"""The names of files of states; hidden while they are written (`new_file`)."""


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
    of an action instance that left its bounds. By level: `sent_bytes` (candidates) and `written_bytes` (runs, including
    the merged ones).
    """

    levels: list[int]
    generated: list[int]
    distinct: list[int]
    seconds: float = 0.0
    found: dict[int, CheckpointLocation] = field(default_factory=dict)
    failure: CheckpointLocation | None = None
    property_failure: CheckpointLocation | None = None
    deadlock: CheckpointLocation | None = None
    sent_bytes: list[int] = field(default_factory=list)
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
        located = {int(bit): CheckpointLocation(**place) for bit, place in content["found"].items()}
        return cls(**(content | places | {"found": located}))


@dataclass
class StoredLevels:
    """The files of an exploration, after a complete level.

    `runs`: by partition, from the oldest to the newest. `candidates`: the successors of the last level, for these
    partitions; None if it was not expanded. `expanded`: the report on them. The totals contain it together with the
    next level, since a run that ends here has not expanded the last level.
    """

    runs: list[tuple[StoredRun, ...]]
    candidates: tuple[CandidateFile, ...] | None
    expanded: ExpansionReport

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self.runs)

    def split(self, partitions: int) -> None:
        """Divide each partition into the same number of new ones. They share its runs until these are merged."""
        factor, rest = divmod(partitions, len(self.runs))
        if rest:
            raise ValueError(f"{len(self.runs)} partitions cannot be split evenly into {partitions}")
        self.runs = [self.runs[partition // factor] for partition in range(partitions)]

    def all_runs(self) -> list[StoredRun]:
        """Return each run once."""
        return list({run.name: run for runs in self.runs for run in runs}.values())

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> StoredLevels:
        """Return the files from the JSON of their `asdict`."""
        expanded = content["expanded"]
        steps = {int(bit): tuple(step) for bit, step in expanded["steps"].items()}
        generated = {int(instance): count for instance, count in expanded["generated"].items()}
        candidates = content["candidates"]
        return cls(
            [tuple(StoredRun(**run) for run in runs) for runs in content["runs"]],
            None if candidates is None else tuple(CandidateFile(**file) for file in candidates),
            ExpansionReport(generated, steps, expanded["deadlock"], expanded["failure"]),
        )


class Checkpoint:
    """The folder of one exploration; made by `open_checkpoint`. `durable`: a commit waits for the disk.

    `owner` is the name of this driver in an object store, which has no locks: the last driver that starts takes the
    folder over, and an earlier one finds that at its next commit.
    """

    def __init__(self, folder: Location, identity: ExplorationIdentity, *, durable: bool, owner: str = "") -> None:
        self.folder, self.identity, self.durable, self._owner = folder, identity, durable, owner
        self._on_disk: set[Location] = set()

    def commit(self, totals: ExplorationTotals, levels: StoredLevels, *, files_are_on_disk: bool) -> None:
        """Replace the manifest, and remove the files that it does not name. Raises OutputError if the disk is full."""
        described = {"identity": asdict(self.identity), "totals": asdict(totals), "levels": asdict(levels)}
        # As it will be read: JSON has texts for keys, and no tuples.
        content = json.loads(json.dumps({"format": FORMAT, "version": SCHEMA_VERSION, **described}))
        content["digest"] = _digest_of(content)
        named = self._files_of(levels)
        try:
            self._require_owner()
            if self.durable and not files_are_on_disk:
                sync(named - self._on_disk)
            with new_file(self.folder / _MANIFEST) as partial, partial.open("w") as file:
                json.dump(content, file)
                file.flush()
                # The content must be on disk before the name is: otherwise a power failure could leave an empty
                # manifest.
                if self.durable:
                    os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(f"the checkpoint {self.folder} cannot be written: {error.strerror}") from None
        self._on_disk = named
        self._remove_others(named)

    def load(self) -> tuple[ExplorationTotals, StoredLevels] | None:
        """Return the totals and files of the last complete level, or None if there is none.

        Raises InputError if the folder belongs to another exploration, or the manifest is damaged.
        """
        if any(self.folder.glob("level-*.json")):
            raise self._other_version(1)
        path = self.folder / _MANIFEST
        if not path.exists():
            self._remove_others(set())
            return None
        content = self._read(path)
        self._require_same(content["identity"])
        levels = StoredLevels.from_json(content["levels"])
        self._on_disk = self._files_of(levels)
        self._remove_others(self._on_disk)
        return ExplorationTotals.from_json(content["totals"]), levels

    def _require_owner(self) -> None:
        """Raise InputError if another driver has taken the folder over."""
        if self._owner and read_location(self.folder / _LOCK) != self._owner.encode():
            raise InputError(f"another run took over the exploration in {self.folder}: this one ends here")

    def _files_of(self, levels: StoredLevels) -> set[Location]:
        runs: set[Location] = {self.folder / RUNS / run.name for run in levels.all_runs()}
        return runs | {self.folder / CANDIDATES / file.name for file in levels.candidates or ()}

    def _remove_others(self, named: set[Location]) -> None:
        for kind in (RUNS, CANDIDATES):
            for path in self.folder.glob(f"{kind}/*"):
                if path not in named and _OWN.fullmatch(path.name):
                    path.unlink(missing_ok=True)

    def _read(self, path: Location) -> dict[str, Any]:
        try:
            content = dict(json.loads(read_location(path)))
            kind, version, digest = content["format"], content["version"], content.pop("digest")
        except OSError as error:
            raise self._damage(f"{path.name} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._damage(f"{path.name} is truncated or no manifest") from None
        if (kind, version) != (FORMAT, SCHEMA_VERSION):
            raise self._other_version(version)
        if digest != _digest_of(content):
            raise self._damage(f"{path.name} was changed")
        return content

    def _other_version(self, version: object) -> UserError:
        return InputError(
            f"{self.folder} has schema version {version}; this program reads version {SCHEMA_VERSION}: "
            "explore again in a new folder"
        )

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

    def _damage(self, what: str) -> UserError:
        return InputError(f"the checkpoint {self.folder} is damaged, {what}: remove it and explore again")


def has_checkpoint(folder: Location) -> bool:
    """Return whether a folder holds a complete level."""
    return (folder / _MANIFEST).is_file()


@contextmanager
def open_checkpoint(folder: Location, identity: ExplorationIdentity, *, durable: bool) -> Iterator[Checkpoint]:
    """Yield the checkpoint in a new or existing folder, locked against other drivers.

    Raises InputError if the folder is in use or holds other files, and OutputError if it cannot be written.
    """
    lock = folder / _LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not lock.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} holds other files: choose a new folder for --checkpoint")
        owner, file = secrets.token_hex(16), None
        if isinstance(lock, RemotePath):
            lock.write_text(owner)
        else:
            file = open(lock, "a", opener=lock_opener)  # noqa: SIM115 - closed by the next block
    except OSError as error:
        raise OutputError(f"the checkpoint {folder} cannot be written: {error.strerror}") from None
    if file is None:
        yield Checkpoint(folder, identity, durable=durable, owner=owner)
        return
    with file:
        try:
            # The operating system releases the lock when the process ends, so a crash leaves no stale lock.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"another run explores into {folder}: wait for it, or choose another folder") from None
        yield Checkpoint(folder, identity, durable=durable)


def _digest_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _constants_text(constants: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in constants.items()) or "none"
